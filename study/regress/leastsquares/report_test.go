package leastsquares

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"caucus/aggregation/validation"
	"caucus/study"
)

// TestReportWords: what a report says of numbers, and of how many records count.
func TestReportWords(t *testing.T) {
	age := validation.Number{Value: 2, SD: .5, NoiseSD: .25, Low: 1.02, High: 2.98}
	table := Table{Counted: 900, NoiseSD: 10, Outcome: "stay", Radius: 3,
		R2:           validation.Number{Value: .218, Low: .2, High: .236},
		Coefficients: []Coefficient{{Column: "age", Spread: 1, Change: age}}}
	report := func() study.Report {
		made, err := study.NewResult(table, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Results{}.Report(study.Release{Result: made,
			Manifest: study.Manifest{Parties: 5}})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := report()
	if share := got.Tables[0].Rows[0][3]; share != "25 %" {
		t.Errorf("noise has %s of the variance, want 25 %%", share)
	}
	for of, want := range map[string]string{
		got.Answer:        "stay, about 900 ± 20 records at 5 sites",
		got.Lines[0].Text: "about 900 ± 20 records count",
		got.Lines[1].Text: "R² 0.218 (0.2 to 0.236)",
	} {
		if !strings.HasPrefix(of, want) {
			t.Errorf("%q does not begin with %q", of, want)
		}
	}
	if want := "; these leave out 0, as 1 in 20 does where a column says nothing: age +2 (+1.02 to +2.98)"; !strings.
		Contains(got.Answer, want) {
		t.Errorf("%q has no %q", got.Answer, want)
	}
	table.Counted = 39
	if got, want := report().Answer, "stay, an unknown number of records at 5"; !strings.HasPrefix(
		got, want) {
		t.Errorf("%q does not begin with %q", got, want)
	}
}

// TestUnknownWords: a reason that all coefficients share stands once in a report, in its answer.
// R² of an outcome of 0 and 1 is said to be small, and what is left is not said.
func TestUnknownWords(t *testing.T) {
	none := validation.Number{Unknown: tooFew}
	table := Table{Counted: 9, NoiseSD: 10, Outcome: "stay", R2: none, Residual: none,
		Intercept: none, Coefficients: []Coefficient{{Column: "age", Change: none},
			{Column: "sex", Change: none}}}
	all := table.answer(5) + table.fit() + fmt.Sprint(table.table())
	if want := "at 5 sites: no coefficient is known: " + tooFew + "."; strings.Count(all,
		tooFew) != 1 || !strings.Contains(all, want) || strings.Count(all, "unknown") != 5 {
		t.Errorf("%q does not have %q, or has it twice", all, want)
	}
	table.Coefficients[0].Change = validation.Number{Value: 1, Low: -1, High: 3}
	table.R2 = validation.Number{Unknown: allNoise}
	table.Residual = table.R2
	all = table.answer(5) + table.fit() + fmt.Sprint(table.table())
	if strings.Count(all, tooFew) != 2 || strings.Count(all, allNoise) != 1 {
		t.Errorf("%q does not say of each row why it is unknown, and of the fit once", all)
	}
	table.Share, table.R2 = true, validation.Number{Value: .007, High: .01}
	if got := table.fit(); !strings.HasPrefix(got, "R² 0.007 (0 to 0.01), which is mostly small") ||
		strings.Contains(got, "left") {
		t.Errorf("the fit of shares is %q", got)
	}
}

// TestLogarithms: changes of a logarithm are told as factors for a step, in the answer, the table
// and the chart; a step of a logarithm as a factor too; the intercept is no factor. In the unit of a
// column of small numbers, the factor would be infinite.
func TestLogarithms(t *testing.T) {
	b := validation.Number{Value: math.Log(1.05), SD: .02, NoiseSD: .01, Low: math.Log(1.01),
		High: math.Log(1.1)}
	table := Table{Counted: 900, NoiseSD: 10, Outcome: "log(1 + days)", FactorOf: "1 + days",
		Intercept: b, Coefficients: []Coefficient{
			{Column: "age", Spread: 2, Change: b},
			{Column: "crp", Log: true, Spread: math.Ln2, Change: validation.Number{Unknown: tooFew}},
		}}
	if want := "as factors of 1 + days these leave out 1, as 1 in 20 does where a column says nothing: age, 2 more: × 1.10 (1.02 to 1.21) (95"; !strings.
		Contains(table.answer(5), want) {
		t.Errorf("%q has no %q", table.answer(5), want)
	}
	got := table.table()
	for i, want := range []string{"1.10 (1.02 to 1.21)", "", ""} {
		if last := got.Rows[i][len(got.Head)-1]; last != want {
			t.Errorf("row %d says %q, want %q", i, last, want)
		}
	}
	chart := table.chart()
	if bar := chart.Bars[0]; !chart.Ratio || chart.Zero || len(chart.Bars) != 1 ||
		bar.Name != "age, 2 more" || math.Abs(bar.Value-1.05*1.05) > 1e-12 ||
		math.Abs(bar.Low-1.01*1.01) > 1e-12 {
		t.Errorf("the chart is %+v", chart)
	}
	small := Coefficient{Column: "mol", Spread: 1e-4,
		Change: validation.Number{Value: 1e4, Low: 9e3, High: 11e3}}
	if got, want := factor(small.Factor()), "2.72 (2.46 to 3.00)"; got != want {
		t.Errorf("the factor of a column of small numbers is %s, want %s", got, want)
	}
	if got := table.Coefficients[1].Step(); got != "1 + crp, times 2" {
		t.Errorf("a step of a logarithm is %q", got)
	}
}
