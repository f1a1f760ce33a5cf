package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/protocol"
	"caucus/study"
)

// TestMisconfigured: five sites, each misconfigured in another way. From study wait, study show and
// party list alone, an operator finds each problem without asking a site.
func TestMisconfigured(t *testing.T) {
	n := newNetwork(t, nil)
	name := func(i int) string { return "hospital-" + string(rune('a'+i)) }
	var roster []study.PartyID
	var configs []site.Config
	for i := range 5 {
		if i > 3 { // only four hospitals have files
			text, err := os.ReadFile(filepath.Join(n.dir, name(0)+".csv"))
			n.check(err)
			n.check(os.WriteFile(filepath.Join(n.dir, name(i)+".csv"), text, 0o600))
		}
		configs = append(configs, n.enrol(name(i)))
		roster = append(roster, study.PartyID(name(i)))
	}
	configs[0].Policy.Mechanisms = []string{"tally"}
	n.check(os.RemoveAll(filepath.Join(configs[1].State, "sources")))
	configs[2].Policy.Approval = policy.ApproveByPerson
	configs[3].Clock.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	h := n.open("ward", 2, roster...)
	for _, c := range configs[:4] { // nobody has started the fifth agent
		n.run(c)
	}
	want := map[string]protocol.WaitReason{name(0): protocol.WaitDeclined,
		name(1): protocol.WaitSource,
		name(2): protocol.WaitApproval, name(3): protocol.WaitClock, name(4): ""}
	for {
		s, err := n.operator.Study(n.ctx, h.String())
		n.check(err)
		found := 0
		for _, p := range s.Statuses {
			if p.Wait == want[p.Party] && p.LastCall.IsZero() == (p.Party == name(4)) {
				found++
			}
		}
		if found == len(want) {
			words := waitsFor(s)
			for _, says := range []string{
				"hospital-a: it takes no part: its policy", "hospital-b: nobody there has declared", "hospital-c: a person there has to approve it (called ",
				"hospital-d: its clock", "hospital-e: has not called", "at least 2 must",
			} {
				if !strings.Contains(words, says) {
					t.Errorf("study wait does not say %q: %s", says, words)
				}
			}
			return
		}
		if n.ctx.Err() != nil {
			t.Fatalf("after a minute: %+v", s.Statuses)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
