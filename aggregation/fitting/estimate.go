package fitting

import (
	"math"

	"caucus/aggregation"
)

// Estimate is a number with its uncertainty. It is computed from the released counts, which may be
// negative, because raising them to 0 for display makes small counts too large on average.
type Estimate struct {
	Value float64 `json:"value"`
	// Low and High bound a 95 % interval for the population of which the sites' records are a
	// random sample: it covers noise and sampling. NoiseLow and NoiseHigh bound one for the sites'
	// records themselves: it covers noise alone.
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	NoiseLow  float64 `json:"noise_low"`
	NoiseHigh float64 `json:"noise_high"`
}

// NearestPossible returns the estimate or, if noise made the estimate impossible, the nearest end
// of its interval.
func (e Estimate) NearestPossible() float64 { return min(max(e.Value, e.Low), e.High) }

// NoisyNumber is a number with independent noise of this variance.
type NoisyNumber struct{ Value, Variance float64 }

// EstimateRatio estimates above/below, two numbers with independent noises. perRecord is the
// variance of what one record adds to above − (above/below)·below, for the sampling error. The
// intervals are Fieller's (1954): all x for which above − x·below is within 1.96 standard
// deviations of 0. EstimateRatio returns nil (unknown) if below is less than MinTotalSDs standard
// deviations of its noise.
func EstimateRatio(above, below NoisyNumber, perRecord float64) *Estimate {
	n := below.Value
	if !(n > 0) || n < aggregation.MinTotalSDs*math.Sqrt(below.Variance) {
		return nil
	}
	e := Estimate{Value: above.Value / n}
	fieller := func(variance float64) (low, high float64) {
		z2 := aggregation.Normal95 * aggregation.Normal95
		a, b := n*n-z2*below.Variance, above.Value*n
		root := math.Sqrt(math.Max(0,
			z2*(n*n*variance+above.Value*above.Value*below.Variance-z2*variance*below.Variance)))
		return (b - root) / a, (b + root) / a
	}
	e.Low, e.High = fieller(above.Variance + n*math.Max(0, perRecord))
	e.NoiseLow, e.NoiseHigh = fieller(above.Variance)
	return &e
}

// EstimateShare is EstimateRatio for a number of records and the number of all, a part of which
// they are.
func EstimateShare(above, below NoisyNumber) *Estimate {
	e := EstimateRatio(above, below, 0)
	if e == nil {
		return nil
	}
	// A share of 0 or 1 would have no sampling error, so assume at least one record in and one not
	// in the share.
	p := math.Min(math.Max(e.Value, 1/below.Value), 1-1/below.Value)
	return EstimateRatio(above, below, p*(1-p)).ClipIntervals(0, 1)
}

// ClipIntervals cuts off the intervals at low and high. It does not change the value.
func (e *Estimate) ClipIntervals(low, high float64) *Estimate {
	if e == nil {
		return nil
	}
	for _, v := range []*float64{&e.Low, &e.High, &e.NoiseLow, &e.NoiseHigh} {
		*v = math.Min(math.Max(*v, low), high)
	}
	return e
}

// Transform applies an increasing function to the value and the ends of the intervals. nil stays
// nil.
func (e *Estimate) Transform(f func(float64) float64) *Estimate {
	if e == nil {
		return nil
	}
	return &Estimate{f(e.Value), f(e.Low), f(e.High), f(e.NoiseLow), f(e.NoiseHigh)}
}
