package privacy

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"testing"
)

// laplaceLog returns log P[y] + constant of discrete Laplace noise, −|y|/s.
func laplaceLog(s float64) func(y []int64) float64 {
	return func(y []int64) float64 { return -math.Abs(float64(y[0])) / s }
}

// normLog is that of one run of K-norm noise, −⌈F‖y‖₂⌉/(F·s).
func normLog(s float64) func(y []int64) float64 {
	return func(y []int64) float64 {
		square := int64(0)
		for _, x := range y {
			square += x * x
		}
		norm := ceilSqrt(new(big.Int).Lsh(big.NewInt(square), 2*normFineness))
		x, _ := new(big.Float).SetInt(norm).Float64()
		return -x / (s * (1 << normFineness))
	}
}

// zeroSumLog is that of zero-sum Laplace noise on two counts, (y, −y).
func zeroSumLog(s float64) func(y []int64) float64 {
	return func(y []int64) float64 { return -2 * math.Abs(float64(y[0])) / s }
}

// renyi returns the divergence of order alpha between noise and the noise moved by delta, in one or
// two dimensions, by summation over all |y| ≤ reach.
func renyi(log func([]int64) float64, delta []int64, alpha float64, reach int64) float64 {
	mass, sum := 0., 0.
	z, back := make([]int64, len(delta)), make([]int64, len(delta))
	var walk func(at int)
	walk = func(at int) {
		if at < len(z) {
			for z[at] = -reach; z[at] <= reach; z[at]++ {
				walk(at + 1)
			}
			return
		}
		for i := range z {
			back[i] = z[i] - delta[i]
		}
		p, q := log(z), log(back)
		mass += math.Exp(p)
		sum += math.Exp(alpha*p + (1-alpha)*q)
	}
	walk(0)
	return math.Log(sum/mass) / (alpha - 1)
}

// TestByL2Holds: the Rényi divergence, computed from the laws, never exceeds α·ρ for any movement
// that uses up the bound, and comes near for large noise. A movement is a list of runs' movements.
func TestByL2Holds(t *testing.T) {
	near := 0.
	for _, c := range []struct {
		name  string
		scale int64
		norm  bool
		moves [][]int64
		reach int64
	}{
		{"one cell by one", 1, false, [][]int64{{1}}, 60},
		{"one cell by three", 2, false, [][]int64{{3}}, 120},
		{"two cells", 1, false, [][]int64{{1}, {-1}}, 60},
		{"seven cells, one by two", 3, false, [][]int64{{1}, {1}, {1}, {-1}, {1}, {1}, {2}}, 150},
		{"large noise", 40, false, [][]int64{{1}, {1}}, 1500},
		{"a run of two", 2, true, [][]int64{{1, 1}}, 45},
		{"two runs of two", 2, true, [][]int64{{2, -1}, {0, 1}}, 45},
		{"two single runs", 1, true, [][]int64{{1}, {2}}, 60},
	} {
		bound, runs := Bound{Unit: Record}, int64(len(c.moves))
		law, noise := laplaceLog(float64(c.scale)),
			Mechanism(DiscreteLaplace{big.NewRat(c.scale, 1), true})
		if c.norm {
			law, noise = normLog(float64(c.scale)), KNorm{big.NewRat(c.scale, 1), runs, true}
		}
		for _, run := range c.moves {
			for _, x := range run {
				bound.L1 += max(x, -x)
				bound.L2sq += x * x
			}
		}
		cost := must(CostOf(noise, bound))
		rho, _ := cost.Rho.Float64()
		for _, alpha := range []float64{1.01, 1.5, 2, 4, 16} {
			got := 0.
			for _, run := range c.moves {
				got += renyi(law, run, alpha, c.reach)
			}
			if got > alpha*rho*(1+1e-12) {
				t.Errorf("%s: the divergence of order %g is %.6g, α·ρ is %.6g", c.name, alpha, got, alpha*rho)
			}
			near = max(near, got/(alpha*rho))
		}
	}
	if near < .98 {
		t.Errorf("no divergence comes within %.3f of its bound", near)
	}
}

// TestByL2IsNotForDependentNoise: zero-sum noise would break the L2 rule, so it costs ε²/2 under
// any bound, as do draws from an urn, and noise that does not ask for the rule.
func TestByL2IsNotForDependentNoise(t *testing.T) {
	b, scale := CountBound(Record, 2), big.NewRat(20, 1) // one label moved: (1, −1), L2sq = 2
	if by, got := 2./(2*20*20), renyi(zeroSumLog(20), []int64{1}, 2, 400)/2; got <= by {
		t.Errorf("zero-sum noise has ρ ≥ %.6g, which the L2 rule would cover by %.6g", got, by)
	}
	for _, m := range []Mechanism{
		ChargeByL2(ZeroSumLaplace{scale}), ChargeByL2(must(CalibrateLaplacePrior(b, 1, 3, 30))), ChargeByL2(must(CalibrateResponse(2, 1))),
		DiscreteLaplace{Scale: scale}, KNorm{Scale: scale, Blocks: 2},
	} {
		cost := must(CostOf(m, b))
		if half := PureCost(Record, 0, cost.Pure).Rho; cost.Rho.Cmp(half) != 0 {
			t.Errorf("%s %v: ρ is %v, ε²/2 is %v", m.Name(), ParametersOf(m), cost.Rho, half)
		}
	}
}

// TestByL2Exact: the cost is the stated rational, at its own unit and at others, never above ε²/2,
// and ε²/2 where no L2 bound is proved.
func TestByL2Exact(t *testing.T) {
	blocks := Bound{Unit: Record, PerParty: 3, L1: 28, L2sq: 28}
	laplace := DiscreteLaplace{big.NewRat(28, 1), true}
	for _, c := range []struct {
		name      string
		m         Mechanism
		b         Bound
		pure, rho *big.Rat
	}{
		{"14 one-hot blocks at ε = 1", laplace, blocks, big.NewRat(1, 1), big.NewRat(1, 56)},
		{"no L2 bound", laplace, Bound{Unit: Record, L1: 28}, big.NewRat(1, 1), big.NewRat(1, 2)},
		{"a useless L2 bound", laplace, Bound{Unit: Record, L1: 28, L2sq: 10_000}, big.NewRat(1, 1), big.NewRat(1, 2)},
		{"four runs", KNorm{big.NewRat(8, 1), 4, true}, Bound{Unit: Party, L2sq: 16}, // N ≤ 8·F+3
			new(big.Rat).SetFrac64(8<<normFineness+3, 8<<normFineness),
			new(big.Rat).Mul(big.NewRat(1, 8),
				new(big.Rat).SetFrac64((1<<normFineness+1)*(1<<normFineness+1),
					1<<(2*normFineness)))},
	} {
		got := must(CostOf(c.m, c.b))
		if got.Pure.Cmp(c.pure) != 0 || got.Rho.Cmp(c.rho) != 0 || got.Unit != c.b.Unit ||
			got.PerParty != c.b.PerParty || got.Validate() != nil {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	cost := must(CostOf(laplace, blocks))
	party, ok := cost.At(Party)
	if !ok || party.Pure.Cmp(big.NewRat(3, 1)) != 0 || party.Rho.Cmp(big.NewRat(9, 56)) != 0 ||
		party.Validate() != nil {
		t.Errorf("three records of a party cost %+v", party)
	}
	if n := ReleasesWithin(Budget{3, 1e-5}, cost); n != 12 {
		t.Errorf("%d such studies fit (3, 1e-5), want 12", n)
	}
	if n := ReleasesWithin(Budget{3, 1e-5}, PureCost(Record, 0, cost.Pure)); n != 3 {
		t.Errorf("%d such studies fit (3, 1e-5) at ε²/2, want 3", n)
	}
}

// TestByL2IsATerm: an answer keeps the rule that it was asked under. The other rule under the same
// id is another request, and an answer that claims the other rule's cost is refused.
func TestByL2IsATerm(t *testing.T) {
	b := Bound{Unit: Record, L1: 4, L2sq: 4}
	s := must(NewSensitive([]int64{5, 6, 7, 8}, b))
	for _, m := range []Mechanism{DiscreteLaplace{Scale: big.NewRat(4, 1)},
		KNorm{Scale: big.NewRat(4, 1), Blocks: 2}} {
		l := opened()
		first := must(l.Release(context.Background(), "before", s, m))
		if _, err := l.Release(context.Background(), "before", s, ChargeByL2(m)); err == nil {
			t.Errorf("%s: another rule under the same id was answered", m.Name())
		}
		second := must(l.Release(context.Background(), "after", s, ChargeByL2(m)))
		for _, p := range []Published{first, second} {
			back := must(ParsePublished(must(p.MarshalBinary())))
			if !back.Cost.Equal(p.Cost) || back.Variance(0) != p.Variance(0) {
				t.Errorf("%s: read back as %+v", m.Name(), back.Cost)
			}
		}
		first.Cost, second.Cost = second.Cost, first.Cost
		for _, p := range []Published{first, second} {
			if p.check() == nil {
				t.Errorf("%s %v may claim %v", m.Name(), p.Parameters, p.Cost)
			}
		}
	}
	if _, err := MechanismOf("discrete-laplace",
		map[string]string{"scale": "4", "rho": "l1"}); err == nil {
		t.Error("another rule was read")
	}
}

// TestAnswersOfBefore: answers and charges of a version without ChargeByL2 are read and cost what
// they did.
func TestAnswersOfBefore(t *testing.T) {
	b := Bound{Unit: Record, L1: 4, L2sq: 4}
	s := must(NewSensitive([]int64{5, 6, 7, 8}, b))
	l := opened()
	for i, c := range []struct {
		m              Mechanism
		answer, charge string
	}{
		{
			DiscreteLaplace{Scale: big.NewRat(4, 1)}, "Ab+wQ+FfN1fSKX9rHhWuuqZg+cEkcoAu7oD1rNqlYvS+lgJ7ImlkIjoiYmVmb3JlIDAiLCJzZXF1ZW5jZSI6MSwibWVjaGFuaXNtIjoiZGlzY3JldGUtbGFwbGFjZSIsInBhcmFtZXRlcnMiOnsic2NhbGUiOiI0In0sImJvdW5kIjp7InVuaXQiOiJyZWNvcmQiLCJsMSI6NCwibDJzcSI6NCwiY2VsbHMiOjAsImtlZXBzX3N1bSI6ZmFsc2UsInBlcl9wYXJ0eSI6MH0sImNvc3QiOnsidW5pdCI6InJlY29yZCIsInBlcl9wYXJ0eSI6MCwicHVyZSI6IjEiLCJyaG8iOiIxLzIiLCJkZWx0YSI6bnVsbH0sInJ1bnMiOjAsInZhbHVlcyI6NCwicmVhbHMiOi0xfQgUECI=",
			`[{"unit":"record","per_party":0,"pure":"1","rho":"1/2","delta":null}]`,
		},
		{
			KNorm{Scale: big.NewRat(4, 1), Blocks: 2}, "AUSywgd58JP0t3o347OIto2hFrSCgD7c+gezKaswMRL2ugJ7ImlkIjoiYmVmb3JlIDEiLCJzZXF1ZW5jZSI6MiwibWVjaGFuaXNtIjoiay1ub3JtIiwicGFyYW1ldGVycyI6eyJibG9ja3MiOiIyIiwic2NhbGUiOiI0In0sImJvdW5kIjp7InVuaXQiOiJyZWNvcmQiLCJsMSI6NCwibDJzcSI6NCwiY2VsbHMiOjAsImtlZXBzX3N1bSI6ZmFsc2UsInBlcl9wYXJ0eSI6MH0sImNvc3QiOnsidW5pdCI6InJlY29yZCIsInBlcl9wYXJ0eSI6MCwicHVyZSI6IjE4NTM2NS8yNjIxNDQiLCJyaG8iOiIzNDM2MDE4MzIyNS8xMzc0Mzg5NTM0NzIiLCJkZWx0YSI6bnVsbH0sInJ1bnMiOjAsInZhbHVlcyI6NCwicmVhbHMiOi0xfRYIDBI=",
			`[{"unit":"record","per_party":0,"pure":"185365/262144","rho":"34360183225/137438953472","delta":null}]`,
		},
	} {
		then := must(ParsePublished(must(base64.StdEncoding.DecodeString(c.answer))))
		charge := must(decodeCosts([]byte(c.charge)))[0]
		now := must(l.Release(context.Background(), fmt.Sprint("before ", i), s, c.m))
		for _, cost := range []Cost{then.Cost, now.Cost, PureCost(Record, 0, charge.Pure)} {
			if !cost.Equal(charge) {
				t.Errorf("%s: %+v, want %+v", c.m.Name(), cost, charge)
			}
		}
		// The terms are the same to the byte, so an id that was asked before has its answer.
		then.Values, then.Sequence, now.Values, now.Sequence = nil, 0, nil, 0
		if string(encodePublished(then)) != string(encodePublished(now)) {
			t.Errorf("%s: terms %s, then %s", c.m.Name(), encodePublished(now),
				encodePublished(then))
		}
	}
}
