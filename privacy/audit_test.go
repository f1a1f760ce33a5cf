package privacy

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"caucus/internal/testlevel"
	"caucus/privacy/audit"
)

func audited(t *testing.T, samples int, delta float64, draw audit.Draw) audit.LowerBound {
	t.Helper()
	a := audit.Default()
	a.Samples, a.Delta = samples, delta
	return must(a.Run(draw))
}

func answerOf(values []int64, reals []float64) []float64 {
	return append(slices.Clone(reals), audit.IntegerDraw(func(int) []int64 { return values })(0)...)
}

// TestTrialsAreNeighbours: the two vectors of each trial are neighbours under its bound, and use
// all of the bound.
func TestTrialsAreNeighbours(t *testing.T) {
	for _, trial := range append(must(Trials()), must(RealTrials())...) {
		b := trial.Bound
		if err := b.Validate(len(trial.Data[0])); err != nil {
			t.Errorf("%s: %v", trial.Pair, err)
		}
		l1, l2sq, cells := int64(0), int64(0), 0
		for j := range trial.Data[0] {
			if d := trial.Data[1][j] - trial.Data[0][j]; d != 0 {
				l1 += max(d, -d)
				l2sq += b.weight(j) * d * d
				cells++
			}
		}
		if (b.L1 > 0 && l1 > b.L1) || (b.L2sq > 0 && l2sq > b.L2sq) ||
			(b.Cells > 0 && cells > b.Cells) {
			t.Errorf("%s, %s: moves by L1 %d, L2² %d in %d cells, its bound is %+v", trial.Mechanism.Name(), trial.Pair, l1, l2sq, cells, b)
		}
	}
}

// laplaceOf draws discrete Laplace noise on one of two vectors.
func laplaceOf(scale *big.Rat, d func() dice, data [2][]int64) audit.Draw {
	return func(neighbour int) []float64 {
		return answerOf(DiscreteLaplace{Scale: scale}.draw(&secret{values: data[neighbour]}, d()))
	}
}

// TestAuditMutants: the audit finds each of these mistakes. Mistakes that need a study are in
// study/conformance/audit_test.go. Draws are seeded, so that no run misses a mistake by bad luck.
func TestAuditMutants(t *testing.T) {
	fresh := newDice(rand.NewChaCha8([32]byte{9}))
	honest := func() dice { return fresh }
	one := [2][]int64{{0}, {1}}
	generator := rand.New(rand.NewPCG(1, 2))
	type mutant struct {
		claim   Budget
		samples int
		draw    audit.Draw
	}
	mutants := map[string]mutant{
		"half the noise, Laplace": {Budget{Epsilon: 1}, 20_000, laplaceOf(big.NewRat(1, 2), honest, one)},
		"half the noise, Gaussian": {auditClaim(must(CostOf(DiscreteGaussian{big.NewRat(8, 1)},
			Bound{Unit: Record, L2sq: 2}))), 30_000,
			func(n int) []float64 {
				return answerOf(DiscreteGaussian{big.NewRat(2,
					1)}.draw(&secret{values: [2][]int64{{0, 1}, {1, 0}}[n]}, fresh))
			}},
		// Two runs cost √2 times as much as one. The claim forgets this, so the noise is too small.
		"half the noise, runs": {auditClaim(must(CostOf(KNorm{Scale: big.NewRat(2, 1), Blocks: 1},
			Bound{Unit: Record, L2sq: 4}))), 30_000,
			func(n int) []float64 {
				return answerOf(KNorm{Scale: big.NewRat(2, 1),
					Blocks: 4}.draw(&secret{values: [2][]int64{{0, 0, 0, 0}, {1, 1, 1, 1}}[n]},
					fresh))
			}},
		"half the noise, kept label": {Budget{Epsilon: 1}, 10_000, func(n int) []float64 {
			return answerOf(must(CalibrateResponse(2, 2)).draw(&secret{values: one[n]}, fresh))
		}},
		"wrong sensitivity": {Budget{Epsilon: 1}, 20_000, laplaceOf(big.NewRat(1, 1), honest, [2][]int64{{0, 0}, {1, -1}})},
		"float addition, Laplace": {Budget{Epsilon: 1}, 4_000, func(n int) []float64 {
			return answerOf(LaplacePaper{Scale: 1}.draw(&secret{values: one[n]}, fresh))
		}},
		"float addition, sphere": {Budget{Epsilon: 1}, 4_000, func(n int) []float64 {
			return answerOf(SphereLaplace{Rate: 1}.draw(&secret{values: one[n]}, fresh))
		}},
		// The seed is one of 4096, like a clock read once a second for an hour: answers repeat.
		"a guessable seed": {Budget{Epsilon: 1}, 20_000, laplaceOf(big.NewRat(9, 1), func() dice {
			var key [32]byte
			binary.BigEndian.PutUint16(key[:], uint16(generator.UintN(4096)))
			return newDice(rand.NewChaCha8(key))
		}, [2][]int64{{0, 0, 0, 0}, {1, -2, 1, 5}})},
		"the published Dirichlet's σ": {Budget{Epsilon: 1, Delta: 0.01}, 6_000, publishedDirichlet()},
		"an answer only where there is enough": {Budget{Epsilon: 1}, 4_000, func(n int) []float64 {
			if one[n][0] == 0 {
				return nil // too few records: refused
			}
			return answerOf(DiscreteLaplace{Scale: big.NewRat(1, 1)}.draw(&secret{values: one[n]},
				fresh))
		}},
		"rounded to fours after the bound was proved": {Budget{Epsilon: 1}, 4_000,
			func(n int) []float64 {
				v := [2]int64{5, 6}[n] // one apart, and four when rounded
				return answerOf(DiscreteLaplace{Scale: big.NewRat(1,
					1)}.draw(&secret{values: []int64{(v + 2) / 4 * 4}}, fresh))
			}},
		"drawn again until it is no negative count": {Budget{Epsilon: 1}, 40_000,
			func(n int) []float64 {
				for {
					if out := answerOf(DiscreteLaplace{Scale: big.NewRat(1,
						1)}.draw(&secret{values: one[n]}, fresh)); out[0] >= 0 {
						return out
					}
				}
			}},
		"drawn again beyond three scales": {Budget{Epsilon: 1}, 20_000, func(n int) []float64 {
			for {
				if y, _ := (DiscreteLaplace{Scale: big.NewRat(1,
					1)}).draw(&secret{values: []int64{0}}, fresh); max(y[0], -y[0]) <= 3 {
					return []float64{float64(one[n][0] + y[0])}
				}
			}
		}},
		"a merge that adds one shard twice": {Budget{Epsilon: 1}, 10_000, func(n int) []float64 {
			sum := int64(0)
			for _, shard := range []int64{one[n][0], 3, 4, one[n][0]} {
				sum += shard
			}
			return answerOf(DiscreteLaplace{Scale: big.NewRat(1,
				1)}.draw(&secret{values: []int64{sum}}, fresh))
		}},
		// The noise suffices for the sum of four shards, but each shard is released.
		"a shard's share of the sum's noise": {Budget{Epsilon: 1}, 10_000, laplaceOf(big.NewRat(1, 2), honest, [2][]int64{{0, 3, 1, 2}, {1, 3, 1, 2}})},
		"an exact zero stays zero": {Budget{Epsilon: 1}, 4_000, func(n int) []float64 {
			out := answerOf(DiscreteLaplace{Scale: big.NewRat(50, 1)}.draw(&secret{values: one[n]},
				fresh))
			if one[n][0] == 0 {
				out[0] = 0
			}
			return out
		}},
	}
	// in order: they share their dice
	for _, name := range testlevel.Of(t, slices.Sorted(maps.Keys(mutants)), 6) {
		m := mutants[name]
		f := audited(t, m.samples, m.claim.Delta, m.draw)
		t.Logf("%s: claims %.3f at δ = %.2f, shows %.3f by %s (%d and %d of %d)", name, m.claim.Epsilon, m.claim.Delta, f.Epsilon, f.Event, f.EventCount, f.OtherCount, f.Tested)
		if !f.Exceeds(m.claim.Epsilon) {
			t.Errorf("%s is not found: claims %.3f, shows %.3f by %s", name, m.claim.Epsilon,
				f.Epsilon, f.Event)
		}
	}
}

// publishedDirichlet draws dirichlet-paper at ε = 1 and δ = 0.01 on ten labels in two classes. The
// neighbour has one label flipped. The paper's condition gives σ = 0.213 for (5,5) and 0.054 for
// (6,4).
func publishedDirichlet() audit.Draw {
	m := DirichletPaper{Epsilon: 1, Delta: 0.01}
	counts := [2][]float64{{5, 5}, {6, 4}}
	var sigma [2]float64
	for n, c := range counts {
		sigma[n] = m.SigmaFor(c)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	return func(n int) []float64 {
		x, y := logGamma(sigma[n]*counts[n][0], rng), logGamma(sigma[n]*counts[n][1], rng)
		return []float64{10 / (1 + math.Exp(y-x))}
	}
}

// forgetful is a journal that never finds an entry, so its ledger draws again on each request.
type forgetful struct{ Journal }

type forgetfulTx struct{ Tx }

func (f forgetful) Update(ctx context.Context, fn func(Tx) error) error {
	return f.Journal.Update(ctx, func(tx Tx) error { return fn(forgetfulTx{tx}) })
}

func (forgetfulTx) Find(string) (Entry, bool, error) { return Entry{}, false, nil }

func (f forgetfulTx) Append(e Entry) error {
	e.ID = fmt.Sprint(e.ID, e.Sequence)
	return f.Tx.Append(e)
}

// TestAuditThroughTheDoor: eight requests under one id reveal no more than one. With a forgetful
// journal, noise is drawn each time, and the audit finds the leak: it shows ε = 2.13 on average,
// with deviation .12 (25 runs), so missing it (below 1) is nine deviations away.
func TestAuditThroughTheDoor(t *testing.T) {
	const asked = 8
	through := func(journal func() Journal) audit.Draw {
		return func(n int) []float64 {
			l := must(Open(journal(), Config{}))
			s := must(NewSensitive([]int64{int64(n)}, Bound{Unit: Record, L1: 1}))
			var out []float64
			for range asked {
				p, err := l.Release(context.Background(), "the one id", s,
					DiscreteLaplace{Scale: big.NewRat(1, 1)})
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, answerOf(p.Values, nil)...)
			}
			return out
		}
	}
	if f := audited(t, 100, 0, through(NewMemoryJournal)); f.Exceeds(1) {
		t.Errorf("one answer asked for eight times: claims 1, shows %.3f by %s", f.Epsilon, f.Event)
	}
	f := audited(t, 1500, 0, through(func() Journal { return forgetful{NewMemoryJournal()} }))
	t.Logf("noise redrawn on retry: claims 1, shows %.3f by %s", f.Epsilon, f.Event)
	if !f.Exceeds(1) {
		t.Errorf("noise redrawn on retry is not found: claims 1, shows %.3f by %s", f.Epsilon, f.Event)
	}
}
