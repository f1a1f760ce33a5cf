package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"caucus/privacy"
	"caucus/study/simulate"
)

func newPrivacyDistortion(c *console) *cobra.Command {
	var counts []int64
	var mechanism string
	var budget privacy.Budget
	var draws int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "distortion",
		Short: "How far a count mechanism moves the class shares of a set",
		Long: `Release the class counts of one set many times through a simulation ledger,
project each answer onto shares, and say how far they are from the true shares
on average (L1). The guarantee hides one label of the set.`,
		Example: `  caucus privacy distortion --counts 50,50,50,50,800 --mechanism gaussian --epsilon 0.05 --delta 0.05
  caucus privacy distortion --counts 50,50,50,50,800 --mechanism auto --epsilon 1 --delta 1e-6 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			start := time.Now()
			total := int64(0)
			for _, n := range counts {
				if n < 0 || n > 1<<40 {
					return usagef("--counts: %d is no count, give 0 to 2^40", n)
				}
				total += n
			}
			if len(counts) < 2 || total < 1 {
				return usagef("--counts needs the counts of at least two classes, such as 50,50,50,50,800")
			}
			if draws < 1 {
				return usagef("--draws %d: give at least 1", draws)
			}
			doc, err := simulate.Distort(cmd.Context(), mechanism, counts, budget, draws, seed)
			if err != nil {
				return usageError{err}
			}
			c.warnDelta(budget.Delta, int(total))
			doc.Seconds = time.Since(start).Seconds()
			return c.print(doc, func(w io.Writer) error {
				fmt.Fprintf(w, "%s: mean L1 %.4f ± %.4f over %d draws (standard deviation %.4f)\n", doc.Mechanism, doc.MeanL1, doc.StandardError, doc.Draws, doc.SD)
				fmt.Fprintf(w, "ε = %g, δ = %g for each label; sampler %s", doc.Epsilon, doc.Delta, doc.Sampler)
				for _, k := range slices.Sorted(maps.Keys(doc.Parameters)) {
					fmt.Fprintf(w, ", %s %s", k, doc.Parameters[k])
				}
				_, err := fmt.Fprintln(w)
				if err == nil && !doc.Releasable {
					_, err = fmt.Fprintf(w, "simulation only: %s\n", doc.Why)
				}
				return err
			})
		},
	}
	f := cmd.Flags()
	f.Int64SliceVar(&counts, "counts", nil, "class counts of a set")
	f.StringVar(&mechanism, "mechanism", "auto", strings.Join(privacy.CountMechanisms(), ", "))
	f.Float64Var(&budget.Epsilon, "epsilon", 1, "privacy budget ε")
	f.Float64Var(&budget.Delta, "delta", 1e-6, "privacy budget δ")
	f.IntVar(&draws, "draws", 2000, "how often to draw")
	f.Uint64Var(&seed, "seed", 1, "seed of the simulated noise")
	return cmd
}
