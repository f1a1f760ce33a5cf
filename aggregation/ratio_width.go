package aggregation

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// WidthOptions configure SelectWidth.
type WidthOptions struct {
	Estimator string // ClassMeans when empty
	// Scale is a public squared distance (MedianSquaredDistance); the widths
	// tried are gamma = 2^k/Scale, k = −5..5.
	Scale  float64
	Splits int // held-out splits averaged; 20 when 0: one or two choose erratically
	Rows   int // rows a set used at most, evenly spaced; 400 when 0
}

// WidthPoint is one width tried, with the mean L1 error of the held-out sets
// and its standard error.
type WidthPoint struct {
	Gamma float64 `json:"gamma"`
	L1    float64 `json:"l1"`
	Error float64 `json:"standard_error"`
}

// SelectWidth chooses the width of an RBF kernel by estimating held-out
// training sets, whose shares are known, from the rest, averaged over several
// random splits that are the same for every width. Splits that leave the other
// sets unable to separate the classes are drawn again. The sets need rows.
//
// Neighbouring widths hardly differ and the mean over few sets is noisy: each
// width is judged by its error averaged with its neighbours' (1:2:1).
func SelectWidth(sets []RatioSet, o WidthOptions, rng *rand.Rand) (best float64, path []WidthPoint, err error) {
	if o.Estimator == "" {
		o.Estimator = ClassMeans
	}
	if o.Splits == 0 {
		o.Splits = 20
	}
	if o.Rows == 0 {
		o.Rows = 400
	}
	if !(o.Scale > 0) {
		return 0, nil, fmt.Errorf("select width: scale = %g: give MedianSquaredDistance of public rows", o.Scale)
	}
	// The first problem only serves to draw splits that can be solved.
	small := make([]RatioSet, len(sets))
	for i, s := range sets {
		if s.Rows == nil {
			return 0, nil, fmt.Errorf("select width: set %d has no rows: choose the width on public rows instead", i)
		}
		small[i] = RatioSet{Rows: everyRow(s.Rows, o.Rows), Shares: s.Shares, ShareCov: s.ShareCov}
	}
	var splits [][]bool
	for k := -5; k <= 5; k++ {
		gamma := math.Ldexp(1, k) / o.Scale
		m := &RatioModel{options: RatioOptions{Kernel: RBF(gamma), Estimator: o.Estimator}}
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
	lowest := math.Inf(1)
	for i, p := range path {
		before, after := path[max(i-1, 0)], path[min(i+1, len(path)-1)]
		if l := (before.L1 + 2*p.L1 + after.L1) / 4; l < lowest {
			lowest, best = l, p.Gamma
		}
	}
	return best, path, nil
}

// drawSplits marks held-out sets, about a fifth of them (at least one).
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
		return nil, &RatioRefusal{RatioTooFewSets, float64(m), "no set can be held out without losing a class: give more sets, or a fixed width"}
	}
	return splits, nil
}

func judgeWidth(p ratioProblem, estimator string, gamma float64, splits [][]bool) WidthPoint {
	var sum, squares, n float64
	for _, held := range splits {
		train := chosen(held, false)
		system, _, err := p.selectSets(train).solve(estimator)
		for _, t := range chosen(held, true) {
			l1 := 2.0 // the worst there is, where nothing could be solved
			if err == nil {
				g := make([]float64, len(train))
				for a, j := range train {
					g[a] = p.gram.U.At(t, j)
				}
				l1 = MeasureRatio(mat.Col(nil, t, p.shares), system.estimate(g).shares, p.gram.N[t]).L1
			}
			sum += l1
			squares += l1 * l1
			n++
		}
	}
	mean := sum / n
	return WidthPoint{Gamma: gamma, L1: mean, Error: sqrtOrZero((squares/n - mean*mean) / n)}
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
