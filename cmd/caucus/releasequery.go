package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"caucus/aggregation/fitting"
	"caucus/auxdata"
	"caucus/auxdata/support"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/internal/textpage"
	"caucus/study"
	"caucus/study/reweigh/weighed"
)

// queryAnswer is the JSON document of "caucus release query".
type queryAnswer struct {
	Where string `json:"where"`
	// About is the study's condition on records, "" for all private records.
	About         string  `json:"about,omitempty"`
	Rows          int     `json:"rows"`
	Matching      int     `json:"matching_rows"`
	Estimate      float64 `json:"estimate"`
	Unweighted    float64 `json:"unweighted"`
	EffectiveRows float64 `json:"effective_rows"`
	// Answer holds the interval and the errors of Estimate; NoInterval says why there is no
	// interval.
	Answer     fitting.QueryEstimate `json:"answer"`
	NoInterval string                `json:"no_interval,omitempty"`
	// Bias says which bias no interval covers.
	Bias string `json:"bias"`
}

// biasNote goes with every answer that is computed from weights.
const biasNote = "the interval allows for a bias like that which the study's own features show when they are left out; whoever knows of a stronger reason for the private records to differ should allow for more"

func newReleaseQuery(c *console.Console) *cobra.Command {
	var pool, where, schema string
	var how input.ReadOptions
	cmd := &cobra.Command{
		Use:   "query FILE",
		Short: "Answer a question about private records from a weighted public pool",
		Long: `Estimate the share of private records that meet a condition, as the weighted share
among the rows of the public pool. The weights come from FILE, a reweigh release. The
answer has an interval, or the reason why there is none. The pool file may have more
columns than the study used, such as an outcome. A condition that no row can meet,
such as an unknown level, is refused.

Queries cost no privacy budget: ask as often as you like.`,
		Example: `  caucus release query release.json --pool pool.csv --where 'age >= 65 and ward != surgery'`,
		Args:    console.OneArgument("release query", "FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if pool == "" || where == "" {
				return console.Usagef("release query needs --pool FILE and --where CONDITION")
			}
			condition, err := dataset.ParseCondition(where)
			if err != nil {
				return console.Usagef("%w", err)
			}
			q := weighing{pool: pool, release: args[0], schema: schema, how: how}
			if err := q.load(c); err != nil {
				return err
			}
			holds, err := q.plan.Schema.Matches(condition, q.table)
			if err != nil {
				return console.Usagef("%w", err)
			}
			share, err := support.FractionOf(holds, q.weighed.ReleasedWeights.Weight)
			if err != nil {
				return err
			}
			b := make([]float64, len(holds))
			for i, h := range holds {
				if h {
					b[i] = 1
				}
			}
			a, err := weighed.EstimateQuery(q.document, q.weighed.Pool, b)
			if err != nil {
				return err
			}
			doc := queryAnswer{
				Where: where, About: q.weighed.Plan.Where, Rows: share.Rows, Matching: share.Matching,
				Estimate: share.Weighted, Unweighted: share.Unweighted, EffectiveRows: share.EffectiveRows,
				Answer: a, NoInterval: a.Caveat, Bias: biasNote,
			}
			if a.Caveat != "" {
				doc.Bias = noIntervalNote
			}
			return c.Print(doc, func(w io.Writer) {
				about := ""
				if doc.About != "" {
					about = " for which " + textpage.Printable(doc.About)
				}
				fmt.Fprintf(w, "%.3f of the private records%s: %s\n", doc.Estimate, about, where)
				fmt.Fprintf(w, "%.3f of the pool (%d of %d rows, which count as %.0f)\n", doc.Unweighted, doc.Matching, doc.Rows, doc.EffectiveRows)
				if doc.NoInterval != "" {
					fmt.Fprintf(w, "no interval: %s\n", doc.NoInterval)
				}
				printAnswer(w, a)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&pool, "pool", "", "file of the public pool: CSV (also packed), Excel, Parquet")
	how.Flags(f)
	f.StringVar(&schema, "schema", "", "schema of the pool file, where it has no header or another delimiter")
	f.StringVar(&where, "where", "", `condition, such as 'income == ">50K" and age >= 30'`)
	return cmd
}

const noIntervalNote = "there is no interval: what the features do not tell of the query may differ by any amount"

func printAnswer(w io.Writer, a fitting.QueryEstimate) {
	if a.Caveat == "" {
		fmt.Fprintf(w, "%.3f to %.3f: 95 %% interval\n", *a.Low, *a.High)
	}
	fmt.Fprintf(w, "the features explain %.0f %% of the query's variance in the pool (R²); the weights move the pool by %.2f (their standard deviation)\n", 100*a.R2, a.MovedByWeights)
	fmt.Fprintf(w, "standard deviations of the answer's errors: %.3f privacy noise, %.3f mismatch that the weights leave, %.3f and %.3f sampling of the pool and of the private records, %.3f expected bias\n",
		a.NoiseSD, a.RemainingSD, a.PoolSamplingSD, a.RecordSamplingSD, a.ShiftSD)
	if a.Caveat == "" {
		fmt.Fprintln(w, biasNote)
	}
}

// weighing reads a reweigh release and the pool that it weights.
type weighing struct {
	pool, release, schema string
	how                   input.ReadOptions

	table    *dataset.Table
	document study.Release
	plan     study.Plan
	weighed  weighed.WeightedPool
}

// load reads the files and checks that the release belongs to this pool.
func (w *weighing) load(c *console.Console) error {
	format, err := input.FormatOf(w.schema)
	if err != nil {
		return err
	}
	if w.document, w.plan, err = usableRelease(w.release); err != nil {
		return err
	}
	if w.table, err = w.how.Table(c, w.pool, w.plan.Schema, format); err != nil {
		return err
	}
	if _, err := weighed.WeightsOf(w.document); err != nil {
		return fmt.Errorf("%s holds no weights: give the release of a reweigh study", w.release)
	}
	if w.table.Has(auxdata.WeightColumn) {
		return console.Usagef("%s has weights of its own: give the pool without weights", w.pool)
	}
	if w.weighed, err = weighed.AttachWeights(w.document, w.table); err != nil {
		return fmt.Errorf("weigh %s by %s: %w", w.pool, w.release, err)
	}
	return nil
}
