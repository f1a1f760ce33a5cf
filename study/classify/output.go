package classify

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// output is the statistic of the mechanisms that perturb a solution: output (may be released),
// output-paper and majority (simulation only).
//
// Proof note for output. No proof covers output-paper and majority in floating point.
//
//   - Neighbours: replace one unit of the plan, which moves ballotsMoved ballots. Public: plan,
//     pool, λ, the number of ballots, the lattice.
//   - Lemma: see below.
//   - Numeric model: the solver works in floating point and stops at a gradient norm that bounds
//     its distance from the exact minimiser. The bound includes that distance and the rounding to
//     the lattice. A failed search, impossible in exact arithmetic, gives zeros.
//   - The caller guarantees what the note of type votes says, and that rows have norm at most 1
//     (auxdata).
//
// The risk is λ-strongly convex in the weights W. So if one unit moves its gradient by at most g
// everywhere, the unit moves the minimiser by at most Δ = g/λ (Hamm, Cao & Belkin 2016, Lemma 2).
// Let k be the number of columns of W that a vote changes: 1 for two classes (W has one column),
// else 2, because the vote leaves one column and enters another. One of M ballots moves the
// gradient by at most
//
//   - for output: √k·r/M, where r = aggregation.BallotReach. For the logistic loss ℓ(z)−ℓ(−z) = −z,
//     so only the moments move.
//   - for output-paper, and output with bound "paper": 2·√k/M, because the loss is √k-Lipschitz in
//     W for rows of norm ≤ 1.
//   - for majority: 2·√k, without 1/M, because it replaces the vote shares with the winner's label,
//     and one ballot can flip that label on every row at once (the paper's negative result).
//
// output rounds the minimiser to a lattice of public width γ ≈ Δ/2²⁰, a power of 2. The solver
// stops at a gradient norm of at most τ = outputTolerance, which adds 2τ/λ to Δ, and rounding adds
// √p, where p is the number of weights. So the integer vector moves by at most Δ₂ = (Δ+2τ/λ)/γ + √p
// in L2 and √p·Δ₂ in L1.
type output struct {
	votes
	mechanism string
	reach     float64
}

const outputTolerance = 1e-7

func newOutput(mechanism string) func(study.Plan, *auxdata.Pool) (bodies.Statistic, error) {
	return func(p study.Plan, pool *auxdata.Pool) (bodies.Statistic, error) {
		v := votes{plan: p, terms: TermsOf(p), pool: pool, classes: len(p.Schema.Classes())}
		return &output{votes: v, mechanism: mechanism,
			reach: aggregation.BallotReach(pool.X, pool.Weight)}, nil
	}
}

func (o *output) ReleasedCells() int { return o.pool.Dim() * learners.WeightColumns(o.classes) }

// lambda returns the plan's λ or, if the plan has none, the λ at which the noise has an expected
// norm of 10, about the norm of a useful solution. The rule is public.
func (o *output) lambda(ballots int64) float64 {
	if o.plan.Lambda > 0 {
		return o.plan.Lambda
	}
	sensitivity := o.sensitivityTimesLambda(ballots)
	return math.Max(bodies.MinSolvedRidge,
		float64(o.ReleasedCells())*sensitivity/(10*o.plan.Epsilon))
}

func (o *output) sensitivityTimesLambda(ballots int64) float64 {
	k := 1.0
	if o.classes > 2 {
		k = math.Sqrt2
	}
	s := 2 * k
	if o.terms.Bound != "paper" && o.mechanism == "output" {
		s = k * o.reach
	}
	if o.mechanism != "majority" {
		s /= float64(ballots)
	}
	return s * float64(o.ballotsMoved())
}

func (o *output) lattice(ballots int64) (gamma, moves float64) {
	lambda := o.lambda(ballots)
	delta := o.sensitivityTimesLambda(ballots)/lambda + 2*outputTolerance/lambda
	gamma = math.Exp2(math.Round(math.Log2(delta)) - 20)
	p := float64(o.ReleasedCells())
	return gamma, (delta/gamma + math.Sqrt(p)) * (1 + 1e-9)
}

func (o *output) Terms(ballots int64) (study.ReleaseTerms, error) {
	if ballots < 1 {
		return study.ReleaseTerms{}, fmt.Errorf("release a solution: no ballots were cast")
	}
	t := study.ReleaseTerms{Output: o.mechanism, Bound: privacy.Bound{Unit: o.plan.Unit}}
	if o.mechanism != "output" {
		rate := o.plan.Epsilon * o.lambda(ballots) / o.sensitivityTimesLambda(ballots)
		t.Mechanism = privacy.SphereLaplace{Rate: rate}
		return t, nil
	}
	_, moves := o.lattice(ballots)
	t.Bound.L1 = int64(math.Ceil(math.Sqrt(float64(o.ReleasedCells())) * moves))
	t.Bound.L2sq = study.SquareL2(int64(math.Ceil(moves)))
	var err error
	t.Mechanism, err = privacy.CalibratePure(t.Bound, o.ReleasedCells(), o.plan.Epsilon)
	return t, err
}

func (o *output) Sensitive(vector []int64, ballots int64, t study.ReleaseTerms) (privacy.Sensitive,
	error) {
	n, columns := o.pool.Rows(), learners.WeightColumns(o.classes)
	counts := make([]float64, len(vector))
	for i, v := range vector {
		counts[i] = float64(v)
	}
	shares := aggregation.SharesOf(counts, n, o.classes, float64(ballots))
	if o.mechanism == "majority" {
		shares = hardShares(o.tally(vector, ballots), columns)
	}
	mu := learners.TargetMoments(o.pool.X, shares, o.pool.Weight)
	w, err := aggregation.MinimiseVoteRisk(o.pool.X, o.pool.Weight, o.classes, mu,
		o.lambda(ballots),
		outputTolerance)
	if err != nil {
		// Impossible in exact arithmetic (see MinimiseVoteRisk). Release a constant, because a
		// refusal, or a solution at an unknown distance from the minimiser, could reveal votes.
		w = mat.NewDense(o.pool.Dim(), columns, nil)
	}
	raw := w.RawMatrix().Data
	if o.mechanism != "output" {
		return privacy.NewUnprovenVector(raw, o.plan.Unit), nil
	}
	gamma, _ := o.lattice(ballots)
	z := make([]int64, len(raw))
	for i, v := range raw {
		z[i] = int64(math.Round(v / gamma))
	}
	return privacy.NewSensitive(z, t.Bound)
}

// hardShares gives all votes of a row to the class with the most, the lowest class in a tie.
func hardShares(t *aggregation.Tally, columns int) *mat.Dense {
	s := mat.NewDense(t.Rows(), columns, nil)
	for i := range t.Rows() {
		best := 0
		for k := range t.Classes() {
			if t.Count(i, k) > t.Count(i, best) {
				best = k
			}
		}
		if columns > 1 {
			s.Set(i, best, 1)
		} else if best == 1 {
			s.Set(i, 0, 1)
		}
	}
	return s
}

// SolvedRidge returns the ridge λ of a mechanism that adds noise to a solution, and the width of
// the lattice on which the solution is released, 1 without a lattice. It returns false for other
// mechanisms.
func (t Task) SolvedRidge(ballots int64) (lambda, width float64, ok bool) {
	o, ok := t.Statistic.(*output)
	if !ok {
		return 0, 0, false
	}
	width = 1
	if o.mechanism == "output" {
		width, _ = o.lattice(ballots)
	}
	return o.lambda(ballots), width, true
}
