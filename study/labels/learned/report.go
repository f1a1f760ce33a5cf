package learned

import (
	"fmt"
	"slices"

	"caucus/aggregation"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
)

// Report describes the training, the quality estimated from the privatised labels, and the class
// shares.
func (Results) Report(r study.Release) (out study.Report, err error) {
	l, err := ResultOf(r.Result)
	if err != nil {
		return out, err
	}
	_, model, p, err := classifier.CheckedClassifier(r)
	if err != nil {
		return out, err
	}
	line := func(name, format string, args ...any) {
		out.Lines = append(out.Lines,
			study.ReportLine{Name: name, Text: fmt.Sprintf(format, args...)})
	}
	moves, goesBy := fitted.SeparatingColumns(l.Classifier, p, model)
	howGood := fitted.AccuracyUnknownText
	chart := &study.ReportChart{Title: "class shares of the records", Note: "corrected for the noise on the labels; ± is half of a 95 % interval", Percent: true, Whole: true}
	if moves != nil {
		out.Charts = append(out.Charts, moves)
	}
	out.Charts = append(out.Charts, chart)
	for k, name := range l.Classifier.Classes {
		bar := study.NewIntervalBar(name, l.Shares.Projected[k],
			aggregation.Normal95*l.Shares.Error[k])
		bar.Main = true
		chart.Bars = append(chart.Bars, bar)
	}
	line("fitted by", "loss %s, risk %s, correction %s", l.Loss, l.Risk, l.Correction)
	line("records", "%d; each label was sent unchanged with probability %.4f, else replaced by one of the other classes", l.Records, l.Keep)
	if held, ok := l.HeldOutRisk(); ok {
		switch l.Risk {
		case aggregation.RiskBER:
			line("estimated", "balanced error %.3f, by cross-validation on the privatised labels, corrected for their noise", held)
		case aggregation.RiskAUC:
			line("estimated", "area under the curve %.3f against the privatised labels, whose noise takes it towards 0.5", 1-held)
		default:
			howGood = fmt.Sprintf("It classifies %.1f %% of records correctly (95 %%: ± %.1f points, estimated from the noisy labels); always naming the largest class would give %.1f %%.", 100*(1-held), 100*aggregation.Normal95*l.HeldOutSE(), 100*slices.Max(l.Shares.Projected))
			line("estimated", "accuracy %.3f ± %.3f (95 %%), by cross-validation on the privatised labels, corrected for their noise", 1-held, aggregation.Normal95*l.HeldOutSE())
		}
	}
	out.Answer = fitted.Conclusion(l.Classifier, r, goesBy, howGood)
	line("coefficients", "no odds ratios: the fit to privatised labels has a ridge, whose effect was not measured")
	t := study.ReportTable{Title: "class shares of the records, corrected for the noise", Collapsed: true, Head: []string{"class", "share", "standard error"}}
	for k, name := range l.Classifier.Classes {
		t.Rows = append(t.Rows, []string{name, fmt.Sprintf("%.4f", l.Shares.Projected[k]),
			fmt.Sprintf("%.4f", l.Shares.Error[k])})
	}
	out.Tables = append(out.Tables, t)
	return out, nil
}
