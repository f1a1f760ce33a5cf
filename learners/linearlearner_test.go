package learners

import (
	"context"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// For random labels the strongest ridges win; for a clear rule a weak one wins. The margins are
// wide: ridges differ by a factor of ten or more, at fixed seeds.
func TestRidgeFollowsTheData(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	x, y := rowsLikePCA(200, 20, 2, rng)
	clear, err := labelled(x, y, 2)
	if err != nil {
		t.Fatal(err)
	}
	coins := make([]int, len(y))
	for i := range coins {
		coins[i] = rng.IntN(2)
	}
	noise, err := labelled(x, coins, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []LinearLearner{Softmax(), LinearSVM()} {
		weak, strong := l.tune(context.Background(), clear, rng), l.tune(context.Background(),
			noise, rng)
		if weak > 1e-2 || strong < 1e-2 || weak >= strong {
			t.Errorf("%s: ridge %g for a rule, %g for coins", l.Name(), weak, strong)
		}
	}
}

// On small noisy samples the tuned ridge has at least the held-out accuracy of a ridge of 1/n,
// which ruins votes.
func TestTuningBeatsOneOverN(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	x, y := rowsLikePCA(6000, 41, 2, rng)
	test := mat.DenseCopyOf(x.Slice(4000, 6000, 0, 41))
	tuned, fixed := 0.0, 0.0
	l := Softmax()
	rigid := l
	rigid.Ridges = []float64{1.0 / 60}
	for p := range 40 {
		part := mat.DenseCopyOf(x.Slice(60*p, 60*p+60, 0, 41))
		for _, c := range []struct {
			l   LinearLearner
			sum *float64
		}{{l, &tuned}, {rigid, &fixed}} {
			m, err := c.l.Fit(context.Background(), part, y[60*p:60*p+60], 2, rng)
			if err != nil {
				t.Fatal(err)
			}
			*c.sum += accuracy(m.Predict(test), y[4000:]) / 40
		}
	}
	t.Logf("tuned %.3f, 1/n %.3f", tuned, fixed)
	if tuned < fixed-0.002 {
		t.Errorf("mean accuracy %.3f tuned, %.3f at 1/n", tuned, fixed)
	}
}
