package evaluate

import (
	"context"
	"math"

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
//     note of type Histograms bounds how far a party then moves the counts. A score may depend on
//     anything: all of the party's records, labels too, chance, and data that the program kept from
//     other studies.
//   - At unit record each score would have to follow from its own record alone. Nobody can verify
//     that of a program that sees many records, because one record could move all scores.
//     Terms.Check refuses such plans.
//   - Bins follow from the plan alone, because the program's scores of the pool's rows are unknown.
//   - An invalid answer (a wrong number of scores, a score outside 0 to 1, an error, too late)
//     leaves every record without a score. The histogram still counts the same number of records
//     and has the same size. It leaves at the same moment, which was fixed before the program ran.
//   - Assumed of the site: a program serves one party.
const programWords = "none: a program of each party's own scores its records"

// own returns the scores that the party's program gives to the labelled records, NaN for records
// without a score. It returns nil if the plan has no program. The program does not see the labels.
func (h *Histograms) own(in study.Inputs, r *dataset.Records) []float64 {
	if !h.terms.Program {
		return nil
	}
	out := make([]float64, r.Len())
	var rows []int
	for i := range out {
		if out[i] = math.NaN(); h.ClassOf(r, i) >= 0 {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 || in.Scorer == nil {
		return out
	}
	x := r.Select(rows).X
	for i := range rows {
		x.SetRow(i, h.Scorer.fill(x.RawRowView(i)))
	}
	for k, p := range h.answer(in, x) {
		out[rows[k]] = h.Scorer.Cut(p)
	}
	return out
}

func (h *Histograms) answer(in study.Inputs, rows *mat.Dense) []float64 {
	var scores []float64
	var err error
	done := in.RunInTime(func(ctx context.Context) {
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
