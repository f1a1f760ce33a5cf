package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/verify/evidence"
)

// shared checks that two servers agreed to the plan and its noise before the study opened, that
// each signed the publication of its share of the sum, and that both signed the set of
// contributions. It returns the publications.
func (f *findings) shared(r study.Release, p study.Plan) []privacy.Published {
	const about = "servers"
	start := len(*f)
	a := r.Aggregated
	if !f.claims(about, a != nil, "two servers released it, but nothing that they signed is in it") {
		return nil
	}
	if !f.claims("published", len(r.Costs) == 1 && len(r.Published) == study.Servers && len(r.Ledger) == 1, "two servers release one share each, and the coordinator's ledger has one line of it: the release holds %d publications and %d lines", len(r.Published), len(r.Ledger)) {
		return nil
	}
	var keys [study.Servers]protocol.SignerKey
	for i, text := range a.Keys {
		err := keys[i].UnmarshalText([]byte(text))
		f.claims(about, err == nil && keys[i].String() == text,
			"the %s's key is not written as keys are", study.ServerNames[i])
	}
	f.claims(about, keys[0] != keys[1], "both servers have one key: a coordinator that is its own helper saw every contribution")
	if len(*f) > start {
		return nil
	}
	f.accepted(r, p, keys)
	f.set(r, p, keys)
	var out []privacy.Published
	for i, b := range r.Published {
		share := protocol.AggregateShareOf(r, i)
		err := keys[i].Verify(protocol.ShareDocument, share.Document, share.Signature)
		f.claims("published", err == nil, "the %s did not sign what is said to be its release of this set", study.ServerNames[i])
		x, err := privacy.ParsePublished(b)
		if err != nil {
			f.add(evidence.Fails, "published", "the %s's release: %v", study.ServerNames[i], err)
			continue
		}
		want := r.Costs[0]
		f.claims("published", x.ID == study.ReleaseID(r.PlanHash, study.ShareOutput(want.Output, i)), "the %s's release is of another study, output or server", study.ServerNames[i])
		f.claims("published", x.Residues != nil, "the %s's release is no share of a sum",
			study.ServerNames[i])
		f.cost(study.CostOf(want.Output, x.Mechanism, x.Parameters, x.Bound, x.Cost, p), want)
		out = append(out, x)
	}
	if len(*f) > start || len(out) != study.Servers {
		return nil
	}
	if !f.claims("ledger", a.HelperLine != nil, "it names no line of the helper's ledger") {
		return nil
	}
	lines := [study.Servers]privacy.Line{r.Ledger[0], *a.HelperLine}
	for i, line := range lines {
		if err := errors.Join(line.Check(), line.CheckResult(out[i])); err != nil {
			f.add(evidence.Fails, "ledger", "line %d of the %s's: %v", line.Sequence,
				study.ServerNames[i], err)
			return nil
		}
	}
	f.add(evidence.Holds, about, "coordinator (key %s) and helper (key %s) each signed that they release under this plan's noise, and committed to the key that contributions are checked under, before the study opened", keys[0], keys[1])
	f.add(evidence.Holds, about, "both signed that they release the sum of exactly the contributions of these %d parties, and each signed its release of that set", r.Parties)
	f.add(evidence.Holds, "published", "%s: a share of %d noisy integers from each server, either of which costs what its noise proves under its bound; they add up to the sum with both noises", r.Costs[0].Output, out[0].Len())
	for i, line := range lines {
		f.add(evidence.Holds, "ledger", "the %s's ledger charged its share in entry %d, whose hash covers it, its cost and the %[1]s's totals: %[3]s", study.ServerNames[i], line.Sequence, line.Hash)
	}
	return out
}

func (f *findings) accepted(r study.Release, p study.Plan, keys [study.Servers]protocol.SignerKey) {
	const about = "servers"
	for i, signed := range r.Aggregated.Acceptances {
		var said protocol.Acceptance
		name := study.ServerNames[i]
		if err := protocol.ReadSigned(signed, keys[i], protocol.AcceptanceDocument,
			&said); err != nil {
			f.add(evidence.Fails, about, "the %s's acceptance: %v", name, err)
			continue
		}
		f.claims(about, canonical(said, signed.Document), "the %s's acceptance is not written in the canonical way", name)
		f.claims(about, said.Plan == r.PlanHash && said.Role == name,
			"the %s's acceptance is of another plan or role", name)
		f.claims(about, said.Terms == p.TermsDigest, "the %s agreed to other noise than the plan's",
			name)
		f.claims(about, said.Commitment != study.Hash{}, "the %s committed to no verify key", name)
		if i == 1 {
			first := r.Aggregated.Acceptances[0].Digest()
			f.claims(about, said.Coordinator != nil && *said.Coordinator == first, "the helper agreed with another acceptance of the coordinator's")
		} else {
			f.claims(about, said.Coordinator == nil && said.Sealing == nil && said.Signing == protocol.SignerKey{}, "the coordinator's acceptance says what only a helper's does")
		}
	}
}

func canonical(said any, document []byte) bool {
	b, err := json.Marshal(said)
	return err == nil && bytes.Equal(b, document)
}

// set checks the signed set of contributions: both servers signed it; it has the release's parties,
// contributions, weight and amendments; and it reaches the minimum after these amendments.
func (f *findings) set(r study.Release, p study.Plan, keys [study.Servers]protocol.SignerKey) {
	const about = "set"
	a := r.Aggregated
	var said protocol.ContributionSet
	for i, signature := range a.Sets {
		said = protocol.ContributionSet{}
		if err := protocol.ReadSigned(study.Signed{Document: a.Set, Signature: signature}, keys[i],
			protocol.SetDocument, &said); err != nil {
			f.add(evidence.Fails, about, "the %s did not sign the set: %v", study.ServerNames[i],
				err)
			return
		}
	}
	f.claims(about, canonical(said, a.Set), "it is not written in the canonical way")
	f.claims(about, said.Plan == r.PlanHash && said.Helper == a.Acceptances[1].Digest(), "it is of another plan, or was agreed on under another acceptance of the helper's")
	f.claims(about, said.Contributions == int64(r.Parties) && said.Weight == r.Weight, "both servers signed a set of %d contributions over %d ballots or records, the manifest says %d over %d", said.Contributions, said.Weight, r.Parties, r.Weight)
	if f.claims(about, len(a.Members) == len(r.Contributed),
		"it names %d contributions of %d parties", len(a.Members), len(r.Contributed)) {
		members := protocol.NewMembers()
		for i, party := range r.Contributed {
			members.AddMember(party, a.Members[i])
		}
		f.claims(about, slices.IsSorted(r.Contributed) && members.Digest() == said.MembersDigest, "both servers signed the set of other parties or contributions than the release names")
	}
	same := len(said.Amendments) == len(r.Amendments)
	for i := range said.Amendments {
		same = same && bytes.Equal(said.Amendments[i], r.Amendments[i].Document)
	}
	f.claims(about, same, "both servers signed other amendments than the release names")
	least, err := said.Minimum(p)
	f.claims(about, err == nil && said.Contributions >= int64(least), "it has %d contributions, its amendments and the plan ask for %d (%v)", said.Contributions, least, err)
	for i, party := range a.Refused {
		f.claims(about, slices.Contains(r.Missing, party) && (i == 0 || a.Refused[i-1] < party), "%s is said to be refused, and is not among the missing, or is named twice", party)
	}
}

// helper compares the helper's key in the release with the key that the verifier knows.
func (v VerifierInputs) helper(r study.Release) (f findings) {
	if r.Aggregated == nil {
		return nil
	}
	key := r.Aggregated.Keys[1]
	switch {
	case v.Helper == nil:
		f.add(evidence.NotProvable, "helper", "that key %s belongs to an organisation other than the coordinator's: the file says so itself. Compare it with the helper in an agent's policy, or give --helper", key)
	case v.Helper.String() != key:
		f.add(evidence.Fails, "helper", "its helper signed with key %s, which is not the helper's (%s)", key, v.HelperFrom)
	default:
		f.add(evidence.Holds, "helper", "its helper signed with the key that was pinned (%s)", v.HelperFrom)
	}
	return f
}
