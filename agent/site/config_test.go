package site

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/privacy"
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
	if g := c.Policy.StudyLimit[privacy.Record]; g.Epsilon != 1 || g.Delta != 1e-6 {
		t.Errorf("study limit %+v", g)
	}
}

// TestConfigOfSources: a mapping is in its source's entry or in a separate file, beside the
// expectations about the file.
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
	if a.Mapping.File != "" || m.Delimiter != ";" || len(m.Missing) != 2 ||
		m.Missing[1] != "NULL" || m.Columns["sex"].Levels["1"] != "M" ||
		m.Columns["died"].FromColumn != "Tot" {
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
		{"{file: ward.csv, schema: ward.yaml}", "ward.csv", `line 5: data: ward.a: found "ward.csv", want the keys file, query, schema`},
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
		{"state: state", "state: state\ncoordinator: nowhere", "HOST:PORT"},
		{"state: state", "state: state\nimports: state/imports", "lies in the state folder"},
		{"state: state", "state: state\ngossip: {listen: \":7946\"}", "line 3: gossip: it was removed, and nothing takes its place: delete the line"},
		{"file: ward.csv", "file: ''", "name the file of its records"},
		{"schema: ward.yaml", "schema: ''", "name the schema file"},
		{"file: ward.csv", "file: ward.csv, colour: red", "colour"},
		{"mechanisms: [cross]", "mechanisms: [crass]", "crass"},
		{"noise: [site]", "noise: [everywhere]", "everywhere"},
		{"epsilon: 1,", "epsilon: -1,", "epsilon"},
		{"  study:\n    record:", "  study:\n    person:", "person"},
		{"  study:\n    record:", "  study:\n    label:", "no limit at that unit"},
		{"  total:\n    record:", "  total:\n    party: {epsilon: 1, delta: 1e-6}\n    record:", "guarantee nothing"},
		{"minimum_parties: 3", "minimum_parties: 1", "line 14: policy: minimum_parties: 1: give at least 2"},
		{"noise: [site]", "noise: [site, aggregators]", "policy: helper: code: noise by aggregators needs a helper that this site knows: get the code of its keys from the organisation that runs it"},
		{"approval: policy", "approval: policy\n  helper: {name: Data Trust}", "policy: helper: code"},
		{"approval: policy", "approval: policy\n  helper: {code: 7K3M-Q0XD-29TB-HHRN-5CWE}", "line 16: policy: helper: code: a letter of the code is wrong, or two are in the wrong order"},
		{"approval: policy", "approval: policy\n  helper: {code: 7K3M-Q0XD}", "helper: code: \"7K3M-Q0XD\" is none: a code has 20 letters and digits"},
		{"approval: policy", "approval: policy\n  helper: {code: 7K3M-Q0XD-29TB-HHRN-5CWP, sealing: " + strings.Repeat("ab", 32) + "}", "helper: code: give it alone, or signing and sealing in its place"},
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
		{"approval: policy", "approval: person\n  approvers: {al  ice: " + strings.Repeat("ab", 32) + "}", "al  ice"},
		{"  total:\n", "  year:\n    party: {epsilon: 1, delta: 1e-6}\n  total:\n", "guarantee nothing"},
		{"  total:\n", "  year:\n    record: {epsilon: -1, delta: 1e-6}\n  total:\n", "year: record"},
	} {
		text := strings.Replace(goodConfig, test.from, test.to, 1)
		if text == goodConfig {
			t.Fatalf("%q is not in the config", test.from)
		}
		if _, err := ParseConfig([]byte(text)); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want one about %q", test.to, err, test.want)
		}
	}
}

// TestLearnerConfig: every form of the key learner.
func TestLearnerConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.yaml")
	load := func(text string) (Config, error) {
		if err := os.WriteFile(path, []byte(goodConfig+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return LoadConfig(path)
	}
	c, err := load("learner: {command: [python3, vote.py], timeout: 5m, memory: 2GiB}\n")
	if err != nil || c.Learner.Memory != 2<<30 || c.Learner.Timeout != 5*time.Minute ||
		!slices.Equal(c.Learner.Command, []string{"python3", "vote.py"}) {
		t.Errorf("%+v: %v", c.Learner, err)
	}
	if p := c.Learner.program("x"); p.Dir != filepath.Dir(path) || p.Scratch != "x" {
		t.Errorf("it is run in %q", p.Dir)
	}
	if c, err = load("learner: forest\n"); err != nil || c.Learner.Name != "forest" ||
		c.Learner.Configured() {
		t.Errorf("%+v: %v", c.Learner, err)
	}
	for text, want := range map[string]string{
		"learner: xgboost\n":                               "a program of your own is {command:",
		"learner: {command: []}\n":                         "name the program",
		"learner: {comand: [x]}\n":                         `do you mean "command"`,
		"learner: {command: [x], timeout: 90}\n":           "timeout",
		"learner: {command: [x], timeout: 2ms}\n":          "100ms to 24h",
		"learner: {command: [x], memory: much}\n":          "512MiB",
		"learner: {command: [x], memory: 1000}\n":          "at least 16MiB",
		"learner: {command: [x], memory: 9999999999GiB}\n": "512MiB",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "learner") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
