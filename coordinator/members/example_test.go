package members_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"caucus/coordinator/folder"
	"caucus/coordinator/members"
	"caucus/coordinator/records"
	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/protocol/pb"
)

// A caller that was not enrolled does not pass the gate, whatever name it uses.
func Example() {
	dir, err := os.MkdirTemp("", "members")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := records.Create(filepath.Join(dir, "caucus.db"))
	if err != nil {
		panic(err)
	}
	defer store.Close()
	config := folder.DefaultConfig(dir)
	config.Clock, config.Log = clock.Clock{}.Complete(), slog.New(slog.DiscardHandler)
	gate := members.NewGate(members.NewCertificates(store, config.Clock.Now), config,
		prometheus.NewRegistry())
	ctx := context.Background()
	stranger := protocol.Caller{Name: "hospital-a", Role: protocol.RoleParty, Serial: "1"}
	_, err = gate.Begin(ctx, stranger, pb.Studies_List_FullMethodName)
	fmt.Println(err)

	authority, err := protocol.NewAuthority(time.Now())
	if err != nil {
		panic(err)
	}
	signer, err := protocol.NewSigner()
	if err != nil {
		panic(err)
	}
	keys, err := protocol.FollowKeys(signer.Key(), nil)
	if err != nil {
		panic(err)
	}
	registrar := members.NewRegistrar(config, store,
		folder.Keyring{Authority: authority, Keys: keys}, gate, func() string {
			return "caucus.example.org:7443"
		})
	reply, err := registrar.Invite(ctx, &pb.InviteRequest{Name: "hospital-a"})
	if err != nil {
		panic(err)
	}
	invitation, err := protocol.ParseInvitation(reply.Invitation)
	if err != nil {
		panic(err)
	}
	fmt.Println(invitation.Name, "is invited to", invitation.Coordinator)
	// Output:
	// access denied: hospital-a is not known here: ask the operator for an invitation
	// hospital-a is invited to caucus.example.org:7443
}
