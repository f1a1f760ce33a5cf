package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"caucus/coordinator/records"
	"caucus/internal/clock"
)

// clockWatch decides whether to trust the clock. It compares the clock with the elapsed time, which
// nobody can set, and with the time stored before a stop. After a jump, no deadline passes until
// the clock agrees again or an operator vouches for it, because a late deadline costs nothing, but
// a false jump forward would fail all open studies for good.
type clockWatch struct {
	store records.Store
	clock clock.Clock
	log   *slog.Logger

	mu    sync.Mutex    // guards the rest
	at    time.Time     // the clock when it was last trusted
	since time.Duration // the elapsed time at that moment
	ahead time.Duration // how far the clock may run ahead of the time that elapsed after since
	doubt error         // nil: the clock is trusted
	saved time.Duration // elapsed time when the clock was last stored; below 0: never
}

const (
	// clockStep is the largest jump of the clock that is tolerated. Time services correct clocks by
	// less.
	clockStep  = 2 * time.Minute
	clockSaved = time.Minute
)

// open trusts the clock if no study is open. With open studies it compares the clock with the time
// stored last, and distrusts a clock that went back, or that went forward by more than stop.
func (c *clockWatch) open(ctx context.Context, stop time.Duration, studies bool) error {
	var last time.Time
	err := c.store.View(ctx, func(tx records.Tx) (err error) {
		last,
			err = tx.LastTime()
		return err
	})
	if err != nil && !errors.Is(err, records.ErrNoRow) {
		return fmt.Errorf("read the last stored time: %w", err)
	}
	c.mu.Lock()
	c.saved = -1
	if errors.Is(err, records.ErrNoRow) || !studies {
		c.trust()
	} else {
		c.at, c.since, c.ahead = last, c.clock.Elapsed(), stop
	}
	c.mu.Unlock()
	c.now()
	return nil
}

// trust accepts the clock from now on. The caller holds mu.
func (c *clockWatch) trust() {
	c.at, c.since, c.ahead, c.doubt = c.clock.Now(), c.clock.Elapsed(), clockStep, nil
}

// now returns the clock's time, and why it is not trusted; nil if it is.
func (c *clockWatch) now() (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	expected := c.at.Add(c.clock.Elapsed() - c.since)
	switch off := now.Sub(expected); {
	case off >= -clockStep && off <= c.ahead:
		if c.doubt != nil {
			c.log.Info("the clock agrees again with the time that has passed")
		}
		if c.doubt != nil || c.ahead != clockStep {
			c.trust()
		}
	case c.doubt == nil:
		how := "ahead of"
		if off < 0 {
			how = "behind"
		}
		c.doubt = fmt.Errorf("the clock says %s, which is %v %s the time that has passed since %s: no study is sealed by it until it agrees again, or an operator vouches for it (caucus coordinator clock --vouch)",
			now.UTC().Format(time.DateTime), off.Abs().Round(time.Second), how,
			c.at.UTC().Format(time.DateTime))
		c.log.Error("the clock jumped", "error", c.doubt)
	}
	return now, c.doubt
}

func (c *clockWatch) vouch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trust()
	c.saved = -1
}

// save stores the clock's time, if it is trusted: at once if atOnce is set, otherwise only if
// clockSaved has passed.
func (c *clockWatch) save(ctx context.Context, atOnce bool) error {
	now, doubt := c.now()
	c.mu.Lock()
	passed := c.clock.Elapsed()
	due := doubt == nil && (atOnce || c.saved < 0 || passed-c.saved >= clockSaved)
	if due {
		c.saved = passed
	}
	c.mu.Unlock()
	if !due {
		return nil
	}
	return c.store.Update(ctx, func(tx records.Tx) error { return tx.SetLastTime(now) })
}
