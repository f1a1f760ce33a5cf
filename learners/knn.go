package learners

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// KNN is the learner "knn": the majority class of the k nearest rows by Euclidean distance.
type KNN struct {
	// Neighbours is k. 0 chooses the k among neighbourChoices with the least leave-one-out error.
	Neighbours int
}

var neighbourChoices = []int{1, 3, 5, 9, 15, 25}

// Name is "knn", whether k is given or chosen.
func (KNN) Name() string { return "knn" }

// Features is MappedFeatures, so that distances are Euclidean ones between rows of norm at most 1.
func (KNN) Features() Features { return MappedFeatures }

// Fit implements Learner; the Model is a *NeighboursModel or a ConstantModel. The rng is not used.
func (k KNN) Fit(ctx context.Context, x *mat.Dense, y []int, classes int,
	_ *rand.Rand) (Model, error) {
	s, majority, err := learnable(x, y, classes)
	if majority != nil || err != nil {
		return majority, err
	}
	m := newNeighbours(s)
	m.k = min(k.Neighbours, len(s.y))
	if k.Neighbours <= 0 {
		m.k = m.tune(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// NeighboursModel is a fitted nearest-neighbour model: the rows themselves.
type NeighboursModel struct {
	k       int
	x       *mat.Dense
	square  []float64 // ‖x‖² of each row
	y       []int
	classes int
}

// K is the number of neighbours that vote: the given one, at most the number of rows, or the one
// that leave-one-out chose.
func (nm *NeighboursModel) K() int { return nm.k }

func newNeighbours(s sample) *NeighboursModel {
	m := &NeighboursModel{x: mat.DenseCopyOf(s.x), y: append([]int(nil), s.y...),
		classes: s.classes}
	for i := range m.y {
		row := m.x.RawRowView(i)
		m.square = append(m.square, floats.Dot(row, row))
	}
	return m
}

// Predict implements Model. In a tie the class of the nearest of the tied neighbours wins.
func (nm *NeighboursModel) Predict(x *mat.Dense) []int {
	y := make([]int, 0, rows(x))
	count := make([]int, nm.classes)
	nm.each(context.Background(), x, nm.k, false, func(near []int) {
		clear(count)
		most := 0
		for _, i := range near {
			count[nm.y[i]]++
			most = max(most, count[nm.y[i]])
		}
		for _, i := range near {
			if count[nm.y[i]] == most {
				y = append(y, nm.y[i])
				break
			}
		}
	})
	return y
}

// tune returns the k with the least leave-one-out error, the largest in a tie.
func (nm *NeighboursModel) tune(ctx context.Context) int {
	wrong := make([]int, len(neighbourChoices))
	count := make([]int, nm.classes)
	row := 0
	most := min(neighbourChoices[len(neighbourChoices)-1], len(nm.y)-1)
	nm.each(ctx, nm.x, most, true, func(near []int) {
		clear(count)
		choice, leader := 0, nm.y[near[0]]
		for n, i := range near {
			count[nm.y[i]]++
			if count[nm.y[i]] > count[leader] {
				leader = nm.y[i]
			}
			if n+1 == neighbourChoices[choice] {
				if leader != nm.y[row] {
					wrong[choice]++
				}
				choice++
			}
		}
		row++
	})
	best := 0
	for c, k := range neighbourChoices {
		if k <= most && wrong[c] <= wrong[best] {
			best = c
		}
	}
	return neighbourChoices[best]
}

// each calls use for every row of x, in order, until ctx ends. near holds the indices of the k
// nearest rows of m, nearest first, and the lower index first in a tie. use must not keep the
// slice. With others, x is m.x and a row is not its own neighbour.
func (nm *NeighboursModel) each(ctx context.Context, x *mat.Dense, k int, others bool,
	use func(near []int)) {
	n, d := rows(x), 0
	if n > 0 {
		_, d = x.Dims()
	}
	near, distance := make([]int, 0, k+1), make([]float64, 0, k+1)
	product := make([]float64, min(n, blockRows)*len(nm.y))
	for first := 0; first < n && ctx.Err() == nil; first += blockRows {
		last := min(n, first+blockRows)
		block := x.Slice(first, last, 0, d).(*mat.Dense).RawMatrix()
		out := blas64.General{Rows: block.Rows, Cols: len(nm.y), Stride: len(nm.y), Data: product}
		blas64.Gemm(blas.NoTrans, blas.Trans, -2, block, nm.x.RawMatrix(), 0, out)
		for r := range block.Rows {
			near, distance = near[:0], distance[:0]
			for i, p := range product[r*len(nm.y) : (r+1)*len(nm.y)] {
				if others && i == first+r {
					continue
				}
				away := nm.square[i] + p
				if len(near) == k {
					if away >= distance[k-1] {
						continue
					}
					near, distance = near[:k-1], distance[:k-1]
				}
				at := len(near)
				near, distance = append(near, i), append(distance, away)
				for ; at > 0 && distance[at-1] > away; at-- {
					near[at], distance[at] = near[at-1], distance[at-1]
				}
				near[at], distance[at] = i, away
			}
			use(near)
		}
	}
}
