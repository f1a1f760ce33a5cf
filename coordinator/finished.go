package coordinator

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"unique"

	"google.golang.org/protobuf/proto"

	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
	"caucus/study/life"
)

// finished is the part of a finished study that stays in memory: its summaries, and who may see
// them. A plan may have megabytes, so everything else is read from the store for each request.
type finished struct {
	// shared and never changed; summary is for operators, mine for a party that contributed
	summary, mine *pb.Summary
	// parties holds the names of the roster, and missing the names of those who have not
	// contributed, sorted, one on each line. Studies with the same parties share the string.
	parties, missing unique.Handle[string]
	lost             []study.PartyID
	readers          []string
}

// settle drops a finished study's machine from memory. The caller holds mu, and calls settle before
// it releases mu.
func (rs *runningStudy) settle() {
	if rs.machine == nil || !protocol.IsFinal(rs.machine.State) {
		return
	}
	rs.over.Store(true)
	if rs.finished == nil {
		rs.finished = rs.finish(rs.machine)
	}
	rs.machine, rs.row, rs.roster, rs.lost = nil, records.Study{}, nil, nil
}

// finish makes the part that stays in memory. It shares no memory with the machine.
func (rs *runningStudy) finish(m *life.Study) *finished {
	f := &finished{summary: proto.Clone(summary(rs, m, protocol.Caller{})).(*pb.Summary),
		readers: slices.Clone(m.Plan.Readers)}
	f.mine = proto.Clone(f.summary).(*pb.Summary)
	f.mine.Mine = true
	var missing []study.PartyID
	for _, p := range m.Plan.Roster {
		if _, has := m.Received[p]; !has {
			missing = append(missing, p)
		}
	}
	f.parties, f.missing = lines(m.Plan.Roster), lines(missing)
	for p := range rs.lost {
		f.lost = append(f.lost, p)
	}
	return f
}

func lines(names []study.PartyID) unique.Handle[string] {
	var b strings.Builder
	for _, p := range slices.Sorted(slices.Values(names)) {
		b.WriteString(string(p) + "\n")
	}
	return unique.Make(b.String())
}

// among reports whether line is one of the sorted lines.
func among(lines unique.Handle[string], line string) bool {
	all := lines.Value()
	for from, to := 0, len(all); from < to; {
		begins := strings.LastIndexByte(all[:(from+to)/2], '\n') + 1
		ends := begins + strings.IndexByte(all[begins:], '\n')
		switch strings.Compare(all[begins:ends], line) {
		case 0:
			return true
		case -1:
			from = ends + 1
		case 1:
			to = begins
		}
	}
	return false
}

func (f *finished) of(caller protocol.Caller) *pb.Summary {
	listed := among(f.parties, caller.Name)
	mine := listed && caller.Role == protocol.RoleParty && !among(f.missing, caller.Name)
	switch {
	case caller.Role != protocol.RoleOperator && !listed &&
		!slices.Contains(f.readers, caller.Name):
		return nil
	case caller.Role == protocol.RoleParty && slices.Contains(f.lost, study.PartyID(caller.Name)):
		s := proto.Clone(f.summary).(*pb.Summary)
		s.Mine, s.Lost = mine, true
		return s
	case mine:
		return f.mine
	}
	return f.summary
}

// summaryFor is the summary for a caller's list, nil if the caller may not see the study.
func (rs *runningStudy) summaryFor(ctx context.Context, caller protocol.Caller) (*pb.Summary,
	error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	defer rs.settle()
	if rs.finished != nil {
		return rs.finished.of(caller), nil
	}
	err := rs.load(ctx)
	if errors.Is(err, errUnreadable) {
		if caller.Role != protocol.RoleOperator {
			return nil, nil
		}
		return &pb.Summary{PlanHash: rs.hash[:], Name: rs.name, State: string(rs.row.State),
			Reason: err.Error()}, nil
	}
	if err != nil || !visible(rs, rs.machine, caller) {
		return nil, err
	}
	return summary(rs, rs.machine, caller), nil
}

// summary is a caller's summary of a study. Call it within runningStudy.view.
func summary(c *runningStudy, m *life.Study, caller protocol.Caller) *pb.Summary {
	_, mine := m.Received[study.PartyID(caller.Name)]
	_, lost := c.lost[study.PartyID(caller.Name)]
	reason := m.Reason
	if reason == "" && !protocol.IsFinal(m.State) {
		if m.Plan.Noise.Shared() && m.State != study.Draft {
			reason = c.sharing.waits()
		}
		if reason == "" {
			reason = c.trouble
		}
		if reason == "" && m.Plan.Noise.Shared() && m.State != study.Open {
			reason = c.sharing.works()
		}
	}
	contributed := len(m.Received)
	if m.State == study.Open {
		contributed = m.StoredContributions()
	}
	return &pb.Summary{
		PlanHash: m.Hash[:], Name: m.Plan.Name, Kind: m.Plan.Kind, State: string(m.State), Reason: reason,
		DeadlineUnixMillis: m.Ending().Deadline.UnixMilli(), Roster: uint32(len(m.Plan.Roster)),
		Contributed: uint32(contributed), Minimum: uint32(min(m.Ending().Minimum, math.MaxUint32)), Amendments: uint32(m.Chain.Len()),
		Mine: mine && caller.Role == protocol.RoleParty, Lost: lost && caller.Role == protocol.RoleParty,
	}
}

// visible reports whether a caller may see a study. Operators see all; parties and readers see
// opened studies that name them.
func visible(c *runningStudy, s *life.Study, caller protocol.Caller) bool {
	if caller.Role == protocol.RoleOperator {
		return true
	}
	return s.State != study.Draft &&
		(c.roster[study.PartyID(caller.Name)] || slices.Contains(s.Plan.Readers, caller.Name))
}
