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

// Possible returns the estimate or, if noise made the estimate impossible, the nearest end of its
// interval.
func (e Estimate) Possible() float64 { return min(max(e.Value, e.Low), e.High) }

// Noisy is a number with independent noise of this variance.
type Noisy struct{ Value, Variance float64 }

// Ratio estimates above/below, two numbers with independent noises. perRecord is the variance of
// what one record adds to above − (above/below)·below, for the sampling error. The intervals are
// Fieller's (1954): all x for which above − x·below is within 1.96 standard deviations of 0. Ratio
// returns nil (unknown) if below is less than LeastTotal standard deviations of its noise.
func Ratio(above, below Noisy, perRecord float64) *Estimate {
	n := below.Value
	if !(n > 0) || n < aggregation.LeastTotal*math.Sqrt(below.Variance) {
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

// Share is Ratio for a number of records and the number of all, a part of which they are.
func Share(above, below Noisy) *Estimate {
	e := Ratio(above, below, 0)
	if e == nil {
		return nil
	}
	// A share of 0 or 1 would have no sampling error, so assume at least one record in and one not
	// in the share.
	p := math.Min(math.Max(e.Value, 1/below.Value), 1-1/below.Value)
	return Ratio(above, below, p*(1-p)).Within(0, 1)
}

// Within cuts off the intervals at low and high. It does not change the value.
func (e *Estimate) Within(low, high float64) *Estimate {
	if e == nil {
		return nil
	}
	for _, v := range []*float64{&e.Low, &e.High, &e.NoiseLow, &e.NoiseHigh} {
		*v = math.Min(math.Max(*v, low), high)
	}
	return e
}

// Scaled applies an increasing function to the value and the ends of the intervals. nil stays nil.
func (e *Estimate) Scaled(f func(float64) float64) *Estimate {
	if e == nil {
		return nil
	}
	return &Estimate{f(e.Value), f(e.Low), f(e.High), f(e.NoiseLow), f(e.NoiseHigh)}
}
