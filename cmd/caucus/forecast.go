package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"caucus/analyst/forecast"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/siteverbs"
	"caucus/study"
	"caucus/study/stated"
)

// drawAgain draws an operator's forecast again, and says whether the two differ by no more than
// chance.
func drawAgain(ctx context.Context, said stated.Statement, of study.Task,
	show func(done, total int)) (siteverbs.Forecast, bool, error) {
	again, err := forecast.RedrawStated(ctx, said, of.Plan(), of.Pool(), show)
	if err != nil {
		return nil, false, err
	}
	return again, said.Forecast.Agrees(&again.Forecast), nil
}

// printForecasts writes a classifier's forecast or, for other kinds, how far the noise moves the
// numbers.
func printForecasts(w io.Writer, f *forecast.Forecast, shareError float64, noise string) {
	if f != nil {
		fmt.Fprintf(w, "forecast   %s\n", strings.Join(f.Lines(), "\n           "))
	}
	if shareError > 0 {
		fmt.Fprintf(w, "forecast   noise alone adds an average error of %.2g to a class share of one party's set; the error of estimation is often larger: see caucus simulate ratio\n", shareError)
	}
	if noise != "" {
		fmt.Fprintf(w, "forecast   %s\n", strings.ReplaceAll(noise, "\n", "\n           "))
	}
	if f == nil || f.Coefficients == nil {
		return
	}
	fmt.Fprintf(w, "odds       %s\n", f.Coefficients.Words())
	if len(f.Coefficients.Of) == 0 {
		return
	}
	t := console.NewTable(w, "coefficient", "95 % interval expected", "none because",
		"what would change it")
	for _, row := range f.Coefficients.Rows() {
		t.Add(row...)
	}
	t.Render()
}

func drawsFlag(f *pflag.FlagSet, draws *int) {
	f.IntVar(draws, "draws", 20, "how often the forecast runs the plan on made-up records; fewer for many classes")
}

func drawsOf(f *pflag.FlagSet, draws int) int {
	if !f.Changed("draws") {
		return 0
	}
	return draws
}
