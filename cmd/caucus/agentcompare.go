package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"caucus/study/classifier"
)

func (a *agentCommand) compare() *cobra.Command {
	return &cobra.Command{
		Use:   "compare RELEASE",
		Short: "Say whether a release is worth more here than this site's own classifier",
		Long: `Judge a release's classifier on this site's own records, beside a classifier that
the site could have made alone: trained on four fifths of its records and judged
on the rest, five times, no patient on both sides. The records are read as they
were declared. All of it is computed here, is exact and is for the eyes of this
site: nothing is sent, nothing is spent.`,
		Example: "  caucus agent compare release.json --config agent.yaml",
		Args:    one("agent compare", "RELEASE"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, p, err := usableRelease(args[0])
			if err != nil {
				return err
			}
			ag, err := a.open()
			if err != nil {
				return err
			}
			defer ag.Close()
			records, err := ag.Records(p)
			if err != nil {
				return err
			}
			doc, err := classifier.Compare(r, records)
			if err != nil {
				return err
			}
			return a.print(doc, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, `on %d labelled records of this site     accuracy  AUC
the release                              %.3f     %.3f
this site's own classifier, held out     %.3f     %.3f
naming the largest class                 %.3f     0.500
%s
`, doc.Records, doc.Released.Accuracy, doc.Released.AUC, doc.Alone.Accuracy, doc.Alone.AUC, doc.Majority, comparedWords(doc))
				return err
			})
		},
	}
}

// comparedWords says what a comparison means.
func comparedWords(c classifier.Comparison) string {
	switch {
	case c.Gain > c.Sure:
		return fmt.Sprintf("the release is better here, by %.3f ± %.3f in accuracy", c.Gain, c.Sure)
	case c.Gain < -c.Sure:
		return fmt.Sprintf("this site does better alone, by %.3f ± %.3f in accuracy", -c.Gain, c.Sure)
	}
	return fmt.Sprintf("so many records cannot tell which is better: the release's accuracy is %+.3f ± %.3f of this site's own", c.Gain, c.Sure)
}
