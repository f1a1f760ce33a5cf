package weighed

import (
	"fmt"

	"caucus/aggregation"
	"caucus/study"
)

const mostCompared = 6

// Report says how well the weighted pool represents the private records.
func (Results) Report(r study.Release) (out study.Report, err error) {
	w, err := WeightsOf(r)
	if err != nil {
		return out, err
	}
	out.Answer = fmt.Sprintf("%d public rows were weighted to match %d private records (effective sample size %.0f).", len(w.Weight), w.Records, w.EffectiveRows)
	if w.MeetingCondition != nil {
		out.Answer = fmt.Sprintf("%d public rows were weighted to match about %.0f of %d private records, those that the study is about (effective sample size %.0f).", len(w.Weight), *w.MeetingCondition, w.Records, w.EffectiveRows)
	}
	if len(w.Residuals) > 0 {
		d := w.Residuals[0]
		out.Answer += fmt.Sprintf(" The largest difference left is the mean of %s: %.3f in the private records, %.3f in the weighted pool, %.3f in the raw pool.", d.Feature, d.ReleasedMean, d.WeightedMean, d.PoolMean)
	}
	if w.WorstNoise == 0 {
		out.Answer = "The noise leaves the public pool as it was: every row weighs the same."
	}
	if len(w.Residuals) == 0 {
		return out, nil
	}
	chart := &study.ReportChart{Title: "means of features: private (as released, with noise), in the weighted pool, and in the raw pool", Whole: true, Note: "the features that differ most; for a level the mean is the share of records that have it; numbers are rescaled, so that 0 and 1 are the schema's bounds; ± is half of a 95 % interval of the privacy noise"}
	out.Charts = []*study.ReportChart{chart}
	for i, d := range w.Residuals {
		if i == mostCompared {
			break
		}
		bar := study.NewIntervalBar(d.Feature+", private", d.ReleasedMean,
			aggregation.Normal95*d.NoiseSD)
		bar.Main = true
		chart.Bars = append(chart.Bars, bar,
			study.NewIntervalBar(d.Feature+", weighted pool", d.WeightedMean, 0),
			study.NewIntervalBar(d.Feature+", raw pool", d.PoolMean, 0))
	}
	return out, nil
}
