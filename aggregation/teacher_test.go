package aggregation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// The closed forms are what draws of the same law give. Each comparison is of a mean
// of so many draws whose terms lie in an interval of known width, so that Hoeffding's
// bound of a wrong alarm is 2·exp(−2·n·tolerance²/width²) < 1e-12; AUCs by pairs of
// disjoint draws in the same way.
func TestTeacherIsItsLaw(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		shares []float64
		auc    float64
	}{{[]float64{.5, .5}, .7}, {[]float64{.9, .1}, .8}, {[]float64{.2, .8}, .95}, {[]float64{.5, .3, .2}, .8}, {[]float64{.4, .3, .2, .05, .05}, .93}} {
		far := farOf(c.shares, 0)
		var areas areas
		if len(c.shares) > 2 {
			areas = areasOf(c.shares, far)
		}
		teacher := newTeacher(c.shares, c.auc, far, areas, true)
		if got := teacher.worth(1).AUC; math.Abs(got-c.auc) > 1e-9 {
			t.Errorf("%v: AUC %.6f, want %.6f", c.shares, got, c.auc)
		}
		for _, kept := range []float64{1, .75, .25} {
			rng := rand.New(rand.NewPCG(1, 1))
			apart, noise := teacher.apart, math.Sqrt(teacher.total*(1/(kept*kept)-1))
			right, covariance := 0., make([]float64, len(teacher.columns))
			above, pairs, waiting := 0., 0., []float64{}
			for range n {
				class := 0
				for u := rng.Float64(); class < len(c.shares)-1 && u >= c.shares[class]; class++ {
					u -= c.shares[class]
				}
				best, top := 0, math.Inf(-1)
				var z, s []float64
				for k := range teacher.columns {
					own := k == class
					if len(c.shares) == 2 {
						own = class == 1
					}
					v := rng.NormFloat64()
					if own {
						v += apart
					}
					z, s = append(z, v), append(s, v+noise*rng.NormFloat64())
				}
				for k := range c.shares { // the rule of Bayes
					column := k
					score := math.Log(c.shares[k])
					if len(c.shares) == 2 {
						column = 0
					}
					if len(c.shares) > 2 || k == 1 {
						mean := apart
						score += (mean*s[column] - mean*mean/2) / (1 + noise*noise)
					}
					if score > top {
						best, top = k, score
					}
				}
				if best == class {
					right++
				}
				for k := range covariance {
					share, named := teacher.columns[k], best == k
					if len(c.shares) == 2 {
						named = best == 1
					}
					if named {
						covariance[k] += (z[k] - apart*share) / n
					}
				}
				in := class == len(c.shares)-1
				last := s[len(s)-1]
				if k := len(s); k > 2 { // by its odds against the rest
					others := make([]float64, k-1)
					for j := range others {
						others[j] = math.Log(c.shares[j]) + (apart*s[j]-apart*apart/2)/(1+noise*noise)
					}
					last = (apart*last-apart*apart/2)/(1+noise*noise) - floats.LogSumExp(others)
				}
				if in {
					waiting = append(waiting, last)
				} else if len(waiting) > 0 {
					w := waiting[len(waiting)-1]
					waiting = waiting[:len(waiting)-1]
					pairs++
					if w > last {
						above++
					}
				}
			}
			w := teacher.worth(kept)
			if tolerance := math.Sqrt(15. / n); math.Abs(w.Accuracy-math.Max(right/n, slices.Max(c.shares))) > tolerance {
				t.Errorf("%v at %.2f, kept %.2f: accuracy %.4f, drawn %.4f", c.shares, c.auc, kept, w.Accuracy, right/n)
			}
			tolerance := math.Sqrt(15 / pairs)
			if len(c.shares) > 2 {
				tolerance += .003 // of the table
			}
			if math.Abs(w.AUC-above/pairs) > tolerance {
				t.Errorf("%v at %.2f, kept %.2f: AUC %.4f, drawn %.4f", c.shares, c.auc, kept, w.AUC, above/pairs)
			}
			drawn := 0.
			for _, v := range covariance {
				drawn += v * v / float64(len(covariance))
			}
			drawn = math.Sqrt(drawn / teacher.total)
			// Before it is scaled each covariance is a mean of terms no larger than a
			// score, of variance total, with tails of a normal; that is beyond 7.5 of
			// its deviations with probability 1e-13.
			if tolerance := 7.5 / math.Sqrt(n); math.Abs(drawn-teacher.votes(kept)) > tolerance {
				t.Errorf("%v at %.2f, kept %.2f: votes tell %.4f, drawn %.4f", c.shares, c.auc, kept, teacher.votes(kept), drawn)
			}
		}
	}
}
