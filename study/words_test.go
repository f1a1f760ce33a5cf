package study

import (
	"reflect"
	"testing"
)

// TestWordsAreWhole: every kind has all the words of each of its mechanisms and
// settings, simulated ones included: a silent omission would be read as "nothing
// leaves".
func TestWordsAreWhole(t *testing.T) {
	_, plans := fuzzPlans(t)
	seen := map[string]bool{}
	for _, p := range plans {
		mechanisms := map[string][]string{"classify": Mechanisms(), "labels": LabelMechanisms(), "ratio": RatioMechanisms(), "reweigh": ReweighMechanisms()}[p.Kind]
		if mechanisms == nil {
			t.Fatalf("kind %q: say which mechanisms it has", p.Kind)
		}
		for _, m := range mechanisms {
			p.Mechanism = m
			w := reflect.ValueOf(p.Words())
			for i := range w.NumField() {
				name := w.Type().Field(i).Name
				if name == "InClear" || name == "NotProtected" { // there may be nothing to say
					continue
				}
				if w.Field(i).IsZero() {
					t.Errorf("%s %s, noise %s: no words for %s", p.Kind, m, p.Noise, name)
				}
			}
		}
		seen[p.Kind] = true
	}
	if len(seen) != len(Kinds()) {
		t.Errorf("the words of %d kinds were read, there are %v", len(seen), Kinds())
	}
}
