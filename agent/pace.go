package agent

import (
	"math/rand/v2"
	"time"
)

// pace draws the times of an agent's polls at random. Otherwise many agents would poll at the same
// moments after an event that hit all of them, such as a restart of the coordinator or a power
// failure. The draws depend only on the configuration and on whether calls failed, never on a
// record. No upload depends on them.
type pace struct {
	poll, most time.Duration
	jitter     func(time.Duration) time.Duration
	failures   int // consecutive failed calls
}

// first returns the wait before the first poll, up to half an interval.
func (p *pace) first() time.Duration { return p.poll - p.jitter(p.poll) }

// next returns the wait after a poll. After the first failure the wait is as long as after a
// success; it doubles with each further failure. A shorter wait would do harm, because a restart of
// the coordinator takes seconds, and all agents whose poll fell into it would return within the
// same second.
func (p *pace) next(reached bool) time.Duration {
	if reached {
		p.failures = 0
		return p.jitter(p.poll)
	}
	wait := p.poll
	for range min(p.failures, mostDoublings) {
		wait = min(2*wait, max(p.most, p.poll))
	}
	p.failures++
	return p.jitter(wait)
}

// mostDoublings ends the loop; 32 doublings turn a millisecond into months.
const mostDoublings = 32

// jitter is uniform in [d/2, d].
func jitter(d time.Duration) time.Duration { return d - rand.N(d/2+1) }
