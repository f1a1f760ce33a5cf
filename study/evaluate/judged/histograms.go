package judged

import (
	"math"

	"caucus/aggregation/validation"
	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/evaluate"
)

// histograms are an evaluate study's, with what its pool's rows say of them.
type histograms struct {
	*evaluate.Histograms
	plan   study.Plan
	terms  evaluate.Terms
	scales []validation.ScoreBins // the bins of each judged class
	// shares[g][l] is the share of the pool's rows in level l of grouping g
	shares [][]float64
	// sure is, for each judged class, the share of the pool's scores that are 0 or 1 or as good as
	// that.
	sure []float64
}

// sureLogOdds is the size of log-odds, beyond which a score counts as 0 or 1: 2·10⁻⁹ from there.
const sureLogOdds = 20

func newHistograms(p study.Plan, t evaluate.Terms, pool *auxdata.Pool) *histograms {
	h := &histograms{Histograms: evaluate.NewHistograms(p, t), plan: p, terms: t}
	h.read(pool)
	return h
}

// read computes, from the pool's rows, the mean score in each bin and the share of each level.
func (h *histograms) read(pool *auxdata.Pool) {
	h.sure = make([]float64, len(h.terms.Edges))
	h.scales = make([]validation.ScoreBins, len(h.terms.Edges))
	for at, scores := range h.Scorer.All(pool.Encoded) {
		z, w := known(scores, pool.Weight)
		for _, v := range z {
			if h.Scorer.LogOdds && math.Abs(v) > sureLogOdds {
				h.sure[at] += 1 / float64(len(z))
			}
		}
		if h.terms.Program {
			z, w = spread(h.terms.Bins)
		}
		h.scales[at] = validation.NewScoreBins(h.terms.Edges[at], z, w, h.Scorer.LogOdds)
	}
	rows, _ := pool.Encoded.Dims()
	h.shares = nil
	for _, g := range h.Groups {
		share := make([]float64, len(g.Levels))
		for i := range rows {
			share[g.Of(pool.Encoded.RawRowView(i))] += 1 / float64(rows)
		}
		h.shares = append(h.shares, share)
	}
}

func (h *histograms) deviation(draws int) (float64, error) {
	t, err := h.Terms(1)
	if err != nil {
		return 0, err
	}
	return math.Sqrt(float64(draws) * privacy.VarianceOf(t.Mechanism, t.Bound, 0, h.Cells())), nil
}
