package privacy

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	"math"
	"math/big"
	mathrand "math/rand/v2"
	"testing"
)

type script []uint64

func (s *script) Read(b []byte) (int, error) {
	if len(*s) == 0 {
		return 0, io.EOF
	}
	binary.LittleEndian.PutUint64(b, (*s)[0])
	*s = (*s)[1:]
	return 8, nil
}

// scripted returns dice that roll the given words, then zeros.
func scripted(words ...uint64) *exactDice {
	s := make(script, 512)
	copy(s, words)
	return newDice(&s)
}

// rat returns p as a rational.
func (r *ratio) rat() *big.Rat {
	x := new(big.Rat).SetFrac(&r.rest, &r.den)
	x.Add(x, new(big.Rat).SetInt(new(big.Int).SetUint64(r.head)))
	x.Quo(x, power(64))
	return x.Add(x, new(big.Rat).SetInt(new(big.Int).SetUint64(r.whole)))
}

// enumerator is dice that walk through all outcomes, with the probability of each path.
type enumerator struct {
	path   []branch
	at     int
	mass   float64 // of the path so far
	cutoff float64
}

type branch struct {
	choice, choices uint64
}

type abandoned struct{}

func (e *enumerator) choose(choices uint64, probability func(uint64) float64) uint64 {
	if e.at == len(e.path) {
		e.path = append(e.path, branch{0, choices})
	}
	c := e.path[e.at].choice
	e.at++
	if e.mass *= probability(c); e.mass < e.cutoff {
		panic(abandoned{})
	}
	return c
}

func (e *enumerator) coin(p float64) bool {
	return e.choose(2, func(c uint64) float64 { return [2]float64{1 - p, p}[c] }) == 1
}

func (e *enumerator) below(n uint64) uint64 {
	return e.choose(n, func(uint64) float64 { return 1 / float64(n) })
}

func (e *enumerator) flip(p *ratio, k uint64) bool {
	return e.coin(float64(p.head) / 0x1p64 / float64(k))
}

func (e *enumerator) decay(p *ratio) bool {
	return e.coin(math.Exp(-float64(p.whole) - float64(p.head)/0x1p64))
}

// law runs trial over all outcomes of its dice and returns each result's probability. Paths below
// 1e-19 are cut; the test fails if the cut paths sum to 1e-13.
func law[T comparable](t *testing.T, trial func(dice) T) map[T]float64 {
	t.Helper()
	got, total := map[T]float64{}, 0.
	e := &enumerator{cutoff: 1e-19}
	for {
		e.at, e.mass = 0, 1
		func() {
			defer func() {
				if r := recover(); r != nil {
					if _, cut := r.(abandoned); !cut {
						panic(r)
					}
				}
			}()
			result := trial(e)
			got[result] += e.mass
			total += e.mass
		}()
		e.path = e.path[:e.at]
		for len(e.path) > 0 {
			last := &e.path[len(e.path)-1]
			if last.choice++; last.choice < last.choices {
				break
			}
			e.path = e.path[:len(e.path)-1]
		}
		if len(e.path) == 0 {
			break
		}
	}
	if math.Abs(total-1) > 1e-13 {
		t.Fatalf("outcomes sum to %.16f", total)
	}
	return got
}

func TestBelowIsUniform(t *testing.T) {
	// A masked word below n is returned, any other is thrown away, so n outcomes share the
	// accepted words equally.
	for n := uint64(1); n <= 70; n++ {
		mask := uint64(1)
		for mask < n {
			mask *= 2
		}
		for x := range mask {
			want := x
			if x >= n {
				want = 0 // thrown away; the script goes on with 0
			}
			if got := scripted(x | 0xabcd000000000000).below(n); got != want {
				t.Fatalf("below(%d) of word %d = %d, want %d", n, x, got, want)
			}
		}
	}
	if got := scripted(math.MaxUint64, 5).below(math.MaxUint64); got != 5 {
		t.Errorf("below(2⁶⁴−1) = %d, want 5", got)
	}
}

// TestFlipComparesExactly: flip is true iff 0.u₁u₂u₃… in base 2⁶⁴ is below frac(p)/k, also if the
// first one, two or three digits are equal.
func TestFlipComparesExactly(t *testing.T) {
	rng := mathrand.New(mathrand.NewPCG(1, 2))
	base := power(64)
	for i := range 3000 {
		num := new(big.Int).SetUint64(rng.Uint64() >> rng.IntN(64))
		den := new(big.Int).SetUint64(rng.Uint64()>>rng.IntN(64) + 1)
		if i%2 == 0 { // numbers longer than a word
			num.Mul(num, num).Mul(num, big.NewInt(987654321987654321))
			den.Mul(den, den).Add(den, big.NewInt(1))
		}
		k := rng.Uint64N(9) + 1
		var p ratio
		p.set(num, den)
		if p.whole < math.MaxUint64 && p.rat().Cmp(new(big.Rat).SetFrac(num, den)) != 0 {
			t.Fatalf("ratio of %v/%v is %v", num, den, p.rat())
		}
		p.whole = 0
		target := p.rat()
		target.Quo(target, new(big.Rat).SetInt(new(big.Int).SetUint64(k)))
		// The digits of the target, one of them moved by −1, 0 or 1.
		words, rest := make([]uint64, 4), new(big.Rat).Set(target)
		for j := range words {
			rest.Mul(rest, base)
			digit := new(big.Int).Quo(rest.Num(), rest.Denom())
			words[j] = digit.Uint64()
			rest.Sub(rest, new(big.Rat).SetInt(digit))
		}
		words[rng.IntN(4)] += uint64(rng.IntN(3)) - 1
		u := new(big.Rat)
		for j := 3; j >= 0; j-- {
			u.Add(u, new(big.Rat).SetInt(new(big.Int).SetUint64(words[j])))
			u.Quo(u, base)
		}
		want := u.Cmp(target) < 0
		if got := scripted(words...).flip(&p, k); got != want {
			t.Fatalf("flip(%v/%v, %d) with u %s target is %t", num, den, k,
				[]string{"below", "at", "above"}[u.Cmp(target)+1], got)
		}
		if got := scripted(words...).flipExact(new(big.Int).Set(target.Num()),
			target.Denom()); got != want {
			t.Fatalf("flipExact(%v/%v, %d) is %t", num, den, k, got)
		}
	}
}

// TestFastFlipEqualsBigFlip: on the same random stream, flip and flipExact agree and consume the
// same words.
func TestFastFlipEqualsBigFlip(t *testing.T) {
	fast, big1 := newDice(mathrand.NewChaCha8([32]byte{7})),
		newDice(mathrand.NewChaCha8([32]byte{7}))
	var p ratio
	for i := uint64(0); i < 20000; i++ {
		num, den, k := i*i%1009, uint64(1009), i%6+1
		p.setSmall(num, den)
		target := new(big.Rat).SetFrac(new(big.Int).SetUint64(num), new(big.Int).SetUint64(den*k))
		if target.Sign() == 0 { // flip reads a word, flipExact knows already
			continue
		}
		if a, b := fast.flip(&p, k), big1.flipExact(new(big.Int).Set(target.Num()),
			target.Denom()); a != b {
			t.Fatalf("draw %d: fast %t, big %t", i, a, b)
		}
	}
	if fast.word() != big1.word() {
		t.Error("the two read different numbers of words")
	}
}

func TestDecayLaw(t *testing.T) {
	for _, f := range [][2]int64{{0, 1}, {1, 7}, {1, 2}, {1, 1}, {3, 2}, {2, 1}, {15, 7},
		{999, 1000}} {
		var p ratio
		p.set(big.NewInt(f[0]), big.NewInt(f[1]))
		want := math.Exp(-float64(f[0]) / float64(f[1]))
		got := law(t, func(d dice) bool { return decayByFlips(d, &p) })
		if math.Abs(got[true]-want) > 1e-12 {
			t.Errorf("P[decay(%d/%d)] = %.15f, want %.15f", f[0], f[1], got[true], want)
		}
	}
}

func TestFailedStreamPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a stream that ends must stop the draw")
		}
	}()
	empty := script{}
	newDice(&empty).word()
}

func freshDice() *exactDice { return newDice(rand.Reader) }
