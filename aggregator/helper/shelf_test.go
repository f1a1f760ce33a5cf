package helper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/protocol"
	"caucus/study"
)

// brought is a shelf to which plans of one byte with pools of ten were added, one a minute.
type brought struct {
	*planStore
	t        *testing.T
	underWay map[study.Hash]bool
	minutes  int
}

func newBrought(t *testing.T, maxPlans int, maxStored int64) *brought {
	return &brought{&planStore{dir: t.TempDir(), maxPlans: maxPlans, maxStored: maxStored}, t,
		map[study.Hash]bool{}, 0}
}

func (b *brought) bring(h study.Hash) error {
	err := b.MakeRoom(h, 11, func(h study.Hash) (bool, error) { return b.underWay[h], nil })
	if err == nil {
		err = b.Store(h, []byte("p"), []byte("0123456789"))
	}
	if err == nil {
		b.minutes++
		at := time.Unix(1e9, 0).Add(time.Duration(b.minutes) * time.Minute)
		err = os.Chtimes(b.folder(h), at, at)
	}
	return err
}

func (b *brought) there() (all []int) {
	held, err := b.held()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, h := range held {
		all = append(all, int(h.hash[0]))
	}
	slices.Sort(all)
	return all
}

// TestRoom: the operator's limits on plans and bytes hold. Plans of idle studies make room, the
// oldest first. If all studies are under way, a new plan is refused and nothing is lost. A plan of
// a study under way keeps its place.
func TestRoom(t *testing.T) {
	for name, b := range map[string]*brought{"by plans": newBrought(t, 3, 1<<20),
		"by bytes": newBrought(t, 100, 3*11+10)} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			// no plan's
			if err := os.WriteFile(filepath.Join(b.dir, "notes.txt"), make([]byte, 1000),
				0o600); err != nil {
				t.Fatal(err)
			}
			bring := func(n byte, want ...int) {
				t.Helper()
				if err := b.bring(study.Hash{n}); err != nil {
					t.Fatalf("plan %d: %v", n, err)
				}
				if have := b.there(); !slices.Equal(have, want) {
					t.Errorf("after plan %d there are %v, want %v", n, have, want)
				}
			}
			bring(1, 1)
			bring(2, 1, 2)
			bring(3, 1, 2, 3)
			b.underWay[study.Hash{1}] = true
			bring(4, 1, 3, 4)
			bring(3, 1, 3, 4) // again, as if its files were damaged
			b.underWay[study.Hash{3}], b.underWay[study.Hash{4}] = true, true
			err := b.bring(study.Hash{5})
			if !errors.Is(err, protocol.ErrDenied) || !strings.Contains(err.Error(), "max_plans") ||
				!strings.Contains(err.Error(), "3 of studies under way") {
				t.Errorf("a fourth: %v", err)
			}
			if have := b.there(); fmt.Sprint(have) != "[1 3 4]" {
				t.Errorf("after a refusal there are %v", have)
			}
			bring(3, 1, 3, 4)
			if err := os.RemoveAll(b.folder(study.Hash{3})); err != nil {
				t.Fatal(err)
			}
			bring(3, 1, 3, 4) // removed by hand, and its place is still free
			b.underWay[study.Hash{1}] = false
			bring(5, 3, 4, 5)
			bring(6, 3, 4, 6)
		})
	}
}

// TestRoomFails: if the studies under way cannot be read, no plan is dropped.
func TestRoomFails(t *testing.T) {
	b := newBrought(t, 1, 1<<20)
	if err := b.bring(study.Hash{1}); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the store cannot be read")
	if err := b.MakeRoom(study.Hash{2}, 11, func(h study.Hash) (bool, error) {
		return false, broken
	}); !errors.Is(err, broken) {
		t.Errorf("have %v", err)
	}
	if len(b.there()) != 1 {
		t.Error("a plan was let go of")
	}
	if _, err := b.task(context.Background(), study.Hash{2}); !errors.Is(err,
		protocol.ErrNotFound) {
		t.Errorf("a plan that was not brought: %v", err)
	}
}

// TestLimits: limits that leave no room for any plan are refused, and the error names the key to
// change.
func TestLimits(t *testing.T) {
	for key, text := range map[string]string{"max_plans": "max_plans: 0",
		"max_stored":     "max_stored: 1000000",
		"lower max_pool": "max_stored: 20000000\nmax_pool: 20000000"} {
		if _, err := parseConfig([]byte("budget: none\n" + text)); err == nil ||
			!strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if c, err := parseConfig([]byte("budget: none\nmax_plans: 1\nmax_stored: 300000000")); err != nil || c.MaxPlans != 1 || c.MaxStored != 3e8 {
		t.Errorf("have %+v, %v", c, err)
	}
}
