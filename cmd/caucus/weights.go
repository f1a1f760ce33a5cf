package main

import (
	"fmt"
	"io"

	"caucus/study"
	"caucus/study/reweigh/weighed"
)

// shownResiduals is the most residuals in the text; the JSON document has all.
const shownResiduals = 3

// printWeights says how far the weights of a reweigh release can be trusted.
func printWeights(w io.Writer, r study.Release) {
	out, err := weighed.WeightsOf(r)
	if err != nil { // a release of another kind
		return
	}
	fmt.Fprintf(w, "weights: by effective sample size the pool's %d rows count as %.0f; one row holds at most %.2f %% of all weight; ridge λ = %.3g\n",
		len(out.Weight), out.EffectiveRows, 100*out.Largest, out.Lambda)
	if out.WorstNoise == 0 {
		fmt.Fprintln(w, "noise: all weights are equal, so they hold no noise")
	} else {
		fmt.Fprintf(w, "noise: moves the share of any condition by a standard deviation of at most %.4f (Ji & Elkan 2013, Theorem 2, to first order)\n", out.WorstNoise)
	}
	for i, r := range out.Residuals {
		if i == shownResiduals {
			break
		}
		fmt.Fprintf(w, "residual: the mean of %s (0 and 1 are its bounds) is %.3f as released (standard deviation of noise %.3f), %.3f in the weighted pool, %.3f in the pool\n", r.Feature, r.ReleasedMean, r.NoiseSD, r.WeightedMean, r.PoolMean)
	}
	for _, g := range out.Gaps {
		fmt.Fprintf(w, "support gap: the mean of %s (0 and 1 are its bounds) is %.3f as released (standard deviation of noise %.3f), %.3f in the weighted pool\n", g.Feature, g.ReleasedMean, g.NoiseSD, g.WeightedMean)
	}
}
