package privacy

import "context"

// Journal keeps a ledger's entries. A ledger is as durable as its journal.
type Journal interface {
	// Update runs fn in one exclusive transaction: no other Update of the same
	// journal, in this process or another, overlaps it. If fn fails, or
	// anything before the commit does, nothing of fn remains and the error is
	// returned. Update returns nil only once what fn appended survives a crash
	// of the machine. If it returns an error after its commit began, the
	// entries may or may not be there; the ledger copes with both.
	Update(ctx context.Context, fn func(Tx) error) error
}

// Tx is one transaction on a journal. Entries are never changed or deleted.
type Tx interface {
	// Head returns the entry with the highest sequence number; false if none.
	Head() (Entry, bool, error)
	// Find returns the entry with this id; false if none.
	Find(id string) (Entry, bool, error)
	// Append adds an entry. Its id and its sequence number are new.
	Append(Entry) error
	// After returns up to n entries with sequence numbers above the given
	// one, in order.
	After(sequence int64, n int) ([]Entry, error)
}
