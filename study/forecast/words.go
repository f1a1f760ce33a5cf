package forecast

import (
	"fmt"

	"caucus/study"
)

// Verdict says whether a study is expected to help, or why not.
func (f *Forecast) Verdict() string {
	band := len(f.Looked) > 1
	switch f.Helps {
	case Yes:
		return "it helps: the release gives each site more than its own records alone do"
	case No:
		return "it does not help: " + f.whyNot()
	}
	if band {
		for i, gain := range f.Gain {
			if gain >= LeastGain {
				return fmt.Sprintf("perhaps: it helps where features separate the classes to an AUC of about %.2f; --auc says how far yours do", f.Looked[i])
			}
		}
	}
	return "perhaps: what the release adds to a site's own records is too little to be sure of"
}

// whyNot says which condition of Helps is not met.
func (f *Forecast) whyNot() string {
	released, alone, pooled := f.Released.Accuracy.Mean-f.Majority, f.Alone.Accuracy.Mean-f.Majority, f.Pooled.Accuracy.Mean-f.Majority
	if f.ByAUC() {
		released, alone, pooled = f.Released.AUC.Mean-.5, f.Alone.AUC.Mean-.5, f.Pooled.AUC.Mean-.5
	}
	switch {
	case pooled < LeastGain:
		return "all records in one place would tell the classes apart hardly better than naming the largest"
	case released < pooled/4:
		return "noise leaves less than a quarter of what all records in one place are worth over naming the largest class"
	case released < alone:
		return "each does better alone"
	}
	return "it is too little better than a site alone, or than naming the largest class"
}

// Warning says why a plan is not expected to help, "" if it may help.
func (f *Forecast) Warning(p study.Plan) string {
	if f.Helps != No {
		return ""
	}
	return fmt.Sprintf("at unit %s, ε = %g and %d parties of %d records this plan is not expected to help: accuracy %.2f, where one party alone has %.2f, all records pooled %.2f and the largest class %.2f (AUC %.2f, alone %.2f): %s; caucus forecast --sweep says what more ε, parties or records would change",
		p.Unit, p.Epsilon, f.Parties, f.Records/f.Parties, f.Released.Accuracy.Mean, f.Alone.Accuracy.Mean, f.Pooled.Accuracy.Mean, f.Majority, f.Released.AUC.Mean, f.Alone.AUC.Mean, f.whyNot())
}

// Lines returns the verdict, the forecast's assumptions and its table.
func (f *Forecast) Lines() []string {
	rests := f.Separation()
	if len(f.Looked) > 1 {
		rests += " (auc says how far yours do)"
	}
	if f.Assumed {
		rests += ", class shares assumed (class_shares says them)"
	}
	all := []string{
		f.Verdict(),
		fmt.Sprintf("from %d made-up rehearsals, with %s", f.Draws, rests),
		fmt.Sprintf("%-20s %-22s %s", "", "accuracy", "AUC"),
	}
	exactly := func(v float64) Drawn { return Drawn{Mean: v, Low: v, High: v} }
	for _, l := range []struct {
		name string
		Line
	}{
		{"released", f.Released}, {"pooled", f.Pooled}, {"one party alone", f.Alone},
		{"largest class", Line{Accuracy: exactly(f.Majority), AUC: exactly(.5)}},
	} {
		all = append(all, fmt.Sprintf("%-20s %-22s %s", l.name, l.Accuracy.Words(), l.AUC.Words()))
	}
	return all
}

// Separation describes how well the features separate the classes.
func (f *Forecast) Separation() string {
	if len(f.Looked) == 1 {
		return fmt.Sprintf("features that separate the classes to an AUC of %.2f", f.Looked[0])
	}
	return fmt.Sprintf("features that separate the classes to an AUC of %.2f to %.2f", f.Looked[0], f.Looked[len(f.Looked)-1])
}

// Words give the mean of all draws and the range of nine in ten draws.
func (d Drawn) Words() string {
	if d.High-d.Low < .0005 {
		return fmt.Sprintf("%.3f", d.Mean)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", d.Mean, d.Low, d.High)
}

// Words describe the stated forecast and its assumptions, one line each.
func (s Stated) Words() []string {
	f := s.Forecast
	drawn := fmt.Sprintf("from %d made-up rehearsals of %d parties with %d records in all, %s", f.Draws, f.Parties, f.Records, f.Separation())
	if f.Assumed {
		drawn += ", class shares assumed"
	}
	return []string{
		fmt.Sprintf("by the operator's word the release has accuracy %s, one party alone %s, all records pooled %s, the largest class %.3f", f.Released.Accuracy.Words(), f.Alone.Accuracy.Words(), f.Pooled.Accuracy.Words(), f.Majority),
		f.Verdict(),
		drawn,
	}
}
