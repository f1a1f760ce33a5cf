package privacy

import "fmt"

// Mechanism adds noise to a Sensitive. Only this package can define one, each with its proof note.
type Mechanism interface {
	// Name identifies the mechanism in a Published.
	Name() string

	// parameters are exact and public. With the name they determine the mechanism.
	parameters() map[string]string
	// cost returns the cost that the proof gives under b, or ErrUnproven.
	cost(b Bound) (Cost, error)
	// simulationOnly marks samplers that have no proof in floating point.
	simulationOnly() bool
	// draw returns the noisy vector, either integers or reals.
	draw(s *secret, d dice) ([]int64, []float64)
	// variance returns the variance of the noise on coordinate j of n, for post-processing.
	variance(b Bound, j, n int) float64
}

// sized is a mechanism that refuses some (public) lengths, because they would take too long to
// draw.
type sized interface{ fits(n int) error }

func fits(m Mechanism, n int) error {
	if m, ok := m.(sized); ok {
		return m.fits(n)
	}
	return nil
}

// ParametersOf returns the exact public parameters, rationals as "n/d". With m.Name() they make the
// same mechanism again in MechanismOf.
func ParametersOf(m Mechanism) map[string]string { return m.parameters() }

// VarianceOf returns the variance of the noise that m adds to coordinate j of n under b, in squared
// units of the vector; for urns an upper bound. It does not check that m's proof covers b.
func VarianceOf(m Mechanism, b Bound, j, n int) float64 { return m.variance(b, j, n) }

// CostOf returns the cost of m under b, from public inputs alone. Ledger.Spend charges this cost if
// another server adds the noise. Simulated mechanisms give ErrSimulationOnly.
func CostOf(m Mechanism, b Bound) (Cost, error) {
	if m.simulationOnly() {
		return Cost{}, fmt.Errorf("cost of %s: %w", m.Name(), ErrSimulationOnly)
	}
	return costUnder(m, b)
}

// costUnder is the cost of m under b, with the bound's public numbers of units.
func costUnder(m Mechanism, b Bound) (Cost, error) {
	c, err := m.cost(b)
	c.PerPatient = b.PerPatient
	return c, err
}

func mechanismOr[M Mechanism](m M, err error) (Mechanism, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}
