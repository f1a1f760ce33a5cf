package lifetable

import (
	"fmt"
	"math"
	"slices"

	"caucus/study"
	"caucus/study/survival"
)

// Forecast says how wide the interval of the smallest group's survival at the end of the curve will
// be. It follows from public inputs alone.
type Forecast struct {
	Events float64 // expected in the smallest group, over all sites
	// SD is the expected standard deviation of survival, Private with noise, of all records without
	// privacy (Pooled), and of one site's alone without privacy (Alone), as if all sites
	// were of one size: a plan knows no site's own. The largest site is better off alone.
	Private, Pooled, Alone float64
}

// Worth reports whether the release is expected to have narrower intervals than one site alone.
func (f Forecast) Worth() bool { return f.Private < f.Alone }

// forecast expects the plan's share of events at an even hazard, and nobody else to leave before
// the end.
func forecast(edges []float64, columns int, shares []float64, size study.Size, share,
	variance float64) Forecast {
	n := float64(size.Records) * slices.Min(shares)
	c := counts{columns: float64(columns - 1), variance: variance, beyond: n * (1 - share)}
	last, rate, end := n, -math.Log1p(-share), edges[len(edges)-1]
	for _, e := range edges {
		left := n * math.Exp(-rate*e/end)
		c.events, c.censored = append(c.events, last-left), append(c.censored, 0)
		last = left
	}
	f := Forecast{Events: n * share}
	h := newHazards(c)
	exact := c
	exact.variance = 0
	full := newHazards(exact)
	if full.known() == 0 {
		f.Private, f.Pooled, f.Alone = math.Inf(1), math.Inf(1), math.Inf(1)
		return f
	}
	sampling, _ := full.spread(unit(full.known() - 1))
	s := math.Exp(full.logS[full.known()-1])
	f.Pooled = s * math.Sqrt(sampling)
	f.Alone = f.Pooled * math.Sqrt(float64(size.Parties)) // of equal sites
	if f.Private = math.Inf(1); h.known() == len(edges) {
		sampling, noise := h.spread(unit(h.known() - 1))
		f.Private = s * math.Sqrt(sampling+noise)
	}
	return f
}

// ForecastNoise implements study.NoiseForecaster. It warns where the curve is no narrower than one
// equal site's alone, and says whether four intervals would be.
func (f finisher) ForecastNoise(size study.Size) (string, string, error) {
	p := f.Plan()
	t := study.TermsOf[survival.Terms](p)
	sd, err := f.Counted.Deviation(p.Noise.Draws(max(size.Parties, 1)))
	if err != nil {
		return "", "", err
	}
	costs, err := p.NoiseCosts(f.Counted.Bound(), f.Counted.Cells())
	if err != nil {
		return "", "", err
	}
	shares := f.Counted.GroupShares(f.Pool())
	edges, columns := f.Counted.Edges, f.Counted.Columns
	got := forecast(edges, columns, shares, size, t.Expected, sd*sd)
	words, warning := fmt.Sprintf("the smallest group is expected to have %.0f events; its survival at %g then has a 95 %% interval of ± %s, of all records without privacy ± %s, of one of %d equal sites alone ± %s points (%d intervals)",
		got.Events, t.Until, points(got.Private), points(got.Pooled), size.Parties,
		points(got.Alone), len(edges)), ""
	if !got.Worth() {
		warning = "the curve is not expected to be narrower than that of one of equally large sites alone: use "
		few := []float64{t.Until / 4, t.Until / 2, 3 * t.Until / 4, t.Until}
		if forecast(few, columns, shares, size, t.Expected, sd*sd).Worth() {
			warning += "fewer intervals (bins: 4)"
		} else {
			warning += "more records, fewer groups, a larger ε, or two servers"
		}
	}
	if narrow := p.ConditionForecastText(size); narrow != "" {
		words += "\n" + narrow
	}
	return words + "\n" + p.NoiseText(costs), warning, nil
}

func points(sd float64) string {
	if math.IsInf(sd, 0) {
		return "unknown (the curve ends before)"
	}
	return fmt.Sprintf("%.1f", 100*z95*sd)
}
