package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/agent/site"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/study"
)

func removeLedger(t *testing.T, c site.Config) {
	t.Helper()
	files, err := filepath.Glob(site.LedgerFile(c) + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLedgerBehind: a restored older ledger charges nothing.
func TestLedgerBehind(t *testing.T) {
	r := newRig(t, nil)
	a, err := r.open()
	if err != nil {
		t.Fatal(err)
	}
	round(t, a)
	a.Close()
	removeLedger(t, r.Config)
	if err := os.WriteFile(site.LedgerFile(r.Config), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.open(); err == nil || !strings.Contains(err.Error(), "it is empty") {
		t.Errorf("a ledger that was emptied: open = %v", err)
	}
	removeLedger(t, r.Config)
	older, err := journal.OpenSQLite(site.LedgerFile(r.Config))
	if err != nil {
		t.Fatal(err)
	}
	older.Close()
	second := newRig(t, func(p *study.Proposal) { p.Name = "again" })
	second.Config.State, second.Config.Data = r.Config.State, r.Config.Data
	round(t, second.agent(t))
	if len(second.bodies) != 0 ||
		!strings.Contains(second.Log.String(), privacy.ErrBehind.Error()) {
		t.Errorf("%d uploads; log:\n%s", len(second.bodies), second.Log)
	}
}

// TestLostByCoordinator: a coordinator restored to before it had the contribution gets the same
// bytes again, and nothing is charged.
func TestLostByCoordinator(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	round(t, a)
	r.stored = nil
	round(t, a)
	round(t, a)
	if len(r.bodies) != 2 || string(r.bodies[0]) != string(r.bodies[1]) {
		t.Errorf("%d uploads, want 2 of the same bytes", len(r.bodies))
	}
	if n := charges(t, a, privacy.Record); n != 1 {
		t.Errorf("%d charges, want 1", n)
	}
	if d := a.site.Studies.Folder(r.hash); d.Has(site.FileClosed) || !d.Has(site.FileReceipt) {
		t.Error("closed, or without a receipt")
	}
}

// TestDamagedAtCoordinator: a sealed study whose copy of a contribution was damaged gets the same
// bytes again, at no further charge, unless a person has refused the study since.
func TestDamagedAtCoordinator(t *testing.T) {
	for _, refused := range []bool{false, true} {
		r := newRig(t, nil)
		a := r.agent(t)
		round(t, a)
		r.state, r.lost = study.Sealed, true
		want := 2
		if refused {
			want = 1
			if err := a.site.Studies.Folder(r.hash).Write(site.FileRefused, nil); err != nil {
				t.Fatal(err)
			}
		}
		round(t, a)
		r.lost = false
		round(t, a)
		if len(r.bodies) != want || string(r.bodies[0]) != string(r.bodies[want-1]) {
			t.Errorf("refused %v: %d uploads, want %d of the same bytes", refused, len(r.bodies), want)
		}
		if n := charges(t, a, privacy.Record); n != 1 {
			t.Errorf("%d charges, want 1", n)
		}
	}
}

// TestTidy: a running agent removes the leftovers of interrupted writes and keeps facts.
func TestTidy(t *testing.T) {
	r := newRig(t, nil)
	r.down = protocol.ErrUnavailable
	a := r.agent(t)
	d := a.site.Studies.Folder(r.hash)
	for _, name := range []string{site.ApprovalFile("a"), "." + site.FileUpload + "-123",
		"." + site.FileReceipt + "-9", "." + site.ApprovalFile("a") + "-5"} {
		if err := d.Write(name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := a.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if d.Has("."+site.FileUpload+"-123") || d.Has("."+site.FileReceipt+"-9") {
		t.Error("an unfinished file is still there")
	}
	// Approving takes no lock, so its unfinished files may be another process's.
	if !d.Has(site.ApprovalFile("a")) || !d.Has("."+site.ApprovalFile("a")+"-5") {
		t.Error("more than unfinished files was removed")
	}
}

// TestForgottenRelease: an agent with a release that the coordinator forgot sends nothing more,
// names the release to the coordinator and tells its site.
func TestForgottenRelease(t *testing.T) {
	r := newRig(t, nil)
	a, err := r.open()
	if err != nil {
		t.Fatal(err)
	}
	round(t, a)
	a.Close()
	if err := r.Config.Studies().Folder(r.hash).Write(site.FileRelease, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	a = r.agent(t)
	r.state, r.stored = study.Open, nil
	round(t, a)
	if len(r.bodies) != 1 {
		t.Errorf("%d uploads", len(r.bodies))
	}
	if !strings.Contains(r.Log.String(), "put back to an older state") {
		t.Errorf("the log says nothing:\n%s", r.Log)
	}
	if !slices.Equal(r.report.HeldReleases, []study.Hash{r.hash}) {
		t.Errorf("it says that it holds the releases of %v", r.report.HeldReleases)
	}
}
