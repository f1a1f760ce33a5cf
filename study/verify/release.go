package verify

import (
	"cmp"
	"errors"

	"caucus/auxdata"
	"caucus/protocol"
	"caucus/study/kinds"
	"caucus/study/verify/evidence"
)

// VerifierInputs is what a verifier knows apart from the release. Every field may be empty. Claims
// that need an empty field are reported as unchecked or as trusted.
type VerifierInputs struct {
	// Pool is the public pool under the plan's schema and map (study.PoolOf). PoolError says why it
	// is nil.
	Pool      *auxdata.Pool
	PoolError error
	// Keys are a coordinator's key that did not come from the release, and its successors. KeysFrom
	// says where the first key came from, such as "from operator.yaml". If Keys is nil, Party.Keys
	// are used.
	Keys     *protocol.Keys
	KeysFrom string
	// Helper is the key of the second server (study.NoiseAggregators), if the verifier has it from
	// elsewhere than the release. HelperFrom says from where.
	Helper     *protocol.SignerKey
	HelperFrom string
	// Party holds what a party kept of the study; nil if the verifier is no party.
	Party *evidence.Party
}

// Release checks each claim of a signed release: who signed it, whether its plan is valid, what
// follows from plan and pool (CheckClaims) and, for a party, whether the party's receipt, upload
// and ledger agree. It trusts only k. It reads no clock and draws no random numbers.
//
// Every wrong claim gives a finding that fails (evidence.AnyFails). A simulated release always
// fails.
func Release(r protocol.SignedRelease, k VerifierInputs) []evidence.Finding {
	k = k.follow(r.Successions)
	f := findings(k.signature(r))
	p, err := kinds.PlanOf(r.Release)
	if err != nil { // nothing else can be checked
		f.add(evidence.Fails, "plan", "%v", err)
		return f
	}
	if _, _, err := protocol.ParsePlan(r.Release.Plan); err != nil && !p.Simulated {
		f.add(evidence.Fails, "plan", "no coordinator or agent runs it: %v", err)
	}
	f.ending(r.Release, p, k.Keys)
	f = append(f, k.helper(r.Release)...)
	switch {
	// there is no pool to ask for, because the simulation made it
	case k.Pool == nil && p.Simulated:
		f.add(evidence.Fails, AboutSimulated, "this release is simulated, and protects nobody")
		f.add(evidence.Unchecked, "pool", "%v", k.noPool())
		return f
	case k.Pool == nil:
		f.terms(r.Release, p)
		f.roster(r.Release, p)
		f.add(evidence.Unchecked, "pool", "%v: bound, noise, cost and result were not computed again", k.noPool())
	default:
		f = append(f, CheckClaims(r.Release, k.Pool)...)
	}
	if k.Party != nil {
		f = append(f, k.Party.CheckReceipt(r.Release)...)
		f = append(f, k.Party.Shared(r.Release)...)
		f = append(f, k.Party.CheckSent(r.Release)...)
		f = append(f, k.Party.CheckEnding(r.Release)...)
		if k.Pool != nil && k.Pool.Digest == p.Pool {
			f = append(f, k.Party.CheckCharges(r.Release, k.Pool)...)
		}
	}
	return f
}

func (v VerifierInputs) noPool() error {
	if v.PoolError != nil {
		return v.PoolError
	}
	return errors.New("no pool was given")
}

// follow adds keys whose succession a known key signed. If k has no keys, it takes the party's.
func (v VerifierInputs) follow(successions []protocol.Signed) VerifierInputs {
	if v.Party != nil {
		site := *v.Party
		site.Keys = site.Keys.FollowAll(successions)
		v.Party = &site
		v.Keys = cmp.Or(v.Keys, &site.Keys)
	}
	if v.Keys != nil {
		keys := v.Keys.FollowAll(successions)
		v.Keys = &keys
	}
	return v
}

func (v VerifierInputs) signature(r protocol.SignedRelease) (f findings) {
	const about = "signature"
	itself := r.Check(r.Signer)
	switch {
	// the finding AboutSimulated says enough
	case errors.Is(itself, protocol.ErrUnsigned) && r.Release.Simulated:
	case errors.Is(itself, protocol.ErrUnsigned):
		f.add(evidence.Fails, about, "nobody signed this release")
	case itself != nil:
		f.add(evidence.Fails, about, "the release was changed after key %s signed it, or another key did", r.Signer)
	case v.Keys == nil:
		f.add(evidence.Holds, about, "nothing was changed since key %s signed it", r.Signer)
		f.add(evidence.NotProvable, about, "that this key is the coordinator's: the file says so itself. Compare it with signer: in an agent's identity.yaml or an operator's profile, or give --config, --profile or --key")
	case !v.Keys.Contains(r.Signer):
		f.add(evidence.Fails, about, "it was signed by key %s, which is not the coordinator's key %s (%s)", r.Signer, v.Keys.Newest(), v.KeysFrom)
	case r.Signer != v.Keys.Newest():
		f.add(evidence.Holds, about, "nothing was changed since the coordinator signed it, with key %s, which it has since handed over to %s (%s)", r.Signer, v.Keys.Newest(), v.KeysFrom)
	default:
		f.add(evidence.Holds, about, "nothing was changed since the coordinator signed it, with key %s (%s)", r.Signer, v.KeysFrom)
	}
	return f
}
