package members

import (
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"caucus/internal/clock"
	"caucus/protocol"
)

// refusals keeps refused calls from filling the log. It logs one line a minute for each certificate
// and reason, with the number of refusals since the last line. Metrics count them all.
type refusals struct {
	clock clock.Clock

	mu    sync.Mutex // guards lines
	lines map[refusal]*lastLine
}

type refusal struct{ serial, reason string }

type lastLine struct {
	since time.Duration // elapsed time of the last line
	more  int           // refusals since the last line
}

// quiet is the time between two log lines for the same refusal. mostLines bounds the different
// refusals in that time; all further ones count as one.
const (
	quiet     = time.Minute
	mostLines = 1000
)

func newRefusals(c clock.Clock) *refusals {
	return &refusals{clock: c, lines: map[refusal]*lastLine{}}
}

// log writes a refusal's reason to the log, unless the same refusal was logged within quiet.
func (r *refusals) log(log *slog.Logger, what string, caller protocol.Caller, err error) {
	reason := protocol.Reason(err)
	if reason == "" {
		reason = status.Code(protocol.Status(err)).String()
	}
	if more, say := r.due(refusal{caller.Serial, reason}, r.clock.Elapsed()); say {
		log.Info("call refused", "call", what, "party", caller.Name, "reason", reason, "more", more)
	}
}

// due reports whether to log a refusal now, and how many were not logged.
func (r *refusals) due(what refusal, now time.Duration) (more int, say bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.lines[what]
	if s == nil && len(r.lines) >= mostLines {
		for k, old := range r.lines {
			if now-old.since >= quiet {
				delete(r.lines, k)
			}
		}
		if len(r.lines) >= mostLines {
			what = refusal{}
			s = r.lines[what]
		}
	}
	if s != nil && now-s.since < quiet {
		s.more++
		return 0, false
	}
	if s != nil {
		more = s.more
	}
	r.lines[what] = &lastLine{since: now}
	return more, true
}
