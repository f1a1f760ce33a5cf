package ratio

import (
	"errors"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
)

// WidthChoosingOptions configure a fit that may choose its kernel's width.
type WidthChoosingOptions struct {
	Estimator string
	// Gamma is the kernel's width; 0 chooses the width that estimates held-out sets best.
	Gamma float64
	// Fourier compares embeddings of width Gamma; nil compares rows by the kernel itself.
	Fourier *embedding.Fourier
	// Pool holds the public pool's mapped rows (n×d), for the rank of embeddings. Scale is their
	// MedianSquaredDistance, for the search of widths.
	Pool  *mat.Dense
	Scale float64
}

// mostSearched limits the length of embeddings in the search. This is enough to compare widths.
const mostSearched = 1000

// FitChoosingWidth fits a model, and returns its width and the search for the width. A *Refusal
// gives the reason if the sets support no model. rng splits the sets and is public.
func FitChoosingWidth(sets []Set, o WidthChoosingOptions, rng *rand.Rand) (model *Model,
	gamma float64,
	widths []WidthCandidate, err error) {
	if len(sets) == 0 {
		return nil, o.Gamma, nil, &Refusal{Reason: TooFewSets,
			Advice: "no set has two records or more"}
	}
	if gamma = o.Gamma; gamma == 0 {
		w := WidthOptions{Estimator: o.Estimator, SquaredDistance: o.Scale}
		if o.Fourier != nil {
			f := *o.Fourier
			f.Features = min(f.Features, mostSearched)
			w.Fourier = &f
		}
		if gamma, widths, err = SelectWidth(sets, w, rng); err != nil {
			var refusal *Refusal
			if !errors.As(err, &refusal) {
				return nil, gamma, widths, err
			}
			gamma = 1 / o.Scale // the usual width, because no set can be held out
		}
	}
	m := Options{Estimator: o.Estimator}
	if o.Fourier != nil {
		f := *o.Fourier
		f.Gamma = gamma
		m.Fourier, m.EffectiveRank = &f, EffectiveRank(RBF(gamma), o.Pool)
	} else {
		m.Kernel = RBF(gamma)
	}
	model, err = Fit(sets, m)
	return model, gamma, widths, err
}
