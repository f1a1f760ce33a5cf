package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/study/describe/described"
)

// TestCases: in files as people have them, what simulate calls true is what pandas computes, and a
// release is near. A third of the glucose is missing without a word of it in the schema; creatinine
// in µmol/l lies in a tenth of its bounds. Noise moves a release by more than 30 of its standard
// deviations, which fails this test wrongly, with probability below 1e-12.
func TestCases(t *testing.T) {
	dir := os.Getenv("CAUCUS_CASES")
	if dir == "" {
		t.Skip("CAUCUS_CASES is not set: it names the folder of made-up files this test reads")
	}
	for _, c := range []struct {
		file, schema, pool, column string
		mean, sd, median, missing  float64
		near                       float64 // the released mean's tolerance
	}{
		{"05-missing.csv", "unflagged.yaml", "unflaggedpool.csv", "glucose", 108.4709, 25.324, 106,
			.37, 20},
		{"15-wide-range.csv", "15-schema.yaml", "15-pool.csv", "creatinine", 82.6046, 20.9229, 80,
			0, 2},
	} {
		at := func(name string) string { return filepath.Join(dir, "data", name) }
		var out, said bytes.Buffer
		if code := Main(context.Background(), []string{"simulate", "describe", "--json",
			"--train", at(c.file), "--schema", at(c.schema), "--pool", at(c.pool), "--parties", "1",
			"--repeats", "1", "--epsilon", "20", "--set", "minimum=1"}, &out, &said); code != 0 {
			t.Fatalf("%s: %d, %s", c.file, code, said.Bytes())
		}
		var doc struct{ Released, True described.Table }
		unmarshal(t, out.Bytes(), &doc)
		of := func(table described.Table) described.Summary {
			for _, column := range table.Columns {
				if column.Column == c.column {
					return column.Groups[0]
				}
			}
			t.Fatalf("%s: no column %s", c.file, c.column)
			return described.Summary{}
		}
		near := func(what string, got, want, by float64) {
			if !(math.Abs(got-want) <= by) {
				t.Errorf("%s: %s is %v, want %v", c.file, what, got, want)
			}
		}
		right, released := of(doc.True), of(doc.Released)
		near("the true mean", right.Mean.Value, c.mean, 1e-4)
		near("the true sd", right.SD.Value, c.sd, 1e-3)
		near("the true median", right.Quantiles[1].Value, c.median, 1e-9)
		near("the released mean", released.Mean.Value, c.mean, c.near)
		for what, shares := range map[string][]*described.Estimate{"true": right.Shares,
			"released": released.Shares} {
			near("the "+what+" share of missing", shares[len(shares)-1].Value, c.missing, .05)
		}
	}
}

// TestPoolSaysMissing: a check of a pool says how many of its cells are missing, and which values
// replace them.
func TestPoolSaysMissing(t *testing.T) {
	dir := t.TempDir()
	pool, schema := filepath.Join(dir, "pool.csv"), filepath.Join(dir, "schema.yaml")
	write(t, pool, "age,sex\n30,f\n,f\n40,\n70,m\n")
	write(t, schema, "label: {column: ill, classes: [no, yes]}\nfeatures:\n"+
		"  - {column: age, kind: numeric, min: 0, max: 100}\n"+
		"  - {column: sex, kind: categorical, levels: [f, m]}\n")
	var out, said bytes.Buffer
	if code := Main(context.Background(), []string{"pool", "check", "--schema", schema, "--pool",
		pool}, &out, &said); code != 0 {
		t.Fatal(said.String())
	}
	for _, want := range []string{"age: 1 cell missing",
		"in place of missing cells stand: age 50, sex other"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
