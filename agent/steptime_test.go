package agent

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"caucus/agent/health"
	"caucus/agent/site"
)

// TestMeasuredAgain: an agent measures at its start and about once an hour, never while a
// contribution is prepared or a late one continues.
func TestMeasuredAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := rigIn(dir, nil)
		r.Config.Poll = time.Minute
		a, _ := r.heard(t)
		looks := 0
		a.site.Speed.MeasureStep = func() time.Duration {
			if looks++; a.preparation.busy.Load() > 0 || a.silence.silent {
				t.Error("it looks while it works on records")
			}
			return time.Millisecond
		}
		prepare := a.preparation.prepare
		a.preparation.prepare = func(ctx context.Context, w window) draft {
			a.clock.Sleep(ctx, time.Second)
			made := prepare(ctx, w)
			time.Sleep(3*time.Hour + 30*time.Minute) // late, and ignores the end of its window
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

// TestConstantsAreTold: check and, for late ones, the metrics tell the site how many
// contributions contained a constant, and why.
func TestConstantsAreTold(t *testing.T) {
	r := newRig(t, nil)
	r.Config.MetricsAddress = "127.0.0.1:0"
	a := r.agent(t)
	a.preparation.prepare = func(context.Context, window) draft { return draft{late: "all of it"} }
	if got := health.CheckReplacedContributions(a.site); got.Status != health.OK {
		t.Errorf("before any: %+v", got)
	}
	round(t, a)
	a.counts.CountPoll(t.Context(), a.site, a.id, nil, a.refusedHere)
	got := health.CheckReplacedContributions(a.site)
	if got.Status != health.Warning || !strings.HasPrefix(got.Text, "1 sent; ") ||
		!strings.Contains(got.Text, "1 not ready in time") {
		t.Errorf("of one that was late: %+v", got)
	}
	if text := metricsOf(t, a); !strings.Contains(text, "caucus_agent_late_contributions 1") {
		t.Error(text)
	}
	if err := os.Remove(r.Config.Data["ward"].File); err != nil {
		t.Fatal(err)
	}
	if err := a.site.Studies.Folder(r.hash).Write(site.FileReadFailure,
		[]byte("gone\n")); err != nil {
		t.Fatal(err)
	}
	if got := health.CheckReplacedContributions(a.site); !strings.Contains(got.Text,
		"1 with empty records") {
		t.Errorf("of one without records: %+v", got)
	}
	a.counts.CountPoll(t.Context(), a.site, a.id, nil, a.refusedHere)
	if text := metricsOf(t, a); strings.Contains(text, "empty") ||
		strings.Contains(text, "unread") {
		t.Errorf("metrics tell of a file: %s", text)
	}
}
