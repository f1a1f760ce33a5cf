package members

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"caucus/internal/clock"
	"caucus/protocol"
)

// TestRefusals: the log gets one line a minute for each certificate and reason. If there are too
// many, the rest share one line.
func TestRefusals(t *testing.T) {
	var log bytes.Buffer
	out := slog.New(slog.NewJSONHandler(&log, nil))
	r := newRefusals(clock.Clock{}.Complete())
	for i := range 5 * mostLines {
		for range 3 {
			r.log(out, "List", protocol.Caller{Serial: fmt.Sprint(i), Name: "p"}, protocol.ErrBusy)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != mostLines+1 || len(r.lines) != mostLines+1 {
		t.Errorf("%d lines, %d remembered, want %d", n, len(r.lines), mostLines+1)
	}
	now := r.clock.Elapsed() + quiet + time.Second
	if more, say := r.due(refusal{"0", "BUSY"}, now); !say || more != 2 {
		t.Errorf("a minute later: said %v, %d more, want 2", say, more)
	}
	if _, say := r.due(refusal{"new", "BUSY"}, now); !say || len(r.lines) > 3 {
		t.Errorf("a minute later a new one: said %v, %d remembered", say, len(r.lines))
	}
}
