package learners

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// RankRisk is the ridge-penalised risk of the area under the curve (AUC), one class against the
// rest:
//
//	Σₖ (1/Σα Σβ)·Σᵢⱼ αᵢβⱼ·ℓ(sᵢₖ − sⱼₖ) + (Ridge/2)·‖W‖²,  s = X·W,
//
// where α and β are the costs Yes and No of a row in class k's column. With PlainWeights, a pair
// counts if row i is of the class and row j is not. A constant column of X has no influence and
// gets weight 0.
//
// All N² pairs count, but are not visited one by one if the loss is piecewise linear (sorting and
// prefix sums: O(N log N), kinks smoothed as in Loss.Smooth) or squared (moments: O(N)). For other
// losses N·rankShifts pairs stand for all: every row with the rankShifts rows at random distances
// after it in a random order (an incomplete U-statistic; Blom 1976). They are drawn once, so the
// objective stays smooth and deterministic.
//
// It is convex if the loss is convex and no cost is negative. Ridge may be replaced between
// evaluations. It is not for concurrent use.
type RankRisk struct {
	Ridge float64

	x       blas64.General
	columns []rankColumn
	loss    Loss
	order   []int // rows by score; scratch
	shuffle []int
	shifts  []int
	scores  []float64
	slopes  []float64
	weights []float64
	gram    *sweep
}

// rankColumn is one class. It holds the rows' weights, divided by Σα and Σβ.
type rankColumn struct{ alpha, beta []float64 }

// rankShifts is the number of partners of a row. Drawing pairs adds 1/(rankShifts·N) of one pair's
// variance to the risk's variance, which is a multiple of 1/N anyway.
const rankShifts = 16

// NewRankRisk is like NewMarginRisk. rng draws pairs if needed. A class without positive Σα and Σβ
// is left out.
func NewRankRisk(x *mat.Dense, y []int, classes int, l Loss, costs []ClassWeights,
	rng *rand.Rand) (*RankRisk, error) {
	n := rows(x)
	if n == 0 || n != len(y) || classes < 2 || len(costs) != WeightColumns(classes) {
		return nil, fmt.Errorf("make rank risk: %d rows with %d labels of %d classes and %d costs do not fit together", n, len(y), classes, len(costs))
	}
	first := 0
	if classes == 2 {
		first = 1
	}
	r := &RankRisk{
		x: x.RawMatrix(), loss: l, order: make([]int, n),
		scores: make([]float64, n), slopes: make([]float64, n), gram: newSweep(x, nil, len(costs)),
	}
	r.weights = make([]float64, r.x.Cols)
	for k, c := range costs {
		col := rankColumn{alpha: make([]float64, n), beta: make([]float64, n)}
		a, b := 0.0, 0.0
		for i, label := range y {
			cost := c.of(label == first+k)
			col.alpha[i], col.beta[i] = cost.Positive, cost.Negative
			a += cost.Positive
			b += cost.Negative
		}
		if a <= 0 || b <= 0 {
			a, b = math.Inf(1), math.Inf(1)
		}
		for i := range n {
			col.alpha[i] /= a
			col.beta[i] /= b
		}
		r.columns = append(r.columns, col)
	}
	if l.pieces == nil && !l.square {
		r.shuffle = rng.Perm(n)
		if n-1 <= rankShifts {
			for s := 1; s < n; s++ {
				r.shifts = append(r.shifts, s)
			}
		} else {
			for _, s := range rng.Perm(n - 1)[:rankShifts] {
				r.shifts = append(r.shifts, s+1)
			}
		}
	}
	return r, nil
}

// Dim returns d·Columns(Classes), the length of W in row-major order.
func (r *RankRisk) Dim() int { return r.x.Cols * len(r.columns) }

// Evaluate implements Objective in O(N log N) for piecewise linear losses, O(N) for the squared,
// O(N·rankShifts) for others, times the columns.
func (r *RankRisk) Evaluate(w, grad []float64) float64 {
	value := ridged(r.Ridge, w, grad)
	c := len(r.columns)
	score := blas64.Vector{N: r.x.Rows, Inc: 1, Data: r.scores}
	slope := blas64.Vector{N: r.x.Rows, Inc: 1, Data: r.slopes}
	weight := blas64.Vector{N: r.x.Cols, Inc: 1, Data: r.weights}
	for k, col := range r.columns {
		for j := range r.weights {
			r.weights[j] = w[j*c+k]
		}
		blas64.Gemv(blas.NoTrans, 1, r.x, weight, 0, score)
		clear(r.slopes)
		value += r.pairs(col)
		blas64.Gemv(blas.Trans, 1, r.x, slope, 0, weight)
		for j, v := range r.weights {
			grad[j*c+k] += v
		}
	}
	return value
}

// Precondition uses P = 2·XᵀX/(N·scale) + Ridge·I: a difference of two rows varies twice as much as
// one row.
func (r *RankRisk) Precondition(g []float64) {
	r.gram.precondition(g, 2/r.loss.ScoreScale(),
		r.Ridge)
}

// SetRidge changes Ridge through an interface, so that one search over ridges serves all risks.
func (r *RankRisk) SetRidge(ridge float64) { r.Ridge = ridge }

// pairs returns Σ αᵢβⱼℓ(sᵢ−sⱼ) and adds its derivative by each score to slopes.
func (r *RankRisk) pairs(c rankColumn) float64 {
	switch {
	case r.loss.square:
		return r.squaredPairs(c)
	case r.loss.pieces != nil:
		return r.sortedPairs(c)
	}
	return r.drawnPairs(c)
}

func (r *RankRisk) moments(w []float64) (m [3]float64) {
	for i, s := range r.scores {
		m[0] += w[i]
		m[1] += w[i] * s
		m[2] += w[i] * s * s
	}
	return m
}

func (r *RankRisk) squaredPairs(c rankColumn) float64 {
	a, b := r.moments(c.alpha), r.moments(c.beta)
	for i, s := range r.scores {
		r.slopes[i] += 2*c.alpha[i]*((s-1)*b[0]-b[1]) + 2*c.beta[i]*((s+1)*a[0]-a[1])
	}
	return a[0]*b[0] + a[2]*b[0] + a[0]*b[2] - 2*a[1]*b[0] + 2*a[0]*b[1] - 2*a[1]*b[1]
}

// sortedPairs writes a smoothed kink of width τ at z₀ as a difference of squared hinges,
// turn·(max(0, z−z₀+τ/2)² − max(0, z−z₀−τ/2)²)/2τ. For these, a row needs only Σβ, Σβs and Σβs² of
// the rows below it.
func (r *RankRisk) sortedPairs(c rankColumn) float64 {
	p := r.loss.pieces
	a, b := r.moments(c.alpha), r.moments(c.beta)
	value := p.level*a[0]*b[0] + p.slope*(a[1]*b[0]-a[0]*b[1])
	for i := range r.slopes {
		r.slopes[i] += p.slope * (c.alpha[i]*b[0] - c.beta[i]*a[0])
	}
	if len(p.kinks) == 0 {
		return value
	}
	for i := range r.order {
		r.order[i] = i
	}
	slices.SortFunc(r.order, func(i, j int) int {
		switch d := r.scores[i] - r.scores[j]; {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return i - j
	})
	for _, k := range p.kinks {
		f := k.turn / (2 * p.width)
		value += r.squaredHinges(c, k.at-p.width/2, f) + r.squaredHinges(c, k.at+p.width/2, -f)
	}
	return value
}

// squaredHinges returns f·Σ αᵢβⱼ·max(0, sᵢ−sⱼ−at)², and adds the derivative to slopes.
func (r *RankRisk) squaredHinges(c rankColumn, at, f float64) float64 {
	value := 0.0
	var b [3]float64
	next := 0
	for _, i := range r.order {
		s := r.scores[i] - at
		for ; next < len(r.order) && r.scores[r.order[next]] < s; next++ {
			j := r.order[next]
			t := r.scores[j]
			b[0] += c.beta[j]
			b[1] += c.beta[j] * t
			b[2] += c.beta[j] * t * t
		}
		value += c.alpha[i] * (s*s*b[0] - 2*s*b[1] + b[2])
		r.slopes[i] += 2 * f * c.alpha[i] * (s*b[0] - b[1])
	}
	var a [2]float64
	next = len(r.order) - 1
	for _, j := range slices.Backward(r.order) {
		t := r.scores[j] + at
		for ; next >= 0 && r.scores[r.order[next]] > t; next-- {
			i := r.order[next]
			a[0] += c.alpha[i]
			a[1] += c.alpha[i] * r.scores[i]
		}
		r.slopes[j] -= 2 * f * c.beta[j] * (a[1] - t*a[0])
	}
	return f * value
}

// drawnPairs sums over the drawn pairs, scaled to all pairs i ≠ j.
func (r *RankRisk) drawnPairs(c rankColumn) float64 {
	n := len(r.scores)
	if n < 2 {
		return 0
	}
	each := float64(n-1) / float64(len(r.shifts))
	value := 0.0
	for _, shift := range r.shifts {
		for at, i := range r.shuffle {
			to := at + shift
			if to >= n {
				to -= n
			}
			j := r.shuffle[to]
			w := each * c.alpha[i] * c.beta[j]
			if w == 0 {
				continue
			}
			z := r.scores[i] - r.scores[j]
			value += w * r.loss.value(z)
			d := w * r.loss.slope(z)
			r.slopes[i] += d
			r.slopes[j] -= d
		}
	}
	return value
}
