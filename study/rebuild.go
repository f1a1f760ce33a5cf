package study

import (
	"bytes"
	"fmt"
	"slices"

	"caucus/auxdata"
	"caucus/privacy"
)

// rebuilt is the release that plan, pool, roster and published numbers give, with
// what is the coordinator's word alone taken from r, and nothing else: who of the
// roster contributed, how many records a sum is over, the lines of its ledger, the
// program's version, and numbers that were fitted to features which readers do not
// get (see restater). A field that is filled in neither here nor in Conclude is
// empty, so a release that has anything in it is another one. unseen says in words
// which of the result's numbers were fitted to features, "" if none.
func (r Release) rebuilt(t Task, published []privacy.Published) (want Release, unseen string, err error) {
	p, pool := t.Plan(), t.Pool()
	fail := func(err error) (Release, string, error) { return Release{}, "", err }
	want = Release{Manifest: claim(p, r.PlanHash, pool)}
	if want.Plan, err = p.Canonical(); err != nil {
		return fail(err)
	}
	want.Software = r.Software
	want.Contributed, want.Missing = partition(p.Roster, r.Contributed)
	want.Parties = len(want.Contributed)

	sum, err := t.NewSum()
	if err != nil {
		return fail(err)
	}
	_, clear := sum.(*clearSum)
	withheld := !clear && !sum.Public()
	switch s := sum.(type) {
	case *clearSum:
		s.weight = r.Weight
		if err := plausible(s.q, p, r.Weight, want.Parties); err != nil {
			return fail(err)
		}
	default:
		if withheld {
			break
		}
		if want.Sum, err = canonicalSum(sum, r.Sum); err != nil {
			return fail(err)
		}
		if n := contributionsOf(sum); n != want.Parties {
			return fail(fmt.Errorf("the sum is of %d contributions, the manifest says M = %d", n, want.Parties))
		}
		if s, ok := sum.(*releasedSum); ok {
			if err := plausible(s.q, p, s.weight, want.Parties); err != nil {
				return fail(err)
			}
		}
	}
	if want.Weight = weightOf(sum); want.Weight != r.Weight {
		return fail(fmt.Errorf("the sum is over %d ballots or records, the manifest says %d", want.Weight, r.Weight))
	}
	if want.Costs, err = costsOf(t, want.Weight); err != nil {
		return fail(err)
	}
	for _, x := range published {
		b, err := x.MarshalBinary()
		if err != nil {
			return fail(err)
		}
		want.Published = append(want.Published, b)
	}
	want.Ledger = r.Ledger[:len(published):len(published)] // held against what was published already
	if want.Forecast, err = ForecastOf(t, p.Size(want.Parties)); err != nil {
		want.Forecast = nil // this mechanism has none
	}
	if withheld {
		k, ok := t.(restater)
		if !ok {
			return fail(fmt.Errorf("kind %q does not say what its results look like", p.Kind))
		}
		unseen = k.unseen()
		want.Result, err = k.restate(want.Parties, r.Result)
	} else {
		want.Result, err = t.Finish(want.Parties, sum, published)
	}
	if err != nil {
		return fail(err)
	}
	want.Result.Warnings = append(want.Result.Warnings, concludingWarnings(p, pool, want.Missing)...)
	if w := want.Result.Weights; w != nil {
		// The digest names the weights as the release writes them. Made again they
		// may differ in their last bits, and would have another one.
		if w.WeightedPool, err = weightedDigest(pool, r.Result.Weights); err != nil {
			return fail(err)
		}
	}
	return want, unseen, nil
}

// partition divides a roster, sorted, into those who are said to have contributed
// and the others.
func partition(roster, said []PartyID) (contributed, missing []PartyID) {
	there := make(map[PartyID]bool, len(said))
	for _, party := range said {
		there[party] = true
	}
	for _, party := range slices.Sorted(slices.Values(roster)) {
		if there[party] {
			contributed = append(contributed, party)
		} else {
			missing = append(missing, party)
		}
	}
	return contributed, missing
}

// plausible refuses a weight that so many contributions cannot have.
func plausible(q question, p Plan, weight int64, parties int) error {
	switch q.(type) {
	case *votes, *output:
		if want := int64(parties) * int64(p.Shards); weight != want {
			return fmt.Errorf("the sum is over %d ballots, but M = %d parties of %d ballots each cast %d", weight, parties, p.Shards, want)
		}
	case *means:
		if weight != int64(parties) {
			return fmt.Errorf("the sum is over %d directions, but M = %d parties have one each", weight, parties)
		}
	}
	if most := int64(parties) * q.maxWeight(); weight < 0 || weight > most {
		return fmt.Errorf("the sum is over %d records, %d parties can declare at most %d", weight, parties, most)
	}
	return nil
}

// canonicalSum reads a public sum and writes it again: bytes that say the same in
// another way could hold something else besides.
func canonicalSum(sum Sum, b []byte) ([]byte, error) {
	if err := sum.UnmarshalBinary(b); err != nil {
		return nil, err
	}
	if s, ok := sum.(*ratioSum); ok {
		for _, body := range s.bodies {
			if err := s.Check(body.bytes); err != nil {
				return nil, err
			}
		}
	}
	again, err := sum.MarshalBinary()
	if err == nil && !bytes.Equal(again, b) {
		err = fmt.Errorf("the sum is not written in the canonical way")
	}
	return again, err
}

// weightedDigest is the digest of a pool under a release's own weights.
func weightedDigest(pool *auxdata.Pool, said *Weights) (auxdata.Digest, error) {
	if said == nil {
		return auxdata.Digest{}, fmt.Errorf("the release holds no weights")
	}
	weighted, err := pool.Weighted(said.Weight)
	if err != nil {
		return auxdata.Digest{}, err
	}
	return weighted.Digest, nil
}
