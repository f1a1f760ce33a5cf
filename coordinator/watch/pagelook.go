package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"caucus/coordinator/cluster"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

type overview struct {
	Troubles    []string
	Studies     []studyLine
	MoreStudies int
	Members     []memberLine
	MoreMembers int
	Counts      string
	Units       []ledgerUnit
	LedgerSays  string
	Replicas    []replicaLine
	Charges     int
	Plot        []ledgerCurve
	From, To    string // ends of the plot
}

type studyLine struct {
	Name, Hash, Kind, Mechanism  string
	Noise                        study.Noise
	State                        study.State
	Over                         bool
	Reason                       string
	Contributed, Roster, Minimum int
	Unit                         string
	Epsilon, Delta               float64
	Ends                         string
	// Have and Mark are the contributions and the minimum, in thousandths of the roster, for the
	// meter.
	Have, Mark int
	Report     bool // the release's page is shown here

	hash study.Hash
	plan study.Plan
}

type studyLook struct {
	studyLine
	Purpose, Contact, Data, Readers          string
	Amended                                  []string
	ContributedBy, Missing, Declined         []string
	MoreContributed, MoreMissing             int
	Waits, Awaited                           []string
	MoreWaits, MoreAwaited                   int
	ReadersNamed, Released, Waiting, IsDraft bool
}

type replicaLine struct{ Address, State, Since, Version string }

// replicas lists who lives, who leads, and who went.
func replicas(all []cluster.Member) []replicaLine {
	var lines []replicaLine
	for _, m := range all {
		state := "gone"
		switch {
		case m.Alive && m.IsLeader:
			state = fmt.Sprintf("leads, epoch %d", m.Epoch)
		case m.Alive:
			state = "stands by"
		}
		lines = append(lines, replicaLine{m.Address, state, m.Since.UTC().Format(time.DateTime),
			m.Version})
	}
	return lines
}

type memberLine struct {
	Name, Role, Status, Expires, Called string
	Waits                               []string
}

// planCache caches the parts of plans that the page needs. Plans never change and may have
// megabytes.
type planCache struct {
	mu  sync.Mutex // guards all
	all map[study.Hash]study.Plan
}

// mostPlans bounds the cache. One more plan clears it.
const mostPlans = 256

// of reads a plan through the cache, without its schema, map and terms.
func (pc *planCache) of(tx records.Tx, h study.Hash) (study.Plan, error) {
	pc.mu.Lock()
	p, ok := pc.all[h]
	pc.mu.Unlock()
	if ok {
		return p, nil
	}
	row, err := tx.Study(h)
	if err != nil {
		return study.Plan{}, err
	}
	if p, _, err = protocol.ParsePlan(row.Plan); err != nil {
		return study.Plan{}, err
	}
	p = study.Plan{
		Name: p.Name, Kind: p.Kind, Purpose: p.Purpose, Contact: p.Contact, SourceName: p.SourceName, Roster: p.Roster, Readers: p.Readers, Unit: p.Unit, Epsilon: p.Epsilon, Delta: p.Delta,
		Mechanism: p.Mechanism, Noise: p.Noise, Minimum: p.Minimum, Floor: p.Floor, Deadline: p.Deadline, Seal: p.Seal,
	}
	slices.Sort(p.Roster)
	pc.mu.Lock()
	defer pc.mu.Unlock()
	if pc.all == nil || len(pc.all) >= mostPlans {
		pc.all = map[study.Hash]study.Plan{}
	}
	pc.all[h] = p
	return p, nil
}

func (p *page) look(ctx context.Context) (o overview, err error) {
	s := p.server
	health := s.Health()
	now := health.Now
	o.Replicas = replicas(health.Replicas)
	if err := s.ready(ctx); err != nil {
		o.Troubles = append(o.Troubles, err.Error())
	}
	var members []admin.Member
	open := map[study.Hash]string{}
	err = s.Store.View(ctx, func(tx records.Tx) error {
		rows, err := tx.Studies()
		if err != nil {
			return err
		}
		// Open studies come first; within each part, the newest come first.
		slices.SortStableFunc(rows, func(a, b records.Study) int {
			return watchRank(a.State) - watchRank(b.State)
		})
		o.MoreStudies = max(0, len(rows)-mostShownStudies)
		for _, row := range rows[:len(rows)-o.MoreStudies] {
			line, err := p.line(tx, row)
			if err != nil {
				return err
			}
			if line.State == study.Open {
				open[line.hash] = line.Name
			}
			o.Studies = append(o.Studies, line)
		}
		members, err = tx.Members(now)
		return err
	})
	if err != nil {
		return o, err
	}
	p.members(&o, members, open, now)
	p.ledger.show(&o)
	return o, nil
}

// watchRank orders studies: open ones first, then drafts, then ended ones.
func watchRank(s study.State) int {
	switch {
	case protocol.IsFinal(s):
		return 2
	case s == study.Draft:
		return 1
	}
	return 0
}

func (p *page) line(tx records.Tx, row records.Study) (studyLine, error) {
	plan, err := p.plans.of(tx, row.Hash)
	if err != nil {
		return studyLine{}, fmt.Errorf("read study %s: %w", row.Hash, err)
	}
	count, lost, err := tx.Contributions(row.Hash)
	if err != nil {
		return studyLine{}, err
	}
	if row.State == study.Open { // a lost contribution is expected again
		count -= lost
	}
	chain, err := chainOf(tx, plan, row.Hash)
	if err != nil {
		return studyLine{}, err
	}
	ending := chain.Ending()
	l := studyLine{
		Name: row.Name, Hash: row.Hash.String(), Kind: plan.Kind, Mechanism: plan.Mechanism, Noise: plan.Noise, State: row.State, Over: protocol.IsFinal(row.State), Reason: row.Reason,
		Contributed: count, Roster: len(plan.Roster), Minimum: ending.Minimum, Unit: plan.Unit.String(), Epsilon: plan.Epsilon, Delta: plan.Delta,
		Ends: ending.Words(len(plan.Roster)), Report: row.State == study.Released && len(plan.Readers) == 0 && p.server.Config.Report != nil,
		hash: row.Hash, plan: plan,
	}
	if n := len(plan.Roster); n > 0 {
		l.Have, l.Mark = 1000*min(count, n)/n, 1000*min(ending.Minimum, n)/n
	}
	return l, nil
}

func chainOf(tx records.Tx, plan study.Plan, h study.Hash) (*study.AmendmentChain, error) {
	signed, err := tx.Amendments(h)
	if err != nil {
		return nil, err
	}
	var documents [][]byte
	for _, a := range signed {
		documents = append(documents, a.Document)
	}
	return study.AmendmentChainOf(plan, h, documents)
}

// members adds the members and why studies wait for each.
func (p *page) members(o *overview, all []admin.Member, open map[study.Hash]string,
	now time.Time) {
	counts := map[string]int{}
	for _, m := range all {
		if m.Role == protocol.RoleParty {
			counts[m.Status]++
		}
	}
	var words []string
	for _, status := range admin.Statuses() {
		if n := counts[status]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, status))
		}
	}
	o.Counts = strings.Join(words, ", ")
	o.MoreMembers = max(0, len(all)-mostShownMembers)
	for _, m := range all[:len(all)-o.MoreMembers] {
		seen, runs := p.server.Calls.LastCall(m.Name, now)
		if seen != 0 {
			m.LastCall = time.UnixMilli(seen)
		}
		m.InTwoProcesses = runs > 1
		line := memberLine{Name: m.Name, Role: string(m.Role), Status: m.Status,
			Expires: m.Expires.Format(time.DateOnly), Called: m.LastCallText(now)}
		waits := p.server.Calls.waiting(m.Name)
		for _, h := range slices.SortedFunc(maps.Keys(waits), func(a, b study.Hash) int {
			return strings.Compare(open[a], open[b])
		}) {
			if name := open[h]; name != "" {
				line.Waits = append(line.Waits, name+": "+waits[h].Words())
			}
		}
		o.Members = append(o.Members, line)
	}
}

// lookAt reads the page of one study; errNotHere if there is no such study.
func (p *page) lookAt(ctx context.Context, ref string) (l studyLook, err error) {
	s := p.server
	now := s.Config.Clock.Now()
	var h study.Hash
	if h.UnmarshalText([]byte(ref)) != nil {
		return l, errNotHere
	}
	var have, missing []study.PartyID
	var left []string
	err = s.Store.View(ctx, func(tx records.Tx) error {
		row, err := tx.Study(h)
		if errors.Is(err, records.ErrNoRow) {
			return errNotHere
		}
		if err != nil {
			return err
		}
		if l.studyLine, err = p.line(tx, row); err != nil {
			return err
		}
		chain, err := chainOf(tx, l.plan, h)
		if err != nil {
			return err
		}
		l.Amended = chain.Changes(0)
		received, err := tx.Received(h)
		if err != nil {
			return err
		}
		lost, err := tx.Lost(h)
		if err != nil {
			return err
		}
		for _, party := range l.plan.Roster { // the same rule as in life.Study.Contributors
			_, is := received[party]
			if _, gone := lost[party]; is && !(row.State == study.Open && gone) {
				have = append(have, party)
			} else {
				missing = append(missing, party)
			}
		}
		declined, err := tx.Declined(h)
		for _, party := range declined {
			if slices.Contains(missing, party) {
				l.Declined = append(l.Declined, string(party))
			}
		}
		if err == nil {
			left, err = LeftOf(tx, l.Declined, now)
		}
		return err
	})
	if err != nil {
		return l, err
	}
	plan := l.plan
	l.Purpose, l.Contact, l.Data, l.Readers = plan.Purpose, plan.Contact, plan.SourceName,
		strings.Join(plan.Readers, ", ")
	l.Released, l.IsDraft, l.ReadersNamed = l.State == study.Released, l.State == study.Draft,
		len(plan.Readers) > 0
	l.ContributedBy, l.MoreContributed = some(have)
	l.Missing, l.MoreMissing = some(missing)
	if l.State == study.Sealed || l.State == study.Summed {
		l.Awaited, l.MoreAwaited = some(s.Awaited(h, have, missing))
	}
	if l.State == study.Open {
		l.Waiting, l.MoreWaits = true, l.MoreMissing
		for _, status := range s.Calls.Statuses(h, l.Missing, l.Declined, left) {
			words := protocol.PartyStatus{Party: status.Party,
				Wait: protocol.WaitReason(status.What)}
			if status.SeenUnixMillis != 0 {
				words.LastCall = time.UnixMilli(status.SeenUnixMillis)
			}
			l.Waits = append(l.Waits, words.Words(now))
		}
	}
	return l, nil
}

// some returns the first of many names, and how many it left out.
func some(all []study.PartyID) (names []string, more int) {
	for _, p := range all[:min(len(all), mostShownNames)] {
		names = append(names, string(p))
	}
	return names, len(all) - len(names)
}
