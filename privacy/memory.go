package privacy

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// memory is a Journal for simulation and tests, which does not survive the process.
type memory struct {
	mu      sync.Mutex // guards entries and byID; held for a whole transaction
	entries []Entry
	byID    map[string]int
}

// NewMemoryJournal returns an empty journal in memory, for tests: when the program ends, charges
// are forgotten.
func NewMemoryJournal() Journal { return &memory{byID: map[string]int{}} }

func (m *memory) Update(ctx context.Context, fn func(Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("begin ledger transaction: %w", err)
	}
	tx := &memoryTx{memory: m}
	if err := fn(tx); err != nil {
		return err
	}
	for _, e := range tx.added {
		m.byID[e.ID] = len(m.entries)
		m.entries = append(m.entries, e)
	}
	return nil
}

type memoryTx struct {
	*memory
	added []Entry
}

func (m *memoryTx) Head() (Entry, bool, error) {
	if n := len(m.added); n > 0 {
		return m.added[n-1], true, nil
	}
	if n := len(m.entries); n > 0 {
		return m.entries[n-1], true, nil
	}
	return Entry{}, false, nil
}

func (m *memoryTx) Find(id string) (Entry, bool, error) {
	for _, e := range m.added {
		if e.ID == id {
			return e, true, nil
		}
	}
	if i, ok := m.byID[id]; ok {
		return m.entries[i], true, nil
	}
	return Entry{}, false, nil
}

func (m *memoryTx) Append(e Entry) error {
	if _, found, _ := m.Find(e.ID); found {
		return fmt.Errorf("append ledger entry: id %q is already there", e.ID)
	}
	if head, found, _ := m.Head(); found && e.Sequence <= head.Sequence {
		return fmt.Errorf("append ledger entry: number %d is not above %d", e.Sequence,
			head.Sequence)
	}
	m.added = append(m.added, e)
	return nil
}

func (m *memoryTx) EntriesAfter(sequence int64, n int) ([]Entry, error) {
	all := append(slices.Clone(m.entries), m.added...)
	i, _ := slices.BinarySearchFunc(all, sequence+1, func(e Entry, s int64) int {
		return int(e.Sequence - s)
	})
	return all[i:min(i+n, len(all))], nil
}
