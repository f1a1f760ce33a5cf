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
func (w *clockWatch) open(ctx context.Context, stop time.Duration, studies bool) error {
	var last time.Time
	err := w.store.View(ctx, func(tx records.Tx) (err error) { last, err = tx.Clock(); return err })
	if err != nil && !errors.Is(err, records.ErrNone) {
		return fmt.Errorf("read the last stored time: %w", err)
	}
	w.mu.Lock()
	w.saved = -1
	if errors.Is(err, records.ErrNone) || !studies {
		w.trust()
	} else {
		w.at, w.since, w.ahead = last, w.clock.Elapsed(), stop
	}
	w.mu.Unlock()
	w.now()
	return nil
}

// trust accepts the clock from now on. The caller holds mu.
func (w *clockWatch) trust() {
	w.at, w.since, w.ahead, w.doubt = w.clock.Now(), w.clock.Elapsed(), clockStep, nil
}

// now returns the clock's time, and why it is not trusted; nil if it is.
func (w *clockWatch) now() (time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	expected := w.at.Add(w.clock.Elapsed() - w.since)
	switch off := now.Sub(expected); {
	case off >= -clockStep && off <= w.ahead:
		if w.doubt != nil {
			w.log.Info("the clock agrees again with the time that has passed")
		}
		if w.doubt != nil || w.ahead != clockStep {
			w.trust()
		}
	case w.doubt == nil:
		how := "ahead of"
		if off < 0 {
			how = "behind"
		}
		w.doubt = fmt.Errorf("the clock says %s, which is %v %s the time that has passed since %s: no study is sealed by it until it agrees again, or an operator vouches for it (caucus coordinator clock --vouch)",
			now.UTC().Format(time.DateTime), off.Abs().Round(time.Second), how,
			w.at.UTC().Format(time.DateTime))
		w.log.Error("the clock jumped", "error", w.doubt)
	}
	return now, w.doubt
}

func (w *clockWatch) vouch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trust()
	w.saved = -1
}

// save stores the clock's time, if it is trusted: at once if atOnce is set, otherwise only if
// clockSaved has passed.
func (w *clockWatch) save(ctx context.Context, atOnce bool) error {
	now, doubt := w.now()
	w.mu.Lock()
	passed := w.clock.Elapsed()
	due := doubt == nil && (atOnce || w.saved < 0 || passed-w.saved >= clockSaved)
	if due {
		w.saved = passed
	}
	w.mu.Unlock()
	if !due {
		return nil
	}
	return w.store.Update(ctx, func(tx records.Tx) error { return tx.SetClock(now) })
}
