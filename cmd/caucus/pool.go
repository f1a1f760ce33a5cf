package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"caucus/agent/source"
	"caucus/auxdata"
	"caucus/auxdata/support"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/reweigh/weighed"
)

func newPool(c *console.Console) *cobra.Command {
	return console.Group("pool", "Make and check public pools", newPoolMake(c), newPoolCheck(c))
}

// madePool is the JSON document of "caucus pool make" and of "caucus release export --to pool".
type madePool struct {
	Out           string              `json:"out"`
	Rows          int                 `json:"rows"`
	From          string              `json:"from"`
	Digest        *auxdata.Digest     `json:"digest,omitempty"`
	EffectiveRows float64             `json:"effective_rows,omitempty"`
	Weights       *study.WeightSource `json:"weights,omitempty"`
}

// poolSource reads the reweigh release that gave a pool its weights or rows, and returns what a
// plan must state about that release. It refuses weights of another release, and the reweigh
// study's own pool without weights, because the user probably forgot the weights. Only simulations
// accept a simulated release, because such a release protects nobody.
func poolSource(release string, pool *dataset.Table, simulation bool) (*study.WeightSource, error) {
	r, p, err := usableRelease(release)
	if err != nil {
		return nil, err
	}
	if p.Simulated && !simulation {
		return nil, fmt.Errorf("%s is simulated: it protects nobody, so its weights cost more than it says: give the release of a study between daemons", release)
	}
	source, err := weighed.PoolSourceOf(r, pool)
	if errors.Is(err, weighed.ErrOtherWeights) {
		return nil, fmt.Errorf("the pool does not have the weights of %s: give the file that caucus release export --to pool makes from the release", release)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", release, err)
	}
	return source, nil
}

func newPoolMake(c *console.Console) *cobra.Command {
	var schema, release, out string
	var rows int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "make",
		Short: "Draw a public pool from a schema alone, or from released margins",
		Long: `Draw the rows of a public pool for a federation that has none: every feature
independently, from the schema alone (every level and every number equally likely), or
from the feature means in a reweigh release of mechanism entropy (post-processing, so
at no further privacy cost). A study on such a pool works, and works better with more
informative means; see caucus simulate classify --pool.`,
		Example: `  caucus pool make --schema schema.yaml --rows 5000 --out pool.csv
  caucus pool make --release margins.json --rows 5000 --out better.csv`,
		Args: console.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if (schema == "") == (release == "") {
				return console.Usagef("pool make needs --schema FILE or --release FILE, one of them")
			}
			if out == "" || rows < 1 {
				return console.Usagef("pool make needs --out FILE, and --rows of at least 1")
			}
			doc := madePool{Out: out, Rows: rows, From: "the schema alone"}
			var s dataset.Schema
			var margins []support.Margin
			var err error
			if release == "" {
				if s, err = source.ReadSchema(schema); err != nil {
					return err
				}
				margins = support.UniformMargins(s)
			} else {
				r, p, err := usableRelease(release)
				if err != nil {
					return err
				}
				if margins, err = weighed.MarginsOf(r); err != nil {
					return err
				}
				s, doc.From = p.Schema, "the margins of "+release
			}
			table, err := support.Draw(s, rows, margins, rand.New(rand.NewPCG(seed, 0x706f6f6c)))
			if err != nil {
				return err
			}
			if err := c.Write(out, table.WriteCSV); err != nil {
				return err
			}
			return c.Say(doc, "wrote %s to %s, drawn from %s\n", console.Counted(rows, "rows"), out,
				doc.From)
		},
	}
	f := cmd.Flags()
	f.StringVar(&schema, "schema", "", "schema to draw from")
	f.StringVar(&release, "release", "", "reweigh release whose feature means to draw from")
	console.MarkInputs(f, "schema", "release")
	f.StringVar(&out, "out", "", "CSV file to write")
	console.MarkOutput(f, "out", ".csv")
	f.IntVar(&rows, "rows", 5000, "number of rows")
	f.Uint64Var(&seed, "seed", 1, "seed; the same gives the same pool")
	return cmd
}

func newPoolCheck(c *console.Console) *cobra.Command {
	var schema, pool string
	var how input.ReadOptions
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Report what a public pool lacks, before a study",
		Long: `Report the levels and the parts of a number's range without a row in a public pool, and
whether the pool has enough distinct rows. Weights can raise the share of rows that a
pool has, but cannot make missing rows.`,
		Example: "  caucus pool check --schema schema.yaml --pool pool.csv",
		Args:    console.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if schema == "" || pool == "" {
				return console.Usagef("pool check needs --schema FILE and --pool FILE")
			}
			s, err := source.ReadSchema(schema)
			if err != nil {
				return err
			}
			table, err := how.Table(c, pool, s, s.Format())
			if err != nil {
				return err
			}
			p, remarks, err := auxdata.New(s, dataset.Identity(s), table)
			if err != nil {
				return err
			}
			doc := support.Check(s, p)
			for _, r := range remarks {
				doc.Warnings = append(doc.Warnings, r.String())
			}
			if words := s.FilledText(dataset.MissingColumns(remarks)); words != "" {
				doc.Warnings = append(doc.Warnings, "in place of missing cells stand: "+words)
			}
			return c.Print(doc, func(w io.Writer) {
				fmt.Fprintf(w, "%s, %d of them distinct; %s\n", console.Counted(doc.Rows, "rows"),
					doc.DistinctRows, console.Counted(doc.Features, "features"))
				for _, g := range doc.Gaps {
					fmt.Fprintf(w, "gap: %s\n", g)
				}
				for _, m := range doc.Warnings {
					fmt.Fprintf(w, "warning: %s\n", m)
				}
				if len(doc.Gaps) == 0 {
					fmt.Fprintln(w, "no gaps: every level and every part of every range has rows")
				}
			})
		},
	}
	cmd.Flags().StringVar(&schema, "schema", "", "schema of the study")
	cmd.Flags().StringVar(&pool, "pool", "", "file of the public pool: CSV (also packed), Excel, Parquet")
	how.Flags(cmd.Flags())
	return cmd
}
