package fitted

import (
	"fmt"

	"caucus/study"
	"caucus/study/classifier"
)

// AccuracyUnknownText says how to find the accuracy of a released classifier.
const AccuracyUnknownText = "How well it predicts is not known from this release: test it on records whose class you know (caucus release predict), or run a study of kind evaluate."

// Conclusion says in a few sentences what a study made, and whether the noise left a useful
// classifier. goesBy is the sentence from SeparatingColumns, which may be empty. howGood says what
// is known of the accuracy.
func Conclusion(c classifier.Classifier, r study.Release, goesBy, howGood string) string {
	label := "the class"
	if p, err := r.DecodedPlan(); err == nil {
		label = fmt.Sprintf("%q", p.Schema.Label.Column)
	}
	if c.Lambda == 0 {
		return fmt.Sprintf("The noise left nothing to tell the classes apart by: the classifier of %s that %d parties made gives every record the same class.", label, r.Parties)
	}
	return fmt.Sprintf("%d parties made a classifier of %s together. %s%s", r.Parties, label, howGood, goesBy)
}
