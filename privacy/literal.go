package privacy

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// SphereLaplace is the noise of Hamm, Cao & Belkin 2016 (Algorithm 2) and Ji & Elkan 2013 as
// published: one real vector with density ∝ exp(−Rate·‖η‖₂).
//
// Proof note: no proof covers a computer. In exact real arithmetic a vector with L2 sensitivity Δ
// gets pure ε = Rate·Δ; in floating point the output's last bits tell inputs apart. Simulation
// only; totals never include its cost.
type SphereLaplace struct{ Rate float64 }

// Name stands in a simulated Published beside "rate", a float in its shortest exact decimal form.
func (sl SphereLaplace) Name() string { return "sphere-laplace" }

func (sl SphereLaplace) parameters() map[string]string {
	return map[string]string{"rate": strconv.FormatFloat(sl.Rate, 'g', -1, 64)}
}

func (sl SphereLaplace) cost(b Bound) (Cost, error) {
	if !(sl.Rate > 0) || math.IsInf(sl.Rate, 1) {
		return Cost{}, errors.New("check sphere Laplace: the rate must be positive and finite")
	}
	return unproven(b.Unit)
}

func (sl SphereLaplace) simulationOnly() bool { return true }

// draw multiplies a Gamma(n, 1/Rate) radius by a uniform direction.
func (sl SphereLaplace) draw(s *secret, d dice) ([]int64, []float64) {
	v := s.real()
	if len(v) == 0 {
		return nil, v
	}
	rng := rand.New(diceSource{d})
	direction, norm := make([]float64, len(v)), 0.
	for j := range direction {
		direction[j] = rng.NormFloat64()
		norm = math.Hypot(norm, direction[j])
	}
	radius := gamma(float64(len(v)), rng) / sl.Rate
	for j := range v {
		v[j] += radius * direction[j] / norm
	}
	return nil, v
}

// variance is E‖η‖²/n = (n+1)/Rate².
func (sl SphereLaplace) variance(_ Bound, _, n int) float64 {
	return float64(n+1) / (sl.Rate * sl.Rate)
}

// Unperturbed adds no noise: "none" in comparisons. Simulation only.
type Unperturbed struct{}

// Name stands in a simulated Published without parameters.
func (Unperturbed) Name() string { return "unperturbed" }

func (Unperturbed) parameters() map[string]string { return nil }

func (Unperturbed) cost(b Bound) (Cost, error) { return unproven(b.Unit) }

func (Unperturbed) simulationOnly() bool { return true }

func (Unperturbed) draw(s *secret, _ dice) ([]int64, []float64) {
	if s.reals != nil {
		return nil, append([]float64{}, s.reals...)
	}
	return append([]int64{}, s.values...), nil
}

func (Unperturbed) variance(Bound, int, int) float64 { return 0 }

func unproven(u Unit) (Cost, error) {
	if !u.Valid() {
		return Cost{}, fmt.Errorf("check simulated release: unit is %v, use label, record, patient or party", u)
	}
	return Cost{Unit: u}, nil
}

func (s *secret) real() []float64 {
	v := append([]float64{}, s.reals...)
	for _, x := range s.values {
		v = append(v, float64(x))
	}
	return v
}

type diceSource struct{ d dice }

func (d diceSource) Uint64() uint64 { return d.d.below(1<<32)<<32 | d.d.below(1<<32) }

// gamma draws Gamma(shape, 1) for shape ≥ 1 (Marsaglia & Tsang 2000).
func gamma(shape float64, rng *rand.Rand) float64 {
	d := shape - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if u := 1 - rng.Float64(); math.Log(u) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
