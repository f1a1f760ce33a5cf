package watch

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/pb"
	"caucus/study"
)

// CallTracker records each member's last call since the start, and why studies wait for the member.
// It decides nothing. It holds at most one line per member, with one word per study.
type CallTracker struct {
	log *slog.Logger

	mu      sync.Mutex // guards members
	members map[string]*present
}

type present struct {
	seen  time.Time
	run   string   // random name of the process that called last
	runs  []string // random names of the processes that called earlier, newest last
	twice time.Time
	waits map[study.Hash]protocol.WaitReason
}

const (
	// maxRun bounds the bytes of a process's random name, maxRuns the remembered names of a member.
	maxRun, maxRuns = 32, 8
	// twicePlaces is the time for which one identity in two places is reported.
	twicePlaces = time.Hour
)

// NewCallTracker starts with nobody seen: presence is forgotten at a restart.
func NewCallTracker(log *slog.Logger) *CallTracker {
	return &CallTracker{log: log, members: map[string]*present{}}
}

// RecordCall records a member's call. A restarted process never comes back. So if a process calls
// again after another process with the same identity, the two run side by side.
func (c *CallTracker) RecordCall(caller protocol.Caller, r *pb.ListRequest, now time.Time) {
	if caller.Role != protocol.RoleParty {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[caller.Name]
	if m == nil {
		m = &present{}
		c.members[caller.Name] = m
	}
	if m.seen = now; len(r.Run) == 0 { // a person made this call, not an agent
		return
	}
	m.waits = nil
	for _, w := range r.Waits[:min(len(r.Waits), protocol.MaxWaits)] {
		if what := protocol.WaitReason(w.GetWhat()); what.Valid() &&
			len(w.GetPlanHash()) == len(study.Hash{}) {
			if m.waits == nil {
				m.waits = map[study.Hash]protocol.WaitReason{}
			}
			m.waits[study.Hash(w.GetPlanHash())] = what
		}
	}
	run := string(r.Run)
	if len(run) > maxRun || run == m.run {
		return
	}
	if slices.Contains(m.runs, run) {
		if m.twice.IsZero() {
			c.log.Warn("one identity calls from two processes: an agent's state folder was copied, or it runs on two machines", "party", caller.Name)
		}
		m.twice = now
	}
	if m.run != "" && !slices.Contains(m.runs, m.run) {
		m.runs = append(m.runs, m.run)
		m.runs = m.runs[max(0, len(m.runs)-maxRuns):]
	}
	m.run = run
}

// LastCall returns when a member last called, and in how many places it runs.
func (c *CallTracker) LastCall(name string, now time.Time) (seen int64, runs uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[name]
	if m == nil {
		return 0, 0
	}
	if runs = 1; !m.twice.IsZero() && now.Sub(m.twice) < twicePlaces {
		runs = 2
	}
	return m.seen.UnixMilli(), runs
}

// waiting returns, per study, why the study waits for a member, as the member's last call reported.
func (c *CallTracker) waiting(name string) map[study.Hash]protocol.WaitReason {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[name]; m != nil {
		return maps.Clone(m.waits)
	}
	return nil
}

// LeftOf returns the parties that have left, none if no party declined: who leaves declines its
// open studies first.
func LeftOf(tx records.Tx, declined []string, now time.Time) ([]string, error) {
	if len(declined) == 0 {
		return nil, nil
	}
	members, err := tx.Members(now)
	var left []string
	for _, m := range members {
		if m.Status == admin.StatusLeft {
			left = append(left, m.Name)
		}
	}
	return left, err
}

// Statuses returns the last call and the reported wait of each party in a study. left names those
// that have left.
func (c *CallTracker) Statuses(h study.Hash, parties, declined,
	left []string) (out []*pb.PartyStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	no := make(map[string]bool, len(declined))
	for _, name := range declined {
		no[name] = true
	}
	for _, name := range parties {
		s := &pb.PartyStatus{Party: name}
		if m := c.members[name]; m != nil {
			s.SeenUnixMillis, s.What = m.seen.UnixMilli(), string(m.waits[h])
		}
		switch {
		case slices.Contains(left, name):
			s.What = string(protocol.WaitLeft)
		case s.What == "" && no[name]:
			s.What = string(protocol.WaitDeclined)
		}
		out = append(out, s)
	}
	return out
}
