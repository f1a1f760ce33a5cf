package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"caucus/agent"
	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/reweigh"
)

// queryAnswer is the JSON document of release query.
type queryAnswer struct {
	Where string `json:"where"`
	// About is the condition of the study, where its release says that it is about some
	// of the private records only.
	About         string  `json:"about,omitempty"`
	Rows          int     `json:"rows"`
	Matching      int     `json:"matching_rows"`
	Weighted      bool    `json:"weighted"`
	Estimate      float64 `json:"estimate"`
	Unweighted    float64 `json:"unweighted"`
	EffectiveRows float64 `json:"effective_rows"`
	// Of says whom Estimate is a share of: the private records, or where nothing weighs
	// it the pool.
	Of string `json:"of"`
	// Answer is how sure a release is of it; NoInterval why there is no interval.
	Answer     *aggregation.QueryAnswer `json:"answer,omitempty"`
	NoInterval string                   `json:"no_interval,omitempty"`
	// Bias says in words what no interval covers.
	Bias string `json:"bias"`
}

// Of of a queryAnswer.
const (
	ofPrivate = "the private records"
	ofPool    = "the pool itself, which without weights says nothing of the private records"
)

// What is said where no release is at hand.
const (
	noRelease = "give the release's file with the pool as it was before it was weighed: a weighted pool does not hold how far noise moved its weights"
	noWeights = "give the release's file, or a pool from caucus release export FILE --to pool: this is no estimate of the private records"
)

// biasNote is of every answer from weights.
const biasNote = "the interval allows for a bias like that which the study's own features show when they are left out; whoever knows of a stronger reason for the private records to differ should allow for more"

func newReleaseQuery(c *console) *cobra.Command {
	var pool, where, schema string
	var how reading
	cmd := &cobra.Command{
		Use:   "query [FILE]",
		Short: "Answer a question about private records from a weighted public pool",
		Long: `Estimate the share of the private records for which a condition holds: its
weighted share among the rows of the public pool. The weights are those of FILE, a
reweigh release, and the answer has an interval, or the reason why it has none.
Without FILE they are the pool file's own (a column ` + auxdata.WeightColumn + `, see caucus
release export --to pool), and there is no interval. The pool file may have more
columns than the study used, such as an outcome. A condition that no row can meet,
such as a level that there is not, is refused.

It costs nothing: ask as often as you like.`,
		Example: `  caucus release query --pool weighted.csv --where 'income == ">50K"'
  caucus release query release.json --pool pool.csv --where 'age >= 65 and ward != surgery'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("release query takes one FILE, the release; see caucus release query --help")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if pool == "" || where == "" {
				return usagef("release query needs --pool FILE and --where CONDITION")
			}
			condition, err := dataset.ParseCondition(where)
			if err != nil {
				return usageError{err}
			}
			q := weighing{pool: pool, release: strings.Join(args, ""), schema: schema, how: how}
			if err := q.load(c); err != nil {
				return err
			}
			holds, err := q.plan.Schema.Ask(condition, q.table)
			if err != nil {
				return usageError{err}
			}
			share, err := auxdata.FractionOf(holds, q.weight)
			if err != nil {
				return err
			}
			doc := queryAnswer{
				Where: where, Rows: share.Rows, Matching: share.Matching, Weighted: q.weight != nil,
				Estimate: share.Weighted, Unweighted: share.Plain, EffectiveRows: share.EffectiveRows,
				Of: ofPrivate, NoInterval: noRelease, Bias: noIntervalNote,
			}
			if q.weight == nil {
				doc.Of, doc.NoInterval = ofPool, noWeights
			}
			if q.weighed != nil {
				doc.About = q.weighed.Plan.Where
				b := make([]float64, len(holds))
				for i, h := range holds {
					if h {
						b[i] = 1
					}
				}
				a, err := reweigh.Answer(q.document, q.weighed.Pool, b)
				if err != nil {
					return err
				}
				if doc.Answer, doc.NoInterval = &a, a.Doubt; a.Doubt == "" {
					doc.Bias = biasNote
				}
			}
			return c.print(doc, func(w io.Writer) error {
				about := ""
				if doc.About != "" {
					about = " for which " + agent.Printable(doc.About)
				}
				fmt.Fprintf(w, "%.4f of %s%s: %s\n", doc.Estimate, doc.Of, about, where)
				fmt.Fprintf(w, "%.4f of the pool (%d of %d rows, which count as %.0f)\n", doc.Unweighted, doc.Matching, doc.Rows, doc.EffectiveRows)
				if doc.NoInterval != "" {
					fmt.Fprintf(w, "no interval: %s\n", doc.NoInterval)
				}
				if doc.Answer != nil {
					printAnswer(w, *doc.Answer)
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&pool, "pool", "", "file of the public pool: CSV (also packed), Excel, Parquet")
	how.flags(f)
	f.StringVar(&schema, "schema", "", "schema of the pool file, where it has no header or another delimiter")
	f.StringVar(&where, "where", "", `condition, such as 'income == ">50K" and age >= 30'`)
	return cmd
}

const noIntervalNote = "there is no interval: what the features do not tell of the query may differ by any amount"

// printAnswer says how sure an answer is.
func printAnswer(w io.Writer, a aggregation.QueryAnswer) {
	if a.Doubt == "" {
		fmt.Fprintf(w, "%.4f to %.4f: 95 %% interval\n", *a.Low, *a.High)
	}
	fmt.Fprintf(w, "the features tell %.0f %% of the query's variance in the pool (R²); the weights move the pool by %.2f (their standard deviation)\n", 100*a.R2, a.Moved)
	fmt.Fprintf(w, "standard deviations: %.4f privacy noise, %.4f what the weights leave unmatched, %.4f and %.4f sampling of the pool and of the private records, %.4f bias to be expected\n",
		a.Noise, a.Left, a.Sampling, a.Records, a.Shift)
	if a.Doubt == "" {
		fmt.Fprintln(w, biasNote)
	}
}

// weighing is a pool file with its weights.
type weighing struct {
	pool, release, schema string
	how                   reading

	table    *dataset.Table
	weight   []float64
	document study.Release
	plan     study.Plan
	weighed  *reweigh.Weighed // nil without a release
}

// load reads the files and checks that the release is about this pool.
func (q *weighing) load(c *console) error {
	format, err := formatOf(q.schema)
	if err != nil {
		return err
	}
	if q.release != "" {
		if q.document, q.plan, err = usableRelease(q.release); err != nil {
			return err
		}
	}
	if q.table, err = q.how.table(c, q.pool, q.plan.Schema, format); err != nil {
		return err
	}
	if q.release == "" {
		if q.weight, err = auxdata.Weights(q.table); err != nil {
			return fmt.Errorf("%s: %w", q.pool, err)
		}
		return nil
	}
	if _, err := reweigh.WeightsOf(q.document); err != nil {
		return fmt.Errorf("%s holds no weights: give the release of a reweigh study", q.release)
	}
	if q.table.Has(auxdata.WeightColumn) {
		return usagef("%s has weights of its own: leave the release out, or give the pool without weights", q.pool)
	}
	w, err := reweigh.Weigh(q.document, q.table)
	if err != nil {
		return fmt.Errorf("weigh %s by %s: %w", q.pool, q.release, err)
	}
	q.weighed, q.weight = &w, w.Said.Weight
	return nil
}
