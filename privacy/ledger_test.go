package privacy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"sync"
	"testing"

	"caucus/internal/testlevel"
)

var ctx = context.Background()

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func countsBound() Bound { return Bound{Unit: Record, L1: 2, L2sq: 2, KeepsSum: true} }

func counts(values ...int64) Sensitive { return must(NewSensitive(values, countsBound())) }

func laplace(epsilon float64) DiscreteLaplace {
	return must(CalibrateLaplace(countsBound(), epsilon))
}

func TestReleaseOnce(t *testing.T) {
	j := NewMemoryJournal()
	l := must(Open(j, Config{Limits: map[Unit]Budget{Record: {1, 0}}}))
	first, err := l.Release(ctx, "a", counts(10, 20), laplace(1))
	if err != nil {
		t.Fatal(err)
	}
	if first.Sequence != 1 || first.Simulated || len(first.Values) != 2 || !first.IsUnchanged() {
		t.Fatalf("%+v", first)
	}
	// The same terms give the first answer, also for other values, from another ledger on the
	// same journal, and with no budget left.
	again := must(must(Open(j, Config{})).Release(ctx, "a", counts(-5, 99), laplace(1)))
	if !reflect.DeepEqual(first, again) {
		t.Errorf("first %+v, then %+v", first, again)
	}
	for name, err := range map[string]error{
		"scale":  second(l.Release(ctx, "a", counts(10, 20), laplace(0.5))),
		"length": second(l.Release(ctx, "a", counts(10, 20, 30), laplace(1))),
		"bound":  second(l.Release(ctx, "a", must(NewSensitive([]int64{10, 20}, Bound{Unit: Record, L1: 2})), laplace(1))),
		"kind":   l.Spend(ctx, "a", first.Cost),
	} {
		if !errors.Is(err, ErrConflict) {
			t.Errorf("other %s: %v, want ErrConflict", name, err)
		}
	}
	if err := second(l.Release(ctx, "b", counts(10, 20), laplace(1e-6))); !errors.Is(err,
		ErrBudget) {
		t.Errorf("beyond the limit: %v", err)
	}
	if got := must(l.Totals(ctx))[Record]; got.Charges != 1 || got.Pure.Cmp(first.Cost.Pure) != 0 {
		t.Errorf("totals %v", got)
	}
	if _, err := Verify(ctx, j); err != nil {
		t.Error(err)
	}
}

// TestReleaseErrorsIgnoreValues: every refusal has the same text for ordinary and for extreme
// values, and charges nothing.
func TestReleaseErrorsIgnoreValues(t *testing.T) {
	l := must(Open(NewMemoryJournal(), Config{Limits: map[Unit]Budget{Record: {1, 1e-6}}}))
	must(l.Release(ctx, "taken", counts(1, 2), laplace(0.9)))
	label := countsBound()
	label.Unit = Label
	for _, c := range []struct {
		name, id string
		bound    Bound
		m        Mechanism
		want     error
	}{
		{"budget", "b", countsBound(), laplace(1), ErrBudget},
		{"conflict", "taken", countsBound(), laplace(1), ErrConflict},
		{"unit", "b", label, laplace(0.01), ErrUnproven},
		{"norm", "b", Bound{Unit: Record, L2sq: 1}, laplace(0.01), ErrUnproven},
		{"weight", "b", Bound{Unit: Record, L1: 1, Weight: []int64{1, 1}}, laplace(0.01), ErrUnproven},
		{"no norm", "b", Bound{Unit: Record, L1: 1}, DiscreteGaussian{Variance: big.NewRat(1e9, 1)}, ErrUnproven},
		{"simulation", "b", countsBound(), Unperturbed{}, ErrSimulationOnly},
		{"simulated sphere", "b", countsBound(), SphereLaplace{Rate: 1}, ErrSimulationOnly},
		{"no id", "", countsBound(), laplace(0.01), nil},
		{"long id", strings.Repeat("x", 257), countsBound(), laplace(0.01), nil},
		{"id not UTF-8", "\xff", countsBound(), laplace(0.01), nil},
		{"no mechanism", "b", countsBound(), nil, nil},
		{"no scale", "b", countsBound(), DiscreteLaplace{}, nil},
		{"fine scale", "b", countsBound(), DiscreteLaplace{Scale: new(big.Rat).SetFrac(big.NewInt(1), power(70).Num())}, nil},
	} {
		var texts []string
		for _, values := range [][]int64{{0, 0}, {1, 2}, {math.MaxInt64, math.MinInt64}} {
			_, err := l.Release(ctx, c.id, must(NewSensitive(values, c.bound)), c.m)
			if err == nil || (c.want != nil && !errors.Is(err, c.want)) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
				continue
			}
			texts = append(texts, err.Error())
		}
		for _, text := range texts {
			if text != texts[0] {
				t.Errorf("%s: %q for some values, %q for others", c.name, texts[0], text)
			}
		}
	}
	if err := second(l.Release(ctx, "b", NewUnprovenVector([]float64{1}, Record),
		laplace(0.1))); !errors.Is(err, ErrSimulationOnly) {
		t.Errorf("a literal vector: %v", err)
	}
	if err := second(l.Release(ctx, "b", Sensitive{}, laplace(0.1))); err == nil {
		t.Error("the zero Sensitive was released")
	}
	if got := must(l.Totals(ctx))[Record].Charges; got != 1 {
		t.Errorf("%d charges", got)
	}
}

// TestLimitsOfUnits: a release that proves nothing at a limited unit is refused. With a public
// number of records a party, a release at unit record counts at unit party.
func TestLimitsOfUnits(t *testing.T) {
	l := must(Open(NewMemoryJournal(), Config{Limits: map[Unit]Budget{Party: {3, 0}}}))
	b := countsBound()
	if err := second(l.Release(ctx, "a", must(NewSensitive([]int64{1}, Bound{Unit: Record, L1: 2})),
		laplace(1))); !errors.Is(err, ErrUnproven) {
		t.Errorf("unknown k: %v", err)
	}
	b.PerParty = 3
	if _, err := l.Release(ctx, "a", must(NewSensitive([]int64{1, 2}, b)), laplace(1)); err != nil {
		t.Errorf("k = 3: %v", err)
	}
	totals := must(l.Totals(ctx))
	if got := totals[Party].Epsilon(0); math.Abs(got-3) > 1e-5 {
		t.Errorf("party total %g", got)
	}
	if err := second(l.Release(ctx, "b", must(NewSensitive([]int64{1, 2}, b)),
		laplace(0.01))); !errors.Is(err, ErrBudget) {
		t.Errorf("beyond: %v", err)
	}
}

// TestLimitAfterTheFact: a ledger already holds a release that proves nothing at unit party. A
// limit set there later allows nothing more.
func TestLimitAfterTheFact(t *testing.T) {
	j := NewMemoryJournal()
	must(must(Open(j, Config{})).Release(ctx, "a", counts(1), laplace(0.1))) // k unknown
	l := must(Open(j, Config{Limits: map[Unit]Budget{Party: {50, 0.5}}}))
	if err := l.Spend(ctx, "b", PureCost(Party, 0, big.NewRat(1, 1000))); !errors.Is(err,
		ErrBudget) {
		t.Errorf("party: %v", err)
	}
	l = must(Open(j, Config{Limits: map[Unit]Budget{Record: {50, 0.5}}}))
	if err := l.Spend(ctx, "b", PureCost(Party, 0, big.NewRat(1, 1000))); err != nil {
		t.Errorf("record: %v", err)
	}
}

func TestSpend(t *testing.T) {
	l := must(Open(NewMemoryJournal(), Config{Limits: map[Unit]Budget{Party: {1, 1e-6}}}))
	c := ConcentratedCost(Party, 0, rational(RhoOf(Budget{0.9, 1e-6})))
	for range 2 {
		if err := l.Spend(ctx, "ballot", c); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Spend(ctx, "ballot", PureCost(Party, 0, big.NewRat(1, 9))); !errors.Is(err,
		ErrConflict) {
		t.Errorf("another cost: %v", err)
	}
	if err := l.Spend(ctx, "ballot 2", c); !errors.Is(err, ErrBudget) {
		t.Errorf("twice: %v", err)
	}
	if err := l.Spend(ctx, "free", Cost{Unit: Party}); err == nil {
		t.Error("a cost without rho was accepted")
	}
	if err := second(l.Release(ctx, "ballot", counts(1), laplace(0.1))); !errors.Is(err,
		ErrConflict) {
		t.Errorf("a release under the same id: %v", err)
	}
	if got := must(l.Totals(ctx))[Record].Charges; got != 1 {
		t.Errorf("%d charges at record", got)
	}
}

func TestReconcile(t *testing.T) {
	j := NewMemoryJournal()
	l := must(Open(j, Config{}))
	kept := must(l.Release(ctx, "kept", counts(1), laplace(0.25)))
	// The journal is a backup: entries 2 and 3 were published, then lost.
	l = must(Open(j, Config{LastSequence: 3, Limits: map[Unit]Budget{Record: {1, 0}}}))
	if err := second(l.Release(ctx, "new", counts(1), laplace(0.25))); !errors.Is(err, ErrBehind) {
		t.Errorf("release while behind: %v", err)
	}
	if err := l.Spend(ctx, "new", kept.Cost); !errors.Is(err, ErrBehind) {
		t.Errorf("spend while behind: %v", err)
	}
	if again, err := l.Release(ctx, "kept", counts(1), laplace(0.25)); err != nil ||
		!reflect.DeepEqual(again, kept) {
		t.Errorf("what is still there: %+v, %v", again, err)
	}
	lost := PureCost(Record, 0, big.NewRat(1, 4))
	for range 2 { // the second call does nothing
		if err := l.Reconcile(ctx, []Cost{lost, lost}, nil); err != nil {
			t.Fatal(err)
		}
	}
	p, err := l.Release(ctx, "new", counts(1), laplace(0.25))
	if err != nil || p.Sequence != 5 {
		t.Errorf("after reconciling: number %d, %v", p.Sequence, err)
	}
	if err := second(l.Release(ctx, "more", counts(1), laplace(0.01))); !errors.Is(err, ErrBudget) {
		t.Errorf("lost charges do not count: %v", err)
	}
	if totals, err := Verify(ctx, j); err != nil || totals[Record].Charges != 4 {
		t.Errorf("%v, %v", totals, err)
	}
}

func TestVerifyFindsChanges(t *testing.T) {
	fill := func() *memory {
		j := NewMemoryJournal().(*memory)
		l := must(Open(j, Config{}))
		for i := range 4 {
			must(l.Release(ctx, fmt.Sprint("r", i), counts(1, 2), laplace(0.25)))
		}
		return j
	}
	if _, err := Verify(ctx, fill()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(j *memory){
		"value":      func(j *memory) { b := j.entries[1].Body; b[len(b)-1] ^= 2 },
		"id":         func(j *memory) { j.entries[1].ID = "x" },
		"removed":    func(j *memory) { j.entries = append(j.entries[:1], j.entries[2:]...) },
		"swapped":    func(j *memory) { j.entries[1], j.entries[2] = j.entries[2], j.entries[1] },
		"first gone": func(j *memory) { j.entries = j.entries[1:] },
		"totals": func(j *memory) { // with a good hash, at the end
			e := &j.entries[3]
			e.Totals = must(encodeTotals(NewTotals()))
			e.Hash = e.seal()
		},
		"number": func(j *memory) { e := &j.entries[3]; e.Sequence = 9; e.Hash = e.seal() },
		"answer of another": func(j *memory) {
			e := &j.entries[3]
			e.Body = j.entries[2].Body
			e.Hash = e.seal()
		},
		"kind": func(j *memory) { e := &j.entries[3]; e.Kind = "gift"; e.Hash = e.seal() },
	} {
		j := fill()
		change(j)
		if _, err := Verify(ctx, j); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
}

func TestSimulation(t *testing.T) {
	run := func(seed uint64, ids ...string) map[string]Published {
		l, all := NewSimulation(seed), map[string]Published{}
		for _, id := range ids {
			all[id] = must(l.Release(ctx, id, counts(1000, 2000), laplace(0.01)))
		}
		return all
	}
	a, b, other := run(1, "x", "y"), run(1, "y", "x"), run(2, "x", "y")
	for _, id := range []string{"x", "y"} {
		if !reflect.DeepEqual(a[id].Values, b[id].Values) {
			t.Errorf("%s depends on the order", id)
		}
		if reflect.DeepEqual(a[id].Values, other[id].Values) {
			t.Errorf("%s does not depend on the seed", id)
		}
	}
	if reflect.DeepEqual(a["x"].Values, a["y"].Values) {
		t.Error("the noise does not depend on the id")
	}
	if _, err := a["x"].MarshalBinary(); !a["x"].Simulated || !errors.Is(err, ErrSimulationOnly) {
		t.Errorf("marshal: %v", err)
	}
}

// TestLiteralMechanisms: the sphere's noise has mean norm n/Rate, variance n/Rate², and no
// preferred direction. 6.5 standard errors are exceeded with probability 1e-10 (the norm is close
// to normal).
func TestLiteralMechanisms(t *testing.T) {
	l := NewSimulation(3)
	exact := must(l.Release(ctx, "none", NewUnprovenVector([]float64{1.5, -2}, Party),
		Unperturbed{}))
	if !reflect.DeepEqual(exact.Reals, []float64{1.5, -2}) || exact.Variance(0) != 0 {
		t.Errorf("unperturbed: %+v", exact)
	}
	weighted := must(NewSensitive([]int64{3, 4},
		Bound{Unit: Party, L2sq: 1, Weight: []int64{1, 2}}))
	if p := must(l.Release(ctx, "weighted", weighted,
		SphereLaplace{Rate: 1e9})); math.Abs(p.Reals[1]-4) > 1e-3 {
		t.Errorf("integers on the sphere: %v", p.Reals)
	}
	const n, rate = 5, 2.
	draws := float64(testlevel.N(t, 5000, 20_000))
	norm, first, variance := 0., 0., 0.
	for i := range int(draws) {
		p := must(l.Release(ctx, fmt.Sprint(i), NewUnprovenVector(make([]float64, n), Party),
			SphereLaplace{Rate: rate}))
		square := 0.
		for _, x := range p.Reals {
			square += x * x
		}
		norm += math.Sqrt(square) / draws
		first += p.Reals[0] / draws
		variance = p.Variance(0)
	}
	if tol := 6.5 * math.Sqrt(n) / rate / math.Sqrt(draws); math.Abs(norm-n/rate) > tol {
		t.Errorf("mean norm = %.4f, want %.4f ± %.4f", norm, n/rate, tol)
	}
	if tol := 6.5 * math.Sqrt(variance/draws); math.Abs(first) > tol ||
		variance != (n+1)/(rate*rate) {
		t.Errorf("mean of a coordinate = %.4f, want 0 ± %.4f (variance %g)", first, tol, variance)
	}
	if got := must(l.Totals(ctx))[Party]; got.Charges != 0 ||
		got.WithoutGuarantee != int64(draws)+2 {
		t.Errorf("totals %v", got)
	}
	if err := second(l.Release(ctx, "bad", NewUnprovenVector([]float64{1}, Party),
		laplace(1))); !errors.Is(err, ErrUnproven) {
		t.Errorf("exact noise on reals: %v", err)
	}
}

// TestConcurrentReleases: many goroutines request the same few ids; each id has one answer and
// one charge.
func TestConcurrentReleases(t *testing.T) {
	l := must(Open(NewMemoryJournal(), Config{}))
	answers := make([]Published, 200)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			answers[i] = must(l.Release(ctx, fmt.Sprint(i%5), counts(1e6, 0), laplace(1e-3)))
		})
	}
	wg.Wait()
	for i, p := range answers {
		if !reflect.DeepEqual(p, answers[i%5]) {
			t.Fatalf("id %s has two answers", p.ID)
		}
	}
	if got := must(l.Totals(ctx))[Record].Charges; got != 5 {
		t.Errorf("%d charges for 5 ids", got)
	}
}

func TestConfigValidate(t *testing.T) {
	for name, c := range map[string]Config{
		"unit":     {Limits: map[Unit]Budget{0: {1, 0}}},
		"epsilon":  {Limits: map[Unit]Budget{Record: {0, 0}}},
		"delta":    {Limits: map[Unit]Budget{Record: {1, 1}}},
		"not a δ":  {Limits: map[Unit]Budget{Record: {1, math.NaN()}}},
		"sequence": {LastSequence: -1},
	} {
		if _, err := Open(NewMemoryJournal(), c); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := Open(nil, Config{}); err == nil {
		t.Error("no journal was accepted")
	}
}
