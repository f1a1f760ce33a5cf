package study

import (
	"strings"
	"testing"
)

// TestVerdict: whoever is told that a study does not help is told which of the reasons
// holds, and what it would take or that nothing within reach does.
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
	if got := f.Ways(); !strings.HasPrefix(got, "nothing within reach would change that: no ε up to 10, ") {
		t.Errorf("nothing within reach is told as %q", got)
	}
	if got := f.Warning(Plan{Epsilon: 1}, Size{Parties: 3, Records: 30}); !strings.Contains(got, ": each does better alone; nothing within reach would change that: no ε up to 10") {
		t.Errorf("the refusal is %q", got)
	}
	f.NeedParties = 40
	if got := f.Ways(); got != "it would take 40 parties, each with as many records" {
		t.Errorf("what it would take is %q", got)
	}
}
