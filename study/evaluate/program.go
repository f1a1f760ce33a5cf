package evaluate

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/study"
)

// A plan with "program: true" evaluates the scores that each party's own program gives.
//
// Proof note.
//   - Neighbours: replace one party with everything it holds, at unit party. Public: the plan, bins
//     included, and that each party sends one histogram.
//   - Lemma: each of at most c records is in one cell of each histogram, whatever its score. The
//     note of type histograms bounds how far a party then moves the counts. A score may depend on
//     anything: all of the party's records, labels too, chance, and data that the program kept from
//     other studies.
//   - At unit record each score would have to follow from its own record alone. Nobody can verify
//     that of a program that sees many records, because one record could move all scores.
//     Terms.check refuses such plans.
//   - Bins follow from the plan alone, because the program's scores of the pool's rows are unknown.
//   - An invalid answer (a wrong number of scores, a score outside 0 to 1, an error, too late)
//     leaves every record without a score. The histogram still counts the same number of records
//     and has the same size. It leaves at the same moment, which was fixed before the program ran.
//   - Assumed of the site: a program serves one party.
const programWords = "none: a program of each party's own scores its records"

// own returns the scores that the party's program gives to the labelled records, NaN for records
// without a score. It returns nil if the plan has no program. The program does not see the labels.
func (h *histograms) own(in study.Inputs, r *dataset.Records) []float64 {
	if !h.terms.Program {
		return nil
	}
	out := make([]float64, r.Len())
	var rows []int
	for i := range out {
		if out[i] = math.NaN(); h.classOf(r, i) >= 0 {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 || in.Scorer == nil {
		return out
	}
	x := r.Select(rows).X
	for i := range rows {
		x.SetRow(i, h.score.fill(x.RawRowView(i)))
	}
	for k, p := range h.answer(in, x) {
		out[rows[k]] = h.score.cut(p)
	}
	return out
}

func (h *histograms) answer(in study.Inputs, rows *mat.Dense) []float64 {
	var scores []float64
	var err error
	done := in.InTime(func(ctx context.Context) {
		scores, err = in.Scorer(ctx, h.plan.Schema, rows)
	}, nil)
	if n, _ := rows.Dims(); !done || err != nil || len(scores) != n {
		return nil
	}
	for _, p := range scores {
		if !(p >= 0 && p <= 1) {
			return nil
		}
	}
	return scores
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
