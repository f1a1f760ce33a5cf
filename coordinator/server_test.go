package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/clock"
)

// stubborn is a store that cannot be scrubbed at the first attempts.
type stubborn struct {
	records.Store
	failures int
	tries    int
}

func (s *stubborn) Scrub(context.Context) error {
	s.tries++
	if s.tries <= s.failures {
		return errors.New("the disk is full")
	}
	return nil
}

// TestScrubLater: a scrub that fails at the start is logged and repeated.
func TestScrubLater(t *testing.T) {
	store, log := &stubborn{failures: 3}, &book{}
	s := &Server{store: store, config: folder.Config{Clock: clock.Clock{}.Complete(),
		Log: slog.New(slog.NewJSONHandler(log, nil))}}
	s.scrubbed = s.scrub(context.Background())
	if s.scrubbed {
		t.Fatal("it says that it scrubbed")
	}
	s.scrubLater(context.Background(), time.Microsecond, time.Millisecond)
	if !s.scrubbed || store.tries != 4 || strings.Count(log.String(), "the disk is full") != 3 {
		t.Errorf("scrubbed %v after %d tries; log:\n%s", s.scrubbed, store.tries, log.String())
	}
	s.scrubbed, store.failures = false, 1<<30
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	s.scrubLater(ctx, time.Microsecond, time.Millisecond) // returns, because the scrub succeeds
}
