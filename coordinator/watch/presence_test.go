package watch

import (
	"log/slog"
	"testing"
	"time"

	"caucus/protocol"
	"caucus/protocol/pb"
)

// TestTwoPlaces: Presence notices one identity that calls from two processes in turn, but not one
// process that is started again and again.
func TestTwoPlaces(t *testing.T) {
	p, now := NewCallTracker(slog.New(slog.DiscardHandler)), time.Now()
	call := func(name, run string) uint32 {
		now = now.Add(time.Second)
		p.RecordCall(protocol.Caller{Name: name, Role: protocol.RoleParty},
			&pb.ListRequest{Run: []byte(run)}, now)
		_, runs := p.LastCall(name, now)
		return runs
	}
	for i := range 30 {
		for range 3 {
			if n := call("restarted", string(rune('a'+i))); n != 1 {
				t.Fatalf("start %d: %d places", i, n)
			}
		}
		call("restarted", "") // a person's command
	}
	for i, run := range []string{"a", "b", "a"} {
		if n := call("copied", run); (n > 1) != (i == 2) {
			t.Errorf("call %d: %d places", i, n)
		}
	}
	now = now.Add(2 * twicePlaces)
	if n := call("copied", "a"); n != 1 {
		t.Error("it is said for ever")
	}
}
