package privacy

import (
	"bytes"
	"context"
	"math/big"
	"testing"
)

// FuzzEntry: any stored entry is either read or reported as damaged. An entry that verifies is
// the same when it is written again.
func FuzzEntry(f *testing.F) {
	l, j := must(Open(NewMemoryJournal(), Config{})), NewMemoryJournal()
	l.journal = j
	s := must(NewSensitive([]int64{1, 2}, Bound{Unit: Record, L1: 2, L2sq: 2}))
	for id, m := range map[string]Mechanism{"a": DiscreteLaplace{Scale: big.NewRat(1, 1)},
		"b": DiscreteGaussian{big.NewRat(3, 1)}} {
		if _, err := l.Release(context.Background(), id, s, m); err != nil {
			f.Fatal(err)
		}
	}
	if err := l.Spend(context.Background(), "c", PureCost(Party, 0, big.NewRat(1, 2))); err != nil {
		f.Fatal(err)
	}
	for _, e := range j.(*memory).entries {
		f.Add(e.Kind, e.Body, e.Totals)
	}
	f.Fuzz(func(t *testing.T, kind string, body, totals []byte) {
		e := Entry{Sequence: 1, ID: "a", Kind: kind, Body: body, Totals: totals}
		if costs, _, err := e.costs(); err == nil {
			for _, c := range costs {
				if kind != KindRelease && c.Validate() != nil {
					t.Fatalf("an invalid cost is read: %v", c)
				}
			}
		}
		if sums, err := decodeTotals(totals); err == nil {
			once := must(encodeTotals(sums))
			if twice := must(encodeTotals(must(decodeTotals(once)))); !bytes.Equal(once, twice) {
				t.Fatal("totals change on their way through bytes")
			}
		}
		e.Hash = e.seal()
		if l, err := e.Line(); err == nil {
			_ = NewLedgerChain().AddLine(l)
		}
	})
}
