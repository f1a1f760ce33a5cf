package classifier

import (
	"fmt"

	"caucus/study"
)

// Answer says in a sentence what a release's classifier is.
func Answer(c Classifier, r study.Release) string {
	if c.Lambda == 0 {
		return "The noise leaves nothing better than the classes' shares: every record is given the same class."
	}
	label := "the class"
	if p, err := r.DecodedPlan(); err == nil {
		label = p.Schema.Label.Column
	}
	return fmt.Sprintf("%d parties made a classifier of %s together; what it gives for each of its %d classes are %s.", r.Parties, label, len(c.Classes), c.Output.Words())
}
