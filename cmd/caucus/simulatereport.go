package main

import (
	"fmt"
	"math"
	"strings"

	"caucus/aggregation"
	"caucus/analyst/report"
	"caucus/analyst/simulate"
	"caucus/study"
	"caucus/study/classifier"
)

// against is an alternative to a release, and by how much the release is better.
type against struct {
	name string
	gain float64
}

type compared struct {
	amount func(float64) string
	// In better, worse and level, %[1]s is the name and %[2]s the amount.
	better, worse, level string
}

// byAccuracy compares shares of right predictions, and byError compares errors.
var (
	byAccuracy = compared{func(v float64) string { return fmt.Sprintf("%.1f points", 100*v) },
		"%[2]s more accurate than %[1]s", "%[2]s less accurate than %[1]s",
		"level in accuracy with %[1]s (%[2]s apart)"}
	byError = compared{func(v float64) string { return fmt.Sprintf("%.3g", v) },
		"better than %[1]s (its error is less by %[2]s)",
		"worse than %[1]s (its error is more by %[2]s)",
		"level with %[1]s (their errors differ by %[2]s)"}
)

// concluded says whether a release is better than each alternative, worse or level. A difference
// counts if it exceeds sd, the release's standard deviation over repeats. A single repeat has none,
// so then only numbers that are equal as printed are called level.
func concluded(repeats int, sd float64, by compared, others ...against) string {
	var all []string
	for _, o := range others {
		form, amount := by.level, by.amount(math.Abs(o.gain))
		switch {
		case repeats < 2 && amount == by.amount(0):
		case repeats < 2 && o.gain < 0 || o.gain < -sd:
			form = by.worse
		case repeats < 2 || o.gain > sd:
			form = by.better
		}
		if repeats > 1 {
			amount += " ± " + by.amount(sd)
		}
		all = append(all, fmt.Sprintf(form, o.name, amount))
	}
	if repeats < 2 {
		return "In the one draw of the noise that was made the release was " + strings.Join(all, " and ") + "; other draws may differ."
	}
	return fmt.Sprintf("The release was %s; ± is its standard deviation.", strings.Join(all, " and "))
}

func constantly(r *study.Release) string {
	if r == nil {
		return ""
	}
	if c, ok := classifier.Of(r.Result); ok && c.Lambda == 0 {
		return "The noise left nothing to tell the classes apart by: the release below names one class for every record. "
	}
	return ""
}

func measuredClassify(s simulate.ClassifySummary) *report.Measurement {
	a := s.Accuracy
	return &report.Measurement{
		Conclusion: constantly(s.Release) + concluded(s.Repeats, a.ReleasedSD, byAccuracy, against{"one party alone", a.Released - a.LocalMean}, against{"naming the largest class", a.Released - a.MajorityClass}),
		Chart: accuracyChart(study.NewIntervalBar("released", a.Released, a.ReleasedSD), s.Repeats,
			study.NewIntervalBar("the same without noise", a.Unperturbed,
				0), study.NewIntervalBar("all records pooled",
				a.Pooled, 0),
			study.NewIntervalBar("one party alone", a.LocalMean, 0),
			study.NewIntervalBar("largest class",
				a.MajorityClass, 0)),
	}
}

func measuredLabels(s simulate.LabelsSummary) *report.Measurement {
	said := constantly(s.Release)
	if s.Risk != aggregation.RiskAccuracy {
		said += "It was not fitted for accuracy, by which it is judged here. "
	}
	return &report.Measurement{
		Conclusion: said + concluded(s.Repeats, s.SD.Accuracy, byAccuracy, against{"naming the largest class", s.Accuracy - s.MajorityClass}),
		Chart: accuracyChart(study.NewIntervalBar("released", s.Accuracy, s.SD.Accuracy), s.Repeats,
			study.NewIntervalBar("the same without noise", s.Unperturbed.Accuracy,
				0), study.NewIntervalBar("largest class", s.MajorityClass, 0)),
	}
}

func accuracyChart(released study.ReportBar, repeats int,
	others ...study.ReportBar) *study.ReportChart {
	released.Main = true
	return &study.ReportChart{Title: "accuracy on test records that nobody learnt from", Note: spread(repeats), Percent: true, Bars: append([]study.ReportBar{released}, others...)}
}

func spread(repeats int) string {
	if repeats < 2 {
		return "of one draw of the noise"
	}
	return fmt.Sprintf("± is the standard deviation over %d draws", repeats)
}

func measuredRatio(s simulate.RatioSummary) *report.Measurement {
	released := study.NewIntervalBar("released", s.L1.Released, s.L1.ReleasedSD)
	released.Main = true
	return &report.Measurement{
		Conclusion: concluded(s.Targets*s.Repeats, s.L1.ReleasedSD, byError, against{"giving every set the study's own shares", s.L1.TrainingRatio - s.L1.Released}),
		Chart: &study.ReportChart{
			Title: "error of the class shares of new sets (L1)", Note: fmt.Sprintf("less is better; ± is the standard deviation over %d sets", s.Targets*s.Repeats),
			Bars: []study.ReportBar{released, study.NewIntervalBar("the same without noise", s.L1.Unperturbed, 0), study.NewIntervalBar("always the study's own shares", s.L1.TrainingRatio, 0)},
		},
	}
}

// measuredEvaluate compares the first release's AUC with the exact AUC. It is nil if the noise left
// no AUC.
func measuredEvaluate(s simulate.EvaluateSummary) *report.Measurement {
	of := s.Classes[0]
	for _, n := range of.Subgroups[0].Numbers {
		if n.Number != "AUC" || !n.FirstRelease.Bounded() {
			continue
		}
		held := "holds the AUC of these records"
		if n.Truth < n.FirstRelease.Low || n.Truth > n.FirstRelease.High {
			held = "misses the AUC of these records, as one draw in twenty may"
		}
		said := fmt.Sprintf("The released interval %s; the released AUC is off by %.2g.", held, math.Abs(n.FirstRelease.Value-n.Truth))
		return &report.Measurement{Conclusion: said, Chart: &study.ReportChart{
			Title: "AUC of the scores of class " + of.Class, Note: "the line is the 95 % interval of noise and sampling, of one draw",
			Bars: []study.ReportBar{{Name: "released", Value: n.FirstRelease.Value, Low: n.FirstRelease.Low, High: n.FirstRelease.High, Main: true}, study.NewIntervalBar("the same records, without noise or bins", n.Truth, 0)},
		}}
	}
	return nil
}

func measuredReweigh(s simulate.ReweighSummary) *report.Measurement {
	released := study.NewIntervalBar("answer with the released weights", s.Estimate, s.RMSE)
	released.Main = true
	c := &study.ReportChart{
		Title: "the query's mean over the private records", Note: fmt.Sprintf("± is the root mean square error over %d draws", s.Repeats),
		Bars: []study.ReportBar{study.NewIntervalBar("truth", s.Truth, 0), released},
	}
	if !math.IsNaN(s.Unperturbed) {
		c.Bars = append(c.Bars, study.NewIntervalBar("the same without noise", s.Unperturbed, 0))
	}
	c.Bars = append(c.Bars, study.NewIntervalBar("the raw pool", s.Unweighted, 0))
	sd := math.Sqrt(math.Max(s.RMSE*s.RMSE-s.Bias*s.Bias, 0))
	return &report.Measurement{Conclusion: concluded(s.Repeats, sd, byError,
		against{"the raw pool", s.UnweightedRMSE - s.RMSE}), Chart: c}
}
