package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/describe"
	"caucus/study/kinds"
	"caucus/study/simulate"
)

// simulateDescribe holds the flags of simulate describe.
type simulateDescribe struct {
	source
	report                string
	mechanism, noise, out string
	epsilon, delta        float64
	parties               int
	terms                 describe.Terms
	seed                  uint64
}

// describeSummary is the JSON document of simulate describe.
type describeSummary struct {
	Study     string       `json:"study"`
	Mechanism string       `json:"mechanism"`
	Unit      privacy.Unit `json:"unit"`
	Noise     string       `json:"noise"`
	Epsilon   float64      `json:"epsilon"`
	Delta     float64      `json:"delta"`
	Parties   int          `json:"parties"`
	// RMSE is the root mean square of released counts as shown less true ones, over
	// all cells; NoisyRMSE that of the counts as released.
	RMSE      float64 `json:"rmse"`
	NoisyRMSE float64 `json:"noisy_rmse"`
	// Released are the release's counts, True those of the same records.
	Released describe.Counts   `json:"released"`
	True     describe.Counts   `json:"true"`
	Totals   []study.UnitTotal `json:"totals"`
	Seconds  float64           `json:"seconds"`
}

func newSimulateDescribe(c *console) *cobra.Command {
	var s simulateDescribe
	cmd := &cobra.Command{
		Use:   "describe",
		Short: "Count records by column: levels, intervals of numbers, classes",
		Long: `Deal records to virtual parties, run a describe study through the real study
machine and simulation ledgers, and show the released counts beside the true
ones. Each record is hidden.

Without --train or --dataset it uses generated hospital data.`,
		Example: `  caucus simulate describe --epsilon 1
  caucus simulate describe --dataset adult --parties 12 --bins 8`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd, c) },
	}
	s.flags(cmd)
	for _, unused := range []string{"test", "hold-out", "pool", "pool-where", "pool-mapping"} {
		cmd.Flags().MarkHidden(unused)
	}
	f := cmd.Flags()
	f.StringVar(&s.mechanism, "mechanism", "", "laplace (pure ε), gaussian, or auto: the quieter (default)")
	f.StringVar(&s.noise, "noise", "", "who adds noise: site (default) or coordinator")
	f.Float64Var(&s.epsilon, "epsilon", 1, "privacy budget ε of each record")
	f.Float64Var(&s.delta, "delta", 0, "privacy budget δ (default min(1e-6, 1/(10·records)) for gaussian, 0 for laplace)")
	f.IntVar(&s.terms.Bins, "bins", describe.DefaultTerms().Bins, "equal parts of each number's public range")
	f.IntVar(&s.parties, "parties", 0, "number of virtual parties; default: the party column's, else 10")
	f.Uint64Var(&s.seed, "seed", 1, "seed of the deal and of simulated noise")
	f.StringVar(&s.out, "out", "", "write the release here")
	f.StringVar(&s.report, "report", "", reportFlagHelp)
	return cmd
}

// plan is that of a proposal with the defaults of a real study, but for the pool.
func (s *simulateDescribe) plan(cmd *cobra.Command, schema dataset.Schema, parties, records int) (study.Plan, error) {
	of := study.Proposal{
		Name: simulationName, Kind: "describe", Epsilon: s.epsilon, Mechanism: s.mechanism, Noise: s.noise,
		Minimum: parties, Records: records / parties, Seed: s.seed,
	}
	if s.epsilon == 0 {
		return study.Plan{}, usageError{errZeroEpsilon}
	}
	for i := range parties {
		of.Roster = append(of.Roster, study.PartyID(fmt.Sprintf("party-%05d", i+1)))
	}
	if cmd.Flags().Changed("delta") {
		of.Delta = &s.delta
	}
	var err error
	if of.KindTerms, err = study.EncodeTerms(s.terms); err != nil {
		return study.Plan{}, err
	}
	p, err := kinds.Complete(of, schema)
	p.Simulated = true
	return p, err
}

func (s *simulateDescribe) run(cmd *cobra.Command, c *console) error {
	start := time.Now()
	if cmd.Flags().Changed("parties") && s.parties < 1 {
		return usagef("--parties %d: give at least 1", s.parties)
	}
	s.source.seed, s.holdOut = s.seed, true // test records are of no use here
	data, err := s.load(c)
	if err != nil {
		return err
	}
	parties, err := s.deal(data.train)
	if err != nil {
		return err
	}
	p, err := s.plan(cmd, data.schema, len(parties), data.train.Len())
	if err != nil {
		return err
	}
	if err := kinds.Check(p); err != nil {
		return usageError{err}
	}
	c.warnDelta(p.Delta, data.train.Len())
	pool := auxdata.Virtual(mat.NewDense(1, p.Schema.Dim(), nil), p.Map) // counts ask nothing of a pool
	p.Pool = pool.Digest
	release, err := simulate.Rehearse(cmd.Context(), p, pool, parties)
	if err != nil {
		return err
	}
	doc := describeSummary{
		Study: p.Kind, Mechanism: p.Mechanism, Unit: p.Unit, Noise: p.Noise, Epsilon: p.Epsilon, Delta: p.Delta,
		Parties: len(parties), True: describe.Exact(p, data.train), Totals: release.Totals,
	}
	if doc.Released, err = describe.CountsOf(release); err != nil {
		return err
	}
	doc.RMSE, doc.NoisyRMSE = countErrors(doc.Released, doc.True)
	if s.out != "" {
		if err := writeRelease(s.out, &release); err != nil {
			return err
		}
		c.note("wrote %s", s.out)
	}
	if err := c.reportSimulated(s.report, &release, nil); err != nil {
		return err
	}
	doc.Seconds = time.Since(start).Seconds()
	return c.print(doc, func(w io.Writer) error { return printDescribe(w, doc) })
}

// deal gives each virtual party its records: those of the party column, or random
// equal parts.
func (s *simulateDescribe) deal(r *dataset.Records) ([]study.Inputs, error) {
	if s.parties == 0 && r.Party == nil {
		s.parties = 10
	}
	if s.parties > r.Len() {
		return nil, usagef("--parties %d for %d records: give at most as many parties as records", s.parties, r.Len())
	}
	rows := map[string][]int{}
	for at, i := range rand.New(rand.NewPCG(s.seed, 0)).Perm(r.Len()) {
		name := fmt.Sprint(at % max(s.parties, 1))
		if s.parties == 0 {
			name = r.Party[i]
		}
		rows[name] = append(rows[name], i)
	}
	var out []study.Inputs
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, study.Inputs{Records: r.Select(rows[name]), ShardKey: binary.BigEndian.AppendUint64(nil, s.seed+uint64(len(out)))})
	}
	return out, nil
}

// countErrors are root mean squares over all cells.
func countErrors(released, truth describe.Counts) (shown, noisy float64) {
	cells := 0.0
	for i, col := range released.Columns {
		for k, v := range col.Counts {
			n := float64(truth.Columns[i].Noisy[k])
			shown += (v - n) * (v - n)
			noisy += (float64(col.Noisy[k]) - n) * (float64(col.Noisy[k]) - n)
			cells++
		}
	}
	return math.Sqrt(shown / cells), math.Sqrt(noisy / cells)
}

func printDescribe(w io.Writer, d describeSummary) error {
	fmt.Fprintf(w, "%s, mechanism %s, unit %s, noise added by the %s, ε = %g, δ = %g\n", d.Study, d.Mechanism, d.Unit, d.Noise, d.Epsilon, d.Delta)
	fmt.Fprintf(w, "%d records of %d parties, %d columns; noise of standard deviation %.3g on each count, %.2g as a share\n\n",
		d.Released.Records, d.Parties, len(d.Released.Columns), d.Released.NoiseSD, d.Released.ShareSD)
	t := newTable(w, "column", "cell", "true", "shown", "released", "share")
	for i, col := range d.Released.Columns {
		name := col.Column
		for k, cell := range col.Cells() {
			t.add(name, cell, fmt.Sprint(d.True.Columns[i].Noisy[k]), fmt.Sprintf("%.0f", col.Counts[k]), fmt.Sprint(col.Noisy[k]), fmt.Sprintf("%.4f", col.Shares[k]))
			name = ""
		}
	}
	if err := t.render(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nshown: the released counts moved to the nearest that records can have; rmse %.3g (as released %.3g); %.1f s\n", d.RMSE, d.NoisyRMSE, d.Seconds)
	printTotals(w, d.Totals)
	_, err := fmt.Fprintln(w, "simulated: this protects nobody; real studies run between a coordinator and agents")
	return err
}
