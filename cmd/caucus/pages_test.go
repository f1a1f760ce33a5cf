package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"caucus/aggregation/validation"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/evaluate"
	"caucus/study/verify"
)

// longName is a name that a careless page would let run over its edge, with words that
// are no text to a browser.
const longName = `<script>alert(1)</script>an-exceedingly-long-name-without-any-place-to-break-it-which-somebody-chose-0123456789`

// samplePages, made once, are a page of a release with all that it may hold, the same that
// was found not to hold and the same beside another study's pool, a demo's, a forecast's,
// and those of a simulated classifier, of table one and of scores.
var samplePages = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "pages")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	chart := &study.ReportChart{Title: "accuracy on test records", Note: spread(3), Percent: true, Bars: []study.ReportBar{
		{Name: "released", Value: .8, Low: .75, High: .85, Main: true}, study.Bar(longName, .7, 0), {Name: "skewed", Value: .6, Low: .2, High: .65},
	}}
	release := releasePage{
		Title: "What came out of " + longName, Answer: "It works.", Warnings: []string{"one of them " + longName},
		Charts: []*dots{newDots(chart)}, Curves: []*curves{newCurves(judgedSample())}, Numbers: "scores", Lines: []study.ReportLine{{Name: "records", Text: longName}},
		Tables:  []pageTable{newPageTable(study.ReportTable{Title: "columns", Head: []string{"column", "share", "released"}, Rows: [][]string{{longName, "0.5", "123"}, {"b", "1", "2"}}})},
		Parties: 3, Contributed: []study.PartyID{"a", "b", longName}, Missing: []study.PartyID{"d"}, Unit: privacy.Record,
		Guarantee: "much", NotProtected: []string{longName}, Costs: []study.ReleaseCost{{Output: "sums", Mechanism: "discrete-gaussian", Epsilon: 1, Delta: 1e-6, Rho: .02}},
		Totals:   []study.UnitTotal{{Unit: privacy.Party, Why: "nothing is proved"}},
		Findings: []foundGroup{{"DOES NOT HOLD", "fails", []verify.Finding{{About: "signature", Verdict: verify.Fails, Says: longName}}}},
		Study:    "s", Kind: "classify", Mechanism: "cross", Plan: strings.Repeat("0123456789abcdef", 4), Command: "caucus simulate " + longName,
	}
	many := study.ReportTable{Title: "columns by ward " + longName, Head: []string{"", "north", "south", "east", "west"}}
	for i := range mostOpenRows + 1 {
		many.Rows = append(many.Rows, []string{fmt.Sprintf("level %d", i), "12 (3.4)", "56 (7.8)", "90 (1.2)", "34 (5.6)"})
	}
	release.Tables = append(release.Tables, newPageTable(many))
	alone := .79
	demo := demoReport{
		Data: "generated hospital data", Parties: 50, Epsilon: 1, Records: 12000, Pool: 100, Test: 50, Command: "caucus demo",
		Studies: []demoStudy{
			{Name: "votes", About: "hide every party", Kind: "classify", Mechanism: "tally", Unit: privacy.Party, Noise: "coordinator", Epsilon: 1, Measure: demoMeasure{Name: "accuracy", Better: "high", Released: .77, Unperturbed: .8, Baseline: .64, BaselineName: "largest class", Alone: &alone, Sure: .05, SureIs: "the 95 % binomial error"}, Contributed: []study.PartyID{"a", "b"}, Warnings: []string{"a warning"}},
			{Name: "sums", About: "hide every record", Kind: "classify", Mechanism: "cross", Unit: privacy.Record, Noise: "site", Epsilon: 1, Measure: demoMeasure{Name: "accuracy", Better: "high", Released: .82, Unperturbed: .83, Baseline: .64, BaselineName: "largest class", Alone: &alone, Sure: .009, SureIs: "the 95 % binomial error"}},
			{Name: "shares", About: "shares of sets", Kind: "ratio", Mechanism: "auto", Unit: privacy.Label, Noise: "site", Epsilon: 1, Measure: demoMeasure{Name: "error of class shares (L1)", Better: "low", Released: .01, Unperturbed: .01, Baseline: .5, BaselineName: "the parties' own shares", SureIs: "no interval, but a stand-in"}},
		},
		Curves: []demoCurve{
			{Study: "votes", Points: []demoPoint{{.3, .6, .02}, {1, .7, .02}, {10, .8, .01}}, Unperturbed: .82, Majority: .64, Alone: .79},
			{Study: "sums", Points: []demoPoint{{.3, .7, .02}, {1, .82, .02}, {10, .83, .01}}, Unperturbed: .84, Majority: .64, Alone: .79},
		},
	}
	refused := release
	otherPool := release
	otherPool.OtherPool = longName + " is not the pool of this study"
	refused.Failed = []verify.Finding{{About: "signature", Verdict: verify.Fails, Says: "the release was changed, said " + longName}}
	pages := map[string][]byte{}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"release": func(b *bytes.Buffer) error { return release.write(b) },
		"refused": func(b *bytes.Buffer) error { return refused.write(b) },
		"pool":    func(b *bytes.Buffer) error { return otherPool.write(b) },
		"demo":    func(b *bytes.Buffer) error { return writeDemoPage(b, demo) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return nil, err
		}
		pages[name] = b.Bytes()
	}
	for name, args := range map[string][]string{
		"describe": {"simulate", "describe", "--set", "generate=3000", "--set", "by=sex", "--epsilon", "4", "--report"},
		"evaluate": {"simulate", "evaluate", "--set", "generate=3000", "--set", "by=sex", "--epsilon", "4", "--report"},
		"classify": {"simulate", "classify", "--set", "generate=3000", "--parties", "3", "--epsilon", "4", "--repeats", "2", "--report"},
		"forecast": {"forecast", "--parties", "5", "--records", "500", "--draws", "4", "--sweep", "epsilon", "--out"},
	} {
		file := filepath.Join(dir, name+".html")
		var out, log bytes.Buffer
		if code := Main(context.Background(), append(args, file), &out, &log); code != 0 {
			return nil, fmt.Errorf("%v exits with %d: %s", args, code, log.Bytes())
		}
		page, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		pages[name] = page
	}
	return pages, nil
})

// judgedSample are scores that are no probabilities, of somebody's long words, with bins
// that noise drowned or left open.
func judgedSample() evaluate.Judged {
	known := func(v float64) validation.Number { return validation.Number{Value: v, Low: v - .2, High: v + .1} }
	of := evaluate.Subgroup{Performance: validation.Performance{AUC: known(.8), Bins: []validation.BinShare{
		{Mean: -3, Positives: 10, Negatives: 90, Observed: known(.1)},
		{Mean: 0, Positives: -2, Negatives: 3, Observed: validation.Number{Unknown: "noise"}},
		{Mean: 2, Positives: 40, Negatives: 30, Observed: validation.Number{Value: .6, NoLow: true, NoHigh: true}},
	}}}
	subgroup := of
	subgroup.Level = longName
	return evaluate.Judged{Class: longName, Edges: []float64{-1, 1}, Overall: of, Groupings: []evaluate.Subgroups{{Column: "ward", Levels: []evaluate.Subgroup{subgroup}}}}
}

// TestStandings: the demo calls a study better or worse only by more than the error of so
// many records, and says level of the rest.
func TestStandings(t *testing.T) {
	alone := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		m    demoMeasure
		want comparison
	}{
		{demoMeasure{Better: "high", Released: .829, Baseline: .76, Alone: alone(.827), Sure: sure(.829, 6000)}, level},
		{demoMeasure{Better: "high", Released: .839, Baseline: .76, Alone: alone(.827), Sure: sure(.839, 6000)}, better},
		{demoMeasure{Better: "high", Released: .77, Baseline: .76, Alone: alone(.827), Sure: sure(.77, 6000)}, worse},
		{demoMeasure{Better: "low", Released: .01, Baseline: .5, Sure: .02}, better},
		{demoMeasure{Better: "low", Released: .045, Baseline: .05, Alone: alone(.06), Sure: .01}, level},
		{demoMeasure{Better: "low", Released: .08, Baseline: .05, Alone: alone(.06), Sure: .01}, worse},
	} {
		if got := c.m.comparison(); got != c.want {
			t.Errorf("%+v stands %d, want %d", c.m, got, c.want)
		}
	}
	if got := sure(.8, 6400); math.Abs(got-.0098) > 1e-6 { // 1.96·.4/80
		t.Errorf("a share of .8 of 6400 records is sure to %g", got)
	}
	pages, err := samplePages()
	if err != nil {
		t.Fatal(err)
	}
	page := string(pages["demo"])
	if want := "At ε = 1, 2 of 3 studies did better than one party alone and than no study, by more than the error of so many records: shares, sums; level: votes."; !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
	for _, want := range []string{"(1.96 binomial standard errors of an accuracy, a stand-in of an error)", "more is better; ± is the 95 % binomial error", "less is better; ± is no interval, but a stand-in"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestCurves: what a picture shows stands in its table, open intervals reach the ends of
// all shares, and drowned bins are in neither.
func TestCurves(t *testing.T) {
	c := newCurves(judgedSample())
	drowned := judgedSample()
	drowned.Overall.AUC.Unknown = "noise"
	if newCurves(drowned) != nil {
		t.Error("noise alone is drawn")
	}
	var rows [][]string
	for _, table := range []pageTable{c.Calibration.Plotted, c.ROC.Plotted} {
		for _, row := range table.Rows {
			rows = append(rows, []string{row[0].Text, row[1].Text})
		}
	}
	want := [][]string{
		{"-3.000", "0.100 (-0.100 to 0.200)"}, {"0.000", "unknown"}, {"2.000", "0.600 (any)"},
		{"none", "0.000, 0.000"}, {"1.000", "0.244, 0.833"}, {"-1.000", "0.268, 0.833"}, {"all", "1.000, 1.000"},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("tables hold %q, want %q", rows, want)
	}
	picture := string(c.Calibration.Picture)
	s := newSquare("", "", "", "", func(float64) string { return "" })
	if bar := fmt.Sprintf("M%.1f %.1fV%.1f", s.x(1), s.y(0), s.y(1)); !strings.Contains(picture, bar) {
		t.Errorf("no interval %s in the picture", bar)
	}
	if n := strings.Count(picture, "<circle"); n != 4 { // two bins of two sets of records
		t.Errorf("the picture has %d points, want 4", n)
	}
}

// TestPagesStandAlone: pages hold no script and ask for nothing from elsewhere, whatever
// a release says, and what works leads the demo's.
func TestPagesStandAlone(t *testing.T) {
	pages, err := samplePages()
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range pages {
		for _, bad := range []string{"<script", "http://", "https://", "src=", "@import", "url("} {
			text := strings.ReplaceAll(string(page), "http://www.w3.org/2000/svg", "")
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
		if folded := fmt.Sprintf(": %d rows</summary>", mostOpenRows+1); name == "release" && (strings.Count(string(page), folded) != 1 || strings.Count(string(page), "<details><summary>columns") != 1) {
			t.Errorf("%s folds another table than the long one", name)
		}
		banner, answer := bytes.Index(page, []byte(`class="bad" role="alert"`)), bytes.Index(page, []byte("It works."))
		if name == "refused" && (banner < 0 || answer >= 0 || banner > bytes.Index(page, []byte("<section"))) || name != "refused" && banner >= 0 {
			t.Errorf("%s: what does not hold leads a page, and no other (%d, %d)", name, banner, answer)
		}
		if name == "forecast" {
			for _, want := range []string{"shares are assumed, 0.75 and 0.25", "largest class, assumed", "what nine of ten of 4 draws lie between"} {
				if !strings.Contains(string(page), want) {
					t.Errorf("%s does not say %q", name, want)
				}
			}
		}
		if name == "demo" && bytes.Index(page, []byte("<b>shares</b>")) > bytes.Index(page, []byte("<b>votes</b>")) {
			t.Error("the study that does no better than one site stands before one that does")
		}
	}
}

// TestOrdered: what is level stands above what is worse, however large its loss by share;
// among equals the greater gain is first.
func TestOrdered(t *testing.T) {
	alone := .8
	r := demoReport{Studies: []demoStudy{
		{Name: "worse", Measure: demoMeasure{Better: "high", Released: .72, Alone: &alone, Sure: .01}},      // loses .4 of what is left
		{Name: "level", Measure: demoMeasure{Better: "low", Released: .018, Baseline: .01, Sure: .02}},      // loses .8, of very little
		{Name: "better", Measure: demoMeasure{Better: "high", Released: .82, Alone: &alone, Sure: .01}},     // gains .1
		{Name: "level too", Measure: demoMeasure{Better: "high", Released: .801, Alone: &alone, Sure: .01}}, // gains .005
		{Name: "best", Measure: demoMeasure{Better: "low", Released: .01, Baseline: .5, Sure: .02}},         // gains .98
	}}
	var names []string
	for _, s := range r.ordered() {
		names = append(names, s.Name)
	}
	if got, want := strings.Join(names, ", "), "best, better, level too, level, worse"; got != want {
		t.Errorf("ordered %s, want %s", got, want)
	}
}

// pageFaults is what a browser is asked of a page: elements over its edge, pictures
// without words, tables without heads, texts of a drawing outside it, a legend on it.
const pageFaults = `(() => {
	const faults = [], width = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth > width) faults.push("the page is " + document.documentElement.scrollWidth + " wide on " + width);
	const hidden = e => e.closest("[aria-hidden=true], thead, .skip");
	for (const e of document.querySelectorAll("main *")) {
		const r = e.getBoundingClientRect();
		if (r.width && !hidden(e) && !e.closest("svg") && (r.right > width + 1 || r.left < -1)) faults.push(e.tagName + " " + e.className + " reaches from " + r.left + " to " + r.right + " of " + width);
	}
	for (const s of document.querySelectorAll("svg")) {
		const words = s.querySelector("title") && s.querySelector("desc") && s.getAttribute("role") === "img";
		if (!words && s.getAttribute("aria-hidden") !== "true") faults.push("a picture has no words");
		const box = s.getBoundingClientRect();
		for (const e of s.querySelectorAll("text")) {
			const r = e.getBoundingClientRect();
			if (r.left < box.left - 1 || r.right > box.right + 1 || r.bottom > box.bottom + 1) faults.push("a text leaves its picture: " + e.textContent);
			if (parseFloat(getComputedStyle(e).fontSize) * box.width / s.viewBox.baseVal.width < 9) faults.push("a text is too small: " + e.textContent);
		}
	}
	for (const l of document.querySelectorAll(".legend")) {
		const r = l.getBoundingClientRect(), s = l.parentElement.querySelector(":scope > svg");
		if (s && r.top < s.getBoundingClientRect().bottom - 1) faults.push("the legend lies on the picture");
	}
	for (const table of document.querySelectorAll("table")) if (!table.querySelector("th[scope=col]")) faults.push("a table has no heads");
	if (!document.querySelector("a.skip[href='#main']")) faults.push("nobody can skip to the content");
	if (!document.documentElement.lang || !document.querySelector("main h1")) faults.push("no language or heading");
	const figure = document.querySelector("td.n");
	if (!document.querySelector("nav, .bad") && figure.getBoundingClientRect().bottom > 844 && width === 390) faults.push("the first figure is " + figure.getBoundingClientRect().bottom + " pixels down a phone");
	return faults;
})()`

// look is how somebody sees a page.
type look struct {
	name          string
	width         int64
	scheme, media string
}

// browse starts a browser for a test; there is none where the machine has none.
func browse(t *testing.T) context.Context {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium (apt-get install chromium): .ci/run installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WSURLReadTimeout(2*time.Minute))
	root, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(root)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// lay opens a page as somebody sees it and says what a browser finds wrong with it.
// CAUCUS_PICTURES names a folder for what it sees.
func lay(t *testing.T, ctx context.Context, url, name string, as look) {
	t.Helper()
	_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: as.width, Height: 844, DeviceScaleFactor: 1, Mobile: as.width < 600})
	if err == nil {
		_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: as.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: as.scheme}}})
	}
	if err == nil {
		err = chromedp.Do(ctx, chromedp.Navigate(url))
	}
	if err != nil {
		t.Fatal(err)
	}
	faults, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](pageFaults))
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) > 0 {
		b, _ := json.MarshalIndent(faults, "", " ")
		t.Errorf("%s, %s: %s", name, as.name, b)
	}
	if to := os.Getenv("CAUCUS_PICTURES"); to != "" {
		picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, fmt.Sprintf("%s-%s.png", name, as.name)), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagesFit lays pages out in a browser: on a phone, on a desk, dark, on paper.
func TestPagesFit(t *testing.T) {
	t.Parallel()
	ctx := browse(t)
	dir := t.TempDir()
	pages, err := samplePages()
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range pages {
		file := filepath.Join(dir, name+".html")
		if err := os.WriteFile(file, page, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, as := range testlevel.Of(t, []look{{"small", 320, "light", "screen"}, {"phone", 390, "light", "screen"}, {"desk", 1280, "light", "screen"}, {"dark", 390, "dark", "screen"}, {"paper", 718, "light", "print"}}, 3) {
			lay(t, ctx, "file://"+file, name, as)
		}
	}
}
