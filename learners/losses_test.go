package learners

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLossValues(t *testing.T) {
	for _, c := range []struct {
		name    string
		z, want float64
	}{
		{"logistic", 0, math.Ln2}, {"logistic", -800, 800}, {"logistic", 800, 0},
		{"hinge", 0, 1}, {"hinge", 1, 0}, {"hinge", -2, 3},
		{"squared", 0, 1}, {"squared", 3, 4},
		{"savage", 0, 0.25}, {"savage", -400, 1}, {"savage", 400, 0},
		{"sigmoid", 0, 0.5}, {"sigmoid", -800, 1}, {"sigmoid", 800, 0},
		{"unhinged", -4, 5}, {"unhinged", 4, -3},
		{"ramp", 0, 0.5}, {"ramp", -2, 1}, {"ramp", 2, 0},
		{"barrier-hinge", 0, 50}, {"barrier-hinge", 50, 0}, {"barrier-hinge", -50, 100},
		{"barrier-hinge", 51, 200}, {"barrier-hinge", -51, 250},
	} {
		l, err := FindLoss(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Value(c.z); math.Abs(got-c.want) > 1e-12*(1+math.Abs(c.want)) {
			t.Errorf("%s(%g) = %g, want %g", c.name, c.z, got, c.want)
		}
	}
}

func TestLossNames(t *testing.T) {
	if _, err := FindLoss("none"); err == nil || !strings.Contains(err.Error(), "barrier-hinge") {
		t.Errorf("unknown loss: %v, want an error that lists the names", err)
	}
	if got := len(LossNames()); got != 8 {
		t.Errorf("%d losses", got)
	}
}

// Slopes equal central differences of the values. A step over a kink gives a slope between those at
// its sides.
func TestLossSlopes(t *testing.T) {
	const h = 1e-5
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.OneOf(rapid.Float64Range(-5, 5), rapid.Float64Range(-60, 60),
			rapid.SampledFrom([]float64{-50.2, -50, -1, 0, 1, 50})).Draw(t, "z")
		for _, l := range Losses() {
			got := (l.Value(z+h) - l.Value(z-h)) / (2 * h)
			a, b := l.Slope(z-h), l.Slope(z+h)
			tol := 1e-6 * (1 + math.Abs(a) + math.Abs(b))
			if got < math.Min(a, b)-tol || got > math.Max(a, b)+tol {
				t.Fatalf("%s at %g: difference %g, slopes %g and %g", l.Name(), z, got, a, b)
			}
			if s := l.Slope(z); s < math.Min(a, b)-tol || s > math.Max(a, b)+tol {
				t.Fatalf("%s at %g: slope %g not between %g and %g", l.Name(), z, s, a, b)
			}
		}
	})
}

// Symmetric losses are symmetric within their reach; the others are clearly not.
func TestLossSymmetry(t *testing.T) {
	symmetric := map[string]bool{"sigmoid": true, "unhinged": true, "ramp": true,
		"barrier-hinge": true}
	for _, l := range Losses() {
		if l.Symmetric() != symmetric[l.Name()] {
			t.Errorf("%s: Symmetric() = %v", l.Name(), l.Symmetric())
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		for _, l := range Losses() {
			if !l.Symmetric() {
				if z := 2 + share; math.Abs(l.Value(z)+l.Value(-z)-2*l.Value(0)) < 0.05 {
					t.Fatalf("%s looks symmetric at %g", l.Name(), z)
				}
				continue
			}
			z := share * math.Min(l.SymmetricReach(), 1000)
			if sum, want := l.Value(z)+l.Value(-z), 2*l.Value(0); math.Abs(sum-want) > 1e-9*want {
				t.Fatalf("%s at %g: ℓ(z)+ℓ(−z) = %g, want %g", l.Name(), z, sum, want)
			}
		}
	})
	b := BarrierHinge(BarrierParameters{Slope: 3, Width: 2})
	if sum := b.Value(2.5) + b.Value(-2.5); b.SymmetricReach() != 2 || math.Abs(sum-4) < 0.1 {
		t.Errorf("beyond its reach %g the sum is %g", b.SymmetricReach(), sum)
	}
}

func TestLossConvexity(t *testing.T) {
	concave := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(-60, 60).Draw(t, "a"), rapid.Float64Range(-60, 60).Draw(t, "b")
		for _, l := range Losses() {
			if excess :=
				l.Value((a+b)/2) - (l.Value(a)+l.Value(b))/2; excess > 1e-9*(1+math.Abs(l.Value(a))+math.Abs(l.Value(b))) {
				concave[l.Name()] = true
			}
		}
	})
	for _, l := range Losses() {
		if l.Convex() == concave[l.Name()] {
			t.Errorf("%s: Convex() = %v", l.Name(), l.Convex())
		}
	}
}
