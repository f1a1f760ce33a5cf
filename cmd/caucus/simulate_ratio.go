package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"caucus/analyst/simulate"
	"caucus/cmd/internal/console"
	studyratio "caucus/study/ratio"
)

const defaultSetSize = 500

func (r *rehearsal) ratio(ctx context.Context) (found rehearsed, err error) {
	own := r.Simulate.(*simulate.RatioTerms)
	sim := simulate.Ratio{
		Sets: cmp.Or(r.Parties, usualParties[r.Kind]), SetSize: cmp.Or(r.Records, defaultSetSize),
		SetShares: own.SetShares, Skew: own.MainClassShare, Targets: own.Targets, TargetSize: own.TargetSize, TargetShares: own.TargetShares,
		Width: own.Width, Repeats: own.Repeats, Progress: r.bar.Set,
	}
	if err := r.DecodeTerms(&sim.Terms); err != nil {
		return found, err
	}
	data, err := r.records()
	if err != nil {
		return found, err
	}
	sim.Split, sim.Proposal = r.split(data), r.Proposal
	// the sets decide which party gets which records
	sim.Schema.Party, sim.Split.Parties, sim.Split.Records = "", 0, 0
	if sim.Terms.Sets == studyratio.SetsColumn {
		return found, console.Usagef("ratio.sets: column: a simulation deals each party one set, or has it make some: party or made")
	}
	summary, err := ran(ctx, r, sim)
	if err != nil {
		return found, err
	}
	return rehearsed{summary, func(w io.Writer) {
		printRatio(w, summary)
	}, summary.Release, measuredRatio(summary), sim.Sets * sim.SetSize}, nil
}

func printRatio(w io.Writer, s simulate.RatioSummary) {
	fmt.Fprintf(w, "%s, mechanism %s (%s", s.Study, s.Mechanism, s.Sampler)
	for _, k := range slices.Sorted(maps.Keys(s.Parameters)) {
		fmt.Fprintf(w, ", %s %s", k, s.Parameters[k])
	}
	fmt.Fprintf(w, "), unit %s, ε = %g, δ = %g\n", s.Unit, s.Epsilon, s.Delta)
	sets := console.Counted(s.Sets, "sets")
	if s.MadeSetSkew > 0 {
		sets = console.Counted(s.Sets, "parties") + ", each making a set a class"
	}
	fmt.Fprintf(w, "%s of about %.0f records, %d classes, features: %s, estimator %s, kernel width %.3g\n\n", sets, s.SetSize, s.Classes, s.Features, s.Estimator, s.Width)
	fmt.Fprintf(w, "mean L1 distance (sum over classes of absolute errors of shares) to the true shares of %s of %s, %s\n",
		console.Counted(s.Targets*max(1, len(s.ByShare)), "test sets"),
		console.Counted(s.TargetSize,
			"records"), console.Counted(s.Repeats, "repeats"))
	line := func(name string, l simulate.RatioL1) {
		fmt.Fprintf(w, "  %-18s released %.3f (standard deviation %.3f)   without noise %.3f   naming the study's own shares for every set %.3f\n", name, l.Released, l.ReleasedSD, l.Unperturbed, l.TrainingRatio)
	}
	line("all test sets", s.L1)
	for _, b := range s.ByShare {
		line(fmt.Sprint(b.Shares), b.L1)
	}
	fmt.Fprintf(w, "\nmean absolute error of a class's share %.3f, relative absolute error %.3f, normalised KL divergence %.2g; %.0f %% of the test sets got intervals, of which %.0f %% held the true share (95 %% should)\n", s.AE, s.RAE, s.NKLD, 100*s.IntervalShare, 100*s.Coverage)
	fmt.Fprintf(w, "%.0f %% of the test sets were doubted (no mixture of the classes explains them); in the worst case, errors of the sets' features become %.3g times as large in the shares (the published bound); %.0f bytes a party; %.1f s\n", 100*s.PoorFitShare, s.Condition, s.UploadBytes, s.Seconds)
	endRehearsal(w, s.Summary)
}
