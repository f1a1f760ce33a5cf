package folder

import (
	"strings"
	"testing"
	"time"

	"caucus/coordinator/records"
	"caucus/privacy/journal"
)

// FuzzConfig: any text is either refused or a valid configuration.
func FuzzConfig(f *testing.F) {
	f.Add([]byte("listen: 127.0.0.1:1\nlimits: {burst: 5}\nbudget: {record: {epsilon: 3, delta: 1e-6}}\ngrace: 3s\n"))
	f.Add([]byte("metrics: localhost:1\nminimum_parties: 2\nbudget: none\n"))
	f.Add([]byte("&a [*a, 1]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := ParseConfig(text); err == nil && c.Validate() != nil {
			t.Fatal("a configuration is taken that does not validate")
		}
	})
}

func TestConfigRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"listen: nowhere":                             "line 1: listen",
		"minimum_parties: 1":                          "line 1: minimum_parties",
		"\n\nmetrics: 10.0.0.1:9000":                  "line 3: metrics: \"10.0.0.1:9000\" is not a loopback",
		"tick: 5":                                     "line 1: tick: 5 has no unit",
		"limits: {rate: 0}":                           "rate",
		"limits:\n  silent: 3s":                       `line 2: limits: unknown key "silent": do you mean "silence"?`,
		"limits:\n  slowest: 0":                       "line 2: limits: slowest: 0",
		"unknown: 1":                                  `unknown key "unknown"`,
		"uploads: 3":                                  "it belongs under limits",
		"gossip: {listen: \":7946\"}":                 "line 1: gossip: it was removed, and nothing takes its place: delete the line",
		"listen: a:1\nlisten: b:1":                    "line 2: key \"listen\" is there twice",
		"budget: {party: {epsilon: 0}}":               "line 1: budget: party",
		"budget: {person: {epsilon: 1}}":              "use label, record, patient or party",
		"budget: {party: {epsilom: 1}}":               `budget: party: unknown key "epsilom": do you mean "epsilon"?`,
		"invitation_valid: 9999h":                     "invitation_valid",
		"invitation_valid: 91d":                       "invitation_valid: 2184h0m0s",
		"listen: \":1\"\nbudget: much":                "line 2: budget",
		"listen: \":1\"\nreplicas: {listen: \"a:2\"}": "address or else listen: address \":1\": give HOST:PORT",
		"budget: {}":                                  "line 1: budget: it is empty",
		"budget: []":                                  "line 1: budget",
		"budget: [record]":                            "line 1: budget: found a list",
		"budget:":                                     "budget: not given",
		"listen: 127.0.0.1:1\n# cut off\n":            "budget: not given",
		"":                                            "it is empty",
	} {
		missing := strings.Contains(want, "not given")
		if !strings.Contains(text, "budget") && text != "" && !missing {
			text += "\nbudget: none"
		}
		if _, err := ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	c := must(ParseConfig([]byte("listen: 127.0.0.1:1\nlimits: {burst: 5}\nbudget: {record: {epsilon: 3, delta: 1e-6}}\ngrace: 3s\n")))
	if c.Limits.Burst != 5 || c.Limits.Rate != DefaultConfig("").Limits.Rate ||
		c.StopGrace != 3*time.Second || len(c.Budget) != 1 {
		t.Errorf("config %+v", c)
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// TestNoPasswordIsShown: no error about a database shows its password, for all forms of address
// that PostgreSQL's driver reads, and for some that it does not read.
func TestNoPasswordIsShown(t *testing.T) {
	const secret = "HIDDEN"
	for _, at := range []string{
		"postgres://u:HIDDEN@127.0.0.1:1/caucus", "postgres://127.0.0.1:1/caucus?password=HIDDEN",
		"postgres://127.0.0.1:1/caucus?user=u&sslpassword=HIDDEN", "postgres://u:HIDDEN%zz@h/caucus",
		"postgres://u:1?HIDDEN@127.0.0.1/caucus", "postgres://127.0.0.1:1/caucus?sslmode=HIDDEN",
		"postgres://127.0.0.1:1/caucus?passfile=/HIDDEN&sslcert=/HIDDEN&sslkey=/HIDDEN",
		"host=127.0.0.1 port=1 password=HIDDEN", "u:HIDDEN@tcp(127.0.0.1:1)/caucus",
	} {
		_, move := MoveToPostgreSQL(t.Context(), t.TempDir(), at)
		_, config := ParseConfig([]byte("store: " + at))
		calls := map[string]error{"move": move, "config": config}
		if strings.HasPrefix(at, "postgres:") { // no other address gets so far
			_, calls["journal"] = journal.OpenServer(at)
			_, calls["store"] = records.Open(at)
		}
		for what, err := range calls {
			if err == nil && what != "config" {
				t.Errorf("%s: %s is taken", what, at)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
