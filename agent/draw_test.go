package agent

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"caucus/protocol"
)

// stalling is a coordinator that takes its time to answer one poll.
type stalling struct {
	heard
	poll int // of which it answers late, 0 for none
	by   time.Duration
	seen int
}

func (s *stalling) Studies(ctx context.Context) (protocol.Listing, error) {
	l, err := s.heard.Studies(ctx)
	if s.seen++; s.seen == s.poll {
		sleep(ctx, s.by)
	}
	return l, err
}

// TestDrawTellsNothing: how long noise takes to draw, and the upload to be
// written, is not heard: not by when polls come, and not by a coordinator that
// answers a poll late, so that the draw begins at a moment of its choosing.
func TestDrawTellsNothing(t *testing.T) {
	stepTime() // by the real clock
	for name, c := range map[string]stalling{
		"prompt": {}, "stalls before the window": {poll: 1, by: 3 * time.Second}, "stalls after it": {poll: 2, by: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var first []string
			for _, takes := range []time.Duration{0, time.Millisecond, 60 * time.Millisecond, 170 * time.Millisecond} {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					r := rigIn(dir, nil)
					r.config.Poll = 350 * time.Millisecond
					r.config.Checkpoint = func(effect string) {
						if effect == "answered" {
							time.Sleep(takes)
						}
					}
					a, err := r.open()
					if err != nil {
						t.Fatal(err)
					}
					a.bench.hurry, a.jitter = false, func(d time.Duration) time.Duration { return d }
					c := c
					c.heard = heard{r.coordinatorDouble, &spoken{from: time.Now()}}
					a.link = &c
					ctx, cancel := context.WithTimeout(context.Background(), 9900*time.Millisecond)
					defer cancel()
					if err := a.Run(ctx); err != nil {
						t.Fatal(err)
					}
					if first == nil {
						first = c.s.all
					}
					if !slices.Equal(c.s.all, first) {
						t.Errorf("a draw of %v is heard:\n%q\n%q", takes, c.s.all, first)
					}
					if n := strings.Count(strings.Join(c.s.all, " "), "contribute"); n != 1 {
						t.Errorf("%v: %d contributions", takes, n)
					}
				})
			}
		})
	}
}
