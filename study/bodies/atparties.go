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

// PartyReleases encodes and decodes parties' releases of one output of a plan.
//
// The encoding is unique. Its length depends only on the number of values, so the length reveals
// nothing about noise or data. It has these fields; everything else in a release follows from the
// plan:
//
//	 1  form of the values (form…)
//	32  digest of plan and release terms; 0 in a simulation
//	 8  number of the entry in the party's ledger
//	32  hash of that entry
//	 8  for each value
type PartyReleases struct {
	Plan  study.Plan
	Terms study.ReleaseTerms
	id    string // ID of the release, the same in every party's ledger
	under [sha256.Size]byte
}

const (
	formReleased byte = 2 + iota
	formSimulated
	formReal // float64 values, from a sampler for simulations
)

const publishedHead = 1 + sha256.Size + 8 + sha256.Size

// PublishedSize returns the size in bytes of a publication of n values.
func PublishedSize(n int) int { return publishedHead + 8*n }

// NewPartyReleases makes the codec for an output's terms.
func NewPartyReleases(p study.Plan, t study.ReleaseTerms) (PartyReleases, error) {
	canonical, err := p.Canonical()
	if err != nil {
		return PartyReleases{}, err
	}
	k := PartyReleases{Plan: p, Terms: t, id: study.ReleaseID(study.HashOf(canonical), t.Output)}
	if !p.Simulated { // a simulation also reads bodies without noise, made under other terms
		k.under = releasedUnder(k.claim())
	}
	return k, nil
}

// claim returns the publication that a party claims under the plan's terms, without its values.
func (p PartyReleases) claim() privacy.Published {
	return privacy.Published{ID: p.id, Mechanism: p.Terms.Mechanism.Name(),
		Parameters: privacy.ParametersOf(p.Terms.Mechanism), Bound: p.Terms.Bound,
		Simulated: p.Plan.Simulated}
}

func releasedUnder(r privacy.Published) [sha256.Size]byte {
	terms, err := json.Marshal([]any{r.ID, r.Mechanism, r.Parameters, r.Bound})
	if err != nil {
		// only an invalid unit cannot be encoded, and no ledger releases under an invalid unit
		panic(err)
	}
	return sha256.Sum256(terms)
}

// Append appends a publication to b. It must be of the party's ledger and of exactly the plan's
// terms.
func (p PartyReleases) Append(b []byte, r privacy.Published) ([]byte, error) {
	form, numbers := formReleased, r.Values
	switch {
	case r.Simulated && r.Reals != nil:
		form, numbers = formReal, make([]int64, len(r.Reals))
		for i, x := range r.Reals {
			numbers[i] = int64(math.Float64bits(x))
		}
	case r.Simulated:
		form = formSimulated
	case !r.IsUnchanged() || releasedUnder(r) != p.under:
		return nil, errors.New("encode contribution: it is not what this party's ledger released for the plan, on its terms")
	}
	b = append(append(b, form), p.under[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Sequence))
	b = append(b, r.EntryHash[:]...)
	return AppendFixed(b, numbers), nil
}

// Published decodes a publication of n values. It refuses one of another plan or other terms.
func (p PartyReleases) Published(b []byte, n int) (privacy.Published, error) {
	r := p.claim()
	if len(b) != PublishedSize(n) {
		return r, fmt.Errorf("it has %d bytes where %d numbers that were released have %d", len(b), n, PublishedSize(n))
	}
	form := b[0]
	if form < formReleased || form > formReal || (form == formReleased) == p.Plan.Simulated {
		return r, errors.New("a simulated plan takes simulated publications only, and no other takes one; or another version wrote it")
	}
	if !bytes.Equal(b[1:1+sha256.Size], p.under[:]) {
		return r, errors.New("it was released for another plan, or on other terms than plan and pool give")
	}
	r.Sequence, r.EntryHash = int64(binary.BigEndian.Uint64(b[1+sha256.Size:])),
		[sha256.Size]byte(b[publishedHead-sha256.Size:])
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

// ErrForm says that a result's fitted numbers do not have the form that the plan requires.
var ErrForm = errors.New("its fitted numbers are not of the form that the plan gives them")
