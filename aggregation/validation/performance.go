package validation

import (
	"math"

	"caucus/aggregation/binning"
)

// Performance holds the measures of a score, from a histogram.
type Performance struct {
	// Records counts records with a label and a score. Positives counts those of the class.
	Records    Number `json:"records"`
	Positives  Number `json:"positives"`
	Prevalence Number `json:"prevalence"`
	AUC        Number `json:"auc"`
	// Slope and Intercept give the log-odds of the class as Intercept + Slope·score. They are 1 and
	// 0 for calibrated scores in log-odds. InTheLarge is the intercept at slope 1.
	Slope      Number `json:"slope"`
	Intercept  Number `json:"intercept"`
	InTheLarge Number `json:"in_the_large"`
	// Brier is the mean squared difference of probability and outcome.
	Brier      Number             `json:"brier"`
	Thresholds []Threshold        `json:"thresholds,omitempty"`
	Bins       []CalibrationPoint `json:"bins"`
}

// Threshold is the result of calling all records with a score of Cutoff or more positive.
type Threshold struct {
	Cutoff      float64 `json:"at"`
	Sensitivity Number  `json:"sensitivity"`
	Specificity Number  `json:"specificity"`
	// NetBenefit is (true positives − false positives·at/(1−at)) per record.
	NetBenefit Number `json:"net_benefit"`
}

// CalibrationPoint is one point of the calibration curve: the pool's mean probability (or score) in
// a bin, and the class's share of the bin's records.
type CalibrationPoint struct {
	Mean      float64 `json:"mean"`
	Observed  Number  `json:"observed"`
	Positives float64 `json:"positives"` // the released count of the class
	Negatives float64 `json:"negatives"`
}

const noProbability = "the score is no probability"

// Performance computes all measures. thresholds must be edges of the scale: probabilities for
// log-odds, else scores.
func (s ScoreBins) Performance(h Histogram, thresholds []float64) Performance {
	all := func(int) (c, d [2]float64) { return [2]float64{1, 0}, [2]float64{1, 1} }
	out := Performance{
		Records:    h.count(func(int) (float64, float64) { return 1, 1 }),
		Positives:  h.count(func(int) (float64, float64) { return 1, 0 }),
		Prevalence: h.ratio(all).within(0, 1),
	}
	var fit line
	fit, out.Slope, out.Intercept = s.fit(h)
	out.AUC = s.auc(h, fit)
	out.InTheLarge, out.Brier = unknown(noProbability), unknown(noProbability)
	if s.LogOdds {
		out.InTheLarge, out.Brier = s.inTheLarge(h), s.brier(h, fit)
	}
	for _, n := range []*Number{&out.Slope, &out.Intercept, &out.AUC, &out.InTheLarge, &out.Brier} {
		*n = n.finite()
	}
	for _, at := range thresholds {
		out.Thresholds = append(out.Thresholds, s.threshold(h, at))
	}
	for b := range s.bins {
		out.Bins = append(out.Bins, CalibrationPoint{
			Mean: s.PoolMean(b), Positives: h.Positive[b], Negatives: h.Negative[b],
			Observed: h.ratio(func(k int) (c, d [2]float64) {
				if k == b {
					return [2]float64{1, 0}, [2]float64{1, 1}
				}
				return c, d
			}).within(0, 1),
		})
	}
	return out
}

func (s ScoreBins) threshold(h Histogram, at float64) Threshold {
	z := at
	if s.LogOdds {
		z = binning.LogOdds(at)
	}
	first := s.Bin(z) // an edge is in the bin above
	if first == 0 || z-s.Edges[first-1] > 1e-9*(1+math.Abs(z)) {
		first++ // not an edge of this scale, so count only bins that are surely above it
	}
	above := func(b int) float64 {
		if b >= first {
			return 1
		}
		return 0
	}
	out := Threshold{
		Cutoff:      at,
		Sensitivity: h.ratio(func(b int) (c, d [2]float64) { return [2]float64{above(b), 0}, [2]float64{1, 0} }).within(0, 1),
		Specificity: h.ratio(func(b int) (c, d [2]float64) { return [2]float64{0, 1 - above(b)}, [2]float64{0, 1} }).within(0, 1),
		NetBenefit:  unknown(noProbability),
	}
	if s.LogOdds && at < 1 {
		out.NetBenefit = h.ratio(func(b int) (c, d [2]float64) {
			return [2]float64{above(b), -above(b) * at / (1 - at)}, [2]float64{1, 1}
		})
	}
	return out
}

// brier assumes that records within a bin have the pool's scores, weighted towards each class by
// the fitted line. To first order, an error δ in the mean score of a bin with n records, P of the
// class, and mean probability p̄ moves the sum of squares by 2(n·p̄ − P)·p̄(1−p̄)·δ.
func (s ScoreBins) brier(h Histogram, fit line) Number {
	type moments struct{ yes, no float64 } // mean of (1−p)² over the class, of p² over the others
	of := make([]moments, len(s.bins))
	hidden, records := 0.0, 0.0
	for b, bin := range s.bins {
		var m moments
		var yes, no float64
		for _, p := range bin.points {
			q := p.p
			if fit.known {
				q = sigmoid(fit.intercept + fit.slope*p.z)
			}
			m.yes, yes = m.yes+p.weight*q*(1-p.p)*(1-p.p), yes+p.weight*q
			m.no, no = m.no+p.weight*(1-q)*p.p*p.p, no+p.weight*(1-q)
		}
		if yes > 0 {
			m.yes /= yes
		}
		if no > 0 {
			m.no /= no
		}
		of[b] = m
		mean := s.PoolMean(b)
		n := h.Positive[b] + h.Negative[b]
		d := 2 * (n*mean - h.Positive[b]) * mean * (1 - mean) * bin.hidden()
		hidden, records = hidden+d*d, records+n
	}
	out := h.ratio(func(b int) (c, d [2]float64) {
		return [2]float64{of[b].yes, of[b].no}, [2]float64{1, 1}
	})
	return out.widen(math.Sqrt(hidden)/math.Max(records, 1)).within(0, 1)
}

// ExpectedHistogram returns the histogram of records like the pool's rows, with classes by their
// log-odds. Without log-odds it uses standardised scores.
func (s ScoreBins) ExpectedHistogram(records, noise float64) Histogram {
	h := Histogram{Noise: noise, ForPopulation: true}
	var mean, square float64
	for _, b := range s.bins {
		mean += b.share * b.mean
		square += b.share * (b.mean*b.mean + b.sd*b.sd)
	}
	sd := math.Sqrt(math.Max(square-mean*mean, 0))
	for _, b := range s.bins {
		q, _, _ := b.at(0, 1)
		if !s.LogOdds {
			if q = 0.5; sd > 0 {
				q = sigmoid((b.mean - mean) / sd)
			}
		}
		h.Positive = append(h.Positive, records*b.share*q)
		h.Negative = append(h.Negative, records*b.share*(1-q))
	}
	return h
}
