package verify

import (
	"bytes"
	"fmt"
	"slices"

	"caucus/privacy"
	"caucus/study"
)

// rebuilt makes the release that follows from plan, pool, roster and published numbers. From r it
// copies only claims that nobody can compute again: which parties of the roster contributed, the
// number of records in a sum, ledger lines, program version, the study's ending, and numbers fitted
// to features that readers do not get (study.Recomputer). unseen names these fitted numbers, "" if
// there are none. All other fields stay empty, so that extra data in r is found as a difference.
func rebuilt(r study.Release, t study.Finisher, published []privacy.Published) (want study.Release,
	unseen string, err error) {
	p, pool := t.Plan(), t.Pool()
	fail := func(err error) (study.Release, string, error) { return study.Release{}, "", err }
	want = study.Release{Manifest: study.Claim(t)}
	if want.Plan, err = p.Canonical(); err != nil {
		return fail(err)
	}
	// findings.ending checks these
	want.Software, want.Sealed, want.Amendments = r.Software, r.Sealed, r.Amendments
	want.Contributed, want.Missing = partition(p.Roster, r.Contributed)
	want.Parties = len(want.Contributed)

	of := study.Contributions{Contributions: want.Parties}
	if len(published) > 0 {
		of.Weight = r.Weight // Finish checks that the number of contributions allows this weight
	} else {
		if of, err = publicSum(t, r.Sum); err != nil {
			return fail(err)
		}
		if of.Sum == nil && of.Bodies == nil { // readers get neither the sum nor the bodies
			of.Contributions = want.Parties
		} else {
			want.Sum = r.Sum
		}
		if t.Words().ShownByName {
			if sorted := slices.Sorted(slices.Values(r.Senders)); !slices.Equal(sorted,
				want.Contributed) {
				return fail(fmt.Errorf("the bodies are said to be of %v, those that contributed are %v", sorted, want.Contributed))
			}
			of.Senders, want.Senders = r.Senders, r.Senders // Party.CheckSent checks these
		}
		if n := of.Contributions; n != want.Parties {
			return fail(fmt.Errorf("the sum is of %d contributions, the manifest says M = %d", n, want.Parties))
		}
	}
	if want.Weight = of.Weight; want.Weight != r.Weight {
		return fail(fmt.Errorf("the sum is over %d ballots or records, the manifest says %d", want.Weight, r.Weight))
	}
	if want.Costs, err = study.CostsOf(t, want.Weight); err != nil {
		return fail(err)
	}
	for _, x := range published {
		b, err := x.MarshalBinary()
		if err != nil {
			return fail(err)
		}
		want.Published = append(want.Published, b)
	}
	if len(published) > 0 {
		// findings.published has checked these
		want.Ledger, want.Aggregated = r.Ledger[:len(r.Costs):len(r.Costs)], r.Aggregated
	}
	if k, ok := t.(study.Recomputer); ok {
		want.Result, unseen, err = k.Recompute(of, published, r.Result)
	} else {
		want.Result, err = t.Finish(of, published)
	}
	if err != nil {
		return fail(err)
	}
	want.Result.Warnings = append(want.Result.Warnings,
		study.ConcludingWarnings(p, pool, want.Missing)...)
	return want, unseen, nil
}

func partition(roster, said []study.PartyID) (contributed, missing []study.PartyID) {
	there := make(map[study.PartyID]bool, len(said))
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

// publicSum reads the sum or the bodies that a release gives its readers. The result is empty if
// the release has neither. It refuses any encoding but the canonical one, because another encoding
// could hide data.
func publicSum(t study.Finisher, b []byte) (of study.Contributions, err error) {
	if k, keeps := t.(study.BodyKeeper); keeps {
		if k.PublicBodies() {
			of.Bodies, of.Contributions, err = study.ParseBodies(b)
		}
		return of, err
	}
	sum, err := t.NewSum()
	if err != nil || !sum.ReadersMaySee() {
		return of, err
	}
	if err := sum.UnmarshalBinary(b); err != nil {
		return of, err
	}
	again, err := sum.MarshalBinary()
	if err == nil && !bytes.Equal(again, b) {
		err = fmt.Errorf("the sum is not written in the canonical way")
	}
	return study.Contributions{Contributions: sum.Contributions(), Weight: sum.Weight(),
		Sum: sum}, err
}
