package main

import (
	"strings"
	"testing"
	"time"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds/planning"
)

// TestPolicyLines: a policy of the lines that study create prints allows the plan, and one that
// lacks any of the first five lines does not.
func TestPolicyLines(t *testing.T) {
	table, schema := public.Hospitals(public.HospitalConfig{Sites: 2, Records: 300, Seed: 1})
	delta := 1e-6
	for name, of := range map[string]study.Proposal{
		"classify": {}, "votes": {Kind: "classify", Unit: privacy.Party, Mechanism: "tally",
			Noise: study.NoiseCoordinator},
		"patients": {Kind: "describe", Unit: privacy.Patient},
		"small":    {Kind: "describe", Epsilon: .01},
		"learner": {Kind: "classify", Mechanism: "tally", Unit: privacy.Record,
			Noise: study.NoiseCoordinator, KindTerms: []byte(`{"shards":2,"learner":"knn"}`)},
		"any": {Kind: "classify", Mechanism: "tally", Unit: privacy.Party,
			Noise: study.NoiseCoordinator, KindTerms: []byte(`{"learner":"any"}`)},
		"clear":  {Kind: "ratio", KindTerms: []byte(`{"features":"clear","fourier":100}`)},
		"labels": {Kind: "labels"}, "weights": {Kind: "reweigh"},
	} {
		of.Name, of.Roster, of.Minimum = "s", []study.PartyID{"a", "b", "c"}, 2
		if of.Epsilon == 0 {
			of.Epsilon = 1
		}
		of.Delta, of.Records, of.Deadline = &delta, 100, time.Now().Add(time.Hour)
		made, err := planning.ProposePlan(of, schema.WithoutFormat(), table)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		lines := policyLines(made.Plan)
		with := func(lines []string) (policy.Policy, error) {
			c, err := site.ParseConfig([]byte("state: s\npolicy:\n  approval: person\n  " +
				strings.Join(lines, "\n  ") + "\n"))
			return c.Policy, err
		}
		all, err := with(lines)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if no := all.Objections(made.Plan); len(no) > 0 {
			t.Errorf("%s: a policy of\n%s\nrefuses: %q", name, strings.Join(lines, "\n"), no)
		}
		for i := range 4 {
			less, err := with(append(append([]string{}, lines[:i]...), lines[i+1:]...))
			if err == nil && len(less.Objections(made.Plan)) == 0 {
				t.Errorf("%s: a policy without %q allows it", name, lines[i])
			}
		}
	}
}
