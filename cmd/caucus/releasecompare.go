package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/siteverbs"
	"caucus/study/classifier/fitted"
)

func newReleaseCompare(c *console.Console) *cobra.Command {
	a := siteverbs.NewAgent(c, program())
	cmd := &cobra.Command{
		Use:   "compare FILE",
		Short: "Compare a release with this site's own classifier, on this site's records",
		Long: `Judge a release's classifier on this site's own records, beside a classifier that the
site could have trained alone: five-fold cross-validation, with each patient in one
fold. The records are read as they were declared. Everything is computed here and sent
nowhere, and costs no privacy budget. The numbers are exact, so keep them at this site.

If this site took part, the release was fitted to these records too, while the site's
own classifier is tested on records that it was not fitted to. This flatters the
release, by about the gain of the site's own classifier on its training records, divided
by the number of parties. The command shows this amount, and subtracts it before it
calls the release better. For records from after the study, caucus release predict
counts the right predictions.`,
		Example: "  caucus release compare release.json --config agent.yaml",
		Args:    console.OneArgument("release compare", "FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, p, err := usableRelease(args[0])
			if err != nil {
				return err
			}
			ag, err := a.Open()
			if err != nil {
				return err
			}
			defer ag.Close()
			records, err := ag.Records(p)
			if err != nil {
				return err
			}
			doc, err := fitted.Compare(r, records)
			if err != nil {
				return err
			}
			return a.Print(doc, func(w io.Writer) {
				fmt.Fprintf(w, `on %d labelled records of this site     accuracy  AUC
the release                              %.3f     %.3f
this site's own classifier, held out     %.3f     %.3f
naming the largest class                 %.3f     0.500
%s
%s
`, doc.Records, doc.Released.Accuracy, doc.Released.AUC, doc.Alone.Accuracy, doc.Alone.AUC, doc.Majority, comparedWords(doc), flatteredWords(doc, r.Parties))
			})
		},
	}
	a.AddConfigFlag(cmd.Flags())
	return cmd
}

// comparedWords interpret a comparison. The release counts as better only if Gain minus Flattered
// exceeds half the width of Gain's 95 % interval.
func comparedWords(c fitted.Comparison) string {
	switch {
	case c.Gain-c.OverfitBound > c.GainMargin:
		return fmt.Sprintf("the release is better here, by %.3f ± %.3f in accuracy", c.Gain, c.GainMargin)
	case c.Gain < -c.GainMargin:
		return fmt.Sprintf("this site does better alone, by %.3f ± %.3f in accuracy", -c.Gain, c.GainMargin)
	}
	return fmt.Sprintf("these records are too few to tell which is better: the release's accuracy minus this site's own is %+.3f ± %.3f", c.Gain, c.GainMargin)
}

func flatteredWords(c fitted.Comparison, parties int) string {
	return fmt.Sprintf("if this site took part, the release was fitted to these records too, which flatters it by up to about %.4f: one part in %d of the %.3f by which the site's own is better on its training records",
		c.OverfitBound, max(parties, 1), max(c.TrainingAccuracy-c.Alone.Accuracy, 0))
}
