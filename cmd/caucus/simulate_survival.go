package main

import (
	"context"
	"fmt"
	"io"

	"caucus/analyst/simulate"
	"caucus/cmd/internal/console"
)

func (r *rehearsal) survival(ctx context.Context) (rehearsed, error) {
	return ranWhole(ctx, r, func(s simulate.Split, n int) simulation[simulate.SurvivalSummary] {
		return simulate.Survival{Split: s, Proposal: r.Proposal, Repeats: n}
	}, printSurvival)
}

func printSurvival(w io.Writer, d simulate.SurvivalSummary) {
	startRehearsal(w, d.Summary)
	fmt.Fprintf(w, "%s; noise of standard deviation %.3g on each count\n%s\n\n",
		recordsOf(d.Released.Records, d.Parties), d.Released.NoiseSD, forecastLines(d.Forecast))
	t := console.NewTable(w, "group", d.Released.Axis(), "true", "released", "95 %", "at risk")
	for g, of := range d.Released.Groups {
		for j, p := range of.Points {
			truth := ""
			if all := d.True.Groups[g].Points; j < len(all) {
				truth = fmt.Sprintf("%.3f", all[j].Survival.Value)
			}
			t.Add(of.Level, d.Released.TimeText(p.Time), truth,
				fmt.Sprintf("%.3f", p.Survival.Value), p.Survival.Interval(3),
				fmt.Sprintf("%.0f", max(0, p.AtRisk)))
		}
	}
	t.Render()
	for k, c := range d.Released.Compared {
		fmt.Fprintf(w, "hazard ratio of %s to %s: %s, without noise %s\n", c.Of, c.Reference,
			c.Ratio.Words(2), d.True.Compared[k].Ratio.Words(2))
	}
	fmt.Fprintf(w, "%.1f s\n", d.Seconds)
	if m := d.Measured; m != nil {
		said := "no curve was shown"
		if c := m.CurveMeasures; c != nil {
			said = fmt.Sprintf("95 %% intervals held the population's survival in %.3f (least of one: %.3f)%s; noise moved a curve by up to %.4f (median)",
				c.Coverage, c.MinCoverage, wider(c.WidthRatio), c.SupError)
		}
		if r := m.HazardRatioMeasures; r != nil {
			said += fmt.Sprintf("; 95 %% intervals held the population's hazard ratio in %.3f; noise moved the logarithm by a standard deviation of %.3f",
				r.RatioCoverage, r.LogHazardRatioSD)
		}
		fmt.Fprintf(w, "\nin %d draws of noise and records: %s\n", d.Repeats, said)
	}
	endRehearsal(w, d.Summary)
}
