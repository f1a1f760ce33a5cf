package main

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"caucus/privacy"
)

// labelGuide is the JSON document of privacy labels.
type labelGuide struct {
	Labels     int               `json:"n"`
	Epsilon    float64           `json:"epsilon"`
	Classes    int               `json:"classes"`
	Mechanisms []mechanismGuide  `json:"mechanisms"`
	Table      []labelsNeededRow `json:"table"`
}

// mechanismGuide is what n labels under one mechanism are worth.
type mechanismGuide struct {
	Mechanism string  `json:"mechanism"`
	Spent     float64 `json:"epsilon_spent"`
	Keep      float64 `json:"keep"`
	// MostKept is the probability that at least half of the labels are kept.
	MostKept float64 `json:"most_kept"`
	// ShareError is the largest standard error of a class's debiased share.
	ShareError float64 `json:"share_error"`
}

// labelsNeededRow is the smallest odd n for each level; 0 is never.
type labelsNeededRow struct {
	Mechanism string  `json:"mechanism"`
	Epsilon   float64 `json:"epsilon"`
	Keep      float64 `json:"keep"`
	Needed    []int   `json:"needed"`
}

// guideLevels and guideEpsilons are those of the published guidance.
var (
	guideLevels   = []float64{0.95, 0.99, 0.999}
	guideEpsilons = []float64{0.1, 0.2, 0.5, 1, 2, 5}
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
			doc := labelGuide{Labels: n, Epsilon: epsilon, Classes: classes}
			for _, name := range []string{"em", "rr"} {
				m, err := calibrateLabels(name, classes, epsilon)
				if err != nil {
					return usageError{err}
				}
				b := privacy.Bound{Unit: privacy.Label, L1: 1, Cells: 1}
				cost, err := privacy.CostOf(m, b)
				if err != nil {
					return err
				}
				g := mechanismGuide{Mechanism: name, Keep: m.KeepProbability(), MostKept: privacy.MostKept(n, m.KeepProbability())}
				g.Spent, _ = cost.Pure.Float64()
				g.ShareError = math.Sqrt(privacy.VarianceOf(m, b, 0, 1) / float64(n))
				doc.Mechanisms = append(doc.Mechanisms, g)
				for _, e := range guideEpsilons {
					if m, err = calibrateLabels(name, classes, e); err != nil {
						return err
					}
					row := labelsNeededRow{Mechanism: name, Epsilon: e, Keep: m.KeepProbability()}
					for _, level := range guideLevels {
						row.Needed = append(row.Needed, privacy.LabelsFor(row.Keep, level))
					}
					doc.Table = append(doc.Table, row)
				}
			}
			return c.print(doc, doc.write)
		},
	}
	f := cmd.Flags()
	f.IntVar(&n, "n", 1000, "number of labels")
	f.Float64Var(&epsilon, "epsilon", 1, "privacy budget ε of each label")
	f.IntVar(&classes, "classes", 2, "number of classes")
	return cmd
}

func calibrateLabels(mechanism string, classes int, epsilon float64) (privacy.RandomisedResponse, error) {
	if mechanism == "em" {
		return privacy.CalibrateExponential(classes, epsilon)
	}
	return privacy.CalibrateResponse(classes, epsilon)
}

func (g labelGuide) write(w io.Writer) error {
	fmt.Fprintf(w, "%d labels of %d classes at ε = %g\n", g.Labels, g.Classes, g.Epsilon)
	for _, m := range g.Mechanisms {
		fmt.Fprintf(w, "  %s  keeps a label with probability %.4f (spends ε = %.4g); P[at least half are kept] = %.4f; a class's share is known to ± %.4f\n",
			m.Mechanism, m.Keep, m.Spent, m.MostKept, m.ShareError)
	}
	fmt.Fprintln(w, "\nsmallest odd number of labels of which at least half are kept with probability")
	header := []string{"mechanism", "epsilon", "keep"}
	for _, level := range guideLevels {
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
