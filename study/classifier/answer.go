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
	return fmt.Sprintf("%d parties made a classifier of %s together. What it is worth shows a study of kind evaluate, or caucus release predict on records of your own whose class is known.", r.Parties, label)
}
