package clock

import (
	"context"
	"time"
)

// Clock is the time of one daemon. [Clock.Complete] fills nil fields with the machine's functions.
// All functions may be called concurrently.
type Clock struct {
	// Now returns the date and time. It may jump when somebody sets the clock.
	Now func() time.Time
	// Elapsed returns the time since some fixed moment. It never jumps.
	Elapsed func() time.Duration
	// AfterFunc calls f in its own goroutine after d.
	AfterFunc func(d time.Duration, f func()) Timer
}

// Timer is a scheduled call. *time.Timer implements it and documents Stop and Reset.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

var started = time.Now()

// Complete fills nil fields with the machine's functions.
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

// After returns a channel that is closed after d, unless stop is called before.
func (c Clock) After(d time.Duration) (passed <-chan struct{}, stop func() bool) {
	over := make(chan struct{})
	return over, c.AfterFunc(d, func() { close(over) }).Stop
}

// Sleep waits for d. It returns false if ctx ended first.
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
