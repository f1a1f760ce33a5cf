package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/evaluate"
	"caucus/study/simulate"
)

// simulateEvaluate holds the flags of simulate evaluate.
type simulateEvaluate struct {
	source
	model, unit, mechanism, out, report string
	noise                               study.Noise
	by                                  []string
	epsilon, delta, poolFraction        float64
	parties, partyRecords, repeats      int
	terms                               evaluate.Terms
	seed                                uint64
}

// evaluateSummary is the JSON document of simulate evaluate.
type evaluateSummary struct {
	simulate.EvaluateSummary
	Seconds float64 `json:"seconds"`
}

func newSimulateEvaluate(c *console) *cobra.Command {
	var s simulateEvaluate
	cmd := &cobra.Command{
		Use:   "evaluate",
		Short: "Judge a model on virtual parties' records: AUC, calibration, thresholds, by subgroup",
		Long: `Deal records to virtual parties, run an evaluate study through the real study
machine and simulation ledgers, and show the released numbers beside those of
the same records without bins or noise. With --repeats noise is drawn again and
again: how far numbers are off, and how often 95 % intervals hold the truth
(of noise alone, of the same records; of noise and sampling, of records drawn
anew from these).

Without --model or --score it judges a softmax classifier fitted to half of the
test records. Without --train or --dataset it uses generated hospital data.`,
		Example: `  caucus simulate evaluate --epsilon 1 --by sex
  caucus simulate evaluate --dataset adult --parties 12 --party-records 2500 --repeats 500
  caucus simulate classify --dataset adult --parties 12 --out release.json
  caucus simulate evaluate --dataset adult --parties 12 --model release.json --report judged.html`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return refused(cmd, s.run(cmd, c)) },
	}
	s.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&s.model, "model", "", "what is judged: a release with a classifier, or coefficients of a linear model (YAML)")
	reads(f, "model")
	f.StringVar(&s.terms.Score, "score", "", "judge the scores in this column instead of a model")
	f.StringSliceVar(&s.terms.Classes, "class", nil, "class whose scores are judged, several for a table each (default: of two the second)")
	f.Float64SliceVar(&s.terms.Thresholds, "threshold", nil, "probabilities at and above which a record is called one of the class")
	f.StringArrayVar(&s.by, "by", nil, "subgroups by a column: COLUMN, or COLUMN:EDGE,EDGE for a number; each adds as much noise again")
	f.IntVar(&s.terms.Bins, "bins", 0, "parts that scores are cut into (default 20; 10 with subgroups, or where the AUC is expected to scatter by more than .02)")
	f.Int64Var(&s.terms.PerParty, "per-party", 0, "most records of a party that count; needed at unit party")
	f.StringVar(&s.unit, "unit", "record", "what is hidden: record or party")
	f.StringVar(&s.mechanism, "mechanism", "", "laplace, gaussian or auto, the quieter (default)")
	f.StringVar((*string)(&s.noise), "noise", "", "who adds noise: site (default), coordinator, or aggregators (coordinator and helper, each on secret shares)")
	f.Float64Var(&s.epsilon, "epsilon", 1, "privacy budget ε")
	f.Float64Var(&s.delta, "delta", 0, "privacy budget δ of gaussian (default min(1e-6, 1/(10·units)))")
	f.Float64Var(&s.poolFraction, "pool-fraction", 0.05, "share of the training records that becomes the pool, without labels")
	f.IntVar(&s.parties, "parties", 0, "number of virtual parties; default: the party column's, else 10")
	f.IntVar(&s.partyRecords, "party-records", 0, "most records that a virtual party has; 0 for no limit")
	f.IntVar(&s.repeats, "repeats", 1, "how often noise, and records with replacement, are drawn")
	f.Uint64Var(&s.seed, "seed", 1, "seed of the deal and of simulated noise")
	f.StringVar(&s.out, "out", "", "write the first release here")
	writes(f, "out", ".json")
	f.StringVar(&s.report, "report", "", reportFlagHelp)
	writes(f, "report", ".html", ".htm")
	return cmd
}

// groupings reads COLUMN and COLUMN:EDGE,EDGE.
func groupings(flags []string) ([]evaluate.Grouping, error) {
	var all []evaluate.Grouping
	for _, text := range flags {
		column, edges, cut := strings.Cut(text, ":")
		g := evaluate.Grouping{Column: column}
		if cut {
			for _, e := range strings.Split(edges, ",") {
				v, err := strconv.ParseFloat(strings.TrimSpace(e), 64)
				if err != nil {
					return nil, usagef("--by %q: want COLUMN or COLUMN:EDGE,EDGE with numbers", text)
				}
				g.Edges = append(g.Edges, v)
			}
		}
		all = append(all, g)
	}
	return all, nil
}

func (s *simulateEvaluate) run(cmd *cobra.Command, c *console) error {
	start := time.Now()
	if cmd.Flags().Changed("parties") && s.parties < 1 {
		return usagef("--parties %d: give at least 1", s.parties)
	}
	if s.epsilon == 0 {
		return errZeroEpsilonFlag
	}
	unit, err := unitOf(s.unit)
	if err != nil {
		return err
	}
	if s.terms.By, err = groupings(s.by); err != nil {
		return err
	}
	s.source.seed = s.seed
	data, err := s.load(c)
	if err != nil {
		return err
	}
	if s.model != "" {
		if s.terms.Model, err = readModel(s.model, data.schema); err != nil {
			return err
		}
	}
	if s.parties == 0 && data.train.Party == nil {
		s.parties = 10
	}
	of := simulate.Evaluate{
		Split: simulate.Split{
			Schema: data.schema, Train: data.train, Test: data.test, Pool: data.pool, PoolWeight: data.poolWeight,
			PoolFraction: s.poolFraction, PoolRows: 10_000, Parties: s.parties, Seed: s.seed,
		},
		Proposal: study.Proposal{Name: simulationName, Kind: "evaluate", Unit: unit, Epsilon: s.epsilon, Mechanism: s.mechanism, Noise: s.noise},
		Terms:    s.terms, PartyRecords: s.partyRecords, Repeats: s.repeats,
	}
	if cmd.Flags().Changed("delta") {
		of.Proposal.Delta = &s.delta
	}
	found, err := of.Run(cmd.Context())
	if err != nil {
		return err
	}
	if found.Unit == privacy.Record {
		c.warnDelta(found.Delta, found.Records)
	} else {
		c.warnDelta(found.Delta, found.Parties)
	}
	if s.out != "" {
		if err := c.writeRelease(s.out, found.Release); err != nil {
			return err
		}
		c.note("wrote %s", s.out)
	}
	if err := c.reportSimulated(s.report, found.Release, measuredEvaluate(found)); err != nil {
		return err
	}
	doc := evaluateSummary{found, time.Since(start).Seconds()}
	return c.print(doc, func(w io.Writer) error { return printEvaluate(w, doc) })
}

func printEvaluate(w io.Writer, d evaluateSummary) error {
	fmt.Fprintf(w, "%s, mechanism %s, unit %s, noise added by the %s, ε = %g, δ = %g\n", d.Study, d.Mechanism, d.Unit, d.Noise, d.Epsilon, d.Delta)
	fmt.Fprintf(w, "%s of %s in %s; noise of standard deviation %.3g on each count\nforecast: %s\n\n",
		counted(d.Records, "records"), counted(d.Parties, "parties"), counted(d.Bins, "bins"), d.Released.NoiseSD, d.Forecast)
	head := []string{"class", "records", "number", "true", "released", "95 % interval"}
	if d.Repeats > 1 {
		head = append(head, "mean error", "bias", "± noise", "known", "covered", "anew")
	}
	t := newTable(w, head...)
	for _, class := range d.Classes {
		name := class.Class
		for _, g := range class.Subgroups {
			group := fmt.Sprintf("%s (%d)", g.Name, g.Records)
			for _, n := range g.Numbers {
				row := []string{name, group, n.Number, fmt.Sprintf("%.3f", n.Truth), "unknown", ""}
				if n.First.Known() {
					row[4], row[5] = fmt.Sprintf("%.3f", n.First.Value), n.First.Interval(3)
				}
				if d.Repeats > 1 {
					row = append(row, fmt.Sprintf("%.4f", n.Error), fmt.Sprintf("%+.4f", n.Bias), fmt.Sprintf("%.4f", n.SD),
						fmt.Sprintf("%.3f", n.Known), fmt.Sprintf("%.3f", n.Covered), fmt.Sprintf("%.3f", n.CoveredPopulation))
				}
				t.add(row...)
				name, group = "", ""
			}
		}
	}
	if err := t.render(); err != nil {
		return err
	}
	if r := d.Recalibrated; r != nil {
		fmt.Fprintf(w, "\nrecalibrated by the release, on %d other records: slope %.3f before, %.3f after; intercept %.3f, %.3f; Brier %.4f, %.4f\n",
			r.Records, r.Before.Slope, r.After.Slope, r.Before.Intercept, r.After.Intercept, r.Before.Brier, r.After.Brier)
	}
	if d.Repeats > 1 {
		fmt.Fprintf(w, "\nover %d draws, of those with a number (known): covered is how often 95 %% of noise holds the truth of the same records; anew, how often 95 %% of noise and sampling holds it where records are drawn anew\n", d.Repeats)
	}
	fmt.Fprintf(w, "%.1f s\n", d.Seconds)
	printTotals(w, d.Totals)
	_, err := fmt.Fprintln(w, "simulated: this protects nobody; real studies run between a coordinator and agents")
	return err
}
