package clock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestComplete: given functions stay; the machine's replace missing ones.
func TestComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fixed := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
		c := Clock{Now: func() time.Time { return fixed }}.Complete()
		before := c.Elapsed()
		time.Sleep(time.Hour)
		if !c.Now().Equal(fixed) || c.Elapsed()-before != time.Hour {
			t.Errorf("after an hour it is %v and %v have passed", c.Now(), c.Elapsed()-before)
		}
		if now := (Clock{}).Complete().Now(); !now.Equal(time.Now()) {
			t.Errorf("the machine's clock says %v", now)
		}
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Clock{}.Complete()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, test := range []struct {
			wait, took time.Duration
			whole      bool
		}{{time.Second, time.Second, true}, {-time.Second, 0, true},
			{time.Hour, 59 * time.Second, false}, {time.Hour, 0, false}} {
			began := c.Elapsed()
			if whole := c.Sleep(ctx, test.wait); whole != test.whole ||
				c.Elapsed()-began != test.took {
				t.Errorf("a sleep of %v took %v and was whole: %v; want %v, %v", test.wait, c.Elapsed()-began, whole, test.took, test.whole)
			}
		}
	})
}

// TestAfter: the channel is closed for all receivers, and never after stop.
func TestAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Clock{}.Complete()
		passed, _ := c.After(time.Second)
		never, stop := c.After(time.Second)
		if !stop() {
			t.Error("the timer had ended before its time")
		}
		time.Sleep(2 * time.Second)
		for range 2 {
			select {
			case <-passed:
			default:
				t.Error("it has not passed")
			}
		}
		select {
		case <-never:
			t.Error("a stopped timer goes off")
		default:
		}
	})
}

// TestInjected: Sleep uses the given clock, not the machine's.
func TestInjected(t *testing.T) {
	calls := make(chan func(), 1)
	c := Clock{AfterFunc: func(_ time.Duration, f func()) Timer {
		calls <- f
		return time.NewTimer(time.Hour)
	}}.Complete()
	woke := make(chan bool)
	go func() { woke <- c.Sleep(t.Context(), time.Hour) }()
	(<-calls)()
	if !<-woke {
		t.Error("it was not the timer that woke it")
	}
}
