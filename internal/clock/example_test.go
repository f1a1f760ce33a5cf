package clock_test

import (
	"context"
	"fmt"
	"time"

	"caucus/internal/clock"
)

// A test sets some of a daemon's clock; the machine supplies the rest.
func Example() {
	c := clock.Clock{Now: func() time.Time {
		return time.Date(2030, 6, 30, 12, 0, 0, 0, time.UTC)
	}}.Complete()
	fmt.Println(c.Now().Format(time.DateTime))
	fmt.Println("slept:", c.Sleep(context.Background(), time.Millisecond))
	ended, end := context.WithCancel(context.Background())
	end()
	fmt.Println("slept, though asked to end:", c.Sleep(ended, time.Hour))
	// Output:
	// 2030-06-30 12:00:00
	// slept: true
	// slept, though asked to end: false
}
