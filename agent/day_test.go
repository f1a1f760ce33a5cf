package agent

import (
	"strings"
	"testing"
	"time"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// TestStudiesADay: studies beyond the day's number wait, uncharged, and the coordinator learns it.
// A day begins once, even if the clock is set back, and studies taken up before go on.
func TestStudiesADay(t *testing.T) {
	r := newRig(t, nil)
	now := time.Date(2031, 3, 1, 23, 0, 0, 0, time.UTC)
	r.Config.Clock.Now = func() time.Time { return now }
	r.Config.Policy.StudiesADay = 2
	a := r.agent(t)
	for i := range 3 {
		h := study.Hash{byte(i)}
		if room, err := a.site.CountStudyToday(a.site.Studies.Folder(h), h); err != nil ||
			room != (i < 2) {
			t.Fatalf("study %d: room %v, %v", i, room, err)
		}
	}
	for _, at := range []time.Duration{0, -30 * time.Hour} {
		now = now.Add(at)
		round(t, a)
		round(t, a)
		if n := charges(t, a, privacy.Record); n != 0 || len(r.bodies) > 0 ||
			r.report.Waits[r.hash] != protocol.WaitDay {
			t.Errorf("%d charges, %d uploads, told %v", n, len(r.bodies), r.report.Waits)
		}
	}
	if !strings.Contains(r.Log.String(), "studies_a_day") {
		t.Errorf("the log does not say why it waits:\n%s", r.Log)
	}
	if room, err := a.site.CountStudyToday(a.site.Studies.Folder(study.Hash{1}),
		study.Hash{1}); err != nil ||
		!room {
		t.Errorf("what was taken up waits: %v", err)
	}
	now = now.Add(32 * time.Hour) // an hour into the next day
	round(t, a)
	if n := charges(t, a, privacy.Record); n != 1 || len(r.bodies) != 1 {
		t.Errorf("on the next day: %d charges, %d uploads, want 1 and 1; log:\n%s", n, len(r.bodies), r.Log)
	}
}
