package main

import (
	"fmt"
	"math"

	"caucus/study"
	"caucus/study/simulate"
)

// What each simulation measured, as the chart that leads its report.

func measuredClassify(s simulate.ClassifySummary) *study.ReportChart {
	a := s.Accuracy
	return accuracyChart(study.Bar("released", a.Released, a.ReleasedSD), s.Repeats,
		study.Bar("the same without noise", a.Unperturbed, 0), study.Bar("all records pooled", a.Pooled, 0),
		study.Bar("one party alone", a.LocalMean, 0), study.Bar("largest class", a.MajorityClass, 0))
}

func measuredLabels(s simulate.LabelsSummary) *study.ReportChart {
	return accuracyChart(study.Bar("released", s.Accuracy, s.SD.Accuracy), s.Repeats,
		study.Bar("with the true labels", s.Unperturbed.Accuracy, 0), study.Bar("largest class", s.MajorityClass, 0))
}

func accuracyChart(released study.ReportBar, repeats int, others ...study.ReportBar) *study.ReportChart {
	released.Main = true
	return &study.ReportChart{Title: "accuracy on test records that nobody learnt from", Note: spread(repeats), Percent: true, Bars: append([]study.ReportBar{released}, others...)}
}

// spread says what ± is.
func spread(repeats int) string {
	if repeats < 2 {
		return "of one draw of the noise"
	}
	return fmt.Sprintf("± is the standard deviation over %d draws", repeats)
}

func measuredRatio(s simulate.RatioSummary) *study.ReportChart {
	released := study.Bar("released", s.L1.Released, s.L1.ReleasedSD)
	released.Main = true
	return &study.ReportChart{
		Title: "error of the class shares of new sets (L1; less is better)", Note: fmt.Sprintf("± is the standard deviation over %d sets", s.Targets*s.Repeats),
		Bars: []study.ReportBar{released, study.Bar("the same without noise", s.L1.Unperturbed, 0), study.Bar("always the study's own shares", s.L1.TrainingRatio, 0)},
	}
}

// measuredEvaluate compares the first release's AUC with that of the same records; nil
// where noise leaves none.
func measuredEvaluate(s simulate.EvaluateSummary) *study.ReportChart {
	of := s.Classes[0]
	for _, n := range of.Subgroups[0].Numbers {
		if n.Number != "AUC" || !n.First.Bounded() {
			continue
		}
		return &study.ReportChart{
			Title: "AUC of the scores of class " + of.Class, Note: "the line is the 95 % interval of noise and sampling, of one draw",
			Bars: []study.ReportBar{{Name: "released", Value: n.First.Value, Low: n.First.Low, High: n.First.High, Main: true}, study.Bar("the same records, without noise or bins", n.Truth, 0)},
		}
	}
	return nil
}

func measuredReweigh(s simulate.ReweighSummary) *study.ReportChart {
	released := study.Bar("answer with the released weights", s.Estimate, s.RMSE)
	released.Main = true
	c := &study.ReportChart{
		Title: "the query's mean over the private records", Note: fmt.Sprintf("± is the root mean square error over %d draws", s.Repeats),
		Bars: []study.ReportBar{study.Bar("truth", s.Truth, 0), released},
	}
	if !math.IsNaN(s.Unperturbed) {
		c.Bars = append(c.Bars, study.Bar("the same without noise", s.Unperturbed, 0))
	}
	c.Bars = append(c.Bars, study.Bar("the raw pool", s.Unweighted, 0))
	return c
}
