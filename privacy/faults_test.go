package privacy

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

var errFault = errors.New("fault")

// faulty is a journal that fails once, at one step, and then works again. Its persisted field
// says whether the transaction's entries are stored afterwards.
type faulty struct {
	Journal
	at    string
	crash bool // panic instead of an error: the process dies there
}

var faults = []struct {
	at        string
	persisted bool
}{
	{"begin", false},
	{"find", false},
	{"head", false},
	{"append", false},
	{"after append", false},
	{"commit", false},
	{"after commit", true}, // stored, but the caller gets an error
}

func (f *faulty) hit(at string) error {
	if f.at != at {
		return nil
	}
	f.at = ""
	if f.crash {
		panic(errFault)
	}
	return errFault
}

func (f *faulty) Update(ctx context.Context, fn func(Tx) error) error {
	if err := f.hit("begin"); err != nil {
		return err
	}
	err := f.Journal.Update(ctx, func(tx Tx) error {
		if err := fn(&faultyTx{tx, f}); err != nil {
			return err
		}
		return f.hit("commit") // memory then drops the appended entries
	})
	if err != nil {
		return err
	}
	return f.hit("after commit")
}

type faultyTx struct {
	Tx
	f *faulty
}

func (f *faultyTx) Find(id string) (Entry, bool, error) {
	if err := f.f.hit("find"); err != nil {
		return Entry{}, false, err
	}
	return f.Tx.Find(id)
}

func (f *faultyTx) Head() (Entry, bool, error) {
	if err := f.f.hit("head"); err != nil {
		return Entry{}, false, err
	}
	return f.Tx.Head()
}

func (f *faultyTx) Append(e Entry) error {
	if err := f.f.hit("append"); err != nil {
		return err
	}
	if err := f.Tx.Append(e); err != nil {
		return err
	}
	return f.f.hit("after append")
}

// attempt releases, and turns a crash into an error as a restart would.
func attempt(j Journal, id string) (p Published, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = Published{}, fmt.Errorf("crashed: %v", r)
		}
	}()
	l := must(Open(j, Config{}))
	return l.Release(ctx, id, counts(1e9, 5), laplace(1e-4))
}

// TestFaults: after a failure or crash at any step, with its entries stored or not, a repeated
// release is charged once and has one answer.
func TestFaults(t *testing.T) {
	for _, fault := range faults {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s crash=%t", fault.at, crash), func(t *testing.T) {
				store := NewMemoryJournal().(*memory)
				before := must(attempt(store, "before"))
				p, err := attempt(&faulty{store, fault.at, crash}, "a")
				if err == nil || p.Values != nil {
					t.Fatalf("got %+v, %v from a failed release", p, err)
				}
				if got := len(store.entries) == 2; got != fault.persisted {
					t.Fatalf("persisted is %t", got)
				}
				first := must(attempt(store, "a"))
				if again := must(attempt(store, "a")); !reflect.DeepEqual(first, again) {
					t.Errorf("two answers: %+v, %+v", first, again)
				}
				if again := must(attempt(store, "before")); !reflect.DeepEqual(before, again) {
					t.Errorf("the earlier answer changed: %+v, %+v", before, again)
				}
				if totals, err := Verify(ctx, store); err != nil || totals[Record].Charges != 2 {
					t.Errorf("totals %v, %v", totals[Record], err)
				}
			})
		}
	}
}

// TestFaultsInAnyOrder: over random runs of releases, charges and faults, an answered id keeps its
// answer, every entry is charged once, and an id that never reached the journal costs nothing.
func TestFaultsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := NewMemoryJournal().(*memory)
		answers := map[string]Published{}
		var at []string
		for _, f := range faults {
			at = append(at, f.at)
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")
			f := &faulty{store, rapid.SampledFrom(append(at, "", "", "")).Draw(t, "fault"),
				rapid.Bool().Draw(t, "crash")}
			p, err := attempt(f, id)
			if err != nil {
				continue
			}
			if old, ok := answers[id]; ok && !reflect.DeepEqual(old, p) {
				t.Fatalf("id %s has two answers", id)
			}
			answers[id] = p
		}
		totals, err := Verify(ctx, store)
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for _, e := range store.entries {
			ids[e.ID] = true
		}
		if int(totals[Record].Charges) != len(ids) || len(ids) != len(store.entries) {
			t.Fatalf("%d charges, %d entries, %d ids", totals[Record].Charges, len(store.entries),
				len(ids))
		}
		for id := range answers {
			if !ids[id] {
				t.Fatalf("id %s was answered and not charged", id)
			}
		}
	})
}
