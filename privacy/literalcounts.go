package privacy

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// LaplacePaper adds independent real Laplace noise of the given scale to each count, as Iyer, Nath
// & Sarawagi 2016 publish label counts (they project afterwards).
//
// Proof note: no proof covers a computer. In exact real arithmetic it is pure ε = L1/Scale; in
// floating point the last bits tell inputs apart. Simulation only; a release can use
// ZeroSumLaplace.
type LaplacePaper struct{ Scale float64 }

// Name stands in a simulated Published beside "scale", a float in its shortest exact decimal form.
func (l LaplacePaper) Name() string { return "laplace-paper" }

func (l LaplacePaper) parameters() map[string]string {
	return map[string]string{"scale": strconv.FormatFloat(l.Scale, 'g', -1, 64)}
}

func (l LaplacePaper) cost(b Bound) (Cost, error) {
	if !(l.Scale > 0) || math.IsInf(l.Scale, 1) {
		return Cost{}, errors.New("check Laplace as published: the scale must be positive and finite")
	}
	return unproven(b.Unit)
}

func (l LaplacePaper) simulationOnly() bool { return true }

func (l LaplacePaper) draw(s *secret, d dice) ([]int64, []float64) {
	v, rng := s.real(), rand.New(diceSource{d})
	for j := range v {
		v[j] += l.Scale * (rng.ExpFloat64() - rng.ExpFloat64())
	}
	return nil, v
}

func (l LaplacePaper) variance(Bound, int, int) float64 { return 2 * l.Scale * l.Scale }

// DirichletPaper is the Dirichlet mechanism of Iyer, Nath & Sarawagi 2016 as published, for counts
// η: θ ~ Dirichlet(ση), with the largest σ at which max_{i≠j} P[θᵢ > Λᵢⱼ^{1/σ}·e^{ε/σ}·θⱼ] ≤ δ (Λ:
// see dirichletPaperTail). It answers θ times the block's sum.
//
// Proof note: there is none. σ, and whether one exists at all, depend on the private counts.
// Neighbours have different σ, and with (50,50,50,50,800) and ε = δ = .05 the true δ is above .06
// (TestDirichletPaperLeaks). Counts below 2, where Λ is infinite, are taken as 2. Simulation only.
type DirichletPaper struct{ Epsilon, Delta float64 }

// Name stands in a simulated Published beside "epsilon" and "delta", the budget that it claims and
// does not keep.
func (dp DirichletPaper) Name() string { return "dirichlet-paper" }

func (dp DirichletPaper) parameters() map[string]string {
	return map[string]string{
		"epsilon": strconv.FormatFloat(dp.Epsilon, 'g', -1, 64),
		"delta":   strconv.FormatFloat(dp.Delta, 'g', -1, 64),
	}
}

func (dp DirichletPaper) cost(b Bound) (Cost, error) {
	if err := Budget(dp).Validate(); err != nil || dp.Delta == 0 {
		return Cost{}, fmt.Errorf("check Dirichlet as published: epsilon %g and delta %g must be positive", dp.Epsilon, dp.Delta)
	}
	return unproven(b.Unit)
}

func (dp DirichletPaper) simulationOnly() bool { return true }

func (dp DirichletPaper) draw(s *secret, d dice) ([]int64, []float64) {
	v, rng := s.real(), rand.New(diceSource{d})
	c := max(1, s.bound.block(len(v)))
	for at := 0; at+c <= len(v); at += c {
		block, total, sum := v[at:at+c], 0., 0.
		sigma := dp.SigmaFor(block)
		for j, x := range block {
			total += x
			block[j] = logGamma(sigma*max(x, 2), rng)
		}
		most := slices.Max(block)
		for j := range block {
			block[j] = math.Exp(block[j] - most)
			sum += block[j]
		}
		for j := range block {
			block[j] *= total / sum
		}
	}
	return nil, v
}

// variance returns 0: the real variance depends on the counts.
func (dp DirichletPaper) variance(Bound, int, int) float64 { return 0 }

// SigmaFor returns the paper's σ for these counts: the largest above 10⁻⁶ that satisfies its
// condition, on a grid of steps of one part in 10⁴. If none does, it returns 10⁻⁶, which gives
// nearly one random class. The paper's mistake is that this σ depends on the counts.
func (dp DirichletPaper) SigmaFor(counts []float64) float64 {
	allowed := func(sigma float64) bool {
		for i := range counts {
			for j := range counts {
				if i != j && dirichletPaperTail(dp.Epsilon, sigma, max(counts[i], 2),
					max(counts[j], 2)) > dp.Delta {
					return false
				}
			}
		}
		return true
	}
	high := 0x1p10
	for low := high / 1.1; low > 1e-6; low /= 1.1 {
		if allowed(low) {
			for high/low > 1+1e-4 {
				if middle := math.Sqrt(low * high); allowed(middle) {
					low = middle
				} else {
					high = middle
				}
			}
			return low
		}
		high = low
	}
	return 1e-6
}

// dirichletPaperTail is P[θᵢ > κθⱼ] = 1 − I_{κ/(1+κ)}(σηᵢ, σηⱼ) for counts ηᵢ = i and ηⱼ = j, κ =
// (Λe^ε)^{1/σ}, Λ = Γ(σηᵢ)Γ(σηⱼ)/(Γ(σηᵢ−σ)Γ(σηⱼ+σ)).
func dirichletPaperTail(epsilon, sigma, i, j float64) float64 {
	gammas := func(x float64) float64 { g, _ := math.Lgamma(x); return g }
	log := gammas(sigma*i) + gammas(sigma*j) - gammas(sigma*(i-1)) - gammas(sigma*(j+1))
	return incompleteBeta(1/(1+math.Exp((log+epsilon)/sigma)), sigma*j, sigma*i)
}

// logGamma draws log Gamma(shape, 1), shape > 0: for small shapes Gamma itself would underflow to
// 0.
func logGamma(shape float64, rng *rand.Rand) float64 {
	if shape >= 1 {
		return math.Log(gamma(shape, rng))
	}
	return math.Log(gamma(shape+1, rng)) + math.Log(1-rng.Float64())/shape
}
