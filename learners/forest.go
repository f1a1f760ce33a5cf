package learners

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Forest is the random forest learner "forest" (Breiman, Machine Learning 45, 2001): trees on
// bootstrap samples, √d random columns for each split, and the average of the trees' class shares.
type Forest struct {
	Trees    int // ≥ 1
	MaxDepth int // ≥ 1
	MinLeaf  int // ≥ 1
}

// DefaultForest returns 50 trees, enough for a few hundred rows.
func DefaultForest() Forest { return Forest{Trees: 50, MaxDepth: 12, MinLeaf: 1} }

// Name is "forest" for any number of trees.
func (Forest) Name() string { return "forest" }

// Features is EncodedFeatures: its trees read single columns, as CART does.
func (Forest) Features() Features { return EncodedFeatures }

// Fit implements Learner; the Model is a ForestModel or a ConstantModel.
func (f Forest) Fit(ctx context.Context, x *mat.Dense, y []int, classes int,
	rng *rand.Rand) (Model, error) {
	s, majority, err := learnable(x, y, classes)
	if majority != nil || err != nil {
		return majority, err
	}
	_, d := s.x.Dims()
	g := newGrower(ctx, CART{
		MaxDepth: f.MaxDepth,
		MinLeaf:  f.MinLeaf,
		Columns:  max(1, int(math.Round(math.Sqrt(float64(d))))),
	}, s, rng)
	trees := make(ForestModel, f.Trees)
	drawn := make([]int, len(s.y))
	for i := range trees {
		for j := range drawn {
			drawn[j] = rng.IntN(len(s.y))
		}
		trees[i] = g.grow(drawn)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return trees, nil
}

// ForestModel predicts the class with the largest mean share, the lowest in a tie.
type ForestModel []*Tree

// Predict implements Model. Without trees it answers class 0.
func (f ForestModel) Predict(x *mat.Dense) []int {
	y := make([]int, rows(x))
	if len(f) == 0 {
		return y
	}
	sum := make([]float64, f[0].classes)
	for i := range y {
		row := x.RawRowView(i)
		clear(sum)
		for _, tree := range f {
			floats.Add(sum, tree.sharesAt(tree.descend(row, len(tree.nodes))))
		}
		y[i] = argmax(sum)
	}
	return y
}
