package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInCell: what belongs together stays on a line, and nothing is longer than one.
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

// TestConcluded: a release is better or worse only by more than its own deviation over
// repeats, and one draw says how much, and not how sure.
func TestConcluded(t *testing.T) {
	for _, c := range []struct {
		repeats  int
		gain, sd float64
		want     string
	}{
		{3, .021, .004, "Better than it by 2.1 points (± 0.4 points)."},
		{3, .021, .030, "Level with it (2.1 points apart, ± 3.0 points)."},
		{3, -.021, .030, "Level with it (2.1 points apart, ± 3.0 points)."},
		{3, -.021, .004, "Worse than it by 2.1 points (± 0.4 points)."},
		{1, .021, 0, "In one draw of the noise 2.1 points better than it; --repeats 5 says how sure that is."},
		{1, -.021, 0, "In one draw of the noise 2.1 points worse than it; --repeats 5 says how sure that is."},
	} {
		if got := concluded(c.repeats, c.sd, points, against{"it", c.gain}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got, want := concluded(2, .01, points, against{"one", .02}, against{"other", .1}), "Better than one by 2.0 points (± 1.0 points), better than other by 10.0 points (± 1.0 points)."; got != want {
		t.Errorf("of two it is said %q", got)
	}
}

// TestWithoutFolders: a command line on a page keeps the last name of each file, and what
// only looks like a path.
func TestWithoutFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for line, want := range map[string]string{
		"simulate classify --train " + dir + "/in/a.csv --report=in/r.html": "simulate classify --train a.csv --report=r.html",
		"--voter python3 ./in/vote.py --query a/b == 1":                     "--voter python3 vote.py --query a/b == 1",
		"--data-dir /nowhere/at/all --split sex=male":                       "--data-dir all --split sex=male",
	} {
		if got := withoutFolders(line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}
