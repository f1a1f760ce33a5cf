package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"caucus/study/classifier"
)

func newReleaseCompare(c *console) *cobra.Command {
	a := &agentCommand{console: c}
	cmd := &cobra.Command{
		Use:   "compare FILE",
		Short: "Say whether a release is worth more here than this site's own classifier",
		Long: `Judge a release's classifier on this site's own records, beside a classifier that
the site could have made alone: trained on four fifths of its records and judged
on the rest, five times, no patient on both sides. The records are read as they
were declared. All of it is computed here, is exact and is for the eyes of this
site: nothing is sent, nothing is spent.

Where this site took part, the release was fitted to these records too, and its own
classifier is judged on others than it was fitted to. That flatters the release by
about what a site's own gains on records it was fitted to, divided by the number of
parties: it is said, and taken off before the release is called better. Of records
from after the study caucus release predict says how many the release has right.`,
		Example: "  caucus release compare release.json --config agent.yaml",
		Args:    one("release compare", "FILE"),
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
%s
`, doc.Records, doc.Released.Accuracy, doc.Released.AUC, doc.Alone.Accuracy, doc.Alone.AUC, doc.Majority, comparedWords(doc), flatteredWords(doc, r.Parties))
				return err
			})
		},
	}
	a.flag(cmd.Flags())
	return cmd
}

// comparedWords interpret a comparison: the release is better only by more than it may be flattered by.
func comparedWords(c classifier.Comparison) string {
	switch {
	case c.Gain-c.Flattered > c.Sure:
		return fmt.Sprintf("the release is better here, by %.3f ± %.3f in accuracy", c.Gain, c.Sure)
	case c.Gain < -c.Sure:
		return fmt.Sprintf("this site does better alone, by %.3f ± %.3f in accuracy", -c.Gain, c.Sure)
	}
	return fmt.Sprintf("so many records cannot tell which is better: the release's accuracy less this site's own is %+.3f ± %.3f", c.Gain, c.Sure)
}

// flatteredWords say how unequally the two are judged.
func flatteredWords(c classifier.Comparison, parties int) string {
	return fmt.Sprintf("if this site took part, the release was fitted to these records too: that flatters it by up to about %.4f, a share of one in %d of the %.3f that the site's own is better by on records it was fitted to",
		c.Flattered, max(parties, 1), max(c.Fitted-c.Alone.Accuracy, 0))
}
