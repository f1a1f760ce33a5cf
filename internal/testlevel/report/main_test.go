package main

import (
	"strings"
	"testing"
	"time"
)

// TestReport: failures are shown and fail the report, and so do a slow package, a skip that is not
// in the list, and a line of the list whose test did not run.
func TestReport(t *testing.T) {
	const passed = `{"Action":"pass","Package":"a","Test":"TestOne","Elapsed":1}
{"Action":"pass","Package":"a","Elapsed":61.5}
`
	const skipped = `{"Action":"output","Package":"a","Test":"TestPages/wide","Output":"no chromium\n"}
{"Action":"skip","Package":"a","Test":"TestPages/wide"}
{"Action":"pass","Package":"a","Test":"TestPages"}
`
	for _, c := range []struct {
		name, events, skips string
		limit               time.Duration
		wrong, shows        string // "" for nothing wrong
	}{
		{"well", passed, "", time.Minute * 2, "", "   61.5  a\n"},
		{"long", passed, "", time.Minute, "a takes 62 s, the limit is 60 s", ""},
		{"a skip", skipped + passed, "a TestPages Chromium here\n", 0, "", "for want of Chromium here:\n\ta TestPages/wide\n"},
		{"an unnamed skip", skipped + passed, "a TestOther Chromium\n", 0, "does not name the test: a TestPages/wide\nno chromium", ""},
		{"a stale name", passed, "a TestGone data\n", 0, "names a TestGone, which did not run", ""},
		{"a name alone", passed, "a TestOne\n", 0, "give a package, a test and what it wants", ""},
		{"a failure", `{"Action":"output","Package":"a","Test":"TestOne","Output":"it is 3\n"}
{"Action":"fail","Package":"a","Test":"TestOne"}
` + passed, "", 0, "failed: a TestOne", "it is 3\n"},
		{"no build", `{"ImportPath":"a","Action":"build-output","Output":"undefined: x\n"}
{"Action":"fail","Package":"a"}
`, "", 0, "failed: a", "undefined: x\n"},
		{"nothing", "", "", 0, "no package was tested", ""},
		{"no event", "go: no such flag\n" + passed, "", 0, "go: no such flag", ""},
	} {
		var out strings.Builder
		err := report(strings.NewReader(c.events), &out, c.skips, c.limit)
		if (err == nil) != (c.wrong == "") || err != nil &&
			!strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
		}
		if !strings.Contains(out.String(), c.shows) {
			t.Errorf("%s: it shows\n%s\nwant %q", c.name, out.String(), c.shows)
		}
	}
}
