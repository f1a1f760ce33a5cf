package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"

	"caucus/privacy"
)

// Charge is what a plan declares that one of its releases costs a unit, from
// public inputs alone, and by which mechanism.
type Charge struct {
	Output     string
	Mechanism  string
	Parameters map[string]string
	// Bound is what the noise is proved under, Exact what it then costs.
	Bound privacy.Bound
	Exact privacy.Cost
	// Matrix is the digest of public integers that the contributions are
	// multiplied by, zero where there are none.
	Matrix privacy.Digest
	// Cost is what is charged: never below Exact.
	Cost privacy.Cost
}

// ChargeAll charges a party's ledger for releases that another makes of what
// the party is about to send. It is idempotent: the same plan is charged once.
func ChargeAll(ctx context.Context, l *privacy.Ledger, plan Hash, charges []Charge) error {
	for _, c := range charges {
		if err := l.Spend(ctx, ReleaseID(plan, c.Output), c.Cost); err != nil {
			return fmt.Errorf("charge %s of study %s: %w", c.Output, plan, err)
		}
	}
	return nil
}

// Charge is what a release under these terms costs exactly, and what is charged
// for it.
func (t ReleaseTerms) Charge(exact, charged privacy.Cost) Charge {
	return Charge{
		Output: t.Output, Mechanism: t.Mechanism.Name(), Parameters: privacy.ParametersOf(t.Mechanism), Bound: t.Bound,
		Exact: exact, Matrix: t.Matrix, Cost: charged,
	}
}

// AtEpsilon is a cost, for pure noise that of a plan's ε: it was calibrated to
// that, and rounded up.
func AtEpsilon(p Plan, c privacy.Cost) privacy.Cost {
	if c.Pure == nil {
		return c
	}
	return privacy.PureCost(c.Unit, c.PerParty, new(big.Rat).SetFloat64(p.Epsilon))
}

// ReleaseTerms are the public terms of a release.
type ReleaseTerms struct {
	Output    string
	Bound     privacy.Bound
	Mechanism privacy.Mechanism
	// Matrix is the digest of the public integers that contributions are
	// multiplied by before noise, zero where there are none. It is no part of the
	// output's name: made of floating-point numbers, it may come out otherwise on
	// another processor, and must then be a conflict and not a second draw.
	Matrix privacy.Digest
}

// Squared is the square of an L2 bound, or 0, which proves nothing, where int64
// cannot hold it. L2 is an integer here because the last digits of its square
// would differ between processors, and with them a plan's terms.
func Squared(l2 int64) int64 {
	if l2 < 0 || l2 >= 1<<31 {
		return 0
	}
	return l2 * l2
}

// Laplace says that the noise is discrete Laplace; all other is near to normal.
func (t ReleaseTerms) Laplace() bool {
	_, ok := t.Mechanism.(privacy.DiscreteLaplace)
	return ok
}

// ReleaseID is the id of an output of a plan in every ledger.
func ReleaseID(plan Hash, output string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s", plan, output)
	return hex.EncodeToString(h.Sum(nil))
}
