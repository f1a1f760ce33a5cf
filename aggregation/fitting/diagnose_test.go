package fitting

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestWeightLaw compares the stated standard deviation of an answer with the spread of answers over
// 400 fresh noises. A deviation estimated from 400 normal draws has a relative standard error of
// 1/√800 = .035; 6.5 of these, .23, are exceeded with probability below 1e-10. The law is of first
// order, so the noise is small, and the tolerance is .3.
func TestWeightLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := designs(t)["blocks"]
	pool, private := people(400, 0, rng), people(1000, 0.6, rng)
	x := d.Rows(pool)
	b := make([]float64, 400)
	for i := range b {
		if pool.At(i, 4) > 0.5 {
			b[i] = 1
		}
	}
	sums := make([]float64, d.Cells())
	for j, v := range d.Sums(private) {
		sums[j] = float64(v)
	}
	means, err := FeatureMeans(d, sums, 1000)
	if err != nil {
		t.Fatal(err)
	}
	floats.Scale(1/d.MaxRowNorm(), means)
	noise := IsotropicNoise(d.Cells(), 0.002)
	fit := FitWeights(x, nil, means, noise, 0.01, 0, rng)
	law := WeightErrorsOf(x, fit, noise)
	stated := law.EstimateMean(b, UnreleasedShift{Records: 1})

	answers := make([]float64, 400)
	ratios := make([]float64, 400)
	const sd = 0.02
	ofTilt := TiltErrorsOf(x, fit, sd)
	for k := range answers {
		m := noise.Draw(1, rng).RawMatrix().Data
		floats.Add(m, means)
		answers[k] = newWeightLaw(x, FitWeights(x, nil, m, noise, 0.01, 0,
			rng).Weight).EstimateMean(b,
			UnreleasedShift{Records: 1}).Estimate
		beta := append([]float64{}, fit.Beta...)
		for j := range beta {
			beta[j] += sd * rng.NormFloat64()
		}
		ratios[k] = newWeightLaw(x, WeightsOfTilt(x, beta).Weight).EstimateMean(b,
			UnreleasedShift{Records: 1}).Estimate
	}
	for _, c := range []struct {
		name        string
		answers     []float64
		stated, cap float64
	}{
		{"entropy", answers, stated.NoiseSD, law.MaxNoiseSD()},
		{"tilt", ratios, ofTilt.EstimateMean(b, UnreleasedShift{Records: 1}).NoiseSD, ofTilt.MaxNoiseSD()},
	} {
		mean := floats.Sum(c.answers) / 400
		spread := 0.0
		for _, a := range c.answers {
			spread += (a - mean) * (a - mean) / 399
		}
		got := math.Sqrt(spread)
		if math.Abs(got-c.stated) > 0.3*c.stated {
			t.Errorf("%s: answers spread by %.5f, stated %.5f", c.name, got, c.stated)
		}
		if c.stated > c.cap {
			t.Errorf("%s: %.5f exceeds the bound over all queries %.5f", c.name, c.stated, c.cap)
		}
	}
	// A query that is a feature has no sampling error, because the weights match its mean.
	ward := make([]float64, 400)
	for i := range ward {
		ward[i] = pool.At(i, 1)
	}
	if tight := WeightErrorsOf(x, FitWeights(x, nil, means, noise, 1e-6, 0, rng),
		noise).EstimateMean(ward,
		UnreleasedShift{Records: 1}); tight.PoolSamplingSD > 1e-3 {
		t.Errorf("a matched feature has a sampling deviation of %v", tight.PoolSamplingSD)
	}
}

// TestWorstNoise: the bound over queries is attained by the half space of the worst direction.
func TestWorstNoise(t *testing.T) {
	x := mat.NewDense(4, 1, []float64{-1, -1, 1, 1})
	f := WeightsOfTilt(x, []float64{0})
	law := TiltErrorsOf(x, f, 0.1)
	if got := law.EstimateMean([]float64{0, 0, 1, 1},
		UnreleasedShift{Records: 1}).NoiseSD; math.Abs(got-law.MaxNoiseSD()) > 1e-12 ||
		math.Abs(got-0.05) > 1e-12 {
		t.Errorf("noise %v, bound %v, want .05 for both", got, law.MaxNoiseSD())
	}
}

// TestGaps: the private records have a level that the pool lacks.
func TestGaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	d := designs(t)["blocks"]
	pool := people(300, 0, rng)
	for i := range 300 { // nobody in ward three
		if pool.At(i, 2) == 1 {
			pool.Set(i, 2, 0)
			pool.Set(i, 0, 1)
		}
	}
	means := make([]float64, d.Cells())
	copy(means, []float64{.3, .2, .4, .1, .5, .3, .4, .3, .5, .1})
	x := d.Rows(pool)
	_, gaps := Residuals(d, x, newWeightLaw(x, nil), means, 0.001)
	if len(gaps) == 0 || gaps[0].Feature != "ward=three" {
		t.Errorf("gaps are %+v, want ward=three first", gaps)
	}
	if _, gaps := Residuals(d, x, newWeightLaw(x, nil), means, 0.2); len(gaps) != 0 {
		t.Errorf("noise of .2 explains all, yet the gaps are %+v", gaps)
	}
}

// TestMatchScore: the score by which MatchWeights chooses λ has the expectation of the squared
// distance to the true means, and the chosen λ is about as good as the best. Both are means over
// 200 noises. The distance's spread is about its mean, so its relative standard error is .07; the
// tolerance .5 is 7 of these.
func TestMatchScore(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	d := designs(t)["blocks"]
	x := d.Rows(people(400, 0, rng))
	truth := newWeightLaw(d.Rows(people(4000, 0.6, rng)), nil).mean
	noise := IsotropicNoise(d.Cells(), 0.02)
	const draws = 200
	scores, distances := map[float64]float64{}, map[float64]float64{}
	chosen := 0.0
	for range draws {
		m := noise.Draw(1, rng).RawMatrix().Data
		floats.Add(m, truth)
		fit := MatchWeights(x, m, noise, 0, 0, rng)
		far := func(w []float64) float64 {
			mean := newWeightLaw(x, w).mean
			floats.Sub(mean, truth)
			return floats.Dot(mean, mean)
		}
		chosen += far(fit.Weight) / draws
		for _, p := range fit.Path {
			if p.Lambda != 0 && p.Lambda < 0.001 {
				continue // first order is too inaccurate there
			}
			scores[p.Lambda] += (p.Risk + p.Optimism) / draws
			w := make([]float64, 400)
			floats.AddConst(1, w)
			if p.Lambda > 0 {
				w = FitWeights(x, nil, m, noise, p.Lambda, 0, rng).Weight
			}
			distances[p.Lambda] += far(w) / draws
		}
	}
	best := math.Inf(1)
	for l, want := range distances {
		best = math.Min(best, want)
		if math.Abs(scores[l]-want) > 0.5*want {
			t.Errorf("λ = %g: score %.3g, distance %.3g", l, scores[l], want)
		}
	}
	if chosen > 1.5*best {
		t.Errorf("the chosen λ leaves %.3g, the best one %.3g", chosen, best)
	}
}

// A ridge too small for a valid score ends the search. It is not part of the path, because a
// release carries the path and needs finite numbers.
func TestMatchPathIsFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	d := designs(t)["blocks"]
	x := d.Rows(people(400, 0, rng))
	mean := newWeightLaw(d.Rows(people(4000, 0.6, rng)), nil).mean
	told := 0
	for _, sd := range []float64{0.001, 0.003, 0.01, 0.03, 0.1} {
		fit := MatchWeights(x, mean, IsotropicNoise(d.Cells(), sd), 0, 0, rng)
		for _, p := range fit.Path {
			if math.IsNaN(p.Risk+p.Optimism) || math.IsInf(p.Risk+p.Optimism, 0) {
				t.Errorf("noise %v: the path holds %+v", sd, p)
			}
		}
		if len(fit.Path) < lambdaSteps+1 {
			told++
		}
	}
	if told == 0 {
		t.Error("no search ended early: this test shows nothing")
	}
}
