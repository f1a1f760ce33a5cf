package agent

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"caucus/internal/clock"
	"caucus/internal/testlevel"
	"caucus/learners"
	"caucus/privacy"
	"caucus/protocol"
)

// stalling is a coordinator that answers one poll late.
type stalling struct {
	heard
	poll int // number of the late poll, 0 for none
	by   time.Duration
	seen int
}

func (s *stalling) Studies(ctx context.Context) (protocol.Listing, error) {
	l, err := s.heard.Studies(ctx)
	if s.seen++; s.seen == s.poll {
		clock.Clock{}.Complete().Sleep(ctx, s.by)
	}
	return l, err
}

// TestDrawTellsNothing: the time to draw noise and write the upload cannot be heard, neither from
// the moments of polls nor by a coordinator that answers a poll late, so that the draw begins at a
// moment of its choice.
func TestDrawTellsNothing(t *testing.T) {
	for name, c := range map[string]stalling{
		"prompt": {}, "stalls before the window": {poll: 1, by: 3 * time.Second}, "stalls after it": {poll: 2, by: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var first []string
			for _, takes := range []time.Duration{0, time.Millisecond, 60 * time.Millisecond,
				170 * time.Millisecond} {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					r := rigIn(dir, nil)
					r.Config.Poll = 350 * time.Millisecond
					r.Config.Checkpoint = func(effect string) {
						if effect == "answered" {
							time.Sleep(takes)
						}
					}
					a, h := r.heard(t)
					c := c
					c.heard = h
					a.link = &c
					ctx, cancel := c.s.listening()
					defer cancel()
					if err := a.Run(ctx); err != nil {
						t.Fatal(err)
					}
					if first == nil {
						first = c.s.all
					}
					if !slices.Equal(c.s.all, first) {
						t.Errorf("a draw of %v is heard:\n%q\n%q", takes, c.s.all, first)
					}
					if n := strings.Count(strings.Join(c.s.all, " "), "contribute"); n != 1 {
						t.Errorf("%v: %d contributions", takes, n)
					}
				})
			}
		})
	}
}

// TestDrawsAreGivenTime: before any margin, a draw gets more time than it takes, for every
// mechanism that a site releases by, on vectors of any length and shape: a plan may need millions
// of draws from urns to release a number. Times are processor time of this thread, the least of a
// few tries; a fiftieth of the second that every window adds is for what interrupts a short draw.
func TestDrawsAreGivenTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := func(f func()) time.Duration {
		least := time.Hour
		for range 5 {
			start := testlevel.ThreadTime()
			f()
			least = min(least, testlevel.ThreadTime()-start)
		}
		return least
	}
	steps := 0.0
	step := float64(least(func() { steps = learners.RunReference() })) / steps
	budget := privacy.Budget{Epsilon: 1, Delta: 1e-6}
	must := func(m privacy.Mechanism, err error) privacy.Mechanism {
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	sums := privacy.Bound{Unit: privacy.Record, L1: 1 << 22, L2sq: 1 << 41}
	all := map[string]privacy.Terms{
		"gaussian": {Mechanism: must(privacy.CalibrateGaussian(sums, budget)), Bound: sums, Length: 2000},
		"pure":     {Mechanism: must(privacy.CalibratePure(sums, 2000, 1)), Bound: sums, Length: 2000},
		"laplace":  {Mechanism: must(privacy.CalibrateLaplace(sums, 1)), Bound: sums, Length: 2000},
	}
	for _, shape := range []struct{ classes, sets, total int }{{2, 1, 1 << 20}, {2, 8, 1000},
		{30, 4, 1000}, {1000, 2, 100_000}} {
		for _, name := range []string{"laplace", "gaussian", "gaussian-zcdp", "dirichlet",
			"laplace-prior"} {
			m, err := privacy.CalibrateCounts(name,
				privacy.CountTerms{Unit: privacy.Label, Classes: shape.classes,
					Total: int64(shape.total), Budget: budget})
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprint(name, shape)] = privacy.Terms{Mechanism: m,
				Bound: privacy.CountBound(privacy.Label,
					shape.classes), Length: shape.classes * shape.sets}
		}
	}
	for name, terms := range all {
		values := make([]int64, terms.Length)
		for i := range values {
			values[i] = int64(i % 100)
		}
		s, err := privacy.NewSensitive(values, terms.Bound)
		if err != nil {
			t.Fatal(err)
		}
		l, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
		if err != nil {
			t.Fatal(err)
		}
		id := 0
		took := least(func() {
			id++
			if _, err := l.Release(t.Context(), fmt.Sprint(id), s, terms.Mechanism); err != nil {
				t.Fatal(err)
			}
		})
		given := time.Duration(terms.Steps()*step) + time.Second/50
		t.Logf("%s: took %v, given %v", name, took, given)
		if took > given {
			t.Errorf("%s: a draw of %d numbers takes %v, it is given %v", name, terms.Length, took, given)
		}
	}
}
