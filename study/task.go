package study

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/privacy"
)

// Task is a plan with its pool: all that both imply is computed when it is made,
// once, so whoever works on a study makes one and keeps it. It is safe for
// concurrent use.
type Task interface {
	Plan() Plan
	// Hash is the plan's.
	Hash() Hash
	Pool() *auxdata.Pool
	// Charges are what the plan's releases cost, never below it, wherever the
	// noise is added, for a public weight of contributions (ballots or records);
	// 0 is before that is known. They follow from plan and pool alone.
	Charges(weight int64) ([]Charge, error)
	// Reservations are what Draft is going to ask of exactly so many records;
	// none where the party itself releases nothing.
	Reservations(records int) ([]Reservation, error)
	// Work bounds what Draft takes for so many records, whatever they say.
	Work(records int) (Work, error)
	// Draft says what a party contributes. It never fails because of the
	// records: too few of them, a missing class or a learner that fails give
	// a valid, constant contribution.
	Draft(Inputs) (Draft, error)
	// MaxBody bounds the size of a body in bytes.
	MaxBody() int
	// NewSum is an empty sum.
	NewSum() (Sum, error)
	// Finish makes the result of a sum of m contributions whose asks were
	// released. All of it is post-processing.
	Finish(m int, sum Sum, released []privacy.Published) (Result, error)
}

// forecaster is a task whose noise is noise on the moments of a classifier.
type forecaster interface {
	// forecastNoise is what a study of that size leaves on the moments; told is
	// what a release tells of moments without noise, nil where that is they.
	forecastNoise(Size) (noise aggregation.Noise, told func(*mat.Dense) *mat.Dense, err error)
}

// NewTask makes the task of a plan, which Check has passed, on its pool.
func NewTask(p Plan, pool *auxdata.Pool) (Task, error) {
	kind, err := KindNamed(p.Kind)
	if err != nil {
		return nil, err
	}
	if pool.Digest != p.Pool {
		return nil, fmt.Errorf("%w: the plan is about pool %s, this is pool %s", ErrContribution, p.Pool, pool.Digest)
	}
	return kind.New(p, pool)
}

// agreed is what every task is about.
type agreed struct {
	plan Plan
	pool *auxdata.Pool
	hash Hash // of the plan
}

func agree(p Plan, pool *auxdata.Pool) agreed {
	canonical, err := p.Canonical()
	if err != nil { // it was checked
		panic(err)
	}
	return agreed{p, pool, HashOf(canonical)}
}

func (a agreed) Plan() Plan          { return a.plan }
func (a agreed) Hash() Hash          { return a.hash }
func (a agreed) Pool() *auxdata.Pool { return a.pool }
