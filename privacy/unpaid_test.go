package privacy

import (
	"context"
	"encoding/json"
	"math/big"
	"testing"
)

// TestUnpaid: a reconciliation that jumps over an entry without paying for it is found.
func TestUnpaid(t *testing.T) {
	ctx, one := context.Background(), PureCost(Record, 0, big.NewRat(1, 1))
	j := NewMemoryJournal()
	l, err := Open(j, Config{})
	if err != nil {
		t.Fatal(err)
	}
	var known []Line
	for _, id := range []string{"a", "b"} {
		if err := l.Spend(ctx, id, one); err != nil {
			t.Fatal(err)
		}
		line, _, err := l.FindLine(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, line)
	}
	for paid, want := range map[int]int{0: 2, 1: 1, 2: 0} {
		k := NewMemoryJournal() // rolled back to before both
		behind, err := Open(k, Config{LastSequence: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := behind.Reconcile(ctx, []Cost{one, one}[:paid], nil); err != nil {
			t.Fatal(err)
		}
		chain, err := VerifyEach(ctx, k, func(Line) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if got := chain.UnpaidLines(append(known, known...)); len(got) != want {
			t.Errorf("%d of 2 charged again: %d unpaid", paid, len(got))
		}
	}
}

// TestReconciliationNames: a ledger was rolled back and went on, so a lost entry's number has
// another entry now. A reconciliation that names the lost entry pays for it. Nobody can change or
// remove the name unseen.
func TestReconciliationNames(t *testing.T) {
	ctx, one := context.Background(), PureCost(Record, 0, big.NewRat(1, 1))
	journalOf := func(ids ...string) Journal {
		j := NewMemoryJournal()
		l := must(Open(j, Config{}))
		for _, id := range ids {
			must(0, l.Spend(ctx, id, one))
		}
		return j
	}
	lost, _, err := FindLine(ctx, journalOf("a", "b"), "b")
	if err != nil {
		t.Fatal(err)
	}
	j := journalOf("a", "c")
	walk := func() (*LedgerChain, Line) {
		var last Line
		return must(VerifyEach(ctx, j, func(l Line) error { last = l; return nil })), last
	}
	chain, _ := walk()
	if known, err := chain.CheckHead(lost.Head()); err == nil || known {
		t.Errorf("before: the lost entry is recalled: %t, %v", known, err)
	}
	l := must(Open(j, Config{LastSequence: 3}))
	must(0, l.Reconcile(ctx, []Cost{one}, []Line{lost}))
	chain, last := walk()
	for _, alone := range [][]Cost{nil, {}} { // no other cost, or an empty list
		for _, lines := range [][]Line{nil, {lost}} {
			k := journalOf("a")
			must(0, must(Open(k, Config{LastSequence: 2})).Reconcile(ctx, alone, lines))
			must(Verify(ctx, k))
		}
	}
	if known, err := chain.CheckHead(lost.Head()); err != nil || !known {
		t.Errorf("after: the lost entry is recalled: %t, %v", known, err)
	}
	if n := chain.Totals()[Record].Charges; n != 4 {
		t.Errorf("%d charges, want 4", n)
	}
	if unpaid := chain.UnpaidLines([]Line{lost}); len(unpaid) != 0 {
		t.Errorf("unpaid: %v", unpaid)
	}
	exported := must(json.Marshal(last))
	var read Line
	must(0, json.Unmarshal(exported, &read))
	if err := read.Check(); err != nil {
		t.Errorf("an exported line: %v", err)
	}
	for name, change := range map[string]func(l *Line){
		"another entry": func(l *Line) { l.Recharges = []Recharge{{Digest{1}, l.Recharges[0].Costs}} },
		"no entry":      func(l *Line) { l.Recharges = nil },
		"more entries":  func(l *Line) { l.Recharges = append(l.Recharges, Recharge{Digest{1}, []Cost{one}}) },
		"more costs":    func(l *Line) { l.Recharges = []Recharge{{lost.Hash, []Cost{one, one, one}}} },
		"no hash":       func(l *Line) { l.Recharges = []Recharge{{Digest{}, []Cost{one}}} },
		"a lower charge": func(l *Line) {
			l.Costs = []Cost{l.Costs[0], PureCost(Record, 0, big.NewRat(1, 1000))}
		},
	} {
		changed := last
		change(&changed)
		if changed.Check() == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
	// Naming an entry is not paying for it: a charge below the entry's cost is found, with or
	// without a jump.
	for _, ids := range [][]string{{"a"}, {"a", "c"}} {
		k, little := journalOf(ids...), lost
		little.Costs = []Cost{PureCost(Record, 0, big.NewRat(1, 1000))}
		must(0, must(Open(k, Config{LastSequence: 3})).Reconcile(ctx, nil, []Line{little}))
		short := must(VerifyEach(ctx, k, func(Line) error { return nil }))
		if unpaid := short.UnpaidLines([]Line{lost, lost}); len(unpaid) != 1 {
			t.Errorf("after %v: %d entries unpaid, want 1", ids, len(unpaid))
		}
	}
	charge := lost
	charge.Recharges = []Recharge{{Digest{1}, nil}}
	if charge.Check() == nil {
		t.Error("a charge that pays for lost entries: not noticed")
	}
}
