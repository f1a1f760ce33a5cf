package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"caucus/coordinator/watch"
	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/life"
)

// scheduler applies deadlines, and folds and releases studies.
type scheduler struct {
	registry *registry
	releaser releaser
	clock    clock.Clock
	tick     time.Duration
	log      *slog.Logger
	wake     chan struct{}
	counts   *watch.Metrics
	onError  func(error) // gets the result of each move, nil for success
	probed   string      // the last probe's error, "" if the helper answered
}

func (s *scheduler) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Waits before another try after a temporary failure to fold or release: the first, and the
// longest.
const (
	firstWait = time.Second
	lastWait  = time.Minute
)

// run moves studies to their next states when these are due, until ctx ends. It then waits until
// the moves in progress have stopped.
func (s *scheduler) run(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	busy := map[study.Hash]bool{}
	done := make(chan study.Hash)
	for {
		if err := s.registry.watch.save(ctx, false); err != nil && ctx.Err() == nil {
			s.log.Warn("the time is not stored; it will be tried again", "error", err)
		}
		for _, c := range s.registry.all() {
			if busy[c.hash] || c.over.Load() || !s.due(ctx, c) {
				continue
			}
			busy[c.hash] = true
			under.Go(func() {
				s.move(ctx, c)
				select {
				case done <- c.hash:
				case <-ctx.Done():
				}
			})
		}
		tick, stop := s.clock.After(s.tick)
		select {
		case <-ctx.Done():
			stop()
			return
		case h := <-done:
			delete(busy, h)
		case <-tick:
		case <-s.wake:
		}
		stop()
	}
}

// due applies the deadline and the seal rule, and reports whether there is work.
func (s *scheduler) due(ctx context.Context, c *runningStudy) bool {
	passed, err := c.deadline(ctx, s.clock.Now())
	if err != nil {
		if ctx.Err() == nil {
			s.log.Error("deadline not stored; it will be tried again", "study", c.hash, "error",
				err)
		}
		return false
	}
	ruled, err := c.sealByRule(ctx, s.clock.Elapsed())
	if err != nil {
		if ctx.Err() == nil {
			s.log.Error("seal by rule not stored; it will be tried again", "study", c.hash, "error",
				err)
		}
		return false
	}
	work := false
	err = c.view(ctx, func(m *life.Study) error {
		if passed {
			s.log.Info("deadline passed", "study", c.hash, "state", m.State, "contributions",
				len(m.Received), "reason", m.Reason)
		}
		if ruled {
			s.log.Info("sealed by its rule", "study", c.hash, "contributions", len(m.Received))
		}
		work = len(m.Resume()) > 0
		if m.State == study.Summed {
			contributed, others := m.Contributors()
			work = !errors.Is(s.releaser.witness.whyWait(c.hash, contributed, others), errWaits)
		}
		return nil
	})
	return err == nil && work && s.clock.Elapsed() >= c.retry
}

// move folds and releases a study. It retries temporary failures; a permanent one fails the study.
func (s *scheduler) move(ctx context.Context, c *runningStudy) {
	begun := s.clock.Elapsed()
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("release study %s: it panics: %v", c.hash, p)
			}
		}()
		return c.advance(ctx, s.releaser)
	}()
	s.onError(err)
	switch {
	case err == nil:
		watch.ObserveSeconds(s.counts.FoldSeconds, begun, s.clock.Elapsed())
		c.setTrouble(nil)
		c.wait = 0
		_ = c.view(ctx, func(m *life.Study) error {
			s.log.Info("study moved", "study", c.hash, "state", m.State, "parties", len(m.Received))
			if m.State == study.Released {
				s.counts.Releases.Inc()
			}
			if protocol.IsFinal(m.State) {
				s.releaser.witness.forget(c.hash)
			}
			return nil
		})
	case ctx.Err() != nil:
	case errors.Is(err, context.Canceled): // somebody cancels the study (seize)
		c.retry = s.clock.Elapsed() + firstWait
	// the wait was logged; without a pause its end would start the next move at once
	case errors.Is(err, errWaits):
		c.retry = s.clock.Elapsed() + s.tick
	case permanent(err):
		s.log.Error("study fails", "study", c.hash, "error", err)
		if err := c.cancel(ctx, giveUpReason(err)); err != nil {
			s.log.Error("failure not stored", "study", c.hash, "error", err)
			c.retry = s.clock.Elapsed() + firstWait
		}
	default:
		c.wait = min(max(2*c.wait, firstWait), lastWait)
		c.retry = s.clock.Elapsed() + c.wait
		c.setTrouble(err)
		level := slog.LevelWarn
		if errors.Is(err, protocol.ErrDamaged) {
			level = slog.LevelError
		}
		s.log.Log(ctx, level, "study cannot move on; it will be tried again", "study", c.hash,
			"wait", c.wait, "error", err)
	}
}

// confirms asks the helper about all open studies, repeatedly, until ctx ends.
func (s *scheduler) confirms(ctx context.Context) {
	next := s.clock.Elapsed()
	for probe := next; ; {
		if s.clock.Elapsed() >= probe {
			if s.probe(ctx) {
				s.tellEnded(ctx)
			}
			probe = s.clock.Elapsed() + probeEvery
		}
		if s.clock.Elapsed() >= next {
			for _, c := range s.registry.all() {
				if c.over.Load() || ctx.Err() != nil {
					continue
				}
				ended, err := c.confirmOpen(ctx)
				switch {
				case ended != "":
					s.log.Error("study fails", "study", c.hash, "error", ended)
				case err != nil && ctx.Err() == nil:
					s.log.Warn("whether both servers stand by a study is not known; it will be asked again", "study", c.hash, "error", err)
				}
			}
			next = s.clock.Elapsed() + confirmEvery
		}
		if !s.clock.Sleep(ctx, s.tick) {
			return
		}
	}
}

// probe asks the helper and reports whether it answers. Its silence is logged once at its begin and
// once at its end.
func (s *scheduler) probe(ctx context.Context) bool {
	sharing := s.registry.sharing
	err := sharing.server.Probe(ctx, sharing.helper)
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said == s.probed || ctx.Err() != nil {
		return err == nil
	}
	if s.probed = said; err != nil {
		s.log.Warn("the helper does not answer as it should; it will be asked again", "error", err)
	} else {
		s.log.Info("the helper answers")
	}
	return err == nil
}

// tellEnded tells the helper which studies failed here for good, so that the helper deletes its
// shares. The store of shares remembers which ends the helper has been told, so a failed call is
// repeated the next time, also after a restart.
func (s *scheduler) tellEnded(ctx context.Context) {
	sharing := s.registry.sharing
	untold, err := sharing.server.UnreportedFailures(ctx)
	for _, h := range untold {
		one, stop := context.WithTimeout(ctx, confirmTime)
		err = sharing.server.ReportFailure(one, h, sharing.helper)
		if stop(); err != nil {
			break // the next call would most likely fail too
		}
		s.log.Info("the helper knows that a study is over", "study", h)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the helper does not know of every study that is over; it will be told again", "error", err)
	}
}
