//go:build !windows

package command

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestScore: a program sees the schema's columns without the label, and its numbers come back in
// the order of the records.
func TestScore(t *testing.T) {
	s, records, _ := page(t)
	p := shell(t, `[ $# = 2 ] && cp "$1" "$2" . && printf '0.25\r\n1e-3\n'`)
	scores, err := p.Score(context.Background(), s, records.X)
	if err != nil || !slices.Equal(scores, []float64{.25, .001}) {
		t.Fatalf("scores %v: %v", scores, err)
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, recordsFile))
	if want := "age,p0,p1\n41,f,m\n,other,m\n"; err != nil || string(text) != want {
		t.Errorf("records are %q, want %q (%v)", text, want, err)
	}
	if text, err = os.ReadFile(filepath.Join(p.Dir, schemaFile)); err != nil || !strings.Contains(string(text), `"column": "p1"`) {
		t.Errorf("the schema is %s (%v)", text, err)
	}
	left, err := os.ReadDir(p.Scratch)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestNoScores: each mistake of a program gives an error that describes it, and no scores.
func TestNoScores(t *testing.T) {
	s, records, _ := page(t)
	for line, want := range map[string]string{
		`echo 1`:                       "1 lines for 2 records",
		`echo 1; echo 0; echo 1`:       "3 lines for 2 records",
		`true`:                         "0 lines",
		`echo .5; echo nan`:            `line 2 of its answer, "nan", is no number from 0 to 1`,
		`echo inf; echo .5`:            "line 1",
		`echo 1.0000001; echo .5`:      "line 1",
		`echo .5; echo -0.1`:           "line 2",
		`echo .5; echo`:                "line 2",
		`echo .5,.5; echo .5`:          "line 1",
		`echo 1; echo 0; exit 3`:       "exit status 3",
		`echo broken >&2; exit 1`:      "it said: broken",
		`head -c 5000000 /dev/zero`:    "more than a line for each row",
		`echo 1; echo 0; kill -9 $$`:   "killed",
		`echo 1; echo 0; exec sleep 9`: "not done after 300ms",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			p := shell(t, line)
			if strings.Contains(line, "sleep") {
				p.Timeout = 300 * time.Millisecond
			}
			scores, err := p.Score(context.Background(), s, records.X)
			if err == nil || scores != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("scores %v, error %v, want %q", scores, err, want)
			}
			left, err := os.ReadDir(p.Scratch)
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

// FuzzParseScores: no answer makes the reader panic, and an accepted one has a number from 0 to 1
// for each record.
func FuzzParseScores(f *testing.F) {
	f.Add([]byte("0.5\r\n1\n0\n"), 3)
	f.Add([]byte("NaN\n-0"), 2)
	f.Add([]byte("\n\n"), 1)
	f.Fuzz(func(t *testing.T, answer []byte, rows int) {
		rows = min(max(rows, 0), 1000)
		scores, err := parseScores(answer, rows)
		if err != nil {
			return
		}
		if len(scores) != rows {
			t.Errorf("%q: %d scores for %d records", answer, len(scores), rows)
		}
		for _, p := range scores {
			if !(p >= 0 && p <= 1) {
				t.Errorf("%q is read as %v", answer, p)
			}
		}
	})
}
