package siteverbs

import (
	"bytes"
	"strings"
	"testing"

	"caucus/agent"
	"caucus/agent/desk"
	"caucus/cmd/internal/console"
)

// TestAnsweredIsPrintable: the reason in a pack comes from the coordinator, and cannot control the
// terminal.
func TestAnsweredIsPrintable(t *testing.T) {
	var out bytes.Buffer
	a := &Agent{Console: &console.Console{Out: &out}}
	if err := a.printAnswered(agent.PackOutcome{Study: "ward", Progress: desk.ProgressClosed,
		Reason: "failed: \x1b[2Jreleased\n"}, ""); err != nil ||
		strings.ContainsRune(out.String(), '\x1b') || !strings.Contains(out.String(), "failed") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
