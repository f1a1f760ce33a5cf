package privacy

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
)

// Trial is a mechanism with its claim, and two neighbouring vectors that should reveal the most
// to an audit.
type Trial struct {
	Mechanism Mechanism
	Pair      string // describes the neighbours
	Bound     Bound
	Data      [2][]int64
	Claim     Budget // what the mechanism's proof gives under Bound
}

// Trials lists audits of every mechanism that may be released. A mechanism with cost ρ is held to
// its ε at δ = 0.01, which samples can test. At δ = 10⁻⁶ they would see nothing.
func Trials() ([]Trial, error) {
	trials := []Trial{
		{Mechanism: DiscreteLaplace{Scale: big.NewRat(1, 1)}, Pair: "one number that moves by 1",
			Bound: Bound{Unit: Record, L1: 1}, Data: [2][]int64{{0}, {1}}},
		{Mechanism: DiscreteLaplace{Scale: big.NewRat(7, 2)},
			Pair:  "two numbers that move by 2 and 1",
			Bound: Bound{Unit: Record, L1: 3}, Data: [2][]int64{{0, 0}, {2, -1}}},
		{Mechanism: DiscreteLaplace{Scale: big.NewRat(1, 3)},
			Pair:  "a scale below 1: few values, often exactly 0",
			Bound: Bound{Unit: Record, L1: 1}, Data: [2][]int64{{0, 5}, {1, 5}}},
		{Mechanism: KNorm{Scale: big.NewRat(5, 2), Blocks: 1},
			Pair:  "two numbers of a run that move by 2 and 1",
			Bound: Bound{Unit: Record, L2sq: 5}, Data: [2][]int64{{0, 0}, {2, -1}}},
		{Mechanism: KNorm{Scale: big.NewRat(3, 2), Blocks: 2},
			Pair:  "two runs of two, all four numbers move by 1",
			Bound: Bound{Unit: Party, L2sq: 4}, Data: [2][]int64{{0, 0, 0, 0}, {1, 1, 1, -1}}},
		{Mechanism: DiscreteGaussian{big.NewRat(2, 1)}, Pair: "two counts that move by 1",
			Bound: Bound{Unit: Record, L2sq: 2}, Data: [2][]int64{{1, 0}, {0, 1}}},
		{Mechanism: DiscreteGaussian{big.NewRat(10, 1)}, Pair: "weighted counts of two rows, one ballot turned round",
			Bound: Bound{Unit: Party, L2sq: 10,
				Weight: []int64{4, 4, 1, 1}}, Data: [2][]int64{{3, 2, 2, 3}, {2, 3, 3, 2}}},
		{Mechanism: DiscreteGaussian{big.NewRat(1, 4)},
			Pair:  "a variance below 1: few values, often exactly 0",
			Bound: Bound{Unit: Record, L2sq: 1}, Data: [2][]int64{{0}, {1}}},
		{Mechanism: RoundedGaussian{big.NewRat(5, 4)}, Pair: "two counts that move by 1",
			Bound: CountBound(Label, 2), Data: [2][]int64{{50, 50}, {51, 49}}},
		{Mechanism: ZeroSumLaplace{big.NewRat(2, 1)}, Pair: "three counts, one label moved",
			Bound: CountBound(Label, 3), Data: [2][]int64{{0, 1, 9}, {1, 0, 9}}},
		{Mechanism: ZeroSumLaplace{big.NewRat(4, 1)},
			Pair:  "two sets of two classes, one label moved",
			Bound: CountBound(Label, 2), Data: [2][]int64{{5, 5, 0, 7}, {5, 5, 1, 6}}},
		{Mechanism: LaplacePrior{Epsilon: big.NewRat(11, 10), Prior: 1, Draws: 2},
			Pair:  "an empty class and one label",
			Bound: CountBound(Label, 2), Data: [2][]int64{{1, 0}, {0, 1}}},
		{Mechanism: Dirichlet{Epsilon: big.NewRat(1, 1), Delta: big.NewRat(1, 100),
			Sigma: dirichletSigma(Budget{1, 0.01},
				6), Prior: 6, Draws: 64}, Pair: "an empty class and one label",
			Bound: CountBound(Label, 2), Data: [2][]int64{{1, 0}, {0, 1}}},
		{Mechanism: Dirichlet{Epsilon: big.NewRat(2, 1), Delta: big.NewRat(1, 100),
			Sigma: dirichletSigma(Budget{2, 0.01},
				2), Prior: 2, Draws: 64}, Pair: "three classes, all but one empty",
			Bound: CountBound(Label, 3), Data: [2][]int64{{1, 0, 0}, {0, 1, 0}}},
		{Mechanism: RandomisedResponse{Classes: 2, Keep: big.NewRat(731, 1000)},
			Pair:  "one label of three turned round",
			Bound: Bound{Unit: Label, L1: 1, Cells: 1}, Data: [2][]int64{{0, 1, 1}, {1, 1, 1}}},
		{Mechanism: RandomisedResponse{Classes: 4, Keep: big.NewRat(1, 2)},
			Pair:  "one label of four classes against none",
			Bound: Bound{Unit: Label, L1: 4, Cells: 1}, Data: [2][]int64{{3, 0}, {4, 0}}},
		{Mechanism: RandomisedResponse{Classes: 4, Keep: big.NewRat(1, 2)},
			Pair:  "one label of four classes turned round",
			Bound: Bound{Unit: Label, L1: 4, Cells: 1}, Data: [2][]int64{{3, 0}, {1, 0}}},
	}
	return claimed(trials)
}

// realNumbers is the length of the vectors of RealTrials: twenty of the widest runs.
const realNumbers = 20 * widestRun

// RealTrials lists every mechanism that may be released, as studies release it: calibrated to ε =
// 1 (and δ = 10⁻⁶ if it takes one), on 240 numbers. The neighbours use the whole bound; where the
// bound allows, all numbers move.
func RealTrials() ([]Trial, error) {
	const n = realNumbers
	budget := Budget{Epsilon: 1, Delta: 1e-6}
	var failed error
	made := func(m Mechanism, err error) Mechanism {
		failed = errors.Join(failed, err)
		return m
	}
	from := func(v int64, moved func(j int) int64) [2][]int64 {
		d := [2][]int64{make([]int64, n), make([]int64, n)}
		for j := range n {
			d[0][j], d[1][j] = v, v+moved(j)
		}
		return d
	}
	oneLabel := func(j int) int64 { return map[int]int64{n - 2: -1, n - 1: 1}[j] }

	bin := Bound{Unit: Record, L1: 2, L2sq: 2, Cells: 2}
	sums := Bound{Unit: Record, L1: 22 << 20, L2sq: 2 << 40}
	each := int64(math.Sqrt(float64(sums.L2sq) / n))
	ballot := Bound{Unit: Party}
	for j := range n {
		w := []int64{1, 3}[j/2%2] // two votes a row
		ballot.Weight, ballot.L2sq = append(ballot.Weight, w), ballot.L2sq+w
	}
	labels, diagnoses := CountBound(Label, 3), CountBound(Label, 30)
	urn, err := CalibrateDirichlet(diagnoses, budget, 30, 300)
	urn.Draws /= 16 // fewer draws take less time, and the first of many draws have the same law

	const threeClasses = "80 sets of three classes, one label moved"
	trials := []Trial{
		{Mechanism: made(mechanismOr(CalibrateLaplace(bin, 1))), Pair: "240 bins, one record moved",
			Bound: bin, Data: from(100, func(j int) int64 {
				return map[int]int64{0: -1, n - 1: 1}[j]
			})},
		{Mechanism: made(mechanismOr(CalibrateKNorm(sums, n, 1))),
			Pair:  "240 sums of features, all moved",
			Bound: sums, Data: from(0, func(int) int64 { return each })},
		{Mechanism: made(mechanismOr(CalibrateGaussian(ballot, budget))), Pair: "votes on 120 weighted rows, one ballot turned round",
			Bound: ballot, Data: from(25, func(j int) int64 { return int64(1 - 2*(j%2)) })},
		{Mechanism: made(mechanismOr(CalibrateRoundedGaussian(labels, budget))), Pair: threeClasses,
			Bound: labels, Data: from(100, oneLabel)},
		{Mechanism: made(mechanismOr(CalibrateZeroSumLaplace(labels, 1))), Pair: threeClasses,
			Bound: labels, Data: from(100, oneLabel)},
		{Mechanism: made(mechanismOr(CalibrateLaplacePrior(labels, 1, 3, 300))), Pair: threeClasses,
			Bound: labels, Data: from(100, oneLabel)},
		{Mechanism: made(urn, err), Pair: "8 sets of thirty classes, one label moved",
			Bound: diagnoses, Data: from(10, oneLabel)},
		{Mechanism: made(mechanismOr(CalibrateResponse(3, 1))),
			Pair:  "240 labels, one turned round",
			Bound: Bound{Unit: Label, L1: 3, Cells: 1}, Data: from(0, func(j int) int64 {
				return int64(j / (n - 1))
			})},
	}
	if failed != nil {
		return nil, fmt.Errorf("calibrate real trials: %w", failed)
	}
	return claimed(trials)
}

func claimed(trials []Trial) ([]Trial, error) {
	for i := range trials {
		t := &trials[i]
		cost, err := CostOf(t.Mechanism, t.Bound)
		if err != nil {
			return nil, fmt.Errorf("audit of %s: %w", t.Mechanism.Name(), err)
		}
		t.Claim = auditClaim(cost)
	}
	return trials, nil
}

const auditDelta = 0.01

// auditClaim returns the (ε,δ) that a cost proves and samples can test: for ρ its ε at δ = 0.01.
func auditClaim(c Cost) Budget {
	if c.Pure != nil {
		epsilon, _ := c.Pure.Float64()
		return Budget{Epsilon: epsilon}
	}
	rho, _ := c.Rho.Float64()
	if c.delta().Sign() > 0 { // Dirichlet: its ρ is ε²/2
		delta, _ := c.Delta.Float64()
		return Budget{Epsilon: math.Sqrt(2 * rho), Delta: delta}
	}
	return Budget{Epsilon: EpsilonOf(rho, auditDelta), Delta: auditDelta}
}

// Draws draws as Release does, but without a ledger. bits is crypto/rand, or seeded in tests that
// repeat.
func (t Trial) Draws(bits io.Reader) func(neighbour int) []int64 {
	d := newDice(bits)
	var secrets [2]*secret
	for side, v := range t.Data {
		secrets[side] = &secret{values: slices.Clone(v), bound: t.Bound.clone()}
	}
	return func(neighbour int) []int64 {
		values, _ := t.Mechanism.draw(secrets[neighbour], d)
		return values
	}
}
