package privacy

import "errors"

// Sentinels for callers that must branch.
var (
	// ErrBudget: the release would pass a limit of this ledger.
	ErrBudget = errors.New("privacy budget exhausted")
	// ErrConflict: the id was used before, on other terms.
	ErrConflict = errors.New("this id was released before on other terms")
	// ErrSimulationOnly: the mechanism or vector has no proof on a computer's
	// arithmetic; only a ledger made by Simulation accepts it.
	ErrSimulationOnly = errors.New("only a simulation ledger may release this")
	// ErrUnproven: the bound lacks what the mechanism's proof needs, or proves
	// nothing at a unit that this ledger limits.
	ErrUnproven = errors.New("no proof covers this")
	// ErrBehind: the ledger has lost releases that are known to have been
	// published; Reconcile it first.
	ErrBehind = errors.New("the ledger is behind what was published")
)

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
