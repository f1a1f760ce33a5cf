package study

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// Sentinels for callers that must branch on why a contribution was refused.
var (
	// ErrNotOpen: the study is not open, or no longer.
	ErrNotOpen = errors.New("the study is not open")
	// ErrNotEnrolled: the party is not on the roster.
	ErrNotEnrolled = errors.New("the party is not on the study's roster")
	// ErrOtherPlan: the contribution was made for another plan.
	ErrOtherPlan = errors.New("the contribution was made for another plan")
	// ErrOtherBytes: the party has contributed already, something else.
	ErrOtherBytes = errors.New("the party has already contributed other bytes to this study")
)

// State is where a study is in its life.
type State string

// The life of a study: Draft → Open → Sealed → Folded → Released, or Failed.
const (
	InDraft  State = "draft"
	Open     State = "open"
	Sealed   State = "sealed"
	Folded   State = "folded"
	Released State = "released"
	Failed   State = "failed"
)

// States are all of them, in the order of a life.
func States() []State { return []State{InDraft, Open, Sealed, Folded, Released, Failed} }

// BodyDigest is the SHA-256 of a contribution's body.
type BodyDigest [sha256.Size]byte

// String is the digest in hexadecimal.
func (d BodyDigest) String() string { return hex.EncodeToString(d[:]) }

// Snapshot is all that a study's life depends on; it is what a store keeps.
type Snapshot struct {
	State  State
	Reason string // why it failed
	// Received maps each party to the digest of what it contributed.
	Received map[PartyID]BodyDigest
}

// Study is one study's life as a pure state machine: events in, effects out.
// It has no clock, socket or disk; whoever drives it carries the effects out
// in order, the Store effects of one step in one transaction, before telling
// anyone of the step. It is not for concurrent use.
type Study struct {
	Plan Plan
	Hash Hash
	Snapshot
	roster map[PartyID]bool
}

// New is a study in draft.
func New(p Plan, h Hash) *Study {
	return Restore(p, h, Snapshot{State: InDraft})
}

// Restore is a study as a store kept it.
func Restore(p Plan, h Hash, s Snapshot) *Study {
	if s.Received == nil {
		s.Received = map[PartyID]BodyDigest{}
	}
	st := &Study{Plan: p, Hash: h, Snapshot: s, roster: make(map[PartyID]bool, len(p.Roster))}
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
		Party PartyID
		Plan  Hash
		Body  BodyDigest
	}
	// DeadlinePassed: the plan's deadline is over.
	DeadlinePassed struct{}
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
	Resealed struct{ Without []PartyID }
	// Cancelled: an operator gave up, or an aggregator cannot go on.
	Cancelled struct{ Reason string }
)

func (Opened) event()         {}
func (Contributed) event()    {}
func (DeadlinePassed) event() {}
func (FoldDone) event()       {}
func (ReleaseDone) event()    {}
func (SumLost) event()        {}
func (Resealed) event()       {}
func (Cancelled) event()      {}

// Effect is something the driver must do.
type Effect interface{ effect() }

// The effects.
type (
	// StoreContribution keeps the body and its receipt, in one transaction.
	StoreContribution struct {
		Party PartyID
		Body  BodyDigest
	}
	// SendReceipt answers the party. It follows the store.
	SendReceipt struct {
		Party PartyID
		Body  BodyDigest
	}
	// StoreState keeps the state and reason.
	StoreState struct {
		State  State
		Reason string
	}
	// FoldSum adds all contributions to the sum, each exactly once. Where the task
	// keeps bodies it holds each against its digest.
	FoldSum struct{ Contributions int }
	// MakeRelease settles what the sum requests and finishes the result.
	MakeRelease struct{ Contributions int }
)

func (StoreContribution) effect() {}
func (SendReceipt) effect()       {}
func (StoreState) effect()        {}
func (FoldSum) effect()           {}
func (MakeRelease) effect()       {}

// Step applies an event. An error changes nothing and has no effects. Events
// that come again (a resent contribution, a second deadline) are harmless.
func (s *Study) Step(e Event) ([]Effect, error) {
	switch e := e.(type) {
	case Opened:
		if s.State == Open {
			return nil, nil
		}
		if s.State != InDraft {
			return nil, fmt.Errorf("open study: %w: it is %s", ErrNotOpen, s.State)
		}
		return s.enter(Open, ""), nil
	case Contributed:
		return s.contributed(e)
	case DeadlinePassed:
		if s.State != Open {
			return nil, nil
		}
		if have := len(s.Received); have < s.Plan.Minimum {
			return s.enter(Failed, fmt.Sprintf("minimum %d, have %d; the coordinator spent nothing", s.Plan.Minimum, have)), nil
		}
		return s.seal(), nil
	case SumLost:
		if s.State != Sealed && s.State != Folded {
			return nil, nil
		}
		return s.seal(), nil // of the same contributions
	case Resealed:
		return s.resealed(e), nil
	case FoldDone:
		if s.State != Sealed {
			return nil, nil
		}
		if e.Contributions != len(s.Received) {
			return s.enter(Failed, fmt.Sprintf("folded %d contributions, sealed %d; the coordinator spent nothing", e.Contributions, len(s.Received))), nil
		}
		return append(s.enter(Folded, ""), MakeRelease{len(s.Received)}), nil
	case ReleaseDone:
		if s.State != Folded {
			return nil, nil
		}
		return s.enter(Released, ""), nil
	case Cancelled:
		if s.State == Released || s.State == Failed {
			return nil, fmt.Errorf("cancel study: it is %s already", s.State)
		}
		return s.enter(Failed, e.Reason), nil
	}
	return nil, fmt.Errorf("step study: unknown event %T", e)
}

// Resume is what is left to do after a restart.
func (s *Study) Resume() []Effect {
	switch s.State {
	case Sealed:
		return []Effect{FoldSum{len(s.Received)}}
	case Folded:
		return []Effect{MakeRelease{len(s.Received)}}
	}
	return nil
}

func (s *Study) contributed(e Contributed) ([]Effect, error) {
	if !s.roster[e.Party] {
		return nil, fmt.Errorf("contribute to study: %w: %s", ErrNotEnrolled, e.Party)
	}
	if e.Plan != s.Hash {
		return nil, fmt.Errorf("contribute to study: %w: it names %s, the study is %s", ErrOtherPlan, e.Plan, s.Hash)
	}
	if had, ok := s.Received[e.Party]; ok {
		if had != e.Body {
			return nil, fmt.Errorf("contribute to study: %w: resend the first", ErrOtherBytes)
		}
		return []Effect{SendReceipt{e.Party, e.Body}}, nil
	}
	if s.State != Open {
		return nil, fmt.Errorf("contribute to study: %w: it is %s", ErrNotOpen, s.State)
	}
	s.Received[e.Party] = e.Body
	effects := []Effect{StoreContribution{e.Party, e.Body}, SendReceipt{e.Party, e.Body}}
	if len(s.Received) == len(s.Plan.Roster) {
		effects = append(effects, s.seal()...)
	}
	return effects, nil
}

// seal fixes the number of contributions, before any noise.
func (s *Study) seal() []Effect {
	return append(s.enter(Sealed, ""), FoldSum{len(s.Received)})
}

// resealed seals a sealed study again without contributions that were lost: M is
// still fixed before any noise.
func (s *Study) resealed(e Resealed) []Effect {
	if s.State != Sealed {
		return nil
	}
	for _, p := range e.Without {
		delete(s.Received, p)
	}
	if have := len(s.Received); have < s.Plan.Minimum {
		return s.enter(Failed, fmt.Sprintf("minimum %d, have %d after %d contributions were damaged where they were stored; the coordinator spent nothing", s.Plan.Minimum, have, len(e.Without)))
	}
	return s.seal()
}

func (s *Study) enter(state State, reason string) []Effect {
	s.State, s.Reason = state, reason
	return []Effect{StoreState{state, reason}}
}

// Contributors are the parties that contributed, Missing those on the roster
// that did not; both sorted.
func (s *Study) Contributors() (contributed, missing []PartyID) {
	for _, p := range s.Plan.Roster {
		if _, ok := s.Received[p]; ok {
			contributed = append(contributed, p)
		} else {
			missing = append(missing, p)
		}
	}
	slices.Sort(contributed)
	slices.Sort(missing)
	return contributed, missing
}
