package decimal

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"3": "3", "03": "3", "3.0": "3", "+3.": "3", " 3.50 ": "3.5", ".5": ".5", "0.5": ".5",
		"-0": "0", "-0.0": "0", "0": "0", "000": "0", "-.50": "-.5", "100": "100",
		"9007199254740993": "9007199254740993", "9007199254740992": "9007199254740992",
		"0.30000000000000004": ".30000000000000004",
		"":                    "", ".": "", "-": "", "1E1": "", "1e1": "", "0x10": "", "1_0": "", "1.2.3": "", "--1": "",
		"+-1": "", "1,5": "", "1 000": "", "NaN": "", "Inf": "", "٣": "",
	} {
		got, ok := Canonical(text)
		if got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, ok, want)
		}
	}
}

// TestCanonicalIsExact: two texts have one canonical form if and only if they are equal numbers, by
// arithmetic of fractions. Nothing is rounded, so no alarm is false.
func TestCanonicalIsExact(t *testing.T) {
	draw := func() string {
		text := []string{"", "-", "+"}[rand.N(3)]
		for range 1 + rand.N(3) {
			text += string("001"[rand.N(3)])
		}
		if rand.N(2) == 0 {
			text += "."
			for range rand.N(3) {
				text += string("005"[rand.N(3)])
			}
		}
		return text
	}
	value := func(text string) *big.Rat {
		r, ok := new(big.Rat).SetString(text + "e0")
		if !ok {
			t.Fatalf("%q is no number", text)
		}
		return r
	}
	for range 20_000 {
		a, b := draw(), draw()
		ca, okA := Canonical(a)
		cb, okB := Canonical(b)
		if !okA || !okB || (ca == cb) != (value(a).Cmp(value(b)) == 0) {
			t.Fatalf("%q is %q, %q is %q", a, ca, b, cb)
		}
	}
}
