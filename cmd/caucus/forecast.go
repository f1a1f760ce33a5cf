package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"caucus/study"
)

// printForecast writes a forecast as a table, with what it rests on and what it means;
// classes says where a person gives the class shares that were assumed.
func printForecast(w io.Writer, f *study.Forecast, size study.Size, classes string) error {
	rests := separationWords(f)
	if f.Separation.High > f.Separation.Low {
		rests += fmt.Sprintf(" (%.2f to %.2f; --auc says it)", f.Separation.Low, f.Separation.High)
	}
	if f.SharesAssumed {
		rests += ", class shares assumed (" + classes + ")"
	}
	if _, err := fmt.Fprintf(w, "forecast   for %s\n           %-20s %-22s %s\n", rests, "", "accuracy", "AUC"); err != nil {
		return err
	}
	for _, l := range []struct {
		name string
		study.Line
	}{
		{"released", f.Released}, {"without noise", f.Unperturbed}, {"pooled", f.Pooled}, {"one site alone", f.Alone},
		{"largest class", study.Line{Accuracy: exactly(f.Majority), AUC: exactly(.5)}},
	} {
		if _, err := fmt.Fprintf(w, "           %-20s %-22s %s\n", l.name, rangeWords(l.Accuracy), rangeWords(l.AUC)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "           %s\n", helpsWords(f, size))
	return err
}

// separationWords say how far features are taken to separate the classes.
func separationWords(f *study.Forecast) string {
	words := fmt.Sprintf("features that separate the classes to an AUC of %.2f", f.Separation.Mid)
	if f.ItsAccuracy > 0 {
		words += fmt.Sprintf(" and an accuracy of %.2f", f.ItsAccuracy)
	}
	if f.TrainedOn > 0 {
		words += ", by a classifier of " + counted(f.TrainedOn, "records")
	}
	return words
}

// reachedFlags say how far features are known to separate the classes.
func reachedFlags(f *pflag.FlagSet, p *study.Proposal) {
	f.Float64Var(&p.AUC, "auc", 0, "how far features are known to separate the classes, as an area under the curve: for the forecast (default: a band from .65 to .85)")
	f.Float64Var(&p.Accuracy, "accuracy", 0, "what the classifier of that AUC is known to reach, of more than two classes: for the forecast")
	f.IntVar(&p.TrainedOn, "trained-on", 0, "how many records the classifier of that AUC was trained on: for the forecast (default: so many that more would change nothing)")
}

func exactly(v float64) study.Range { return study.Range{Low: v, Mid: v, High: v} }

func rangeWords(r study.Range) string {
	if r.High-r.Low < .0005 {
		return fmt.Sprintf("%.3f", r.Mid)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", r.Mid, r.Low, r.High)
}

// helpsWords answers whether the study would help and, where not, what it would take.
func helpsWords(f *study.Forecast, size study.Size) string {
	if f.Helps == study.HelpsNo {
		return f.Verdict() + "; " + f.Ways(size)
	}
	return f.Verdict()
}
