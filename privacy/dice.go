package privacy

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	"math"
	"math/big"
	"math/bits"
)

// dice is the samplers' only source of randomness. Given independent uniform bits, every outcome
// has exactly the stated probability. Tests substitute an enumerator to compute a sampler's law.
type dice interface {
	// below is uniform on {0, …, n−1}, n ≥ 1.
	below(n uint64) uint64
	// flip is true with probability (fractional part of p)/k, k ≥ 1.
	flip(p *ratio, k uint64) bool
	// decay is true with probability e^{−p}.
	decay(p *ratio) bool
}

// ratio is a rational p ≥ 0, split for digit-by-digit comparison with a uniform number:
//
//	p = whole + (head + rest/den)/2⁶⁴,  0 ≤ rest < den.
type ratio struct {
	whole, head uint64
	rest, den   big.Int
	scratch     big.Int
}

// setSmall sets p = num/den for num < den.
func (r *ratio) setSmall(num, den uint64) {
	quotient, remainder := bits.Div64(num, 0, den)
	r.whole, r.head = 0, quotient
	r.rest.SetUint64(remainder)
	r.den.SetUint64(den)
}

// set sets p = num/den, num ≥ 0, den > 0. A whole part of 2⁶⁴ or more is stored as 2⁶⁴−1: a decay
// would have to succeed that many times in a row to notice, 584 years at a nanosecond each.
func (r *ratio) set(num, den *big.Int) {
	q := r.scratch.Lsh(num, 64)
	q.QuoRem(q, den, &r.rest)
	r.den.Set(den)
	r.head = low64(q)
	if q.Rsh(q, 64); q.IsUint64() {
		r.whole = q.Uint64()
	} else {
		r.whole = math.MaxUint64
	}
}

// low64 returns q mod 2⁶⁴ for q ≥ 0. (big.Int.Uint64 is undefined for q ≥ 2⁶⁴.)
func low64(q *big.Int) uint64 {
	words := q.Bits()
	if len(words) == 0 {
		return 0
	}
	if bits.UintSize == 64 || len(words) == 1 {
		return uint64(words[0])
	}
	return uint64(words[0]) | uint64(words[1])<<32
}

// system is the operating system's randomness (crypto/rand), the only source of a ledger made by
// Open. The type has no field that could hold another source, and
// TestNothingReplacesTheSystemsRandomness checks that no code of this module assigns to
// crypto/rand's Reader.
type system struct{}

func (system) Read(b []byte) (int, error) { return rand.Read(b) }

type exactDice struct {
	stream io.Reader
	buffer [4096]byte
	next   int
}

// newDice reads stream in blocks of 4096 bytes. A failed read panics, because a draw from missing
// bits would be biased. In practice it never fails: crypto/rand stops the program itself, and
// ChaCha8 has no end.
func newDice(stream io.Reader) *exactDice {
	d := &exactDice{stream: stream}
	d.next = len(d.buffer)
	return d
}

func (e *exactDice) word() uint64 {
	if e.next == len(e.buffer) {
		if _, err := io.ReadFull(e.stream, e.buffer[:]); err != nil {
			panic("privacy: the source of randomness failed: " + err.Error())
		}
		e.next = 0
	}
	w := binary.LittleEndian.Uint64(e.buffer[e.next:])
	e.next += 8
	return w
}

// below masks a word to the bit length of n−1, and retries at n or more: at most two words on
// average.
func (e *exactDice) below(n uint64) uint64 {
	mask := uint64(math.MaxUint64) >> bits.LeadingZeros64((n-1)|1)
	for {
		if x := e.word() & mask; x < n {
			return x
		}
	}
}

// flip compares a uniform U ∈ [0,1), revealed 64 bits at a time, with q = frac(p)/k: true iff
// U < q. The first 64 bits of q are ⌊head/k⌋, because ⌊⌊x⌋/k⌋ = ⌊x/k⌋. Only if all agree, with
// probability 2⁻⁶⁴, is the exact remainder needed.
func (e *exactDice) flip(p *ratio, k uint64) bool {
	u, q := e.word(), p.head/k
	if u != q {
		return u < q
	}
	// The rest of q: ((head mod k) + rest/den)/k.
	den := new(big.Int).SetUint64(k)
	num := new(big.Int).SetUint64(p.head % k)
	num.Mul(num, &p.den).Add(num, &p.rest)
	return e.flipExact(num, den.Mul(den, &p.den))
}

// flipExact is true with probability num/den < 1. It overwrites num.
func (e *exactDice) flipExact(num, den *big.Int) bool {
	digit, u := new(big.Int), new(big.Int)
	for num.Sign() > 0 { // at num = 0 the rest of q is 0, so U ≥ q
		digit.QuoRem(num.Lsh(num, 64), den, num)
		if c := u.SetUint64(e.word()).Cmp(digit); c != 0 {
			return c < 0
		}
	}
	return false
}

func (e *exactDice) decay(p *ratio) bool { return decayByFlips(e, p) }

// decayByFlips is true with probability e^{−p} (Canonne, Kamath & Steinke 2020, Algorithm 1). For γ
// ≤ 1 let K be the first k whose flip of probability γ/k fails. P[K > k] = γᵏ/k!, so P[K odd] = Σ
// (−γ)ᵏ/k! = e^{−γ}. A larger p takes one trial with γ = 1 for each whole unit and one for the
// rest.
func decayByFlips(d dice, p *ratio) bool {
	for range p.whole {
		// For γ = 1 the flip for k = 1 always succeeds; each later flip, of probability 1/k, is
		// below(k) = 0.
		k := uint64(2)
		for d.below(k) == 0 {
			k++
		}
		if k%2 == 0 {
			return false
		}
	}
	if p.head == 0 && p.rest.Sign() == 0 {
		return true
	}
	k := uint64(1)
	for d.flip(p, k) {
		k++
	}
	return k%2 == 1
}
