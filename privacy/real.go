package privacy

import (
	"errors"
	"fmt"
	"math"
)

// realNumbers is the length of the vectors of RealTrials: twenty of the widest runs.
const realNumbers = 20 * widestRun

// RealTrials holds every mechanism that may be released, as studies release it: calibrated to ε = 1
// (and δ = 10⁻⁶ if it takes one), on 240 numbers. The neighbours use the whole bound; where it
// allows, all numbers move.
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
	urn.Draws /= 16 // the first of many draws have the law of fewer draws, which take less time

	const threeClasses = "80 sets of three classes, one label moved"
	trials := []Trial{
		{Mechanism: made(mechanismOr(CalibrateLaplace(bin, 1))), Pair: "240 bins, one record moved",
			Bound: bin, Data: from(100, func(j int) int64 { return map[int]int64{0: -1, n - 1: 1}[j] })},
		{Mechanism: made(mechanismOr(CalibrateKNorm(sums, n, 1))), Pair: "240 sums of features, all moved",
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
		{Mechanism: made(mechanismOr(CalibrateResponse(3, 1))), Pair: "240 labels, one turned round",
			Bound: Bound{Unit: Label, L1: 3, Cells: 1}, Data: from(0, func(j int) int64 { return int64(j / (n - 1)) })},
	}
	if failed != nil {
		return nil, fmt.Errorf("calibrate real trials: %w", failed)
	}
	return claimed(trials)
}
