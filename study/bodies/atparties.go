package bodies

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"caucus/privacy"
	"caucus/study"
)

// AtParties writes and reads what parties released through their own ledgers for one output
// of a plan. Nothing is left to release.
//
// The bytes are as many as the numbers make them, whatever the numbers are: who counts the
// bytes on the wire learns nothing of noise or of what is under it, and there is one way to
// write them. All but these follows from the plan:
//
//	 1  what the numbers are (form…)
//	32  digest of what they were released under: of another plan it is another; 0 of a simulation
//	 8  number of the entry in the party's ledger
//	32  hash of that entry
//	 8  for each number
type AtParties struct {
	Plan  study.Plan
	Terms study.ReleaseTerms
	id    string // of the release in every party's ledger
	under [sha256.Size]byte
}

// What the numbers are: a real plan takes the first alone, a simulated one the others.
const (
	formReleased byte = 2 + iota
	formSimulated
	formReal // simulated by a literal sampler: bits of a float64
)

const publishedHead = 1 + sha256.Size + 8 + sha256.Size

// PublishedSize is how many bytes a publication of n numbers has.
func PublishedSize(n int) int { return publishedHead + 8*n }

// ReleasedAtParties is for the terms of an output, with the bound of each party's release.
func ReleasedAtParties(p study.Plan, t study.ReleaseTerms) (AtParties, error) {
	canonical, err := p.Canonical()
	if err != nil {
		return AtParties{}, err
	}
	k := AtParties{Plan: p, Terms: t, id: study.ReleaseID(study.HashOf(canonical), t.Output)}
	if !p.Simulated { // a simulation adds one draft to two studies: with its noise and without
		k.under = releasedUnder(k.claim())
	}
	return k, nil
}

// claim is a publication under exactly the plan's terms, with no numbers yet.
func (k AtParties) claim() privacy.Published {
	return privacy.Published{ID: k.id, Mechanism: k.Terms.Mechanism.Name(), Parameters: privacy.ParametersOf(k.Terms.Mechanism), Bound: k.Terms.Bound, Simulated: k.Plan.Simulated}
}

// releasedUnder digests the plan and output of a publication, its mechanism and its bound, whole.
func releasedUnder(r privacy.Published) [sha256.Size]byte {
	terms, err := json.Marshal([]any{r.ID, r.Mechanism, r.Parameters, r.Bound})
	if err != nil {
		panic(err) // a bound of an invalid unit: no ledger releases under one
	}
	return sha256.Sum256(terms)
}

// Append writes a publication after what b holds. A party sends nothing that its ledger did
// not release under exactly the plan's terms.
func (k AtParties) Append(b []byte, r privacy.Published) ([]byte, error) {
	form, numbers := formReleased, r.Values
	switch {
	case r.Simulated && r.Reals != nil:
		form, numbers = formReal, make([]int64, len(r.Reals))
		for i, x := range r.Reals {
			numbers[i] = int64(math.Float64bits(x))
		}
	case r.Simulated:
		form = formSimulated
	case !r.Genuine() || releasedUnder(r) != k.under:
		return nil, errors.New("encode contribution: it is not what this party's ledger released for the plan, on its terms")
	}
	b = append(append(b, form), k.under[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Sequence))
	b = append(b, r.Entry[:]...)
	return AppendFixed(b, numbers), nil
}

// Published reads a publication of n numbers, which was released for this plan, under exactly
// its terms.
func (k AtParties) Published(b []byte, n int) (privacy.Published, error) {
	r := k.claim()
	if len(b) != PublishedSize(n) {
		return r, fmt.Errorf("it has %d bytes where %d numbers that were released have %d", len(b), n, PublishedSize(n))
	}
	form := b[0]
	if form < formReleased || form > formReal || (form == formReleased) == k.Plan.Simulated {
		return r, errors.New("a simulated plan takes simulated publications only, and no other takes one; or another version wrote it")
	}
	if !bytes.Equal(b[1:1+sha256.Size], k.under[:]) {
		return r, errors.New("it was released for another plan, or on other terms than plan and pool give")
	}
	r.Sequence, r.Entry = int64(binary.BigEndian.Uint64(b[1+sha256.Size:])), [sha256.Size]byte(b[publishedHead-sha256.Size:])
	numbers, err := ParseFixed(b[publishedHead:], n)
	if err != nil || form != formReal {
		r.Values = numbers
		return r, err
	}
	for _, v := range numbers {
		x := math.Float64frombits(uint64(v))
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return r, errors.New("a number is not finite")
		}
		r.Reals = append(r.Reals, x)
	}
	return r, nil
}

// ErrForm: a fitted result is not of the form that the plan gives it.
var ErrForm = errors.New("its fitted numbers are not of the form that the plan gives them")
