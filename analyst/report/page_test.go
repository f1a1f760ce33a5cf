package report

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"sync"
	"testing"

	"caucus/internal/testpages"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/verify/evidence"
)

// longName is a long name without places to break, with markup that a browser must not interpret.
const longName = `<script>alert(1)</script>an-exceedingly-long-name-without-any-place-to-break-it-which-somebody-chose-0123456789`

// samplePages are three pages: of a release with everything that a page can show, of the same
// release that does not hold, and of the same beside another study's pool.
var samplePages = sync.OnceValues(func() (map[string][]byte, error) {
	chart := &study.ReportChart{Title: "accuracy on test records",
		Note: "± is the standard deviation over 3 draws", Percent: true, Bars: []study.ReportBar{
			{Name: "released", Value: .8, Low: .75, High: .85, Main: true}, study.NewIntervalBar(longName, .7, 0), {Name: "skewed", Value: .6, Low: .2, High: .65},
		}}
	odds := &study.ReportChart{Title: "odds ratios", Ratio: true, Bars: []study.ReportBar{
		{Name: "age: 10 more", Value: 1.6, Low: 1.4, High: 1.9}, {Name: longName, Value: .02, Low: 1e-9, High: 1e9},
	}}
	release := Page{
		Title: "Study " + longName + ": what came out", Answer: "It works.", Warnings: []string{"one of them " + longName},
		Charts: []*Dots{NewDots(chart), NewDots(odds)}, Figures: newFigures([]study.ReportFigure{sampleFigure(), sampleCurves()}), Numbers: "scores", Lines: []study.ReportLine{{Name: "records", Text: longName}},
		Tables:  []table{newTable(study.ReportTable{Title: "columns", Head: []string{"column", "share", "released"}, Rows: [][]string{{longName, "0.5", "123"}, {"b", "1", "2"}}})},
		Parties: 3, Contributed: []study.PartyID{"a", "b", longName}, Missing: []study.PartyID{"d"}, Unit: privacy.Record,
		Guarantee: "much", NotProtected: []string{longName}, Costs: []study.ReleaseCost{{Output: "sums", Mechanism: "discrete-gaussian", Epsilon: 1, Delta: 1e-6, Rho: .02}},
		Totals:   []study.UnitTotal{{Unit: privacy.Party, Reason: "nothing is proved"}},
		Findings: []foundGroup{{"DOES NOT HOLD", "fails", []evidence.Finding{{Subject: "signature", Verdict: evidence.Fails, Text: longName}}}},
		Study:    "s", Kind: "classify", Mechanism: "cross", Plan: strings.Repeat("0123456789abcdef", 4), Command: "caucus simulate " + longName,
	}
	many := study.ReportTable{Title: "columns by ward " + longName,
		Head: []string{"", "north", "south", "east", "west"}}
	for i := range mostOpenRows + 1 {
		many.Rows = append(many.Rows,
			[]string{fmt.Sprintf("level %d", i), "12 (3.4)", "56 (7.8)", "90 (1.2)", "34 (5.6)"})
	}
	release.Tables = append(release.Tables, newTable(many))
	refused := release
	otherPool := release
	otherPool.OtherPool = longName + " is not the pool of this study"
	refused.Failed =
		[]evidence.Finding{{Subject: "signature", Verdict: evidence.Fails,
			Text: "the release was changed, said " + longName}}
	pages := map[string][]byte{}
	for name, page := range map[string]Page{"release": release, "refused": refused,
		"pool": otherPool} {
		var b bytes.Buffer
		if err := page.Write(&b); err != nil {
			return nil, err
		}
		pages[name] = b.Bytes()
	}
	return pages, nil
})

func sampleFigure() study.ReportFigure {
	return study.ReportFigure{
		Group: "scores of " + longName, Title: "calibration", Caption: longName, X: "score", Y: "share", From: -3, To: 2, Diagonal: true,
		Lines: []study.ReportCurve{
			{Name: "everybody", Dots: true, Points: []study.ReportPoint{{X: 0, Y: .1, Low: 0, High: .2}, {X: 1, Y: .6, Low: 0, High: 1}}},
			{Name: longName, Dots: true, Points: []study.ReportPoint{{X: .5, Y: .5}}},
		},
		Table: study.ReportTable{Title: "score and share", Head: []string{"score", "everybody", longName}, Rows: [][]string{{"-3.000", "0.100 (0.000 to 0.200)", "unknown"}}},
	}
}

// sampleCurves has bands, and numbers below the marks of its axis.
func sampleCurves() study.ReportFigure {
	f := study.ReportFigure{Title: "without the event", X: "time (" + longName + ")", Y: "share",
		To: 1e5, Bands: true, Marks: []float64{0, 30_000, 1e5},
		Below: study.ReportTable{Title: "at risk", Head: []string{"", "0", "30000", "100000"}},
		Table: study.ReportTable{Title: "all", Head: []string{"time"}, Rows: [][]string{{"0"}}}}
	for _, name := range []string{"arm a", longName, "c"} {
		f.Lines = append(f.Lines, study.ReportCurve{Name: name, Points: []study.ReportPoint{
			{Y: 1, Low: 1, High: 1}, {X: .3, Y: .5, Low: .4, High: .6}}})
		f.Below.Rows = append(f.Below.Rows, []string{name, "123456", "56", ""})
	}
	return f
}

// TestRiskTable: each number stands below the mark of its time, which has its own line, and each
// line has a form of its own beside its name. A legend would say the names again.
func TestRiskTable(t *testing.T) {
	made := newFigures([]study.ReportFigure{sampleCurves()})[0].Figures[0]
	picture := string(made.Picture)
	for _, want := range []string{
		fmt.Sprintf(`<text x="%.1f" y="%.1f" text-anchor="middle" fill="currentColor">30000<`,
			acrossOf(.3), downOf(0)+18),
		fmt.Sprintf(`<path d="M%.1f %.1fv%.0f"`, acrossOf(.3), downOf(1), squareSize),
		fmt.Sprintf(`<text x="%.1f" y="%.1f" text-anchor="middle" fill="currentColor">56<`,
			acrossOf(.3), squareHeight+squareRow-5+2*squareRow),
		">arm a</text>", "…</text>", fmt.Sprintf(`viewBox="0 0 420 %.0f"`, squareHeight+7*squareRow),
	} {
		if !strings.Contains(picture, want) {
			t.Errorf("no %s in the picture", want)
		}
	}
	if n := strings.Count(picture, "<path d=\"M2 "); n != 3 || len(made.Legend) != 0 {
		t.Errorf("%d lines are named below, want 3; the legend has %d", n, len(made.Legend))
	}
	if a, b, c := dashes(0), dashes(1), dashes(2); a == b || b == c || a == c {
		t.Error("two lines look alike in print")
	}
}

// TestFigure: an open interval reaches the ends of the axis, and every known bin is a point.
func TestFigure(t *testing.T) {
	picture := string(newFigures([]study.ReportFigure{sampleFigure()})[0].Figures[0].Picture)
	if bar := fmt.Sprintf("M%.1f %.1fV%.1f", acrossOf(1), downOf(0),
		downOf(1)); !strings.Contains(picture, bar) {
		t.Errorf("no interval %s in the picture", bar)
	}
	if n := strings.Count(picture, "<circle"); n != 3 {
		t.Errorf("the picture has %d points, want 3", n)
	}
}

// TestRatios: an axis of ratios contains 1, and an interval beyond its ends is cut there.
func TestRatios(t *testing.T) {
	d := NewDots(&study.ReportChart{Ratio: true,
		Bars: []study.ReportBar{{Name: "a", Value: 4, Low: 2, High: 1e9},
			{Name: "b", Value: 2, Low: 2, High: 2}}})
	// log 2 / log 100 of 96 %, from 2 %
	if want := template.HTML(`<text x="2.00%" y="14">1</text><text x="98.00%" y="14" text-anchor="end">100</text>`); d.Ends != want || !strings.Contains(string(d.Rows[1].Strip), `cx="16.45%"`) || d.Rows[0].Value != "4 (2 to 1e+09)" {
		t.Errorf("the axis has the ends %s: %+v", d.Ends, d.Rows)
	}
	// No end that leaves out 1 is written as 1, and no small difference as 0.
	for want, c := range map[string]*study.ReportChart{
		"1.037 (1.003 to 1.073)": {Ratio: true, Bars: []study.ReportBar{
			{Value: 1.0374, Low: 1.003, High: 1.0731}}},
		"0.0020 ± 0.0010": {Zero: true, Bars: []study.ReportBar{
			{Value: .002, Low: .001, High: .003}}},
	} {
		if d := NewDots(c); d.Rows[0].Value != want || c.Zero && !strings.Contains(
			string(d.Ends), ">+0.003<") {
			t.Errorf("%q on an axis with the ends %s, want %q", d.Rows[0].Value, d.Ends, want)
		}
	}
}

// TestNoDifference: the axis says where no difference is, and what has an interval that holds it is
// grey. Where that mark stands near an end, the end's text gives way.
func TestNoDifference(t *testing.T) {
	of := func(low, high float64) study.ReportBar {
		return study.ReportBar{Name: "a", Value: (low + high) / 2, Low: low, High: high}
	}
	for name, c := range map[string]struct {
		chart study.ReportChart
		ends  string // texts of the axis
		grey  []bool // of each row
	}{
		"differences": {study.ReportChart{Zero: true, Bars: []study.ReportBar{of(-2, 1), of(-2, -1),
			of(1, 2)}}, "-2 +2 0", []bool{true, false, false}},
		"ratios": {study.ReportChart{Ratio: true, Bars: []study.ReportBar{of(.5, 2), of(1.5, 2)}},
			"0.5 2 1", []bool{true, false}},
		"near an end": {study.ReportChart{Zero: true, Bars: []study.ReportBar{of(-.1, 9),
			of(5, 9)}}, "+10 0", []bool{true, false}},
		"at an end": {study.ReportChart{Zero: true, Bars: []study.ReportBar{of(1, 2)}}, "+0 +2",
			[]bool{false}},
		"no differences": {study.ReportChart{Whole: true, Bars: []study.ReportBar{of(0, 1)}}, "0 1",
			[]bool{false}},
	} {
		d := NewDots(&c.chart)
		var ends []string
		texts := regexp.MustCompile(">([^<]+)<")
		for _, text := range texts.FindAllStringSubmatch(string(d.Ends), -1) {
			ends = append(ends, text[1])
		}
		if got := strings.Join(ends, " "); got != c.ends {
			t.Errorf("%s: the axis says %q, want %q", name, got, c.ends)
		}
		for i, want := range c.grey {
			strip := string(d.Rows[i].Strip)
			if strings.Contains(strip, "at grey") != want ||
				strings.Contains(strip, `class="none"`) == c.chart.Whole {
				t.Errorf("%s: row %d is %s", name, i, strip)
			}
		}
	}
}

// TestPages: whatever a release says, pages hold no script and load nothing from elsewhere. Long
// tables are folded, and failed findings lead.
func TestPages(t *testing.T) {
	pages, err := samplePages()
	if err != nil {
		t.Fatal(err)
	}
	testpages.CheckSelfContained(t, pages)
	for name, page := range pages {
		if folded := fmt.Sprintf(": %d rows</summary>", mostOpenRows+1); name == "release" &&
			(strings.Count(string(page), folded) != 1 ||
				strings.Count(string(page), "<details><summary>columns") != 1) {
			t.Errorf("%s folds another table than the long one", name)
		}
		banner, answer := bytes.Index(page, []byte(`class="bad" role="alert"`)), bytes.Index(page, []byte("It works."))
		if name == "refused" && (banner < 0 || answer >= 0 ||
			banner > bytes.Index(page, []byte("<section"))) || name != "refused" && banner >= 0 {
			t.Errorf("%s: what does not hold leads a page, and no other (%d, %d)", name, banner, answer)
		}
	}
}

func TestPagesFit(t *testing.T) {
	t.Parallel()
	pages, err := samplePages()
	if err != nil {
		t.Fatal(err)
	}
	testpages.CheckLayouts(t, pages)
}

// TestInCell: a number and its error stay on one line, and no part is longer than a line.
func TestInCell(t *testing.T) {
	long := strings.Repeat("x", 70)
	for text, want := range map[string]string{
		"":                     "",
		"0.521 ± 0.077":        "0.521\u00a0±\u00a00.077",
		"sex: male, against":   "sex: male, against",
		long[:longWord] + " y": long[:longWord] + " y",
		"of " + long:           "of " + long[:32] + "\u200b" + long[:32] + "\u200b" + long[:6],
	} {
		if got := inCell(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
