package agent

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"

	"caucus/agent/desk"
	"caucus/agent/policy"
	"caucus/internal/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/protocol/server"
	"caucus/study"
)

// wire is a coordinator's end of real connections that keeps every byte from an agent.
type wire struct {
	pb.UnimplementedStudiesServer
	rig       *rig
	signature []byte

	mu   sync.Mutex
	said []string // "method bytes", in order
	body []byte   // of the contribution
}

type methodKey struct{}

func (w *wire) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, methodKey{}, i.FullMethodName)
}
func (w *wire) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InPayload); ok {
		b, err := proto.Marshal(in.Payload.(proto.Message))
		if err != nil {
			panic(err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = append(w.said, ctx.Value(methodKey{}).(string)+" "+string(b))
	}
}
func (w *wire) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (w *wire) HandleConn(context.Context, stats.ConnStats)                       {}

func (w *wire) summary() *pb.Summary {
	return &pb.Summary{PlanHash: w.rig.hash[:], Name: "illness", Kind: "classify",
		State: string(study.Open), Roster: 3, Minimum: 2}
}

func (w *wire) List(context.Context, *pb.ListRequest) (*pb.ListReply, error) {
	head := protocol.SignedHead(privacy.Head{}, wireSigner())
	return &pb.ListReply{Studies: []*pb.Summary{w.summary()}, UnixMillis: time.Now().UnixMilli(),
		Head: &pb.Signed{Document: head.Document, Signature: head.Signature}}, nil
}

func (w *wire) Show(_ *pb.StudyRequest, s grpc.ServerStreamingServer[pb.StudyPart]) error {
	for chunk := range protocol.Chunks(w.rig.study.PlanBytes, 0) { // one is enough
		chunk.Signature = w.signature
		return s.Send(&pb.StudyPart{Summary: w.summary(), Plan: chunk,
			Helper: protocol.SignedToProto([]protocol.Signed{w.rig.study.Helper})[0]})
	}
	return nil
}

func (w *wire) DownloadPool(r *pb.DownloadRequest, s grpc.ServerStreamingServer[pb.Chunk]) error {
	for chunk := range protocol.Chunks(w.rig.pool, r.Offset) {
		if err := s.Send(chunk); err != nil {
			return err
		}
	}
	return nil
}

func (w *wire) Decline(context.Context, *pb.DeclineRequest) (*pb.DeclineReply, error) {
	return &pb.DeclineReply{}, nil
}

// wireSigner is one for all wires: agents know its key.
var wireSigner = sync.OnceValue(func() *protocol.Signer {
	s, err := protocol.NewSigner()
	if err != nil {
		panic(err)
	}
	return s
})

// connect connects a rig's agent to a wire by mutual TLS.
func connect(t *testing.T, r *rig) (*Agent, *wire) {
	return connectOver(t, r, func(l net.Listener) net.Listener {
		return l
	}, func(c credentials.TransportCredentials) credentials.TransportCredentials { return c })
}

// connectOver is connect with changes to the coordinator's end below and above TLS.
func connectOver(t *testing.T, r *rig, below func(net.Listener) net.Listener,
	above func(credentials.TransportCredentials) credentials.TransportCredentials) (*Agent, *wire) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	authority, err := server.NewAuthority(time.Now())
	check(err)
	signer := wireSigner()
	w := &wire{rig: r, signature: signer.Sign(protocol.PlanDocument, r.study.PlanBytes)}
	config, err := server.TLS(authority, time.Now, func(protocol.Caller) error {
		return nil
	})
	check(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	server := grpc.NewServer(grpc.Creds(above(credentials.NewTLS(config))), grpc.StatsHandler(w))
	pb.RegisterStudiesServer(server, w)
	done := make(chan error, 1)
	go func() { done <- server.Serve(below(listener)) }()
	t.Cleanup(func() { server.Stop(); <-done })
	id, _, err := authority.IssueFirstOperator(listener.Addr().String(),
		protocol.Caller{Name: "site", Role: protocol.RoleParty}, signer.Key(), time.Now())
	check(err)
	a, err := newAgent(r.Config, id, "site", dial)
	check(err)
	t.Cleanup(func() { a.Close() })
	return a, w
}

// TestRefusalOnTheWire: if the policy, the ledger, the year or a person refuses, the coordinator of
// a quiet site gets the same messages, byte for byte: that this site declines. While a person is
// awaited it does not get that either. A site that is not quiet ends with the same messages for
// each.
func TestRefusalOnTheWire(t *testing.T) {
	const secret = "three of ours are in it"
	var first []string
	for _, test := range []struct {
		name   string
		change func(*rig)
		person func(*testing.T, *Agent)
	}{
		{"policy", func(r *rig) { r.Config.Policy.Mechanisms = nil }, nil},
		{"ledger", func(r *rig) { r.Config.Policy.TotalLimit[privacy.Record] = privacy.Budget{Epsilon: 0.1, Delta: 1e-5} }, nil},
		{"year", func(r *rig) {
			r.Config.Policy.YearLimit =
				map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 0.1, Delta: 1e-5}}
		}, nil},
		{"awaiting persons", func(r *rig) { r.Config.Policy.Approval = policy.ApproveByPerson }, nil},
		{"a person", func(r *rig) {
			r.Config.Policy.Approval = policy.ApproveByPerson
		}, func(t *testing.T, a *Agent) {
			// as if the agent were running
			unlock, err := folder.LockForDaemon(a.site.Config.State, "another agent")
			if err != nil {
				t.Fatal(err)
			}
			defer unlock()
			if _, err := a.Refuse(context.Background(), "illness", desk.Approver{Name: "alice"},
				secret); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.Config.HideWaits = true
			test.change(r)
			a, w := connect(t, r)
			round(t, a)
			if test.person != nil {
				test.person(t, a)
			}
			round(t, a)
			round(t, a)
			w.mu.Lock()
			defer w.mu.Unlock()
			if first == nil {
				first = w.said
				slices.Sort(first)
				// the pool, three lists, the plan
				if len(first) != 6 ||
					first[0] != "/caucus.v1.Studies/Decline \n "+string(r.hash[:]) ||
					!strings.HasPrefix(first[1], "/caucus.v1.Studies/DownloadPool") {
					t.Fatalf("%d messages: %q", len(first), first)
				}
			}
			want := slices.Clone(first)
			if test.name == "awaiting persons" {
				want = want[1:] // all but the first by name: Decline
			}
			if got := slices.Sorted(slices.Values(w.said)); !slices.Equal(got, want) {
				t.Errorf("the coordinator was told\n%q\nand of another refusal\n%q", got, want)
			}
			if all := strings.Join(w.said, ""); strings.Contains(all, secret) ||
				strings.Contains(all, "alice") {
				t.Errorf("the refusal's words left: %q", all)
			}
			if n := charges(t, a, privacy.Record); n != 0 {
				t.Errorf("%d charges", n)
			}
		})
		t.Run(test.name+", not quiet", func(t *testing.T) {
			r := newRig(t, nil)
			test.change(r)
			a := r.agent(t)
			round(t, a)
			if test.person != nil {
				test.person(t, a)
			}
			round(t, a)
			round(t, a)
			want := protocol.WaitDeclined
			if test.name == "awaiting persons" {
				want = protocol.WaitApproval
			}
			if got := r.report.Waits[r.hash]; got != want || len(r.report.Waits) != 1 {
				t.Errorf("told %q, want %q", got, want)
			}
		})
	}
}

// TestPreviewHoldsNothing: while a preview waits for the network an agent can start on the same
// state folder, and what the preview learned is stored.
func TestPreviewHoldsNothing(t *testing.T) {
	r := newRig(t, nil)
	r.Config.Policy.Approval = policy.ApproveByPerson
	a := r.agent(t)
	waiting, answer := make(chan struct{}), make(chan struct{})
	a.link = slowLink{r.coordinatorDouble, func() { close(waiting); <-answer }}
	type result struct {
		r   desk.Review
		err error
	}
	done := make(chan result)
	go func() {
		review, offline, err := a.Preview(context.Background(), "illness")
		if err == nil {
			err = offline
		}
		done <- result{review, err}
	}()
	<-waiting
	unlock, err := folder.LockForDaemon(r.Config.State, "another agent")
	if err != nil {
		t.Errorf("an agent cannot start while a preview waits: %v", err)
	} else {
		unlock()
	}
	close(answer)
	if got := <-done; got.err != nil || got.r.Progress != desk.ProgressWaiting {
		t.Errorf("preview: %v, %q", got.err, got.r.Progress)
	}
}

type slowLink struct {
	link
	before func()
}

func (s slowLink) Studies(ctx context.Context) (protocol.Listing, error) {
	s.before()
	return s.link.Studies(ctx)
}
