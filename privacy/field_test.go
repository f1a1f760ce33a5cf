package privacy

import (
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"caucus/privacy/audit"
)

// split returns the first of two shares of v; the second is given.
func split(v []int64, second []Residue) (first []Residue) {
	p := fieldModulus()
	for j, x := range v {
		first = append(first, reduced(new(big.Int).Sub(big.NewInt(x), integerOf(second[j])), p))
	}
	return first
}

func joined(a, b []Residue) (out []int64) {
	p := fieldModulus()
	for j := range a {
		x := integerOf(reduced(new(big.Int).Add(integerOf(a[j]), integerOf(b[j])), p))
		if x.Cmp(new(big.Int).Rsh(p, 1)) > 0 {
			x.Sub(x, p)
		}
		out = append(out, x.Int64())
	}
	return out
}

// anyShare returns n random residues.
func anyShare(rng *rand.Rand, n int) (out []Residue) {
	for range n {
		out = append(out, Residue{rng.Uint64() >> 1, rng.Uint64()})
	}
	return out
}

// TestShareLaw: at small moduli, a share plus noise has the law of the noise wrapped round the
// modulus (computed from the sampler), and neighbours are no further apart than under the noise
// over the integers.
func TestShareLaw(t *testing.T) {
	for _, modulus := range []int64{2, 3, 7, 11} {
		p := big.NewInt(modulus)
		for _, scale := range []float64{1, 2.5} {
			x := new(big.Rat).SetFloat64(scale)
			got := make([]map[trialResult]float64, modulus)
			for share := range modulus {
				got[share] = law(t, func(d dice) trialResult {
					y, ok := laplaceTrial(d, new(ratio), x.Num().Uint64(), x.Denom().Uint64())
					if !ok {
						return trialResult{}
					}
					r := addToResidue(Residue{0, uint64(share)}, y, p)
					return trialResult{int64(r[1]), r[0] == 0}
				})
				weight, total := make([]float64, modulus), 0.
				for y := int64(-400 * modulus); y <= 400*modulus; y++ {
					w := math.Exp(-math.Abs(float64(y)) / scale)
					weight[((share+y)%modulus+modulus)%modulus] += w
					total += w
				}
				counts := 1 - got[share][trialResult{}]
				for r, w := range weight {
					if have := got[share][trialResult{int64(r),
						true}] / counts; math.Abs(have-w/total) > 1e-12 {
						t.Errorf("mod %d, scale %g: share %d becomes %d with probability %.13f, want %.13f", modulus, scale, share, r, have, w/total)
					}
				}
			}
			for share := range modulus {
				for r := range modulus {
					a, b := got[share][trialResult{r, true}],
						got[(share+1)%modulus][trialResult{r, true}]
					if loss := math.Log(a / b); loss > 1/scale+1e-9 {
						t.Errorf("mod %d: moving by 1 loses %.6f, the noise allows %.6f", modulus, loss, 1/scale)
					}
				}
			}
		}
	}
}

// TestShareIsTheIntegersRelease: with the same dice (loaded ones too, which go far out), a noisy
// share equals the noisy integer vector minus the other share. Nothing else enters it.
func TestShareIsTheIntegersRelease(t *testing.T) {
	weighted := Bound{Unit: Party, L2sq: 10}
	for j := range 240 {
		weighted.Weight = append(weighted.Weight, int64(1+j%3))
	}
	for _, c := range []struct {
		m Mechanism
		b Bound
	}{
		{DiscreteLaplace{Scale: big.NewRat(7, 2)}, Bound{Unit: Record, L1: 1}},
		{DiscreteGaussian{big.NewRat(400, 3)}, weighted},
		{KNorm{Scale: big.NewRat(9, 2), Blocks: 21}, Bound{Unit: Record, L2sq: 5}},
	} {
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(seed, 5))
			v, other := make([]int64, 240), anyShare(rng, 240)
			for j := range v {
				v[j] = rng.Int64N(1<<40) - 1<<39
			}
			for _, roll := range []func(uint64) dice{seededDice, loadedDice} {
				s := must(NewSensitiveShare(split(v, other), c.b))
				of, on := roll(seed), roll(seed)
				noisy := drawShare(c.m, s.open(), of)
				if got, want := joined(noisy, other), drawOf(c.m, v, c.b, on); !slices.Equal(got,
					want) || !sameRest(of, on) {
					t.Fatalf("%s, seed %d: shares give %v, the integers %v", c.m.Name(), seed, got,
						want)
				}
			}
		}
	}
}

// TestShareNoiseIsExact: noise of any size is added whole. An integer release cuts noise off; on
// a share, a cut would not be a function of the noisy vector.
func TestShareNoiseIsExact(t *testing.T) {
	p := fieldModulus()
	for _, y := range []noise{{natural{0, 3}, true}, {natural{1, 5}, false},
		{natural{1 << 63, 7}, true}, {natural{math.MaxUint64, math.MaxUint64}, false}} {
		for _, x := range []Residue{{}, {0, 1}, {1 << 62, 9}, reduced(big.NewInt(-1), p)} {
			want := new(big.Int).Lsh(new(big.Int).SetUint64(y.size.high), 64)
			want.Add(want, new(big.Int).SetUint64(y.size.low))
			if y.negative {
				want.Neg(want)
			}
			want.Mod(want.Add(want, integerOf(x)), p)
			if got := integerOf(addToResidue(x, y, p)); got.Cmp(want) != 0 {
				t.Errorf("%v + %+v = %v, want %v", x, y, got, want)
			}
		}
	}
}

// TestShareThroughTheDoor: two servers release their shares through two ledgers. The answers add
// up to the vector plus both noises, each ledger is charged in full, and the first answer stays.
// A second set under the same id is a conflict, and so is the vector itself.
func TestShareThroughTheDoor(t *testing.T) {
	ctx := t.Context()
	const n = 40_000
	v, b := make([]int64, n), Bound{Unit: Record, L2sq: 2}
	for j := range v {
		v[j] = int64(j) - n/2
	}
	m := must(CalibrateGaussian(b, Budget{Epsilon: 1, Delta: 1e-6}))
	other := anyShare(rand.New(rand.NewPCG(1, 1)), n)
	shares := [2][]Residue{split(v, other), other}
	var published [2]Published
	var ledgers [2]*Ledger
	for r := range shares {
		ledgers[r] = must(Open(NewMemoryJournal(), Config{}))
		s := must(NewSensitiveShare(shares[r], b)).WithSource(Digest{1})
		published[r] = must(ledgers[r].Release(ctx, "study", s, m))
		p := published[r]
		if p.Values != nil || p.Reals != nil || p.Len() != n {
			t.Errorf("server %d published %d values and %d reals beside %d residues", r, len(p.Values), len(p.Reals), len(p.Residues))
		}
		if want := must(CostOf(m, b)); !p.Cost.equal(want) {
			t.Errorf("server %d charged %v, want %v", r, p.Cost, want)
		}
		if again := must(ledgers[r].Release(ctx, "study", s, m)); !slices.Equal(again.Residues,
			p.Residues) {
			t.Errorf("server %d gave a second answer", r)
		}
		back := must(ParsePublished(must(p.MarshalBinary())))
		if !slices.Equal(back.Residues, p.Residues) || !back.IsUnchanged() ||
			back.Variance(0) != p.Variance(0) {
			t.Error("a share that was written and read is another")
		}
	}
	// Noise of one server has variance σ², of both 2σ². A mean of n squares of normal noise has
	// standard error √2σ²/√n; 7 standard errors are exceeded with probability 3e-12.
	variance := published[0].Variance(0)
	for name, c := range map[string]struct {
		shares [2][]Residue
		want   float64
	}{
		"the first server's": {[2][]Residue{published[0].Residues, shares[1]}, variance},
		"the second's":       {[2][]Residue{shares[0], published[1].Residues}, variance},
		"both":               {[2][]Residue{published[0].Residues, published[1].Residues}, 2 * variance},
		"none":               {shares, 0},
	} {
		square := 0.
		for j, x := range joined(c.shares[0], c.shares[1]) {
			square += float64(x-v[j]) * float64(x-v[j]) / n
		}
		if math.Abs(square-c.want) > 7*math.Sqrt2*c.want/math.Sqrt(n) {
			t.Errorf("noise of %s: variance %.2f, want %.2f", name, square, c.want)
		}
	}
	for name, s := range map[string]Sensitive{
		"another set":      must(NewSensitiveShare(shares[0], b)).WithSource(Digest{2}),
		"no set":           must(NewSensitiveShare(shares[0], b)),
		"the vector":       must(NewSensitive(v, b)).WithSource(Digest{1}),
		"a longer vector":  must(NewSensitiveShare(append(slices.Clone(shares[0]), Residue{}), b)).WithSource(Digest{1}),
		"under more noise": must(NewSensitiveShare(shares[0], Bound{Unit: Record, L2sq: 3})).WithSource(Digest{1}),
	} {
		if _, err := ledgers[0].Release(ctx, "study", s, m); !errors.Is(err, ErrConflict) {
			t.Errorf("%s under the same id: %v, want ErrConflict", name, err)
		}
	}
	if err := ledgers[0].Reserve(ctx, "other",
		Terms{Mechanism: m, Bound: b, Length: n, SourceDigest: Digest{1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := ledgers[0].Release(ctx, "other",
		must(NewSensitiveShare(shares[0], b)).WithSource(Digest{1}),
		m); !errors.Is(err, ErrConflict) {
		t.Errorf("a share on a reservation of the vector: %v, want ErrConflict", err)
	}
}

// TestShareRefusals: a share is refused for mechanisms without a proof on shares, and so is a
// damaged share.
func TestShareRefusals(t *testing.T) {
	b := CountBound(Label, 2)
	one := []Residue{{}, {0, 1}}
	ledger := must(Open(NewMemoryJournal(), Config{}))
	for _, m := range []Mechanism{ZeroSumLaplace{big.NewRat(2, 1)},
		RoundedGaussian{big.NewRat(2, 1)}, RandomisedResponse{2, big.NewRat(3, 4)}, Unperturbed{}} {
		for _, l := range []*Ledger{ledger, NewSimulation(1)} {
			if _, err := l.Release(t.Context(), m.Name(), must(NewSensitiveShare(one, b)),
				m); !errors.Is(err, ErrUnproven) {
				t.Errorf("%s of a share: %v, want ErrUnproven", m.Name(), err)
			}
		}
	}
	for name, err := range map[string]error{
		"no coordinates": second(NewSensitiveShare(nil, b)),
		"no bound":       second(NewSensitiveShare(one, Bound{Unit: Record})),
	} {
		if err == nil {
			t.Errorf("%s: a share was made", name)
		}
	}
	s := must(NewSensitiveShare([]Residue{{math.MaxUint64, math.MaxUint64}},
		Bound{Unit: Record, L1: 1}))
	if got, want := s.open().residues[0],
		reduced(integerOf(Residue{math.MaxUint64, math.MaxUint64}), fieldModulus()); got != want {
		t.Errorf("a residue above the modulus is %v, want %v", got, want)
	}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%+v", s),
		fmt.Sprintf("%#v", struct{ s Sensitive }{s})} {
		if strings.Contains(text, "1844") || strings.Contains(text, "residues") {
			t.Errorf("a share prints as %q", text)
		}
	}
	p := must(ledger.Release(t.Context(), "x", s, DiscreteLaplace{Scale: big.NewRat(1, 1)}))
	for name, change := range map[string]func(*Published){
		"above the modulus":    func(p *Published) { p.Residues = []Residue{{math.MaxUint64, math.MaxUint64}} },
		"values beside it":     func(p *Published) { p.Values = []int64{1} },
		"of another mechanism": func(p *Published) { p.Mechanism = "rounded-gaussian" },
		"too many":             func(p *Published) { p.Residues = append(p.Residues, Residue{}); p.Bound.Cells = 9 },
	} {
		changed := p
		change(&changed)
		if _, err := decodePublished(encodePublished(changed)); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
}

// TestAuditShare: a dishonest server knows its own share and noise. What it sees reveals no more
// than the honest server's proof allows. If the honest server forgets its noise, or adds half,
// the audit finds it. False alarms: 5e-13.
func TestAuditShare(t *testing.T) {
	data := [2][]int64{{0, 5}, {1, 4}}
	b := Bound{Unit: Record, L1: 2}
	other := anyShare(rand.New(rand.NewPCG(2, 2)), 2)
	sees := func(m Mechanism, d dice) audit.Draw {
		var s [2]*secret
		for n := range s {
			s[n] = must(NewSensitiveShare(split(data[n], other), b)).open()
		}
		return audit.IntegerDraw(func(n int) []int64 {
			return joined(drawShare(m, s[n], d),
				other)
		})
	}
	honest := DiscreteLaplace{Scale: big.NewRat(2, 1)} // ε = 1
	a := audit.Default()
	a.Samples, a.FalseAlarm = 6_000, 5e-13
	if f := must(a.Run(sees(honest, newDice(cryptorand.Reader)))); f.Exceeds(1) {
		t.Errorf("the other server learns ε = %.3f by %s, the proof says 1", f.Epsilon, f.Event)
	}
	a = audit.Default()
	a.Samples = 20_000
	if f := must(a.Run(sees(DiscreteLaplace{Scale: big.NewRat(1, 1)},
		seededDice(3)))); !f.Exceeds(1) {
		t.Errorf("half the noise shows ε = %.3f only", f.Epsilon)
	}
}
