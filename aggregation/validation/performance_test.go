package validation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"caucus/internal/testlevel"
)

type world struct{ rng *rand.Rand }

func (w world) draw(n int) (z []float64, yes []bool) {
	for range n {
		v := 1.5 * w.rng.NormFloat64()
		z, yes = append(z, v), append(yes, w.rng.Float64() < sigmoid(-1+.8*v))
	}
	return z, yes
}

func (w world) laplace(scale float64) float64 {
	if scale == 0 {
		return 0
	}
	return scale * (w.rng.ExpFloat64() - w.rng.ExpFloat64())
}

// histogram counts records and adds this number of noise draws to each count.
func (w world) histogram(s ScoreBins, z []float64, yes []bool, scale float64, draws int) Histogram {
	h := Histogram{Positive: make([]float64, s.Bins()), Negative: make([]float64, s.Bins()),
		Noise: 2 * scale * scale * float64(draws)}
	for i, v := range z {
		if b := s.Bin(v); yes[i] {
			h.Positive[b]++
		} else {
			h.Negative[b]++
		}
	}
	for b := range h.Positive {
		for range draws {
			h.Positive[b] += w.laplace(scale)
			h.Negative[b] += w.laplace(scale)
		}
	}
	return h
}

func (w world) scale(bins int) ScoreBins {
	pool, _ := w.draw(2000)
	return NewScoreBins(Quantiles(pool, nil, bins, nil), pool, nil, true)
}

// TestIntervalsCover: over many histograms, about 95 % of the intervals contain the truth: with
// sampling the population's, without it that of the same records. Draws are seeded, so the test
// always passes or always fails.
func TestIntervalsCover(t *testing.T) {
	draws, chance := testlevel.N(t, 50, 2000), 0.
	if draws == 50 {
		chance = .083 // three standard errors of a coverage of .96
	}
	w := world{rand.New(rand.NewPCG(1, 2))}
	z, yes := w.draw(400_000)
	population := MeasureExactly(z, yes, true)
	for _, c := range []struct {
		name         string
		records      int
		scale        float64
		sites, parts int
	}{
		{"12 × 2,500, ε = 1", 30_000, 2, 12, 20}, {"12 × 2,500, ε = .3", 30_000, 2 / .3, 12, 20},
		{"4 × 230, ε = 1", 920, 2, 4, 10}, {"4 × 230, ε = .3", 920, 2 / .3, 4, 10}, {"no noise", 3000, 0, 1, 20},
	} {
		s := w.scale(c.parts)
		var auc, slope, brier, intercept, here, hereSlope tally
		for range draws {
			z, yes := w.draw(c.records)
			h := w.histogram(s, z, yes, c.scale, c.sites)
			truth := MeasureExactly(z, yes, true)
			of := s.Performance(h, nil)
			here.add(of.AUC, truth.AUC)
			hereSlope.add(of.Slope, truth.Slope)
			h.ForPopulation = true
			of = s.Performance(h, nil)
			auc.add(of.AUC, population.AUC)
			slope.add(of.Slope, population.Slope)
			brier.add(of.Brier, population.Brier)
			intercept.add(of.Intercept, population.Intercept)
		}
		for name, of := range map[string]tally{"AUC": auc, "slope": slope, "Brier": brier,
			"AUC of these": here, "slope of these": hereSlope} {
			if c.scale == 0 && (name == "slope of these" || name == "AUC of these") {
				continue // only the scatter within bins is uncertain
			}
			if held := float64(of.held) / float64(max(of.known, 1)); held < .9-chance ||
				held > .99+chance || of.known < draws/2 {
				t.Errorf("%s: %s: %s", c.name, name, of)
			}
		}
		t.Logf("%-20s auc %s; slope %s; brier %s; intercept %s; these records: auc %s, slope %s", c.name, auc, slope, brier, intercept, here, hereSlope)
	}
}

// TestBinsAlone: without noise and sampling, only the scatter within bins is uncertain. The
// coverage depends on the pool, which is drawn anew each time. Draws are seeded.
func TestBinsAlone(t *testing.T) {
	draws := testlevel.N(t, 100, 2000)
	w := world{rand.New(rand.NewPCG(3, 4))}
	var auc, slope tally
	for range draws {
		s := w.scale(20)
		z, yes := w.draw(3000)
		of, truth := s.Performance(w.histogram(s, z, yes, 0, 1), nil), MeasureExactly(z, yes, true)
		auc.add(of.AUC, truth.AUC)
		slope.add(of.Slope, truth.Slope)
	}
	t.Logf("auc %s; slope %s", auc, slope)
	// The AUC's interval contains the truth in less than 95 %. This matters little: its error is
	// about a twentieth of the sampling error of as many records.
	for name, of := range map[string]tally{"AUC": auc, "slope": slope} {
		if held := float64(of.held) / float64(draws); held < 0.75 || of.off/float64(draws) > 0.01 {
			t.Errorf("%s: %s", name, of)
		}
	}
}

type tally struct {
	n, known, held, low, high int
	bias, sd, off             float64
}

func (t *tally) add(n Number, truth float64) {
	t.n++
	if !n.Known() || math.IsNaN(truth) {
		return
	}
	t.known++
	if n.Covers(truth) {
		t.held++
	} else if n.Low > truth {
		t.high++
	} else {
		t.low++
	}
	t.bias += n.Value - truth
	t.off += math.Abs(n.Value - truth)
	t.sd += n.SD
}

func (t tally) String() string {
	k := float64(max(t.known, 1))
	return fmt.Sprintf("%.3f of %d/%d (low %d high %d), bias %.4f, off %.4f, sd %.4f", float64(t.held)/k, t.known, t.n, t.low, t.high, t.bias/k, t.off/k, t.sd/k)
}
