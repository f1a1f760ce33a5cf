package classifier

import (
	"fmt"

	"caucus/study"
)

// Answer says in a sentence what a release's classifier is expected to be worth: what
// came out, beside what can be had without it, and the forecast's verdict. A constant
// one says so first.
func Answer(c Classifier, r study.Release) string {
	label := "the class"
	if p, err := r.DecodedPlan(); err == nil {
		label = p.Schema.Label.Column
	}
	made := fmt.Sprintf("%d parties made a classifier of %s together", r.Parties, label)
	if c.Lambda == 0 {
		made = fmt.Sprintf("The noise left nothing to tell the classes apart by: the classifier of %s that %d parties made gives every record the same class", label, r.Parties)
	}
	switch f := r.Forecast; {
	case f == nil:
		return made + "; there was no forecast of what it is worth."
	case c.Lambda == 0:
		return made + fmt.Sprintf(". Before that was known it was expected to be %s; by the forecast %s.", expected(f), verdict(f))
	default:
		return made + fmt.Sprintf("; it is expected to be %s; by the forecast %s.", expected(f), verdict(f))
	}
}

// expected says a forecast beside one party alone and the largest class.
func expected(f *study.Forecast) string {
	if f.ByAUC() {
		of := f.Released.AUC
		return fmt.Sprintf("of AUC %.3f (%.3f to %.3f), one party alone of %.3f, naming the largest class of 0.5", of.Mid, of.Low, of.High, f.Alone.AUC.Mid)
	}
	of, assumed := f.Released.Accuracy, ""
	if f.SharesAssumed {
		assumed = " (a share that is only assumed)"
	}
	return fmt.Sprintf("right for %.1f %% of new records (%.1f to %.1f %%), one party alone for %.1f %%, naming the largest class for %.1f %%%s",
		100*of.Mid, 100*of.Low, 100*of.High, 100*f.Alone.Accuracy.Mid, 100*f.Majority, assumed)
}

// verdict is the forecast's, of a study that took place.
func verdict(f *study.Forecast) string {
	switch {
	case f.Helps == study.HelpsDepends && f.HelpsFrom > f.Separation.Low:
		return fmt.Sprintf("it perhaps helps, where features separate the classes to an AUC of about %.2f", f.HelpsFrom)
	case f.Helps == study.HelpsDepends:
		return "it perhaps helps"
	}
	return f.Verdict()
}
