package demo

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"caucus/internal/testpages"
	"caucus/privacy"
	"caucus/study"
)

func samplePage(t *testing.T) []byte {
	t.Helper()
	alone := .79
	curve := study.ReportFigure{Title: "curve", X: "months", Y: "share", To: 48, Bands: true,
		Caption: "half a year", Marks: []float64{0, 48},
		Lines: []study.ReportCurve{{Name: "arm", Points: []study.ReportPoint{{Y: 1, Low: 1,
			High: 1}, {X: 1, Y: .5, Low: .4, High: .6}}}},
		Below: study.ReportTable{Title: "at risk", Head: []string{"", "0", "48"},
			Rows: [][]string{{"arm", "90", "12"}}},
		Table: study.ReportTable{Title: "all", Head: []string{"months"}, Rows: [][]string{{"0"}}}}
	r := Report{
		Data: "generated hospital data", Parties: 50, Epsilon: 1, Records: 12000, Pool: 100, TestRecords: 50, Command: "caucus demo",
		Studies: []Study{
			{Name: "votes", About: "hide every party", Kind: "classify", Mechanism: "tally", Unit: privacy.Party, Noise: "coordinator", Epsilon: 1, Measure: Measure{Name: "accuracy", Better: "high", Released: .77, Baseline: .64, BaselineName: "largest class", Alone: &alone, Margin: .05, MarginText: "the 95 % binomial error"}, Contributed: []study.PartyID{"a", "b"}, Warnings: []string{"a warning"}},
			{Name: "sums", About: "hide every record", Figure: &curve, Kind: "classify", Mechanism: "cross", Unit: privacy.Record, Noise: "site", Epsilon: 1, Measure: Measure{Name: "accuracy", Better: "high", Released: .82, Baseline: .64, BaselineName: "largest class", Alone: &alone, Margin: .009, MarginText: "the 95 % binomial error"}},
			{Name: "shares", About: "shares of sets", Kind: "ratio", Mechanism: "auto", Unit: privacy.Label, Noise: "site", Epsilon: 1, Measure: Measure{Name: "error of class shares (L1)", Better: "low", Released: .01, Baseline: .5, BaselineName: "the parties' own shares", MarginText: "about: the 95 % error of a share"}},
		},
		Curves: []Curve{
			{Study: "votes", Points: []Point{{.3, .6, .02}, {1, .7, .02}, {10, .8, .01}}, Unperturbed: .82, Majority: .64, Alone: .79},
			{Study: "sums", Points: []Point{{.3, .7, .02}, {1, .82, .02}, {10, .83, .01}}, Unperturbed: .84, Majority: .64, Alone: .79},
		},
	}
	var b bytes.Buffer
	if err := WritePage(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestStandings: a study counts as better or worse only if the difference
// exceeds the sampling error of its test records; otherwise as level.
func TestStandings(t *testing.T) {
	alone := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		m    Measure
		want Comparison
	}{
		{Measure{Better: "high", Released: .829, Baseline: .76, Alone: alone(.827), Margin: sure(.829, 6000)}, Equal},
		{Measure{Better: "high", Released: .839, Baseline: .76, Alone: alone(.827), Margin: sure(.839, 6000)}, Better},
		{Measure{Better: "high", Released: .77, Baseline: .76, Alone: alone(.827), Margin: sure(.77, 6000)}, Worse},
		{Measure{Better: "low", Released: .01, Baseline: .5, Margin: .02}, Better},
		{Measure{Better: "low", Released: .045, Baseline: .05, Alone: alone(.06), Margin: .01}, Equal},
		{Measure{Better: "low", Released: .08, Baseline: .05, Alone: alone(.06), Margin: .01}, Worse},
	} {
		if got := c.m.Comparison(); got != c.want {
			t.Errorf("%+v stands %d, want %d", c.m, got, c.want)
		}
	}
	if got := sure(.8, 6400); math.Abs(got-.0098) > 1e-6 { // 1.96·.4/80
		t.Errorf("a share of .8 of 6400 records is sure to %g", got)
	}
	page := string(samplePage(t))
	if want := "At ε = 1, 2 of 3 studies did better than one party alone and than no study, by more than chance moves such a figure: shares, sums; level: votes."; !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
	for _, want := range []string{"how far chance moves a figure of this many records", "more is better</b>. ± is the 95 % binomial error", "less is better</b>. ± is about: the 95 %"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Count(page, ">at risk</text>") != 1 || !strings.Contains(page, "half a year") {
		t.Error("the page does not draw the study that has curves")
	}
	if strings.Index(page, "<b>shares</b>") > strings.Index(page, "<b>votes</b>") {
		t.Error("the study that does no better than one site stands before one that does")
	}
	testpages.CheckSelfContained(t, map[string][]byte{"demo": []byte(page)})
}

func TestPageFits(t *testing.T) {
	t.Parallel()
	testpages.CheckLayouts(t, map[string][]byte{"demo": samplePage(t)})
}

// TestOrdered: a level study precedes a worse one, even if its own relative loss is larger. Within
// one standing the greater gain is first.
func TestOrdered(t *testing.T) {
	alone := .8
	r := Report{Studies: []Study{
		// loses .4 of what is left
		{Name: "worse", Measure: Measure{Better: "high", Released: .72, Alone: &alone, Margin: .01}},
		// loses .8, of very little
		{Name: "level", Measure: Measure{Better: "low", Released: .018, Baseline: .01, Margin: .02}},
		// gains .1
		{Name: "better", Measure: Measure{Better: "high", Released: .82, Alone: &alone, Margin: .01}},
		// gains .005
		{Name: "level too", Measure: Measure{Better: "high", Released: .801, Alone: &alone, Margin: .01}},
		// gains .98
		{Name: "best", Measure: Measure{Better: "low", Released: .01, Baseline: .5, Margin: .02}},
	}}
	var names []string
	for _, s := range r.SortedStudies() {
		names = append(names, s.Name)
	}
	if got, want := strings.Join(names,
		", "), "best, better, level too, level, worse"; got != want {
		t.Errorf("ordered %s, want %s", got, want)
	}
}
