package privacy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Digest is a SHA-256; as text it is hexadecimal.
type Digest [sha256.Size]byte

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("read digest: have %d characters, want %d", len(text), hex.EncodedLen(len(d)))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Head names the state of a ledger: its last entry. Whoever remembers a head
// elsewhere can tell later whether the ledger was cut off, put back to an older
// state, or written anew. The zero Head is an empty ledger.
type Head struct {
	Sequence int64  `json:"sequence"`
	Hash     Digest `json:"hash"`
}

// String is "sequence:hash", which ParseHead reads.
func (h Head) String() string { return fmt.Sprintf("%d:%s", h.Sequence, h.Hash) }

// ParseHead reads "sequence:hash".
func ParseHead(text string) (Head, error) {
	number, hash, ok := strings.Cut(strings.TrimSpace(text), ":")
	n, err := strconv.ParseInt(number, 10, 64)
	h := Head{Sequence: n}
	if !ok || err != nil || n < 0 || h.Hash.UnmarshalText([]byte(hash)) != nil {
		return Head{}, fmt.Errorf("read ledger head %q: want the number of an entry, a colon and its hash, as caucus ledger verify prints it", text)
	}
	return h, nil
}

// Line is what an entry of a ledger may show to others: everything but its
// answer, of which it holds the digest. The answers are private integers plus
// noise, so their digests tell no more than the guarantee allows; ids, terms,
// costs and totals come from plans and pools alone.
//
// The entry's hash is over its line, so a chain of lines can be checked without
// the answers. The costs need no hash of their own: each line's totals are the
// totals before it plus its costs, rounded up.
type Line struct {
	Sequence int64  `json:"sequence"`
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Request  Digest `json:"request"` // of the terms asked for, salted where they name private bytes
	Body     Digest `json:"body"`    // of the answer's canonical bytes
	Costs    []Cost `json:"costs"`
	Paid     []Paid `json:"paid,omitempty"` // what of Costs a reconciliation charged for which lost entry, last
	Totals   Totals `json:"totals"`         // after this entry
	Prev     Digest `json:"previous"`
	Hash     Digest `json:"hash"`
}

// Line is the entry without its answer. It fails if the entry is damaged.
func (e Entry) Line() (Line, error) {
	costs, paid, err := e.costs()
	if err != nil {
		return Line{}, err
	}
	totals, err := decodeTotals(e.Totals)
	if err != nil {
		return Line{}, err
	}
	if canonical, err := encodeTotals(totals); err != nil || !bytes.Equal(canonical, e.Totals) {
		return Line{}, errors.New("its totals are not written in the canonical way: it was changed")
	}
	return Line{
		Sequence: e.Sequence, ID: e.ID, Kind: e.Kind, Request: e.Request, Body: sha256.Sum256(e.Body),
		Costs: costs, Paid: paid, Totals: totals, Prev: e.Prev, Hash: e.Hash,
	}, nil
}

// Head names the state of the ledger when this line was its last.
func (l Line) Head() Head { return Head{l.Sequence, l.Hash} }

// sealOf computes an entry's hash: SHA-256 over each field in order, each with
// its length before it, so that no two entries have the same bytes.
func sealOf(sequence int64, id, kind string, request, body Digest, totals []byte, prev Digest) Digest {
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

// Check says whether the line's hash is that of its content. What came before
// it is for a Chain to say.
func (l Line) Check() error {
	for _, c := range l.Costs {
		if err := c.Validate(); err != nil {
			return fmt.Errorf("read charge: %w", err)
		}
	}
	if err := l.Totals.check(); err != nil {
		return err
	}
	totals, err := encodeTotals(l.Totals)
	if err != nil {
		return err
	}
	if sealOf(l.Sequence, l.ID, l.Kind, l.Request, l.Body, totals, l.Prev) != l.Hash {
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
	} else if l.Paid != nil {
		return errors.New("only a reconciliation pays for lost entries: it was changed")
	}
	least := NewTotals()
	for _, c := range l.Costs {
		least = least.Plus(c)
	}
	for u, want := range least {
		have := l.Totals[u]
		if have.Charges < want.Charges || have.Unproven < want.Unproven || have.Pure.Cmp(want.Pure) < 0 ||
			have.Rho.Cmp(want.Rho) < 0 || have.RestRho.Cmp(want.RestRho) < 0 || have.Delta.Cmp(want.Delta) < 0 {
			return errors.New("its totals are less than it charges itself")
		}
	}
	return nil
}

// reconciliation splits the costs into those for named entries and the others.
func (l Line) reconciliation() (reconciliation, error) {
	named := 0
	for _, p := range l.Paid {
		if p.Entry == (Digest{}) {
			return reconciliation{}, errors.New("it pays for an entry without a hash: it was changed")
		}
		named += len(p.Costs)
	}
	if named > len(l.Costs) {
		return reconciliation{}, errors.New("it names more costs than it charges: it was changed")
	}
	r := reconciliation{l.Costs[:len(l.Costs)-named], l.Paid}
	if !slices.EqualFunc(r.all(), l.Costs, Cost.equal) {
		return reconciliation{}, errors.New("it charges other costs than it names: it was changed")
	}
	return r, nil
}

// Answers says whether p is the answer that the line's entry released: its id,
// number, terms, values and cost.
func (l Line) Answers(p Published) error {
	switch {
	case l.Kind != KindRelease && l.Kind != KindAnswer:
		return fmt.Errorf("ledger entry %d is a %s, not a release", l.Sequence, l.Kind)
	case l.ID != entryID(l.Kind, p.ID) || l.Sequence != p.Sequence:
		return fmt.Errorf("ledger entry %d is about %q, the publication is number %d, about %q", l.Sequence, l.ID, p.Sequence, p.ID)
	case Digest(sha256.Sum256(encodePublished(p))) != l.Body:
		return fmt.Errorf("ledger entry %d is about another answer than this publication: its values or terms were changed", l.Sequence)
	case l.Hash != Digest(p.Entry):
		return fmt.Errorf("the publication names another entry than ledger entry %d", l.Sequence)
	case l.Kind == KindAnswer && len(l.Costs) == 0: // its reservation charged it
		return nil
	case len(l.Costs) != 1 || !l.Costs[0].equal(p.Cost):
		return fmt.Errorf("ledger entry %d charges something else than the publication costs", l.Sequence)
	}
	return nil
}

// Chain follows a ledger's lines from the first one.
type Chain struct {
	totals Totals
	last   Line
	hashes map[int64]Digest
	jumps  []jump
	paid   map[Digest][]Cost // what was charged again for lost entries, by name
	open   reservations      // without an answer
}

// jump is numbers that a reconciliation passed over, from the entry before to the
// reconciliation itself, and what it charged for them without naming them.
type jump struct {
	from, to int64
	charged  []Cost
}

// NewChain is a chain without lines.
func NewChain() *Chain {
	return &Chain{totals: NewTotals(), hashes: map[int64]Digest{}, paid: map[Digest][]Cost{}}
}

// Follow adds the next line, after checking its hash, that it follows the one
// before it, and that its totals are the sum of all charges so far. After an
// error the chain is as it was.
func (c *Chain) Follow(l Line) error {
	if err := l.Check(); err != nil {
		return err
	}
	switch {
	case l.Prev != c.last.Hash:
		return errors.New("it does not follow the entry before it: one was changed or removed")
	case l.Sequence <= c.last.Sequence, l.Sequence != c.last.Sequence+1 && l.Kind != KindReconcile:
		return fmt.Errorf("its number does not follow %d", c.last.Sequence)
	}
	switch l.Kind {
	case KindReconcile:
	case KindRelease, KindCharge, KindReservation:
		if len(l.Costs) != 1 {
			return fmt.Errorf("a %s has one cost, this has %d", l.Kind, len(l.Costs))
		}
	case KindPeriod:
		if len(l.Costs) != 0 {
			return errors.New("a period begins at no cost, this has one")
		}
	case KindAnswer:
		if len(l.Costs) != 0 {
			return errors.New("the reservation of an answer was charged, so the answer costs nothing; this has a cost")
		}
	default:
		return fmt.Errorf("unknown kind %q", l.Kind)
	}
	totals := c.totals
	for _, cost := range l.Costs {
		totals = totals.Plus(cost)
	}
	want, err := encodeTotals(totals)
	if err != nil {
		return err
	}
	if have, err := encodeTotals(l.Totals); err != nil || !bytes.Equal(want, have) {
		return errors.New("its totals are not the sum of the charges")
	}
	r, err := l.reconciliation()
	if err != nil {
		return err
	}
	open, err := c.open.with(l)
	if err != nil {
		return err
	}
	if l.Kind == KindReconcile {
		if r.Costs, err = c.open.chargedAgain(r.Costs); err != nil {
			return err
		}
	}
	if l.Sequence != c.last.Sequence+1 {
		c.jumps = append(c.jumps, jump{c.last.Sequence, l.Sequence, r.Costs})
	}
	for _, p := range r.Paid {
		c.paid[p.Entry] = append(c.paid[p.Entry], p.Costs...)
	}
	c.totals, c.last, c.open = totals, l, open
	c.hashes[l.Sequence] = l.Hash
	return nil
}

// Head is the chain's last line.
func (c *Chain) Head() Head { return c.last.Head() }

// Recall holds the chain against a head that someone remembered: nil if it was
// in this chain. A head without a hash is compared by its number. An entry that
// a reconciliation names or passed over was lost: that is no error, and lost is
// true. Whether what was reconciled pays for it is for Unpaid to say.
func (c *Chain) Recall(h Head) (lost bool, err error) {
	hash, there := c.hashes[h.Sequence]
	switch {
	case h.Sequence == 0 || there && (hash == h.Hash || h.Hash == Digest{}):
		return false, nil
	case c.named(h.Hash):
		return true, nil
	case there:
		return false, fmt.Errorf("entry %d was %s once and is %s now: the ledger was put back to an older state and went on, or was written anew", h.Sequence, h.Hash, hash)
	}
	for _, j := range c.jumps {
		if j.from < h.Sequence && h.Sequence < j.to {
			return true, nil
		}
	}
	return false, fmt.Errorf("it ends at entry %d, but was at %d once: its end was cut off, or it was put back to an older state", c.last.Sequence, h.Sequence)
}

// named says whether a reconciliation names a lost entry.
func (c *Chain) named(h Digest) bool {
	_, named := c.paid[h]
	return named
}

// Unpaid are those of the lines that a reconciliation names or passed over
// without charging what they cost, each line once.
func (c *Chain) Unpaid(lines []Line) (unpaid []Line) {
	left := make([][]Cost, len(c.jumps))
	for i, j := range c.jumps {
		left[i] = slices.Clone(j.charged)
	}
	seen := map[Digest]bool{}
	for _, l := range lines {
		i := slices.IndexFunc(c.jumps, func(j jump) bool { return j.from < l.Sequence && l.Sequence < j.to })
		paid, named := slices.Clone(c.paid[l.Hash]), c.named(l.Hash)
		if i < 0 && !named || seen[l.Hash] {
			continue
		}
		seen[l.Hash] = true
		if !named {
			paid = left[i]
		}
		for _, cost := range l.Costs {
			at := slices.IndexFunc(paid, cost.equal)
			if at < 0 {
				unpaid = append(unpaid, l)
				break
			}
			paid = slices.Delete(paid, at, at+1)
		}
		if !named {
			left[i] = paid
		}
	}
	return unpaid
}

// Totals is what all lines so far spent.
func (c *Chain) Totals() Totals { return c.totals }

// Verify walks the whole chain: sequence numbers, hashes, links, and totals
// recomputed from every charge. It returns the totals. Pages are read in
// transactions of their own, so releases go on meanwhile.
func Verify(ctx context.Context, j Journal) (Totals, error) {
	c, err := Walk(ctx, j, func(Line) error { return nil })
	if err != nil {
		return nil, err
	}
	return c.Totals(), nil
}

// Walk verifies a journal as Verify does and hands each good line to fn, whose
// error ends the walk.
func Walk(ctx context.Context, j Journal, fn func(Line) error) (*Chain, error) {
	const page = 256
	chain := NewChain()
	for {
		var entries []Entry
		err := j.Update(ctx, func(tx Tx) (err error) {
			entries, err = tx.After(chain.last.Sequence, page)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("verify ledger: %w", err)
		}
		for _, e := range entries {
			l, err := e.Line()
			if err == nil {
				err = chain.Follow(l)
			}
			if err == nil {
				err = fn(l)
			}
			if err != nil {
				return nil, fmt.Errorf("verify ledger: entry %d: %w", e.Sequence, err)
			}
		}
		if len(entries) < page {
			return chain, nil
		}
	}
}

// HeadOf is the head of a journal, the zero Head of an empty one.
func HeadOf(ctx context.Context, j Journal) (h Head, err error) {
	err = j.Update(ctx, func(tx Tx) error {
		head, _, err := tx.Head()
		h = Head{head.Sequence, head.Hash}
		return err
	})
	if err != nil {
		return Head{}, fmt.Errorf("read ledger: %w", err)
	}
	return h, nil
}

// LineOf finds the line of an id in a journal; false if there is none. It does
// not verify the chain.
func LineOf(ctx context.Context, j Journal, id string) (l Line, found bool, err error) {
	err = j.Update(ctx, func(tx Tx) (err error) {
		var e Entry
		if e, found, err = tx.Find(id); err == nil && found {
			l, err = e.Line()
		}
		return err
	})
	if err != nil {
		return Line{}, false, fmt.Errorf("read ledger: %w", err)
	}
	return l, found, nil
}
