package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/privacy"
	"caucus/study"
)

const goodConfig = `
state: state
poll: 30s
data:
  ward.a: {file: ward.csv, schema: ward.yaml}
policy:
  kinds: [classify]
  mechanisms: [cross]
  noise: [site]
  study:
    record: {epsilon: 1, delta: 1e-6}
  total:
    record: {epsilon: 3, delta: 1e-5}
  minimum_parties: 3
  approval: policy
`

func TestLoadConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(path, []byte(goodConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(path), "ward.csv"); c.Data["ward.a"].File != want {
		t.Errorf("file %q, want %q", c.Data["ward.a"].File, want)
	}
	if c.Poll != 30*time.Second || c.MaxBackoff != 5*time.Minute {
		t.Errorf("poll %v, max backoff %v, want 30s and the default", c.Poll, c.MaxBackoff)
	}
	if g := c.Policy.Study[privacy.Record]; g.Epsilon != 1 || g.Delta != 1e-6 {
		t.Errorf("study limit %+v", g)
	}
}

// TestConfigOfSources: a mapping stands in the entry of its source, or in a file
// of its own, beside what is expected of the file.
func TestConfigOfSources(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.yaml")
	text := strings.Replace(goodConfig, "  ward.a: {file: ward.csv, schema: ward.yaml}\n", `  ward.a:
    file: ward.xlsx
    schema: ward.yaml
    unreadable: 5%
    unlabelled: 0.2
    records: [10, 1000]
    mapping:
      delimiter: ;
      missing: ["-9", NULL]
      columns:
        sex: {from: Geschlecht, levels: {weiblich: F, 1: M}}
        died: Tot
  ward.b: {file: b.csv, schema: ward.yaml, mapping: omop-labs.yaml}
`, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.Data["ward.a"], c.Data["ward.b"]
	if b.Mapping.File != filepath.Join(filepath.Dir(path), "omop-labs.yaml") {
		t.Errorf("the mapping's file is %q", b.Mapping.File)
	}
	m := a.Mapping.Inline
	if a.Mapping.File != "" || m.Delimiter != ";" || len(m.Missing) != 2 || m.Missing[1] != "NULL" || m.Columns["sex"].Levels["1"] != "M" || m.Columns["died"].From != "Tot" {
		t.Errorf("the mapping is %+v", a.Mapping)
	}
	if *a.Unreadable != 0.05 || *a.Unlabelled != 0.2 || a.Records[1] != 1000 {
		t.Errorf("expected: %+v", a.Expected)
	}
}

func TestConfigErrors(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"schema: ward.yaml}", "schema: ward.yaml, mapping: {delimeter: ;}}", `unknown key "delimeter": do you mean "delimiter"?`},
		{"schema: ward.yaml}", "schema: ward.yaml, mapping: {columns: {sex: {form: x}}}}", `unknown key "form": do you mean "from"?`},
		{"schema: ward.yaml}", "schema: ward.yaml, mapping: {columns: {sex: {expression: now()}}}}", `line 5: data: ward.a: mapping: columns: sex: expression: now() cannot be used`},
		{"schema: ward.yaml}", "schema: ward.yaml, unreadable: 5}", "write 5%, or 0.05"},
		{"schema: ward.yaml}", "schema: ward.yaml, records: [5]}", "write the fewest and the most"},
		{"schema: ward.yaml}", "schema: ward.yaml, redeclare: hourly}", `redeclare: "hourly": write daily, or leave it out`},
		{"kinds:", "kind:", `line 7: policy: unknown key "kind": do you mean "kinds"?`},
		{"kinds:", "coordinator:", `line 7: policy: unknown key "coordinator": the keys here are kinds, mechanisms`},
		{"state: state", "minimum_parties: 3\nstate: state", `line 2: unknown key "minimum_parties": it belongs under policy`},
		{"state: state", "State: state", `line 2: unknown key "State": do you mean "state"?`},
		{"poll: 30s", "poll: 30s\nstate: other", "line 4: key \"state\" is there twice, before on line 2"},
		{"poll: 30s", "poll: soon", "line 3: poll: found \"soon\", want a length of time"},
		{"poll: 30s", "poll: 30", "line 3: poll: 30 has no unit"},
		{"poll: 30s", "poll: 2d", "line 3: poll: 48h0m0s: give 10ms to 24h"},
		{"{file: ward.csv, schema: ward.yaml}", "ward.csv", `line 5: data: ward.a: found "ward.csv", want the keys file, schema`},
		{"kinds: [classify]", "kinds: classify", `line 7: policy: kinds: found "classify", want a list`},
		{"minimum_parties: 3", "minimum_parties: 2.5", "line 14: policy: minimum_parties: found \"2.5\", want a whole number"},
		{"minimum_parties: 3", "minimum_parties: three", "line 14: policy: minimum_parties: found \"three\", want a whole number"},
		{"record: {epsilon: 1,", "record: {epsilon: lots,", "line 11: policy: study: record: epsilon: found \"lots\", want a number"},
		{"poll: 30s", "\tpoll: 30s", "it is not YAML"},
		{"poll: 30s", "poll: 1us", "poll"},
		{"poll: 30s", "margin: 0.5", "margin"},
		{"poll: 30s", "least_window: 0s", "least_window"},
		{"approval: policy", "approval: policy\n  learners: [oracle]", "oracle"},
		{"approval: policy", "approval: policy\n  max_pool_rows: -1", "max_pool_rows"},
		{"approval: policy", "approval: policy\n  max_time: 5", "no unit"},
		{"approval: policy", "approval: policy\n  studies_a_day: -1", "studies_a_day"},
		{"approval: policy", "approval: policy\n  least_epsilon: -0.1", "least_epsilon"},
		{"state: state", "", "state"},
		{"state: state", "state: state\ncoordinator: nowhere", "host:port"},
		{"state: state", "state: state\ngossip: {listen: \":7946\"}", "line 3: gossip: it was removed, and nothing takes its place: delete the line"},
		{"file: ward.csv", "file: ''", "name the file of its records"},
		{"schema: ward.yaml", "schema: ''", "name the schema file"},
		{"file: ward.csv", "file: ward.csv, colour: red", "colour"},
		{"mechanisms: [cross]", "mechanisms: [crass]", "crass"},
		{"noise: [site]", "noise: [everywhere]", "everywhere"},
		{"epsilon: 1,", "epsilon: -1,", "epsilon"},
		{"  study:\n    record:", "  study:\n    patient:", "patient"},
		{"  study:\n    record:", "  study:\n    label:", "no limit at that unit"},
		{"  total:\n    record:", "  total:\n    party: {epsilon: 1, delta: 1e-6}\n    record:", "guarantee nothing"},
		{"minimum_parties: 3", "minimum_parties: 1", "line 14: policy: minimum_parties: 1: give at least 2"},
		{"noise: [site]", "noise: [site, aggregators]", "policy: helper: signing, sealing: noise by aggregators needs a helper that this site knows: get its two keys from the organisation that runs it"},
		{"approval: policy", "approval: policy\n  helper: {name: Data Trust}", "policy: helper: signing, sealing"},
		{"approval: policy", "approval: policy\n  helper: {sealing: " + strings.Repeat("ab", 32) + "}", "line 16: policy: helper: signing: the key that the helper signs with is missing"},
		{"approval: policy", "approval: policy\n  helper: {signing: " + strings.Repeat("ab", 32) + "}", "helper: sealing: the pin of the helper's sealing key is missing"},
		{"approval: policy", "approval: policy\n  helper: {signing: abcd, sealing: " + strings.Repeat("ab", 32) + "}", "have 4 characters, want 64"},
		{"approval: policy", "approval: policy\n  helper: {signing: " + strings.Repeat("ab", 32) + ", sealing: " + strings.Repeat("xy", 32) + "}", "line 16: policy: helper: sealing"},
		{"approval: policy", "approval: policy\n  helper: {signing: " + strings.Repeat("ab", 32) + ", sealing: " + strings.Repeat("ab", 32) + "}", "it is the same as signing"},
		{"approval: policy", "approval: policy\n  helper: {signing: " + strings.Repeat("ab", 32) + ", pin: x}", `unknown key "pin"`},
		{"approval: policy", "approval: dog", "dog"},
		{"approval: policy", "approval: two-persons", "caucus agent approver"},
		{"approval: policy", "approval: two-persons\n  approvers: {alice: " + strings.Repeat("ab", 32) + "}", "1 are named"},
		{"approval: policy", "approval: two-persons\n  approvers: {alice: " + strings.Repeat("ab", 32) + ", bob: " + strings.Repeat("ab", 32) + "}", "have one key"},
		{"approval: policy", "approval: person\n  approvers: {alice: abcd}", "want 64"},
		{"approval: policy", "approval: person\n  approvers: {al ice: " + strings.Repeat("ab", 32) + "}", "al ice"},
		{"  total:\n", "  year:\n    party: {epsilon: 1, delta: 1e-6}\n  total:\n", "guarantee nothing"},
		{"  total:\n", "  year:\n    record: {epsilon: -1, delta: 1e-6}\n  total:\n", "year: record"},
	} {
		text := strings.Replace(goodConfig, test.from, test.to, 1)
		if text == goodConfig {
			t.Fatalf("%q is not in the config", test.from)
		}
		if _, err := ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want one about %q", test.to, err, test.want)
		}
	}
}

// TestZeroPolicy: who configures nothing takes part in nothing.
func TestZeroPolicy(t *testing.T) {
	r := newRig(t, nil)
	for _, p := range []Policy{{}, DefaultPolicy()} {
		if len(p.Objections(r.study.Plan)) == 0 {
			t.Errorf("policy %+v allows a study", p)
		}
	}
}

// TestObjections: each limit of a policy is one reason to refuse.
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
		{"a cheap question, granted", func(p *Policy, plan *study.Plan) { plan.Epsilon, p.LeastEpsilon = .01, .01 }, ""},
		{"delta", func(_ *Policy, p *study.Plan) { p.Delta = 1e-5 }, "δ = 1e-05"},
		{"parties", func(p *Policy, _ *study.Plan) { p.MinimumParties = 5 }, "at least 5"},
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
			p.Kinds, p.Mechanisms, p.NamedResults = []string{"describe"}, []string{"laplace"}, true
		}, ""},
		{"columns in clear", func(p *Policy, plan *study.Plan) {
			plan.Kind = "labels"
			p.Kinds = []string{"labels"}
			p.ClearColumns = []string{"age"}
		}, `"sex" would leave in clear`},
	} {
		r := newRig(t, nil)
		policy, plan := r.config.Policy, r.study.Plan
		test.change(&policy, &plan)
		got := strings.Join(policy.Objections(plan), "; ")
		found := false
		for _, want := range strings.Split(test.want, "|") {
			found = found || strings.Contains(got, want) && (want != "" || got == "")
		}
		if !found || strings.Contains(got, "; ") {
			t.Errorf("%s: objections %q, want one about %q", test.name, got, test.want)
		}
	}
}

// TestEmptySource: a file that has lost its records gives as many empty ones.
func TestEmptySource(t *testing.T) {
	r := newRig(t, nil)
	if err := os.WriteFile(r.config.Data["ward"].File, []byte("age,sex,ill\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := r.agent(t)
	round(t, a)
	if len(r.bodies) != 1 {
		t.Errorf("%d uploads, want 1:\n%s", len(r.bodies), r.log)
	}
}
