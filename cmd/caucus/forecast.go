package main

import (
	"fmt"
	"io"

	"caucus/study"
)

// printForecast writes a forecast as a table, with what it rests on and what it means;
// classes says where a person gives the class shares that were assumed.
func printForecast(w io.Writer, f *study.Forecast, classes string) error {
	rests := fmt.Sprintf("features that separate the classes to an AUC of %.2f", f.Separation.Mid)
	if f.Separation.High > f.Separation.Low {
		rests = fmt.Sprintf("features that separate the classes to an AUC of %.2f (%.2f to %.2f; --auc says it)", f.Separation.Mid, f.Separation.Low, f.Separation.High)
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
	_, err := fmt.Fprintf(w, "           %s\n", helpsWords(f))
	return err
}

func exactly(v float64) study.Range { return study.Range{Low: v, Mid: v, High: v} }

func rangeWords(r study.Range) string {
	if r.High-r.Low < .0005 {
		return fmt.Sprintf("%.3f", r.Mid)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", r.Mid, r.Low, r.High)
}

// helpsWords answers whether the study would help, and what it would take.
func helpsWords(f *study.Forecast) string {
	switch f.Helps {
	case study.HelpsYes:
		return "it helps: a site has more of the release than of its own records alone"
	case study.HelpsDepends:
		switch {
		case f.Separation.Low == f.Separation.High:
			return "perhaps: what a site has of it, over its own records alone, is too little to be sure of"
		case f.HelpsFrom == f.Separation.Low:
			return fmt.Sprintf("perhaps: it helps if features separate the classes to an AUC of %.2f to %.2f; --auc says how far yours do", f.Separation.Low, f.Separation.High)
		case f.HelpsFrom > 0:
			return fmt.Sprintf("perhaps: it helps where features separate the classes to an AUC of about %.2f; --auc says how far yours do", f.HelpsFrom)
		}
		return "perhaps, but by less than a point, however far features separate the classes"
	}
	if need := f.Needs(); need != "" {
		return "it does not help; it would take " + need
	}
	return "it does not help: a site does better alone, or nothing within reach is enough"
}
