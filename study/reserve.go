package study

import (
	"context"
	"fmt"

	"caucus/privacy"
)

// Reservation is a release that a party will make, on terms that are known before the party reads a
// record.
type Reservation struct {
	Output string
	Terms  privacy.Terms
}

// Reserve charges a party's ledger once for a plan, before the party reads records. It charges the
// party's own releases (reserved), which Settle makes later, or else the servers' releases
// (charges).
func Reserve(ctx context.Context, l *privacy.Ledger, plan Hash, reserved []Reservation,
	charges []Charge) error {
	if len(reserved) == 0 {
		return ChargeAll(ctx, l, plan, charges)
	}
	for _, r := range reserved {
		if err := l.Reserve(ctx, ReleaseID(plan, r.Output), r.Terms); err != nil {
			return fmt.Errorf("charge %s of study %s: %w", r.Output, plan, err)
		}
	}
	return nil
}

// Reserve makes the one reservation for a vector of this length. With no matrix the source is zero.
func (r ReleaseTerms) Reserve(length int) []Reservation {
	return []Reservation{{r.Output,
		privacy.Terms{Mechanism: r.Mechanism, Bound: r.Bound, Length: length,
			SourceDigest: r.MatrixDigest}}}
}
