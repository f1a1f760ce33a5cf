package described

import (
	"math"

	"caucus/aggregation"
	"caucus/aggregation/fitting"
	"caucus/study/describe"
)

// Estimate is a number with its uncertainty.
type Estimate = fitting.Estimate

type sampled = fitting.NoisyNumber

const leastTotal = aggregation.MinTotalSDs

// number holds the released values of a numeric column in one group: bin counts and two within-bin
// sums.
type number struct {
	of            describe.Column
	bins          []float64
	first, second float64
	total         sampled // number of records that are in a bin
	noise         float64 // variance of the noise on a count
	binned        bool    // total is the released count of a group and not the sum of bins
}

// middle returns the middle of bin k in [0,1], minus the mean of all middles. So Σₖ middle(k) = 0,
// which makes the noise of Σₖ countₖ·middle(k) uncorrelated with the noise of Σₖ countₖ, for bins
// of any width.
func (n number) middle(k int) float64 { return n.of.BinMiddles[k] - n.of.MeanMiddle }

// moments estimates mean and standard deviation of the number, scaled to [0,1]; nil is unknown. It
// estimates the sums over records of v−c and (v−c)², where v is the number, m its bin's middle and
// c the mean of all middles. Counts times m−c and (m−c)² give the sums for bin middles, and the
// within-bin sums correct them, because (v−c)² − (m−c)² = (v−½)² − (m−½)² + 2(½−c)(v−m).
func (n number) moments() (mean, sd *Estimate) {
	w, off := n.of.WidestBin, 0.5-n.of.MeanMiddle
	one, two, squares, fourth := w*n.first, w*n.second+2*off*w*n.first, 0.0, 0.0
	for k, c := range n.bins {
		m := n.middle(k)
		one, two = one+m*c, two+m*m*c
		squares += m * m
	}
	if n.total.Value <= 0 {
		return nil, nil
	}
	m1, m2 := one/n.total.Value, two/n.total.Value
	variance := m2 - m1*m1
	outer := describe.WithinBinNoise * describe.WithinBinNoise * w * w * n.noise
	mean = fitting.EstimateRatio(sampled{Value: one, Variance: squares*n.noise + outer}, n.total,
		math.Max(variance, 0)).Transform(func(v float64) float64 {
		return v + n.of.MeanMiddle
	})
	if mean == nil || !(variance > 0) {
		return mean.ClipIntervals(0, 1), nil
	}
	noise := outer * (1 + 4*(off-m1)*(off-m1))
	for k, c := range n.bins {
		off := n.middle(k) - m1
		fourth += off * off * off * off * math.Max(c, 0) / n.total.Value
		if n.binned {
			off = n.middle(k)*n.middle(k) - 2*m1*n.middle(k)
		} else {
			off = off*off - variance
		}
		noise += off * off * n.noise
	}
	if n.binned {
		noise += (variance - m1*m1) * (variance - m1*m1) * n.total.Variance
	}
	noise /= n.total.Value * n.total.Value
	sampling := math.Max(fourth-variance*variance, 0) / n.total.Value
	at := func(off float64) float64 { return math.Sqrt(math.Max(0, variance+off)) }
	wide, narrow := aggregation.Normal95*math.Sqrt(noise+sampling),
		aggregation.Normal95*math.Sqrt(noise)
	sd = &Estimate{Value: at(0), Low: at(-wide), High: at(wide), NoiseLow: at(-narrow),
		NoiseHigh: at(narrow)}
	return mean.ClipIntervals(0, 1), sd.ClipIntervals(0, 0.5)
}

// quantile bounds the p-quantile between two edges, from and to, which are 0 and len(bins) if
// nothing is known. An edge is below the quantile if significantly fewer than a share p of the
// records are below that edge. Tests for from go up from the lowest edge, and stop at the first
// edge that is not below; tests for to go down from the highest. A first false result can only be
// at the first edge past the quantile, so an error probability of 2.5 % at each edge holds for all
// (a fixed sequence of tests; a simultaneous band would be wider). ok is false if noise hides the
// total.
func (n number) quantile(p float64, sampling bool) (from, to int, ok bool) {
	bins, total := len(n.bins), sumOf(n.bins)
	if !(total > 0) || total < leastTotal*math.Sqrt(float64(bins)*n.noise) {
		return 0, 0, false
	}
	// beyond[j] is the number of records below edge j minus p·total, which is (1−p) times the
	// number below minus p times the number not below.
	beyond := make([]float64, bins)
	below := 0.0
	for j := 1; j < bins; j++ {
		below += n.bins[j-1]
		variance := n.noise * ((1-p)*(1-p)*float64(j) + p*p*float64(bins-j))
		if sampling {
			variance += total * p * (1 - p)
		}
		beyond[j] = below - p*total
		if edge := aggregation.Normal95 * math.Sqrt(variance); math.Abs(beyond[j]) <= edge {
			beyond[j] = 0
		}
	}
	for from+1 < bins && beyond[from+1] < 0 {
		from++
	}
	for to = bins; to-1 > 0 && beyond[to-1] > 0; to-- {
	}
	return from, to, true
}

func quantileOf(counts, edges []float64, p float64) float64 {
	left := p * sumOf(counts)
	for k, c := range counts {
		if c > 0 && left <= c {
			return edges[k] + (edges[k+1]-edges[k])*left/c
		}
		left -= c
	}
	return edges[len(edges)-1]
}
