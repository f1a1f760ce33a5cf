package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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
	report           string
	mechanism, out   string
	noise            study.Noise
	epsilon, delta   float64
	parties, repeats int
	terms            describe.Terms
	seed             uint64
}

// describeSummary is the JSON document of simulate describe.
type describeSummary struct {
	Study     string       `json:"study"`
	Mechanism string       `json:"mechanism"`
	Where     string       `json:"where,omitempty"`
	Unit      privacy.Unit `json:"unit"`
	Noise     study.Noise  `json:"noise"`
	Epsilon   float64      `json:"epsilon"`
	Delta     float64      `json:"delta"`
	Parties   int          `json:"parties"`
	// Forecast is what study create would say of the plan.
	Forecast string `json:"forecast"`
	// RMSE is the root mean square of released counts as shown less true ones, over
	// all cells; NoisyRMSE that of the counts as released.
	RMSE      float64 `json:"rmse"`
	NoisyRMSE float64 `json:"noisy_rmse"`
	// Released is the release's table, True that of the same records.
	Released describe.Table `json:"released"`
	True     describe.Table `json:"true"`
	// Coverage is how often the intervals held the truth in Repeats draws.
	Repeats  int                 `json:"repeats,omitempty"`
	Coverage []simulate.Coverage `json:"coverage,omitempty"`
	Totals   []study.UnitTotal   `json:"totals"`
	Seconds  float64             `json:"seconds"`
}

func newSimulateDescribe(c *console) *cobra.Command {
	var s simulateDescribe
	cmd := &cobra.Command{
		Use:   "describe",
		Short: "A private table one: counts, means, quartiles, by group, with intervals",
		Long: `Deal records to virtual parties, run a describe study through the real study
machine and simulation ledgers, and show what is released beside the truth. Each
record is hidden. With --repeats it draws noise and records so often, and tells
how often the 95 % intervals held the truth.

Without --train or --dataset it uses generated hospital data.`,
		Example: `  caucus simulate describe --epsilon 1
  caucus simulate describe --dataset adult --parties 12 --by sex
  caucus simulate describe --dataset adult --parties 12 --count --where 'age >= 65 and sex == Female'
  caucus simulate describe --dataset adult --records 30000 --parties 12 --repeats 500`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return refused(cmd, s.run(cmd, c)) },
	}
	s.flags(cmd)
	for _, unused := range []string{"test", "hold-out", "pool", "pool-where", "pool-mapping"} {
		cmd.Flags().MarkHidden(unused)
	}
	f := cmd.Flags()
	f.StringVar(&s.mechanism, "mechanism", "", "laplace (pure ε), gaussian, or auto: the quieter (default)")
	f.StringVar((*string)(&s.noise), "noise", "", "who adds noise: site (default), coordinator, or aggregators (coordinator and helper, each on secret shares)")
	f.Float64Var(&s.epsilon, "epsilon", 1, "privacy budget ε of each record")
	f.Float64Var(&s.delta, "delta", 0, "privacy budget δ (default min(1e-6, 1/(10·records)) for gaussian, 0 for laplace)")
	f.IntVar(&s.terms.Bins, "bins", describe.DefaultTerms().Bins, "equal parts of each number's public range")
	f.StringVar(&s.terms.By, "by", "", "tell everything for each level of this column: the label or a text")
	f.BoolVar(&s.terms.Count, "count", false, "only how many records --where holds for")
	f.StringVar(&s.where, "where", "", "which records the study is about, such as 'age >= 65'")
	f.IntVar(&s.repeats, "repeats", 0, "draw noise and records so often, and tell how often the intervals held")
	f.IntVar(&s.parties, "parties", 0, "number of virtual parties; default: the party column's, else 10")
	f.Uint64Var(&s.seed, "seed", 1, "seed of the deal and of simulated noise")
	f.StringVar(&s.out, "out", "", "write the release here")
	writes(f, "out", ".json")
	f.StringVar(&s.report, "report", "", reportFlagHelp)
	writes(f, "report", ".html", ".htm")
	return cmd
}

// plan is that of a proposal with the defaults of a real study, but for the pool.
func (s *simulateDescribe) plan(cmd *cobra.Command, schema dataset.Schema, parties, records int) (study.Plan, error) {
	of := study.Proposal{
		Name: simulationName, Kind: "describe", Epsilon: s.epsilon, Mechanism: s.mechanism, Noise: s.noise,
		Minimum: parties, Records: records / parties, Seed: s.seed,
	}
	if s.epsilon == 0 {
		return study.Plan{}, errZeroEpsilonFlag
	}
	for i := range parties {
		of.Roster = append(of.Roster, study.PartyID(fmt.Sprintf("party-%05d", i+1)))
	}
	if cmd.Flags().Changed("delta") {
		of.Delta = &s.delta
	}
	var err error
	of.Where = s.where
	if s.terms.Count && !cmd.Flags().Changed("bins") {
		s.terms.Bins = 0
	}
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
	if s.repeats < 0 {
		return usagef("--repeats %d: give how often to draw noise and records, or 0", s.repeats)
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
		Study: p.Kind, Mechanism: p.Mechanism, Where: p.Where, Unit: p.Unit, Noise: p.Noise, Epsilon: p.Epsilon, Delta: p.Delta,
		Parties: len(parties), True: describe.Exact(p, data.train), Totals: release.Totals, Repeats: s.repeats,
	}
	if doc.Released, err = describe.TableOf(release); err != nil {
		return err
	}
	doc.RMSE, doc.NoisyRMSE = countErrors(doc.Released, doc.True)
	if doc.Forecast, err = forecastOf(p, pool, study.Size{Parties: len(parties), Records: data.train.Len()}); err != nil {
		return err
	}
	if s.repeats > 0 {
		var records []*dataset.Records
		for _, in := range parties {
			records = append(records, in.Records)
		}
		if doc.Coverage, err = simulate.DescribeCoverage(cmd.Context(), p, pool, records, s.repeats, s.seed); err != nil {
			return err
		}
	}
	if s.out != "" {
		if err := c.writeRelease(s.out, &release); err != nil {
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

// forecastOf is what study create says of a plan.
func forecastOf(p study.Plan, pool *auxdata.Pool, size study.Size) (string, error) {
	task, err := kinds.NewTask(p, pool)
	if err != nil {
		return "", err
	}
	words, _, err := task.(study.NoiseForecaster).ForecastNoise(size)
	return words, err
}

// countErrors are root mean squares over all cells; 0 where nothing but a count is
// released.
func countErrors(released, truth describe.Table) (shown, noisy float64) {
	cells := 0.0
	for i, col := range released.Columns {
		for g, s := range col.Groups {
			for k, v := range s.Counts {
				n := truth.Columns[i].Groups[g].Noisy[k]
				shown += (v - n) * (v - n)
				noisy += (s.Noisy[k] - n) * (s.Noisy[k] - n)
				cells++
			}
		}
	}
	return math.Sqrt(shown / max(cells, 1)), math.Sqrt(noisy / max(cells, 1))
}

func printDescribe(w io.Writer, d describeSummary) error {
	fmt.Fprintf(w, "%s, mechanism %s, unit %s, noise added by the %s, ε = %g, δ = %g\n", d.Study, d.Mechanism, d.Unit, d.Noise, d.Epsilon, d.Delta)
	if d.Where != "" {
		fmt.Fprintf(w, "of the records for which %s\n", d.Where)
	}
	fmt.Fprintf(w, "%s of %s, %s; noise of standard deviation %.3g on each count, %.2g as a share\n",
		counted(int(d.Released.Records), "records"), counted(d.Parties, "parties"), counted(len(d.Released.Columns), "columns"), d.Released.NoiseSD, d.Released.ShareSD)
	for _, line := range strings.Split(d.Forecast, "\n") {
		fmt.Fprintf(w, "forecast: %s\n", line)
	}
	fmt.Fprintln(w)
	t := newTable(w, "column", "", "group", "true", "released", "95 % population", "95 % these records")
	truth := d.True.Estimates()
	for i, e := range d.Released.Estimates() {
		row := []string{e.Column, e.What, e.Group, e.Show(truth[i].Estimate), e.Show(e.Estimate), "", ""}
		if e.Estimate != nil {
			row[5], row[6] = e.Interval()
		}
		t.add(row...)
	}
	if err := t.render(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\ncounts as shown (the released ones moved to the nearest that records can have): rmse %.3g, as released %.3g; %.1f s\n", d.RMSE, d.NoisyRMSE, d.Seconds)
	if len(d.Coverage) > 0 {
		fmt.Fprintf(w, "\nhow often 95 %% intervals held the truth in %d draws:\n", d.Repeats)
		t := newTable(w, "", "estimates", "population", "these records", "least", "of", "unknown", "error", "by middles")
		for _, c := range d.Coverage {
			row := []string{string(c.Form), fmt.Sprint(c.Estimates), fmt.Sprintf("%.3f", c.Population), fmt.Sprintf("%.3f", c.Records), fmt.Sprintf("%.3f", c.Least), c.LeastOf, fmt.Sprintf("%.3f", c.Unknown), "", ""}
			if c.Error > 0 {
				row[7] = fmt.Sprintf("%.2g", c.Error)
			}
			if c.Midpoints > 0 {
				row[8] = fmt.Sprintf("%.2g", c.Midpoints)
			}
			t.add(row...)
		}
		if err := t.render(); err != nil {
			return err
		}
	}
	printTotals(w, d.Totals)
	_, err := fmt.Fprintln(w, "simulated: this protects nobody; real studies run between a coordinator and agents")
	return err
}
