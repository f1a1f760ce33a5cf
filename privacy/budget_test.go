package privacy

import (
	"strings"
	"testing"
)

// TestEpsilonWords: an ε of at most 5 goes without a word; above it, the sentence names how sure a
// reader with even odds may become, which is e^ε/(1+e^ε).
func TestEpsilonWords(t *testing.T) {
	for epsilon, want := range map[float64]string{0: "", .05: "", 1: "", 5: "",
		5.1: "ε = 5.1 promises little: who is in two minds about a record may become 99.39 % sure",
		8:   "99.97 % sure", 9.5: "become certain by", 64: "become certain by"} {
		got := EpsilonWords(Record, epsilon)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("ε = %g: %q, want %q", epsilon, got, want)
		}
	}
}
