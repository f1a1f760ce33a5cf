package classifier

import (
	"fmt"

	"caucus/study"
)

// Answer says in one sentence what a study made, and whether noise left anything of it.
func Answer(c Classifier, r study.Release) string {
	label := "the class"
	if p, err := r.DecodedPlan(); err == nil {
		label = p.Schema.Label.Column
	}
	if c.Lambda == 0 {
		return fmt.Sprintf("The noise left nothing to tell the classes apart by: the classifier of %s that %d parties made gives every record the same class.", label, r.Parties)
	}
	return fmt.Sprintf("%d parties made a classifier of %s together. This release cannot say how good it is: ask an evaluate study, or run caucus release predict on records whose class you know.", r.Parties, label)
}
