package study

import (
	"fmt"
	"math/rand/v2"

	"caucus/aggregation"
	"caucus/privacy"
)

// summed is the task of a kind whose contributions are shares of one statistic,
// integers that add up: the parties or the coordinator release it, and all else
// follows from the sum. Shards of a sum merge exactly.
type summed struct {
	agreed
	question question
	// fresh names the public randomness that the search for λ draws.
	fresh uint64
}

// question is a statistic of the contributions: what each adds, what the sum
// releases, and what follows from the answer.
type question interface {
	// local is this party's share of the statistic, the clear integers that
	// add up over parties, with its weight in the denominator (ballots cast,
	// or records).
	local(Inputs) (vector []int64, weight int64)
	// appendClear and parseClear are the body of a contribution in clear.
	// parseClear checks everything that a valid contribution promises.
	appendClear(vector []int64, weight int64) ([]byte, error)
	parseClear(body []byte) (vector []int64, weight int64, err error)
	// cells is the length of local's vector, releasedCells that of the
	// released one.
	cells() int
	releasedCells() int
	// maxWeight is the most weight one contribution may have.
	maxWeight() int64
	// terms are what a release is made under; they follow from plan, pool and
	// the public weight of what is released. Where sites release, they do not
	// depend on the weight.
	terms(weight int64) (terms, error)
	// sensitive makes the private vector to release of a clear one (one
	// party's, or the sum).
	sensitive(vector []int64, weight int64, t terms) (privacy.Sensitive, error)
	// noise is what a release over a weight, with a number of independent
	// draws, leaves on the moments.
	noise(weight float64, draws int) (aggregation.Noise, error)
	// finish fits to the total released by a number of independent draws.
	finish(total released, rng *rand.Rand) (Result, error)
}

// released is what was published, added over the parties where each released
// its own part.
type released struct {
	Values []float64
	Weight float64
	// Draws is how many independent noises are in it: 1, or one a party.
	Draws int
}

// ask makes the release of a clear vector.
func ask(q question, vector []int64, weight int64) ([]Ask, error) {
	t, err := q.terms(weight)
	if err != nil {
		return nil, err
	}
	s, err := q.sensitive(vector, weight, t)
	if err != nil {
		return nil, err
	}
	return []Ask{{Output: t.Output, Sensitive: s, Mechanism: t.Mechanism, From: t.Matrix}}, nil
}

// statistic is for whoever asks the question itself.
func (s summed) statistic() summed { return s }

// local is a party's share of the statistic.
func (s summed) local(in Inputs) (vector []int64, weight int64) {
	in.study = s.hash
	return s.question.local(in)
}

func (s summed) Draft(in Inputs) (Draft, error) {
	vector, weight := s.local(in)
	if s.plan.Noise == NoiseCoordinator {
		return Draft{Body: func([]privacy.Published) ([]byte, error) {
			return s.question.appendClear(vector, weight)
		}}, nil
	}
	return siteDraft(s.question, vector, weight)
}

// siteDraft is the draft of a party that adds noise of its own to its share of
// the statistic.
func siteDraft(q question, vector []int64, weight int64) (Draft, error) {
	asks, err := ask(q, vector, weight)
	if err != nil {
		return Draft{}, err
	}
	return Draft{Asks: asks, Body: func(r []privacy.Published) ([]byte, error) {
		return appendPublished(weight, r[0])
	}}, nil
}

func (s summed) Reservations(int) ([]Reservation, error) {
	if s.plan.Noise == NoiseCoordinator {
		return nil, nil
	}
	t, err := s.question.terms(1)
	if err != nil {
		return nil, err
	}
	return t.reserve(s.question.releasedCells()), nil
}

// Charges: the noise of a Gaussian follows from plan and pool. That of output
// also follows from the number of ballots, but is calibrated to ε, which is what
// it is charged at.
func (s summed) Charges(weight int64) ([]Charge, error) {
	if weight < 1 {
		weight = int64(max(s.plan.Minimum, 1) * max(s.plan.Shards, 1))
	}
	t, err := s.question.terms(weight)
	if err != nil {
		return nil, err
	}
	cost, err := privacy.CostOf(t.Mechanism, t.Bound)
	if err != nil {
		return nil, err
	}
	return []Charge{t.charge(cost, atEpsilon(s.plan, cost))}, nil
}

// MaxBody: a number is at most 10 bytes, where it is released 9 and 5 for a weight
// of its own; the rest is the header of a publication.
func (s summed) MaxBody() int {
	return 14*max(s.question.cells(), s.question.releasedCells()) + 4096
}

func (s summed) NewSum() (Sum, error) {
	if s.plan.Noise == NoiseSite {
		return newReleasedSum(s.plan, s.question)
	}
	return newClearSum(s.question), nil
}

func (s summed) Finish(_ int, sum Sum, r []privacy.Published) (Result, error) {
	rng := rand.New(rand.NewPCG(s.plan.Seed, s.fresh))
	switch sum := sum.(type) {
	case *releasedSum:
		return s.question.finish(sum.released(), rng)
	case *clearSum:
		if len(r) != 1 {
			return Result{}, fmt.Errorf("finish %s: have %d releases, want 1", s.plan.Kind, len(r))
		}
		total := released{Weight: float64(sum.weight), Draws: 1, Values: r[0].Reals}
		if total.Values == nil {
			total.Values = make([]float64, len(r[0].Values))
			for i, v := range r[0].Values {
				total.Values[i] = float64(v)
			}
		}
		return s.question.finish(total, rng)
	}
	return Result{}, fmt.Errorf("finish %s: unknown sum %T", s.plan.Kind, sum)
}
