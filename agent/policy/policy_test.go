package policy

import (
	"strings"
	"testing"
	"time"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds/planning"
)

func allowing(t *testing.T) (Policy, study.Plan) {
	t.Helper()
	schema, err := dataset.ParseSchema(strings.NewReader("label: {column: ill, classes: [\"no\", \"yes\"]}\nfeatures: [{column: age, kind: numeric, min: 0, max: 100}, {column: sex, kind: categorical, levels: [f, m]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := dataset.ReadCSV(strings.NewReader("age,sex\n"+strings.Repeat("30,f\n71,m\n", 30)),
		dataset.Format{})
	if err != nil {
		t.Fatal(err)
	}
	delta := 1e-6
	made, _, err := planning.DraftPlan(study.Proposal{
		Name: "illness", Purpose: "a test", Roster: []study.PartyID{"other", "site", "third"},
		Epsilon: 1, Delta: &delta, Deadline: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC), Seed: 1, Minimum: 2, Records: 60,
	}, schema, pool)
	if err != nil {
		t.Fatal(err)
	}
	return Policy{
		Kinds: []string{"classify"}, Mechanisms: []string{"cross", "tally"}, Noise: []study.Noise{study.NoiseSite, study.NoiseCoordinator},
		StudyLimit: map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1, Delta: 1e-6}, privacy.Party: {Epsilon: 1, Delta: 1e-6}},
		TotalLimit: map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 2, Delta: 1e-5}}, MinimumParties: 2, Approval: ApproveByPolicy,
	}, made.Plan
}

// TestZeroPolicy: without configuration every plan is refused.
func TestZeroPolicy(t *testing.T) {
	_, plan := allowing(t)
	for _, p := range []Policy{{}, DefaultPolicy()} {
		if len(p.Objections(plan)) == 0 {
			t.Errorf("policy %+v allows a study", p)
		}
	}
}

// TestObjections: exceeding any limit of a policy gives a reason to refuse.
func TestObjections(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Policy, *study.Plan)
		want   string
	}{
		{"nothing", func(*Policy, *study.Plan) {}, ""},
		{"kind", func(p *Policy, _ *study.Plan) { p.Kinds = nil }, "kind"},
		{"mechanism", func(p *Policy, _ *study.Plan) { p.Mechanisms = []string{"tally"} }, "mechanism"},
		{"noise", func(p *Policy, _ *study.Plan) { p.Noise = []study.Noise{study.NoiseCoordinator} }, "noise"},
		{"unit", func(_ *Policy, p *study.Plan) { p.Unit = privacy.Label }, "unit"},
		{"epsilon", func(_ *Policy, p *study.Plan) { p.Epsilon = 1.5 }, "ε = 1.5"},
		{"a cheap question", func(_ *Policy, p *study.Plan) { p.Epsilon = .049 }, "least_epsilon"},
		{"a cheap question, granted", func(p *Policy, plan *study.Plan) { plan.Epsilon, p.MinEpsilon = .01, .01 }, ""},
		{"delta", func(_ *Policy, p *study.Plan) { p.Delta = 1e-5 }, "δ = 1e-05"},
		{"parties", func(p *Policy, _ *study.Plan) { p.MinimumParties = 5 }, "at least 5"},
		{"an amendment may lower it", func(p *Policy, plan *study.Plan) {
			p.MinimumParties, plan.Minimum, plan.Floor = 3, 3, 2
		}, "close with 2 parties"},
		{"an amendment may lower it so far", func(p *Policy, plan *study.Plan) {
			p.MinimumParties, plan.Minimum, plan.Floor = 2, 3, 2
		}, ""},
		{"simulated", func(_ *Policy, p *study.Plan) { p.Simulated = true }, "simulated"},
		{"sums of features", func(p *Policy, plan *study.Plan) {
			plan.Kind, plan.Mechanism = "reweigh", "entropy"
			p.Kinds, p.Mechanisms = []string{"reweigh"}, []string{"entropy"}
		}, ""},
		{"numbers under its name", func(p *Policy, plan *study.Plan) {
			plan.Kind, plan.Mechanism, plan.KindTerms = "describe", "laplace", []byte(`{"bins":10,"sites":true}`)
			p.Kinds, p.Mechanisms = []string{"describe"}, []string{"laplace"}
		}, "named_results: true"},
		{"numbers under its name, granted", func(p *Policy, plan *study.Plan) {
			plan.Kind, plan.Mechanism, plan.KindTerms = "describe", "laplace", []byte(`{"bins":10,"sites":true}`)
			p.Kinds, p.Mechanisms, p.AllowNamedResults = []string{"describe"}, []string{"laplace"},
				true
		}, ""},
		{"columns in clear", func(p *Policy, plan *study.Plan) {
			plan.Kind = "labels"
			p.Kinds = []string{"labels"}
			p.ClearColumns = []string{"age"}
		}, `"sex" would leave in clear`},
	} {
		p, plan := allowing(t)
		test.change(&p, &plan)
		got := strings.Join(p.Objections(plan), "; ")
		found := false
		for _, want := range strings.Split(test.want, "|") {
			found = found || strings.Contains(got, want) && (want != "" || got == "")
		}
		if !found || strings.Contains(got, "; ") {
			t.Errorf("%s: objections %q, want one about %q", test.name, got, test.want)
		}
	}
}

// TestHelperPolicy: noise by aggregators is refused if the policy does not name it, or names no
// helper; the reason says what to do.
func TestHelperPolicy(t *testing.T) {
	_, plan := allowing(t)
	plan.Noise = study.NoiseAggregators
	pinned := Helper{Name: "Data Trust", Signing: protocol.SignerKey{1},
		Sealing: protocol.KeyPin{2}}
	objection := func(change func(*Policy)) string {
		p, _ := allowing(t)
		change(&p)
		return strings.Join(p.Objections(plan), "; ")
	}
	if no := objection(func(*Policy) {}); !strings.Contains(no, `noise "aggregators" is not allowed: the policy allows site, coordinator; to allow it, name the helper`) {
		t.Errorf("not named: %q", no)
	}
	if no := objection(func(p *Policy) {
		p.Helper = pinned
	}); !strings.Contains(no, "is not allowed") {
		t.Errorf("a helper alone allows it: %q", no)
	}
	if no := objection(func(p *Policy) {
		p.Noise = []study.Noise{study.NoiseAggregators}
	}); !strings.Contains(no, "names none under helper") ||
		!strings.Contains(no, "not from the coordinator") {
		t.Errorf("no helper: %q", no)
	}
	if no := objection(func(p *Policy) {
		p.Noise, p.Helper = []study.Noise{study.NoiseAggregators}, pinned
	}); no != "" {
		t.Errorf("named and with a helper: %q", no)
	}
}
