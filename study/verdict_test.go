package study

import (
	"strings"
	"testing"
)

// TestVerdict: whoever is told that a study does not help is told which of the reasons
// holds, and what it would take or that nothing within reach does alone; nobody
// is told to have fewer records.
func TestVerdict(t *testing.T) {
	line := func(accuracy, auc float64) Line {
		return Line{Accuracy: Range{accuracy, accuracy, accuracy}, AUC: Range{auc, auc, auc}}
	}
	no := func(released, unperturbed, pooled, alone Line) *Forecast {
		return &Forecast{Helps: HelpsNo, Majority: .75, Released: released, Unperturbed: unperturbed, Pooled: pooled, Alone: alone}
	}
	for _, c := range []struct {
		name string
		f    *Forecast
		want string
	}{
		{"features tell nothing", no(line(.75, .5), line(.752, .504), line(.752, .504), line(.75, .5)), "without any noise"},
		{"each knows more", no(line(.80, .8), line(.83, .85), line(.83, .85), line(.82, .84)), "each does better alone"},
		{"each knows as much", no(line(.819, .84), line(.83, .85), line(.83, .85), line(.82, .84)), "each does as well alone"},
		{"noise", no(line(.76, .6), line(.83, .85), line(.83, .85), line(.755, .55)), "noise leaves less than a quarter"},
		{"noise, a rare class", no(line(.75, .55), line(.75, .85), line(.751, .86), line(.75, .54)), "noise leaves less than a quarter"},
		{"each knows more, a rare class", no(line(.75, .7), line(.75, .85), line(.751, .86), line(.75, .8)), "each does better alone"},
		{"judged by accuracy at the edge", no(line(.751, .8), line(.77, .85), line(.755, .86), line(.75, .7)), "noise leaves less than a quarter"},
	} {
		if got := c.f.Verdict(); !strings.HasPrefix(got, "it does not help: "+c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	f := no(line(.80, .8), line(.83, .85), line(.83, .85), line(.82, .84))
	f.Separation = Range{.8, .8, .8}
	size := Size{Parties: 3, Records: 1500}
	if got := f.Warning(Plan{Epsilon: 1}, size); !strings.HasSuffix(got, ": each does better alone; none of these alone would change that: an ε up to 10, up to 100000 such parties, up to 1000000 records at each") {
		t.Errorf("the refusal is %q", got)
	}
	band := Range{.65, .75, .85}
	for _, c := range []struct {
		separation       Range
		parties, records int
		want             string
	}{
		{f.Separation, 0, 0, "none of these alone would change that: an ε up to 10, up to 100000 such parties, up to 1000000 records at each"},
		{band, 0, 0, "at an AUC of 0.75 none of these alone would change that: an ε up to 10, up to 100000 such parties, up to 1000000 records at each"},
		{f.Separation, 40, 0, "it would take 40 parties, each with as many records"},
		{band, 40, 900, "for it perhaps to help it would take 40 parties, each with as many records, or 900 records at each"},
		{f.Separation, 40, 3, "it would take 40 parties, each with as many records; sites with only 3 records each would gain, as they know less alone"},
		{f.Separation, 0, 3, "none of these alone would change that: an ε up to 10, up to 100000 such parties; it is more for sites with only 3 records each, which know less alone"},
	} {
		f.Separation, f.NeedParties, f.NeedRecords = c.separation, c.parties, c.records
		if got := f.Ways(size); got != c.want {
			t.Errorf("%v, %d parties or %d records: %q", c.separation, c.parties, c.records, got)
		}
	}
}
