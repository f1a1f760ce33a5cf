package learned

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

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
	g := must(NewLabelGuide(1000, 2, 1))
	half := must(NewLabelGuide(1000, 2, 0.5))
	em, rr := g.Mechanisms[0], half.Mechanisms[1]
	if em.Mechanism != "em" || rr.Mechanism != "rr" || em.Keep != rr.Keep ||
		math.Abs(em.SpentEpsilon-0.5) > 1e-6 || em.MajorityKept != rr.MajorityKept ||
		em.ShareError != rr.ShareError {
		t.Errorf("em %+v, rr at half %+v", em, rr)
	}
	if len(g.Table) != 2*len(guideEpsilons()) {
		t.Fatalf("%d rows", len(g.Table))
	}
	for _, row := range g.Table {
		for i, level := range MajorityLevels() {
			n := row.Labels[i]
			if n == 0 { // beyond the range of the search
				continue
			}
			if MajorityKept(n, row.Keep) < level || n > 2 &&
				MajorityKept(n-2, row.Keep) >= level {
				t.Errorf("%s at ε = %g: %d labels for %g", row.Mechanism, row.Epsilon, n, level)
			}
		}
	}
	for _, bad := range []struct {
		n, classes int
		epsilon    float64
	}{{0, 2, 1}, {mostGuided + 1, 2, 1}, {10, 1, 1}, {10, 2, 0}, {10, 2, math.NaN()}} {
		if _, err := NewLabelGuide(bad.n, bad.classes, bad.epsilon); err == nil {
			t.Errorf("%+v is not refused", bad)
		}
	}
}

// TestGuidance: the numbers of labels are the paper's, and those of the binomial law.
func TestGuidance(t *testing.T) {
	// Smallest odd n for levels .95, .99 and .999.
	for epsilon, want := range map[float64][3]int{0.1: {4329, 8661, 15281}, 0.5: {175, 347, 613},
		1: {45, 87, 155}} {
		keep := must(privacy.CalibrateExponential(2, epsilon)).KeepProbability()
		for i, level := range []float64{0.95, 0.99, 0.999} {
			if got := LabelsFor(keep, level); got != want[i] {
				t.Errorf("ε %g, level %g: %d labels, want %d", epsilon, level, got, want[i])
			}
		}
	}
	for _, n := range []int{1, 2, 3, 10, 11, 500, 501} {
		for _, keep := range []float64{0.3, 0.5, 0.62, 0.999} {
			b := distuv.Binomial{N: float64(n), P: keep}
			want := 0.
			for i := (n + 1) / 2; i <= n; i++ {
				want += b.Prob(float64(i))
			}
			if got := MajorityKept(n, keep); math.Abs(got-want) > 1e-11 {
				t.Errorf("MostKept(%d, %g) = %.13f, want %.13f", n, keep, got, want)
			}
		}
	}
	if LabelsFor(0.5, 0.95) != 0 || LabelsFor(0.4, 0.95) != 0 || LabelsFor(0.96, 0.95) != 1 ||
		MajorityKept(0, 0.6) != 1 {
		t.Error("edges of the guidance")
	}
}
