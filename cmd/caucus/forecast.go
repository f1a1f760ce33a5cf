package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"caucus/study"
	"caucus/study/forecast"
)

// printForecast writes a forecast as a table, with what it rests on and what it means;
// classes says where a person gives the class shares that were assumed.
func printForecast(w io.Writer, f *forecast.Forecast, classes string) error {
	rests := separationWords(f)
	if len(f.Looked) > 1 {
		rests += " (--auc says how far yours do)"
	}
	if f.Assumed {
		rests += ", class shares assumed (" + classes + ")"
	}
	if _, err := fmt.Fprintf(w, "forecast   %d draws, for %s\n           %-20s %-22s %s\n", f.Draws, rests, "", "accuracy", "AUC"); err != nil {
		return err
	}
	for _, l := range []struct {
		name string
		forecast.Line
	}{
		{"released", f.Released}, {"pooled", f.Pooled}, {"one site alone", f.Alone},
		{"largest class", forecast.Line{Accuracy: exactly(f.Majority), AUC: exactly(.5)}},
	} {
		if _, err := fmt.Fprintf(w, "           %-20s %-22s %s\n", l.name, drawnWords(l.Accuracy), drawnWords(l.AUC)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "           %s\n", f.Verdict())
	return err
}

// separationWords say how far features are taken to separate the classes.
func separationWords(f *forecast.Forecast) string {
	if len(f.Looked) == 1 {
		return fmt.Sprintf("features that separate the classes to an AUC of %.2f", f.Looked[0])
	}
	return fmt.Sprintf("features that separate the classes to an AUC of %.2f to %.2f", f.Looked[0], f.Looked[len(f.Looked)-1])
}

// forecastFlags are those of what draws a forecast.
func forecastFlags(f *pflag.FlagSet, p *study.Proposal, draws *int) {
	f.Float64Var(&p.AUC, "auc", 0, "how far features are known to separate the classes, as an area under the curve: for the forecast (default: a band from .65 to .85)")
	f.IntVar(draws, "draws", 20, "how often the forecast runs the plan on made-up records (default 20, fewer for many classes)")
}

// drawsOf are the draws that a person asked for, 0 where the default is to be taken.
func drawsOf(f *pflag.FlagSet, draws int) int {
	if !f.Changed("draws") {
		return 0
	}
	return draws
}

func exactly(v float64) forecast.Drawn { return forecast.Drawn{Mean: v, Low: v, High: v} }

// drawnWords are the mean of all draws, and what nine of ten lie between.
func drawnWords(d forecast.Drawn) string {
	if d.High-d.Low < .0005 {
		return fmt.Sprintf("%.3f", d.Mean)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", d.Mean, d.Low, d.High)
}
