package judged

import (
	"caucus/aggregation/validation"
	"caucus/dataset"
	"caucus/study"
)

// RecordEvaluator counts and evaluates records as a task does, for simulations.
type RecordEvaluator struct{ h *histograms }

// RecordEvaluatorOf makes the RecordEvaluator of an evaluate study's Finisher. It returns false for
// other tasks.
func RecordEvaluatorOf(t study.Task) (RecordEvaluator, bool) {
	f, ok := t.(finisher)
	return RecordEvaluator{f.h}, ok
}

// Cells is the length of the vector that a party contributes.
func (re RecordEvaluator) Cells() int { return re.h.Cells() }

// CellsOf returns, for each record, the cell in which each histogram counts the record.
func (re RecordEvaluator) CellsOf(r *dataset.Records) [][]int {
	out := make([][]int, r.Len())
	scores := make([]float64, len(re.h.scales))
	for i := range r.Y {
		row := r.X.RawRowView(i)
		re.h.Scorer.Of(row, scores)
		out[i] = re.h.CellsOf(row, re.h.ClassOf(r, i), scores, nil)
	}
	return out
}

// Evaluate makes the result from a vector of counts that contains this number of noises (draws).
// With sampling, intervals are for the population behind the records; without, for the counted
// records.
func (re RecordEvaluator) Evaluate(values []float64, draws int, sampling bool) (Evaluation, error) {
	sd, err := re.h.deviation(draws)
	return re.h.evaluate(values, sd, sampling), err
}

// ClaimedPerformance returns the performance of a model that is right, on records like the pool's
// rows.
func (re RecordEvaluator) ClaimedPerformance() (out []validation.Performance) {
	for _, s := range re.h.scales {
		out = append(out, s.Performance(s.ExpectedHistogram(claimedRecords, 0),
			re.h.terms.Thresholds))
	}
	return out
}

const claimedRecords = 1e9 // large, so that the sampling error is negligible

// ExactEvaluation is the performance on the records themselves, computed without bins and noise.
type ExactEvaluation struct {
	Class     string
	Overall   validation.ExactPerformance
	Groupings [][]validation.ExactPerformance // the levels of each grouping
}

// Exact evaluates records by their exact scores.
func (re RecordEvaluator) Exact(r *dataset.Records) (out []ExactEvaluation) {
	if r.Len() == 0 {
		return nil
	}
	all := re.h.Scorer.All(r.X)
	var cuts []float64
	for _, at := range re.h.terms.Thresholds {
		cuts = append(cuts, re.h.Scorer.Cut(at))
	}
	for at, name := range re.h.terms.Classes {
		of := func(in func(i int) bool) validation.ExactPerformance {
			var z []float64
			var yes []bool
			for i, v := range all[at] {
				if v-v == 0 && r.Y[i] >= 0 && in(i) {
					z, yes = append(z, v), append(yes, r.Y[i] == re.h.Scorer.Classes[at])
				}
			}
			return validation.MeasureExactly(z, yes, re.h.Scorer.LogOdds, cuts...)
		}
		e := ExactEvaluation{Class: name, Overall: of(func(int) bool { return true })}
		for _, g := range re.h.Groups {
			var levels []validation.ExactPerformance
			for l := range g.Levels {
				if g.Column != "" {
					levels = append(levels, of(func(i int) bool {
						return g.Of(r.X.RawRowView(i)) == l
					}))
				}
			}
			if g.Column != "" {
				e.Groupings = append(e.Groupings, levels)
			}
		}
		out = append(out, e)
	}
	return out
}

// Scores returns scores for the first judged class, and who is in this class, for all records with
// score and label.
func (re RecordEvaluator) Scores(r *dataset.Records) (z []float64, yes []bool) {
	if r.Len() == 0 {
		return nil, nil
	}
	for i, v := range re.h.Scorer.All(r.X)[0] {
		if v-v == 0 && r.Y[i] >= 0 {
			z, yes = append(z, v), append(yes, r.Y[i] == re.h.Scorer.Classes[0])
		}
	}
	return z, yes
}
