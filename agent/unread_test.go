//go:build unix

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"caucus/agent/desk"
	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/privacy"
	"caucus/study"
)

// pipe replaces the rig's declared file by a named pipe: whoever opens it is seen, and waits.
func (r *rig) pipe(t *testing.T) string {
	t.Helper()
	file := r.Config.Data["ward"].File
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

// isOpen says whether somebody has a pipe open for reading.
func isOpen(t *testing.T, pipe string) bool {
	t.Helper()
	f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	return true
}

// TestRefusedUnread: whatever keeps a site from taking part, its file is not opened, nothing is
// charged, and a refusal is told once.
func TestRefusedUnread(t *testing.T) {
	for name, test := range map[string]struct {
		propose func(*study.Proposal)
		change  func(*rig)
		want    int // declined
	}{
		"policy":   {nil, func(r *rig) { r.Config.Policy.Mechanisms = nil }, 1},
		"a person": {nil, func(r *rig) { r.Config.Policy.Approval = policy.ApproveByPerson }, 0},
		"ledger":   {nil, func(r *rig) { r.Config.Policy.TotalLimit[privacy.Record] = privacy.Budget{Epsilon: 0.5, Delta: 1e-5} }, 1},
		"year": {nil, func(r *rig) {
			r.Config.Policy.YearLimit =
				map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 0.5, Delta: 1e-5}}
		}, 1},
		"clocks":        {nil, func(r *rig) { r.skew = 2 * time.Hour }, 0},
		"ε of 1e-30":    {nil, func(r *rig) { r.change(func(p *study.Plan) { p.Epsilon = 1e-30 }) }, 1},
		"no terms":      {nil, func(r *rig) { r.change(func(p *study.Plan) { p.TermsDigest = "" }) }, 1},
		"other terms":   {nil, func(r *rig) { r.change(func(p *study.Plan) { p.TermsDigest = strings.Repeat("0", 64) }) }, 1},
		"learner":       {votes("forest"), nil, 1},
		"pool rows":     {nil, func(r *rig) { r.Config.Policy.MaxPoolRows = 59 }, 1},
		"features":      {nil, func(r *rig) { r.Config.Policy.MaxFeatures = 3 }, 1},
		"time":          {nil, func(r *rig) { r.Config.Policy.MaxTime = time.Second }, 1},
		"the deadline":  {nil, func(r *rig) { r.Config.Clock.Now = func() time.Time { return r.study.Plan.Deadline.Add(-time.Second) } }, 0},
		"not on roster": {nil, func(r *rig) { r.change(func(p *study.Plan) { p.Roster = []study.PartyID{"other", "third"} }) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, test.propose)
			if test.change != nil {
				test.change(r)
			}
			pipe := r.pipe(t)
			a := r.agent(t)
			for range 3 {
				if err := a.PollOnce(context.Background()); err != nil {
					t.Fatal(err)
				}
				if len(a.preparation.queue) > 0 || isOpen(t, pipe) {
					t.Fatal("the file is read")
				}
			}
			if n := charges(t, a, privacy.Record); n != 0 || len(r.bodies) != 0 {
				t.Errorf("%d charges, %d uploads, want none", n, len(r.bodies))
			}
			if _, _, err := a.Studies(context.Background()); err != nil {
				t.Errorf("the studies cannot be listed: %v", err)
			}
			if r.declined != test.want {
				t.Errorf("declined %d times, want %d:\n%s", r.declined, test.want, r.Log)
			}
		})
	}
}

// TestChargedBeforeRead: when the file is opened the ledger holds the charge, and the disk the
// moment of the upload.
func TestChargedBeforeRead(t *testing.T) {
	for _, noise := range []study.Noise{study.NoiseSite, study.NoiseCoordinator} {
		t.Run(string(noise), func(t *testing.T) {
			r := newRig(t, victimStudy(noise))
			text, err := os.ReadFile(r.Config.Data["ward"].File)
			if err != nil {
				t.Fatal(err)
			}
			pipe := r.pipe(t)
			a := r.agent(t)
			if err := a.PollOnce(context.Background()); err != nil {
				t.Fatal(err)
			}
			finished := make(chan bool)
			go func() { a.SendCharged(context.Background()); close(finished) }()
			f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until it is opened for reading
			if err != nil {
				t.Fatal(err)
			}
			if n := charges(t, a, privacy.Record); n != 1 {
				t.Errorf("%d charges when the file is opened, want 1", n)
			}
			var fixed site.Schedule
			b, err := a.site.Studies.Folder(r.hash).Read(site.FileSchedule)
			if err != nil || json.Unmarshal(b, &fixed) != nil ||
				fixed.WindowEnd.Sub(fixed.WindowStart) < leastWindow {
				t.Errorf("the time that is kept: %+v, %v", fixed, err)
			}
			if _, err := f.Write(text); err != nil {
				t.Fatal(err)
			}
			f.Close()
			<-finished
			if n := charges(t, a, privacy.Record); n != 1 || len(r.bodies) != 1 {
				t.Errorf("%d charges, %d uploads, want 1 and 1:\n%s", n, len(r.bodies), r.Log)
			}
		})
	}
}

// TestApprovedUnread: a person's approval is stored before the file is opened, so the agent's next
// step does not depend on the time to read it.
func TestApprovedUnread(t *testing.T) {
	r := newRig(t, nil)
	r.Config.Policy.Approval = policy.ApproveByPerson
	a := r.agent(t)
	round(t, a)
	text, err := os.ReadFile(r.Config.Data["ward"].File)
	if err != nil {
		t.Fatal(err)
	}
	pipe := r.pipe(t)
	done := make(chan error)
	go func() {
		_, err := a.Approve(context.Background(), "illness", desk.Approver{})
		done <- err
	}()
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until it is opened for reading
	if err != nil {
		t.Fatal(err)
	}
	if by, _ := a.site.Approvers(a.site.Studies.Folder(r.hash), r.hash,
		r.study.Plan); len(by) != 1 {
		t.Error("the file was opened before the study was approved")
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close(), <-done); err != nil {
		t.Error(err)
	}
}
