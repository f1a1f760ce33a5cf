package study

import (
	"fmt"
	"math"

	"caucus/auxdata"
	"caucus/privacy"
)

// DefaultRatioMechanism is what a ratio plan uses where it names none.
func DefaultRatioMechanism(features string) string {
	if features == FeaturesNoisyEmbedding {
		return "gaussian-zcdp"
	}
	return "auto"
}

// complete fills in the terms of a ratio plan that a proposal (nil: none)
// leaves out, and what the plan takes from them.
func (t *RatioTerms) complete(p *Plan) {
	full := DefaultRatioTerms()
	if t != nil {
		set := func(to *string, from string) {
			if from != "" {
				*to = from
			}
		}
		number := func(to *int, from int) {
			if from != 0 {
				*to = from
			}
		}
		set(&full.Sets, t.Sets)
		set(&full.Features, t.Features)
		set(&full.Estimator, t.Estimator)
		number(&full.MaxSets, t.MaxSets)
		number(&full.MaxRecords, t.MaxRecords)
		number(&full.SetSize, t.SetSize)
		if number(&full.Fourier, t.Fourier); t.Features == FeaturesClear {
			full.Fourier = t.Fourier // 0: the kernel itself
		}
		full.Skew, full.Expected, full.Gamma = t.Skew, t.Expected, t.Gamma
		if t.MaxSets == 0 && full.Sets == SetsParty {
			full.MaxSets = 1
		}
	} else {
		full.MaxSets = 1
	}
	p.Ratio = &full
	if p.Unit == 0 {
		p.Unit = privacy.Label
		if full.Features == FeaturesNoisyEmbedding {
			p.Unit = privacy.Record
		}
	}
	if p.Noise == "" {
		p.Noise = NoiseSite
	}
	if p.Mechanism == "" {
		p.Mechanism = DefaultRatioMechanism(full.Features)
	}
}

// shareError forecasts, from public terms alone, how far noise moves one class
// share of a set of SetSize records on average, before projection.
func (p Plan) shareError() (float64, error) {
	d, err := ratioTerms(p)
	if err != nil {
		return 0, err
	}
	if p.Ratio.Features != FeaturesNoisyEmbedding {
		return privacy.ExpectedCountError(d.Mechanism, privacy.CountTerms{
			Unit: privacy.Label, Classes: d.classes, Total: int64(p.Ratio.SetSize), Budget: p.Budget(),
		}), nil
	}
	// Normal noise; the set's size is known, or its error is shared by all counts.
	variance := privacy.VarianceOf(d.Mechanism, d.Bound, 0, 2) * (1 - 1/float64(d.classes))
	return math.Sqrt(2/math.Pi*variance) / float64(p.Ratio.SetSize), nil
}

// hopelessShareError: a share that is off by a quarter on average tells little
// more than that it is between 0 and 1.
const hopelessShareError = 0.25

// shareWarning says that a plan's sets are too small for its budget.
func (p Plan) shareWarning(off float64) string {
	if off <= hopelessShareError {
		return ""
	}
	return fmt.Sprintf("noise moves a class share of a set of %d records by %.2g on average: plan larger sets (ratio: set_size) or a larger epsilon", p.Ratio.SetSize, off)
}

// Kernel widths in units of one over the pool's median squared distance, where
// a plan names none. Narrow kernels tell classes apart better (held-out sets of
// adult choose about 3, of MNIST 4 to 8), wide ones bear noise better.
const (
	usualWidth = 3.0
	noisyWidth = 1.0
)

// chooseWidth fills in the width of a ratio plan's embeddings from the pool.
func (p *Plan) chooseWidth(pool *auxdata.Pool) error {
	if p.Ratio == nil || p.Ratio.Gamma != 0 || p.Ratio.Features == FeaturesClear {
		return nil
	}
	scale, err := RatioScale(pool)
	if err != nil {
		return fmt.Errorf("choose the kernel's width: %w", err)
	}
	terms := *p.Ratio
	if terms.Gamma = usualWidth / scale; terms.Features == FeaturesNoisyEmbedding {
		terms.Gamma = noisyWidth / scale
	}
	p.Ratio = &terms
	return nil
}
