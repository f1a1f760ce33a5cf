package fitting

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/learners"
)

// TestMeansNoise: Mu is linear in the sum, and a unit of one cell moves Mu as Noise states.
func TestMeansNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	m := aggregation.NewMeansDesign(smallPool(30, 4, rng), nil, 2)
	zero, err := MomentsFromVectors(m, make([]float64, 4), 10)
	if err != nil {
		t.Fatal(err)
	}
	factor := MeansNoise(m, 9, 10).Factor
	for j := range 4 {
		sum := make([]float64, 4)
		sum[j] = 3
		moved, _ := MomentsFromVectors(m, sum, 10)
		for i := range 4 {
			if got, want := moved.At(i, 0)-zero.At(i, 0), factor.At(i,
				j); math.Abs(got-want) > 1e-12 {
				t.Errorf("cell %d moves moment %d by %g, noise says %g", j, i, got, want)
			}
		}
	}
	if _, err := MomentsFromVectors(m, make([]float64, 3), 10); err == nil {
		t.Error("a sum of another length was read")
	}
}

// TestMeansLearn: directions of many small parties fit a classifier nearly as good as the pool's
// labels do, for two and three classes. The classes are separable, the hardest case for moments of
// other rows than the pool's.
func TestMeansLearn(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, d = 6000, 5
	for _, classes := range []int{2, 3} {
		x, y := smallPool(n, d, rng), make([]int, n)
		for i := range y { // the class is the index of the largest of the first features
			row := x.RawRowView(i)
			for k := range classes {
				if row[k] > row[y[i]] {
					y[i] = k
				}
			}
		}
		pool := x.Slice(0, 1000, 0, d).(*mat.Dense)
		m := aggregation.NewMeansDesign(pool, nil, classes)
		sum := make([]float64, m.Cells())
		const parties, size = 250, 20
		for p := range parties {
			from := 1000 + p*size
			for i, v := range directionOf(m)(x.Slice(from, from+size, 0, d).(*mat.Dense),
				y[from:from+size]) {
				sum[i] += float64(v)
			}
		}
		mu, err := MomentsFromVectors(m, sum, parties)
		if err != nil {
			t.Fatal(err)
		}
		fit := FitVotes(pool, nil, mu, MeansNoise(m, 1, parties), FitTerms{Classes: classes}, rng)
		own := FitVotes(pool, nil, learners.TargetMoments(pool, learners.OneHot(y[:1000], classes),
			nil),
			Noise{Factor: mat.NewDense(d, d, nil), Centred: classes > 2}, FitTerms{Classes: classes,
				Lambda: 1e-4}, rng)
		right := func(l learners.Linear) float64 {
			total := 0.0
			for i, k := range l.Predict(x) {
				if k == y[i] {
					total++
				}
			}
			return total / n
		}
		if got, want := right(fit.Model), right(own.Model); got < want-.05 {
			t.Errorf("%d classes: means reach %.3f, the pool's own labels %.3f", classes, got, want)
		}
	}
}
