package privacy

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func rho(n, d int64) Cost { return ConcentratedCost(Record, 0, big.NewRat(n, d)) }

// TestPeriods: each period has its own limit, the whole ledger keeps its limit, and neither
// reopening nor beginning an earlier name gives budget back.
func TestPeriods(t *testing.T) {
	ctx, journal := context.Background(), NewMemoryJournal()
	limit := map[Unit]Budget{Record: {Epsilon: 1, Delta: 1e-6}}
	open := func() *Ledger {
		l, err := Open(journal, Config{Limits: map[Unit]Budget{Record: {Epsilon: 1.5, Delta: 1e-6}},
			PeriodLimits: limit})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	begin := func(name, want string) {
		t.Helper()
		if under, err := l.BeginPeriod(ctx, name); err != nil || under != want {
			t.Fatalf("begin %s = %q, %v, want %q", name, under, err, want)
		}
	}
	spend := func(id string, want error) {
		t.Helper()
		// At δ = 1e-6, ρ = 14/1000 is ε = 0.74 once, 1.08 twice, 1.34 three times,
		// 1.57 four times.
		if err := l.Spend(ctx, id, rho(14, 1000)); !errors.Is(err, want) {
			t.Fatalf("spend %s = %v, want %v", id, err, want)
		}
	}
	spend("before any period", nil)
	begin("2025", "2025")
	spend("b", ErrBudget) // charges before the first period count to it
	begin("2024", "2025") // the clock was set back
	spend("b", ErrBudget)
	l = open()
	begin("2024", "2025")
	spend("b", ErrBudget)
	begin("2026", "2026")
	spend("b", nil)
	spend("b", nil) // a repeated id costs nothing
	name, spent, err := l.CurrentPeriod(ctx)
	if err != nil || name != "2026" || spent[Record].Charges != 1 ||
		spent[Record].Rho.Cmp(addUp(new(big.Rat), big.NewRat(14, 1000))) != 0 {
		t.Errorf("period %q, %v, spent %v", name, err, spent[Record])
	}
	begin("2025", "2026")
	begin("2027", "2027")
	spend("c", nil)
	begin("2028", "2028")
	spend("d", ErrBudget) // the whole ledger is limited too
	if _, err := Verify(ctx, journal); err != nil {
		t.Errorf("verify: %v", err)
	}
}

// TestPeriodIsAsIfAlone: a period refuses a charge exactly when a ledger with only that period's
// charges would refuse it.
func TestPeriodIsAsIfAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		g := Budget{Epsilon: rapid.Float64Range(0.2, 3).Draw(t, "epsilon"), Delta: 1e-6}
		limits := map[Unit]Budget{Record: g}
		l, _ := Open(NewMemoryJournal(), Config{PeriodLimits: limits})
		alone, _ := Open(NewMemoryJournal(), Config{Limits: limits})
		year := 2000
		for i := range rapid.IntRange(1, 25).Draw(t, "steps") {
			if rapid.IntRange(0, 4).Draw(t, "step") == 0 {
				if year != 2000 { // charges before the first period count to it
					alone, _ = Open(NewMemoryJournal(), Config{Limits: limits})
				}
				year += rapid.IntRange(1, 3).Draw(t, "years")
				if _, err := l.BeginPeriod(ctx, fmt.Sprint(year)); err != nil {
					t.Fatal(err)
				}
				continue
			}
			c := rho(rapid.Int64Range(1, 50).Draw(t, "rho"), 1000)
			if rapid.Bool().Draw(t, "pure") {
				c = PureCost(Record, 0, big.NewRat(rapid.Int64Range(1, 50).Draw(t, "pure"), 100))
			}
			id := fmt.Sprint(i)
			got, want := l.Spend(ctx, id, c), alone.Spend(ctx, id, c)
			if errors.Is(got, ErrBudget) != errors.Is(want, ErrBudget) {
				t.Fatalf("in %d: %v, alone %v", year, got, want)
			}
		}
	})
}

// TestPeriodsFollow: Verify refuses a ledger in which a period begins again, or an earlier one
// begins, even with correct hashes.
func TestPeriodsFollow(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"2024", "2025"} {
		journal := NewMemoryJournal()
		l, err := Open(journal, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.BeginPeriod(ctx, "2025"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.CurrentPeriod(ctx); err != nil {
			t.Fatal(err)
		}
		l.period.name = "" // a ledger that forgot its year
		if _, err := l.BeginPeriod(ctx, name); err != nil {
			continue // its id is there already
		}
		if _, err = Verify(ctx, journal); err == nil {
			t.Errorf("after 2025 a ledger began %s, and it verifies", name)
		}
	}
}

// TestPeriodBehind: a ledger that is behind begins no period.
func TestPeriodBehind(t *testing.T) {
	l, err := Open(NewMemoryJournal(), Config{LastSequence: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.BeginPeriod(context.Background(), "2026"); !errors.Is(err, ErrBehind) {
		t.Errorf("begin = %v, want ErrBehind", err)
	}
}
