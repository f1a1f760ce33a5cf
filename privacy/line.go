package privacy

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Head identifies a ledger's state by its last entry. Whoever remembers a head can tell later if
// the ledger was cut off, rolled back or rewritten. The zero Head is an empty ledger.
type Head struct {
	Sequence int64  `json:"sequence"`
	Hash     Digest `json:"hash"`
}

// String writes "sequence:hash", which ParseHead reads back.
func (h Head) String() string { return fmt.Sprintf("%d:%s", h.Sequence, h.Hash) }

// ParseHead reads "sequence:hash", with spaces around it or none. The number must not be negative,
// the hash has 64 hexadecimal digits. It does not ask any ledger whether such an entry exists.
func ParseHead(text string) (Head, error) {
	number, hash, ok := strings.Cut(strings.TrimSpace(text), ":")
	n, err := strconv.ParseInt(number, 10, 64)
	h := Head{Sequence: n}
	if !ok || err != nil || n < 0 || h.Hash.UnmarshalText([]byte(hash)) != nil {
		return Head{}, fmt.Errorf("read ledger head %q: want the number of an entry, a colon and its hash, as caucus ledger verify prints it", text)
	}
	return h, nil
}

// Line is what others may see of a ledger entry: everything, with a digest in place of the answer.
// CheckResult are private integers plus noise, so their digests reveal no more than the guarantee
// allows. Ids, terms, costs and totals come from plans and pools alone.
//
// The entry's hash covers its line, so a chain of lines can be checked without the answers. The
// hash leaves out the costs, because a line's totals are the totals before it plus its costs,
// rounded up.
type Line struct {
	Sequence int64  `json:"sequence"`
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	// digest of the request, salted if private bytes are part of it
	Request Digest `json:"request"`
	Body    Digest `json:"body"` // of the answer's canonical bytes
	Costs   []Cost `json:"costs"`
	// the last of Costs, charged by a reconciliation for named lost entries
	Recharges []Recharge `json:"paid,omitempty"`
	// after this entry; none at patient in an entry made before there was that unit
	Totals Totals `json:"totals"`
	Prev   Digest `json:"previous"`
	Hash   Digest `json:"hash"`
}

// Line returns the entry without its answer. It fails if the entry is damaged.
func (e Entry) Line() (Line, error) {
	costs, paid, err := e.costs()
	if err != nil {
		return Line{}, err
	}
	totals, err := sealedTotals(e.Totals)
	if err != nil {
		return Line{}, err
	}
	if canonical, err := encodeTotals(totals); err != nil || !bytes.Equal(canonical, e.Totals) {
		return Line{}, errors.New("its totals are not written in the canonical way: it was changed")
	}
	return Line{
		Sequence: e.Sequence, ID: e.ID, Kind: e.Kind, Request: e.RequestDigest, Body: sha256.Sum256(e.Body),
		Costs: costs, Recharges: paid, Totals: totals, Prev: e.Prev, Hash: e.Hash,
	}, nil
}

// Head returns the head of the ledger when this line was its last.
func (l Line) Head() Head { return Head{l.Sequence, l.Hash} }

// Check checks that the line's hash matches its content. A Chain checks its place among other
// lines.
func (l Line) Check() error {
	for _, c := range l.Costs {
		if err := c.Validate(); err != nil {
			return fmt.Errorf("read charge: %w", err)
		}
	}
	if err := l.Totals.check(); err != nil {
		return err
	}
	text, err := encodeTotals(l.Totals)
	if err != nil {
		return err
	}
	if sealOf(l.Sequence, l.ID, l.Kind, l.Request, l.Body, text, l.Prev) != l.Hash {
		return errors.New("its hash does not match its content: it was changed")
	}
	if l.Kind == KindReconcile {
		r, err := l.reconciliation()
		if err != nil {
			return err
		}
		if body, err := r.encode(); err != nil || Digest(sha256.Sum256(body)) != l.Body {
			return errors.New("it did not charge this, for these lost entries: it was changed")
		}
	} else if l.Recharges != nil {
		return errors.New("only a reconciliation pays for lost entries: it was changed")
	}
	least, totals := NewTotals(), l.Totals.Filled()
	for _, c := range l.Costs {
		least = least.Plus(c)
	}
	for u, want := range least {
		have := totals[u]
		if have.Charges < want.Charges || have.WithoutGuarantee < want.WithoutGuarantee ||
			have.Pure.Cmp(want.Pure) < 0 ||
			have.Rho.Cmp(want.Rho) < 0 || have.ImpureRho.Cmp(want.ImpureRho) < 0 ||
			have.Delta.Cmp(want.Delta) < 0 {
			return errors.New("its totals are less than it charges itself")
		}
	}
	return nil
}

func (l Line) reconciliation() (reconciliation, error) {
	named := 0
	for _, p := range l.Recharges {
		if p.Entry == (Digest{}) {
			return reconciliation{}, errors.New("it pays for an entry without a hash: it was changed")
		}
		named += len(p.Costs)
	}
	if named > len(l.Costs) {
		return reconciliation{}, errors.New("it names more costs than it charges: it was changed")
	}
	r := reconciliation{l.Costs[:len(l.Costs)-named], l.Recharges}
	if !slices.EqualFunc(r.all(), l.Costs, Cost.equal) {
		return reconciliation{}, errors.New("it charges other costs than it names: it was changed")
	}
	return r, nil
}

// CheckResult checks that p is the answer that the line's entry released.
func (l Line) CheckResult(p Published) error {
	switch {
	case l.Kind != KindRelease && l.Kind != KindResult:
		return fmt.Errorf("ledger entry %d is a %s, not a release", l.Sequence, l.Kind)
	case l.ID != entryID(l.Kind, p.ID) || l.Sequence != p.Sequence:
		return fmt.Errorf("ledger entry %d is about %q, the publication is number %d, about %q", l.Sequence, l.ID, p.Sequence, p.ID)
	case Digest(sha256.Sum256(encodePublished(p))) != l.Body:
		return fmt.Errorf("ledger entry %d is about another answer than this publication: its values or terms were changed", l.Sequence)
	case l.Hash != Digest(p.EntryHash):
		return fmt.Errorf("the publication names another entry than ledger entry %d", l.Sequence)
	case l.Kind == KindResult && len(l.Costs) == 0: // its reservation was charged
		return nil
	case len(l.Costs) != 1 || !l.Costs[0].equal(p.Cost):
		return fmt.Errorf("ledger entry %d charges something else than the publication costs", l.Sequence)
	}
	return nil
}
