package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/cmd/internal/console"
	"caucus/study"
)

// TestRefusedPlansAreUsageErrors: the same mistake exits with 2 in every verb, and the message
// names the flag.
func TestRefusedPlansAreUsageErrors(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		{"forecast --parties 3 --class-shares .7,.2", "caucus: --class-shares: they add up to 0.9, not to 1"},
		{"forecast --parties 3 --class-shares .7", "caucus: --class-shares: have 1, want 2: one for each class"},
		{"forecast --parties 3 --auc 1.2", "caucus: --auc: 1.2"},
		{"forecast --parties 0", "--parties 0"},
		{"forecast --parties 3 --epsilon -1", "caucus: --epsilon: -1 is not positive"},
		{"forecast --parties 3 --mechanism nope", "caucus: --mechanism: \"nope\""},
		{"forecast --parties 3 --delta .1", "give less, such as 1e-06"},
		{"simulate classify --set generate=400 --unit party --set shards=2", "caucus: --set shards=2: a whole party moves all of its 2 shards"},
		{"study create describe --set shards=3", "--set shards=3: shards is a term of classify studies; this one is of kind describe"},
		{"simulate classify --set generate=400 --epsilon -1", "caucus: --epsilon: -1 is not positive"},
		{"simulate classify --set generate=400 --mechanism nope", "caucus: --mechanism: \"nope\""},
		{"simulate describe --set generate=400 --epsilon -1", "caucus: --epsilon: -1 is not positive"},
		{"simulate evaluate --set generate=400 --epsilon -1", "caucus: --epsilon: -1 is not positive"},
		{"simulate labels --set generate=400 --epsilon -1", "caucus: --epsilon: -1 is not positive"},
		{"simulate ratio --set generate=400 --epsilon -1", "caucus: --epsilon: -1 is not positive"},
		{"forecast describe", "caucus: say how many parties take part"},
		{"study create --name a --schema s --pool p --set largest=-4", "caucus: --set largest=-4: -4: give how many records"},
		{"study create --name a --schema s --pool p --set parties=-4", "caucus: --set parties=-4: -4: give at least 1"},
		{"simulate ratio --set generate=400 --parties 2 --records 20 --set targets=99999999999", "at most 10000000 records in all"},
		{"simulate classify --set generate=400 --unit party --set tilt=true", "caucus: --set tilt=true: it is for mechanism cross"},
		{"simulate labels --set generate=400 --set whiten=.5", "caucus: --set whiten=.5: it is for principal components"},
		{"simulate evaluate --set generate=400 --set map.analysis=pca", "caucus: --set map.analysis=pca: the study takes columns as they are"},
		{"simulate --sets 4", "--sets: it is now --parties; see"},
		{"forecast --seal-share 1", "--seal-share; see caucus forecast --help"},
		{"simulate reweigh --set generate=400 --set split=sex=female --set query=age>=65 --epsilon -1", "caucus: --epsilon: -1 is not positive"},
	} {
		var out, problems bytes.Buffer
		if code := Main(t.Context(), strings.Fields(c.line), &out, &problems); code != 2 ||
			!strings.Contains(problems.String(), c.says) || out.Len() > 0 {
			t.Errorf("caucus %s: have %d, %q and %q; want 2 and %q", c.line, code, out.String(),
				problems.String(), c.says)
		}
	}
}

// TestExportOfAPredictedColumn: a query whose answer would have two columns with the same name is
// wrong usage; --id avoids it.
func TestExportOfAPredictedColumn(t *testing.T) {
	t.Chdir(t.TempDir())
	records := "predicted,y\n"
	for i := range 40 {
		records += fmt.Sprintf("%d,%d\n", i, i/20)
	}
	for name, text := range map[string]string{
		"records.csv": records,
		"schema.yaml": "label: {column: y, classes: [\"0\", \"1\"]}\nfeatures: [{column: predicted, kind: numeric, min: 0, max: 40}]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		line, says string
		code       int
	}{
		{"simulate classify --train records.csv --test records.csv --pool records.csv --schema schema.yaml --parties 2 --epsilon 8 --out release.json", "", 0},
		{"release export release.json --out model.sql", `two columns "predicted": say with --id which columns`, 2},
		{"release export release.json --out model.sql --id y --id y", `two columns "y": say with --id which columns`, 2},
		{"release export release.json --out model.sql --table wards.", "empty name", 2},
		{"release export release.json --out model.sql --id y", "", 0},
	} {
		var out, problems bytes.Buffer
		if code := Main(t.Context(), strings.Fields(c.line), &out, &problems); code != c.code ||
			!strings.Contains(problems.String(), c.says) {
			t.Errorf("caucus %s: have %d and %q; want %d and %q", c.line, code, problems.String(),
				c.code, c.says)
		}
	}
}

// TestDamagedRelease: every verb that uses a release refuses one that contradicts its plan, names
// the file, and says what to do.
func TestDamagedRelease(t *testing.T) {
	t.Chdir(t.TempDir())
	run := func(line string) (int, string) {
		var out, problems bytes.Buffer
		code := Main(t.Context(), strings.Fields(line), &out, &problems)
		return code, problems.String()
	}
	if code, said := run("simulate classify --records 1000 --parties 3 --epsilon 8 --out whole.json"); code != 0 {
		t.Fatal(said)
	}
	whole, err := readRelease("whole.json")
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(whole.Result.Body, &body); err != nil {
		t.Fatal(err)
	}
	body["classifier"] = json.RawMessage("5")
	if whole.Result.Body, err = json.Marshal(body); err != nil {
		t.Fatal(err)
	}
	if err := writeRelease(&console.Console{}, "damaged.json", &whole); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(".", "data.csv"), []byte("age\n40\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"release predict damaged.json --data data.csv", "release show damaged.json", "release export damaged.json --to r",
		"pool make --release damaged.json --out pool.csv", "release export damaged.json --to pool --pool data.csv --out w.csv",
		"release query damaged.json --pool data.csv --where age>3", "release report damaged.json",
	} {
		if code, said := run(line); code != 1 || !strings.Contains(said, "damaged.json cannot be used: it was damaged or changed") || !strings.Contains(said, "caucus study result") {
			t.Errorf("caucus %s: have %d and %q", line, code, said)
		}
	}
}

// TestReleaseIsNoCommand: text from a release's maker reaches the terminal as plain text, in
// answers, notes and errors. It cannot move the cursor or change the direction of writing.
func TestReleaseIsNoCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	run := func(line string) string {
		var said bytes.Buffer
		Main(t.Context(), strings.Fields(line), &said, &said)
		return said.String()
	}
	run("simulate classify --records 1000 --parties 3 --epsilon 8 --out whole.json")
	whole, err := readRelease("whole.json")
	if err != nil {
		t.Fatal(err)
	}
	const evil = "\x1b[2J\u202eall holds"
	changed := whole
	changed.Result.Warnings = []string{evil}
	changed.Contributed = append([]study.PartyID{evil}, whole.Contributed[1:]...)
	damaged := whole
	damaged.Result.Body = bytes.Replace(whole.Result.Body, []byte(`"classes":["no"`), []byte(`"classes":["\u001b[2Jall holds"`), 1)
	for name, r := range map[string]study.Release{"changed.json": changed,
		"damaged.json": damaged} {
		if err := writeRelease(&console.Console{}, name, &r); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"release show " + name,
			"release export --to r " + name} {
			if said := run(line); strings.ContainsAny(said, "\x1b\u202e") ||
				!strings.Contains(said, "all holds") {
				t.Errorf("caucus %s: %.400q", line, said)
			}
		}
	}
}
