package ratio

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
)

// WidthOptions configure SelectWidth.
type WidthOptions struct {
	Estimator string // "" means EstimatorClassMeans
	// SquaredDistance is a public squared distance (MedianSquaredDistance); widths are
	// 2^k/SquaredDistance, k = −5..5.
	SquaredDistance float64
	Splits          int // averaged held-out splits; 0 means 20: one or two choose erratically
	Rows            int // most rows used of each set, evenly spaced; 0 means 400
	// Fourier, if set, compares all rows by this map (its Gamma is ignored). Use it for large sets,
	// where a sample of rows would favour too wide kernels. 500 features are enough.
	Fourier *embedding.Fourier
}

// WidthCandidate is one width with the mean L1 error of the held-out sets and its standard error.
type WidthCandidate struct {
	Gamma float64 `json:"gamma"`
	L1    float64 `json:"l1"`
	SE    float64 `json:"standard_error"`
}

// CandidateWidths returns 11 values of Gamma, 2^k/scale for k = −5..5, ascending. scale is a
// squared distance between public rows.
func CandidateWidths(scale float64) (all []float64) {
	for k := -5; k <= 5; k++ {
		all = append(all, math.Ldexp(1, k)/scale)
	}
	return all
}

// SelectWidth chooses the width of an RBF kernel: it estimates held-out training sets with known
// shares from the other sets, and averages over random splits, the same for every width. It redraws
// splits whose remaining sets cannot separate the classes. All sets need rows.
//
// The minimum over few sets is mostly luck, so among the widths within one standard error of the
// least error it takes the one nearest to 1/Scale.
func SelectWidth(sets []Set, o WidthOptions, rng *rand.Rand) (best float64, path []WidthCandidate,
	err error) {
	o.Estimator, o.Splits, o.Rows = cmp.Or(o.Estimator, embedding.EstimatorClassMeans),
		cmp.Or(o.Splits,
			20), cmp.Or(o.Rows, 400)
	if !(o.SquaredDistance > 0) {
		return 0, nil, fmt.Errorf("select width: scale = %g: give MedianSquaredDistance of public rows", o.SquaredDistance)
	}
	// The first problem only serves to draw splits that can be solved.
	small := make([]Set, len(sets))
	for i, s := range sets {
		if s.Rows == nil {
			return 0, nil, fmt.Errorf("select width: set %d has no rows: choose the width on public rows instead", i)
		}
		rows := s.Rows
		if o.Fourier == nil {
			rows = everyRow(rows, o.Rows)
		}
		small[i] = Set{Rows: rows, Shares: s.Shares, ShareCov: s.ShareCov}
	}
	var splits [][]bool
	for _, gamma := range CandidateWidths(o.SquaredDistance) {
		m := &Model{options: Options{Kernel: RBF(gamma), Estimator: o.Estimator}}
		if o.Fourier != nil {
			f := *o.Fourier
			f.Gamma = gamma
			m.options = Options{Fourier: &f, Estimator: o.Estimator}
		}
		if err := m.describe(small); err != nil {
			return 0, nil, fmt.Errorf("select width: %w", err)
		}
		if splits == nil {
			if splits, err = drawSplits(m.problem, o, rng); err != nil {
				return 0, nil, fmt.Errorf("select width: %w", err)
			}
		}
		path = append(path, judgeWidth(m.problem, o.Estimator, gamma, splits))
	}
	least := path[0]
	for _, p := range path {
		if p.L1 < least.L1 {
			least = p
		}
	}
	off := math.Inf(1)
	for _, p := range path {
		if k := math.Abs(math.Log2(p.Gamma * o.SquaredDistance)); p.L1 <= least.L1+least.SE &&
			k < off {
			off, best = k, p.Gamma
		}
	}
	return best, path, nil
}

// drawSplits marks about a fifth of the sets (at least one) as held out.
func drawSplits(p ratioProblem, o WidthOptions, rng *rand.Rand) ([][]bool, error) {
	m := p.sets()
	hold := max(1, m/5)
	var splits [][]bool
	for range 20 * o.Splits {
		held := make([]bool, m)
		for _, i := range rng.Perm(m)[:hold] {
			held[i] = true
		}
		if _, err := p.selectSets(chosen(held, false)).check(true); err == nil {
			if splits = append(splits, held); len(splits) == o.Splits {
				break
			}
		}
	}
	if len(splits) == 0 {
		return nil, &Refusal{TooFewSets, float64(m), "no set can be held out without losing a class: give more sets, or a fixed width"}
	}
	return splits, nil
}

// judgeWidth averages the L1 error of each set over the splits that held it out. The standard error
// is over sets, because splits share them.
func judgeWidth(p ratioProblem, estimator string, gamma float64, splits [][]bool) WidthCandidate {
	sums, times := make([]float64, p.sets()), make([]float64, p.sets())
	for _, held := range splits {
		train := chosen(held, false)
		system, _, err := p.selectSets(train).solve(estimator)
		for _, t := range chosen(held, true) {
			l1 := 2.0 // the worst possible, if nothing could be solved
			if err == nil {
				g := make([]float64, len(train))
				for a, j := range train {
					g[a] = p.gram.UStatistic.At(t, j)
				}
				l1 = Measure(mat.Col(nil, t, p.shares), system.estimate(g).shares,
					p.gram.SetSizes[t]).L1
			}
			sums[t] += l1
			times[t]++
		}
	}
	var mean, squares, n float64
	for t, k := range times {
		if k > 0 {
			l1 := sums[t] / k
			mean += l1
			squares += l1 * l1
			n++
		}
	}
	mean /= n
	return WidthCandidate{Gamma: gamma, L1: mean,
		SE: sqrtOrZero((squares/n - mean*mean) / max(n-1, 1))}
}

func chosen(marks []bool, want bool) []int {
	var out []int
	for i, m := range marks {
		if m == want {
			out = append(out, i)
		}
	}
	return out
}
