package yamlfile

import (
	"strings"
	"testing"
)

// TestNearest: case, spaces and signs are ignored; a letter changed, added, removed or swapped with
// its neighbour counts once.
func TestNearest(t *testing.T) {
	for _, c := range []struct {
		text, among, want string
		most              int
	}{
		{"Syst. BP", "age systolic_bp syst_bp", "syst_bp", 0},
		{"diagnosis", "diagnose age", "diagnose", 2},
		{"form", "to from", "from", 1},
		{"kin", "kind king", "kind", 1},
		{"ag", "bmi sex", "", 1},
		{"größe", "grösse größen", "größen", 1},
		{strings.Repeat("x", 1<<20), "xx", "", 5},
	} {
		if got := Nearest(c.text, strings.Fields(c.among), c.most); got != c.want {
			t.Errorf("%.20q among %s: %q, want %q", c.text, c.among, got, c.want)
		}
	}
}
