package privacy

import (
	"context"
	"errors"
	"math/big"
	"testing"
)

// TestPeriodLost: a charge lost from a backup that does not know the new period still counts to
// that period after reconciliation.
func TestPeriodLost(t *testing.T) {
	ctx, one := context.Background(), PureCost(Record, 0, big.NewRat(1, 1))
	limits := Config{PeriodLimits: map[Unit]Budget{Record: {Epsilon: 1}}}
	for _, reopen := range []bool{false, true} {
		// The backup is from New Year's Eve. Entries 3 and 4 came later.
		j := NewMemoryJournal()
		l, err := Open(j, limits)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.BeginPeriod(ctx, "2025"); err != nil {
			t.Fatal(err)
		}
		if err := l.Spend(ctx, "a", PureCost(Record, 0, big.NewRat(1, 2))); err != nil {
			t.Fatal(err)
		}
		behind := limits
		behind.LastSequence = 4
		if l, err = Open(j, behind); err != nil {
			t.Fatal(err)
		}
		if err := l.Reconcile(ctx, []Cost{one}, nil); err != nil {
			t.Fatal(err)
		}
		if reopen {
			if l, err = Open(j, limits); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.BeginPeriod(ctx, "2026"); err != nil {
			t.Fatal(err)
		}
		if err := l.Spend(ctx, "c", one); !errors.Is(err, ErrBudget) {
			t.Errorf("2026 spent 2 of 1: %v", err)
		}
		if _, err := l.BeginPeriod(ctx, "2027"); err != nil {
			t.Fatal(err)
		}
		if err := l.Spend(ctx, "d", one); err != nil {
			t.Errorf("2027: %v", err)
		}
	}
}
