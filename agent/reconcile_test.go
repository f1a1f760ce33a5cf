package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/agent/site"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
)

// TestPutBackBetween: a ledger restored to between a study's charge and answer releases nothing
// until it is reconciled, which charges the study again and says so; then the study goes on.
func TestPutBackBetween(t *testing.T) {
	r := newRig(t, nil)
	r.Config.Policy.TotalLimit[privacy.Record] = privacy.Budget{Epsilon: 5, Delta: 1e-4}
	authority, err := server.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	signer, err := protocol.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := authority.IssueFirstOperator("127.0.0.1:1",
		protocol.Caller{Name: "site", Role: protocol.RoleParty}, signer.Key(), time.Now())
	if err := errors.Join(err, id.Save(site.IdentityFile(r.Config))); err != nil {
		t.Fatal(err)
	}
	backup := t.TempDir()
	copyLedger := func(from, to string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(from, "ledger.db*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err := errors.Join(err,
				os.WriteFile(filepath.Join(to, filepath.Base(f)), b, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.Config.Checkpoint = func(effect string) {
		if effect == "time fixed" {
			copyLedger(r.Config.State, backup)
		}
	}
	a, err := r.open()
	if err != nil {
		t.Fatal(err)
	}
	round(t, a)
	a.Close()
	if len(r.bodies) != 1 {
		t.Fatalf("%d uploads", len(r.bodies))
	}
	removeLedger(t, r.Config)
	copyLedger(backup, r.Config.State)

	next := func(name string) (*rig, *Agent) {
		s := newRig(t, func(p *study.Proposal) { p.Name = name })
		log := s.Config.Log
		s.Config = r.Config
		s.Config.Checkpoint, s.Config.Log = nil, log
		return s, s.agent(t)
	}
	s, b := next("again")
	round(t, b)
	if len(s.bodies) != 0 || !strings.Contains(s.Log.String(), privacy.ErrBehind.Error()) {
		t.Errorf("%d uploads from a ledger that is behind; log:\n%s", len(s.bodies), s.Log)
	}
	b.Close()
	for _, want := range []int{1, 0} {
		lost, err := site.Reconcile(context.Background(), r.Config, nil)
		if err != nil || len(lost) != want || want == 1 &&
			(!lost[0].ResultLost || lost[0].Name != "illness" || len(lost[0].Costs) != 1) {
			t.Fatalf("reconciled %+v, %v, want %d", lost, err, want)
		}
	}
	s, b = next("once more")
	if n := charges(t, b, privacy.Record); n != 2 {
		t.Errorf("%d charges after the reconciliation, want 2: both answers are paid for", n)
	}
	round(t, b)
	if n := charges(t, b, privacy.Record); n != 3 || len(s.bodies) != 1 {
		t.Errorf("%d charges, %d uploads, want 3 and 1:\n%s", n, len(s.bodies), s.Log)
	}
	if _, err := privacy.Verify(context.Background(), b.site.Journal); err != nil {
		t.Error(err)
	}
}
