package labels

import (
	"math"
	"testing"

	"caucus/privacy"
)

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// TestGuide: em equals rr at ε/2, and each entry of the table is the least number that reaches its
// level.
func TestGuide(t *testing.T) {
	g := must(MakeGuide(1000, 2, 1))
	half := must(MakeGuide(1000, 2, 0.5))
	em, rr := g.Mechanisms[0], half.Mechanisms[1]
	if em.Mechanism != "em" || rr.Mechanism != "rr" || em.Keep != rr.Keep ||
		math.Abs(em.Spent-0.5) > 1e-6 || em.MostKept != rr.MostKept ||
		em.ShareError != rr.ShareError {
		t.Errorf("em %+v, rr at half %+v", em, rr)
	}
	if len(g.Table) != 2*len(guideEpsilons()) {
		t.Fatalf("%d rows", len(g.Table))
	}
	for _, row := range g.Table {
		for i, level := range GuideLevels() {
			n := row.Needed[i]
			if n == 0 { // beyond the range of the search
				continue
			}
			if privacy.MostKept(n, row.Keep) < level || n > 2 &&
				privacy.MostKept(n-2, row.Keep) >= level {
				t.Errorf("%s at ε = %g: %d labels for %g", row.Mechanism, row.Epsilon, n, level)
			}
		}
	}
	for _, bad := range []struct {
		n, classes int
		epsilon    float64
	}{{0, 2, 1}, {mostGuided + 1, 2, 1}, {10, 1, 1}, {10, 2, 0}, {10, 2, math.NaN()}} {
		if _, err := MakeGuide(bad.n, bad.classes, bad.epsilon); err == nil {
			t.Errorf("%+v is not refused", bad)
		}
	}
}
