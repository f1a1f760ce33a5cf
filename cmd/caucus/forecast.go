package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"caucus/study/forecast"
)

// printForecasts writes the forecast of a classifier, or the effect of noise on the numbers of
// other kinds.
func printForecasts(w io.Writer, f *forecast.Forecast, shareError float64, noise string) (err error) {
	if f != nil {
		err = printForecast(w, f)
	}
	if shareError > 0 {
		_, err = fmt.Fprintf(w, "forecast   noise moves a class share of a set by %.2g on average\n", shareError)
	}
	if noise != "" {
		_, err = fmt.Fprintf(w, "forecast   %s\n", strings.ReplaceAll(noise, "\n", "\n           "))
	}
	return err
}

// printForecast writes a forecast as a table with its basis and meaning.
func printForecast(w io.Writer, f *forecast.Forecast) error {
	rests := separationWords(f)
	if len(f.Looked) > 1 {
		rests += " (auc says how far yours do)"
	}
	if f.Assumed {
		rests += ", class shares assumed (class_shares says them)"
	}
	fmt.Fprintf(w, "forecast   %d draws, for %s\n           %-20s %-22s %s\n", f.Draws, rests, "", "accuracy", "AUC")
	for _, l := range []struct {
		name string
		forecast.Line
	}{
		{"released", f.Released}, {"pooled", f.Pooled}, {"one party alone", f.Alone},
		{"largest class", forecast.Line{Accuracy: exactly(f.Majority), AUC: exactly(.5)}},
	} {
		fmt.Fprintf(w, "           %-20s %-22s %s\n", l.name, drawnWords(l.Accuracy), drawnWords(l.AUC))
	}
	_, err := fmt.Fprintf(w, "           %s\n", f.Verdict())
	return err
}

// separationWords describe how well the features separate the classes.
func separationWords(f *forecast.Forecast) string {
	if len(f.Looked) == 1 {
		return fmt.Sprintf("features that separate the classes to an AUC of %.2f", f.Looked[0])
	}
	return fmt.Sprintf("features that separate the classes to an AUC of %.2f to %.2f", f.Looked[0], f.Looked[len(f.Looked)-1])
}

func drawsFlag(f *pflag.FlagSet, draws *int) {
	f.IntVar(draws, "draws", 20, "how often the forecast runs the plan on made-up records (default 20, fewer for many classes)")
}

// drawsOf returns the requested draws, 0 for the default.
func drawsOf(f *pflag.FlagSet, draws int) int {
	if !f.Changed("draws") {
		return 0
	}
	return draws
}

func exactly(v float64) forecast.Drawn { return forecast.Drawn{Mean: v, Low: v, High: v} }

// drawnWords give the mean of all draws and the range of nine in ten.
func drawnWords(d forecast.Drawn) string {
	if d.High-d.Low < .0005 {
		return fmt.Sprintf("%.3f", d.Mean)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", d.Mean, d.Low, d.High)
}
