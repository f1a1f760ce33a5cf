package agent

import (
	"os"
	"strings"
	"testing"
	"time"

	"caucus/agent/site"
	"caucus/internal/folder"
	"caucus/protocol"
	"caucus/protocol/server"
)

// TestByFileHoldsTheFolder: a pack is compared with earlier ones, and stored, by one process at a
// time. While another process holds the folder the pack is not read, and an error in reading
// releases the folder.
func TestByFileHoldsTheFolder(t *testing.T) {
	r := newRig(t, nil)
	authority, err := server.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := authority.IssueFirstOperator("127.0.0.1:7443",
		protocol.Caller{Name: "site", Role: protocol.RoleParty}, protocol.SignerKey{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(r.Config.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := id.Save(site.IdentityFile(r.Config)); err != nil {
		t.Fatal(err)
	}
	unlock, err := folder.LockForDaemon(r.Config.State, "another agent")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewCourier(r.Config, []byte("a pack"), ""); err == nil ||
		!strings.Contains(err.Error(), "another agent runs on it") {
		t.Errorf("while another has the folder: %v", err)
	}
	unlock()
	for range 2 {
		if _, err := NewCourier(r.Config, []byte("a pack"), ""); err == nil ||
			!strings.Contains(err.Error(), "this is no caucus study pack") {
			t.Errorf("a pack that is none: %v", err)
		}
	}
}
