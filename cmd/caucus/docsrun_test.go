package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"caucus/dataset/public"
	"caucus/internal/testlevel"
)

// TestPagesRun skips a command if one of its words contains a key of notRunHere. The value says
// why, and which script runs the command.
var notRunHere = map[string]string{
	"--config": "it asks an agent: the scripts firststudy, study and verify",
	"verify":   "a simulated release never verifies: the scripts firststudy and verify",
	"--export": "lines of an agent's ledger: the script verify",
	"voters=":  "a program beside it: the script voters, and .ci/peers",
	"compare":  "it asks an agent: the script study",
}

// TestPagesRun runs the commands of README, docs and deploy for simulate, forecast and everything
// without a daemon. Rules make them small: few records, one repeat, one draw. Commands on data sets
// need CAUCUS_DATA: a few run always, all in long tests.
func TestPagesRun(t *testing.T) {
	var made, light, heavy []pageCommand
	seen := map[string]bool{}
	for _, page := range pagesWithCommands(t) {
		for _, c := range commandsOf(t, page) {
			if !offline(c) {
				continue
			}
			c.words = scaled(c.words)
			if key := folderOf(c) + strings.Join(c.words, "\x00"); seen[key] {
				continue
			} else {
				seen[key] = true
			}
			switch of := valueOf(c.words, "--dataset"); {
			case of == "":
				made = append(made, c)
			case of == "heart_disease" || of == "adult" && c.words[1] != "reweigh" &&
				folderOf(c) == ".":
				light = append(light, c)
			default:
				heavy = append(heavy, c)
			}
		}
	}
	if len(made) < 25 || len(light) < 10 || len(heavy) < 8 {
		t.Errorf("%d commands without data, %d and %d with: pages have another form than this test reads", len(made), len(light), len(heavy))
	}
	dir := pageFolder(t)
	for _, c := range made {
		runOfPage(t, dir, c)
	}
	if os.Getenv("CAUCUS_DATA") == "" {
		t.Logf("CAUCUS_DATA is not set: %d commands did not run", len(light)+len(heavy))
		return
	}
	for _, c := range testlevel.Of(t, light, 3) {
		runOfPage(t, dir, c)
	}
	if !testlevel.Long() {
		return
	}
	if err := os.Mkdir(filepath.Join(dir, "adult"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"model.json", "votes.json"} {
		var out, problems bytes.Buffer
		if code := Main(t.Context(),
			[]string{"simulate", "--dataset", "adult", "--parties", "10", "--set",
				"train_rows=1500", "--out", filepath.Join(dir, "adult",
					model)}, &out, &problems); code != 0 {
			t.Fatal(problems.String())
		}
	}
	for _, c := range heavy {
		runOfPage(t, dir, c)
	}
}

// offline says whether a command does something without a daemon and without another program.
func offline(c pageCommand) bool {
	if c.site || len(c.words) < 2 ||
		!slices.Contains([]string{"simulate", "forecast", "release", "pool",
			"privacy", "dataset"}, c.words[0]) {
		return false
	}
	if !c.block && !slices.ContainsFunc(c.words[1:], func(w string) bool {
		return strings.ContainsAny(w, "-.")
	}) && c.words[0] != "privacy" {
		return false // only the name of a verb
	}
	for part := range notRunHere {
		if slices.ContainsFunc(c.words, func(w string) bool { return strings.Contains(w, part) }) {
			return false
		}
	}
	// A flag that a page explains may stand without the rest of its command.
	return c.words[0] != "forecast" || strings.HasPrefix(c.words[1], "readmission") ||
		strings.HasPrefix(c.words[1], "study") || slices.Contains(c.words, "--parties")
}

// scaled returns the command on less data.
func scaled(words []string) []string {
	words = slices.Clone(words)
	for i, w := range words {
		if i == 0 {
			continue
		}
		at, err := strconv.Atoi(w)
		switch before := words[i-1]; {
		case w == "NAME" && before == "--learner":
			words[i] = "softmax"
		case w == "NAME":
			words[i] = "auto"
		case err != nil:
		case before == "--parties":
			words[i] = strconv.Itoa(min(at, 10))
		case before == "--records":
			words[i] = strconv.Itoa(min(at, 40))
		}
	}
	own := func(flag, to string) {
		if at := slices.Index(words, flag); at >= 0 && flag != "--set" {
			words[at+1] = to
			return
		}
		words = append(words, flag, to)
	}
	switch words[0] {
	case "simulate":
		own("--repeats", "1")
		made := !slices.ContainsFunc(words, func(w string) bool {
			return w == "--dataset" || w == "--train"
		})
		drop := func(term string) {
			words = slices.DeleteFunc(words, func(w string) bool {
				return strings.HasPrefix(w, term+"=")
			})
			for i := len(words) - 1; i >= 0; i-- { // --set without a value
				if words[i] == "--set" &&
					(i+1 == len(words) || !strings.Contains(words[i+1], "=")) {
					words = slices.Delete(words, i, i+1)
				}
			}
		}
		switch {
		case made:
			drop("generate")
			own("--set", "generate=800")
		case slices.Contains(words, "--dataset") && words[1] != "reweigh" && words[1] != "describe":
			drop("train_rows")
			own("--set", "train_rows=1500")
		}
	case "forecast":
		own("--draws", "1")
	case "privacy":
		if words[1] == "audit" {
			own("--samples", "200")
			own("--repeats", "1")
		} else {
			own("--draws", "20")
		}
	}
	return words
}

// valueOf returns the value after the last occurrence of a flag.
func valueOf(words []string, flag string) (value string) {
	for i, w := range words[:len(words)-1] {
		if w == flag {
			value = words[i+1]
		}
	}
	return value
}

// folderOf returns the folder in which a page's command runs. The page of reweigh has its own pool
// and schema; a model that is judged has the schema of the records.
func folderOf(c pageCommand) string {
	if valueOf(c.words, "--dataset") == "adult" &&
		slices.ContainsFunc(c.words, func(w string) bool {
			return strings.HasPrefix(w, "model=")
		}) {
		return "adult"
	}
	if c.page == "docs/reweigh.md" {
		return "reweigh"
	}
	return "."
}

// runOfPage runs a command in a copy of the folder, and expects success.
func runOfPage(t *testing.T, dir string, c pageCommand) {
	t.Helper()
	own := t.TempDir()
	if err := os.CopyFS(own, os.DirFS(filepath.Join(dir, folderOf(c)))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(own)
	start := time.Now()
	defer func() { t.Logf("%v %s", time.Since(start).Round(time.Millisecond), c) }()
	var out, problems bytes.Buffer
	if code := Main(t.Context(), c.words, &out, &problems); code != 0 {
		t.Errorf("%s: %d, %s", c, code, problems.String())
	}
}

// pageFolder makes the files that pages name, from generated records and with the program.
func pageFolder(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "first-study.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"readmission.yaml": regexp.MustCompile("(?ms)^```yaml\n(# readmission.*?)^```").FindSubmatch(page)[1]}
	for _, name := range []string{"schema.yaml", "study.yaml"} {
		if files[name], err = os.ReadFile(filepath.Join("..", "..", "deploy", "examples",
			name)); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("reweigh", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := public.DefaultHospitalConfig()
	config.Records = 800
	table, schema := public.Hospitals(config)
	for _, name := range []string{"records.csv", "our-patients.csv", "patients.csv", "ward.csv",
		"public.csv"} {
		if err := writeHospital(name, schema, table, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"pool make --schema schema.yaml --rows 300 --out pool.csv",
		"simulate --train records.csv --schema schema.yaml --pool pool.csv --parties 3 --epsilon 8 --set project=0 --out release.json",
		"simulate evaluate --train records.csv --schema schema.yaml --pool pool.csv --parties 3 --epsilon 8 --set model=release.json --out judged.json",
		"simulate survival --train records.csv --schema schema.yaml --pool pool.csv --parties 3 --epsilon 8 --set time=days --set by=sex --set until=30 --repeats 1 --out relapse.json",
		"simulate regress --train records.csv --schema schema.yaml --pool pool.csv --parties 3 --epsilon 8 --set outcome=days --set columns=age --repeats 1 --out stay.json",
		"simulate ratio --set generate=1200 --parties 4 --records 80 --epsilon 8 --set targets=2 --out by-clinic.json",
		"simulate reweigh --train records.csv --schema schema.yaml --set split=sex=male --set 'query=readmitted == yes' --set hold_out_share=.25 --set folder=reweigh/w --repeats 1",
	} {
		words, err := shellWords(line)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var out, problems bytes.Buffer
		code := Main(t.Context(), words, &out, &problems)
		if t.Logf("%v %s", time.Since(start).Round(time.Millisecond), line); code != 0 {
			t.Fatalf("caucus %s: %d, %s", line, code, problems.String())
		}
	}
	for to, from := range map[string]string{
		"reweigh/pool.csv": "reweigh/w/pool.csv", "reweigh/made.csv": "reweigh/w/pool.csv", "reweigh/schema.yaml": "reweigh/w/schema.yaml",
		"reweigh/weights.json": "reweigh/w/release.json", "model.json": "release.json",
	} {
		text, err := os.ReadFile(filepath.FromSlash(from))
		if err == nil {
			err = os.WriteFile(filepath.FromSlash(to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
