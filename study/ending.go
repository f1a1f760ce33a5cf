package study

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"caucus/privacy"
)

// Ending says when a study seals or fails. The plan gives the first ending, and amendments change
// it.
//
// Proof note: no sensitivity bound, noise, charge or δ depends on the ending.
//   - A task follows from plan and pool alone. So noise, charges and contributions are the same
//     under every ending that the plan allows. A release costs the same for every number of
//     contributions (Charges).
//   - δ is at most 1/(10n) for n units that are publicly known to be in the study (MaxDelta). n is
//     counted at the plan's minimum, the largest minimum of any ending, because amendments only
//     lower the minimum. They cannot lower it below the floor (Plan.Floor), where n would be
//     smaller and δ could be larger. A party's policy on the minimum applies to the floor, because
//     a small study hides less about who is in it.
//   - The number of contributions M is fixed when the study seals, before noise, and a sealed study
//     is never amended. Amending, closing and sealing by rule depend only on receipts, which are
//     public, so no ending depends on records.
//   - All endings share one charge and one answer, because the plan's hash names the release in
//     every ledger.
//
// TestEndingsMoveNoTerms checks this.
type Ending struct {
	Deadline time.Time `json:"deadline"` // when the study seals, or fails below Minimum
	Minimum  int       `json:"minimum"`
	// rule to seal early; nil: early only when all parties have contributed
	Seal *SealRule `json:"seal,omitempty"`
}

const longestQuiet = 30 * 24 * 3600 // in seconds

// check refuses an invalid rule; field is the rule's path in the plan.
func (s *SealRule) check(field string) error {
	switch {
	case s == nil:
		return nil
	case !(s.Share > 0 && s.Share <= 1):
		return PlanError(field+".share", "%v is not in (0,1]: give the share of the roster that has to have contributed, such as 0.95", s.Share)
	case s.QuietSeconds < 0 || s.QuietSeconds > longestQuiet:
		return PlanError(field+".quiet_seconds", "%d is not between 0 and %d", s.QuietSeconds,
			longestQuiet)
	}
	return nil
}

// QuietTime returns QuietSeconds as a duration, 0 for no rule.
func (s *SealRule) QuietTime() time.Duration {
	if s == nil {
		return 0
	}
	return time.Duration(s.QuietSeconds) * time.Second
}

// SealCount returns how many contributions from a roster of this size seal the study early. Without
// the 1e-9, a rounding error could make Ceil add one.
func (e Ending) SealCount(roster int) int {
	if e.Seal == nil {
		return roster
	}
	return min(roster, max(e.Minimum, int(math.Ceil(e.Seal.Share*float64(roster)-1e-9))))
}

// Words tells a person when the study seals: deadline in UTC, seal rule for a roster of this size,
// and the minimum.
func (e Ending) Words(roster int) string {
	s := fmt.Sprintf("seals on %s", e.Deadline.UTC().Format(time.RFC3339))
	switch {
	case e.Seal == nil:
		s += ", or when all have contributed"
	case e.Seal.QuietSeconds > 0:
		s += fmt.Sprintf(", or when %d of %d have contributed and nobody more came for %v", e.SealCount(roster), roster, e.Seal.QuietTime())
	default:
		s += fmt.Sprintf(", or when %d of %d have contributed", e.SealCount(roster), roster)
	}
	return s + fmt.Sprintf("; at least %d must", e.Minimum)
}

func (e Ending) equal(o Ending) bool {
	same := e.Seal == nil && o.Seal == nil || e.Seal != nil && o.Seal != nil && *e.Seal == *o.Seal
	return same && e.Minimum == o.Minimum && e.Deadline.Equal(o.Deadline)
}

// Ending is the ending before any amendment. Chain.Ending is the one in force.
func (p Plan) Ending() Ending {
	return Ending{Deadline: p.Deadline, Minimum: p.Minimum, Seal: p.Seal}
}

// LeastParties returns the fewest contributions that can seal the study, under any amendment.
func (p Plan) LeastParties() int {
	if p.Floor > 0 {
		return p.Floor
	}
	return p.Minimum
}

func (p Plan) checkEnding(e Ending) error {
	switch {
	case e.Deadline.IsZero():
		return PlanError("deadline", "say when the study seals")
	case e.Minimum < p.LeastParties() && p.Floor == 0:
		return PlanError("minimum", "%d: the plan names no floor, so its minimum stays %d: parties agreed to it", e.Minimum, p.Minimum)
	case e.Minimum < p.LeastParties():
		return PlanError("minimum", "%d is below the plan's floor of %d: parties agreed to it", e.Minimum, p.Floor)
	case e.Minimum > p.Minimum:
		return PlanError("minimum", "%d is more than the plan's %d, at which δ was held against the units: make a new plan", e.Minimum, p.Minimum)
	}
	return e.Seal.check("seal")
}

// ErrAmendment is wrapped by every refusal of an amendment.
var ErrAmendment = errors.New("amendment refused")

// Amendment changes a study's ending. Amendments form a hash chain that starts at the plan.
type Amendment struct {
	Plan     Hash      `json:"plan"`
	Number   int       `json:"number"` // counts from 1
	Previous Hash      `json:"previous"`
	Ending   Ending    `json:"ending"`
	Reopens  bool      `json:"reopens,omitempty"` // reopens a failed study
	At       time.Time `json:"at"`
	// the head of the coordinator's ledger at that time; its holders notice if the ledger is
	// restored to an older state
	Ledger privacy.Head `json:"ledger"`
}

// DecodeAmendment reads an amendment and refuses unknown fields and non-canonical bytes.
func DecodeAmendment(document []byte) (Amendment, error) {
	var a Amendment
	if err := DecodeStrictJSON(document, &a); err != nil {
		return a, fmt.Errorf("%w: %v", ErrAmendment, err)
	}
	canonical, err := json.Marshal(a)
	if err != nil || string(canonical) != string(document) {
		return a, fmt.Errorf("%w: it is not written in the canonical way", ErrAmendment)
	}
	return a, nil
}

// AmendmentChain is a plan's amendments, oldest first, each checked against the one before.
type AmendmentChain struct {
	plan   Plan
	hash   Hash
	last   Hash
	ending Ending
	all    []Amendment
	bytes  [][]byte
}

// NewAmendmentChain starts a chain without amendments. h must be the hash of p's canonical bytes.
func NewAmendmentChain(p Plan, h Hash) *AmendmentChain {
	return &AmendmentChain{plan: p, hash: h, last: h, ending: p.Ending()}
}

// AmendmentChainOf checks amendments and chains them to a plan. The caller checks their signatures.
func AmendmentChainOf(p Plan, h Hash, documents [][]byte) (*AmendmentChain, error) {
	c := NewAmendmentChain(p, h)
	for _, d := range documents {
		if _, err := c.Add(d); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Add appends an amendment. It refuses amendments that are out of order or that the plan does not
// allow.
func (ac *AmendmentChain) Add(document []byte) (Amendment, error) {
	a, err := DecodeAmendment(document)
	switch {
	case err != nil:
		return a, err
	case a.Plan != ac.hash:
		return a, fmt.Errorf("%w: it is for plan %s, the study is %s", ErrAmendment, a.Plan,
			ac.hash)
	case a.Number != len(ac.all)+1 || a.Previous != ac.last:
		return a, fmt.Errorf("%w: it is number %d after %s, number %d after %s comes next", ErrAmendment, a.Number, a.Previous, len(ac.all)+1, ac.last)
	case a.Number > MaxAmendments:
		return a, fmt.Errorf("%w: a study is amended at most %d times: make a new plan", ErrAmendment, MaxAmendments)
	}
	if err := ac.plan.checkEnding(a.Ending); err != nil {
		return a, fmt.Errorf("%w: %w", ErrAmendment, err)
	}
	ac.all, ac.bytes = append(ac.all, a), append(ac.bytes, document)
	ac.last, ac.ending = Hash(sha256.Sum256(document)), a.Ending
	return a, nil
}

// MaxAmendments bounds a chain, because the whole chain travels with a study.
const MaxAmendments = 64

// Next makes the next amendment; the caller signs it and then adds it.
func (ac *AmendmentChain) Next(e Ending, reopens bool, at time.Time, ledger privacy.Head) ([]byte,
	error) {
	e.Deadline = e.Deadline.UTC().Truncate(time.Second)
	if !reopens && e.equal(ac.ending) {
		return nil, fmt.Errorf("%w: it changes nothing: give another deadline, minimum or share", ErrAmendment)
	}
	return json.Marshal(Amendment{
		Plan: ac.hash, Number: len(ac.all) + 1, Previous: ac.last, Ending: e, Reopens: reopens, At: at.UTC().Truncate(time.Second), Ledger: ledger,
	})
}

// Ending is the ending in force: the plan's, or the last amendment's.
func (ac *AmendmentChain) Ending() Ending { return ac.ending }

// Amendments returns the checked amendments, oldest first, none if the plan's own ending is in
// force. The slice is the chain's own.
func (ac *AmendmentChain) Amendments() []Amendment { return ac.all }

// Documents returns the amendments' bytes as signed, oldest first. The slice is the chain's own.
func (ac *AmendmentChain) Documents() [][]byte { return ac.bytes }

// Len counts amendments, at most MaxAmendments. Each document shows this number, so a party notices
// a chain that became shorter.
func (ac *AmendmentChain) Len() int { return len(ac.all) }

// Extends reports whether this chain begins with all amendments of o.
func (ac *AmendmentChain) Extends(o *AmendmentChain) bool {
	if ac.hash != o.hash || len(ac.bytes) < len(o.bytes) {
		return false
	}
	for i, d := range o.bytes {
		if string(ac.bytes[i]) != string(d) {
			return false
		}
	}
	return true
}

// Changes describes the amendments after the given number, one per line.
func (ac *AmendmentChain) Changes(from int) (lines []string) {
	before := ac.plan.Ending()
	for i, a := range ac.all {
		if i >= from {
			what := "amended"
			if a.Reopens {
				what = "reopened"
			}
			lines = append(lines,
				fmt.Sprintf("%s on %s: %s (before: %s)", what, a.At.Format(time.RFC3339),
					a.Ending.Words(len(ac.plan.Roster)), before.Words(len(ac.plan.Roster))))
		}
		before = a.Ending
	}
	return lines
}
