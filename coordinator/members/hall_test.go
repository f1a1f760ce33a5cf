package members_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"

	"caucus/coordinator/folder"
	"caucus/coordinator/members"
	"caucus/coordinator/records"
	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/pb"
	"caucus/protocol/server"
	"caucus/study"
)

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// moved is a clock that tests set ahead. Waiting uses the machine's clock.
type moved struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (m *moved) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Add(m.ahead)
}

func (m *moved) add(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ahead += d
}

// book is a log that tests can read.
type book struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

type unimplemented struct {
	pb.UnimplementedEnrolmentServer
	pb.UnimplementedStudiesServer
	pb.UnimplementedAdministrationServer
}

// world is a gate with a registrar on loopback, and an operator. It has no studies. It stores no
// pools, and only counts their bytes.
type world struct {
	unimplemented
	*members.Registrar
	config       folder.Config
	clock        *moved
	log          *book
	store        records.Store
	authority    *server.Authority
	certificates *members.Certificates
	gate         *members.CallGate
	registry     *prometheus.Registry
	address      string
	operator     *admin.Client
	hold         chan struct{} // if not nil, an upload that has its place waits for it
	holding      chan struct{}
}

func (w *world) List(context.Context, *pb.ListRequest) (*pb.ListReply, error) {
	return &pb.ListReply{UnixMillis: w.clock.Now().UnixMilli()}, nil
}

func (w *world) ListMembers(ctx context.Context, _ *pb.ListMembersRequest) (*pb.ListMembersReply,
	error) {
	reply := &pb.ListMembersReply{}
	return reply, w.store.View(ctx, func(tx records.Tx) error {
		all, err := tx.Members(w.clock.Now())
		for _, m := range all {
			reply.Members = append(reply.Members, &pb.Member{Name: m.Name, Role: string(m.Role),
				Status: m.Status, ExpiresUnixMillis: m.Expires.UnixMilli(), Tags: m.Tags,
				Token: m.Token})
		}
		return err
	})
}

func (w *world) UploadPool(stream grpc.ClientStreamingServer[pb.UploadPoolRequest,
	pb.UploadPoolReply]) error {
	first, err := stream.Recv()
	if err != nil {
		return members.HeaderError(err)
	}
	done, err := w.gate.AcquireUpload(stream.Context())
	if err != nil {
		return err
	}
	defer done()
	if w.hold != nil {
		w.holding <- struct{}{}
		<-w.hold
	}
	if _, err := members.Receive(stream.Context(), stream.Recv, first.GetHeader().Size,
		w.config.Limits, w.config.Clock); err != nil {
		return err
	}
	return stream.SendAndClose(&pb.UploadPoolReply{})
}

func newWorld(t *testing.T, change func(*folder.Config)) *world {
	t.Helper()
	w := &world{clock: &moved{}, log: &book{}, registry: prometheus.NewRegistry()}
	dir := filepath.Join(t.TempDir(), "coordinator")
	must(0, folder.Init(folder.InitOptions{Dir: dir, Listen: "127.0.0.1:0", Now: w.clock.Now}))
	c := must(folder.LoadConfig(filepath.Join(dir, folder.ConfigFile))).WithDefaults()
	c.Clock = clock.Clock{Now: w.clock.Now}.Complete()
	c.Log = slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.Limits.Rate, c.Limits.Burst = 1e6, 1e6
	if change != nil {
		change(&c)
	}
	stores, ring := must(folder.OpenStores(c)), must(folder.LoadKeyring(c))
	w.config, w.store, w.authority = c, stores.Store, ring.Authority
	w.certificates = members.NewCertificates(w.store, w.clock.Now)
	w.gate = members.NewCallGate(w.certificates, c, w.registry)
	w.Registrar = members.NewRegistrar(c, w.store, ring, w.gate, func() string { return w.address })
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	w.address = listener.Addr().String()
	counted, options, err := w.gate.WrapListener(listener, ring.Authority)
	must(0, err)
	server := grpc.NewServer(options...)
	services := w.gate.Services(server)
	pb.RegisterEnrolmentServer(services, w)
	pb.RegisterStudiesServer(services, w)
	pb.RegisterAdministrationServer(services, w)
	w.gate.AllowMethods(server.GetServiceInfo())
	served := make(chan error, 1)
	go func() { served <- server.Serve(counted) }()
	w.operator = w.dial(must(protocol.LoadIdentity(filepath.Join(dir, folder.OperatorFile))))
	t.Cleanup(func() {
		w.operator.Close()
		server.Stop()
		<-served
		stores.Close()
	})
	return w
}

func (w *world) dial(id protocol.Identity) *admin.Client {
	return must(admin.Dial(id,
		protocol.DialOptions{Coordinator: w.address, Now: w.clock.Now}))
}

// enrol invites and enrols a party.
func (w *world) enrol(name string) *admin.Client { return w.dial(w.identity(name)) }

func (w *world) identity(name string) protocol.Identity {
	text, _, err := w.operator.Invite(context.Background(), admin.InviteOptions{Name: name})
	must(0, err)
	return must(protocol.Enrol(context.Background(), must(protocol.ParseInvitation(text)),
		must(protocol.NewEnrolment()), protocol.DialOptions{Now: w.clock.Now}))
}

// callerOf is a member as its certificate names it.
func callerOf(id protocol.Identity) protocol.Caller { return must(id.Caller()) }

// TestRevokedInTheStore: a member that any process revokes in the store, after the gate let it in,
// gets no new certificate. If this process revokes a member, its calls and connections end.
func TestRevokedInTheStore(t *testing.T) {
	ctx := t.Context()
	w := newWorld(t, nil)
	id := w.identity("site")
	in := must(w.gate.AdmitCall(ctx, callerOf(id), pb.Enrolment_Renew_FullMethodName))
	if got := members.CallerOf(in); got != callerOf(id) {
		t.Errorf("the gate let in %+v", got)
	}
	must(0, w.store.Update(ctx, func(tx records.Tx) error { return tx.Revoke("site") }))
	request := must(must(protocol.NewEnrolment()).Request())
	if _, err := w.Renew(in, &pb.EnrolRequest{SigningRequest: request}); !errors.Is(err,
		protocol.ErrDenied) {
		t.Errorf("a new certificate: %v", err)
	}

	c, other := w.enrol("second"), w.enrol("third")
	defer c.Close()
	defer other.Close()
	must(c.Studies(ctx))
	must(other.Studies(ctx))
	must(0, w.operator.Revoke(ctx, "second"))
	if _, err := c.Studies(ctx); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("who was revoked calls: %v", err)
	}
	if _, err := other.Studies(ctx); err != nil {
		t.Errorf("another calls: %v", err)
	}
	if n := w.gate.Traffic().Connections["party/second"]; n != 0 {
		t.Errorf("%d connections of who was revoked", n)
	}
}

// TestTokenRevoked: an operator revokes a stolen token and, on request, the members that joined by
// it.
func TestTokenRevoked(t *testing.T) {
	ctx := t.Context()
	w := newWorld(t, nil)
	options := protocol.DialOptions{Now: w.clock.Now}
	v, k := makeToken(t, w.operator, admin.TokenOptions{Quota: 1})
	key := must(protocol.NewEnrolment())
	id := must(protocol.Join(ctx, v, key, "", options))
	if _, err := protocol.Join(ctx, v, must(protocol.NewEnrolment()), "", options); !errors.Is(err,
		protocol.ErrDenied) || !strings.Contains(err.Error(), "places") {
		t.Errorf("more than its places: %v", err)
	}
	if gone := must(w.operator.RevokeToken(ctx, k.ID, true)); len(gone) != 1 ||
		gone[0] != callerOf(id).Name {
		t.Errorf("revoked with the token: %v", gone)
	}
	if _, err := protocol.Join(ctx, v, key, "", options); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("by a token that was withdrawn: %v", err)
	}
	c := w.dial(id)
	defer c.Close()
	if _, err := c.Studies(ctx); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("whom it made calls: %v", err)
	}
	if _, err := w.operator.RevokeToken(ctx, "nothing", false); !errors.Is(err,
		protocol.ErrNotFound) {
		t.Errorf("a token that is none: %v", err)
	}
	if err := w.operator.Revoke(ctx, "operator"); !errors.Is(err, protocol.ErrInvalid) {
		t.Errorf("an operator revokes itself: %v", err)
	}
}

// TestCertify: an operator certifies a carried key.
func TestCertify(t *testing.T) {
	w := newWorld(t, nil)
	request := must(must(protocol.NewEnrolment()).Request())
	for _, name := range []string{"carried", "carried"} {
		reply, err := w.Certify(t.Context(),
			&pb.CertifyRequest{Name: name, SigningRequest: request})
		if err != nil || len(reply.Certificate) == 0 || reply.Coordinator != w.address {
			t.Errorf("%v, %v", reply, err)
		}
	}
	for _, r := range []*pb.CertifyRequest{{Name: "a b", SigningRequest: request}, {Name: "x"},
		{Name: "operator", SigningRequest: request}} {
		if _, err := w.Certify(t.Context(), r); err == nil {
			t.Errorf("certified %q", r.Name)
		}
	}
}

// TestPlaces: each member has its own places for calls and bytes, and an invitation has few. A
// member without a free place is told that the coordinator is busy. A call that ends frees its
// place.
func TestPlaces(t *testing.T) {
	w := newWorld(t, func(c *folder.Config) {
		c.Limits.Calls, c.Limits.AllCalls, c.Limits.Bytes = 3, 5, 1000
	})
	one, two := callerOf(w.identity("one")), callerOf(w.identity("two"))
	begin := func(who protocol.Caller, method string) (func(), error) {
		ctx, end := context.WithCancel(context.Background())
		if _, err := w.gate.AdmitCall(ctx, who, method); err != nil {
			end()
			return nil, err
		}
		return end, nil
	}
	const list, upload = pb.Studies_List_FullMethodName, pb.Studies_Contribute_FullMethodName
	var ends []func()
	for range 3 {
		ends = append(ends, must(begin(one, list)))
	}
	if _, err := begin(one, list); protocol.Reason(protocol.FromStatus(err)) != "BUSY" {
		t.Errorf("a fourth call: %v", err)
	}
	for range 2 {
		ends = append(ends, must(begin(two, upload)))
	}
	if _, err := begin(two, list); protocol.Reason(protocol.FromStatus(err)) != "BUSY" {
		t.Errorf("more calls of all than there may be: %v", err)
	}
	if calls := w.gate.Traffic().Calls; calls["party/one"] != 3 || calls["party/two"] != 2 {
		t.Errorf("open are %v", calls)
	}
	for _, end := range ends {
		end()
	}
	for until := time.Now().Add(time.Minute); w.gate.Traffic().Calls["party/one"] > 0; {
		if time.Now().After(until) {
			t.Fatal("calls that ended keep their places")
		}
		time.Sleep(time.Millisecond)
	}
	for method, who := range map[string]protocol.Caller{
		pb.Administration_Invite_FullMethodName: one,
		pb.Enrolment_Enrol_FullMethodName:       one,
		"/caucus.v1.Studies/Other":              one,
		upload:                                  {Name: "operator", Role: protocol.RoleOperator},
		list:                                    {Name: "ghost", Role: protocol.RoleParty, Serial: "77"},
	} {
		if end, err := begin(who, method); err == nil {
			end()
			t.Errorf("%s as %s is let in", method, who.Role)
		}
	}
	if text := w.log.String(); strings.Contains(text, "Studies/Other") {
		t.Errorf("the log has a name that a caller chose: %s", text)
	}
	if n := must(testutil.GatherAndCount(w.registry, "caucus_refusals_total")); n < 2 {
		t.Errorf("%d reasons are counted", n)
	}
}

// TestConnectionsGiveWay: a member has a limited number of connections. A new one replaces the one
// that was idle longest. Failed handshakes of strangers are counted.
func TestConnectionsGiveWay(t *testing.T) {
	ctx := t.Context()
	w := newWorld(t, func(c *folder.Config) { c.Limits.Connections = 2 })
	id := w.identity("site")
	for range 4 {
		c := w.dial(id)
		defer c.Close()
		must(c.Studies(ctx))
		if n := w.gate.Traffic().Connections["party/site"]; n < 1 || n > 2 {
			t.Errorf("%d connections of one member", n)
		}
	}
	raw := must(net.Dial("tcp", w.address))
	defer raw.Close()
	must(raw.Write([]byte("GET / HTTP/1.1\r\n\r\n")))
	closed := func() float64 {
		all := must(w.registry.Gather())
		for _, family := range all {
			if family.GetName() == "caucus_connections_closed_total" {
				return family.Metric[0].Counter.GetValue()
			}
		}
		return 0
	}
	for until := time.Now().Add(time.Minute); closed() < 1; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("a failed handshake is not counted")
		}
	}
}

// TestUploads: a member has a limited number of places for bodies in memory, and its bytes are
// limited.
func TestUploads(t *testing.T) {
	ctx := t.Context()
	w := newWorld(t, func(c *folder.Config) { c.Limits.Streams = 1 })
	pool := bytes.Repeat([]byte("a,b\n"), 1000)
	digest := study.HashOf(pool)
	before := w.gate.Traffic().BytesLeft["operator/operator"]
	if err := w.operator.UploadPool(ctx, [32]byte(digest), pool); err != nil {
		t.Fatal(err)
	}
	if spent := before - w.gate.Traffic().BytesLeft["operator/operator"]; before > 0 &&
		spent < 4000 {
		t.Errorf("an upload of %d bytes counts for %g", len(pool), spent)
	}
	w.hold, w.holding = make(chan struct{}), make(chan struct{}, 1)
	first := make(chan error, 1)
	go func() { first <- w.operator.UploadPool(ctx, [32]byte(digest), pool) }()
	<-w.holding
	if err := w.operator.UploadPool(ctx, [32]byte(digest), pool); !errors.Is(err,
		protocol.ErrBusy) {
		t.Errorf("a second upload beside one: %v", err)
	}
	close(w.hold)
	must(0, <-first)
}
