package study

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"caucus/auxdata"
	"caucus/privacy"
)

// Task is a plan with its pool and everything that follows from both, computed once. Make one for
// each study and keep it. A task is safe for concurrent use. Calls leave no state, so a task made
// again after a crash gives the same answers.
//
// Before a party reads records, it calls Charges, Reservations and Work, and its ledger is charged.
// Then it calls Contribute once, Settle with the requests, and Body. An aggregator checks each body
// on receipt with NewSum's Check. After sealing it adds all bodies, Conclude releases what the sum
// requests, and the task's Finisher makes the result. Readers call Charges, and Finish or
// Recompute, again.
//
// Errors of Charges, Reservations, Work and NewSum follow from public inputs, never from a record,
// before any charge.
type Task interface {
	Plan() Plan
	Hash() Hash
	Pool() *auxdata.Pool
	Words() Words
	// Charges bound the releases' costs, from plan and pool alone, wherever noise is added. weight
	// is the public total of ballots or records, 0 if it is not known yet.
	Charges(weight int64) ([]Charge, error)
	// Reservations announce Contribute's requests for exactly this number of records; none if
	// servers add the noise. A request that differs from them is charged again or fails with
	// privacy.ErrConflict.
	Reservations(records int) ([]Reservation, error)
	// Work bounds the work of Contribute, in steps (learners.RunReference), for this number of
	// records, whatever their values. From this bound an agent computes when its answer leaves. The
	// bound omits a party's own classifier (Voter), whose time the party limits.
	Work(records int) (Work, error)
	// Contribute makes a party's contribution. Too few records, a missing class or a failing
	// learner give a valid, constant contribution. Contribute stores and charges nothing and adds
	// no noise.
	Contribute(Inputs) (Contribution, error)
	MaxBody() int         // bounds a body's bytes for all records; a coordinator reads no more
	NewSum() (Sum, error) // an empty sum; a Keeper returns ErrNoSum
}

// Finisher is a task with the half of who releases, verifies or reads. No party needs it.
type Finisher interface {
	Task
	// Finish makes the result from the answers to the sum's requests, in their order. It is
	// post-processing and deterministic to the byte. It refuses a weight that is impossible for the
	// number of contributions. A Keeper's Finish streams the bodies, which may exceed memory.
	Finish(s Contributions, released []privacy.Published) (Result, error)
}

// Recomputer is a Finisher with a result that readers cannot compute again by Finish, because the
// fit used data that readers do not get, or because the result contains only a digest of fitted
// numbers.
type Recomputer interface {
	// Recompute is Finish with help from a release's claimed result. It copies as few numbers as
	// possible from the claim, each in its required place and shape, so that no other data can hide
	// there. unseen describes the numbers that were copied without a check, "" for none.
	Recompute(s Contributions, released []privacy.Published, claimed Result) (made Result,
		unseen string,
		err error)
}

// ErrNoForecast says that a forecast of accuracy does not cover the mechanism's noise.
var ErrNoForecast = errors.New("there is no forecast for this mechanism")

// ShareForecaster is a task that estimates class shares of sets.
type ShareForecaster interface {
	// ShareError returns the mean error that noise adds to a set's class share, before projection.
	// warning is not empty if that error is too large.
	ShareError() (off float64, warning string, err error)
}

// NoiseForecaster is a task that releases its numbers as they are but for noise, which is known
// beforehand.
type NoiseForecaster interface {
	// ForecastNoise follows from public inputs alone. warning says why the noise is too large, else
	// "".
	ForecastNoise(Size) (words, warning string, err error)
}

// Counter is a task whose output counts records in named cells.
type Counter interface {
	// Counts describes one site's output before noise: a line for each column, with its cells and
	// counts. record is the integer by which one record raises a cell of values.
	Counts(values []int64) (lines []string, record int64)
}

// TaskBase holds the common part of every task; kinds embed it.
type TaskBase struct {
	plan  Plan
	pool  *auxdata.Pool
	hash  Hash // the plan's hash
	words Words
}

// NewTaskBase makes the common part for a checked plan.
func NewTaskBase(k Kind, p Plan, pool *auxdata.Pool) TaskBase {
	canonical, err := p.Canonical()
	if err != nil { // the check has encoded the plan before
		panic(err)
	}
	return TaskBase{p, pool, HashOf(canonical), k.Words(p).AtUnit(p)}
}

// Plan is the checked plan. Its slices and maps are shared: do not change them.
func (t TaskBase) Plan() Plan { return t.plan }

// Hash is that of the plan's canonical bytes, computed once.
func (t TaskBase) Hash() Hash { return t.hash }

// Pool is the public pool that the plan names by digest, already encoded and mapped.
func (t TaskBase) Pool() *auxdata.Pool { return t.pool }

// Words explain the plan to persons and policies. They were computed once, when the task was made.
func (t TaskBase) Words() Words { return t.words }

// CommonWork bounds the work that every kind has: decode this number of records, check the plan's
// condition on each, map them, and work on the pool.
//
// Mechanisms that send sums (cross, means, entropy, embeddings, counts, labels) read each record
// once, at a cost that does not depend on its values. learners.TrainingSteps bounds classifiers.
// For mechanism logistic, the bound counts the iterations that aggregation.MinimiseVoteRisk takes
// in practice; MinimiseVoteRisk itself stops after a larger public number.
func (t TaskBase) CommonWork(records int) float64 {
	n, columns := float64(records), float64(t.plan.Schema.Dim())
	dim, rows, classes := float64(t.plan.Map.Dim()), float64(t.pool.Rows()),
		float64(len(t.plan.Schema.Classes()))
	return n*(columns*columnSteps+t.plan.whereSteps()+3*keySteps+MapSteps(t.plan.Map)) +
		rows*dim*(dim+classes)*4
}

// formBefore is the form that the terms digest names for plans without one. The digest covers the
// form, so a party refuses a plan of another version before any charge.
const formBefore = 2

// TermsDigest digests the release terms that this machine computes from plan and pool (outputs,
// bounds, mechanisms, parameters, matrices), and the contribution format. Some terms follow from
// floating-point sums over the pool, which two kinds of processor may round differently.
func TermsDigest(t Task) (string, error) {
	charges, err := t.Charges(0)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "contributions of form %d\n", cmp.Or(t.Plan().Form, formBefore))
	for _, c := range charges {
		b, err := json.Marshal([]any{c.Output, c.Mechanism, c.Parameters, c.Bound, c.MatrixDigest})
		if err != nil {
			return "", fmt.Errorf("digest terms: %w", err)
		}
		h.Write(append(b, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// CheckTerms refuses a plan if this machine computes other release terms than the plan's author,
// because other parties would reject its releases. Call it before any charge.
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
