package validation

import (
	"math"
	"slices"
)

// ExactPerformance holds Performance's numbers, from scores without bins or noise, for comparison.
// NaN is a missing number.
type ExactPerformance struct {
	Records    int              `json:"records"`
	Prevalence float64          `json:"prevalence"`
	AUC        float64          `json:"auc"`
	Slope      float64          `json:"slope"`
	Intercept  float64          `json:"intercept"`
	Brier      float64          `json:"brier"`
	Thresholds []ExactThreshold `json:"thresholds,omitempty"`
}

// ExactThreshold is the result of calling all records positive whose score is a threshold or more.
type ExactThreshold struct {
	Sensitivity float64 `json:"sensitivity"`
	Specificity float64 `json:"specificity"`
}

// MeasureExactly computes ExactPerformance from scores, class memberships, and thresholds on the
// scale of the scores.
func MeasureExactly(z []float64, positive []bool, logOdds bool,
	thresholds ...float64) ExactPerformance {
	out := ExactPerformance{Records: len(z)}
	order := make([]int, len(z))
	for i := range order {
		order[i] = i
		if positive[i] {
			out.Prevalence += 1 / float64(len(z))
		}
		if logOdds {
			d := sigmoid(z[i])
			if positive[i] {
				d = 1 - d
			}
			out.Brier += d * d / float64(len(z))
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case z[a] < z[b]:
			return -1
		case z[a] > z[b]:
			return 1
		}
		return 0
	})
	var below, p, n, u float64
	for at := 0; at < len(order); {
		end, yes, no := at, 0.0, 0.0
		for ; end < len(order) && z[order[end]] == z[order[at]]; end++ {
			if positive[order[end]] {
				yes++
			} else {
				no++
			}
		}
		u += yes * (below + no/2)
		below += no
		p, n, at = p+yes, n+no, end
	}
	out.AUC = u / (p * n)
	if len(z) == 0 {
		out.Prevalence = math.NaN()
	}
	if !logOdds || len(z) == 0 {
		out.Brier = math.NaN()
	}
	for _, at := range thresholds {
		t := ExactThreshold{Sensitivity: 0 / p, Specificity: 0 / n} // without records these are NaN
		for i, v := range z {
			switch above := v+1e-9*(1+math.Abs(v)) >= at; {
			case above && positive[i]:
				t.Sensitivity += 1 / p
			case !above && !positive[i]:
				t.Specificity += 1 / n
			}
		}
		out.Thresholds = append(out.Thresholds, t)
	}
	out.Intercept, out.Slope = FitLogistic(z, positive)
	return out
}

// FitLogistic fits the log-odds of the class as intercept + slope·z by maximum likelihood. NaN if
// no finite line fits.
func FitLogistic(z []float64, positive []bool) (intercept, slope float64) {
	for range 100 {
		var s0, s1, h00, h01, h11 float64
		for i, v := range z {
			q := sigmoid(intercept + slope*v)
			r := -q
			if positive[i] {
				r = 1 - q
			}
			w := q * (1 - q)
			s0, s1 = s0+r, s1+r*v
			h00, h01, h11 = h00+w, h01+w*v, h11+w*v*v
		}
		det := h00*h11 - h01*h01
		if !(det > 1e-12*h00*h11) {
			break
		}
		da, db := (h11*s0-h01*s1)/det, (h00*s1-h01*s0)/det
		if size := max(math.Abs(da), math.Abs(db)); size > 4 {
			da, db = da*4/size, db*4/size
		}
		intercept, slope = intercept+da, slope+db
		if math.Abs(da)+math.Abs(db) < 1e-10 {
			return intercept, slope
		}
	}
	return math.NaN(), math.NaN()
}
