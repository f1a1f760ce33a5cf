package helper

import (
	"strings"
	"testing"

	"caucus/internal/yamlfile"
	"caucus/privacy"
	"caucus/study"
)

// TestPolicy: the zero policy serves nothing; a refusal names the field that would have to allow
// the plan.
func TestPolicy(t *testing.T) {
	plan := study.Plan{Kind: "classify", Mechanism: "tally", Unit: privacy.Record, Epsilon: 1,
		Delta: 1e-6, Noise: study.NoiseAggregators, Minimum: 5, Floor: 4}
	good := Policy{
		Kinds: []string{"classify"}, Mechanisms: []string{"tally"}, MinimumParties: 4,
		Study: map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1, Delta: 1e-6}},
	}
	if err := good.Check(plan); err != nil {
		t.Fatal(err)
	}
	if (Policy{}).Check(plan) == nil || DefaultPolicy().Check(plan) == nil {
		t.Error("a policy that names nothing serves something")
	}
	for field, change := range map[string]func(*study.Plan, *Policy){
		"noise":           func(p *study.Plan, _ *Policy) { p.Noise = study.NoiseCoordinator },
		"kinds":           func(p *study.Plan, _ *Policy) { p.Kind = "describe" },
		"mechanisms":      func(p *study.Plan, _ *Policy) { p.Mechanism = "cross" },
		"at unit party":   func(p *study.Plan, _ *Policy) { p.Unit = privacy.Party },
		"ε = 1.5":         func(p *study.Plan, _ *Policy) { p.Epsilon = 1.5 },
		"δ = 1e-05":       func(p *study.Plan, _ *Policy) { p.Delta = 1e-5 },
		"minimum_parties": func(p *study.Plan, _ *Policy) { p.Floor = 3 },
	} {
		p, policy := plan, good
		change(&p, &policy)
		if err := policy.Check(p); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// parseConfig reads a text over the defaults and validates all but the paths of files.
func parseConfig(text []byte) (Config, error) {
	return yamlfile.ParseConfig(text, DefaultConfig(), rules)
}

// FuzzConfig: parseConfig accepts only configurations that Validate accepts.
func FuzzConfig(f *testing.F) {
	f.Add([]byte("listen: 127.0.0.1:0\nbudget: none\nhead: ../h\npolicy: {kinds: [classify], minimum_parties: 3}\n"))
	f.Add([]byte("budget: {record: {epsilon: 3, delta: 1e-5}}\ncoordinator: 0101\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := parseConfig(text); err == nil {
			if err := c.Validate(); err != nil {
				t.Errorf("read, and refused: %v", err)
			}
		}
	})
}
