package site

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"caucus/study"
)

// TestBestOfDays: the same plan gets the same time whatever else runs during a measurement. The
// best of a week counts, also after a restart; after that week a machine that became slower gets
// more time.
func TestBestOfDays(t *testing.T) {
	c := DefaultConfig()
	c.State = t.TempDir()
	s := openSpeed(c)
	took := 2 * time.Millisecond
	s.MeasureStep = func() time.Duration { return took }
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	given := func() time.Duration {
		return c.spanOf(s.Step(), study.Work{Shards: 2, ShardSteps: 1e9, OtherSteps: 1e8},
			1e5).Total()
	}
	s.Measure(now)
	quiet := given()
	// while other programs run
	for _, took = range []time.Duration{40 * time.Millisecond, 12 * time.Millisecond,
		9 * time.Millisecond} {
		s.Measure(now.Add(time.Hour))
		if got := given(); got != quiet {
			t.Errorf("a busy moment of %v a million steps moves a window from %v to %v", took, quiet, got)
		}
	}
	if s = openSpeed(c); given() != quiet {
		t.Errorf("after a restart a window is %v, was %v", given(), quiet)
	}
	s.MeasureStep = func() time.Duration { return time.Millisecond }
	s.Measure(now.Add(2 * time.Hour))
	if got := given(); got >= quiet {
		t.Errorf("a better moment gives %v, not less than %v", got, quiet)
	}
	quiet = given()
	s.MeasureStep = func() time.Duration { return 5 * time.Millisecond }
	for day := range speedDays {
		if got := given(); got != quiet {
			t.Errorf("%d days later: %v, want %v", day, got, quiet)
		}
		s.Measure(now.AddDate(0, 0, day+1))
	}
	if got := given(); got <= quiet {
		t.Errorf("a machine that was slow for a week is given %v, as when it was fast", got)
	}
	if err := os.WriteFile(filepath.Join(c.State, "speed.json"), []byte("{\"2030"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if s = openSpeed(c); len(s.best) > 0 {
		t.Errorf("a torn file holds %v", s.best)
	}
}

// TestNoSpanOverflows: more work gives a longer window, up to any amount. An amount beyond every
// policy must not overflow into a short window, in which only some records would be ready.
func TestNoSpanOverflows(t *testing.T) {
	c, step := DefaultConfig(), time.Millisecond
	for _, shards := range []int{0, 1, 3, 1 << 10, 1 << 19, 1 << 20} {
		before := WindowTimes{}
		for steps := 1.0; ; steps *= 1.25 {
			s := c.spanOf(step, study.Work{Shards: shards, ShardSteps: steps, OtherSteps: steps},
				steps)
			if s.Prepare < before.Prepare || s.PerShard < before.PerShard ||
				s.DrawNoise < before.DrawNoise ||
				s.Prepare+s.DrawNoise < s.Prepare {
				t.Fatalf("%d shards of %g steps are given %v, less of them %v", shards, steps, s, before)
			}
			if before = s; math.IsInf(steps, 1) {
				break
			}
		}
		if before.Prepare != longestSpan {
			t.Errorf("%d shards without bound are given %v", shards, before)
		}
	}
}

// TestLateHasTime: the constant that replaces a late contribution has, after the window's end, the
// time of a pass over that number of records.
func TestLateHasTime(t *testing.T) {
	c, step := DefaultConfig(), time.Millisecond
	for _, rest := range []float64{1e6, 1e9, 1e12} {
		none, s := c.spanOf(step, study.Work{}, 1e6),
			c.spanOf(step, study.Work{OtherSteps: rest}, 1e6)
		if pass := s.Prepare - none.Prepare; s.DrawNoise-none.DrawNoise < pass-time.Microsecond {
			t.Errorf("a pass of %v has %v after the end", pass, s.DrawNoise-none.DrawNoise)
		}
	}
}
