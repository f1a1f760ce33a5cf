package agent

import (
	"strings"
	"testing"
	"time"

	"caucus/agent/policy"
	"caucus/protocol"
	"caucus/protocol/server"
)

func helperPins(t testing.TB) policy.Helper {
	t.Helper()
	signer, err := protocol.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	sealing, err := server.NewSealingKey()
	if err != nil {
		t.Fatal(err)
	}
	return policy.Helper{Name: "Data Trust", Signing: signer.Key(),
		Sealing: protocol.SealingPin(sealing.Public())}
}

// TestHelperIsTheCoordinator: an agent whose policy pins the coordinator's own key does not start.
func TestHelperIsTheCoordinator(t *testing.T) {
	r := newRig(t, nil)
	authority, err := server.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := authority.IssueFirstOperator("127.0.0.1:1",
		protocol.Caller{Name: "site", Role: protocol.RoleParty}, wireSigner().Key(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r.Config.Policy.Helper = helperPins(t)
	if a, err := newAgent(r.Config, id, "site", dial); err != nil {
		t.Fatal(err)
	} else {
		a.Close()
	}
	r.Config.Policy.Helper.Signing = wireSigner().Key()
	const want = "policy: helper: signing: this is the coordinator's own key"
	if a, err := newAgent(r.Config, id, "site", dial); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("it started: %v, %v", a, err)
	}
}
