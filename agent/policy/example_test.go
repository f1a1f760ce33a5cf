package policy_test

import (
	"fmt"

	"caucus/agent/policy"
	"caucus/privacy"
	"caucus/study"
)

// A policy says why it refuses a plan; without configuration it refuses all.
func Example() {
	plan := study.Plan{Kind: "classify", Mechanism: "cross", Noise: study.NoiseSite,
		Unit: privacy.Record, Epsilon: 2, Minimum: 3, TermsDigest: "agreed"}
	most := map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1, Delta: 1e-6}}
	p := policy.DefaultPolicy()
	fmt.Println(p.Objections(plan)[0])
	p.Kinds, p.Mechanisms, p.Noise = []string{"classify"}, []string{"cross"},
		[]study.Noise{study.NoiseSite}
	p.Study, p.Total = most, most
	fmt.Println(p.Objections(plan)[0])
	// Output:
	// kind "classify" is not allowed: the policy allows none
	// ε = 2 is more than the 1 that one study may cost at unit record
}
