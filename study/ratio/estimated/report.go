package estimated

import (
	"fmt"
	"math"
	"slices"

	"caucus/aggregation"
	"caucus/study"
)

// Report says whether the release can estimate class shares of new sets, and gives the shares of
// its own sets.
func (Results) Report(r study.Release) (out study.Report, err error) {
	p, err := r.DecodedPlan()
	if err != nil {
		return out, err
	}
	result, err := ResultOf(r)
	if err != nil {
		return out, err
	}
	classes := p.Schema.Classes()
	if result.Model == nil {
		out.Answer = "The sets support no estimate of class shares."
		if result.Refusal != nil {
			out.Answer += " " + result.Refusal.Advice
		}
		return out, nil
	}
	out.Answer = fmt.Sprintf("With this release you can also estimate the share of each class of %s in unlabelled records of your own (caucus release predict).", p.Schema.Label.Column)
	if len(result.TrainingShares) != len(classes) {
		return out, nil
	}
	chart := &study.ReportChart{Title: "class shares of all sets of the study together", Note: "± is half of a 95 % interval of the privacy noise", Percent: true, Whole: true}
	out.Charts = []*study.ReportChart{chart}
	largest := slices.Index(result.TrainingShares, slices.Max(result.TrainingShares))
	out.Answer = fmt.Sprintf("Of all records of the study, %.1f %% have %s = %s, the largest class (95 %%: ± %.1f points of privacy noise, sampling not included). %s", 100*result.TrainingShares[largest], p.Schema.Label.Column, classes[largest], 100*within(result, largest), out.Answer)
	for k, name := range classes {
		bar := study.NewIntervalBar(name, result.TrainingShares[k], within(result, k))
		bar.Main = true
		chart.Bars = append(chart.Bars, bar)
	}
	return out, nil
}

// within returns half the width of the 95 % interval, by noise on the counts, of a class's share
// before projection.
func within(r Result, class int) float64 {
	records, variance := 0.0, 0.0
	for _, s := range r.Sets {
		n := float64(s.Records)
		records += n
		if class < len(s.SD) {
			variance += n * n * s.SD[class] * s.SD[class]
		}
	}
	if records == 0 {
		return 0
	}
	return aggregation.Normal95 * math.Sqrt(variance) / records
}
