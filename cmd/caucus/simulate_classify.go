package main

import (
	"context"
	"fmt"
	"io"

	"caucus/analyst/simulate"
	"caucus/cmd/internal/console"
	"caucus/dataset"
	"caucus/learners"
	"caucus/study/classifier"
	"caucus/study/classify"
)

func (r *rehearsal) classify(ctx context.Context) (found rehearsed, err error) {
	own := r.Simulate.(*simulate.ClassifyTerms)
	programs := voters{timeout: own.VoterTimeout}
	voting, err := programs.of(own.Voters)
	if err != nil {
		return found, err
	}
	if len(voting) > 0 {
		if err := r.votesOf(learners.AnyClassifier); err != nil {
			return found, err
		}
	}
	data, err := r.records()
	if err != nil {
		return found, err
	}
	sim := simulate.Classify{Split: r.split(data), Proposal: r.Proposal, Repeats: own.Repeats,
		SecretShares: own.RealShares, Progress: r.bar.Set}
	// hospitals that are made up are no named parties
	if named := r.partyColumn != "" || r.known != "" || r.train != ""; r.Parties == 0 && !named {
		sim.Parties = usualParties[r.Kind]
	}
	sim.TestParties, sim.Voters = own.HoldOutParties, voting
	if own.RealShares && !r.Noise.Shared() {
		return found, console.Usagef("real_shares goes with noise: aggregators")
	}
	summary, err := ran(ctx, r, sim)
	if err != nil {
		return found, err
	}
	programs.warn(r.Console)
	return rehearsed{summary, func(w io.Writer) {
		printClassify(w, summary)
	}, summary.Release, measuredClassify(summary), data.train.Len()}, nil
}

func printClassify(w io.Writer, s simulate.ClassifySummary) {
	a, numbers := s.Accuracy, s.Output.Words()
	if c, ok := classifier.Of(s.Release.Result); ok && s.Repeats == 1 {
		numbers = c.Words()
	}
	fmt.Fprintf(w, "%s, mechanism %s, unit %s, noise added by %s\n", s.Study, s.Mechanism, s.Unit,
		s.Noise.Trust().By)
	fmt.Fprintf(w, "ε = %g, δ = %g; %s, each with its records in %s; pool of %s; %s\n",
		s.Epsilon, s.Delta, console.Counted(s.Parties, "parties"), console.Counted(s.Shards,
			"parts"), console.Counted(s.PoolRows, "rows"), console.Counted(s.Classes, "classes"))
	fmt.Fprintf(w, "map: %s\n", s.Map)
	if words := dataset.KeptText(s.Kept); words != "" {
		fmt.Fprintf(w, "  %s\n", words)
	}
	fmt.Fprintln(w, "\naccuracy on test records")
	for _, r := range []struct {
		name  string
		value float64
		about string
	}{
		{"released", a.Released, fmt.Sprintf("%sover %s; mean ridge of the fit λ = %.2g", plusMinus(a.ReleasedSD, s.Repeats, " (standard deviation) "), console.Counted(s.Repeats, "repeats"), s.Lambda)},
		{"without noise", a.Unperturbed, "the same study"},
		{"all records pooled", a.Pooled, "one classifier that is trained on the records of all parties"},
		{"one party alone", a.LocalMean, "a party's classifier of its own records, mean over parties"},
		{"largest class", a.MajorityClass, "always naming it"},
	} {
		fmt.Fprintf(w, "  %-18s %.3f  %s\n", r.name, r.value, r.about)
	}
	for _, v := range s.Voters {
		fmt.Fprintf(w, "  %-18s %.3f  one of the %d parties that vote with it alone\n", v.Voter, v.Alone, v.Parties)
	}
	fmt.Fprintf(w, "\nthe classifier's numbers are %s\n", numbers)
	for _, r := range []struct {
		name  string
		value simulate.NoisyAndExact
		about string
	}{
		{"calibration slope", s.Slope, "1 if the numbers are probabilities, less if they are too extreme"},
		{"Brier score", s.Brier, "mean squared error of the numbers as probabilities"},
	} {
		fmt.Fprintf(w, "  %-18s %.3f  %swithout noise %.3f; %s\n", r.name, r.value.Released,
			plusMinus(r.value.ReleasedSD, s.Repeats, "; "), r.value.Unperturbed, r.about)
	}
	fmt.Fprintf(w, "\n%.0f bytes uploaded per party, once; %.1f s\n", s.UploadBytes, s.Seconds)
	endRehearsal(w, s.Summary)
}

// votesOf sets the term learner to any if parties vote with the classifiers of --voters.
func (r *rehearsal) votesOf(learner string) error {
	return changeTerms(&r.Proposal, func(t *classify.Terms) error {
		if t.Learner != "" && t.Learner != learner {
			return console.Usagef("voters are for learner: %s, where parties choose", learner)
		}
		t.Learner = learner
		return nil
	})
}
