package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/analyst/simulate"
)

// TestConcluded: a release is better or worse only if the difference exceeds its own deviation over
// repeats. A single draw gives the difference without certainty. Both results are full sentences,
// for readers who know no flag.
func TestConcluded(t *testing.T) {
	const repeated, once = "; ± is its standard deviation.", "; other draws may differ."
	for _, c := range []struct {
		repeats  int
		gain, sd float64
		by       compared
		want     string
	}{
		{3, .021, .004, byAccuracy, "The release was 2.1 points ± 0.4 points more accurate than it" + repeated},
		{3, .021, .030, byAccuracy, "The release was level in accuracy with it (2.1 points ± 3.0 points apart)" + repeated},
		{3, -.021, .030, byAccuracy, "The release was level in accuracy with it (2.1 points ± 3.0 points apart)" + repeated},
		{3, -.021, .004, byAccuracy, "The release was 2.1 points ± 0.4 points less accurate than it" + repeated},
		{1, .021, 0, byAccuracy, "In the one draw of the noise that was made the release was 2.1 points more accurate than it" + once},
		{1, -.021, 0, byAccuracy, "In the one draw of the noise that was made the release was 2.1 points less accurate than it" + once},
		{1, .0003, 0, byAccuracy, "In the one draw of the noise that was made the release was level in accuracy with it (0.0 points apart)" + once},
		{3, .12, .01, byError, "The release was better than it (its error is less by 0.12 ± 0.01)" + repeated},
		{3, -.12, .01, byError, "The release was worse than it (its error is more by 0.12 ± 0.01)" + repeated},
		{3, .000415, .01, byError, "The release was level with it (their errors differ by 0.000415 ± 0.01)" + repeated},
		{1, -.12, 0, byError, "In the one draw of the noise that was made the release was worse than it (its error is more by 0.12)" + once},
	} {
		if got := concluded(c.repeats, c.sd, c.by, against{"it", c.gain}); got != c.want {
			t.Errorf("%+v: %q", c.want, got)
		}
	}
	if got, want := concluded(2, .01, byAccuracy, against{"one", .02}, against{"other", .1}), "The release was 2.0 points ± 1.0 points more accurate than one and 10.0 points ± 1.0 points more accurate than other"+repeated; got != want {
		t.Errorf("of two it is said %q", got)
	}
}

// TestMeasuredRatio: the headline has balanced brackets, and its comparison agrees with the chart,
// where less is better.
func TestMeasuredRatio(t *testing.T) {
	var s simulate.RatioSummary
	s.Targets, s.Repeats = 10, 2
	s.L1.Released, s.L1.Unperturbed, s.L1.TrainingRatio = .128, .12, .3
	m := measuredRatio(s)
	if got := m.Words(); strings.Count(got, "(") != strings.Count(got, ")") || !strings.Contains(got, "Error of the class shares of new sets (L1): released 0.128; ") {
		t.Errorf("it says %q", got)
	}
	if !strings.HasPrefix(m.Chart.Note, "less is better; ") {
		t.Errorf("the chart's note is %q", m.Chart.Note)
	}
}

// TestCommandLine: a command line on a page keeps the last part of each file name, and arguments
// that only look like paths. Pasted into a shell, it gives the same arguments.
func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"in", "my dir", "my dir/sub x"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"simulate", "classify", "--train", dir + "/in/a.csv", "--report=in/r.html"}, "simulate classify --train a.csv --report=r.html"},
		{[]string{"--train", "my dir/sub x/mine.csv", "--schema=" + dir + "/my dir/s y.yaml"}, "--train mine.csv '--schema=s y.yaml'"},
		{[]string{"--set", "voters=python3 ./in/vote.py", "--set", "query=a/b == 1"}, "--set 'voters=python3 vote.py' --set 'query=a/b == 1'"},
		{[]string{"--set", "voters=forest,/nowhere/python3 " + dir + "/in/vote.py"}, "--set 'voters=forest,python3 vote.py'"},
		{[]string{"--set", "model=" + dir + "/in/m.json", "--set", "train=in/a.csv"}, "--set model=m.json --set train=a.csv"},
		{[]string{"--data-dir", "/nowhere/at/all", "--set", "split=sex=male"}, "--data-dir all --set split=sex=male"},
		{[]string{"--query", `age >= 65 and sex == "male"`, "--name", "it's", ""}, `--query 'age >= 65 and sex == "male"' --name 'it'\''s' ''`},
	} {
		if got := commandLine(append([]string{"/usr/bin/caucus"},
			c.args...)); got != "caucus "+c.want {
			t.Errorf("%q became %q, want %q", c.args, got, c.want)
		}
	}
}
