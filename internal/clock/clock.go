package clock

import (
	"context"
	"time"
)

// Clock is the time of one daemon. A field that is nil is the machine's: see
// [Clock.Complete]. Its functions may be called from anywhere.
type Clock struct {
	// Now is the date and time. It may jump, when somebody sets the clock.
	Now func() time.Time
	// Elapsed counts the time that has passed since any moment, steadily.
	Elapsed func() time.Duration
	// AfterFunc calls f in a goroutine of its own once d has passed.
	AfterFunc func(d time.Duration, f func()) Timer
}

// Timer is a call to come; *time.Timer is one. See there for Stop and Reset.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

var started = time.Now()

// Complete is the clock with the machine's own for what is nil.
func (c Clock) Complete() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Elapsed == nil {
		c.Elapsed = func() time.Duration { return time.Since(started) }
	}
	if c.AfterFunc == nil {
		c.AfterFunc = func(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
	}
	return c
}

// After is a channel that is closed once d has passed. After a call of stop,
// unless it had passed before, it never is.
func (c Clock) After(d time.Duration) (passed <-chan struct{}, stop func() bool) {
	over := make(chan struct{})
	return over, c.AfterFunc(d, func() { close(over) }).Stop
}

// Sleep waits until d has passed, and says false if ctx ended first.
func (c Clock) Sleep(ctx context.Context, d time.Duration) bool {
	passed, stop := c.After(d)
	defer stop()
	select {
	case <-passed:
		return true
	case <-ctx.Done():
		return false
	}
}
