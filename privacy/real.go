package privacy

import (
	"fmt"
	"math"
)

// realNumbers is how long the vectors of RealTrials are: twenty of the widest runs.
const realNumbers = 20 * widestRun

// RealTrials are every mechanism that may be released as studies release it:
// calibrated to ε = 1 (and δ = 10⁻⁶ where it takes one), on 240 numbers. The
// neighbours use all of the bound; where it allows, all numbers move.
func RealTrials() ([]Trial, error) {
	const n = realNumbers
	budget := Budget{Epsilon: 1, Delta: 1e-6}
	zeros := func() []int64 { return make([]int64, n) }
	moved := func(by func(j int) int64) [2][]int64 {
		d := [2][]int64{zeros(), zeros()}
		for j := range n {
			d[1][j] = by(j)
		}
		return d
	}
	counts := func(classes int) [2][]int64 { // one label moved, in the last set
		d := [2][]int64{zeros(), zeros()}
		for s := range 2 {
			for j := range n {
				d[s][j] = int64(300 / classes)
			}
		}
		d[1][n-2]--
		d[1][n-1]++
		return d
	}
	weight, turned := make([]int64, n), int64(0)
	for j := range weight {
		weight[j] = []int64{1, 3}[j/2%2] // two votes a row
		turned += weight[j]
	}
	records := Bound{Unit: Record, L1: 22 << 20, L2sq: 2 << 40}
	each := int64(math.Sqrt(float64(records.L2sq) / n))
	bin := Bound{Unit: Record, L1: 2, L2sq: 2, Cells: 2}
	labels, diagnoses := CountBound(Label, 3), CountBound(Label, 30)

	one := moved(func(int) int64 { return 0 })
	one[0][0], one[1][n-1] = 1, 1

	var trials []Trial
	var failed error
	add := func(m Mechanism, err error) func(pair string, b Bound, data [2][]int64) {
		return func(pair string, b Bound, data [2][]int64) {
			if err != nil && failed == nil {
				failed = fmt.Errorf("calibrate for %s: %w", pair, err)
			}
			trials = append(trials, Trial{Mechanism: m, Pair: pair, Bound: b, Data: data})
		}
	}
	add(mechanismOr(CalibrateLaplace(bin, 1)))("240 bins, one record moved", bin, one)
	add(mechanismOr(CalibrateKNorm(records, n, 1)))("240 sums of features, all moved", records, moved(func(j int) int64 { return each }))
	add(mechanismOr(CalibrateGaussian(Bound{Unit: Party, L2sq: turned, Weight: weight}, budget)))("votes on 120 weighted rows, one ballot turned round",
		Bound{Unit: Party, L2sq: turned, Weight: weight}, moved(func(j int) int64 { return int64(1 - 2*(j%2)) }))
	add(mechanismOr(CalibrateRoundedGaussian(labels, budget)))("80 sets of three classes, one label moved", labels, counts(3))
	add(mechanismOr(CalibrateZeroSumLaplace(labels, 1)))("80 sets of three classes, one label moved", labels, counts(3))
	add(mechanismOr(CalibrateLaplacePrior(labels, 1, 3, 300)))("80 sets of three classes, one label moved", labels, counts(3))
	urn, err := CalibrateDirichlet(diagnoses, budget, 30, 300)
	urn.Draws /= 16 // the first of many draws have the law of fewer, and take less time
	add(urn, err)("8 sets of thirty classes, one label moved", diagnoses, counts(30))
	add(mechanismOr(CalibrateResponse(3, 1)))("240 labels, one turned round", Bound{Unit: Label, L1: 3, Cells: 1}, moved(func(j int) int64 { return int64(j / (n - 1)) }))
	if failed != nil {
		return nil, failed
	}
	return claimed(trials)
}
