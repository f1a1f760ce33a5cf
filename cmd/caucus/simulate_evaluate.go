package main

import (
	"context"
	"fmt"
	"io"

	"caucus/analyst/simulate"
	"caucus/cmd/internal/console"
)

func (r *rehearsal) evaluate(ctx context.Context) (found rehearsed, err error) {
	sim := simulate.Evaluate{Repeats: r.Simulate.Common().Repeats}
	data, err := r.records()
	if err != nil {
		return found, err
	}
	if err := r.DecodeTerms(&sim.Terms); err != nil {
		return found, err
	}
	sim.Split, sim.Proposal = r.split(data), r.Proposal
	summary, err := ran(ctx, r, sim)
	if err != nil {
		return found, err
	}
	return rehearsed{summary, func(w io.Writer) {
		printEvaluate(w, summary)
	}, summary.Release, measuredEvaluate(summary), summary.Records}, nil
}

func printEvaluate(w io.Writer, d simulate.EvaluateSummary) {
	startRehearsal(w, d.Summary)
	fmt.Fprintf(w, "%s of %s in %s; noise of standard deviation %.3g on each count\n%s\n\n",
		console.Counted(d.Records, "records"), console.Counted(d.Parties, "parties"),
		console.Counted(d.Bins,
			"bins"), d.Released.NoiseSD, forecastLines(d.Forecast))
	head := []string{"class", "records", "number", "true", "released", "95 % interval"}
	if d.Repeats > 1 {
		head = append(head, "mean error", "bias", "± noise", "known", "covered", "anew")
	}
	t := console.NewTable(w, head...)
	for _, class := range d.Classes {
		name := class.Class
		for _, g := range class.Subgroups {
			group := fmt.Sprintf("%s (%d)", g.Name, g.Records)
			for _, n := range g.Numbers {
				row := []string{name, group, n.Number, fmt.Sprintf("%.3f", n.Truth), "unknown", ""}
				if n.FirstRelease.Known() {
					row[4], row[5] = fmt.Sprintf("%.3f", n.FirstRelease.Value),
						n.FirstRelease.Interval(3)
				}
				if d.Repeats > 1 {
					row = append(row, fmt.Sprintf("%.4f", n.Error), fmt.Sprintf("%+.4f", n.Bias),
						fmt.Sprintf("%.4f", n.SD),
						fmt.Sprintf("%.3f", n.KnownShare), fmt.Sprintf("%.3f",
							n.CoveredShare), fmt.Sprintf("%.3f", n.CoveredPopulationShare))
				}
				t.Add(row...)
				name, group = "", ""
			}
		}
	}
	t.Render()
	if r := d.Recalibrated; r != nil {
		fmt.Fprintf(w, "\nrecalibrated by the release, on %d other records: slope %.3f before, %.3f after; intercept %.3f, %.3f; Brier %.4f, %.4f\n",
			r.Records, r.Before.Slope, r.After.Slope, r.Before.Intercept, r.After.Intercept,
			r.Before.Brier, r.After.Brier)
	}
	if d.Repeats > 1 {
		fmt.Fprintf(w, "\nover %d draws, counting those with a number (known): covered is how often the 95 %% interval of noise holds the exact value on the same records; anew, how often the 95 %% interval of noise and sampling holds it on newly drawn records\n", d.Repeats)
	}
	fmt.Fprintf(w, "%.1f s\n", d.Seconds)
	endRehearsal(w, d.Summary)
}
