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

// Ending says when a study seals or fails. A plan names the first one, and
// amendments may change it while the study runs.
//
// Proof note: an ending is nothing that a bound, a noise, a charge or δ rests on.
//   - A task is made of the plan and its pool, never of an ending: noise, charges,
//     what leaves a party and the forecast's inputs are the same under every ending
//     that the plan allows. What a release costs is the same for every number of
//     contributions (Charges), so also for fewer.
//   - δ may be as large as one over ten times the units that are publicly known to
//     be in the study (MostDelta): fewer units allow a larger δ. They are counted at the
//     plan's own minimum, and an amendment may only lower that; so δ is small enough
//     for every ending, and would not be if units were counted at the floor. What a
//     party's policy asks of a minimum it asks of the floor (Plan.LeastParties): a
//     small study hides less of who is in it.
//   - M is fixed when the study seals, before noise, and a study that is sealed is
//     not amended. Who contributed when is public, so nothing that decides an ending
//     is a function of records: amendments, closing and sealing by rule look at
//     receipts alone.
//   - Whatever ends a study, its plan's hash names the release in every ledger, so
//     all endings of it have one charge and one answer between them.
//
// TestEndingsMoveNoTerms would catch it.
type Ending struct {
	// Deadline is when the study seals, or fails below the minimum.
	Deadline time.Time `json:"deadline"`
	// Minimum is the least number of contributions that may seal it.
	Minimum int `json:"minimum"`
	// Seal says when it seals before its deadline; nil: when all have contributed.
	Seal *SealRule `json:"seal,omitempty"`
}

// longestQuiet bounds a rule's quiet time, in seconds.
const longestQuiet = 30 * 24 * 3600

// check refuses a rule that says nothing; field is where it stands.
func (r *SealRule) check(field string) error {
	switch {
	case r == nil:
		return nil
	case !(r.Share > 0 && r.Share <= 1):
		return PlanError(field+".share", "%v is not in (0,1]: give the share of the roster that has to have contributed, such as 0.95", r.Share)
	case r.QuietSeconds < 0 || r.QuietSeconds > longestQuiet:
		return PlanError(field+".quiet_seconds", "%d is not between 0 and %d", r.QuietSeconds, longestQuiet)
	}
	return nil
}

// Quiet is QuietSeconds as a duration; 0 of no rule.
func (r *SealRule) Quiet() time.Duration {
	if r == nil {
		return 0
	}
	return time.Duration(r.QuietSeconds) * time.Second
}

// Enough is how many contributions of a roster an ending seals at before its
// deadline. A share is a decimal that a person wrote, so what is a whole number of
// parties but for rounding is that number.
func (e Ending) Enough(roster int) int {
	if e.Seal == nil {
		return roster
	}
	return min(roster, max(e.Minimum, int(math.Ceil(e.Seal.Share*float64(roster)-1e-9))))
}

// Words say when it ends.
func (e Ending) Words(roster int) string {
	s := fmt.Sprintf("seals on %s", e.Deadline.UTC().Format(time.RFC3339))
	switch {
	case e.Seal == nil:
		s += ", or when all have contributed"
	case e.Seal.QuietSeconds > 0:
		s += fmt.Sprintf(", or when %d of %d have contributed and nobody more came for %v", e.Enough(roster), roster, e.Seal.Quiet())
	default:
		s += fmt.Sprintf(", or when %d of %d have contributed", e.Enough(roster), roster)
	}
	return s + fmt.Sprintf("; at least %d must", e.Minimum)
}

// equal says whether two endings are the same.
func (e Ending) equal(o Ending) bool {
	same := e.Seal == nil && o.Seal == nil || e.Seal != nil && o.Seal != nil && *e.Seal == *o.Seal
	return same && e.Minimum == o.Minimum && e.Deadline.Equal(o.Deadline)
}

// Ending is the plan's own.
func (p Plan) Ending() Ending { return Ending{Deadline: p.Deadline, Minimum: p.Minimum, Seal: p.Seal} }

// LeastParties is the fewest contributions that may ever seal the study, whatever
// amends it.
func (p Plan) LeastParties() int {
	if p.Floor > 0 {
		return p.Floor
	}
	return p.Minimum
}

// checkEnding refuses an ending that the plan does not allow.
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

// Amendment changes a study's ending and nothing else. Amendments form a chain on
// the plan, whose hash stays the study's name: each names the bytes before it.
type Amendment struct {
	Plan Hash `json:"plan"`
	// Number counts from 1. Previous is the digest of the amendment before, the
	// plan's hash in the first.
	Number   int    `json:"number"`
	Previous Hash   `json:"previous"`
	Ending   Ending `json:"ending"`
	// Reopens: the study had failed, and takes contributions again.
	Reopens bool `json:"reopens,omitempty"`
	// At is when it was made, by the coordinator's clock.
	At time.Time `json:"at"`
	// Ledger is how far the coordinator's ledger was: whoever holds an amendment can
	// tell if it ever goes back.
	Ledger privacy.Head `json:"ledger"`
}

// DecodeAmendment reads an amendment's bytes strictly.
func DecodeAmendment(document []byte) (Amendment, error) {
	var a Amendment
	if err := DecodeStrictly(document, &a); err != nil {
		return a, fmt.Errorf("%w: %v", ErrAmendment, err)
	}
	canonical, err := json.Marshal(a)
	if err != nil || string(canonical) != string(document) {
		return a, fmt.Errorf("%w: it is not written in the canonical way", ErrAmendment)
	}
	return a, nil
}

// Chain is a plan's amendments, oldest first, each checked against the one before.
type Chain struct {
	plan   Plan
	hash   Hash
	last   Hash
	ending Ending
	all    []Amendment
	bytes  [][]byte
}

// NewChain is a plan without amendments.
func NewChain(p Plan, h Hash) *Chain { return &Chain{plan: p, hash: h, last: h, ending: p.Ending()} }

// ChainOf is a plan with these amendments, whose signatures are the caller's to check.
func ChainOf(p Plan, h Hash, documents [][]byte) (*Chain, error) {
	c := NewChain(p, h)
	for _, d := range documents {
		if _, err := c.Add(d); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Add appends an amendment. It refuses one that is not the next of this plan, or that
// changes what the plan does not allow.
func (c *Chain) Add(document []byte) (Amendment, error) {
	a, err := DecodeAmendment(document)
	switch {
	case err != nil:
		return a, err
	case a.Plan != c.hash:
		return a, fmt.Errorf("%w: it is for plan %s, the study is %s", ErrAmendment, a.Plan, c.hash)
	case a.Number != len(c.all)+1 || a.Previous != c.last:
		return a, fmt.Errorf("%w: it is number %d after %s, number %d after %s comes next", ErrAmendment, a.Number, a.Previous, len(c.all)+1, c.last)
	case a.Number > MaxAmendments:
		return a, fmt.Errorf("%w: a study is amended at most %d times: make a new plan", ErrAmendment, MaxAmendments)
	}
	if err := c.plan.checkEnding(a.Ending); err != nil {
		return a, fmt.Errorf("%w: %w", ErrAmendment, err)
	}
	c.all, c.bytes = append(c.all, a), append(c.bytes, document)
	c.last, c.ending = Hash(sha256.Sum256(document)), a.Ending
	return a, nil
}

// MaxAmendments bounds a chain: all of it travels with a study.
const MaxAmendments = 64

// Next is the amendment that would come next; the caller adds it once it is signed.
func (c *Chain) Next(e Ending, reopens bool, at time.Time, ledger privacy.Head) ([]byte, error) {
	e.Deadline = e.Deadline.UTC().Truncate(time.Second)
	if !reopens && e.equal(c.ending) {
		return nil, fmt.Errorf("%w: it changes nothing: give another deadline, minimum or share", ErrAmendment)
	}
	return json.Marshal(Amendment{
		Plan: c.hash, Number: len(c.all) + 1, Previous: c.last, Ending: e, Reopens: reopens, At: at.UTC().Truncate(time.Second), Ledger: ledger,
	})
}

// Ending is the one in force.
func (c *Chain) Ending() Ending { return c.ending }

// Amendments are all, oldest first.
func (c *Chain) Amendments() []Amendment { return c.all }

// Documents are the bytes of all, oldest first.
func (c *Chain) Documents() [][]byte { return c.bytes }

// Len is how many there are.
func (c *Chain) Len() int { return len(c.all) }

// Extends says whether this chain is another one, with or without more added to it.
func (c *Chain) Extends(o *Chain) bool {
	if c.hash != o.hash || len(c.bytes) < len(o.bytes) {
		return false
	}
	for i, d := range o.bytes {
		if string(c.bytes[i]) != string(d) {
			return false
		}
	}
	return true
}

// Changes say in words, one a line, what amendments changed after the first from.
func (c *Chain) Changes(from int) (lines []string) {
	before := c.plan.Ending()
	for i, a := range c.all {
		if i >= from {
			what := "amended"
			if a.Reopens {
				what = "reopened"
			}
			lines = append(lines, fmt.Sprintf("%s on %s: %s (before: %s)", what, a.At.Format(time.RFC3339), a.Ending.Words(len(c.plan.Roster)), before.Words(len(c.plan.Roster))))
		}
		before = a.Ending
	}
	return lines
}
