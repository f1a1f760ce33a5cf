package agent

import (
	"sync"
	"time"

	"caucus/learners"
)

// stepTime is how long a step of learners.Reference takes on this machine,
// measured once in a process on made data, by the machine's own clock: the least
// of a few tries, so that other work at that moment does not count.
var stepTime = sync.OnceValue(func() time.Duration {
	least := time.Hour
	steps := 1.0
	for range 3 {
		start := time.Now()
		steps = learners.Reference()
		least = min(least, time.Since(start))
	}
	return max(1, time.Duration(float64(least)*stepsCounted/steps))
})

// stepsCounted is how many steps stepTime is of: a single one takes less than
// the nanosecond that a Duration counts in.
const stepsCounted = 1e6
