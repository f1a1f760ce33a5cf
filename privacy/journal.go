package privacy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

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

// Entry kinds.
const (
	KindRelease     = "release"     // Body is a Published
	KindCharge      = "charge"      // Body is a Cost, spent without a draw here
	KindReservation = "reservation" // Body is a Cost, charged before there is an answer: see Reserve
	KindAnswer      = "answer"      // Body is the Published that a reservation paid for; it costs nothing
	KindReconcile   = "reconcile"   // Body is a reconciliation; the sequence may jump
	KindPeriod      = "period"      // Body is the name of a period that begins; it costs nothing
)

// Entry is one line of a ledger. A journal stores its fields as they are.
type Entry struct {
	Sequence int64    // from 1, without gaps but at a reconciliation
	ID       string   // unique in the ledger
	Kind     string   // one of the kinds above
	Request  [32]byte // digest of what was asked: terms, never values; see asked
	Salt     [32]byte // hides in Request what the vector was made from; never shown
	Body     []byte   // canonical bytes of the answer
	Totals   []byte   // canonical bytes of Totals after this entry
	Prev     [32]byte // Hash of the entry before; zero for the first
	Hash     [32]byte // SHA-256 over all of the above but Salt: see Line
}

// seal computes the entry's hash: that of its line, see sealOf.
func (e Entry) seal() [32]byte {
	return sealOf(e.Sequence, e.ID, e.Kind, e.Request, sha256.Sum256(e.Body), e.Totals, e.Prev)
}

// totalsOf reads the totals of the head entry; none yet is nothing spent.
func totalsOf(head Entry, found bool) (Totals, error) {
	if !found {
		return NewTotals(), nil
	}
	return decodeTotals(head.Totals)
}

// encodeTotals writes canonical JSON: keys sorted, rationals as strings.
func encodeTotals(t Totals) ([]byte, error) { return json.Marshal(t) }

func decodeTotals(b []byte) (Totals, error) {
	var t Totals
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, fmt.Errorf("read ledger totals: the entry is damaged: %w", err)
	}
	return t, t.check()
}

// check says whether every unit has all its numbers.
func (t Totals) check() error {
	for _, u := range Units() {
		if s := t[u]; s.Pure == nil || s.Rho == nil || s.RestRho == nil || s.Delta == nil {
			return fmt.Errorf("read ledger totals: unit %v is incomplete, the entry is damaged", u)
		}
	}
	return nil
}

// costs are the charges of an entry, and what of them a reconciliation charged
// for which lost entry.
func (e Entry) costs() (costs []Cost, paid []Paid, err error) {
	switch e.Kind {
	case KindRelease:
		p, err := e.published()
		return []Cost{p.Cost}, nil, err
	case KindAnswer:
		_, err = e.published()
		return nil, nil, err
	case KindCharge, KindReservation:
		costs, err = decodeCosts(e.Body)
		return costs, nil, err
	case KindReconcile:
		r, err := decodeReconciliation(e.Body)
		return r.all(), r.Paid, err
	case KindPeriod:
		if e.ID != periodID+string(e.Body) {
			return nil, nil, errors.New("it begins another period than its id says")
		}
		return nil, nil, nil
	}
	return nil, nil, fmt.Errorf("unknown kind %q", e.Kind)
}

// published reads the answer of a release and stamps it with its entry.
func (e Entry) published() (Published, error) {
	p, err := decodePublished(e.Body)
	if err != nil {
		return Published{}, fmt.Errorf("read the ledger's answer: %w", err)
	}
	if entryID(e.Kind, p.ID) != e.ID || p.Sequence != e.Sequence {
		return Published{}, fmt.Errorf("read the ledger's answer: it is of release %q, number %d: the entry is damaged", p.ID, p.Sequence)
	}
	p.Entry = e.Hash
	p.sealed = p.digest()
	return p, nil
}

func encodeCosts(costs []Cost) ([]byte, error) { return json.Marshal(costs) }

func decodeCosts(b []byte) ([]Cost, error) {
	var costs []Cost
	if err := json.Unmarshal(b, &costs); err != nil {
		return nil, fmt.Errorf("read charge: %w", err)
	}
	for _, c := range costs {
		if err := c.Validate(); err != nil {
			return nil, fmt.Errorf("read charge: %w", err)
		}
	}
	return costs, nil
}
