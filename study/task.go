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

// Task is a plan with its pool: all that both imply is computed when it is made,
// once, so whoever works on a study makes one and keeps it. It is safe for
// concurrent use, and keeps nothing of what it is called with: a task made again after
// a crash gives the same answers.
//
// A party calls Charges, Reservations and Work, and has its ledger charged, before any
// record is read; then Contribute once, Settle with what that requests, and Body. Of an
// aggregator NewSum's Check decides on receipt; once the study is sealed, every body is
// added, Conclude settles what the sum requests, and Finish makes the result. Readers of
// the release call Charges and Finish, or Recompute, again.
//
// Errors of Charges, Reservations, Work and NewSum follow from plan, pool and public numbers, so
// they come before anything is charged. No error depends on a record.
type Task interface {
	Plan() Plan
	// Hash is the plan's.
	Hash() Hash
	Pool() *auxdata.Pool
	// Words are the plan's.
	Words() Words
	// Charges are what the plan's releases cost, never below it, wherever the
	// noise is added, for a public weight of contributions (ballots or records);
	// 0 is before that is known. They follow from plan and pool alone.
	Charges(weight int64) ([]Charge, error)
	// Reservations are what Contribute is going to request of exactly so many records;
	// none where the party itself releases nothing. What it requests beyond them, or
	// on other terms, is charged again or is privacy.ErrConflict.
	Reservations(records int) ([]Reservation, error)
	// Work bounds what Contribute takes for so many records, whatever they say, in
	// steps of learners.Reference: an agent fixes by it when it speaks. Of a plan that
	// lets parties choose a classifier (Voter) the choice is left out: who brings it
	// bounds it.
	Work(records int) (Work, error)
	// Contribute says what a party contributes. It never fails because of the
	// records: too few of them, a missing class or a learner that fails give
	// a valid, constant contribution. Nothing is durable, charged or noised yet.
	Contribute(Inputs) (Contribution, error)
	// MaxBody bounds the size of a body in bytes, whatever records say: a
	// coordinator reads no more of one.
	MaxBody() int
	// NewSum is an empty sum. A Keeper has none: ErrKept.
	NewSum() (Sum, error)
	// Finish makes the result of contributions once what their sum requests was
	// released, in the order of the requests. All of it is post-processing, and gives
	// the same bytes again. It refuses a weight that so many contributions cannot have.
	// That of a Keeper walks the bodies, which may be too large for memory together.
	Finish(s Summed, released []privacy.Published) (Result, error)
}

// Recomputer is a task whose result a reader cannot make again by Finish alone:
// it was fitted to what readers do not get, or names fitted numbers by a digest.
type Recomputer interface {
	// Recompute is Finish with the help of what a release claims. Of that it takes
	// no more than it must, each number at the place and in the shape that it must
	// have, so that nothing else fits in; unseen says in words which, "" if none.
	Recompute(s Summed, released []privacy.Published, claimed Result) (made Result, unseen string, err error)
}

// ErrNoForecast: a mechanism that perturbs solutions leaves no noise on moments.
var ErrNoForecast = errors.New("there is no forecast for this mechanism")

// ShareForecaster is a task that tells class shares of sets.
type ShareForecaster interface {
	// ShareError is how far noise moves a class share of a set on average, before
	// projection, and what that means in words, "" where it is little.
	ShareError() (off float64, warning string, err error)
}

// NoiseForecaster is a task whose numbers are released as they are, so that what noise
// does to each is known beforehand.
type NoiseForecaster interface {
	// ForecastNoise says so in words, from public inputs alone; warning says why that
	// is too much, "" where it is not.
	ForecastNoise(Size) (words, warning string, err error)
}

// Agreed is what every task is about: a kind's task has it inside.
type Agreed struct {
	plan  Plan
	pool  *auxdata.Pool
	hash  Hash // of the plan
	words Words
}

// Agree is the part of a task that all kinds share, of a plan that was checked.
func Agree(k Kind, p Plan, pool *auxdata.Pool) Agreed {
	canonical, err := p.Canonical()
	if err != nil { // it was checked
		panic(err)
	}
	return Agreed{p, pool, HashOf(canonical), k.Words(p)}
}

// Plan, Hash, Pool and Words: see Task.
func (a Agreed) Plan() Plan          { return a.plan }
func (a Agreed) Hash() Hash          { return a.hash }
func (a Agreed) Pool() *auxdata.Pool { return a.pool }
func (a Agreed) Words() Words        { return a.words }

// CommonWork bounds what every kind does to so many records: it reads them, asks the
// plan's condition of each, maps them, and works on the pool.
//
// The bounds are of the code: sums (cross, means, entropy, embeddings, counts,
// labels) are one pass in which each record costs the same, whatever it holds;
// what a classifier may cost is learners.Work. logistic's search ends at its
// iterations (aggregation.SolveSurely) in practice and after a public number of
// steps in any case; the bound counts the former.
func (a Agreed) CommonWork(records int) float64 {
	n, columns := float64(records), float64(a.plan.Schema.Dim())
	dim, rows, classes := float64(a.plan.Map.Dim()), float64(a.pool.Rows()), float64(len(a.plan.Schema.Classes()))
	return n*(columns*CellSteps+a.plan.whereSteps()+3*keySteps+MapSteps(a.plan.Map)) + rows*dim*(dim+classes)*4
}

// contributionForm counts the ways in which contributions are written. A party refuses a plan
// of another one before it is charged: its terms are others.
const contributionForm = 2

// TermsDigest digests what a task's releases are made under: outputs, bounds,
// mechanisms, their parameters and matrices, as this machine computes them from
// plan and pool, and how contributions are written. Some follow from floating-point sums over the pool, which two kinds of
// processor may round differently.
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

// CheckTerms refuses a plan that was made under other terms than this machine
// computes: what is released here would not be accepted there. Call it before
// anything is charged.
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
