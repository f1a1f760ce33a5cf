package bodies

import (
	"errors"
	"fmt"
	"maps"

	"caucus/privacy"
	"caucus/study"
)

// AtParties reads what parties released through their own ledgers for one output of
// a plan. Nothing is left to release.
type AtParties struct {
	Plan  study.Plan
	Terms study.ReleaseTerms
	id    string // of the release in every party's ledger
}

func ReleasedAtParties(p study.Plan, t study.ReleaseTerms) (AtParties, error) {
	canonical, err := p.Canonical()
	if err != nil {
		return AtParties{}, err
	}
	return AtParties{Plan: p, Terms: t, id: study.ReleaseID(study.HashOf(canonical), t.Output)}, nil
}

// Published reads a publication of n numbers and checks that it was released
// for this plan, under exactly its terms and under the given bound.
func (k AtParties) Published(b []byte, bound privacy.Bound, n int) (privacy.Published, error) {
	r, err := privacy.ParsePublished(b)
	if err != nil {
		return r, err
	}
	name, parameters := k.Terms.Mechanism.Name(), privacy.ParametersOf(k.Terms.Mechanism)
	switch {
	case r.ID != k.id:
		return r, errors.New("it was released for another plan")
	case r.Mechanism != name || !maps.Equal(r.Parameters, parameters):
		return r, fmt.Errorf("it was released by %s %v, the plan's terms give %s %v", r.Mechanism, r.Parameters, name, parameters)
	case !r.Bound.Equal(bound):
		return r, errors.New("it was released under another bound than the plan gives")
	case len(r.Values) != n:
		return r, fmt.Errorf("it has %d released numbers, want %d", len(r.Values), n)
	}
	return r, nil
}

// ErrForm: a fitted result is not of the form that the plan gives it.
var ErrForm = errors.New("its fitted numbers are not of the form that the plan gives them")
