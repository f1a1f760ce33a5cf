package privacy

import "errors"

var (
	// ErrBudget: the release would exceed a limit of this ledger.
	ErrBudget = errors.New("privacy budget exhausted")
	// ErrConflict: the id was used before, on other terms.
	ErrConflict = errors.New("this id was released before on other terms")
	// ErrSimulationOnly: no proof covers the mechanism or vector in floating point.
	ErrSimulationOnly = errors.New("only a simulation ledger may release this")
	// ErrUnproven: the bound lacks what the mechanism's proof needs, or the release proves
	// nothing at a unit that this ledger limits.
	ErrUnproven = errors.New("no proof covers this")
	// ErrBehind: the ledger has lost releases that are known to be published. Reconcile it first.
	ErrBehind = errors.New("the ledger is behind what was published")
)
