package agent

import (
	"math/rand/v2"
	"time"
)

// pace draws the times of an agent's polls at random, so that many agents do not fall into step after an event that
// hit all at once: a coordinator restarts, a network or power comes back, one command starts them all. The draws
// depend only on the config and on whether calls failed, never on a record; no upload depends on them.
type pace struct {
	poll, most time.Duration
	jitter     func(time.Duration) time.Duration
	failures   int // in a row
}

// first returns the wait before the first poll, up to half an interval.
func (p *pace) first() time.Duration { return p.poll - p.jitter(p.poll) }

// next returns the wait after a poll. After the first failure it is as long as after a success, and
// doubles from there. With a shorter wait every agent whose turn came during a coordinator's restart
// (seconds) would return within the same second, on top of the others.
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

// mostDoublings bounds the loop: 32 doublings turn a millisecond into months.
const mostDoublings = 32

// jitter is uniform in [d/2, d].
func jitter(d time.Duration) time.Duration { return d - rand.N(d/2+1) }
