package aggregation_test

import (
	"math/rand/v2"
	"testing"

	. "caucus/aggregation"

	"gonum.org/v1/gonum/mat"
)

func fitKernel(t testing.TB, sets []RatioSet, estimator string, k Kernel) *RatioModel {
	t.Helper()
	m, err := FitRatio(sets, RatioOptions{Estimator: estimator, Kernel: k})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRatioHeart(t *testing.T) {
	bags, test := readHeart(t)
	var sets []RatioSet
	all := mat.NewDense(1, 13, nil)
	for i, b := range bags {
		sets = append(sets, RatioSet{Rows: b.x, Shares: SharesOfLabels(b.y, nil, 2)})
		if i == 0 {
			all = b.x
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	scale, err := MedianSquaredDistance(all, rng)
	if err != nil {
		t.Fatal(err)
	}
	gamma, path, err := SelectWidth(sets, WidthOptions{Scale: scale}, rng)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range path {
		e, err := fitKernel(t, sets, ClassMeans, RBF(p.Gamma)).Estimate(RatioSet{Rows: test.x})
		if err != nil {
			t.Fatal(err)
		}
		mx, _ := fitKernel(t, sets, Mixture, RBF(p.Gamma)).Estimate(RatioSet{Rows: test.x})
		co, _ := fitKernel(t, sets, Constrained, RBF(p.Gamma)).Estimate(RatioSet{Rows: test.x})
		t.Logf("γ %.4f heldout %.3f±%.3f  class-means %.4f sd %.3f fit %.2f/%.2f mixture %.4f constrained %.4f", p.Gamma, p.L1, p.Error, e.Free[1], e.Sd[1], e.Fit.Statistic, e.Fit.Threshold, mx.Shares[1], co.Shares[1])
	}
	t.Logf("scale %.3f chosen %.4f truth %.4f", scale, gamma, SharesOfLabels(test.y, nil, 2)[1])
}

func TestRatioAdult(t *testing.T) {
	train, test := readAdult(t)
	for _, share := range []float64{.1, .9} {
		for _, est := range RatioEstimators() {
			sums := map[int]float64{}
			var chosen float64
			var se float64
			seeds := 10
			for seed := range seeds {
				rng := rand.New(rand.NewPCG(uint64(seed), 3))
				var sets []RatioSet
				for _, p := range []float64{.1, .1, .9, .9} {
					s, err := SampleAtShares(train.y, []float64{1 - p, p}, 600, rng)
					if err != nil {
						t.Fatal(err)
					}
					sets = append(sets, RatioSet{Rows: train.rows(s.Rows), Shares: s.Shares})
				}
				s, _ := SampleAtShares(test.y, []float64{1 - share, share}, 600, rng)
				target := RatioSet{Rows: test.rows(s.Rows)}
				scale, _ := MedianSquaredDistance(sets[0].Rows, rng)
				best, path, err := SelectWidth(sets, WidthOptions{Scale: scale, Estimator: est}, rng)
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range path {
					if i%2 == 0 && p.Gamma != best {
						continue
					}
					e, err := fitKernel(t, sets, est, RBF(p.Gamma)).Estimate(target)
					if err != nil {
						t.Fatal(err)
					}
					l1 := MeasureRatio(s.Shares, e.Shares, 600).L1 / float64(seeds)
					sums[i] += l1
					if p.Gamma == best {
						chosen += l1
						se += e.Sd[0] / float64(seeds)
					}
				}
			}
			t.Logf("share %g %s chosen %.4f mean sd %.4f by width %.4v", share, est, chosen, se, sums)
		}
	}
}
