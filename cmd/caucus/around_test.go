package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMapAround: a draft leaves out lines that are no records. simulate reads a file as declare
// does, also with a malformed row. The ages are 30 to 69, so their mean is 49.5.
func TestMapAround(t *testing.T) {
	dir := t.TempDir()
	schema := filepath.Join(dir, "schema.yaml")
	if err := os.WriteFile(schema, []byte("label: {column: died, classes: [\"no\", \"yes\"]}\n"+
		"features:\n  - {column: age, kind: numeric, min: 0, max: 110}\n"+
		"  - {column: crea, kind: numeric, min: 0, max: 20}\n"+
		"  - {column: sex, kind: categorical, levels: [F, M]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := func(row, delimiter string) string {
		text := ""
		for i := range 40 {
			text += fmt.Sprintf(strings.ReplaceAll(row, " ", delimiter), 30+i, "1.2",
				"MF"[i%2:i%2+1],
				[]string{"no", "yes"}[i%2])
		}
		return text
	}
	for name, c := range map[string]struct {
		text    string
		records int
		draft   []string
	}{
		"psql": {" age | crea | sex | died \n-----+------+-----+------\n" +
			table("%d %s %s %s\n", " | ") + "(40 rows)\n\n", 40,
			[]string{`"delimiter": "|"`, `"comment": "--"`, `"last_row": 42`}},
		"mysql": {"+-----+------+-----+------+\n| age | crea | sex | died |\n" +
			"+-----+------+-----+------+\n" + table("|%d %s %s %s|\n", " | ") +
			"+-----+------+-----+------+\n40 rows in set (0.00 sec)\n", 40,
			[]string{`"delimiter": "|"`, `"first_row": 2`, `"comment": "+-"`}},
		"footer": {"ward;age;crea;sex;died\n" + table("A;%d %s %s %s\n", ";") +
			"Mean;54;1.4;;\nSum;3240;84;;\nRecords;40\nExported by Dr. Weber\n", 40,
			[]string{`"last_row": 41`}},
	} {
		file := filepath.Join(dir, "export.csv")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		code := Main(context.Background(), []string{"agent", "map", "--json", "--schema", schema,
			"--file", file}, &out, &out)
		for _, want := range append(c.draft, fmt.Sprintf(`"records": %d`, c.records)) {
			if code != 0 || !strings.Contains(out.String(), want) {
				t.Errorf("%s: %d, %s, want %s", name, code, out.String(), want)
			}
		}
	}
	file, pool := filepath.Join(dir, "records.csv"), filepath.Join(dir, "pool.csv")
	good := "age,crea,sex,died\n" + table("%d %s %s %s\n", ",")
	for name, text := range map[string]string{file: good + "70,1.2,M,no,9\n", pool: good} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	code := Main(context.Background(), []string{"simulate", "describe", "--train", file, "--schema",
		schema, "--pool", pool, "--parties", "1", "--repeats", "1", "--epsilon", "20", "--set",
		"minimum=1"}, &out, &out)
	if code != 0 || !strings.Contains(out.String(), "rows with more cells") {
		t.Errorf("simulate: %d, %s", code, out.String())
	}
	if err := os.WriteFile(file, []byte("age,crea,sex,died\n1;2;M;no\n3;4;M;no\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	code = Main(context.Background(), []string{"simulate", "describe", "--train", file, "--schema",
		schema, "--pool", pool, "--parties", "1"}, &out, &out)
	if code == 0 || !strings.Contains(out.String(), "no line is a row of 4 cells") {
		t.Errorf("simulate: %d, %s", code, out.String())
	}
}
