package evidence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// LineFinder finds the line of an ID (study.ReleaseID) in a ledger, like privacy.FindLine. found is
// false if there is no line.
type LineFinder func(id string) (l privacy.Line, found bool, err error)

// CompareCoordinator compares a coordinator's ledger with a release. If the coordinator added the
// noise, the ledger must have exactly the entries that the release names. If each site added noise,
// it must have none of these. An entry may be missing if the chain shows a later reconciliation,
// which charges lost entries again. Recall checks that the reconciliation charged them.
func CompareCoordinator(r protocol.SignedRelease, keys protocol.Verifier,
	chain *privacy.LedgerChain,
	ledger LineFinder) []Finding {
	var f findings
	p, err := kinds.PlanOf(r.Release)
	if err != nil {
		f.add(Fails, "plan", "%v", err)
		return f
	}
	f.signedBy(r, keys)
	for _, cost := range r.Release.Costs {
		id := study.ReleaseID(r.Release.PlanHash, p.Noise.LedgerOutput(cost.Output))
		line, found, err := ledger(id)
		if err != nil {
			f.add(Fails, "charge", "the ledger cannot be read: %v", err)
			continue
		}
		named := slices.IndexFunc(r.Release.Ledger, func(l privacy.Line) bool { return l.ID == id })
		if !found && named >= 0 {
			if lost, err := chain.CheckHead(r.Release.Ledger[named].Head()); lost && err == nil {
				continue
			}
		}
		f.entry(cost.Output, p, r.Release.Ledger, named, line, found)
	}
	return f
}

func (f *findings) entry(output string, p study.Plan, lines []privacy.Line, named int,
	have privacy.Line, found bool) {
	switch {
	case p.Noise.AddedAtSite() && !found:
		f.add(Holds, "charge", "each party released %s itself, and this ledger was charged nothing for it", output)
	case p.Noise.AddedAtSite():
		f.add(Fails, "charge", "each party released %s itself, but this ledger was charged for it in entry %d", output, have.Sequence)
	case !found:
		f.add(Fails, "charge", "the release names an entry for %s that this ledger does not have: its end was cut off, or it was put back to an older state", output)
	case named < 0:
		f.add(Fails, "charge", "this ledger was charged for %s in entry %d, which the release does not name", output, have.Sequence)
	case !sameLine(lines[named], have):
		f.add(Fails, "charge", "entry %d of this ledger is not the one that the release names (%s): %s was released a second time, or the ledger was written anew", have.Sequence, lines[named].Head(), output)
	default:
		f.add(Holds, "charge", "entry %d of this ledger is the one that the release names for %s: %s", have.Sequence, output, have.Costs[0])
	}
}

func sameLine(a, b privacy.Line) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// LedgerMemory holds what others remember of a ledger. With it, CompareMemory finds that a ledger
// was truncated or restored from an old backup.
type LedgerMemory struct {
	// Heads are earlier states of the ledger.
	Heads []RememberedHead
	// QuotedHeads are heads of the coordinator's ledger that the coordinator sent to a site, and
	// QuoteError a contradiction among them (function QuotedHeads). Both are empty for a site's own
	// ledger.
	QuotedHeads []privacy.Head
	QuoteError  error
	// Releases name entries that the ledger must have, or must have charged again after losing
	// them.
	Releases []ReleasedLines
}

// RememberedHead is a head (last entry) of a ledger, and who remembers it. The zero Head is an
// empty ledger's. If a head has no hash, only its number is compared.
type RememberedHead struct {
	Head privacy.Head
	Who  string
}

// ReleasedLines are the ledger lines that a release of the coordinator names (ReleaseLines).
type ReleasedLines struct {
	Lines []privacy.Line
	Who   string
}

// ReleaseLines checks a release's signature, with the key in the release if key is nil. It returns
// the ledger lines in the release, after checking each against its hash.
func ReleaseLines(r protocol.SignedRelease, key protocol.Verifier) ([]privacy.Line, error) {
	if key == nil {
		key = r.Signer
	}
	if err := r.Check(key); err != nil {
		return nil, err
	}
	for _, l := range r.Release.Ledger {
		if err := l.Check(); err != nil {
			return nil, fmt.Errorf("ledger entry %d: %w", l.Sequence, err)
		}
	}
	return r.Release.Ledger, nil
}

// CheckChain reports whether a ledger's chain of entries is unbroken. broken is the error of
// privacy.VerifyEach or ReadLines.
func CheckChain(entries int, broken error) []Finding {
	var f findings
	switch {
	case broken != nil:
		f.add(Fails, "chain", "%v", broken)
	case entries == 0:
		f.add(Holds, "chain", "it has no entries: nothing was spent")
	default:
		f.add(Holds, "chain", "%d entries: each has the hash of its content and follows the one before, and its totals are the sum of all charges so far", entries)
	}
	return f
}

// CompareMemory compares a ledger's chain with everything that others remember of the ledger. It
// finds lost entries and a restored ledger, and says whether a reconciliation charged lost entries
// again.
func CompareMemory(chain *privacy.LedgerChain, m LedgerMemory) []Finding {
	var f findings
	known := 0
	for _, h := range m.Heads {
		known += f.remembered(chain, h)
	}
	switch {
	case m.QuoteError != nil:
		f.add(Fails, "coordinator", "%v", m.QuoteError)
	case len(m.QuotedHeads) > 0:
		last := m.QuotedHeads[len(m.QuotedHeads)-1]
		f.add(Holds, "coordinator", "its receipts and releases quote its own ledger up to entry %d, and never backwards; compare with caucus ledger verify --dir there, --expect %s", last.Sequence, last)
	}
	var named []privacy.Line
	for _, r := range m.Releases {
		for _, l := range r.Lines {
			known += f.remembered(chain, RememberedHead{l.Head(), r.Who})
		}
		named = append(named, r.Lines...)
	}
	for _, l := range chain.UnpaidLines(named) {
		f.add(Fails, "remembered", "entry %d was lost, and the reconciliation after it does not charge what it cost, %s", l.Sequence, l.Costs)
	}
	if known == 0 {
		f.add(Unchecked, "remembered", "nothing kept elsewhere was given, so an end that was cut off would not be noticed: write the head down and give it with --expect next time")
	} else {
		f.add(NotProvable, "remembered", "that no newer entry was deleted: nothing here can show it")
	}
	return f
}

// remembered looks for a remembered head in the chain and returns its number, 0 for an empty
// ledger.
func (f *findings) remembered(chain *privacy.LedgerChain, r RememberedHead) int {
	if r.Head.Sequence == 0 {
		return 0
	}
	switch lost, err := chain.CheckHead(r.Head); {
	case err != nil:
		f.add(Fails, "remembered", "%s: %v", r.Who, err)
	case lost:
		f.add(NotProvable, "remembered", "%s: entry %d was lost, and the ledger was reconciled after it: that what was charged then covers it", r.Who, r.Head.Sequence)
	default:
		f.add(Holds, "remembered", "%s names entry %d, which is in the ledger", r.Who,
			r.Head.Sequence)
	}
	return 1
}

// QuotedHeads returns, in order, the heads of the coordinator's ledger that a party got in receipts
// and release lines. It returns an error if two heads prove that the ledger was restored or
// rewritten. The caller checks signatures.
func QuotedHeads(receipts []protocol.Receipt, released []privacy.Head) ([]privacy.Head, error) {
	receipts = slices.SortedFunc(slices.Values(receipts), func(a, b protocol.Receipt) int {
		return a.Received.Compare(b.Received)
	})
	heads := slices.Clone(released)
	var last privacy.Head
	for _, r := range receipts {
		if r.Ledger.Sequence < last.Sequence {
			return heads, fmt.Errorf("the coordinator's ledger went back from entry %d to %d before %s: it was put back to an older state and may have released studies twice", last.Sequence, r.Ledger.Sequence, r.Received.Format("2006-01-02 15:04"))
		}
		last = r.Ledger
		if last.Sequence > 0 {
			heads = append(heads, last)
		}
	}
	slices.SortFunc(heads, func(a, b privacy.Head) int {
		return cmp.Compare(a.Sequence, b.Sequence)
	})
	for i := 1; i < len(heads); i++ {
		if a, b := heads[i-1], heads[i]; a.Sequence == b.Sequence && a.Hash != b.Hash {
			return heads, fmt.Errorf("the coordinator signed two different entries %d of its ledger: it was put back to an older state and went on, or was written anew", a.Sequence)
		}
	}
	return slices.Compact(heads), nil
}
