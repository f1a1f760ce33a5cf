package members

import (
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"caucus/internal/clock"
	"caucus/protocol"
)

// refusals keeps what others do wrong from filling the log: of one certificate
// and reason a line a minute, which says how many there were since the line
// before. Metrics count them all.
type refusals struct {
	clock clock.Clock

	mu   sync.Mutex // guards said
	said map[refusal]*lastLine
}

// refusal is what is said once a minute.
type refusal struct{ serial, reason string }

// lastLine is when a refusal was last logged.
type lastLine struct {
	since time.Duration // elapsed
	more  int           // not said since then
}

// quiet is for how long one refusal is said once, and mostSaid how many
// different ones are said in that time: those of others are one.
const (
	quiet    = time.Minute
	mostSaid = 1000
)

func newRefusals(c clock.Clock) *refusals {
	return &refusals{clock: c, said: map[refusal]*lastLine{}}
}

// log says that a caller was refused, unless it was said a short while ago. Only
// the reason's name is logged.
func (r *refusals) log(log *slog.Logger, what string, caller protocol.Caller, err error) {
	reason := protocol.Reason(err)
	if reason == "" {
		reason = status.Code(protocol.Status(err)).String()
	}
	if more, say := r.due(refusal{caller.Serial, reason}, r.clock.Elapsed()); say {
		log.Info("call refused", "call", what, "party", caller.Name, "reason", reason, "more", more)
	}
}

// due reports whether a refusal is to be said now, and how many were not.
func (r *refusals) due(what refusal, now time.Duration) (more int, say bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.said[what]
	if s == nil && len(r.said) >= mostSaid {
		for k, old := range r.said {
			if now-old.since >= quiet {
				delete(r.said, k)
			}
		}
		if len(r.said) >= mostSaid {
			what = refusal{}
			s = r.said[what]
		}
	}
	if s != nil && now-s.since < quiet {
		s.more++
		return 0, false
	}
	if s != nil {
		more = s.more
	}
	r.said[what] = &lastLine{since: now}
	return more, true
}
