package privacy

import "context"

// Journal stores a ledger's entries. A ledger is as durable as its journal.
type Journal interface {
	// Update runs fn in one exclusive transaction: no other Update of the same journal, in this
	// process or another, overlaps it. If fn or anything else before the commit fails, nothing
	// that fn appended remains, and Update returns the error. It returns nil only once the
	// appended entries survive a crash of the machine. If Update fails after its commit began,
	// the entries may or may not be stored; the ledger copes with both.
	Update(ctx context.Context, fn func(Tx) error) error
}

// Tx is one transaction on a journal. Entries are never changed or deleted.
type Tx interface {
	// Head returns the entry with the highest sequence number; false if there is none.
	Head() (Entry, bool, error)
	// Find returns the entry with this id; false if there is none.
	Find(id string) (Entry, bool, error)
	// Append adds an entry with a new id and a new sequence number.
	Append(Entry) error
	// EntriesAfter returns up to n entries with higher sequence numbers than the given one, in
	// order.
	EntriesAfter(sequence int64, n int) ([]Entry, error)
}
