package fitted

import (
	"strings"
	"testing"

	"caucus/study"
	"caucus/study/classifier"
)

// TestAnswer: the answer names the number of parties, and says that a constant classifier tells
// nothing.
func TestAnswer(t *testing.T) {
	for lambda, want := range map[float64]string{.1: "7 parties made a classifier",
		0: "gives every record the same class"} {
		if got := Conclusion(classifier.Classifier{Lambda: lambda},
			study.Release{Manifest: study.Manifest{Parties: 7}}, "",
			AccuracyUnknownText); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}
