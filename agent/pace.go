package agent

import (
	"math/rand/v2"
	"time"
)

// pace draws the times of an agent's polls by chance, so that many agents do not fall into step after an
// event that hit all of them at once: a coordinator restarts, a network comes back, power returns, one
// command starts them all. The draws depend only on the config and on whether calls failed, never on a
// record; what is sent does not depend on them.
type pace struct {
	poll, most time.Duration
	jitter     func(time.Duration) time.Duration
	failures   int // in a row
}

// first is the wait before the first poll, up to half an interval.
func (p *pace) first() time.Duration { return p.poll - p.jitter(p.poll) }

// next is the wait after a poll. After the first failure it is as long as after a success, and doubles
// from there. A shorter wait would be worse: every agent whose turn came while a coordinator restarted
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
