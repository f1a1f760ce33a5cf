package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/reweigh"
	"caucus/study/simulate"
)

// simulateReweigh holds the flags of simulate reweigh.
type simulateReweigh struct {
	source
	report                                     string
	components                                 dataset.Components
	split, query, mechanism, lambda, unit, out string
	noise                                      study.Noise
	epsilon, delta, share, holdOutShare, keep  float64
	parties, repeats, bins                     int
	pairs                                      []string
	seed                                       uint64
}

// reweighSummary is the JSON document of simulate reweigh.
type reweighSummary struct {
	simulate.ReweighSummary
	Seconds float64 `json:"seconds"`
}

func newSimulateReweigh(c *console) *cobra.Command {
	s := simulateReweigh{components: dataset.Components{Project: dataset.Auto}}
	cmd := &cobra.Command{
		Use:   "reweigh",
		Short: "Weigh a public pool so that it stands for private records of another population",
		Long: `Split records by a column into mostly private and mostly public ones, leave that
column out, run a reweigh study among virtual parties through the real study
machine and a simulation ledger, and compare a query's answer on the weighted
pool with the truth on the private records.

Without --train or --dataset it uses generated hospital data.`,
		Example: `  caucus simulate reweigh --split sex=male --query 'readmitted == "yes"' --epsilon 0.5
  caucus simulate reweigh --dataset adult --split sex=Male --query 'income == ">50K"' --epsilon 0.1 --parties 12`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return refused(cmd, s.run(cmd, c)) },
	}
	s.flags(cmd)
	for _, unused := range []string{"test", "hold-out", "pool", "pool-where", "party-column"} {
		cmd.Flags().MarkHidden(unused)
	}
	f := cmd.Flags()
	f.StringVar(&s.split, "split", "", "COLUMN=VALUE: records with it are mostly private; COLUMN alone takes its commonest value")
	f.Float64Var(&s.share, "share", 0.9, "share of those records, and 1 − share of the others, that is private; the rest is the pool")
	f.Float64Var(&s.holdOutShare, "hold-out-share", 0, "share of the private records that takes no part and is written to test.csv")
	f.StringVar(&s.query, "query", "", `condition whose share among the private records is asked for, such as 'income == ">50K"'`)
	f.StringVar(&s.mechanism, "mechanism", "entropy", "entropy, logistic or logistic-paper")
	f.StringVar((*string)(&s.noise), "noise", "", "who adds noise: site (default), coordinator, or aggregators (coordinator and helper, each on secret shares)")
	f.StringVar(&s.unit, "unit", "record", "what one guarantee hides: record or label")
	f.Float64Var(&s.epsilon, "epsilon", 1, "privacy budget ε")
	f.Float64Var(&s.delta, "delta", 0, "privacy budget δ: 0 for pure ε, above for Gaussian noise (entropy only)")
	f.StringVar(&s.lambda, "lambda", "auto", "ridge; auto chooses it after the release (entropy) or takes 0.1 (logistic)")
	f.Float64Var(&s.keep, "keep", 0, "least share of the pool's rows that stays effective (entropy, auto; default 0.02)")
	f.StringSliceVar(&s.pairs, "pair", nil, "COLUMN*COLUMN: release their joint margin too; may be repeated")
	f.IntVar(&s.bins, "bins", 0, "release a histogram of so many bins of each number too")
	componentsFlags(f, &s.components)
	f.IntVar(&s.parties, "parties", 1, "number of virtual parties among which the private records are dealt")
	f.IntVar(&s.repeats, "repeats", 10, "repeats with other splits and noise")
	f.Uint64Var(&s.seed, "seed", 1, "seed of splits and simulated noise")
	f.StringVar(&s.out, "out", "", "write the first repeat's files to this folder: release, schema, pool, weighted pool, private records and those held out")
	writes(f, "out", asFolder)
	f.StringVar(&s.report, "report", "", reportFlagHelp)
	writes(f, "report", ".html", ".htm")
	return cmd
}

// proposal is what the flags propose; what they leave out takes the defaults of a real
// study.
func (s *simulateReweigh) proposal(cmd *cobra.Command) (study.Proposal, error) {
	unit, err := unitOf(s.unit)
	if err != nil {
		return study.Proposal{}, err
	}
	p := study.Proposal{
		Name: simulationName, Kind: "reweigh", Unit: unit, Epsilon: s.epsilon, Mechanism: s.mechanism, Noise: s.noise, Map: s.components,
	}
	if s.epsilon == 0 {
		return p, errZeroEpsilonFlag
	}
	if cmd.Flags().Changed("delta") {
		p.Delta = &s.delta
	}
	terms := reweigh.Terms{Bins: s.bins, Keep: s.keep}
	for _, pair := range s.pairs {
		a, b, ok := strings.Cut(pair, "*")
		if !ok {
			return p, usagef("--pair %q: want COLUMN*COLUMN", pair)
		}
		terms.Pairs = append(terms.Pairs, [2]string{a, b})
	}
	if p.KindTerms, err = study.EncodeTerms(terms); err != nil {
		return p, err
	}
	p.Lambda, err = parseLambda(s.lambda)
	return p, err
}

// group marks the rows that --split names; its column is returned too.
func (s *simulateReweigh) group(t *dataset.Table) (column, value string, marks []bool, err error) {
	column, value, given := strings.Cut(s.split, "=")
	if !t.Has(column) {
		return "", "", nil, usagef("--split %q: there is no column %q; the columns are %s", s.split, column, strings.Join(t.Columns(), ", "))
	}
	counts := map[string]int{}
	cells := make([]string, t.Rows())
	for i := range cells {
		cell, _ := t.Cell(i, column)
		cells[i] = strings.TrimSpace(cell)
		counts[cells[i]]++
	}
	if !given {
		for v, n := range counts {
			if n > counts[value] || (n == counts[value] && v < value) || value == "" {
				value = v
			}
		}
	}
	if counts[value] == 0 {
		return "", "", nil, usagef("--split %q: no record has %q in column %s", s.split, value, column)
	}
	marks = make([]bool, len(cells))
	for i, cell := range cells {
		marks[i] = cell == value
	}
	return column, value, marks, nil
}

func (s *simulateReweigh) run(cmd *cobra.Command, c *console) error {
	start := time.Now()
	for _, name := range reweighFiles { // before the work, not after it
		if err := c.notRead(filepath.Join(s.out, name)); s.out != "" && err != nil {
			return err
		}
	}
	if s.repeats < 1 {
		return usagef("--repeats %d: give at least 1", s.repeats)
	}
	if s.split == "" || s.query == "" {
		return usagef("simulate reweigh needs --split COLUMN=VALUE and --query CONDITION")
	}
	condition, err := dataset.ParseCondition(s.query)
	if err != nil {
		return usageError{err}
	}
	proposal, err := s.proposal(cmd)
	if err != nil {
		return err
	}
	s.source.seed = s.seed
	schema, table, _, err := s.tables(c)
	if err != nil {
		return err
	}
	column, value, group, err := s.group(table)
	if err != nil {
		return err
	}
	holds, err := condition.Rows(table)
	if err != nil {
		return usageError{err}
	}
	query := make([]float64, len(holds))
	for i, h := range holds {
		if h {
			query[i] = 1
		}
	}
	schema = schema.Without(column)
	schema.Party = "" // as writeFiles writes
	if proposal.Unit == privacy.Party {
		c.warnDelta(s.delta, s.parties)
	} else {
		c.warnDelta(s.delta, table.Rows())
	}
	records, _, err := schema.Encode(table)
	if err != nil {
		return err
	}
	sim := simulate.Reweigh{
		Schema: schema, Proposal: proposal, Records: records, Group: group, Share: s.share, HoldOut: s.holdOutShare,
		Query: query, Parties: s.parties, Repeats: s.repeats, Seed: s.seed,
	}
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
		if err := s.writeFiles(c, schema, table, summary); err != nil {
			return err
		}
	}
	if err := c.reportSimulated(s.report, summary.Release, measuredReweigh(summary)); err != nil {
		return err
	}
	doc := reweighSummary{summary, time.Since(start).Seconds()}
	return c.print(doc, func(w io.Writer) error { return printReweigh(w, doc, s, column+"="+value) })
}

// reweighFiles are what --out holds.
var reweighFiles = []string{"release.json", "schema.yaml", "pool.csv", "weighted.csv", "private.csv", "test.csv"}

// writeFiles writes the first repeat's files, for caucus query and for a study on
// the weighted pool.
func (s *simulateReweigh) writeFiles(c *console, schema dataset.Schema, t *dataset.Table, summary simulate.ReweighSummary) error {
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	pool := t.Select(summary.PoolRecords)
	text, err := schema.YAML()
	if err != nil {
		return err
	}
	weights, err := reweigh.WeightsOf(*summary.Release)
	if err != nil {
		return err
	}
	if err := c.writeRelease(filepath.Join(s.out, "release.json"), summary.Release); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"schema.yaml": func(w io.Writer) error { _, err := w.Write(text); return err },
		"pool.csv":    pool.WriteCSV,
		"weighted.csv": func(w io.Writer) error {
			return auxdata.WriteWeighted(w, pool, weights.Weight)
		},
		"private.csv": t.Select(summary.PrivateRecords).WriteCSV,
		"test.csv":    t.Select(summary.TestRecords).WriteCSV,
	} {
		if err := c.write(filepath.Join(s.out, name), write); err != nil {
			return err
		}
	}
	c.note("wrote release.json, schema.yaml, pool.csv, weighted.csv, private.csv and test.csv to %s", s.out)
	return nil
}

func printReweigh(w io.Writer, d reweighSummary, s *simulateReweigh, split string) error {
	fmt.Fprintf(w, "%s, mechanism %s, unit %s, noise added by the %s, ε = %g, δ = %g\n", d.Study, d.Mechanism, d.Unit, d.Noise, d.Epsilon, d.Delta)
	fmt.Fprintf(w, "%s (mostly %s) of %s; pool of %s (mostly the others); %s\n\n",
		counted(d.PrivateRows, "private records"), split, counted(d.Parties, "parties"), counted(d.PoolRows, "rows"), counted(d.Features, "features"))
	fmt.Fprintf(w, "share of %s\n", s.query)
	for _, r := range []struct {
		name        string
		value, rmse float64
		about       string
	}{
		{"truth", d.Truth, 0, "among the private records"},
		{"estimate", d.Estimate, d.RMSE, fmt.Sprintf("on the weighted pool; λ = %.3g", d.Lambda)},
		{"unperturbed", d.Unperturbed, d.UnperturbedRMSE, "the same without noise"},
		{"unweighted", d.Unweighted, d.UnweightedRMSE, "on the pool as it is"},
	} {
		fmt.Fprintf(w, "  %-12s %.4f  rmse %.4f  %s\n", r.name, r.value, r.rmse, r.about)
	}
	if d.Intervals == 0 {
		fmt.Fprintf(w, "  no answer has an interval; R² %.2f\n", d.R2)
	} else {
		fmt.Fprintf(w, "  %.0f %% of the answers have a 95 %% interval, %.4f wide on average; %.0f %% of these hold the truth; R² %.2f\n", 100*d.Intervals, d.Width, 100*d.Coverage, d.R2)
	}
	fmt.Fprintf(w, "\nover %s; the pool counts as %.0f rows on average; %.0f bytes a party; %.1f s\nof the first repeat:\n",
		counted(d.Repeats, "repeats"), d.EffectiveRows, d.UploadBytes, d.Seconds)
	printWeights(w, *d.Release)
	printTotals(w, d.Totals)
	for _, m := range d.Warnings {
		fmt.Fprintf(w, "warning: %s\n", m)
	}
	_, err := fmt.Fprintln(w, "simulated: this protects nobody; real studies run between a coordinator and agents")
	return err
}

// printTotals says what is guaranteed at each unit.
func printTotals(w io.Writer, totals []study.UnitTotal) {
	for _, t := range totals {
		if t.Epsilon == nil {
			fmt.Fprintf(w, "total for a %s: no guarantee (%s)\n", t.Unit, t.Why)
			continue
		}
		fmt.Fprintf(w, "total for a %s: ε = %g, δ = %.3g (%s)\n", t.Unit, *t.Epsilon, t.Delta, t.Why)
	}
}
