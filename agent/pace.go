package agent

import (
	"math/rand/v2"
	"time"
)

// pace is when an agent asks, and asks again: drawn by chance, so that many agents do not
// come in step whatever happened to all of them at once. A coordinator that restarts, a
// network that comes back, a power cut and one command that starts them all are such
// things. What it draws hangs on nothing but the config and whether calls failed, and
// never on a record; what is sent does not hang on it.
type pace struct {
	poll, most time.Duration
	jitter     func(time.Duration) time.Duration
	failures   int // in a row
}

// first is the wait before the first poll, up to half an interval.
func (p *pace) first() time.Duration { return p.poll - p.jitter(p.poll) }

// next is the wait after a poll. After one that failed it is as long as after any other,
// and doubles from there: a coordinator that restarts in seconds was missed by all whose
// turn it was, and a shorter wait brings those back in one second, on top of the others.
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

// mostDoublings bounds the work of a wait: of a millisecond it makes months.
const mostDoublings = 32

// jitter is uniform in [d/2, d].
func jitter(d time.Duration) time.Duration { return d - rand.N(d/2+1) }
