package evaluate

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/study"
)

// A plan that says program: true judges what a program of each party answers.
//
// Proof note.
//   - Neighbours: replace one party, with all that it holds, at unit party. Public: plan,
//     bins included, and that each party sends one histogram.
//   - Lemma: each of at most c records is in one cell of each table, by whatever score; the
//     note of histograms has how far a party then moves the counts. Nothing is asked of
//     how scores came about: they may follow from all of the party's records, labels
//     too, from chance, and from what the program kept of other studies.
//   - At unit record a score would have to follow from its one record. Nobody sees that of a
//     program which is given many: one record could move the scores of all. Such plans
//     are refused (Terms.check).
//   - Bins follow from the plan alone, as nobody has such scores of the pool's rows.
//   - An answer that is none (another number of scores, one outside 0 to 1, an error, too
//     late) leaves every record without a score: a histogram of as many records, of the
//     same size, and sent at the same moment, which was fixed before the program ran.
//   - Assumed of the site: a program serves one party.
const programWords = "none: a program of each party's own scores its records"

// own are the scores that the party's program gives its labelled records, NaN where there
// is none; nil where the plan has others judged. The program sees no label.
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
	for k, p := range h.answer(in, r.Select(rows).X) {
		out[rows[k]] = h.score.cut(p)
	}
	return out
}

// answer is one probability for each row, or nothing.
func (h *histograms) answer(in study.Inputs, rows *mat.Dense) []float64 {
	var scores []float64
	var err error
	done := in.InTime(func(ctx context.Context) { scores, err = in.Scorer(ctx, h.plan.Schema, rows) }, nil)
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

// at is where a share u of scores is below, by bins that no pool cuts: twice its log-odds,
// since small probabilities differ by factors. Tenths are at .012, .06, .16, .31 and .5.
func at(u float64) float64 { return 2 * math.Log(u/(1-u)) }

// evenEdges cut so many bins of shares alike, with the given edges among them.
func evenEdges(bins int, with []float64) []float64 {
	edges := slices.Clone(with)
	for k := 1; k < bins; k++ {
		edges = append(edges, math.Round(1000*at(float64(k)/float64(bins)))/1000)
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}

// spread are made-up scores in the place of a pool's, three for each bin: weighed, they are
// even between 0 and 1.
func spread(bins int) (z, weight []float64) {
	n := 3 * bins
	for i := range n {
		u := (float64(i) + 0.5) / float64(n)
		p := 1 / (1 + math.Exp(-at(u)))
		z, weight = append(z, at(u)), append(weight, p*(1-p)/(u*(1-u)))
	}
	return z, weight
}
