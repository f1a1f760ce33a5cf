package privacy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// NoiseScores is what an audit of dependence reads from an answer about a vector that it knows: the
// fields of audit.Noise. Only the first count of a block is read; sizes in a run of K-norm noise
// depend on each other.
type NoiseScores struct {
	Law     string
	Numbers []int64
	Score   []float64
	Chance  float64
	Run     int
}

// ScoresOf reads the noise of an answer about the vector of. It fails if their lengths differ, or
// if the mechanism may not be released.
func ScoresOf(p Published, of []int64) (NoiseScores, error) {
	n, err := scoresOf(p, of)
	if err != nil {
		return NoiseScores{}, fmt.Errorf("read noise of %s: %w", p.ID, err)
	}
	n.Law = fmt.Sprint(p.Mechanism, p.Parameters) // fmt sorts the keys of maps
	return n, nil
}

func scoresOf(p Published, of []int64) (NoiseScores, error) {
	if len(p.Values) != len(of) {
		return NoiseScores{}, fmt.Errorf("it has %d numbers, its vector %d", len(p.Values), len(of))
	}
	m, err := mechanismOf(p.Mechanism, p.Parameters)
	if err != nil {
		return NoiseScores{}, err
	}
	switch m := m.(type) {
	case LaplacePrior:
		return urnScores(m.urn(), p, of), nil
	case Dirichlet:
		return urnScores(m.urn(), p, of), nil
	case RandomisedResponse:
		return responseScores(m, p, of), nil
	}
	step := 1
	if m.Name() == (ZeroSumLaplace{}).Name() {
		step = p.Bound.block(len(of))
	}
	n := NoiseScores{Run: 1}
	for j := 0; j < len(of); j += step {
		y := p.Values[j] - of[j]
		n.Numbers, n.Score = append(n.Numbers, y), append(n.Score, float64(cmp.Compare(y, 0)))
	}
	switch m := m.(type) {
	case DiscreteLaplace:
		t, _ := m.Scale.Float64()
		n.Chance = math.Tanh(1 / (2 * t))
	case ZeroSumLaplace: // given all others in the block but the last, P ∝ e^{−(|y|+|s−y|)/t}
		t, _ := m.Scale.Float64()
		n.Chance = math.Tanh(1 / t)
	case KNorm: // given the others, the norm grows by at most |y|, and its rounding by 1
		s, _ := m.Scale.Float64()
		n.Chance = math.Tanh(1/(2*s)) * math.Exp(0x1p-16/s)
		if n.Run = m.width(0, len(of)); int64(len(of))%m.Blocks != 0 {
			n.Run = 0 // runs of two lengths have two laws
		}
	case DiscreteGaussian:
		v, _ := m.Variance.Float64()
		if w := p.Bound.Weight; w != nil {
			v /= float64(slices.Max(w))
			if slices.Max(w) != slices.Min(w) {
				n.Run = 0
			}
		}
		n.Chance = 1 / max(math.Sqrt(2*math.Pi*v), 1+2*math.Exp(-1/(2*v))) // Σ e^{−y²/2v} is above both
	case RoundedGaussian:
		s, _ := m.Deviation.Float64()
		n.Chance = math.Erf(1 / (math.Sqrt(8) * s))
	default:
		return n, fmt.Errorf("%s is for simulation only: its noise has no exact law to hold it to", m.Name())
	}
	return n, nil
}

// responseScores: a class is kept with probability p, an unknown one answered 0 with probability
// 1/K.
func responseScores(m RandomisedResponse, a Published, of []int64) NoiseScores {
	k, p := int64(m.Classes), m.KeepProbability()
	n := NoiseScores{Chance: p}
	for j, v := range of {
		q := p
		if v < 0 || v >= k {
			v, q = 0, 1/float64(k)
		}
		y := ((a.Values[j]-v)%k + k) % k
		n.Numbers, n.Score = append(n.Numbers, y), append(n.Score, centred(y == 0, q))
	}
	return n
}

// urnScores: the draws of a block's first class are beta-binomial. They score by exceeding a value
// that they exceed about half of the time.
func urnScores(u urn, a Published, of []int64) NoiseScores {
	c := a.Bound.block(len(of))
	sigma, _ := u.sigma.Float64()
	n := NoiseScores{}
	type law struct {
		middle int64
		above  float64
	}
	laws := map[[2]int64]law{}
	for at := 0; at < len(of); at += c {
		own, all := of[at]+u.prior, int64(c)*u.prior
		for _, v := range of[at : at+c] {
			all += v
		}
		l, known := laws[[2]int64{own, all}]
		if !known {
			below := 0.
			for k := int64(0); k <= u.draws; k++ {
				p := betaBinomial(k, u.draws, sigma*float64(own), sigma*float64(all-own))
				n.Chance = max(n.Chance, p)
				if below < 0.5 {
					below += p
					l = law{k, 1 - below}
				}
			}
			laws[[2]int64{own, all}] = l
		}
		z := a.Values[at]
		n.Numbers, n.Score = append(n.Numbers, z), append(n.Score, centred(z > l.middle, l.above))
	}
	return n
}

// betaBinomial is P[k of n] if each has the same probability, drawn from Beta(a,b).
func betaBinomial(k, n int64, a, b float64) float64 {
	g := func(x float64) float64 { l, _ := math.Lgamma(x); return l }
	x, m := float64(k), float64(n)
	return math.Exp(g(m+1) - g(x+1) - g(m-x+1) + g(a+x) + g(b+m-x) - g(a+b+m) - g(a) - g(b) + g(a+b))
}

// centred turns an event of probability p into a number of mean 0, as large as fits into [−1,1].
func centred(event bool, p float64) float64 {
	if event {
		return (1 - p) / max(p, 1-p)
	}
	return -p / max(p, 1-p)
}

// Scores returns the scores of n answers about a trial's first vector, drawn through a ledger.
func (t Trial) Scores(ctx context.Context, n int) ([]NoiseScores, error) {
	ledger, err := Open(NewMemory(), Config{})
	if err != nil {
		return nil, err
	}
	s, err := NewSensitive(t.Data[0], t.Bound)
	if err != nil {
		return nil, err
	}
	var all []NoiseScores
	for k := range n {
		p, err := ledger.Release(ctx, fmt.Sprintf("answer %d", k), s, t.Mechanism)
		if err != nil {
			return nil, err
		}
		scores, err := ScoresOf(p, t.Data[0])
		if err != nil {
			return nil, err
		}
		all = append(all, scores)
	}
	return all, nil
}
