package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/reweigh"
)

func newPool(c *console) *cobra.Command {
	return group("pool", "Make, check and weigh public pools", newPoolMake(c), newPoolCheck(c), newPoolWeigh(c))
}

// madePool is the JSON document of pool make and pool weigh.
type madePool struct {
	Out           string              `json:"out"`
	Rows          int                 `json:"rows"`
	From          string              `json:"from"`
	Digest        *auxdata.Digest     `json:"digest,omitempty"`
	EffectiveRows float64             `json:"effective_rows,omitempty"`
	Weights       *study.WeightSource `json:"weights,omitempty"`
}

// poolSource says which reweigh release a pool has its weights from, or, where it
// has none, was drawn from. A weighted pool must have the release's weights, and
// the plain pool of its study is refused: it was meant to be weighted. A
// simulated release, which protects nobody, is for simulations only.
func poolSource(release string, pool *dataset.Table, simulation bool) (*study.WeightSource, error) {
	r, p, err := usableRelease(release)
	if err != nil {
		return nil, err
	}
	if p.Simulated && !simulation {
		return nil, fmt.Errorf("%s is simulated: it protects nobody, so its weights cost more than it says: give the release of a study between daemons", release)
	}
	source, err := reweigh.PoolSource(r, pool)
	if errors.Is(err, reweigh.ErrOtherWeights) {
		return nil, fmt.Errorf("the pool does not have the weights of %s: give the file that caucus pool weigh makes of it", release)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", release, err)
	}
	return source, nil
}

func newPoolMake(c *console) *cobra.Command {
	var schema, release, out string
	var rows int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "make",
		Short: "Draw a public pool from a schema alone, or from released margins",
		Long: `Draw the rows of a public pool for a federation that has none: every feature
independently, from the schema alone (every level and every number alike), or
from the feature means that a reweigh release by entropy tells (post-processing:
it costs nothing more). A study on such a pool works, and better the more the
margins tell; see caucus simulate classify --pool.`,
		Example: `  caucus pool make --schema schema.yaml --rows 5000 --out pool.csv
  caucus pool make --release margins.json --rows 5000 --out better.csv`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if (schema == "") == (release == "") {
				return usagef("pool make needs --schema FILE or --release FILE, one of them")
			}
			if out == "" || rows < 1 {
				return usagef("pool make needs --out FILE, and --rows of at least 1")
			}
			doc := madePool{Out: out, Rows: rows, From: "the schema alone"}
			var s dataset.Schema
			var margins []auxdata.Margin
			var err error
			if release == "" {
				if s, err = readSchema(schema); err != nil {
					return err
				}
				margins = auxdata.Uniforms(s)
			} else {
				r, p, err := usableRelease(release)
				if err != nil {
					return err
				}
				if margins, err = reweigh.MarginsOf(r); err != nil {
					return err
				}
				s, doc.From = p.Schema, "the margins of "+release
			}
			table, err := auxdata.Make(s, rows, margins, rand.New(rand.NewPCG(seed, 0x706f6f6c)))
			if err != nil {
				return err
			}
			if err := c.write(out, table.WriteCSV); err != nil {
				return err
			}
			return c.print(doc, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "wrote %s to %s, drawn from %s\n", counted(rows, "rows"), out, doc.From)
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&schema, "schema", "", "schema to draw from")
	f.StringVar(&release, "release", "", "reweigh release whose feature means to draw from")
	reads(f, "schema", "release")
	f.StringVar(&out, "out", "", "CSV file to write")
	writes(f, "out", ".csv")
	f.IntVar(&rows, "rows", 5000, "number of rows")
	f.Uint64Var(&seed, "seed", 1, "seed; the same gives the same pool")
	return cmd
}

func newPoolCheck(c *console) *cobra.Command {
	var schema, pool string
	var how reading
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Report what a public pool lacks, before a study",
		Long: `Report the levels that no row of a public pool has, the parts of a number's range
that none is in, and whether it has enough distinct rows. Weights can lift rows
that a pool has; they cannot make rows that it lacks.`,
		Example: "  caucus pool check --schema schema.yaml --pool pool.csv",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if schema == "" || pool == "" {
				return usagef("pool check needs --schema FILE and --pool FILE")
			}
			s, err := readSchema(schema)
			if err != nil {
				return err
			}
			table, err := how.table(c, pool, s, s.Format())
			if err != nil {
				return err
			}
			p, remarks, err := auxdata.New(s, dataset.Identity(s), table)
			if err != nil {
				return err
			}
			doc := auxdata.Check(s, p)
			for _, r := range remarks {
				doc.Warnings = append(doc.Warnings, r.String())
			}
			return c.print(doc, func(w io.Writer) error {
				fmt.Fprintf(w, "%s, %d of them distinct; %s\n", counted(doc.Rows, "rows"), doc.Distinct, counted(doc.Features, "features"))
				for _, g := range doc.Gaps {
					fmt.Fprintf(w, "gap: %s\n", g)
				}
				for _, m := range doc.Warnings {
					fmt.Fprintf(w, "warning: %s\n", m)
				}
				if len(doc.Gaps) == 0 {
					fmt.Fprintln(w, "no gaps: every level and every part of every range has rows")
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&schema, "schema", "", "schema of the study")
	cmd.Flags().StringVar(&pool, "pool", "", "file of the public pool: CSV (also packed), Excel, Parquet")
	how.flags(cmd.Flags())
	return cmd
}

func newPoolWeigh(c *console) *cobra.Command {
	var q weighing
	var out string
	cmd := &cobra.Command{
		Use:   "weigh",
		Short: "Attach a reweigh release's weights to its pool, as CSV",
		Long: `Write the pool with all its columns and one more, ` + auxdata.WeightColumn + `, which holds the weights
of a reweigh release. Such a file is a pool of its own, with a digest of its own:
study create takes it, and the plan should say under weights where they come
from (printed here), so that its release states what both cost together.`,
		Example: "  caucus pool weigh --release release.json --pool pool.csv --out weighted.csv",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if q.release == "" || q.pool == "" || out == "" {
				return usagef("pool weigh needs --release FILE, --pool FILE and --out FILE")
			}
			if err := q.load(c); err != nil {
				return err
			}
			weighted := q.weighed.Weighted
			if err := c.write(out, func(w io.Writer) error { return auxdata.WriteWeighted(w, q.table, q.weight) }); err != nil {
				return err
			}
			source, err := reweigh.SourceOf(q.document)
			if err != nil {
				return err
			}
			doc := madePool{Out: out, Rows: q.table.Rows(), From: q.pool, Digest: &weighted.Digest, EffectiveRows: weighted.EffectiveRows(), Weights: source}
			return c.print(doc, func(w io.Writer) error {
				fmt.Fprintf(w, "wrote %s to %s\n", counted(doc.Rows, "rows"), out)
				printWeights(w, q.document)
				printTotals(w, q.document.Totals)
				_, err := fmt.Fprintf(w, "study create takes the file with pool_release: %s, or with\nweights: {plan: %s, unit: %s, epsilon: %g, delta: %g, per_party: %d}\n",
					q.release, source.Plan, source.Unit, source.Epsilon, source.Delta, source.PerParty)
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.release, "release", "", "release of a reweigh study")
	f.StringVar(&q.pool, "pool", "", "the pool of that study")
	q.how.flags(f)
	f.StringVar(&q.schema, "schema", "", "schema of the pool file, where it is written differently from the study's")
	reads(f, "release", "pool", "schema")
	f.StringVar(&out, "out", "", "CSV file to write")
	writes(f, "out", ".csv")
	return cmd
}
