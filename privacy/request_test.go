package privacy

import (
	"errors"
	"reflect"
	"testing"
)

// TestSourceIsATerm: an id released for one source is a conflict for another source, without a
// draw.
func TestSourceIsATerm(t *testing.T) {
	j := NewMemoryJournal()
	l := must(Open(j, Config{}))
	eight, seven := Digest{8}, Digest{7}
	first := must(l.Release(ctx, "a", counts(10, 20).WithSource(eight), laplace(1)))
	for name, err := range map[string]error{
		"another source":  second(l.Release(ctx, "a", counts(10, 20).WithSource(seven), laplace(1))),
		"no source":       second(l.Release(ctx, "a", counts(10, 20), laplace(1))),
		"reserve another": l.Reserve(ctx, "a", Terms{Mechanism: laplace(1), Bound: countsBound(), Length: 2, SourceDigest: seven}),
	} {
		if !errors.Is(err, ErrConflict) {
			t.Errorf("%s: %v, want ErrConflict", name, err)
		}
	}
	again := must(Open(j, Config{})) // another process
	if got := must(again.Release(ctx, "a", counts(-1, 0).WithSource(eight),
		laplace(1))); !reflect.DeepEqual(got, first) {
		t.Errorf("answered %+v, then %+v", first, got)
	}
	if got := must(Verify(ctx, j))[Record].Charges; got != 1 {
		t.Errorf("%d charges, want 1", got)
	}

	terms := Terms{Mechanism: laplace(1), Bound: countsBound(), Length: 2, SourceDigest: eight}
	ok(l.Reserve(ctx, "b", terms))
	ok(l.Reserve(ctx, "b", terms))
	if _, err := l.Release(ctx, "b", counts(1, 2).WithSource(seven), laplace(1)); !errors.Is(err,
		ErrConflict) {
		t.Errorf("a reservation for another source: %v, want ErrConflict", err)
	}
	drawn := must(l.Release(ctx, "b", counts(1, 2).WithSource(eight), laplace(1)))
	if got := must(l.Release(ctx, "b", counts(1, 2).WithSource(eight),
		laplace(1))); !reflect.DeepEqual(got, drawn) {
		t.Errorf("answered %+v, then %+v", drawn, got)
	}
	if err := l.Reserve(ctx, "b", terms); err != nil {
		t.Errorf("reserve after the answer: %v", err)
	}
	if got := must(Verify(ctx, j))[Record].Charges; got != 2 {
		t.Errorf("%d charges, want 2", got)
	}
}

// TestSourceIsHidden: a line gives nothing to test a guess of the source against. Two ledgers
// with the same request and source store different digests; without a source they store the same.
// Salts agree by chance with probability 2⁻²⁵⁶.
func TestSourceIsHidden(t *testing.T) {
	request := func(s Sensitive) Digest {
		l := must(Open(NewMemoryJournal(), Config{}))
		must(l.Release(ctx, "a", s, laplace(1)))
		line, found, err := l.FindLine(ctx, "a")
		if err != nil || !found {
			t.Fatal(found, err)
		}
		return line.Request
	}
	if request(counts(1, 2)) != request(counts(9, 9)) {
		t.Error("the same terms have two requests")
	}
	s := counts(1, 2).WithSource(Digest{1})
	if here, there := request(s), request(s); here == there {
		t.Error("a request is the same in two ledgers: whoever guesses the source can tell")
	}
	simulated := func() Published {
		return must(NewSimulation(1).Release(ctx, "a", counts(1, 2).WithSource(Digest{1}),
			laplace(1)))
	}
	if !reflect.DeepEqual(simulated(), simulated()) { // a simulation hides nothing, and must repeat
		t.Error("a simulation does not repeat")
	}
}
