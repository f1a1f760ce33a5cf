package main

import (
	"context"
	"fmt"
	"io"

	"caucus/analyst/simulate"
	"caucus/cmd/internal/console"
	"caucus/study/labels"
)

func (r *rehearsal) labels(ctx context.Context) (found rehearsed, err error) {
	own := r.Simulate.(*simulate.LabelsTerms)
	data, err := r.records()
	if err != nil {
		return found, err
	}
	// by default, a virtual party may hold the most records that a plan allows
	if !r.HasTerm("labels.max_records") {
		if err := changeTerms(&r.Proposal, func(t *labels.Terms) error {
			t.MaxRecords = labels.MaxRecordsLimit
			return nil
		}); err != nil {
			return found, err
		}
	}
	sim := simulate.Labels{
		Split: r.split(data), Proposal: r.Proposal, Repeats: own.Repeats,
		Progress: r.bar.Set,
	}
	summary, err := ran(ctx, r, sim)
	if err != nil {
		return found, err
	}
	return rehearsed{summary, func(w io.Writer) {
		printLabels(w, summary, data.schema.Classes())
	}, summary.Release, measuredLabels(summary), summary.Records}, nil
}

func printLabels(w io.Writer, s simulate.LabelsSummary, classes []string) {
	fmt.Fprintf(w, "%s, mechanism %s at ε = %g a label: each label is sent unchanged with probability %.3f\n", s.Study, s.Mechanism, s.Epsilon, s.Keep)
	fmt.Fprintf(w, "%s of %s, encoded as %s and a constant; %s; loss %s, risk %s, correction %s, ridge λ = %.3g\n\n",
		console.Counted(s.Records, "records"), console.Counted(s.Parties, "parties"),
		console.Counted(s.Features-1,
			"numbers"), console.Counted(s.Classes, "classes"), s.Loss, s.Risk, s.Correction,
		s.Lambda)
	t := console.NewTable(w, "on test records", "released", "standard deviation", "without noise")
	row := func(name string, got, sd, clear float64) {
		t.Add(name, fmt.Sprintf("%.3f", got), deviation(sd, s.Repeats), fmt.Sprintf("%.3f", clear))
	}
	row("accuracy", s.Accuracy, s.SD.Accuracy, s.Unperturbed.Accuracy)
	row("balanced error (mean error of a class)", s.BER, s.SD.BER, s.Unperturbed.BER)
	row("area under the curve", s.AUC, s.SD.AUC, s.Unperturbed.AUC)
	row("Brier score", s.Brier.Released, s.Brier.ReleasedSD, s.Brier.Unperturbed)
	row("calibration slope", s.Slope.Released, s.Slope.ReleasedSD, s.Slope.Unperturbed)
	t.Render()
	fmt.Fprintf(w, "the classifier's numbers are %s\n", s.Output.Words())
	if of := s.Probabilities; of != nil {
		fmt.Fprintf(w, "probabilities in %d of %s: slope %.3f %sBrier score %.3f; the slope's 95 %% interval held the test records' slope in %d\n", of.Repeats, console.Counted(s.Repeats, "repeats"), of.Slope.Released, plusMinus(of.Slope.ReleasedSD, of.Repeats, "; "), of.Brier.Released, of.CoveredSlopes)
	}
	fmt.Fprintf(w, "always naming the largest class: accuracy %.3f; over %s\n\nclass shares of the records\n", s.MajorityClass, console.Counted(s.Repeats, "repeats"))
	shares := console.NewTable(w, "class", "true", "estimated", "standard error")
	for k, name := range classes {
		shares.Add(name, fmt.Sprintf("%.3f", s.TrueShares[k]),
			fmt.Sprintf("%.3f", s.Shares.Share[k]), fmt.Sprintf("%.3f", s.Shares.Error[k]))
	}
	shares.Render()
	fmt.Fprintf(w, "\n%.0f bytes uploaded per party, once; %.1f s\n", s.UploadBytes, s.Seconds)
	for _, m := range s.Warnings {
		fmt.Fprintf(w, "warning: %s\n", m)
	}
	fmt.Fprintln(w, "simulated: this protects nobody, because anyone can repeat its noise; a real study hides labels alone, and sends features in clear")
}
