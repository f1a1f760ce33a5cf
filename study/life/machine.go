package life

import (
	"fmt"
	"maps"
	"slices"

	"caucus/study"
)

// Snapshot is the state of a study as it is stored.
type Snapshot struct {
	State study.State
	// why the study failed, or what sealed it early (SealedBy…)
	Reason   string
	Received map[study.PartyID]study.BodyDigest // digests of the contributions
	// parties in Received whose bytes are lost; they must send the same bytes again
	Lost  map[study.PartyID]bool
	Chain *study.AmendmentChain // the plan's amendments; nil if there are none
}

// Study is a pure state machine: events in, effects out. Its driver carries out the effects in
// order, and stores all changes of one step in one transaction before it sends anything. Only one
// goroutine may use a Study.
type Study struct {
	Plan study.Plan
	Hash study.Hash
	Snapshot
	roster map[study.PartyID]bool
}

// New starts a draft. h must be the hash of p's canonical bytes.
func New(p study.Plan, h study.Hash) *Study { return Restore(p, h, Snapshot{State: study.Draft}) }

// Restore continues from what was stored, without effects: the driver then asks what is left to do.
// It keeps the snapshot's maps.
func Restore(p study.Plan, h study.Hash, s Snapshot) *Study {
	if s.Received == nil {
		s.Received = map[study.PartyID]study.BodyDigest{}
	}
	if s.Lost == nil {
		s.Lost = map[study.PartyID]bool{}
	}
	if s.Chain == nil {
		s.Chain = study.NewAmendmentChain(p, h)
	}
	st := &Study{Plan: p, Hash: h, Snapshot: s, roster: make(map[study.PartyID]bool, len(p.Roster))}
	for _, party := range p.Roster {
		st.roster[party] = true
	}
	return st
}

// Event is something that happened to a study: an input of Step. The driver makes it.
type Event interface{ event() }

type (
	StudyOpened struct{} // an operator opened the study
	// ContributionReceived says that an authenticated party sent a body that the task's Checker
	// accepts.
	ContributionReceived struct {
		Party study.PartyID
		Plan  study.Hash
		Body  study.BodyDigest
	}
	ContributionReturned struct{ Party study.PartyID } // a party sent its lost bytes again
	// DeadlinePassed says that the driver's clock reached the deadline in force. A repetition
	// changes nothing.
	DeadlinePassed struct{}
	// QuietTimePassed says that the seal rule's quiet time has passed. The machine checks the
	// number.
	QuietTimePassed struct{}
	StudyClosed     struct{} // an operator wants no more contributions
	// StudyAmended says that the coordinator signed an amendment. Charged reports whether the
	// coordinator's ledger was charged; a failed study then stays failed.
	StudyAmended struct {
		Document []byte
		Charged  bool
	}
	// SumDone says that this number of contributions was added up or, for a Keeper, found
	// unchanged.
	SumDone     struct{ Contributions int }
	ReleaseDone struct{} // the ledger released, and the result is stored
	// SumLost says that the folded sum, or some kept bodies, are damaged. Parties must then send
	// all contributions again or, if bodies are kept, the damaged ones.
	SumLost struct{}
	// SealedWithoutLost seals the study again without parties whose contributions stay lost. The
	// ledger has no entry yet.
	SealedWithoutLost struct{ Without []study.PartyID }
	// ProofsRefuted says that both servers refused these parties' contributions, because their
	// proofs are wrong.
	ProofsRefuted  struct{ Parties []study.PartyID }
	StudyCancelled struct{ Reason string } // an operator gave up, or an aggregator cannot continue
)

func (StudyOpened) event()          {}
func (ContributionReceived) event() {}
func (ContributionReturned) event() {}
func (DeadlinePassed) event()       {}
func (QuietTimePassed) event()      {}
func (StudyClosed) event()          {}
func (StudyAmended) event()         {}
func (SumDone) event()              {}
func (ReleaseDone) event()          {}
func (SumLost) event()              {}
func (SealedWithoutLost) event()    {}
func (ProofsRefuted) event()        {}
func (StudyCancelled) event()       {}

// Effect is something that the driver must do.
type Effect interface{ effect() }

type (
	// StoreContribution stores a body and its receipt, in one transaction.
	StoreContribution struct {
		Party study.PartyID
		Body  study.BodyDigest
	}
	// stores a lost contribution's body that was sent again
	RestoreContribution struct{ Party study.PartyID }
	// deletes lost or refused contributions, and their receipts
	DropContributions struct{ Parties []study.PartyID }
	// StoreAmendment stores an amendment. If it reopens a failed study, parties must send all
	// bodies again, because they were deleted when the study failed.
	StoreAmendment struct {
		Document []byte
		Number   int
		Reopens  bool
	}
	// SendReceipt sends a receipt to the party, after the contribution is stored.
	SendReceipt struct {
		Party study.PartyID
		Body  study.BodyDigest
	}
	// StoreState stores the new state, and why the study failed or sealed early. A final state also
	// deletes what no later step needs.
	StoreState struct {
		State  study.State
		Reason string
	}
	// FoldSum adds up the contributions or, for a Keeper, compares the bodies with their digests.
	FoldSum     struct{ Contributions int }
	MakeRelease struct{ Contributions int } // releases what the sum requests and makes the result
)

func (StoreContribution) effect()   {}
func (RestoreContribution) effect() {}
func (DropContributions) effect()   {}
func (StoreAmendment) effect()      {}
func (SendReceipt) effect()         {}
func (StoreState) effect()          {}
func (FoldSum) effect()             {}
func (MakeRelease) effect()         {}

// Step applies an event. If it returns an error, the study is unchanged. Repeated events (a
// contribution sent again, a second deadline) change nothing.
func (s *Study) Step(e Event) ([]Effect, error) {
	switch e := e.(type) {
	case StudyOpened:
		if s.State == study.Open {
			return nil, nil
		}
		if s.State != study.Draft {
			return nil, fmt.Errorf("open study: %w, and cannot be opened any more: it is %s", study.ErrNotOpen, s.State)
		}
		return s.enter(study.Open, ""), nil
	case ContributionReceived:
		return s.contributed(e)
	case ContributionReturned:
		return s.returned(e), nil
	case DeadlinePassed:
		if s.State != study.Open {
			return nil, nil
		}
		return s.end(""), nil
	case QuietTimePassed:
		if !s.MaySealEarly() {
			return nil, nil
		}
		return s.end(study.SealedByRule), nil
	case StudyClosed:
		if s.State != study.Open {
			return nil, fmt.Errorf("close study: %w: it is %s", study.ErrNotOpen, s.State)
		}
		if have, least := s.StoredContributions(), s.Ending().Minimum; have < least {
			return nil, fmt.Errorf("close study: %w: minimum %d, have %d: wait for more, or give it up with caucus study cancel", study.ErrTooFew, least, have)
		}
		return s.end(study.SealedByOperator), nil
	case StudyAmended:
		return s.amended(e)
	case SumLost:
		if s.State != study.Sealed && s.State != study.Summed {
			return nil, nil
		}
		return s.seal(s.Reason), nil // seal again, with the same contributions
	case SealedWithoutLost:
		return s.resealed(e), nil
	case ProofsRefuted:
		return s.refuted(e), nil
	case SumDone:
		if s.State != study.Sealed {
			return nil, nil
		}
		if e.Contributions != len(s.Received) {
			return s.fail(fmt.Sprintf("folded %d contributions, sealed %d; the coordinator spent nothing", e.Contributions, len(s.Received))), nil
		}
		return append(s.enter(study.Summed, s.Reason), MakeRelease{len(s.Received)}), nil
	case ReleaseDone:
		if s.State != study.Summed {
			return nil, nil
		}
		return s.enter(study.Released, s.Reason), nil
	case StudyCancelled:
		if s.State == study.Released || s.State == study.Failed {
			return nil, fmt.Errorf("cancel study: it is %s already", s.State)
		}
		return s.fail(e.Reason), nil
	}
	return nil, fmt.Errorf("step study: unknown event %T", e)
}

// Resume lists the work that is left after a restart.
func (s *Study) Resume() []Effect {
	switch s.State {
	case study.Sealed:
		return []Effect{FoldSum{len(s.Received)}}
	case study.Summed:
		return []Effect{MakeRelease{len(s.Received)}}
	}
	return nil
}

func (s *Study) contributed(e ContributionReceived) ([]Effect, error) {
	if !s.roster[e.Party] {
		return nil, fmt.Errorf("contribute to study: %w: %s", study.ErrNotEnrolled, e.Party)
	}
	if e.Plan != s.Hash {
		return nil, fmt.Errorf("contribute to study: %w: it names %s, the study is %s", study.ErrDifferentPlan, e.Plan, s.Hash)
	}
	if had, ok := s.Received[e.Party]; ok {
		if had == (study.BodyDigest{}) {
			return nil, fmt.Errorf("contribute to study: %w: this party's contribution is in it, and the receipt is not kept here any more", study.ErrNotOpen)
		}
		if had != e.Body {
			return nil, fmt.Errorf("contribute to study: %w: resend the first",
				study.ErrDifferentUpload)
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

// forgotten reports whether the digest of a contribution was deleted, so that nobody can tell its
// bytes from others.
func (s *Study) forgotten() bool {
	for _, digest := range s.Received {
		if digest == (study.BodyDigest{}) {
			return true
		}
	}
	return false
}

// StoredContributions returns the number of contributions whose bytes are stored.
func (s *Study) StoredContributions() int { return len(s.Received) - len(s.Lost) }

// Ending is the ending in force: Step has checked each amendment in it against the plan.
func (s *Study) Ending() study.Ending { return s.Chain.Ending() }

// MaySealEarly reports whether the seal rule in force lets the study seal before its deadline.
func (s *Study) MaySealEarly() bool {
	return s.State == study.Open && s.StoredContributions() >= s.Ending().SealCount(
		len(s.Plan.Roster))
}

func (s *Study) sealIfAll() []Effect {
	if s.State != study.Open || s.StoredContributions() < len(s.Plan.Roster) {
		return nil
	}
	return s.seal("")
}

func (s *Study) seal(by string) []Effect {
	return append(s.enter(study.Sealed, by), FoldSum{len(s.Received)})
}

// end seals an open study, or fails it below the minimum. Lost contributions do not count. Sealing
// forgets their digests. Failing keeps their digests, because a reopened study asks for the
// contributions again.
func (s *Study) end(by string) []Effect {
	have, least := s.StoredContributions(), s.Ending().Minimum
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

func (s *Study) returned(e ContributionReturned) []Effect {
	if !s.Lost[e.Party] || s.State != study.Open && s.State != study.Sealed {
		return nil
	}
	delete(s.Lost, e.Party)
	return append([]Effect{RestoreContribution(e)}, s.sealIfAll()...)
}

func (s *Study) amended(e StudyAmended) ([]Effect, error) {
	a, err := study.DecodeAmendment(e.Document)
	reopens := s.State == study.Failed
	switch {
	case err != nil:
		return nil, err
	case s.State != study.Open && s.State != study.Failed:
		return nil, fmt.Errorf("amend study: %w: it is %s", study.ErrNotOpen, s.State)
	case reopens && e.Charged:
		return nil, fmt.Errorf("amend study: %w: its noise was drawn and charged before it failed: make a new plan", study.ErrNotOpen)
	case reopens && s.forgotten():
		return nil, fmt.Errorf("amend study: %w: an earlier version made its plan, so the digests of its contributions were deleted when it failed: make a new plan", study.ErrNotOpen)
	case a.Reopens != reopens:
		return nil, fmt.Errorf("%w: it was made for another state than %s", study.ErrAmendment,
			s.State)
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

// fail adds to the reason that each contribution was charged to its party's ledger.
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

// resealed drops lost contributions of a sealed study. Their number is still fixed before any
// noise.
func (s *Study) resealed(e SealedWithoutLost) []Effect {
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

// refuted drops contributions that both servers refused. The number of the others is fixed after
// that, before any noise.
func (s *Study) refuted(e ProofsRefuted) []Effect {
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

// Contributors lists the parties of the roster that contributed, and those that are missing, both
// sorted. In an open study, a party that must send its bytes again counts as missing.
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
