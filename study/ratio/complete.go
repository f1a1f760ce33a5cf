package ratio

import (
	"cmp"
	"fmt"
	"math"

	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
)

// DefaultMechanism is the mechanism of a ratio plan that names none.
func DefaultMechanism(features string) string {
	if features == FeaturesNoisyEmbedding {
		return "gaussian-zcdp"
	}
	return "auto"
}

// Complete chooses unit label, or record for noisy embeddings; gaussian-zcdp for these, else auto;
// and noise at the site.
func (Kind) Complete(p *study.Plan, s study.Proposal) error {
	var given Terms
	if err := s.DecodeTerms(&given); err != nil {
		return err
	}
	t := given.completed(len(p.Schema.Label.Classes))
	if p.Unit == 0 {
		p.Unit = privacy.Label
		if t.Features == FeaturesNoisyEmbedding {
			p.Unit = privacy.Record
		}
	}
	p.Noise, p.Mechanism = cmp.Or(p.Noise, study.NoiseSite), cmp.Or(p.Mechanism,
		DefaultMechanism(t.Features))
	p.Delta = s.DefaultDelta(*p)
	return p.SetTerms(t)
}

// Tune chooses the width of embeddings.
func (Kind) Tune(p *study.Plan, pool *auxdata.Pool) error {
	t := study.TermsOf[Terms](*p)
	if err := t.ChooseWidth(pool); err != nil {
		return err
	}
	return p.SetTerms(t)
}

func (t Terms) completed(classes int) Terms {
	full := DefaultTerms()
	full.Sets, full.Features = cmp.Or(t.Sets, full.Sets), cmp.Or(t.Features, full.Features)
	full.Estimator = cmp.Or(t.Estimator, full.Estimator)
	full.MaxRecords, full.SetSize = cmp.Or(t.MaxRecords, full.MaxRecords), cmp.Or(t.SetSize,
		full.SetSize)
	switch full.Sets {
	case SetsParty:
		full.MaxSets = 1
	case SetsMade: // one set for each class
		full.MaxSets = classes
	}
	full.MaxSets = cmp.Or(t.MaxSets, full.MaxSets)
	if full.Fourier = cmp.Or(t.Fourier, full.Fourier); t.Features == FeaturesClear {
		full.Fourier = t.Fourier // 0 means the exact kernel, without random features
	}
	full.Skew, full.Expected, full.Gamma = t.Skew, t.Expected, t.Gamma
	return full
}

// ShareError is the mean absolute error of one share of a set of SetSize records, by noise alone;
// warning is set above hopelessShareError.
func (t Task) ShareError() (off float64, warning string, err error) {
	p, d, terms := t.Plan(), t.Design, t.Design.Terms
	if terms.Features != FeaturesNoisyEmbedding {
		off = privacy.ExpectedCountError(d.Mechanism, privacy.CountTerms{
			Unit: privacy.Label, Classes: d.Classes, Total: int64(terms.SetSize), Budget: p.Budget(),
		})
	} else {
		// The noise is normal. 1 − 1/classes leaves out the error that all counts have in common,
		// because a known size corrects this error and otherwise this error cancels (noisySets).
		variance := privacy.VarianceOf(d.Mechanism, d.Bound, 0, 2) * (1 - 1/float64(d.Classes))
		off = math.Sqrt(2/math.Pi*variance) / float64(terms.SetSize)
	}
	if off > hopelessShareError {
		warning = fmt.Sprintf("noise moves a class share of a set of %d records by %.2g on average: plan larger sets (ratio: set_size) or a larger epsilon", terms.SetSize, off)
	}
	return off, warning, nil
}

// hopelessShareError is the mean error above which a share is useless: it says little more than
// [0,1].
const hopelessShareError = 0.25

// Default values of Terms.Gamma, in units of one over the pool's median squared distance. A large
// γ, a narrow kernel, separates classes better (about 3 is best for the data set adult, 4 to 8 for
// MNIST). A small γ tolerates more noise.
const (
	usualWidth = 3.0
	noisyWidth = 1.0
)

// ChooseWidth sets Gamma, the kernel width of embeddings, from the pool if the plan leaves it open.
func (t *Terms) ChooseWidth(pool *auxdata.Pool) error {
	if t.Gamma != 0 || t.Features == FeaturesClear {
		return nil
	}
	scale, err := MedianDistance(pool)
	if err != nil {
		return fmt.Errorf("choose the kernel's width: %w", err)
	}
	if t.Gamma = usualWidth / scale; t.Features == FeaturesNoisyEmbedding {
		t.Gamma = noisyWidth / scale
	}
	return nil
}
