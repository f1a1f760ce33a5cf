package privacy

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestEveryNumberHasNoise: every mechanism that adds noise adds some to each number, at its
// largest scale and on 5,000 numbers. No number of an integer release or of a share equals its
// input. No two neighbouring noise values come twice, in one release, in two, or from two
// ledgers; a pair repeats by chance with probability below 2⁻⁹⁶.
//
// False alarms: a noise value is 0 with probability at most 2⁻⁴⁸, so 3e-10 for 60,000 numbers.
func TestEveryNumberHasNoise(t *testing.T) {
	const n = 5_000
	scale, variance := power(maxScaleBits), new(big.Rat).Sub(power(maxVarianceBits),
		big.NewRat(1, 1))
	rng := rand.New(rand.NewPCG(9, 9))
	v, other := make([]int64, n), anyShare(rng, n)
	for j := range v {
		v[j] = rng.Int64N(1<<40) - 1<<39
	}
	for _, c := range []struct {
		m Mechanism
		b Bound
	}{
		{DiscreteLaplace{Scale: scale}, Bound{Unit: Record, L1: 1}},
		{DiscreteGaussian{variance}, Bound{Unit: Record, L2sq: 1}},
		{DiscreteGaussian{variance}, Bound{Unit: Record, L2sq: 3, Weight: slices.Repeat([]int64{1, 3}, n/2)}},
		{KNorm{Scale: scale, Blocks: 417}, Bound{Unit: Record, L2sq: 1}},
		{RoundedGaussian{scale}, Bound{Unit: Label, L2sq: 1}},
		{ZeroSumLaplace{scale}, Bound{Unit: Label, L1: 2, Cells: 2, KeepsSum: true, Block: 5}},
	} {
		seen := map[[2]Residue]bool{}
		look := func(what string, noise []Residue) {
			for j, y := range noise {
				if y == (Residue{}) {
					t.Errorf("%s, %s: number %d of %d has no noise", c.m.Name(), what, j, n)
				}
				if j == 0 || c.b.Block > 0 && j%c.b.Block == 0 {
					continue
				}
				if pair := [2]Residue{noise[j-1], y}; seen[pair] {
					t.Fatalf("%s, %s: numbers %d and %d have noise that was there before", c.m.Name(), what, j-1, j)
				} else {
					seen[pair] = true
				}
			}
		}
		for party := range 2 {
			l := opened()
			release := func(id string, s Sensitive) Published {
				p, err := l.Release(t.Context(), id, s, c.m)
				if err != nil {
					t.Fatal(c.m.Name(), err)
				}
				return p
			}
			difference := split(release("values", must(NewSensitive(v, c.b))).Values,
				make([]Residue, n))
			for j := range difference {
				difference[j] = reduced(new(big.Int).Sub(integerOf(difference[j]),
					big.NewInt(v[j])), fieldModulus())
			}
			look(fmt.Sprint("values of ledger ", party), difference)
			if _, shared := c.m.(additive); shared {
				share := split(v, other)
				noisy := release("share", must(NewSensitiveShare(share, c.b))).Residues
				for j := range noisy {
					noisy[j] = reduced(new(big.Int).Sub(integerOf(noisy[j]), integerOf(share[j])),
						fieldModulus())
				}
				look(fmt.Sprint("a share of ledger ", party), noisy)
			}
		}
	}
}
