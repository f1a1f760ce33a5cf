package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/study"
)

// conductor moves studies on: deadlines, folding, releases.
type conductor struct {
	registry *registry
	releaser releaser
	clock    clock.Clock
	tick     time.Duration
	log      *slog.Logger
	wake     chan struct{} // capacity 1
	counts   *counts
	saw      func(error) // is told of each failure
}

// nudge makes the conductor look now.
func (o *conductor) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Waits after a passing failure to fold or release.
const (
	firstWait = time.Second
	lastWait  = time.Minute
)

// run works until the context ends, then waits for what is under way to come
// to a point where it can stop.
func (o *conductor) run(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	busy := map[study.Hash]bool{}
	done := make(chan study.Hash)
	for {
		if err := o.registry.watch.save(ctx, false); err != nil && ctx.Err() == nil {
			o.log.Warn("the time is not stored; it will be tried again", "error", err)
		}
		for _, c := range o.registry.all() {
			if busy[c.hash] || c.over.Load() || !o.due(ctx, c) {
				continue
			}
			busy[c.hash] = true
			under.Go(func() {
				o.move(ctx, c)
				select {
				case done <- c.hash:
				case <-ctx.Done():
				}
			})
		}
		tick, stop := o.clock.After(o.tick)
		select {
		case <-ctx.Done():
			stop()
			return
		case h := <-done:
			delete(busy, h)
		case <-tick:
		case <-o.wake:
		}
		stop()
	}
}

// due looks at the deadline and says whether there is work.
func (o *conductor) due(ctx context.Context, c *course) bool {
	passed, err := c.deadline(ctx, o.clock.Now())
	if err != nil {
		if ctx.Err() == nil {
			o.log.Error("deadline not stored; it will be tried again", "study", c.hash, "error", err)
		}
		return false
	}
	work := false
	err = c.view(ctx, func(s *study.Study) error {
		if passed {
			o.log.Info("deadline passed", "study", c.hash, "state", s.State, "contributions", len(s.Received), "reason", s.Reason)
		}
		work = len(s.Resume()) > 0
		if s.State == study.Folded {
			contributed, _ := s.Contributors()
			work = !errors.Is(o.releaser.witness.hold(c.hash, contributed), errWaits)
		}
		return nil
	})
	return err == nil && work && o.clock.Elapsed() >= c.retry
}

// move folds and releases a study. What may pass is tried again later; what
// cannot is the study's failure.
func (o *conductor) move(ctx context.Context, c *course) {
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("release study %s: it panics: %v", c.hash, p)
			}
		}()
		return c.advance(ctx, o.releaser)
	}()
	o.saw(err)
	switch {
	case err == nil:
		c.wait = 0
		_ = c.view(ctx, func(s *study.Study) error {
			o.log.Info("study moved", "study", c.hash, "state", s.State, "parties", len(s.Received))
			if s.State == study.Released {
				o.counts.releases.Add(1)
			}
			if protocol.Final(s.State) {
				o.releaser.witness.forget(c.hash)
			}
			return nil
		})
	case ctx.Err() != nil, errors.Is(err, errWaits): // who waits said so
	case permanent(err):
		o.log.Error("study fails", "study", c.hash, "error", err)
		if err := c.cancel(ctx, giveUpReason(err)); err != nil {
			o.log.Error("failure not stored", "study", c.hash, "error", err)
			c.retry = o.clock.Elapsed() + firstWait
		}
	default:
		c.wait = min(max(2*c.wait, firstWait), lastWait)
		c.retry = o.clock.Elapsed() + c.wait
		level := slog.LevelWarn
		if errors.Is(err, protocol.ErrDamaged) {
			level = slog.LevelError
		}
		o.log.Log(ctx, level, "study cannot move on; it will be tried again", "study", c.hash, "wait", c.wait, "error", err)
	}
}
