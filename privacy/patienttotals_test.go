package privacy

import (
	"bytes"
	"context"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestOlderTotals: totals written before there was unit patient read as a replay of all charges
// makes them, whatever the charges are.
func TestOlderTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		totals := NewTotals()
		for range rapid.IntRange(0, 6).Draw(t, "charges") {
			u := rapid.SampledFrom([]Unit{Label, Record, Party}).Draw(t, "unit")
			k := rapid.Int64Range(0, 3).Draw(t, "k")
			x := big.NewRat(rapid.Int64Range(1, 9).Draw(t, "n"), rapid.Int64Range(1, 9).Draw(t, "d"))
			c := ConcentratedCost(u, k, x)
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				c = PureCost(u, k, x)
			case 1:
				c.Delta = big.NewRat(1, 1000)
			}
			totals = totals.Plus(c)
		}
		older := must(encodeTotals(totals.written(Totals{})))
		if strings.Contains(string(older), "patient") {
			t.Fatalf("an older entry's totals are %s", older)
		}
		if have, want := must(encodeTotals(must(decodeTotals(older)))),
			must(encodeTotals(totals)); !bytes.Equal(have, want) {
			t.Errorf("filled: %s, a replay makes %s", have, want)
		}
	})
}

// TestOlderLedger goes on with a ledger whose first entries have no totals at patient: limits at
// patient count the old charges, the whole chain verifies, and no later entry may lose the column.
func TestOlderLedger(t *testing.T) {
	ctx := context.Background()
	j := NewMemoryJournal()
	old := must(Open(j, Config{}))
	if err := old.Spend(ctx, "whole", PureCost(Party, 0, big.NewRat(1, 2))); err != nil {
		t.Fatal(err)
	}
	var e Entry
	if err := j.Update(ctx, func(tx Tx) (err error) { e, _, err = tx.Head(); return err }); err != nil {
		t.Fatal(err)
	}
	e.Totals = must(encodeTotals(must(decodeTotals(e.Totals)).written(Totals{})))
	e.Hash = e.seal()
	j = NewMemoryJournal()
	if err := j.Update(ctx, func(tx Tx) error { return tx.Append(e) }); err != nil {
		t.Fatal(err)
	}
	l := must(Open(j, Config{Limits: map[Unit]Budget{Patient: {Epsilon: 1}}}))
	if got := must(l.Totals(ctx))[Patient]; got.Charges != 1 || got.Pure.Cmp(big.NewRat(1, 2)) != 0 {
		t.Errorf("the old ledger has spent %v for a patient", got)
	}
	spend := func(id string, u Unit) error {
		return l.Spend(ctx, id, PureCost(u, 0, big.NewRat(1, 2)))
	}
	if err := spend("record", Record); err == nil {
		t.Error("a charge at record passes a limit at patient")
	}
	if err := spend("patient", Patient); err != nil {
		t.Fatal(err)
	}
	if err := spend("more", Patient); err == nil {
		t.Error("the old charge does not count at patient")
	}
	if _, err := l.BeginPeriod(ctx, "2026"); err != nil {
		t.Fatal(err)
	}
	var lines []Line
	chain, err := VerifyEach(ctx, j, func(l Line) error { lines = append(lines, l); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := chain.Totals()[Patient]; got.Pure.Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("the chain has %v for a patient", got)
	}
	last := lines[2]
	last.Totals = last.Totals.written(Totals{})
	last.Hash = sealOf(last.Sequence, last.ID, last.Kind, last.Request, last.Body,
		must(encodeTotals(last.Totals)), last.Prev)
	again := NewLedgerChain()
	for _, l := range lines[:2] {
		if err := again.AddLine(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := again.AddLine(last); err == nil || !strings.Contains(err.Error(), "unit patient") {
		t.Errorf("an entry without totals at patient follows one: %v", err)
	}
}

// TestRecordsOfAPatient: with at most k records of a patient, a charge at record counts k times in
// ε and k² times in ρ for a patient, and nothing where δ is above 0. The number of a party's
// records stays what counts for a party.
func TestRecordsOfAPatient(t *testing.T) {
	half, third := big.NewRat(1, 2), big.NewRat(1, 3)
	pure, rho := PureCost(Record, 10, half), ConcentratedCost(Record, 10, third)
	pure.PerPatient, rho.PerPatient = 4, 4
	totals := NewTotals().Plus(pure).Plus(rho)
	for at, k := range map[Unit]float64{Record: 1, Patient: 4, Party: 10} {
		epsilon, _ := totals[at].Pure.Float64()
		all, _ := totals[at].Rho.Float64()
		if epsilon != k/2 || math.Abs(all-k*k*(1./8+1./3)) > 1e-12 {
			t.Errorf("at %v: ε = %v, ρ = %v", at, epsilon, all)
		}
	}
	rho.Delta = big.NewRat(1, 1000)
	if _, ok := rho.At(Patient); ok {
		t.Error("k steps with δ above 0 are charged")
	}
	rho.PerPatient = 1
	if c, ok := rho.At(Patient); !ok || c.Rho.Cmp(third) != 0 {
		t.Errorf("one record a patient costs %v, %v", c, ok)
	}
	rho.PerPatient, rho.PerParty = 0, 0
	if _, ok := rho.At(Patient); ok {
		t.Error("any number of records of a patient is charged")
	}
	g := Guarantee{Unit: Record, Budget: Budget{Epsilon: .5}, PerPatient: 4}
	if b, ok := g.At(Patient); !ok || b.Epsilon != 2 {
		t.Errorf("4 records at ε = 0.5 guarantee %v, %v for a patient", b, ok)
	}
	if _, ok := g.At(Party); ok {
		t.Error("records of a patient count for a party")
	}
	bad := Bound{Unit: Patient, L1: 1, PerPatient: 1}
	if bad.Validate(1) == nil {
		t.Error("a bound for a patient counts records of a patient")
	}
}
