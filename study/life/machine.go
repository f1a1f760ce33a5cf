package life

import (
	"fmt"
	"maps"
	"slices"

	"caucus/study"
)

// Snapshot is all that a study's life depends on; it is what a store keeps.
type Snapshot struct {
	State study.State
	// Reason is why it failed, or what sealed it before its deadline (SealedBy…).
	Reason string
	// Received maps each party to the digest of what it contributed.
	Received map[study.PartyID]study.BodyDigest
	// Lost are those of Received whose bytes are not there: the same are wanted again.
	Lost map[study.PartyID]bool
	// Chain are the amendments of the plan; nil is none.
	Chain *study.Chain
}

// Study is one study's life as a pure state machine: events in, effects out.
// It has no clock, socket or disk; whoever drives it carries the effects out
// in order, the Store effects of one step in one transaction, before telling
// anyone of the step. It is not for concurrent use.
type Study struct {
	Plan study.Plan
	Hash study.Hash
	Snapshot
	roster map[study.PartyID]bool
}

// New is a study in draft.
func New(p study.Plan, h study.Hash) *Study {
	return Restore(p, h, Snapshot{State: study.InDraft})
}

// Restore is a study as a store kept it.
func Restore(p study.Plan, h study.Hash, s Snapshot) *Study {
	if s.Received == nil {
		s.Received = map[study.PartyID]study.BodyDigest{}
	}
	if s.Lost == nil {
		s.Lost = map[study.PartyID]bool{}
	}
	if s.Chain == nil {
		s.Chain = study.NewChain(p, h)
	}
	st := &Study{Plan: p, Hash: h, Snapshot: s, roster: make(map[study.PartyID]bool, len(p.Roster))}
	for _, party := range p.Roster {
		st.roster[party] = true
	}
	return st
}

// Event is something that happened to a study.
type Event interface{ event() }

// The events.
type (
	// Opened: an operator opened the study.
	Opened struct{}
	// Contributed: an authenticated party sent a body that its task's Checker
	// accepts.
	Contributed struct {
		Party study.PartyID
		Plan  study.Hash
		Body  study.BodyDigest
	}
	// Returned: a party sent the bytes again that were lost.
	Returned struct{ Party study.PartyID }
	// DeadlinePassed: the deadline in force is over.
	DeadlinePassed struct{}
	// ShareReached: nobody contributed for as long as the rule in force asks for; the
	// machine counts by itself whether enough have.
	ShareReached struct{}
	// Closed: an operator wants no more contributions.
	Closed struct{}
	// Amended: the coordinator signed an amendment. Charged says whether the
	// aggregator's ledger holds an entry of the study: then a failed one stays failed.
	Amended struct {
		Document []byte
		Charged  bool
	}
	// FoldDone: a number of contributions were added to the sum, or found to be
	// stored as they were received where the task keeps them.
	FoldDone struct{ Contributions int }
	// ReleaseDone: the ledger released, and the result is stored.
	ReleaseDone struct{}
	// SumLost: what a study was folded to is damaged. Where that was its sum, all
	// its contributions are lost, and wanted again; of bodies that are kept, those
	// that are damaged.
	SumLost struct{}
	// Resealed: contributions to a sealed study were lost, nobody brought them
	// again, and the ledger holds no entry of it.
	Resealed struct{ Without []study.PartyID }
	// Refuted: two aggregators refused what these parties sent, because it is not what they
	// had to prove of it.
	Refuted struct{ Parties []study.PartyID }
	// Cancelled: an operator gave up, or an aggregator cannot go on.
	Cancelled struct{ Reason string }
)

func (Opened) event()         {}
func (Contributed) event()    {}
func (Returned) event()       {}
func (DeadlinePassed) event() {}
func (ShareReached) event()   {}
func (Closed) event()         {}
func (Amended) event()        {}
func (FoldDone) event()       {}
func (ReleaseDone) event()    {}
func (SumLost) event()        {}
func (Resealed) event()       {}
func (Refuted) event()        {}
func (Cancelled) event()      {}

// Effect is something the driver must do.
type Effect interface{ effect() }

// The effects.
type (
	// StoreContribution keeps the body and its receipt, in one transaction.
	StoreContribution struct {
		Party study.PartyID
		Body  study.BodyDigest
	}
	// RestoreContribution keeps the body of a contribution whose bytes were lost.
	RestoreContribution struct{ Party study.PartyID }
	// DropContributions forgets contributions whose bytes are lost, receipts too.
	DropContributions struct{ Parties []study.PartyID }
	// StoreAmendment keeps an amendment. Where it reopens the study, all that was
	// contributed is wanted again: no body outlives a failure.
	StoreAmendment struct {
		Document []byte
		Number   int
		Reopens  bool
	}
	// SendReceipt answers the party. It follows the store.
	SendReceipt struct {
		Party study.PartyID
		Body  study.BodyDigest
	}
	// StoreState keeps the state and reason.
	StoreState struct {
		State  study.State
		Reason string
	}
	// FoldSum adds all contributions to the sum, each exactly once. Where the task
	// keeps bodies it holds each against its digest.
	FoldSum struct{ Contributions int }
	// MakeRelease settles what the sum requests and finishes the result.
	MakeRelease struct{ Contributions int }
)

func (StoreContribution) effect()   {}
func (RestoreContribution) effect() {}
func (DropContributions) effect()   {}
func (StoreAmendment) effect()      {}
func (SendReceipt) effect()         {}
func (StoreState) effect()          {}
func (FoldSum) effect()             {}
func (MakeRelease) effect()         {}

// Step applies an event. An error changes nothing and has no effects. Events
// that come again (a resent contribution, a second deadline) are harmless.
func (s *Study) Step(e Event) ([]Effect, error) {
	switch e := e.(type) {
	case Opened:
		if s.State == study.Open {
			return nil, nil
		}
		if s.State != study.InDraft {
			return nil, fmt.Errorf("open study: %w: it is %s", study.ErrNotOpen, s.State)
		}
		return s.enter(study.Open, ""), nil
	case Contributed:
		return s.contributed(e)
	case Returned:
		return s.returned(e), nil
	case DeadlinePassed:
		if s.State != study.Open {
			return nil, nil
		}
		return s.end(""), nil
	case ShareReached:
		if !s.Enough() {
			return nil, nil
		}
		return s.end(study.SealedByRule), nil
	case Closed:
		if s.State != study.Open {
			return nil, fmt.Errorf("close study: %w: it is %s", study.ErrNotOpen, s.State)
		}
		if have, least := s.Have(), s.Ending().Minimum; have < least {
			return nil, fmt.Errorf("close study: %w: minimum %d, have %d", study.ErrTooFew, least, have)
		}
		return s.end(study.SealedByOperator), nil
	case Amended:
		return s.amended(e)
	case SumLost:
		if s.State != study.Sealed && s.State != study.Folded {
			return nil, nil
		}
		return s.seal(s.Reason), nil // of the same contributions
	case Resealed:
		return s.resealed(e), nil
	case Refuted:
		return s.refuted(e), nil
	case FoldDone:
		if s.State != study.Sealed {
			return nil, nil
		}
		if e.Contributions != len(s.Received) {
			return s.fail(fmt.Sprintf("folded %d contributions, sealed %d; the coordinator spent nothing", e.Contributions, len(s.Received))), nil
		}
		return append(s.enter(study.Folded, s.Reason), MakeRelease{len(s.Received)}), nil
	case ReleaseDone:
		if s.State != study.Folded {
			return nil, nil
		}
		return s.enter(study.Released, s.Reason), nil
	case Cancelled:
		if s.State == study.Released || s.State == study.Failed {
			return nil, fmt.Errorf("cancel study: it is %s already", s.State)
		}
		return s.fail(e.Reason), nil
	}
	return nil, fmt.Errorf("step study: unknown event %T", e)
}

// Resume is what is left to do after a restart.
func (s *Study) Resume() []Effect {
	switch s.State {
	case study.Sealed:
		return []Effect{FoldSum{len(s.Received)}}
	case study.Folded:
		return []Effect{MakeRelease{len(s.Received)}}
	}
	return nil
}

func (s *Study) contributed(e Contributed) ([]Effect, error) {
	if !s.roster[e.Party] {
		return nil, fmt.Errorf("contribute to study: %w: %s", study.ErrNotEnrolled, e.Party)
	}
	if e.Plan != s.Hash {
		return nil, fmt.Errorf("contribute to study: %w: it names %s, the study is %s", study.ErrOtherPlan, e.Plan, s.Hash)
	}
	if had, ok := s.Received[e.Party]; ok {
		if had != e.Body {
			return nil, fmt.Errorf("contribute to study: %w: resend the first", study.ErrOtherBytes)
		}
		return []Effect{SendReceipt{e.Party, e.Body}}, nil
	}
	if s.State != study.Open {
		return nil, fmt.Errorf("contribute to study: %w: it is %s", study.ErrNotOpen, s.State)
	}
	s.Received[e.Party] = e.Body
	effects := []Effect{StoreContribution{e.Party, e.Body}, SendReceipt{e.Party, e.Body}}
	return append(effects, s.sealIfAll()...), nil
}

// Have is how many contributions are there, with their bytes.
func (s *Study) Have() int { return len(s.Received) - len(s.Lost) }

// Ending is the one in force.
func (s *Study) Ending() study.Ending { return s.Chain.Ending() }

// Enough says whether the rule in force lets the study seal before its deadline.
func (s *Study) Enough() bool {
	return s.State == study.Open && s.Have() >= s.Ending().Enough(len(s.Plan.Roster))
}

// sealIfAll seals a study to which nobody else can contribute.
func (s *Study) sealIfAll() []Effect {
	if s.State != study.Open || s.Have() < len(s.Plan.Roster) {
		return nil
	}
	return s.seal("")
}

// seal fixes the number of contributions, before any noise.
func (s *Study) seal(by string) []Effect {
	return append(s.enter(study.Sealed, by), FoldSum{len(s.Received)})
}

// end seals an open study with what is there, or fails it. What was lost and did not
// come again is not counted: a study that seals forgets it, one that fails may be
// reopened, and wants it then.
func (s *Study) end(by string) []Effect {
	have, least := s.Have(), s.Ending().Minimum
	if have < least {
		return s.fail(fmt.Sprintf("minimum %d, have %d; the coordinator spent nothing", least, have))
	}
	var effects []Effect
	if len(s.Lost) > 0 {
		without := slices.Sorted(maps.Keys(s.Lost))
		s.drop(without)
		effects = append(effects, DropContributions{without})
	}
	return append(effects, s.seal(by)...)
}

func (s *Study) drop(parties []study.PartyID) {
	for _, p := range parties {
		delete(s.Received, p)
		delete(s.Lost, p)
	}
}

// returned takes note that bytes which were lost are there again.
func (s *Study) returned(e Returned) []Effect {
	if !s.Lost[e.Party] || s.State != study.Open && s.State != study.Sealed {
		return nil
	}
	delete(s.Lost, e.Party)
	return append([]Effect{RestoreContribution(e)}, s.sealIfAll()...)
}

// amended changes the ending of an open study, or takes a failed one up again. Of that
// no contribution is there any more, and each may come again as it was.
func (s *Study) amended(e Amended) ([]Effect, error) {
	a, err := study.DecodeAmendment(e.Document)
	reopens := s.State == study.Failed
	switch {
	case err != nil:
		return nil, err
	case s.State != study.Open && s.State != study.Failed:
		return nil, fmt.Errorf("amend study: %w: it is %s", study.ErrNotOpen, s.State)
	case reopens && e.Charged:
		return nil, fmt.Errorf("amend study: %w: its noise was drawn and charged before it failed: make a new plan", study.ErrNotOpen)
	case a.Reopens != reopens:
		return nil, fmt.Errorf("%w: it was made for another state than %s", study.ErrAmendment, s.State)
	}
	if _, err := s.Chain.Add(e.Document); err != nil {
		return nil, err
	}
	effects := []Effect{StoreAmendment{e.Document, a.Number, reopens}}
	if reopens {
		for p := range s.Received {
			s.Lost[p] = true
		}
		effects = append(effects, s.enter(study.Open, "")...)
	}
	return effects, nil
}

// fail says also what the parties spent: what a party contributed it was charged for
// by its own ledger, whoever adds the noise.
func (s *Study) fail(reason string) []Effect {
	if n := len(s.Received); n > 0 {
		who := fmt.Sprintf("each of the %d parties", n)
		if n == 1 {
			who = "the party"
		}
		reason += fmt.Sprintf("; %s that contributed was charged ε = %g, δ = %g (unit %s) by its own ledger", who, s.Plan.Epsilon, s.Plan.Delta, s.Plan.Unit)
	}
	return s.enter(study.Failed, reason)
}

// resealed seals a sealed study again without contributions that were lost: M is
// still fixed before any noise.
func (s *Study) resealed(e Resealed) []Effect {
	if s.State != study.Sealed {
		return nil
	}
	have, least := len(s.Received), s.Ending().Minimum
	for _, p := range e.Without {
		if _, had := s.Received[p]; had {
			have--
		}
	}
	if have < least {
		return s.fail(fmt.Sprintf("minimum %d, have %d after %d contributions were damaged where they were stored; the coordinator spent nothing", least, have, len(e.Without)))
	}
	s.drop(e.Without)
	return s.seal(s.Reason)
}

// refuted drops what two aggregators refused from a sealed study: it is in neither server's
// sum. M is still fixed before any noise.
func (s *Study) refuted(e Refuted) []Effect {
	if s.State != study.Sealed {
		return nil
	}
	var without []study.PartyID
	for _, p := range slices.Sorted(slices.Values(e.Parties)) {
		if _, had := s.Received[p]; had {
			without = append(without, p)
		}
	}
	if len(without) == 0 {
		return nil
	}
	if have, least := len(s.Received)-len(without), s.Ending().Minimum; have < least {
		return s.fail(fmt.Sprintf("minimum %d, have %d after both servers refused what %d sent, which is not what a contribution has to be proved to be; neither server spent anything", least, have, len(without)))
	}
	s.drop(without)
	return append([]Effect{DropContributions{without}}, s.seal(s.Reason)...)
}

func (s *Study) enter(state study.State, reason string) []Effect {
	s.State, s.Reason = state, reason
	return []Effect{StoreState{state, reason}}
}

// Contributors are the parties that contributed, Missing those on the roster
// that did not; both sorted. Of an open study those whose bytes are wanted again are
// missing.
func (s *Study) Contributors() (contributed, missing []study.PartyID) {
	for _, p := range s.Plan.Roster {
		if _, ok := s.Received[p]; ok && !(s.State == study.Open && s.Lost[p]) {
			contributed = append(contributed, p)
		} else {
			missing = append(missing, p)
		}
	}
	slices.Sort(contributed)
	slices.Sort(missing)
	return contributed, missing
}
