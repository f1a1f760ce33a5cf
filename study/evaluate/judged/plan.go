package judged

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"caucus/aggregation/validation"
	"caucus/auxdata"
	"caucus/study"
	"caucus/study/evaluate"
)

const (
	fewBins = 10 // the default with subgroups or much noise, in place of evaluate.DefaultBins
	// standard deviation of a forecast AUC above which Tune takes fewBins
	coarse = 0.02
)

// Tune cuts the scores at the pool's quantiles and the thresholds, into 20 bins. It takes 10 bins
// if there are subgroups, or if the forecast AUC with 20 bins has a standard deviation above .02.
func (Results) Tune(p *study.Plan, pool *auxdata.Pool) error {
	t := study.TermsOf[evaluate.Terms](*p)
	if len(t.Edges) > 0 {
		return nil
	}
	bins := t.Bins
	if bins == 0 {
		bins = evaluate.DefaultBins
		if len(t.By) > 0 {
			bins = fewBins
		}
	}
	t.Bins = bins
	if t.Check(*p) != nil { // Check refuses such a plan
		return p.SetTerms(t)
	}
	given := study.TermsOf[evaluate.Terms](*p).Bins > 0
	for {
		t.Edges = edgesOf(*p, t, pool)
		if given || bins == fewBins || t.CheckEdges(p.Schema) != nil {
			break
		}
		h := newHistograms(*p, t, pool)
		sd, err := h.deviation(h.draws(len(p.Roster)))
		if err != nil {
			break // Check refuses such a plan
		}
		forecast := h.forecast(p.Size(max(len(p.Roster), 1)), sd)
		if auc := forecast[0].AUC; auc.Known() && auc.SD <= coarse {
			break
		}
		bins = fewBins
		t.Bins = bins
	}
	return p.SetTerms(t)
}

func edgesOf(p study.Plan, t evaluate.Terms, pool *auxdata.Pool) (edges [][]float64) {
	s := evaluate.NewScorer(p, t)
	var with []float64
	for _, at := range t.Thresholds {
		with = append(with, s.Cut(at))
	}
	if t.Program {
		return [][]float64{evenEdges(t.Bins, with)}
	}
	for _, scores := range s.All(pool.Encoded) {
		z, w := known(scores, pool.Weight)
		edges = append(edges, validation.Quantiles(z, w, t.Bins, with))
	}
	return edges
}

func known(z, weight []float64) (scores, weights []float64) {
	for i, v := range z {
		if v-v != 0 {
			continue
		}
		scores = append(scores, v)
		if weight != nil {
			weights = append(weights, weight[i])
		}
	}
	return scores, weights
}

// ForecastNoise assumes that records are like the pool's rows and that the model predicts the
// number of records in the class correctly.
func (f finisher) ForecastNoise(size study.Size) (words, warning string, err error) {
	p := f.Plan()
	sd, err := f.h.deviation(f.h.draws(size.Parties))
	if err != nil {
		return "", "", err
	}
	costs, err := p.NoiseCosts(f.h.Bound(), f.h.Cells())
	if err != nil {
		return "", "", err
	}
	for at, of := range f.h.forecast(size, sd) {
		words += fmt.Sprintf("%s: AUC ± %s, slope ± %s", f.h.terms.Classes[at], shortSD(of.AUC),
			shortSD(of.Slope))
		if of.Brier.Known() {
			words += ", Brier ± " + shortSD(of.Brier)
		}
		if !of.AUC.Known() {
			warning = fmt.Sprintf("the AUC is not expected to be shown (%s): use more records, a larger ε, or fewer subgroups and classes", of.AUC.Unknown)
		}
		words += "; "
		if sure := f.h.sure[at]; sure > 0 && warning == "" {
			warning = strings.TrimSpace(ClassResult{CertainScoreShare: sure}.sureWords())
		}
	}
	words += fmt.Sprintf("± is the standard deviation by noise and sampling, for about %d records in all in %d bins", size.Records, len(f.h.terms.Edges[0])+1)
	if f.h.terms.Program {
		words += ", if they lie evenly between 0 and 1 and are right, which nobody knows beforehand"
	}
	if n := len(f.h.scales) * len(f.h.Groups); n > 1 {
		words += fmt.Sprintf("; %d tables: each record counts in all of them, so the bound is %d times that of one", n, n)
	}
	for g, by := range f.h.Groups {
		for level, name := range by.Levels {
			if share := f.h.shares[g][level]; by.Column != "" && share > 0 {
				of := f.h.scales[0].Performance(f.h.scales[0].ExpectedHistogram(
					share*float64(size.Records), sd*sd),
					nil)
				words += fmt.Sprintf("\n%s %s (%.0f %% of the pool): AUC ± %s, slope ± %s", by.Column, name, 100*share, shortSD(of.AUC), shortSD(of.Slope))
			}
		}
	}
	if narrow := p.ConditionForecastText(size); narrow != "" {
		words += "\n" + narrow
	}
	return words + "\n" + p.NoiseText(costs), warning, nil
}

func shortSD(n validation.Number) string {
	if !n.Known() {
		return "(not shown: " + n.Unknown + ")"
	}
	return fmt.Sprintf("%.2g", n.SD)
}

func (h *histograms) draws(parties int) int { return h.plan.Noise.Draws(max(parties, 1)) }

func (h *histograms) forecast(size study.Size, sd float64) []validation.Performance {
	records := float64(size.Records)
	if k := h.terms.PerParty; k > 0 {
		records = math.Min(records, float64(k)*float64(size.Parties))
	}
	var out []validation.Performance
	for _, s := range h.scales {
		out = append(out, s.Performance(s.ExpectedHistogram(records, sd*sd*h.overallNoise()), nil))
	}
	return out
}

// quantile returns the score below which a share u of a program's scores is assumed to lie. It is
// twice the log-odds of u, so that bins of small probabilities are narrow: u = .1, .2, .3, .4, .5
// give the probabilities .012, .06, .16, .31 and .5.
func quantile(u float64) float64 { return 2 * math.Log(u/(1-u)) }

func evenEdges(bins int, with []float64) []float64 {
	edges := slices.Clone(with)
	for k := 1; k < bins; k++ {
		edges = append(edges, math.Round(1000*quantile(float64(k)/float64(bins)))/1000)
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}

// spread invents scores of a pool's rows, three for each bin. Weights make probabilities uniform on
// [0,1].
func spread(bins int) (z, weight []float64) {
	n := 3 * bins
	for i := range n {
		u := (float64(i) + 0.5) / float64(n)
		p := 1 / (1 + math.Exp(-quantile(u)))
		z, weight = append(z, quantile(u)), append(weight, p*(1-p)/(u*(1-u)))
	}
	return z, weight
}
