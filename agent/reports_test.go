package agent

import (
	"os"
	"testing"
	"time"

	"caucus/agent/policy"
	"caucus/protocol"
)

// TestWaitsTellNothing: for every progress of a study, the reason told to the coordinator is the
// same whatever the source's file holds, and even if it is unreadable or absent. A quiet site tells
// nothing.
func TestWaitsTellNothing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*testing.T, *rig)
		want   protocol.WaitReason
	}{
		"a person has to approve": {func(_ *testing.T, r *rig) { r.Config.Policy.Approval = policy.ApproveByPerson }, protocol.WaitApproval},
		"the policy":              {func(_ *testing.T, r *rig) { r.Config.Policy.Kinds = nil }, protocol.WaitDeclined},
		"no declaration": {func(t *testing.T, r *rig) {
			if err := os.RemoveAll(r.Config.State + "/sources"); err != nil {
				t.Fatal(err)
			}
		}, protocol.WaitSource},
		"the ledger": {func(_ *testing.T, r *rig) {
			for u, b := range r.Config.Policy.TotalLimit {
				b.Epsilon = 0.5
				r.Config.Policy.TotalLimit[u] = b
			}
		}, protocol.WaitDeclined},
		"the clock": {func(_ *testing.T, r *rig) { r.skew = 2 * time.Hour }, protocol.WaitClock},
		"the deadline": {func(_ *testing.T, r *rig) {
			r.Config.Clock.Now = func() time.Time { return r.study.Plan.Deadline.Add(-time.Second) }
		}, protocol.WaitDeadline},
		"nothing": {func(*testing.T, *rig) {}, ""},
		"kept to itself": {func(_ *testing.T, r *rig) {
			r.Config.Policy.Approval, r.Config.HideWaits = policy.ApproveByPerson, true
		}, ""},
	} {
		for file, spoil := range map[string]func(path string) error{
			"as declared": func(string) error { return nil },
			"garbage":     func(path string) error { return os.WriteFile(path, []byte("\x00\x01,;;\n\"\n"), 0o600) },
			"other rows":  func(path string) error { return os.WriteFile(path, []byte("age,sex,ill\n1,f,yes\n"), 0o600) },
			"gone":        os.Remove,
		} {
			t.Run(name+", "+file, func(t *testing.T) {
				r := newRig(t, nil)
				test.change(t, r)
				if err := spoil(r.Config.Data["ward"].File); err != nil {
					t.Fatal(err)
				}
				a := r.agent(t)
				for range 3 { // told with the next call, and unchanged
					round(t, a)
				}
				got, said := r.report.Waits[r.hash]
				if got != test.want || said != (test.want != "") {
					t.Errorf("told %q, want %q", got, test.want)
				}
				if len(r.report.Waits) > 1 {
					t.Errorf("told of %d studies", len(r.report.Waits))
				}
			})
		}
	}
	for w, words := range map[protocol.WaitReason]bool{protocol.WaitApproval: true,
		"42 patients": false,
		"":            false} {
		if w.Valid() != words {
			t.Errorf("%q is known: %v", w, w.Valid())
		}
	}
}
