package study

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"caucus/auxdata"
	"caucus/privacy"
)

// Task is a plan with its pool, and everything that follows from both, computed once when the task is
// made; so make one per study and keep it. It is safe for concurrent use and keeps no state from calls:
// a task made again after a crash gives the same answers.
//
// A party calls Charges, Reservations and Work and has its ledger charged before it reads any record;
// then Contribute once, Settle with the requests, and Body. An aggregator checks each body on receipt
// with NewSum's Check. After sealing it adds every body; Conclude releases what the sum requests, and
// Finish makes the result. Readers of a release call Charges, and Finish or Recompute, again.
//
// Errors of Charges, Reservations, Work and NewSum follow from plan, pool and public numbers, so they
// come before any charge. No error depends on a record.
type Task interface {
	Plan() Plan
	Hash() Hash
	Pool() *auxdata.Pool
	Words() Words
	// Charges bound the releases' costs, wherever noise is added, for a public weight of
	// contributions (ballots or records; 0: not yet known). They follow from plan and pool alone.
	Charges(weight int64) ([]Charge, error)
	// Reservations are the requests that Contribute will make for exactly this many records; none
	// if the party releases nothing itself. A request beyond them or on other terms is charged
	// again, or fails with privacy.ErrConflict.
	Reservations(records int) ([]Reservation, error)
	// Work bounds the steps (learners.Reference) of Contribute for this many records, whatever
	// their values; an agent times its answer by it. It excludes a classifier that a party chooses
	// (Voter), which the party bounds itself.
	Work(records int) (Work, error)
	// Contribute makes a party's contribution. Records never make it fail: too few, a missing class or a
	// failing learner give a valid, constant one. Nothing is stored, charged or noised yet.
	Contribute(Inputs) (Contribution, error)
	MaxBody() int         // bounds a body's bytes, whatever the records; a coordinator reads no more
	NewSum() (Sum, error) // an empty sum; a Keeper returns ErrKept
	// Finish makes the result after the sum's requests were released, given in their order. It is
	// post-processing, and deterministic to the byte. It refuses a weight that the number of
	// contributions rules out. A Keeper's Finish streams the bodies, which may exceed memory.
	Finish(s Summed, released []privacy.Published) (Result, error)
}

// Recomputer is a task whose result Finish alone cannot remake for readers: it was fitted to data
// that they don't get, or gives fitted numbers only by a digest.
type Recomputer interface {
	// Recompute is Finish with help from a release's claimed result. It copies as little of it as
	// it can, each number in its required place and shape, so that nothing else can hide there.
	// unseen describes what it copied unchecked, "" if nothing.
	Recompute(s Summed, released []privacy.Published, claimed Result) (made Result, unseen string, err error)
}

// ErrNoForecast: a mechanism that perturbs solutions leaves no noise on moments.
var ErrNoForecast = errors.New("there is no forecast for this mechanism")

// ShareForecaster is a task that estimates class shares of sets.
type ShareForecaster interface {
	// ShareError is the mean error of a set's class share by noise, before projection; warning: too
	// large.
	ShareError() (off float64, warning string, err error)
}

// NoiseForecaster is a task whose numbers are released as they are, so their noise is known beforehand.
type NoiseForecaster interface {
	// ForecastNoise follows from public inputs alone; warning says why noise is too large, or is "".
	ForecastNoise(Size) (words, warning string, err error)
}

// Agreed is the common part that a kind's task embeds.
type Agreed struct {
	plan  Plan
	pool  *auxdata.Pool
	hash  Hash // of the plan
	words Words
}

// Agree makes the common part of a task of a checked plan.
func Agree(k Kind, p Plan, pool *auxdata.Pool) Agreed {
	canonical, err := p.Canonical()
	if err != nil { // checked earlier
		panic(err)
	}
	return Agreed{p, pool, HashOf(canonical), k.Words(p)}
}

// Plan, Hash, Pool and Words: see Task.
func (a Agreed) Plan() Plan          { return a.plan }
func (a Agreed) Hash() Hash          { return a.hash }
func (a Agreed) Pool() *auxdata.Pool { return a.pool }
func (a Agreed) Words() Words        { return a.words }

// CommonWork bounds the work of every kind: it decodes this many records, checks the plan's condition
// on each, maps them, and works on the pool.
//
// The bounds describe the code. Sums (cross, means, entropy, embeddings, counts, labels) take one
// pass in which each record costs the same, whatever its values; learners.Work bounds classifiers.
// The search of logistic ends in practice at its iterations (aggregation.SolveSurely), which the
// bound counts, and always after a public number of steps.
func (a Agreed) CommonWork(records int) float64 {
	n, columns := float64(records), float64(a.plan.Schema.Dim())
	dim, rows, classes := float64(a.plan.Map.Dim()), float64(a.pool.Rows()), float64(len(a.plan.Schema.Classes()))
	return n*(columns*columnSteps+a.plan.whereSteps()+3*keySteps+MapSteps(a.plan.Map)) + rows*dim*(dim+classes)*4
}

// contributionForm is the version of the contribution format. It enters the terms digest, so a
// party refuses a plan of another version before it is charged.
const contributionForm = 2

// TermsDigest digests a task's release terms as this machine computes them from plan and pool (outputs,
// bounds, mechanisms, parameters, matrices), and the contribution format. Some terms follow from
// floating-point sums over the pool, which two kinds of processor may round differently.
func TermsDigest(t Task) (string, error) {
	charges, err := t.Charges(0)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "contributions of form %d\n", contributionForm)
	for _, c := range charges {
		b, err := json.Marshal([]any{c.Output, c.Mechanism, c.Parameters, c.Bound, c.Matrix})
		if err != nil {
			return "", fmt.Errorf("digest terms: %w", err)
		}
		h.Write(append(b, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// CheckTerms refuses a plan whose release terms differ from those this machine computes: other
// parties would reject its releases. Call it before anything is charged.
func CheckTerms(t Task) error {
	terms, err := TermsDigest(t)
	if err != nil {
		return err
	}
	if terms != t.Plan().TermsDigest {
		return PlanError("terms", "this machine computes another bound or noise from plan and pool than the plan was made with: another version, or a processor that rounds differently; run the same version on the same kind of processor")
	}
	return nil
}
