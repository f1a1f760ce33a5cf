package protocol

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"caucus/privacy"
	"caucus/study"
)

// HelperRelease is a helper's state when it released a share: the number of its transaction, and
// its ledger's line. A helper whose files were never restored signs no number twice.
type HelperRelease struct {
	Key        SignerKey      `json:"key"`
	Step       int64          `json:"step"`
	LedgerHead privacy.Head   `json:"line"`
	Previous   privacy.Digest `json:"previous"` // hash of the line before
}

// HelperReleaseOf returns the helper's state from a release, if the helper signed it.
func HelperReleaseOf(r study.Release) (l HelperRelease, ok bool) {
	a := r.Aggregated
	if a == nil || a.HelperLine == nil || len(r.Published) != study.Servers ||
		l.Key.UnmarshalText([]byte(a.Keys[1])) != nil {
		return l, false
	}
	share := AggregateShareOf(r, 1)
	l.Step, l.LedgerHead, l.Previous = a.Step, a.HelperLine.Head(), a.HelperLine.Prev
	return l, l.Key.Verify(ShareDocument, share.Document, share.Signature) == nil &&
		a.HelperLine.Check() == nil
}

// CheckHelperReleases detects a helper that was restored to an older state between two signatures:
// it signed a number twice, its steps and its ledger's numbers are in different orders, or a line
// does not follow the line before.
func CheckHelperReleases(all []HelperRelease) error {
	all = slices.SortedFunc(slices.Values(all), func(a, b HelperRelease) int {
		return cmp.Or(bytes.Compare(a.Key[:], b.Key[:]),
			cmp.Compare(a.LedgerHead.Sequence, b.LedgerHead.Sequence))
	})
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if a.Key != b.Key || a == b {
			continue
		}
		next := a.LedgerHead.Sequence + 1
		if b.LedgerHead.Sequence < next || b.Step <= a.Step || b.LedgerHead.Sequence == next &&
			b.Previous != a.LedgerHead.Hash {
			return fmt.Errorf("the helper with key %s signed two releases, lines %s and %s of its ledger (steps %d and %d), of which one was forgotten when it signed the other: it was put back to an older state, and may have drawn noise twice for one study", a.Key, a.LedgerHead, b.LedgerHead, a.Step, b.Step)
		}
	}
	return nil
}
