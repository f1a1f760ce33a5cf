package agent

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"caucus/study"
)

// TestBestOfDays: the same plan is given the same time whatever runs beside the agent when
// it looks how fast its machine is: the best of a week counts, also after a restart, and a
// machine that became slower is given more when that week is over.
func TestBestOfDays(t *testing.T) {
	c := DefaultConfig()
	c.State = t.TempDir()
	s := openSpeed(c)
	took := 2 * time.Millisecond
	s.look = func() time.Duration { return took }
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	given := func() time.Duration {
		return c.spanOf(s.step(), study.Work{Shards: 2, Shard: 1e9, Rest: 1e8}, 1e5).whole()
	}
	s.measure(now)
	quiet := given()
	for _, took = range []time.Duration{40 * time.Millisecond, 12 * time.Millisecond, 9 * time.Millisecond} { // while much else runs
		s.measure(now.Add(time.Hour))
		if got := given(); got != quiet {
			t.Errorf("a busy moment of %v a million steps moves a window from %v to %v", took, quiet, got)
		}
	}
	if s = openSpeed(c); given() != quiet {
		t.Errorf("after a restart a window is %v, was %v", given(), quiet)
	}
	s.look = func() time.Duration { return time.Millisecond }
	s.measure(now.Add(2 * time.Hour))
	if got := given(); got >= quiet {
		t.Errorf("a better moment gives %v, not less than %v", got, quiet)
	}
	quiet = given()
	s.look = func() time.Duration { return 5 * time.Millisecond }
	for day := range speedDays {
		if got := given(); got != quiet {
			t.Errorf("%d days later: %v, want %v", day, got, quiet)
		}
		s.measure(now.AddDate(0, 0, day+1))
	}
	if got := given(); got <= quiet {
		t.Errorf("a machine that was slow for a week is given %v, as when it was fast", got)
	}
	if err := os.WriteFile(filepath.Join(c.State, "speed.json"), []byte("{\"2030"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s = openSpeed(c); len(s.best) > 0 {
		t.Errorf("a torn file holds %v", s.best)
	}
}

// TestMeasuredAgain: an agent looks when it starts and about once an hour, never while a
// contribution is prepared or one that was late goes on.
func TestMeasuredAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := rigIn(dir, nil)
		r.config.Poll = time.Minute
		a, _ := r.heard(t)
		looks := 0
		a.state.speed.look = func() time.Duration {
			if looks++; a.preparation.busy.Load() > 0 || a.silence.over != nil {
				t.Error("it looks while it works on records")
			}
			return time.Millisecond
		}
		prepare := a.preparation.prepare
		a.preparation.prepare = func(ctx context.Context, w window) draft {
			a.clock.Sleep(ctx, time.Second)
			made := prepare(ctx, w)
			time.Sleep(3*time.Hour + 30*time.Minute) // late, and hears of no end
			return made
		}
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Hour)
		defer cancel()
		if err := a.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if looks < 3 || looks > 4 { // at the start, then from three and a half hours on
			t.Errorf("it looked %d times in six hours", looks)
		}
	})
}

// TestConstantsAreTold: of contributions in which something was a constant the site is told
// how many and why, by check, by its page and, of late ones, by its metrics.
func TestConstantsAreTold(t *testing.T) {
	r := newRig(t, nil)
	r.config.Metrics = "127.0.0.1:0"
	a := r.agent(t)
	a.preparation.prepare = func(context.Context, window) draft { return draft{late: "all of it"} }
	if got := a.state.checkConstants(); got.Status != StatusOK {
		t.Errorf("before any: %+v", got)
	}
	round(t, a)
	a.polled(t.Context(), nil)
	got := a.state.checkConstants()
	if got.Status != StatusWarning || !strings.HasPrefix(got.Says, "1 made; ") || !strings.Contains(got.Says, "1 not ready in time") {
		t.Errorf("of one that was late: %+v", got)
	}
	if text := metricsOf(t, a); !strings.Contains(text, "caucus_agent_late_contributions 1") {
		t.Error(text)
	}
	d, err := a.newDesk()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	var page bytes.Buffer
	if err := d.list(t.Context(), httptest.NewRequest("GET", "/", nil), &page); err != nil || !strings.Contains(page.String(), "1 not ready in time") {
		t.Errorf("the page does not say so: %v\n%s", err, page.String())
	}
	if err := os.Remove(r.config.Data["ward"].File); err != nil {
		t.Fatal(err)
	}
	if err := a.state.studies.of(r.hash).write(fileUnread, []byte("gone\n")); err != nil {
		t.Fatal(err)
	}
	if got := a.state.checkConstants(); !strings.Contains(got.Says, "1 with empty records") {
		t.Errorf("of one without records: %+v", got)
	}
	a.polled(t.Context(), nil)
	if text := metricsOf(t, a); strings.Contains(text, "empty") || strings.Contains(text, "unread") {
		t.Errorf("metrics tell of a file: %s", text)
	}
}
