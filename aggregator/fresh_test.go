package aggregator

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"caucus/aggregator/uploading"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
)

// drawsOf is the environment variable that makes a process started by TestFresh print its random
// numbers.
const drawsOf = "CAUCUS_TEST_DRAWS"

// secrets returns the random numbers of servers and parties for one study, always with the same
// plan, party and records.
func secrets(t *testing.T) map[string][]byte {
	c := public.DefaultHospitalConfig()
	c.Records = 100
	table, schema := public.Hospitals(c)
	records, _ := must2(schema.EncodeLabelled(table))
	p := must(planning.Complete(study.Proposal{
		Name: "s", Kind: "classify", Mechanism: "cross", Unit: privacy.Record, Epsilon: 1, Noise: study.NoiseAggregators,
		Minimum: 2, Records: 100, Roster: []study.PartyID{"a", "b"},
	}, schema))
	p.Simulated, p.Map = true, dataset.Identity(schema)
	pool := auxdata.NewSimulated(records.X, p.Map)
	must(0, planning.SetPool(&p, pool))
	task := must(results.NewTask(p, pool))
	w, h := newWorld(t, task), task.Hash()
	w.opened(h)
	data := must(uploading.Contribute(task, "a", study.NewInputs(records, []byte("key")),
		w.under(task)))
	b, _ := bodiesOf(task)
	u := must(uploading.Parse(b, data))
	signing, one, two := w.signers[0].Key(), must(recordOf(w.servers[0], h)).Half,
		must(recordOf(w.servers[1], h)).Half
	return map[string][]byte{
		"the coordinator's part": u.CoordinatorPart, "the helper's part": u.HelperPart,
		"the coordinator's half": one[:], "the helper's half": two[:],
		"a sealing key": w.sealing.Public(), "a signing key": signing[:],
	}
}

// TestFresh: shares, halves of a verify key and keys come from the operating system: made twice
// from the same plan, party and records, or in two processes, no eight bytes are equal.
//
// False alarms: 4,000 comparisons of eight bytes, so 1e-12.
func TestFresh(t *testing.T) {
	if os.Getenv(drawsOf) != "" {
		fmt.Printf("drawn: %s\n", must(json.Marshal(secrets(t))))
		return
	}
	seen := map[string]map[[8]byte]bool{}
	look := func(all map[string][]byte) {
		for what, b := range all {
			if seen[what] == nil {
				seen[what] = map[[8]byte]bool{}
			}
			for ; len(b) >= 8; b = b[8:] {
				if seen[what][[8]byte(b)] {
					t.Errorf("%s has eight bytes of before", what)
					break
				}
				seen[what][[8]byte(b)] = true
			}
		}
	}
	look(secrets(t))
	look(secrets(t))
	other := exec.CommandContext(t.Context(), must(os.Executable()), "-test.run=^TestFresh$",
		"-test.count=1")
	other.Env = append(os.Environ(), drawsOf+"=yes")
	_, drawn, _ := strings.Cut(string(must(other.Output())), "drawn: ")
	drawn, _, _ = strings.Cut(drawn, "\n")
	var theirs map[string][]byte
	must(0, json.Unmarshal([]byte(drawn), &theirs))
	look(theirs)
	if len(seen) != 6 || len(theirs) != 6 {
		t.Errorf("looked at %d and %d", len(seen), len(theirs))
	}
}
