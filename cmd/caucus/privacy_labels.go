package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"caucus/study/labels"
)

func newPrivacyLabels(c *console) *cobra.Command {
	var n, classes int
	var epsilon float64
	cmd := &cobra.Command{
		Use:   "labels",
		Short: "How many privatised labels a study needs",
		Long: `Tell how likely it is that most of n labels survive privatisation, how well class
shares are known from them, and how many labels it takes for a given certainty.

rr is randomised response. em is the exponential mechanism as published: exactly
rr at ε/2, so it also really spends ε/2.`,
		Example: `  caucus privacy labels --n 1000 --epsilon 0.5
  caucus privacy labels --n 5000 --epsilon 1 --classes 10 --json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if n < 1 || n > 100_000_000 {
				return usagef("--n %d: give the number of labels, 1 to 100,000,000", n)
			}
			doc, err := labels.MakeGuide(n, classes, epsilon)
			if err != nil {
				return usageError{err}
			}
			return c.print(doc, func(w io.Writer) error { return writeLabelGuide(w, doc) })
		},
	}
	f := cmd.Flags()
	f.IntVar(&n, "n", 1000, "number of labels")
	f.Float64Var(&epsilon, "epsilon", 1, "privacy budget ε of each label")
	f.IntVar(&classes, "classes", 2, "number of classes")
	return cmd
}

func writeLabelGuide(w io.Writer, g labels.Guide) error {
	fmt.Fprintf(w, "%d labels of %d classes at ε = %g\n", g.Labels, g.Classes, g.Epsilon)
	for _, m := range g.Mechanisms {
		fmt.Fprintf(w, "  %s  keeps a label with probability %.4f (spends ε = %.4g); P[at least half are kept] = %.4f; a class's share is known to ± %.4f\n",
			m.Mechanism, m.Keep, m.Spent, m.MostKept, m.ShareError)
	}
	fmt.Fprintln(w, "\nsmallest odd number of labels of which at least half are kept with probability")
	header := []string{"mechanism", "epsilon", "keep"}
	for _, level := range labels.GuideLevels() {
		header = append(header, fmt.Sprintf("%g ‰", 1000*level))
	}
	t := newTable(w, header...)
	for _, row := range g.Table {
		cells := []string{row.Mechanism, fmt.Sprint(row.Epsilon), fmt.Sprintf("%.4f", row.Keep)}
		for _, n := range row.Needed {
			if n == 0 {
				cells = append(cells, "never")
			} else {
				cells = append(cells, strconv.Itoa(n))
			}
		}
		t.add(cells...)
	}
	return t.render()
}
