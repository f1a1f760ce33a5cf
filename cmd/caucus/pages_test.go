package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/verify"
)

// longName is a name that a careless page would let run over its edge, with words that
// are no text to a browser.
const longName = `<script>alert(1)</script>an-exceedingly-long-name-without-any-place-to-break-it-which-somebody-chose-0123456789`

// samplePages are a page of a release with all that it may hold, and a demo's.
func samplePages(t *testing.T) map[string][]byte {
	t.Helper()
	chart := &study.ReportChart{Title: "accuracy on test records", Note: spread(3), Percent: true, Bars: []study.ReportBar{
		{Name: "released", Value: .8, Low: .75, High: .85, Main: true}, study.Bar(longName, .7, 0), {Name: "skewed", Value: .6, Low: .2, High: .65},
	}}
	release := releasePage{
		Title: "What came out of " + longName, Answer: "It works.", Warnings: []string{"one of them " + longName},
		Charts: []*dots{newDots(chart)}, Numbers: "scores", Lines: []study.ReportLine{{Name: "records", Text: longName}},
		Tables:  []pageTable{newPageTable(study.ReportTable{Title: "columns", Head: []string{"column", "share", "released"}, Rows: [][]string{{longName, "0.5", "123"}, {"b", "1", "2"}}})},
		Parties: 3, Contributed: []study.PartyID{"a", "b", longName}, Missing: []study.PartyID{"d"}, Unit: privacy.Record,
		Guarantee: "much", NotProtected: []string{longName}, Costs: []study.ReleaseCost{{Output: "sums", Mechanism: "discrete-gaussian", Epsilon: 1, Delta: 1e-6, Rho: .02}},
		Totals:   []study.UnitTotal{{Unit: privacy.Party, Why: "nothing is proved"}},
		Findings: []foundGroup{{"DOES NOT HOLD", "fails", []verify.Finding{{About: "signature", Verdict: verify.Fails, Says: longName}}}},
		Study:    "s", Kind: "classify", Mechanism: "cross", Plan: strings.Repeat("0123456789abcdef", 4), Command: "caucus simulate " + longName,
	}
	alone := .79
	demo := demoReport{
		Data: "generated hospital data", Parties: 50, Epsilon: 1, Records: 12000, Pool: 100, Test: 50, Command: "caucus demo",
		Studies: []demoStudy{
			{Name: "votes", About: "hide every party", Kind: "classify", Mechanism: "tally", Unit: privacy.Party, Noise: "coordinator", Epsilon: 1, Measure: demoMeasure{Name: "accuracy", Better: "high", Released: .77, Unperturbed: .8, Baseline: .64, BaselineName: "largest class", Alone: &alone}, Contributed: []study.PartyID{"a", "b"}, Warnings: []string{"a warning"}},
			{Name: "sums", About: "hide every record", Kind: "classify", Mechanism: "cross", Unit: privacy.Record, Noise: "site", Epsilon: 1, Measure: demoMeasure{Name: "accuracy", Better: "high", Released: .82, Unperturbed: .83, Baseline: .64, BaselineName: "largest class", Alone: &alone}},
			{Name: "shares", About: "shares of sets", Kind: "ratio", Mechanism: "auto", Unit: privacy.Label, Noise: "site", Epsilon: 1, Measure: demoMeasure{Name: "error of class shares (L1)", Better: "low", Released: .01, Unperturbed: .01, Baseline: .5, BaselineName: "the parties' own shares"}},
		},
		Curves: []demoCurve{
			{Study: "votes", Points: []demoPoint{{.3, .6, .02}, {1, .7, .02}, {10, .8, .01}}, Unperturbed: .82, Majority: .64, Alone: .79},
			{Study: "sums", Points: []demoPoint{{.3, .7, .02}, {1, .82, .02}, {10, .83, .01}}, Unperturbed: .84, Majority: .64, Alone: .79},
		},
	}
	pages := map[string][]byte{}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"release": func(b *bytes.Buffer) error { return release.write(b) },
		"demo":    func(b *bytes.Buffer) error { return writeDemoPage(b, demo) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		pages[name] = b.Bytes()
	}
	return pages
}

// TestPagesStandAlone: pages hold no script and ask for nothing from elsewhere, whatever
// a release says, and what works leads the demo's.
func TestPagesStandAlone(t *testing.T) {
	for name, page := range samplePages(t) {
		for _, bad := range []string{"<script", "http://", "https://", "src=", "@import", "url("} {
			text := strings.ReplaceAll(string(page), "http://www.w3.org/2000/svg", "")
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
		if name == "demo" && bytes.Index(page, []byte("<b>shares</b>")) > bytes.Index(page, []byte("<b>votes</b>")) {
			t.Error("the study that does no better than one site stands before one that does")
		}
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
		const r = l.getBoundingClientRect(), s = l.parentElement.querySelector(":scope > svg").getBoundingClientRect();
		if (r.top < s.bottom - 1) faults.push("the legend lies on the picture");
	}
	for (const table of document.querySelectorAll("table")) if (!table.querySelector("th[scope=col]")) faults.push("a table has no heads");
	if (!document.documentElement.lang || !document.querySelector("main h1")) faults.push("no language or heading");
	const figure = document.querySelector("td.n");
	if (!document.querySelector("nav") && figure.getBoundingClientRect().bottom > 844 && width === 390) faults.push("the first figure is " + figure.getBoundingClientRect().bottom + " pixels down a phone");
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
	ctx := browse(t)
	dir := t.TempDir()
	for name, page := range samplePages(t) {
		file := filepath.Join(dir, name+".html")
		if err := os.WriteFile(file, page, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, as := range []look{{"phone", 390, "light", "screen"}, {"small", 320, "light", "screen"}, {"desk", 1280, "light", "screen"}, {"dark", 390, "dark", "screen"}, {"paper", 718, "light", "print"}} {
			lay(t, ctx, "file://"+file, name, as)
		}
	}
}
