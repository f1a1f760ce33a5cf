package conformance_test

import (
	"reflect"
	"testing"

	"caucus/study/classify"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/kinds"
	"caucus/study/labels"
	"caucus/study/ratio"
	"caucus/study/regress"
	"caucus/study/reweigh"
	"caucus/study/survival"
)

// TestWordsAreWhole: every kind has all words for each of its mechanisms and settings, simulated
// ones included. A missing word would be read as "nothing leaves".
func TestWordsAreWhole(t *testing.T) {
	_, plans := fuzzPlans(t)
	seen := map[string]bool{}
	for _, p := range plans {
		mechanisms := mechanismsOf[p.Kind]
		if mechanisms == nil {
			t.Fatalf("kind %q: say which mechanisms it has", p.Kind)
		}
		for _, m := range mechanisms {
			p.Mechanism = m
			w := reflect.ValueOf(kinds.Explain(p))
			for i := range w.NumField() {
				name := w.Type().Field(i).Name
				// these may be empty
				if f := w.Field(i); f.Kind() != reflect.String || name == "Learner" {
					continue
				}
				if w.Field(i).IsZero() {
					t.Errorf("%s %s, noise %s: no words for %s", p.Kind, m, p.Noise, name)
				}
			}
		}
		seen[p.Kind] = true
	}
	if len(seen) != len(kinds.Names()) {
		t.Errorf("the words of %d kinds were read, there are %v", len(seen), kinds.Names())
	}
}

var mechanismsOf = map[string][]string{
	"classify": classify.Mechanisms(), "describe": describe.Mechanisms(), "evaluate": evaluate.Mechanisms(), "labels": labels.Mechanisms(), "ratio": ratio.Mechanisms(), "regress": regress.Mechanisms(), "reweigh": reweigh.Mechanisms(), "survival": survival.Mechanisms(),
}
