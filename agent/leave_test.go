package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/agent/site"
	"caucus/internal/folder"
	"caucus/privacy"
	"caucus/protocol"
)

// TestLeave: leaving declines the open study, and deletes all but the ledger and the audit log.
// Nothing is deleted while an agent runs or the coordinator cannot be reached.
func TestLeave(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, nil)
	a := r.agent(t)
	round(t, a)
	state := r.Config.State
	files := func() string {
		var names []string
		all, err := os.ReadDir(state)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if e.Name() != "lock" {
				names = append(names, e.Name())
			}
		}
		return strings.Join(names, " ")
	}
	spent, err := a.site.Ledger.Totals(ctx)
	if err != nil || spent[privacy.Record].Charges == 0 {
		t.Fatalf("nothing was charged: %v, %v", spent, err)
	}
	before := files()
	r.down = fmt.Errorf("%w: connection refused", protocol.ErrUnavailable)
	if _, err := a.Leave(ctx); !errors.Is(err, protocol.ErrUnavailable) || files() != before {
		t.Errorf("without a coordinator: %v, left are %s", err, files())
	}
	r.down = nil
	unlock, err := folder.LockForDaemon(state, "another agent")
	if err != nil {
		t.Fatal(err)
	}
	held := files()
	if _, err := a.Leave(ctx); err == nil || files() != held {
		t.Errorf("while an agent runs: %v, left are %s", err, files())
	}
	unlock()
	r.stored = nil // as if it had not been received
	declined := r.declined
	left, err := a.Leave(ctx)
	if err != nil || r.declined != declined+1 || len(left.Declined) != 1 {
		t.Errorf("%+v, %v, declined %d times", left, err, r.declined-declined)
	}
	for _, e := range strings.Fields(files()) {
		if !strings.HasPrefix(e, "ledger.db") && e != "audit.log" && e != "lock" {
			t.Errorf("%s is still there", e)
		}
	}
	if _, err := os.Stat(a.site.Sources.Imports); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the imports are still there: %v", err)
	}
	audit, err := os.ReadFile(filepath.Join(state, "audit.log"))
	if err != nil || !strings.Contains(string(audit), `"msg":"`+site.AuditLeft+`"`) {
		t.Errorf("the audit log: %v\n%s", err, audit)
	}
	after, err := a.site.Ledger.Totals(ctx)
	if err != nil || after[privacy.Record].Charges != spent[privacy.Record].Charges {
		t.Errorf("the ledger has %v, want %v (%v)", after, spent, err)
	}
}
