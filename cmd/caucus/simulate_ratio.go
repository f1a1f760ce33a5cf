package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"caucus/aggregation/ratio"
	"caucus/dataset"
	"caucus/study"
	studyratio "caucus/study/ratio"
	"caucus/study/simulate"
)

// simulateRatio holds the flags of simulate ratio.
type simulateRatio struct {
	source
	report                             string
	components                         dataset.Components
	terms                              studyratio.Terms
	mechanism, setShares, targetShares string
	expected                           string
	out                                string
	epsilon, delta, skew, poolFraction float64
	sets, setSize, targets, targetSize int
	poolRows, repeats                  int
	seed                               uint64
}

// ratioSummary is the JSON document of simulate ratio.
type ratioSummary struct {
	simulate.RatioSummary
	Seconds float64 `json:"seconds"`
}

func newSimulateRatio(c *console) *cobra.Command {
	s := simulateRatio{terms: studyratio.DefaultTerms(), components: dataset.Components{Project: dataset.Auto}}
	cmd := &cobra.Command{
		Use:   "ratio",
		Short: "Estimate class ratios from sets with privatised label counts",
		Long: `Make disjoint sets of labelled records, one a virtual party, publish each with
privatised label counts through the real study machine and simulation ledgers,
and compare the class ratios estimated for unlabelled test sets with the truth.

Without --train or --dataset it uses generated hospital data.`,
		Example: `  caucus simulate ratio --sets 8 --set-size 500 --skew 0.7 --epsilon 0.5
  caucus simulate ratio --records 30000 --features noisy-embedding --fourier 100 --sets 4 --set-size 5000 --made 0.8
  caucus simulate ratio --dataset adult --sets 4 --set-size 600 --skew 0.9 --features clear --fourier 0 --target-shares "0.9,0.1;0.1,0.9" --target-size 600`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return refused(cmd, s.run(cmd, c)) },
	}
	s.flags(cmd)
	cmd.Flags().MarkHidden("party-column")
	f := cmd.Flags()
	f.IntVar(&s.sets, "sets", 10, "number of sets, each a virtual party's")
	f.IntVar(&s.setSize, "set-size", 500, "records of a set")
	f.Float64Var(&s.skew, "skew", 0, "share of a set's main class, which takes turns; 0: shares uniform on the simplex")
	f.Float64Var(&s.terms.Skew, "made", 0, "each party makes a set a class of its records, natural ones unless --skew or --set-shares, and this share of a set is meant to be its class; 0: a party's records are one set (needs noisy-embedding)")
	f.StringVar(&s.expected, "expected", "", `with --made, the class shares that are publicly expected, such as "0.76,0.24"; the sets are then of equal size`)
	f.StringVar(&s.setShares, "set-shares", "", `the sets' class shares in turn, such as "0.9,0.1;0.1,0.9"`)
	f.StringVar(&s.targetShares, "target-shares", "", "the test sets' class shares, likewise; default: uniform on the simplex")
	f.IntVar(&s.targets, "targets", 20, "number of test sets (at each of --target-shares)")
	f.IntVar(&s.targetSize, "target-size", 500, "records of a test set")
	f.StringVar(&s.mechanism, "mechanism", "", strings.Join(studyratio.Mechanisms(), ", ")+" (default auto; gaussian-zcdp with noisy embeddings)")
	f.Float64Var(&s.epsilon, "epsilon", 1, "privacy budget ε, of each label (of each record with noisy embeddings)")
	f.Float64Var(&s.delta, "delta", -1, "privacy budget δ; default min(1e-6, 1/(10·records))")
	f.StringVar(&s.terms.Estimator, "estimator", s.terms.Estimator, strings.Join(ratio.Estimators(), ", "))
	f.StringVar(&s.terms.Features, "features", s.terms.Features, "what leaves beside the counts: clear, embedding or noisy-embedding (which hides each record)")
	f.IntVar(&s.terms.Fourier, "fourier", s.terms.Fourier, "numbers of an embedding; 0 with clear features compares rows by the kernel itself")
	f.Float64Var(&s.terms.Gamma, "width", 0, "kernel width in units of one over the pool's median squared distance; 0: chosen on held-out sets (clear), 3 (embedding) or 1 (noisy-embedding)")
	componentsFlags(f, &s.components)
	f.Float64Var(&s.poolFraction, "pool-fraction", 0.1, "share of the training records that becomes the pool, without labels")
	f.IntVar(&s.poolRows, "pool-rows", 5000, "most rows of that pool; 0 for no limit")
	f.IntVar(&s.repeats, "repeats", 1, "repeats with other splits and noise")
	f.Uint64Var(&s.seed, "seed", 1, "seed of splits, maps and simulated noise")
	f.StringVar(&s.out, "out", "", "write the first repeat's release here, for caucus ratio")
	writes(f, "out", ".json")
	f.StringVar(&s.report, "report", "", reportFlagHelp)
	writes(f, "report", ".html", ".htm")
	return cmd
}

// parseShares reads "0.9,0.1;0.1,0.9".
func parseShares(flag, text string) ([][]float64, error) {
	if text == "" {
		return nil, nil
	}
	var out [][]float64
	for _, part := range strings.Split(text, ";") {
		var shares []float64
		for _, v := range strings.Split(part, ",") {
			x, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
			if err != nil {
				return nil, usagef("--%s %q: %q is not a number; separate shares by commas and sets by semicolons", flag, text, v)
			}
			shares = append(shares, x)
		}
		out = append(out, shares)
	}
	return out, nil
}

func (s *simulateRatio) run(cmd *cobra.Command, c *console) error {
	start := time.Now()
	s.source.seed = s.seed
	if s.epsilon == 0 {
		return errZeroEpsilonFlag
	}
	sim := simulate.Ratio{
		Proposal: study.Proposal{Name: simulationName, Kind: "ratio", Epsilon: s.epsilon, Mechanism: s.mechanism, Map: s.components},
		Sets:     s.sets, SetSize: s.setSize, Skew: s.skew, Targets: s.targets, TargetSize: s.targetSize,
		Repeats: s.repeats,
	}
	var err error
	if sim.SetShares, err = parseShares("set-shares", s.setShares); err != nil {
		return err
	}
	if sim.TargetShares, err = parseShares("target-shares", s.targetShares); err != nil {
		return err
	}
	data, err := s.load(c)
	if err != nil {
		return err
	}
	sim.Split = simulate.Split{
		Schema: data.schema, Train: data.train, Test: data.test, Pool: data.pool, PoolFraction: s.poolFraction, PoolRows: s.poolRows, Seed: s.seed,
	}
	sim.Schema.Party = ""
	s.terms.Sets, s.terms.MaxSets = studyratio.SetsParty, 0
	if s.terms.Skew != 0 || s.expected != "" {
		s.terms.Sets = studyratio.SetsMade
		shares, err := parseShares("expected", s.expected)
		if err != nil {
			return err
		}
		if len(shares) > 0 {
			s.terms.Expected = shares[0]
		}
	}
	if cmd.Flags().Changed("delta") {
		sim.Proposal.Delta = &s.delta
		c.warnDelta(s.delta, s.sets*s.setSize)
	}
	sim.Terms = s.terms
	if err := sim.Check(); err != nil {
		return usageError{err}
	}
	bar := newProgress(c)
	sim.Progress = bar.set
	summary, err := sim.Run(cmd.Context())
	bar.stop()
	if err != nil {
		return err
	}
	if s.out != "" {
		if err := c.writeRelease(s.out, summary.Release); err != nil {
			return err
		}
		c.note("wrote %s; use it with: caucus ratio --release %s --data FILE", s.out, s.out)
	}
	if err := c.reportSimulated(s.report, summary.Release, measuredRatio(summary)); err != nil {
		return err
	}
	doc := ratioSummary{summary, time.Since(start).Seconds()}
	return c.print(doc, func(w io.Writer) error { return printRatio(w, doc) })
}

func printRatio(w io.Writer, s ratioSummary) error {
	fmt.Fprintf(w, "%s, mechanism %s (%s", s.Study, s.Mechanism, s.Sampler)
	for _, k := range slices.Sorted(maps.Keys(s.Parameters)) {
		fmt.Fprintf(w, ", %s %s", k, s.Parameters[k])
	}
	fmt.Fprintf(w, "), unit %s, ε = %g, δ = %g\n", s.Unit, s.Epsilon, s.Delta)
	sets := counted(s.Sets, "sets")
	if s.Made > 0 {
		sets = counted(s.Sets, "parties") + ", each making a set a class"
	}
	fmt.Fprintf(w, "%s of about %.0f records, %d classes, features: %s, estimator %s, width %.3g\n\n", sets, s.SetSize, s.Classes, s.Features, s.Estimator, s.Width)
	fmt.Fprintf(w, "mean L1 distance to the true shares of %s of %s, %s\n",
		counted(s.Targets*max(1, len(s.ByShare)), "test sets"), counted(s.TargetSize, "records"), counted(s.Repeats, "repeats"))
	line := func(name string, l simulate.RatioL1) {
		fmt.Fprintf(w, "  %-18s released %.4f ± %.4f   unperturbed %.4f   training ratio %.4f\n", name, l.Released, l.ReleasedSD, l.Unperturbed, l.TrainingRatio)
	}
	line("all", s.L1)
	for _, b := range s.ByShare {
		line(fmt.Sprint(b.Shares), b.L1)
	}
	fmt.Fprintf(w, "\nAE %.4f, RAE %.4f, NKLD %.4f; %.0f %% of the files had intervals, which held the true share %.0f %% of the time (meant: 95 %%)\n", s.AE, s.RAE, s.NKLD, 100*s.Intervals, 100*s.Coverage)
	fmt.Fprintf(w, "%.0f %% of the test sets look like no mixture of the classes; condition number %.3g; %.0f bytes a party; %.1f s\n", 100*s.Doubted, s.Condition, s.UploadBytes, s.Seconds)
	for _, m := range s.Warnings {
		fmt.Fprintf(w, "warning: %s\n", m)
	}
	_, err := fmt.Fprintln(w, "simulated: this protects nobody; real studies run between a coordinator and agents")
	return err
}
