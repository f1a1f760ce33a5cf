package privacy

import "fmt"

// Mechanism adds noise to a Sensitive. The set is closed: each has its proof
// note at its type, and nothing outside this room can add one.
type Mechanism interface {
	// Name identifies the mechanism in a Published.
	Name() string

	// parameters are exact and public: with the name, all there is to it.
	parameters() map[string]string
	// cost is what the proof gives under b, or ErrUnproven.
	cost(b Bound) (Cost, error)
	// simulationOnly marks samplers without a proof on floating point.
	simulationOnly() bool
	// draw returns the noisy vector, integers or reals.
	draw(s *secret, d dice) ([]int64, []float64)
	// variance of the noise on coordinate j of n, for post-processing.
	variance(b Bound, j, n int) float64
}

// sized is a mechanism that draws only vectors of some lengths, which are
// public: others would take too long.
type sized interface{ fits(n int) error }

// fits refuses a length that m does not draw.
func fits(m Mechanism, n int) error {
	if m, ok := m.(sized); ok {
		return m.fits(n)
	}
	return nil
}

// ParametersOf returns a mechanism's exact public parameters: with its name,
// all there is to it.
func ParametersOf(m Mechanism) map[string]string { return m.parameters() }

// VarianceOf is the variance of the noise m adds to coordinate j of n under a
// bound, from public inputs alone; post-processing needs it.
func VarianceOf(m Mechanism, b Bound, j, n int) float64 { return m.variance(b, j, n) }

// CostOf returns what m costs under the bound b, from public inputs alone; for
// a party that is charged for noise another adds. Mechanisms that prove
// nothing give ErrSimulationOnly.
func CostOf(m Mechanism, b Bound) (Cost, error) {
	if m.simulationOnly() {
		return Cost{}, fmt.Errorf("cost of %s: %w", m.Name(), ErrSimulationOnly)
	}
	return m.cost(b)
}

func mechanismOr[M Mechanism](m M, err error) (Mechanism, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}
