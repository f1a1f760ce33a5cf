package privacy

import (
	"context"
	"math/big"
	"testing"
)

// TestUnpaid: a reconciliation that passes over an entry pays for it, or is found.
func TestUnpaid(t *testing.T) {
	ctx, one := context.Background(), PureCost(Record, 0, big.NewRat(1, 1))
	j := NewMemory()
	l, err := Open(j, Config{})
	if err != nil {
		t.Fatal(err)
	}
	var known []Line
	for _, id := range []string{"a", "b"} {
		if err := l.Spend(ctx, id, one); err != nil {
			t.Fatal(err)
		}
		line, _, err := l.Line(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, line)
	}
	for paid, want := range map[int]int{0: 2, 1: 1, 2: 0} {
		k := NewMemory() // put back to before both
		behind, err := Open(k, Config{LastSequence: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := behind.Reconcile(ctx, []Cost{one, one}[:paid]); err != nil {
			t.Fatal(err)
		}
		chain, err := Walk(ctx, k, func(Line) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if got := chain.Unpaid(append(known, known...)); len(got) != want {
			t.Errorf("%d of 2 charged again: %d unpaid", paid, len(got))
		}
	}
}
