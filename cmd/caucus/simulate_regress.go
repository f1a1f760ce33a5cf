package main

import (
	"context"
	"fmt"
	"io"

	"caucus/analyst/simulate"
	"caucus/cmd/internal/console"
)

func (r *rehearsal) regress(ctx context.Context) (rehearsed, error) {
	return ranWhole(ctx, r, func(s simulate.Split, n int) simulation[simulate.RegressSummary] {
		return simulate.Regress{Split: s, Proposal: r.Proposal, Repeats: n}
	}, printRegress)
}

func printRegress(w io.Writer, d simulate.RegressSummary) {
	startRehearsal(w, d.Summary)
	fmt.Fprintf(w, "%s; %s with all columns\n%s\n\n", recordsOf(d.Released.Records, d.Parties),
		d.Released.CountedWords(), forecastLines(d.Forecast))
	t := console.NewTable(w, "column", d.Released.Changed(), "95 %", "without noise")
	for j, c := range d.Released.Coefficients {
		is, interval := c.Change.Unknown, ""
		if c.Change.Known() {
			is = fmt.Sprintf("%+.3g", c.Change.Value)
			interval = fmt.Sprintf("%+.3g to %+.3g", c.Change.Low, c.Change.High)
		}
		truth := d.True.Coefficients[j].Change
		without := truth.Unknown
		if truth.Known() {
			without = fmt.Sprintf("%+.3g", truth.Value)
		}
		t.Add(c.Name(), is, interval, without)
	}
	t.Render()
	fmt.Fprintf(w, "%.1f s\n", d.Seconds)
	switch m, all := d.Measured, len(d.True.Coefficients); {
	case m == nil:
	case m.Unknown == float64(all):
		fmt.Fprintf(w, "\nin %d draws of noise and records: nothing was known\n", d.Repeats)
	default:
		fmt.Fprintf(w, "\nin %d draws of noise and records: 95 %% intervals held the population's coefficient in %.3f (least of one: %.3f)%s; the error of a standardised coefficient was %.4f, of the largest site's records alone, without noise, %.4f; %.1f of %d coefficients were unknown\n",
			d.Repeats, m.Coverage, m.MinCoverage, wider(m.WidthRatio), m.RMSE, m.SiteAloneRMSE,
			m.Unknown, all)
	}
	endRehearsal(w, d.Summary)
}
