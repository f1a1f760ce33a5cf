package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"

	"caucus/privacy"
)

// Charge declares the cost of one release of a plan. It follows from public inputs alone.
type Charge struct {
	Output     string
	Mechanism  string
	Parameters map[string]string
	// Bound is the bound that the noise was calibrated to. CalibratedCost is the cost that the
	// proof gives.
	Bound          privacy.Bound
	CalibratedCost privacy.Cost
	// digest of the public integers that multiply contributions; zero if there are none
	MatrixDigest privacy.Digest
	Cost         privacy.Cost // what the ledger is charged, never below CalibratedCost
}

// ChargeAll charges a party's ledger once for all releases that servers make of its contribution to
// a plan.
func ChargeAll(ctx context.Context, l *privacy.Ledger, plan Hash, charges []Charge) error {
	for _, c := range charges {
		if err := l.Spend(ctx, ReleaseID(plan, c.Output), c.Cost); err != nil {
			return fmt.Errorf("charge %s of study %s: %w", c.Output, plan, err)
		}
	}
	return nil
}

// Charge declares the cost of this release: exact as the proof gives it, charged as the ledger
// counts it. charged must not be below exact.
func (r ReleaseTerms) Charge(exact, charged privacy.Cost) Charge {
	return Charge{
		Output: r.Output, Mechanism: r.Mechanism.Name(), Parameters: privacy.ParametersOf(r.Mechanism), Bound: r.Bound,
		CalibratedCost: exact, MatrixDigest: r.MatrixDigest, Cost: charged,
	}
}

// CostAtEpsilon replaces the ε of a pure cost by the plan's ε, for which the noise was calibrated.
// It multiplies ρ by (plan's ε / cost's ε)².
func CostAtEpsilon(p Plan, c privacy.Cost) privacy.Cost {
	if c.Pure == nil || c.Pure.Sign() == 0 {
		return c
	}
	epsilon := new(big.Rat).SetFloat64(p.Epsilon)
	times := new(big.Rat).Quo(epsilon, c.Pure)
	c.Pure, c.Rho = epsilon, times.Mul(times, times).Mul(times, c.Rho)
	return c
}

// ReleaseTerms are everything about one release that is public before any record is read: output
// name, proven bound, and noise. Plan and pool imply them, so every party and server computes the
// same.
type ReleaseTerms struct {
	Output    string
	Bound     privacy.Bound
	Mechanism privacy.Mechanism
	// MatrixDigest is the digest of the public integers that multiply contributions before noise,
	// zero if there are none. It is not part of the release ID. So if another processor rounds to
	// other integers, the ledger reports a conflict and draws no second noise.
	MatrixDigest privacy.Digest
}

// SquareL2 returns the square of an L2 bound, or 0 (no bound) if int64 cannot hold the square.
// Bounds are integers, so that plans made on different processors agree.
func SquareL2(l2 int64) int64 {
	if l2 < 0 || l2 >= 1<<31 {
		return 0
	}
	return l2 * l2
}

// Laplace reports whether the noise is discrete Laplace. All other noise is close to normal.
func (r ReleaseTerms) Laplace() bool {
	_, ok := r.Mechanism.(privacy.DiscreteLaplace)
	return ok
}

// ReleaseID is the name of a plan's output in every ledger.
func ReleaseID(plan Hash, output string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s", plan, output)
	return hex.EncodeToString(h.Sum(nil))
}
