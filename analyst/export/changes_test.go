package export_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"caucus/analyst/export"
	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/regress"
	"caucus/study/regress/leastsquares"
)

// changesOf returns a regress release of an outcome, and its table. The columns age and born are
// the same, so with both nothing is known.
func changesOf(t *testing.T, outcome string, columns ...string) (study.Release,
	leastsquares.Table) {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: born, kind: numeric, min: 0, max: 100}
  - {column: days, kind: numeric, min: 0, max: 60, log: true}
  - {column: ward, kind: categorical, levels: ['` + hostileArm + `', b]}
`))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for i := range 4800 {
		age, ward := strconv.Itoa(20+i%61), hostileArm
		if i%3 == 1 {
			ward = "b"
		}
		rows = append(rows, []string{age, age, strconv.Itoa((i%61)/4 + i%7), ward,
			[]string{"no", "yes"}[i/2%2]})
	}
	table, err := dataset.NewTable([]string{"age", "born", "days", "ward", "died"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := s.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	p := study.Proposal{Name: "stay", Kind: "regress", Unit: privacy.Record, Epsilon: 20}
	if p.KindTerms, err = study.EncodeTerms(regress.Terms{Outcome: outcome,
		Is: map[string]string{"died": "yes"}[outcome], Columns: columns,
		Radius: 8}); err != nil {
		t.Fatal(err)
	}
	out, err := simulate.Regress{Split: simulate.Split{Schema: s, Train: records.AsTable(),
		Parties: 4, Seed: 1}, Proposal: p}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return *out.Release, out.Released
}

// toldApart are columns of which all coefficients are known.
var toldApart = []string{"age", "ward"}

// TestChanges: a file has each coefficient once, with its interval or the reason why there is none,
// and of a logarithm the factor for the step that it names.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		outcome string
		columns []string
	}{{"days", toldApart}, {"died", toldApart}, {"days", []string{"age", "born", "ward"}}} {
		outcome, changes := c.outcome, len(c.columns)
		r, table := changesOf(t, outcome, c.columns...)
		f, err := export.NewFrame(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := f.CSV()
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1+changes+4 {
			t.Fatalf("%s: there are %d rows", outcome, len(rows))
		}
		for i, row := range rows[1:] {
			cell := map[string]string{}
			for k, name := range rows[0] {
				cell[name] = row[k]
			}
			n := table.R2
			switch {
			case i < changes:
				n = table.Coefficients[i].Change
				if cell["measure"] != "change" || cell["column"] != table.Coefficients[i].Column {
					t.Errorf("%s: row %d is %q", outcome, i, row)
				}
			case cell["measure"] == "intercept":
				n = table.Intercept
			case cell["measure"] == "residual_sd":
				n = table.Residual
			case cell["measure"] == "records":
				n = table.CountedNumber()
			}
			want := map[string]float64{"value": n.Value, "low": n.Low, "high": n.High, "sd": n.SD,
				"noise_sd": n.NoiseSD}
			if i < changes && outcome == "days" {
				by := table.Coefficients[i].Spread
				want["factor"], want["factor_low"] = math.Exp(n.Value*by), math.Exp(n.Low*by)
				want["factor_high"] = math.Exp(n.High * by)
			} else if cell["factor"] != "" {
				t.Errorf("%s: there is a factor in %q", outcome, row)
			}
			if n.Known() != (changes == 2) && cell["measure"] != "records" {
				t.Errorf("%s by %s: %q is known, or is not", outcome, c.columns, row)
			}
			for name, v := range want {
				text := ""
				if n.Known() {
					text = strconv.FormatFloat(v, 'g', -1, 64)
				}
				if cell[name] != text || cell["unknown"] != n.Unknown {
					t.Errorf("%s: %s of row %d is %q, want %q", outcome, name, i, cell[name], text)
				}
			}
		}
		if level := table.Coefficients[changes-1]; level.To != hostileArm ||
			rows[changes][4] != "'"+hostileArm {
			t.Errorf("a formula is no text: %q", rows[changes])
		}
	}
}

// drawsChanges runs the R program, whose frame has the rows of the CSV and which draws a picture,
// of an outcome that is a logarithm and of one that is a share.
func drawsChanges(t *testing.T, rscript string) {
	t.Helper()
	for _, outcome := range []string{"days", "died"} {
		r, _ := changesOf(t, outcome, toldApart...)
		f, err := export.NewFrame(r)
		if err != nil {
			t.Fatal(err)
		}
		program, err := f.R()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		run := inR(t, rscript, dir, "changes.R", program)
		run("changes.R", "changes.pdf")
		if b, err := os.ReadFile(filepath.Join(dir, "changes.pdf")); err != nil || len(b) < 1000 {
			t.Errorf("the picture has %d bytes (%v)", len(b), err)
		}
		want := fmt.Sprintf("TRUE %d %t %.10g %s", len(f.Rows), outcome == "days",
			f.Rows[1].Numbers[0], hostileArm)
		if said := run("-e", `source("changes.R"); pdf(NULL); caucus_plot(); x <- caucus_changes; `+
			`cat(caucus_simulated, nrow(caucus_numbers), tolower(par("xlog")), `+
			`sprintf("%.10g", x$value[2]), x$against[2])`); said != want {
			t.Errorf("%s: R says %q, want %q", outcome, said, want)
		}
	}
}
