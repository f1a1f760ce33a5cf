package main

import (
	"context"
	"fmt"
	"io"

	"caucus/analyst/simulate"
	"caucus/cmd/internal/console"
	"caucus/study/describe/described"
)

func (r *rehearsal) describe(ctx context.Context) (rehearsed, error) {
	return ranWhole(ctx, r, func(s simulate.Split, n int) simulation[simulate.DescribeSummary] {
		return simulate.Describe{Split: s, Proposal: r.Proposal, Repeats: n}
	}, printDescribe)
}

func printDescribe(w io.Writer, d simulate.DescribeSummary) {
	startRehearsal(w, d.Summary)
	fmt.Fprintf(w, "%s of %s, %s; noise of standard deviation %.3g on each count, %.2g as a share\n",
		console.Counted(int(d.Released.Records), "records"), console.Counted(d.Parties,
			"parties"), console.Counted(len(d.Released.Columns),
			"columns"), d.Released.NoiseSD, d.Released.ShareSD)
	fmt.Fprintf(w, "%s\n\n", forecastLines(d.Forecast))
	t := console.NewTable(w, "column", "", "group", "true", "released",
		"95 %, "+described.SampleInterval,
		"95 %, "+described.NoiseInterval)
	truth := d.True.Estimates()
	for i, e := range d.Released.Estimates() {
		if e.Estimate == nil && truth[i].Estimate == nil {
			continue
		}
		row := []string{e.Column, e.What, e.Group, e.Show(truth[i].Estimate), e.Show(e.Estimate),
			"", ""}
		if e.Estimate != nil {
			row[5], row[6] = e.Interval()
		}
		t.Add(row...)
	}
	t.Render()
	fmt.Fprintf(w, "\nroot mean square error of a count: %.3g records after the counts are adjusted so that they add up, %.3g records as released; %.1f s\n", d.RMSE, d.NoisyRMSE, d.Seconds)
	if len(d.Coverage) > 0 {
		fmt.Fprintf(w, "\nhow often 95 %% intervals held the truth in %d draws, other than the table's; error: root mean square change by noise (means and sds: in ranges of their columns)\n", d.Repeats)
		t := console.NewTable(w, "", "estimates", "of a population", "of these records",
			"least of a population", "namely of", "unknown", "error")
		for _, c := range d.Coverage {
			row := []string{string(c.Measure), fmt.Sprint(c.Estimates),
				fmt.Sprintf("%.3f", c.Population), fmt.Sprintf("%.3f",
					c.Records), fmt.Sprintf("%.3f", c.MinPopulation), c.MinEstimate, fmt.Sprintf("%.3f",
					c.UnknownShare), ""}
			if c.Error > 0 {
				row[7] = fmt.Sprintf("%.2g", c.Error)
			}
			t.Add(row...)
		}
		t.Render()
	}
	endRehearsal(w, d.Summary)
}
