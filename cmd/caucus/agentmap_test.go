package main

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMapReads: agent map reads a file as an import does, and says which records are no rows and
// which cells are no text. A stricter verb refuses the same file and names the line.
func TestMapReads(t *testing.T) {
	dir := t.TempDir()
	schema := filepath.Join(dir, "schema.yaml")
	if err := os.WriteFile(schema, []byte("label: {column: ill, classes: [\"no\", \"yes\"]}\npatient: id\nfeatures:\n  - {column: age, kind: numeric, min: 0, max: 100}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text  string
		code  int
		says  string // agent map prints this, on either output
		other string // dataset schema prints this; "": it takes the file
	}{
		"line breaks": {"id,age,note,ill\n1,70,\"a\nb, c\",yes\n2,30,,no\n", 0, `"records": 2`, ""},
		"malformed": {"id,age,note,ill\n1,70,\"a\nb\",yes\n2,30,no\n" +
			"3,\"40,,no\n4,50,,yes\n5,60,,no\n", 0,
			"look at: rows with a quote that does not end, read as empty records: 1, the first " +
				"in line 5", "line 5 is no row of 4 cells: check its quotes and delimiters"},
		"short": {"id,age,ill,note\n1,70,yes\n2,30,no,x\n3,40\n", 0,
			"look at: rows with fewer cells than the header has names: the last cells are " +
				"missing: 2, the first in line 2", ""},
		"trailing": {"id,age,ill\n1,70,yes,\n2,30,no,\n", 0, "look at: rows with empty cells " +
			"after the last named column, which are dropped: 2, the first in line 2", ""},
		"lone return": {"id,age,ill\r\n1,70,yes\r2,30,no\r\n", 0,
			"look at: lines that end with a carriage return alone: 1, the first in line 2", ""},
		"backslash": {"id,age,note,ill\n1,70,\"a \\\"b\\\", c\",yes\n2,30,d,no\n", 0,
			`"escape": "\\"`, "line 2 is no row of 4 cells"},
		"title": {"Ward 7, 2024\n\nid;age;note;ill\n1;70;a, b;yes\n2;30;c;no\n", 0,
			`"first_row": 3`, "line 3 is no row of 2 cells"},
		"Excel's sep": {"sep=;\nid;age;ill\n1;70,5;yes\n2;30;no\n", 0, `"delimiter": ";"`,
			"the delimiter, which looks like ';'"},
		"footer": {"id,age,ill\n1,70,yes\n2,30,no\n(2 rows)\n", 0, `"records": 2`, ""},
		"dashes": {"id,age,ill\n--,---,---\n1,70,yes\n2,30,no\n", 0, `"comment": "--"`,
			`such as "---"`},
		"same names": {"id,age,ill,x,x\n1,70,yes,1,2\n2,30,no,3,4\n", 0, `"records": 2`, ""},
		"all": {"id,age,ill\n1;70;yes\n2;30;no\n", 1, "none of 2 records is a row of 3 " +
			"cells: rows with another delimiter, read as empty records: 2, the first in line 2",
			"line 2 is no row of 3 cells"},
		"no text": {"id,age,ill\n1,70,yes\n2,30,m\xe4\xdfig\n3,40,no\n", 0,
			"look at: ill: 1 cell no UTF-8 text, taken for missing: name the file's encoding", ""},
		"no patient": {"age,ill\n70,yes\n30,no\n", 0, `"patient": "none"`, ""},
	} {
		file := filepath.Join(dir, "export.csv")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if code := Main(context.Background(),
			[]string{"agent", "map", "--json", "--schema", schema, "--file",
				file}, &out, &out); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: agent map: %d, %s, want %d, %q", name, code, out.String(), c.code, c.says)
		}
		out.Reset()
		if code := Main(context.Background(), []string{"dataset", "schema", file, "--label", "ill"},
			&out, &out); (code != 0) != (c.other != "") ||
			!strings.Contains(out.String(), c.other) {
			t.Errorf("%s: dataset schema: %d, %s, want %q", name, code, out.String(), c.other)
		}
	}
}

// TestMapQuery: agent map drafts from the rows of a source's query too, also where the driver is
// called mariadb.
func TestMapQuery(t *testing.T) {
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "ward.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE t (Alter_ INT, krank TEXT); INSERT INTO t VALUES (70, 'ja'), (30, 'nein')"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"schema.yaml": "label: {column: ill, classes: [\"no\", \"yes\"]}\nfeatures:\n  - {column: age, kind: numeric, min: 0, max: 100}\n",
		"dsn":         "ward.db",
		"agent.yaml": `state: state
policy:
  {kinds: [describe], mechanisms: [laplace], noise: [site], approval: policy,
  study: {record: {epsilon: 1}}, total: {record: {epsilon: 2}}}
data:
  ward:
    query: {driver: sqlite, dsn_file: dsn, sql: "SELECT Alter_, krank FROM t"}
    schema: schema.yaml
  other: {query: {driver: mariadb, dsn_file: dsn, sql: "SELECT 1 AS a"}, schema: schema.yaml}
  file: {file: export.csv, schema: schema.yaml}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for query, want := range map[string]string{
		"ward": `"ja": "yes"`, "other": "dsn_file: write postgres://name", "file": "no such source with a query", "none": "no such source with a query",
	} {
		var out bytes.Buffer
		args := []string{"agent", "map", "--json", "--schema", "schema.yaml", "--query", query}
		code := Main(context.Background(), args, &out, &out)
		if (code == 0) != (query == "ward") || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %d, %s, want %q", query, code, out.String(), want)
		}
	}
}
