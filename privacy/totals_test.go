package privacy

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func sum(costs ...Cost) Total {
	t := NewTotals()
	for _, c := range costs {
		t = t.Plus(c)
	}
	return t[Record]
}

func gaussianCost(g Budget) Cost {
	return ConcentratedCost(Record, 0, rational(RhoOf(g)))
}

func laplaceCost(epsilon float64) Cost { return PureCost(Record, 0, rational(epsilon)) }

func repeat(n int, c Cost) []Cost {
	var all []Cost
	for range n {
		all = append(all, c)
	}
	return all
}

func TestLimits(t *testing.T) {
	const delta = 1e-6
	approximate := ConcentratedCost(Record, 0, rational(RhoOf(Budget{0.5, delta})))
	approximate.Delta = rational(delta / 1024)
	for _, c := range []struct {
		name   string
		limit  float64
		costs  []Cost
		within bool
	}{
		{"nothing", 1, nil, true},
		{"one Gaussian at the limit", 1, repeat(1, gaussianCost(Budget{1, delta})), true},
		{"two", 1, repeat(2, gaussianCost(Budget{1, delta})), false},
		{"two need √2 and a little more", 1.5, repeat(2, gaussianCost(Budget{1, delta})), true},
		{"one Laplace at the limit", 1, repeat(1, laplaceCost(1)), true},
		{"Laplace twice", 2, repeat(2, laplaceCost(1)), true},
		{"Laplace twice and a hair", 2, append(repeat(2, laplaceCost(1)), laplaceCost(1e-15)), false},
		{"a thousand small Laplace", 1.9, repeat(1000, laplaceCost(0.01)), true},
		{"a thousand small Laplace, too tight", 1.4, repeat(1000, laplaceCost(0.01)), false},
		{"a Laplace and a Gaussian", 2.5, []Cost{laplaceCost(1), gaussianCost(Budget{1, delta})}, true},
		{"a Laplace and a Gaussian, too tight", 2, []Cost{laplaceCost(1), gaussianCost(Budget{1, delta})}, false},
		{"approximate", 1, repeat(1, approximate), true},
		{"approximate, δ used up", 9, repeat(3, approximate), false},
	} {
		total := sum(c.costs...)
		if got := total.keep(rules(Budget{c.limit, delta})); got != c.within {
			t.Errorf("%s: within %g is %t (ε = %g)", c.name, c.limit, got, total.Epsilon(delta))
		}
	}
}

// TestEpsilonIsTheLimit: for all mixtures of charges, keep allows them at a limit of Epsilon(δ)
// and refuses them just below.
func TestEpsilonIsTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var costs []Cost
		for range rapid.IntRange(1, 5).Draw(t, "charges") {
			x := rapid.Float64Range(0.001, 2).Draw(t, "epsilon")
			if rapid.Bool().Draw(t, "pure") {
				costs = append(costs, laplaceCost(x))
			} else {
				costs = append(costs, gaussianCost(Budget{x, 1e-7}))
			}
		}
		delta := rapid.SampledFrom([]float64{1e-9, 1e-6, 1e-3}).Draw(t, "delta")
		total := sum(costs...)
		epsilon := total.Epsilon(delta)
		if !total.keep(rules(Budget{epsilon*(1+1e-8) + 1e-6, delta})) {
			t.Errorf("%v is not within its own ε = %g", total, epsilon)
		}
		if total.keep(rules(Budget{epsilon * (1 - 1e-6), delta})) {
			t.Errorf("%v is within less than its ε = %g", total, epsilon)
		}
	})
}

// TestRulesShareDelta: the sums that a rule allows, converted at its share of δ, stay within ε,
// and the shares add up to at most δ.
func TestRulesShareDelta(t *testing.T) {
	for _, g := range []Budget{{0.1, 1e-9}, {1, 1e-6}, {5, 1e-3}, {1, 0}} {
		shares := []float64{mainShare, 0, 1. / 256, 1. / 256, 1. / 256, 1. / 256}
		all, used := rules(g), 0.
		if len(all) != len(shares) {
			t.Fatalf("%d rules", len(all))
		}
		for i, r := range all {
			pure, _ := r.pure.Float64()
			rho, _ := r.rho.Float64()
			delta, _ := r.delta.Float64()
			used += shares[i]
			if got := pure + EpsilonOf(rho, shares[i]*g.Delta-delta); got > g.Epsilon*(1+1e-15) {
				t.Errorf("rule %d of %+v allows ε = %g", i, g, got)
			}
		}
		if used > 1 {
			t.Errorf("the rules use %g of δ", used)
		}
	}
}

// TestTotalsNeverBelow: rounded sums are at least the exact sums, and above them by at most 2⁻¹²⁸
// a charge.
func TestTotalsNeverBelow(t *testing.T) {
	totals, exact := NewTotals(), new(big.Rat)
	for i := int64(1); i <= 500; i++ {
		x := big.NewRat(1, 3*i+1)
		exact.Add(exact, x)
		totals = totals.Plus(ConcentratedCost(Record, 0, x))
	}
	gap := new(big.Rat).Sub(totals[Record].Rho, exact)
	most := new(big.Rat).Quo(big.NewRat(500, 1), power(latticeBits))
	if gap.Sign() < 0 || gap.Cmp(most) > 0 {
		t.Errorf("the sum is off by %v", gap)
	}
	if bits := totals[Record].Rho.Denom().BitLen(); bits > latticeBits+1 {
		t.Errorf("the sum's denominator has %d bits", bits)
	}
	if totals[Party].WithoutGuarantee != 500 || totals[Label].Charges != 500 {
		t.Errorf("party %v, label %v", totals[Party], totals[Label])
	}
	if got := totals[Party].Epsilon(1e-6); !math.IsInf(got, 1) {
		t.Errorf("ε without a guarantee is %g", got)
	}
	if got := sum().Epsilon(0); got != 0 {
		t.Errorf("ε of nothing is %g", got)
	}
	if got := sum(laplaceCost(1), laplaceCost(2)).Epsilon(0); got != 3 {
		t.Errorf("pure ε 1 and 2 make %g at δ = 0", got)
	}
}
