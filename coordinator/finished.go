package coordinator

import (
	"context"
	"errors"
	"slices"
	"unique"

	"google.golang.org/protobuf/proto"

	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
)

// finished is what stays in memory of a study that is over, whose plan may be
// megabytes: what lists say of it, and to whom. All else is read from the store
// when somebody asks, and not kept.
type finished struct {
	summary *pb.Summary // as an operator sees it
	// parties are the roster, sorted; names are shared among studies.
	parties     []unique.Handle[study.PartyID]
	contributed []bool // by place among parties
	lost        []study.PartyID
	readers     []string
}

// settle lets go of what was loaded of a study that is over. The caller holds mu,
// and calls it before it gives mu back.
func (c *runningStudy) settle() {
	if c.machine == nil || !protocol.Final(c.machine.State) {
		return
	}
	c.over.Store(true)
	if c.finished == nil {
		c.finished = c.finish(c.machine)
	}
	c.machine, c.row, c.roster, c.lost = nil, studyRow{}, nil, nil
}

// finish makes what stays. It shares no memory with the machine.
func (c *runningStudy) finish(m *study.Study) *finished {
	f := &finished{summary: proto.Clone(summary(c, m, protocol.Caller{})).(*pb.Summary), readers: slices.Clone(m.Plan.Readers)}
	roster := slices.Sorted(slices.Values(m.Plan.Roster))
	f.parties, f.contributed = make([]unique.Handle[study.PartyID], len(roster)), make([]bool, len(roster))
	for i, p := range roster {
		f.parties[i] = unique.Make(p)
		_, f.contributed[i] = m.Received[p]
	}
	for p := range c.lost {
		f.lost = append(f.lost, p)
	}
	return f
}

// of is the summary that a caller sees, nil where it may not see the study.
func (f *finished) of(caller protocol.Caller) *pb.Summary {
	at, listed := slices.BinarySearchFunc(f.parties, study.PartyID(caller.Name), func(h unique.Handle[study.PartyID], p study.PartyID) int {
		switch name := h.Value(); {
		case name < p:
			return -1
		case name > p:
			return 1
		}
		return 0
	})
	if caller.Role != protocol.RoleOperator && !listed && !slices.Contains(f.readers, caller.Name) {
		return nil
	}
	s := proto.Clone(f.summary).(*pb.Summary)
	if caller.Role == protocol.RoleParty {
		s.Mine, s.Lost = listed && f.contributed[at], slices.Contains(f.lost, study.PartyID(caller.Name))
	}
	return s
}

// summaryFor is what a caller sees of a study in a list, nil where it may not see
// it.
func (c *runningStudy) summaryFor(ctx context.Context, caller protocol.Caller) (*pb.Summary, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.settle()
	if c.finished != nil {
		return c.finished.of(caller), nil
	}
	err := c.load(ctx)
	if errors.Is(err, errUnreadable) {
		if caller.Role != protocol.RoleOperator {
			return nil, nil
		}
		return &pb.Summary{PlanHash: c.hash[:], Name: c.name, State: string(c.row.State), Reason: err.Error()}, nil
	}
	if err != nil || !visible(c, c.machine, caller) {
		return nil, err
	}
	return summary(c, c.machine, caller), nil
}
