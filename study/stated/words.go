package stated

import (
	"fmt"

	"caucus/study"
)

// Verdict is one sentence: whether the release does better than one party alone, and if not, why.
func (f *Forecast) Verdict() string {
	switch f.Helps {
	case Yes:
		return "it helps: the release does better than one party alone"
	case No:
		return "it does not help: " + f.whyNot()
	}
	for i, gain := range f.Gain {
		if gain >= MinGain {
			return fmt.Sprintf("perhaps: it helps if features separate the classes to an AUC of about %.2f or more", f.AUCsTried[i])
		}
	}
	return "perhaps: the gain over one party alone is too small to be sure of"
}

// whyNot says which condition of HelpsVerdict is not met.
func (f *Forecast) whyNot() string {
	measure := "accuracy"
	released, alone, pooled := f.Released.Accuracy.Mean-f.Majority,
		f.Alone.Accuracy.Mean-f.Majority, f.Pooled.Accuracy.Mean-f.Majority
	if f.ByAUC() {
		measure = "AUC"
		released, alone, pooled = f.Released.AUC.Mean-.5, f.Alone.AUC.Mean-.5, f.Pooled.AUC.Mean-.5
	}
	switch {
	case pooled < MinGain:
		return "even with all records pooled the AUC is hardly above 0.5"
	case released < pooled/4:
		return "noise leaves less than a quarter of the gain in " + measure + " that all records pooled have over the largest class"
	case released < alone:
		return "one party alone does better (by " + measure + ")"
	}
	return "the gain in " + measure + " over one party alone or the largest class is too small"
}

// Warning says why a plan is not expected to help, "" if it may help.
func (f *Forecast) Warning(p study.Plan) string {
	if f.Helps != No {
		return ""
	}
	return fmt.Sprintf("at unit %s, ε = %g and %d parties of %d records this plan is not expected to help: accuracy %.2f, where one party alone has %.2f, all records pooled %.2f and %s %.2f (AUC %.2f, one party alone %.2f): %s; caucus forecast --sweep says what more ε, parties or records would change",
		p.Unit, p.Epsilon, f.Parties, f.Records/f.Parties, f.Released.Accuracy.Mean,
		f.Alone.Accuracy.Mean, f.Pooled.Accuracy.Mean, f.Largest(), f.Majority,
		f.Released.AUC.Mean, f.Alone.AUC.Mean, f.whyNot())
}

// Lines returns the verdict, the forecast's assumptions and its table.
func (f *Forecast) Lines() []string {
	all := []string{f.Verdict(),
		f.simulations() + ", " + f.SeparationText() + "; in brackets, their 5 % and 95 % quantiles"}
	if len(f.AUCsTried) > 1 {
		all = append(all, "the AUC is assumed: state yours with --set auc=.8 (or --auc .8 of caucus forecast)")
	}
	if f.SharesAssumed {
		all = append(all, "the class shares are assumed: state yours with --set class_shares=.7,.3 (or --class-shares .7,.3)")
	}
	all = append(all, fmt.Sprintf("%-22s %-22s %s", "", "accuracy", "AUC"))
	exactly := func(v float64) DrawSummary { return DrawSummary{Mean: v, Low: v, High: v} }
	for _, l := range []struct {
		name string
		Performance
	}{
		{"released", f.Released}, {"all records pooled", f.Pooled}, {"one party alone", f.Alone},
		{f.Largest(), Performance{Accuracy: exactly(f.Majority), AUC: exactly(.5)}},
	} {
		all = append(all, fmt.Sprintf("%-22s %-22s %s", l.name, l.Accuracy.Words(), l.AUC.Words()))
	}
	return all
}

// Largest names the line of the largest class, and says whether its share is assumed.
func (f *Forecast) Largest() string {
	if f.SharesAssumed {
		return "largest class, assumed"
	}
	return "largest class"
}

func (f *Forecast) simulations() string {
	if f.Draws == 1 {
		return "from one simulation on made-up records"
	}
	return fmt.Sprintf("mean of %d simulations on made-up records", f.Draws)
}

// SeparationText describes how well the features separate the classes.
func (f *Forecast) SeparationText() string {
	if len(f.AUCsTried) == 1 {
		return fmt.Sprintf("whose features separate the classes to an AUC of %.2f", f.AUCsTried[0])
	}
	return fmt.Sprintf("whose features separate the classes to an AUC of %.2f to %.2f", f.AUCsTried[0], f.AUCsTried[len(f.AUCsTried)-1])
}

// Words give the mean of all draws and the range of nine in ten draws.
func (d DrawSummary) Words() string {
	if d.High-d.Low < .0005 {
		return fmt.Sprintf("%.3f", d.Mean)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", d.Mean, d.Low, d.High)
}

// Words describe the stated forecast and its assumptions, one line each.
func (s Statement) Words() []string {
	f := s.Forecast
	return []string{
		fmt.Sprintf("accuracy by the operator's word: released %s, one party alone %s, all records pooled %s, %s %.3f", f.Released.Accuracy.Words(), f.Alone.Accuracy.Words(), f.Pooled.Accuracy.Words(), f.Largest(), f.Majority),
		f.Verdict(),
		fmt.Sprintf("%s of %d parties with %d records in all, %s", f.simulations(), f.Parties, f.Records, f.SeparationText()),
	}
}
