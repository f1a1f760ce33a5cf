package learners

import (
	"context"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A forest is clearly better than the mean of its trees.
func TestForestBeatsItsTrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	x, y := rowsLikePCA(2200, 12, 3, rng)
	train, test := mat.DenseCopyOf(x.Slice(0, 200, 0, 12)), mat.DenseCopyOf(x.Slice(200, 2200, 0,
		12))
	m, err := DefaultForest().Fit(context.Background(), train, y[:200], 3, rng)
	if err != nil {
		t.Fatal(err)
	}
	trees := m.(ForestModel)
	if len(trees) != DefaultForest().Trees {
		t.Fatalf("%d trees", len(trees))
	}
	mean := 0.0
	for _, tree := range trees {
		mean += accuracy(tree.Predict(test), y[200:]) / float64(len(trees))
	}
	if all := accuracy(m.Predict(test), y[200:]); all < mean+0.03 {
		t.Errorf("forest %.3f, its trees %.3f", all, mean)
	}
}

// The mean shares decide, not the trees' majority.
func TestForestAveragesShares(t *testing.T) {
	leaf := func(share ...float64) *Tree {
		return &Tree{classes: 3, nodes: []node{{class: argmax(share)}}, share: share}
	}
	f := ForestModel{leaf(0.6, 0.4, 0), leaf(0.6, 0.4, 0), leaf(0, 0.9, 0.1)}
	if y := f.Predict(mat.NewDense(1, 1, nil)); y[0] != 1 {
		t.Errorf("class %d, want 1: mean shares .40, .57, .03", y[0])
	}
}
