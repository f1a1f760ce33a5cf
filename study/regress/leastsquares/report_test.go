package leastsquares

import (
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
	if want := "; these leave out 0, as 1 in 20 does by chance: age +2 (+1.02 to +2.98)"; !strings.
		Contains(got.Answer, want) {
		t.Errorf("%q has no %q", got.Answer, want)
	}
	table.Counted = 39
	if got, want := report().Answer, "stay, an unknown number of records at 5"; !strings.HasPrefix(
		got, want) {
		t.Errorf("%q does not begin with %q", got, want)
	}
}
