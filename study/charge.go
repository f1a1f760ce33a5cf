package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// contributionForm counts the ways in which contributions are written. A party refuses a plan
// of another one before it is charged: its terms are others.
const contributionForm = 2

// TermsDigest digests what a task's releases are made under: outputs, bounds,
// mechanisms, their parameters and matrices, as this machine computes them from
// plan and pool, and how contributions are written. Some follow from floating-point sums over the pool, which two kinds of
// processor may round differently.
func TermsDigest(t Task) (string, error) {
	charges, err := t.Charges(0)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "contributions of form %d\n", contributionForm)
	for _, c := range charges {
		b, err := json.Marshal([]any{c.Output, c.Mechanism, c.Parameters, c.Bound, c.Matrix})
		if err != nil {
			return "", fmt.Errorf("digest terms: %w", err)
		}
		h.Write(append(b, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// CheckTerms refuses a plan that was made under other terms than this machine
// computes: what is released here would not be accepted there. Call it before
// anything is charged.
func CheckTerms(t Task) error {
	terms, err := TermsDigest(t)
	if err != nil {
		return err
	}
	if terms != t.Plan().TermsDigest {
		return PlanError("terms", "this machine computes another bound or noise from plan and pool than the plan was made with: another version, or a processor that rounds differently; run the same version on the same kind of processor")
	}
	return nil
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
