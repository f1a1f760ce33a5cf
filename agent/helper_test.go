package agent

import (
	"strings"
	"testing"
	"time"

	"caucus/protocol"
	"caucus/study"
)

// helperPins are those of a helper that exists in tests only.
func helperPins(t testing.TB) Helper {
	t.Helper()
	signer, err := protocol.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	sealing, err := protocol.NewSealingKey()
	if err != nil {
		t.Fatal(err)
	}
	return Helper{Name: "Data Trust", Signing: signer.Key(), Sealing: protocol.SealingPin(sealing.Public())}
}

// TestHelperPolicy: noise by aggregators is refused where the policy does not name it, and
// where it names no helper, with a word on what to do.
func TestHelperPolicy(t *testing.T) {
	plan := newRig(t, nil).study.Plan
	plan.Noise = study.NoiseAggregators
	objection := func(change func(*Policy)) string {
		p := newRig(t, nil).config.Policy
		change(&p)
		return strings.Join(p.Objections(plan), "; ")
	}
	if no := objection(func(*Policy) {}); !strings.Contains(no, `noise "aggregators" is not allowed: the policy allows site, coordinator; to allow it, name the helper`) {
		t.Errorf("not named: %q", no)
	}
	if no := objection(func(p *Policy) { p.Helper = helperPins(t) }); !strings.Contains(no, "is not allowed") {
		t.Errorf("a helper alone allows it: %q", no)
	}
	if no := objection(func(p *Policy) { p.Noise = []study.Noise{study.NoiseAggregators} }); !strings.Contains(no, "names none under helper") || !strings.Contains(no, "not from the coordinator") {
		t.Errorf("no helper: %q", no)
	}
	if no := objection(func(p *Policy) { p.Noise, p.Helper = []study.Noise{study.NoiseAggregators}, helperPins(t) }); no != "" {
		t.Errorf("named and with a helper: %q", no)
	}
}

// TestHelperIsTheCoordinator: an agent whose policy pins the coordinator's own key does not
// start, and its check says why.
func TestHelperIsTheCoordinator(t *testing.T) {
	r := newRig(t, nil)
	authority, err := protocol.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := authority.IssueOwn("127.0.0.1:1", protocol.Caller{Name: "site", Role: protocol.RoleParty}, wireSigner().Key(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r.config.Policy.Helper = helperPins(t)
	if a, err := newAgent(r.config, id, "site", dial); err != nil {
		t.Fatal(err)
	} else {
		a.Close()
	}
	if f := checkHelper(r.config.Policy.Helper, id); len(f) != 1 || f[0].Status != StatusOK || !strings.Contains(f[0].Says, "Data Trust, signing key "+r.config.Policy.Helper.Signing.String()[:16]) {
		t.Errorf("check: %+v", f)
	}
	r.config.Policy.Helper.Signing = wireSigner().Key()
	const want = "policy: helper: signing: this is the coordinator's own key"
	if a, err := newAgent(r.config, id, "site", dial); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it started: %v, %v", a, err)
	}
	if f := checkHelper(r.config.Policy.Helper, id); len(f) != 1 || f[0].Status != StatusProblem || !strings.Contains(f[0].Says, want) {
		t.Errorf("check: %+v", f)
	}
}
