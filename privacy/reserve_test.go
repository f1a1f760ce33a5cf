package privacy

import (
	"crypto/sha256"
	"errors"
	"math/big"
	"reflect"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func countsTerms(epsilon float64, length int) Terms {
	return Terms{Mechanism: laplace(epsilon), Bound: countsBound(), Length: length}
}

func ok(err error) {
	if err != nil {
		panic(err)
	}
}

// TestReserve: a reservation makes the whole charge, once. A release on its terms completes it,
// once; other terms are a conflict.
func TestReserve(t *testing.T) {
	j := NewMemoryJournal()
	l := must(Open(j, Config{Limits: map[Unit]Budget{Record: {1, 0}}}))
	for range 2 {
		if err := l.Reserve(ctx, "a", countsTerms(1, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Reserve(ctx, "b", countsTerms(1e-6, 2)); !errors.Is(err, ErrBudget) {
		t.Errorf("a second reservation: %v, want ErrBudget", err)
	}
	for name, err := range map[string]error{
		"scale":         second(l.Release(ctx, "a", counts(10, 20), laplace(0.5))),
		"length":        second(l.Release(ctx, "a", counts(10, 20, 30), laplace(1))),
		"bound":         second(l.Release(ctx, "a", must(NewSensitive([]int64{10, 20}, Bound{Unit: Record, L1: 2})), laplace(1))),
		"reserve scale": l.Reserve(ctx, "a", countsTerms(0.5, 2)),
		"charge":        l.Spend(ctx, "a", PureCost(Record, 0, big.NewRat(1, 1))),
	} {
		if !errors.Is(err, ErrConflict) {
			t.Errorf("other %s: %v, want ErrConflict", name, err)
		}
	}
	again := must(Open(j, Config{})) // the process died in between
	first := must(again.Release(ctx, "a", counts(10, 20), laplace(1)))
	if next := must(l.Release(ctx, "a", counts(-5, 99), laplace(1))); !reflect.DeepEqual(first,
		next) {
		t.Errorf("answered %+v, then %+v", first, next)
	}
	if err := l.Reserve(ctx, "a", countsTerms(1, 2)); err != nil {
		t.Errorf("reserve after the answer: %v", err)
	}
	totals := must(Verify(ctx, j))
	if got := totals[Record]; got.Charges != 1 || got.Pure.Cmp(first.Cost.Pure) != 0 {
		t.Errorf("spent %+v, want the one cost %v", got, first.Cost.Pure)
	}
	charge, found, err := l.FindLine(ctx, "a")
	if err != nil || !found || charge.Kind != KindReservation || len(charge.Costs) != 1 ||
		!charge.Costs[0].Equal(first.Cost) {
		t.Errorf("line of the id: %+v, %v, want the charge", charge, err)
	}
	answer, found, err := l.FindLine(ctx, answerID+"a")
	if err != nil || !found || answer.CheckResult(first) != nil || len(answer.Costs) != 0 ||
		answer.Request != charge.Request {
		t.Errorf("line of the answer: %+v, %v: %v", answer, err, answer.CheckResult(first))
	}
	parsed, err := ParsePublished(must(first.MarshalBinary()))
	if err != nil || parsed.ID != "a" {
		t.Errorf("on the wire: %v, id %q", err, parsed.ID)
	}
}

// TestReserveRefuses: a release that would be refused cannot be reserved.
func TestReserveRefuses(t *testing.T) {
	l := must(Open(NewMemoryJournal(), Config{}))
	long := make([]byte, maxID)
	for name, err := range map[string]error{
		"no mechanism": l.Reserve(ctx, "a", Terms{Bound: countsBound(), Length: 1}),
		"no length":    l.Reserve(ctx, "a", countsTerms(1, 0)),
		"no bound":     l.Reserve(ctx, "a", Terms{Mechanism: laplace(1), Length: 1}),
		"simulation":   l.Reserve(ctx, "a", Terms{Mechanism: Unperturbed{}, Bound: countsBound(), Length: 1}),
		"a long id":    l.Reserve(ctx, string(long), countsTerms(1, 1)),
		"weights":      l.Reserve(ctx, "a", Terms{Mechanism: laplace(1), Bound: Bound{Unit: Record, L2sq: 2, Weight: []int64{1}}, Length: 2}),
		"no id":        l.Reserve(ctx, "", countsTerms(1, 1)),
	} {
		if err == nil {
			t.Errorf("%s: reserved", name)
		}
	}
	if got := must(l.Totals(ctx))[Record]; got.Charges != 0 {
		t.Errorf("%d charges", got.Charges)
	}
}

// TestReserveRace: concurrent completions of one reservation get one answer.
func TestReserveRace(t *testing.T) {
	l := must(Open(NewMemoryJournal(), Config{}))
	ok(l.Reserve(ctx, "a", countsTerms(1, 2)))
	var all [16]Published
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() { all[i] = must(l.Release(ctx, "a", counts(int64(i), 0), laplace(1))) })
	}
	wait.Wait()
	for _, p := range all {
		if !reflect.DeepEqual(p, all[0]) {
			t.Fatalf("answers %+v and %+v", p, all[0])
		}
	}
}

// upTo returns a journal with the first n entries of j.
func upTo(t interface{ Fatal(...any) }, j Journal, n int) Journal {
	k := NewMemoryJournal()
	err := j.Update(ctx, func(tx Tx) error {
		entries, err := tx.EntriesAfter(0, n)
		if err != nil {
			return err
		}
		return k.Update(ctx, func(to Tx) error {
			for _, e := range entries {
				if err := to.Append(e); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestReservePutBack: a ledger rolled back to between a reservation and its answer draws no
// second answer before it is reconciled. The reconciliation charges for the lost answer although
// nobody names it.
func TestReservePutBack(t *testing.T) {
	j := NewMemoryJournal()
	l := must(Open(j, Config{}))
	ok(l.Reserve(ctx, "a", countsTerms(1, 2)))
	first := must(l.Release(ctx, "a", counts(10, 20), laplace(1)))
	back := upTo(t, j, 1)
	behind := must(Open(back, Config{LastSequence: first.Sequence}))
	if err := second(behind.Release(ctx, "a", counts(10, 20), laplace(1))); !errors.Is(err,
		ErrBehind) {
		t.Fatalf("a second answer: %v, want ErrBehind", err)
	}
	if err := behind.Reconcile(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	again := must(behind.Release(ctx, "a", counts(10, 20), laplace(1)))
	totals := must(Verify(ctx, back))
	if want := new(big.Rat).Add(first.Cost.Pure,
		again.Cost.Pure); totals[Record].Pure.Cmp(want) != 0 {
		t.Errorf("two answers are charged %v, want %v", totals[Record].Pure, want)
	}
}

// TestChainOfReservations: a chain refuses a line that answers without a reservation, answers
// twice, or reconciles without charging an open reservation again.
func TestChainOfReservations(t *testing.T) {
	j := NewMemoryJournal()
	l := must(Open(j, Config{}))
	ok(l.Reserve(ctx, "a", countsTerms(1, 2)))
	ok(l.Reserve(ctx, "b", countsTerms(1, 3)))
	must(l.Release(ctx, "a", counts(10, 20), laplace(1)))
	var lines []Line
	must(VerifyEach(ctx, j, func(l Line) error { lines = append(lines, l); return nil }))
	forged := func(before []Line, change func(*Line)) error {
		chain := NewLedgerChain()
		for _, l := range before {
			ok(chain.AddLine(l))
		}
		last := before[len(before)-1]
		next := lines[2]
		next.Sequence, next.Prev, next.Totals = last.Sequence+1, last.Hash, last.Totals
		change(&next)
		next.Hash = sealOf(next.Sequence, next.ID, next.Kind, next.Request, next.Body,
			must(encodeTotals(next.Totals)), next.Prev)
		return chain.AddLine(next)
	}
	if err := forged(lines[:2], func(*Line) {}); err != nil {
		t.Fatalf("the honest answer: %v", err)
	}
	for name, err := range map[string]error{
		"twice":             forged(lines, func(*Line) {}),
		"not reserved":      forged(lines[:2], func(l *Line) { l.ID = answerID + "c" }),
		"on other terms":    forged(lines[:2], func(l *Line) { l.ID = answerID + "b" }),
		"with a cost":       forged(lines[:2], func(l *Line) { l.Costs = lines[0].Costs; l.Totals = l.Totals.Plus(l.Costs[0]) }),
		"a bare reconciled": forged(lines[:1], reconciledWith(nil)),
		"one for two":       forged(lines[:2], reconciledWith(lines[0].Costs)),
	} {
		if err == nil {
			t.Errorf("%s: the chain goes on", name)
		}
	}
	both := append(lines[0].Costs[:1:1], lines[1].Costs...)
	if err := forged(lines[:2], reconciledWith(both)); err != nil {
		t.Errorf("a reconciliation that charges both again: %v", err)
	}
}

func reconciledWith(costs []Cost) func(*Line) {
	return func(l *Line) {
		r := reconciliation{Costs: costs}
		l.ID, l.Kind, l.Sequence, l.Costs = "reconcile/9", KindReconcile, 9, costs
		l.Body = sha256.Sum256(must(r.encode()))
		for _, c := range costs {
			l.Totals = l.Totals.Plus(c)
		}
	}
}

// TestAnswersArePaid: after any order of reservations, releases, one rollback and one
// reconciliation, the charges cover all answers ever drawn. The caller names answers that were lost
// together with their reservation, as an agent that knows its studies can; it does not name other
// lost answers.
func TestAnswersArePaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := NewMemoryJournal()
		l := must(Open(j, Config{}))
		drawn := map[Digest]string{} // entry and id
		last := int64(0)
		steps := func() {
			for range rapid.IntRange(0, 12).Draw(t, "steps") {
				id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")
				if rapid.Bool().Draw(t, "reserve") {
					if err := l.Reserve(ctx, id, countsTerms(1, 2)); err != nil &&
						!errors.Is(err, ErrConflict) {
						t.Fatal(err)
					}
					continue
				}
				p := must(l.Release(ctx, id, counts(1, 2), laplace(1)))
				drawn[p.EntryHash], last = id, max(last, p.Sequence)
			}
		}
		steps()
		j = upTo(t, j, rapid.IntRange(0, int(last)).Draw(t, "kept"))
		l = must(Open(j, Config{LastSequence: last}))
		var lost []Cost
		for _, id := range drawn {
			if _, found, err := l.FindLine(ctx, id); err != nil || !found {
				lost = append(lost, PureCost(Record, 0, big.NewRat(1, 1)))
			}
		}
		ok(l.Reconcile(ctx, lost, nil))
		steps()
		if got := must(Verify(ctx, j))[Record].Pure; got.Cmp(big.NewRat(int64(len(drawn)), 1)) < 0 {
			t.Fatalf("%d answers at ε = 1 were drawn, %v was charged", len(drawn), got)
		}
	})
}
