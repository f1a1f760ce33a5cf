package testpages

import (
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

	"caucus/internal/testlevel"
)

// pageFaults runs in a browser and lists a page's faults: elements beyond its edge, pictures
// without words, tables without heads, texts outside a drawing, a legend over a drawing.
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
	const none = !document.querySelector(".dots") && [...document.querySelectorAll("h2")].some(h => h.textContent === "How sure it is"); // a release without numbers to draw
	if (!none && !document.querySelector("nav, .bad") && figure.getBoundingClientRect().bottom > 844 && width === 390) faults.push("the first figure is " + figure.getBoundingClientRect().bottom + " pixels down a phone");
	return faults;
})()`

// View is a person's view of a page.
type View struct {
	Name          string
	Width         int64
	Scheme, Media string
}

// Browse starts a browser for a test, or skips the test.
func Browse(t *testing.T) context.Context {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium (apt-get install chromium): .ci/run installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser),
		chromedp.NoSandbox, chromedp.WSURLReadTimeout(2*time.Minute))
	root, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(root)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// CheckLayout opens a page in a view and reports the faults that a browser finds. CAUCUS_PICTURES
// names a folder for screenshots.
func CheckLayout(t *testing.T, ctx context.Context, url, name string, as View) {
	t.Helper()
	_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: as.Width, Height: 844, DeviceScaleFactor: 1,
			Mobile: as.Width < 600})
	if err == nil {
		_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Media: as.Media,
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
					Value: as.Scheme}}})
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
		t.Errorf("%s, %s: %s", name, as.Name, b)
	}
	if to := os.Getenv("CAUCUS_PICTURES"); to != "" {
		picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, fmt.Sprintf("%s-%s.png", name, as.Name)), picture,
			0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// CheckLayouts lays out pages, by name, on a phone, on a desk, dark and on paper.
func CheckLayouts(t *testing.T, pages map[string][]byte) {
	t.Helper()
	ctx := Browse(t)
	dir := t.TempDir()
	for name, page := range pages {
		file := filepath.Join(dir, name+".html")
		if err := os.WriteFile(file, page, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, as := range testlevel.Of(t,
			[]View{{Name: "small", Width: 320, Scheme: "light", Media: "screen"},
				{Name: "phone", Width: 390, Scheme: "light", Media: "screen"},
				{Name: "desk", Width: 1280, Scheme: "light", Media: "screen"},
				{Name: "dark", Width: 390, Scheme: "dark", Media: "screen"},
				{Name: "paper", Width: 718, Scheme: "light", Media: "print"}}, 3) {
			CheckLayout(t, ctx, "file://"+file, name, as)
		}
	}
}

// CheckSelfContained fails if a page holds a script or requests anything from elsewhere.
func CheckSelfContained(t *testing.T, pages map[string][]byte) {
	t.Helper()
	for name, page := range pages {
		text := strings.ReplaceAll(string(page), "http://www.w3.org/2000/svg", "")
		for _, bad := range []string{"<script", "http://", "https://", "src=", "@import", "url("} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
	}
}
