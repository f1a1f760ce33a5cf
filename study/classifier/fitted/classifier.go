package fitted

import (
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/fitting"
	"caucus/study"
	"caucus/study/classifier"
)

const (
	sharesAlone = "the noise leaves nothing better than the classes' released shares: every record is given the same class and the same numbers. Use more parties, a larger ε or a finer unit"
	publicAlone = "the noise leaves nothing of what the parties released: every record is given the class shares that the plan names, and nothing else is in the classifier. Use more parties, a larger ε or a finer unit"
)

// New writes a fit into the form of releases, with weights d×1 or d×K. Its warnings say if noise
// left nothing but the classes' shares.
func New(p study.Plan, fit fitting.Fit, gives classifier.Output) (classifier.Classifier,
	[]string) {
	d, c := fit.Model.W.Dims()
	w := make([][]float64, d)
	for i := range w {
		w[i] = mat.Row(nil, i, fit.Model.W)[:c]
	}
	var warnings []string
	switch {
	case fit.UsesOnlyShares:
		warnings = append(warnings, publicAlone)
	case fit.Lambda == 0:
		warnings = append(warnings, sharesAlone)
	}
	return classifier.Classifier{Weights: w, Classes: p.Schema.Classes(), Output: gives,
		Lambda: fit.Lambda, Path: fit.Path}, warnings
}
