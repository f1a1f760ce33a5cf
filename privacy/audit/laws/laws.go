package laws

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"

	"caucus/privacy/audit"
)

// KnownRelease is a release about a vector, with the vector.
type KnownRelease struct {
	Mechanism  string
	Parameters map[string]string
	Weight     []int64 // the bound's weights; nil if all are 1
	Block      int     // length of the blocks with a public sum; 0 if the vector is one block
	Values     []int64
	Of         []int64 // the vector without noise
}

// Noise recovers an answer's noise. From a block it takes the first count alone, because its counts
// depend on each other. It fails if lengths differ, or if the noise has no exact law.
func (kr KnownRelease) Noise() (audit.Noise, error) {
	if len(kr.Values) != len(kr.Of) {
		return audit.Noise{}, fmt.Errorf("read noise: the answer has %d numbers, its vector %d", len(kr.Values), len(kr.Of))
	}
	if kr.Block == 0 {
		kr.Block = len(kr.Of)
	}
	r := reader{given: kr.Parameters}
	n, known := kr.read(&r)
	switch {
	case !known:
		return audit.Noise{}, fmt.Errorf("read noise: no exact law of %q is known", kr.Mechanism)
	case r.err != nil:
		return audit.Noise{}, fmt.Errorf("read noise of %s: %w", kr.Mechanism, r.err)
	}
	n.Law = fmt.Sprint(kr.Mechanism, kr.Parameters) // fmt sorts the keys of maps
	return n, nil
}

func (kr KnownRelease) read(r *reader) (audit.Noise, bool) {
	step := 1
	switch kr.Mechanism {
	case "laplace-prior":
		return kr.urn(1, r.integer("prior"), r.integer("draws")), true
	case "dirichlet":
		return kr.urn(r.number("sigma"), r.integer("prior"), r.integer("draws")), true
	case "randomised-response":
		return kr.responses(r.integer("classes"), r.number("keep")), true
	case "zero-sum-laplace":
		step = kr.Block
	}
	n := audit.Noise{RunLength: 1}
	for j := 0; j < len(kr.Of); j += step {
		y := kr.Values[j] - kr.Of[j]
		n.Numbers, n.Score = append(n.Numbers, y), append(n.Score, float64(cmp.Compare(y, 0)))
	}
	switch kr.Mechanism {
	case "discrete-laplace":
		n.MaxProbability = math.Tanh(1 / (2 * r.number("scale")))
	case "zero-sum-laplace": // given all others in the block but the last, P ∝ e^{−(|y|+|s−y|)/t}
		n.MaxProbability = math.Tanh(1 / r.number("scale"))
	case "k-norm": // given the others, the norm grows by at most |y|, and its rounding by 1
		s, blocks := r.number("scale"), max(1, int(r.integer("blocks")))
		n.MaxProbability = math.Tanh(1/(2*s)) * math.Exp(0x1p-16/s)
		if n.RunLength = len(kr.Of) / blocks; len(kr.Of)%blocks != 0 {
			n.RunLength = 0 // runs of two lengths have two laws
		}
	case "discrete-gaussian":
		v := r.number("variance")
		if w := kr.Weight; w != nil {
			v /= float64(slices.Max(w))
			if slices.Max(w) != slices.Min(w) {
				n.RunLength = 0
			}
		}
		// the normaliser Σ e^{−y²/2v} exceeds both
		n.MaxProbability = 1 / max(math.Sqrt(2*math.Pi*v), 1+2*math.Exp(-1/(2*v)))
	case "rounded-gaussian":
		n.MaxProbability = math.Erf(1 / (math.Sqrt(8) * r.number("deviation")))
	default:
		return n, false
	}
	return n, true
}

// responses returns the noise of randomised response, which keeps one of k classes with probability
// p. A number that is no class becomes a uniform class; its noise is counted from class 0.
func (kr KnownRelease) responses(k int64, p float64) audit.Noise {
	n := audit.Noise{MaxProbability: p}
	if k < 1 {
		return n
	}
	for j, v := range kr.Of {
		q := p
		if v < 0 || v >= k {
			v, q = 0, 1/float64(k)
		}
		y := ((kr.Values[j]-v)%k + k) % k
		n.Numbers, n.Score = append(n.Numbers, y), append(n.Score, centred(y == 0, q))
	}
	return n
}

// urn returns the draws of each block's first class, which are beta-binomial. A score says whether
// they exceed a value, chosen to be exceeded about half of the time.
func (kr KnownRelease) urn(sigma float64, prior, draws int64) audit.Noise {
	n := audit.Noise{}
	type law struct {
		middle int64
		above  float64
	}
	laws := map[[2]int64]law{}
	for at := 0; at < len(kr.Of); at += kr.Block {
		own, all := kr.Of[at]+prior, int64(kr.Block)*prior
		for _, v := range kr.Of[at : at+kr.Block] {
			all += v
		}
		l, known := laws[[2]int64{own, all}]
		if !known {
			below := 0.
			for k := int64(0); k <= draws; k++ {
				p := betaBinomial(k, draws, sigma*float64(own), sigma*float64(all-own))
				n.MaxProbability = max(n.MaxProbability, p)
				if below < 0.5 {
					below += p
					l = law{k, 1 - below}
				}
			}
			laws[[2]int64{own, all}] = l
		}
		z := kr.Values[at]
		n.Numbers, n.Score = append(n.Numbers, z), append(n.Score, centred(z > l.middle, l.above))
	}
	return n
}

// betaBinomial returns P[k of n], each success with the same probability, drawn from Beta(a,b).
func betaBinomial(k, n int64, a, b float64) float64 {
	g := func(x float64) float64 { l, _ := math.Lgamma(x); return l }
	x, m := float64(k), float64(n)
	return math.Exp(g(m+1) - g(x+1) - g(m-x+1) + g(a+x) + g(b+m-x) - g(a+b+m) - g(a) - g(b) +
		g(a+b))
}

// centred turns an event of probability p into a number of mean 0, as large as fits into [−1,1].
func centred(event bool, p float64) float64 {
	if event {
		return (1 - p) / max(p, 1-p)
	}
	return -p / max(p, 1-p)
}

// reader reads a release's exact parameters and keeps the first error.
type reader struct {
	given map[string]string
	err   error
}

func (r *reader) rational(key string) *big.Rat {
	x, ok := new(big.Rat).SetString(r.given[key])
	if !ok || x.Sign() < 0 {
		if r.err == nil {
			r.err = fmt.Errorf("%s is %q, no number from 0 up", key, r.given[key])
		}
		return new(big.Rat)
	}
	return x
}

func (r *reader) number(key string) float64 {
	v, _ := r.rational(key).Float64()
	return v
}

func (r *reader) integer(key string) int64 {
	x := r.rational(key)
	if !x.IsInt() || !x.Num().IsInt64() {
		if r.err == nil {
			r.err = fmt.Errorf("%s is %s, no integer", key, x.RatString())
		}
		return 0
	}
	return x.Num().Int64()
}
