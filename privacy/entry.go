package privacy

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	KindRelease = "release" // Body is a Published
	KindCharge  = "charge"  // Body is a list of one Cost, spent without a draw here
	// Body is a list of one Cost, charged before there is an answer: see Reserve
	KindReservation = "reservation"
	// Body is the Published that a reservation paid for; it costs nothing
	KindResult    = "answer"
	KindReconcile = "reconcile" // Body is a reconciliation; the sequence may jump
	KindPeriod    = "period"    // Body is the name of the period that begins; it costs nothing
)

// periodID begins the id of an entry that begins a period: "period/2026".
const periodID = "period/"

const answerID = "answer/"

func entryID(kind, id string) string {
	if kind == KindResult {
		return answerID + id
	}
	return id
}

// Entry is one line of a ledger. A journal stores its fields unchanged.
type Entry struct {
	Sequence      int64  // from 1, without gaps except at a reconciliation
	ID            string // unique in the ledger
	Kind          string
	RequestDigest [32]byte // digest of the request's public terms and of its source (see asked)
	// keeps others from guessing the source behind RequestDigest; never leaves the journal
	Salt   [32]byte
	Body   []byte   // canonical bytes of the answer
	Totals []byte   // canonical bytes of Totals after this entry
	Prev   [32]byte // Hash of the entry before; zero for the first
	// SHA-256 of the entry's Line, which has no Salt, and a digest in place of Body
	Hash [32]byte
}

func (e Entry) seal() [32]byte {
	return sealOf(e.Sequence, e.ID, e.Kind, e.RequestDigest, sha256.Sum256(e.Body), e.Totals,
		e.Prev)
}

// sealOf computes an entry's hash: SHA-256 over each field in order, preceded by its length, so
// that no two entries hash the same bytes.
func sealOf(sequence int64, id, kind string, request, body Digest, totals []byte,
	prev Digest) Digest {
	h := sha256.New()
	field := func(b []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		h.Write(b)
	}
	field([]byte("caucus ledger entry 2"))
	field(binary.BigEndian.AppendUint64(nil, uint64(sequence)))
	field([]byte(id))
	field([]byte(kind))
	field(request[:])
	field(body[:])
	field(totals)
	field(prev[:])
	return Digest(h.Sum(nil))
}

// costs returns all charges of an entry. paid holds those that a reconciliation made for named lost
// entries.
func (e Entry) costs() (costs []Cost, paid []Recharge, err error) {
	switch e.Kind {
	case KindRelease:
		p, err := e.published()
		return []Cost{p.Cost}, nil, err
	case KindResult:
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

func (e Entry) published() (Published, error) {
	p, err := decodePublished(e.Body)
	if err != nil {
		return Published{}, fmt.Errorf("read the ledger's answer: %w", err)
	}
	if entryID(e.Kind, p.ID) != e.ID || p.Sequence != e.Sequence {
		return Published{}, fmt.Errorf("read the ledger's answer: it is of release %q, number %d: the entry is damaged", p.ID, p.Sequence)
	}
	p.EntryHash = e.Hash
	p.sealed = p.digest()
	return p, nil
}

func totalsOf(head Entry, found bool) (Totals, error) {
	if !found {
		return NewTotals(), nil
	}
	return decodeTotals(head.Totals)
}
