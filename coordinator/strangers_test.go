package coordinator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"caucus/coordinator/folder"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/pb"
)

// TestRevokedTakesNothing: a revoked certificate may try anything, on old and new connections. It
// takes nothing from the party that was enrolled again under the same name.
func TestRevokedTakesNothing(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) { c.Limits.Rate, c.Limits.Burst = 0.001, 6 })
	old := w.identity("site")
	before := pb.NewStudiesClient(w.raw(old))
	if _, err := before.List(ctx, &pb.ListRequest{}); err != nil {
		t.Fatal(err)
	}
	must(0, w.operator.Revoke(ctx, "site"))
	again := w.enrol("site")
	w.clock.add(2 * time.Hour) // its old calls no longer count
	for range 10 {
		if _, err := before.List(ctx, &pb.ListRequest{}); err == nil {
			t.Fatal("a revoked certificate is admitted")
		}
		c := w.dial(old)
		if _, err := c.Studies(ctx); !errors.Is(err, protocol.ErrDenied) {
			t.Errorf("a revoked certificate: %v", err)
		}
		c.Close()
	}
	for i := range 6 {
		if _, err := again.Studies(ctx); err != nil {
			t.Errorf("call %d of the party that enrolled anew: %v", i+1, err)
		}
	}
}

// mostGreeting is the number of unfinished handshakes allowed where there are few places.
const mostGreeting = 16

// TestConnections: if a member opens one connection too many, or a coordinator gets one too many,
// the connection that was idle longest is closed. A connection that sends nothing before its
// handshake takes no member's place.
func TestConnections(t *testing.T) {
	w := newWorld(t, func(c *folder.Config) {
		c.Limits.Connections, c.Limits.AllConnections = 2, 4
	})
	lists := func(c *grpc.ClientConn) error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := pb.NewStudiesClient(c).List(ctx, &pb.ListRequest{})
		return err
	}
	open := func() (all int, of map[string]int) {
		of = w.server.gate.Traffic().Connections
		for _, n := range of {
			all += n
		}
		return all, of
	}
	if err := lists(w.raw(must(protocol.LoadIdentity(w.config.Path(folder.OperatorFile))))); err !=
		nil {
		t.Fatal(err)
	}
	id := w.identity("site")
	var first *grpc.ClientConn
	for i := range 5 {
		c := w.raw(id)
		if i == 0 {
			first = c
		}
		if err := lists(c); err != nil {
			t.Fatalf("connection %d: %v", i+1, err)
		}
		if _, of := open(); of["party/site"] > 2 {
			t.Fatalf("connections %v", of)
		}
	}
	if err := lists(first); err != nil { // the client connects again
		t.Errorf("the first connection: %v", err)
	}
	for i := range 5 {
		if err := lists(w.raw(w.identity(fmt.Sprint("other", i)))); err != nil {
			t.Errorf("another member: %v", err)
		}
		if all, of := open(); all > 4 {
			t.Fatalf("%d connections: %v", all, of)
		}
	}
	last := w.identity("last")
	// Silent strangers: more connections than are allowed to wait.
	var silent []net.Conn
	for range 4 * mostGreeting {
		c, err := net.Dial("tcp", w.server.Addr())
		if err != nil {
			break
		}
		silent = append(silent, c)
	}
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		waiting := w.server.gate.Traffic().Handshakes
		if waiting == mostGreeting {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%d wait, want %d", waiting, mostGreeting)
		}
	}
	if _, err := w.operator.Studies(context.Background()); err != nil {
		t.Errorf("an operator that is connected: %v", err)
	}
	for _, c := range silent {
		c.Close()
	}
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if lists(w.raw(last)) == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the places of the silent were not given back")
		}
	}
}

// TestSilentStrangers: one address takes all places before the handshake with silent connections.
// Callers from other addresses still get in.
func TestSilentStrangers(t *testing.T) {
	w := newWorld(t, func(c *folder.Config) {
		c.Limits.Connections, c.Limits.AllConnections = 2, 4
	})
	id, places := w.identity("site"), mostGreeting
	for range 4 * places {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).Dial("tcp",
			w.server.Addr())
		if err != nil {
			t.Skip("this machine has no second loopback address:", err)
		}
		defer c.Close()
	}
	waiting := func() int { return w.server.gate.Traffic().Handshakes }
	for until := time.Now().Add(5 * time.Second); waiting() < places; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d wait, want %d", waiting(), places)
		}
	}
	for range 10 {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		if _, err := pb.NewStudiesClient(w.raw(id)).List(ctx, &pb.ListRequest{}); err != nil {
			t.Errorf("a member from another address: %v", err)
		}
		cancel()
		if n := waiting(); n > places {
			t.Fatalf("%d wait, %d may", n, places)
		}
	}
}

// TestHandshakes: a certificate gets no connection if it is revoked, unknown, expired, or of an
// invitation that was withdrawn or used long ago. The number of its attempts is limited, and so are
// the resulting queries and log lines.
func TestHandshakes(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) { c.Limits.Rate, c.Limits.Burst = 0.001, 10 })
	shake := func(c tls.Certificate) error {
		conn, err := tls.Dial("tcp", w.server.Addr(),
			&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{c},
				NextProtos: []string{"h2"}})
		if err != nil {
			return err
		}
		defer conn.Close()
		must(0, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
		_, err = conn.Read(make([]byte, 1))
		return err
	}
	used, over, unused, withdrawn := invite(t, w,
		admin.InviteOptions{Name: "used", Valid: 80 * 24 * time.Hour}), invite(t, w,
		admin.InviteOptions{Name: "over", Valid: time.Hour}),
		invite(t, w, admin.InviteOptions{Name: "unused", Valid: 48 * time.Hour}), invite(t, w,
			admin.InviteOptions{Name: "withdrawn"})
	enrolment := must(protocol.NewEnrolment())
	member := must(protocol.Enrol(ctx, used, enrolment, protocol.DialOptions{Now: w.clock.Now}))
	must(0, w.operator.Revoke(ctx, "withdrawn"))
	if err := shake(keyOf(used)); err != nil {
		t.Errorf("an invitation just used, whose answer may be lost: %v", err)
	}
	w.clock.add(24*time.Hour + time.Minute)
	unknown, _, err := w.server.authority.IssueFirstOperator("",
		protocol.Caller{Name: "ghost", Role: protocol.RoleParty}, member.Signer, w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	revoked := w.identity("revoked")
	must(0, w.operator.Revoke(ctx, "revoked"))
	for who, c := range map[string]struct {
		certificate tls.Certificate
		refused     bool
	}{
		"member": {pairOf(member), false}, "unused invitation": {keyOf(unused), false},
		"used invitation": {keyOf(used), true}, "invitation that is over": {keyOf(over), true}, "withdrawn invitation": {keyOf(withdrawn), true},
		"unknown": {pairOf(unknown), true}, "revoked": {pairOf(revoked), true},
	} {
		err := shake(c.certificate)
		if refused := err != nil &&
			strings.Contains(err.Error(), "bad certificate"); refused != c.refused {
			t.Errorf("%s: %v", who, err)
		}
	}
	if _, err := protocol.Enrol(ctx, over, must(protocol.NewEnrolment()),
		protocol.DialOptions{Now: w.clock.Now}); !errors.Is(err, protocol.ErrExpired) {
		t.Errorf("an invitation that is over: %v", err)
	}
	asked := w.counted("caucus_handshakes_refused_total")
	for range 40 {
		_ = shake(pairOf(revoked))
	}
	if n := w.counted("caucus_handshakes_refused_total") - asked; n > 10 {
		t.Errorf("the store was asked %v times for one revoked certificate", n)
	}
	if n := strings.Count(w.log.String(), `"call":"handshake","party":"revoked"`); n == 0 || n > 2 {
		t.Errorf("%d lines for one revoked certificate, want one for each reason", n)
	}
}

// TestSilentMessage: a call without its message is ended, whether it has a handler or not.
func TestSilentMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *folder.Config) {
		c.Limits.MaxPause, c.Limits.MinUploadRate = 100*time.Millisecond, 10<<20
	})
	stream := must(pb.NewStudiesClient(w.raw(w.identity("slow"))).Contribute(context.Background()))
	if err := answer(stream); !errors.Is(err, protocol.ErrBusy) ||
		!strings.Contains(err.Error(), "did not pass") {
		t.Errorf("a stream without a message ends with %v", err)
	}
	end := make(chan struct{})
	defer close(end)
	transport := &http.Transport{ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
			Certificates: []tls.Certificate{pairOf(w.identity("slower"))}}}
	defer transport.CloseIdleConnections()
	r := must(http.NewRequest(http.MethodPost,
		"https://"+w.server.Addr()+pb.Studies_List_FullMethodName, newUnfinished(1000, nil, end)))
	r.Header.Set("Content-Type", "application/grpc")
	reply, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, reply.Body)
	reply.Body.Close()
	if code := reply.Trailer.Get("Grpc-Status") +
		reply.Header.Get("Grpc-Status"); code != fmt.Sprint(int(codes.Canceled)) {
		t.Errorf("a message that does not end: status %q", code)
	}
	for until :=
		time.Now().Add(5 * time.Second); w.server.calls("party/slower")+w.server.calls("party/slow") > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the calls were not given up")
		}
	}
}

// TestAllCalls: all members together also have a limit of calls.
func TestAllCalls(t *testing.T) {
	w := newWorld(t, func(c *folder.Config) { c.Limits.Calls, c.Limits.AllCalls = 2, 3 })
	ctx := context.Background()
	for i := range 3 {
		name := fmt.Sprint("p", i)
		must(pb.NewStudiesClient(w.raw(w.identity(name))).Contribute(ctx))
		for w.server.calls("party/"+name) == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	c := must(admin.Dial(must(protocol.LoadIdentity(w.config.Path(folder.OperatorFile))),
		protocol.DialOptions{Coordinator: w.server.Addr()}))
	defer c.Close()
	if _, err := c.Studies(ctx); !errors.Is(err, protocol.ErrBusy) || !protocol.IsRetryable(err) {
		t.Errorf("one call more: %v, want ErrBusy", err)
	}
}

// garbage sends bytes that are no message.
type garbage struct{ encoding.CodecV2 }

func (garbage) Marshal(any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer("\xff\xff\xff\xff")}, nil
}

// TestBytesThatDoNotParse: unreadable bytes count as the caller's mistake, so clients do not repeat
// them.
func TestBytesThatDoNotParse(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	connection := w.raw(w.identity("p0"))
	bad := grpc.ForceCodecV2(garbage{encoding.GetCodecV2("proto")})
	_, unary := pb.NewStudiesClient(connection).List(ctx, &pb.ListRequest{}, bad)
	stream := must(pb.NewStudiesClient(connection).Contribute(ctx, bad))
	must(0, stream.Send(&pb.ContributeRequest{}))
	show := must(pb.NewStudiesClient(connection).Show(ctx, &pb.StudyRequest{}, bad))
	_, shown := show.Recv()
	for what, err := range map[string]error{"unary": unary, "upload": stream.RecvMsg(&pb.Signed{}),
		"download": shown} {
		if status.Code(err) != codes.InvalidArgument ||
			protocol.IsRetryable(protocol.FromStatus(err)) ||
			!errors.Is(protocol.FromStatus(err), protocol.ErrInvalid) {
			t.Errorf("%s: %v, want InvalidArgument", what, err)
		}
	}
	if w.server.calls("party/p0") != 0 {
		t.Error("a call is still open")
	}
}

// TestRefusalsAreCounted: however often a caller is refused, the log gets few lines, with the
// number of refusals. Invented names of calls are not counted by name.
func TestRefusalsAreCounted(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	connection := w.raw(w.identity("p0"))
	for i := range 400 {
		if _, err := pb.NewAdministrationClient(connection).ListMembers(ctx,
			&pb.ListMembersRequest{}); status.Code(err) != codes.PermissionDenied {
			t.Fatalf("a party lists members: %v", err)
		}
		if err := connection.Invoke(ctx, fmt.Sprintf("/caucus.v1.Studies/Made%d", i),
			&pb.ListRequest{}, &pb.ListReply{}); status.Code(err) != codes.InvalidArgument {
			t.Fatalf("a call that is not there: %v", err)
		}
	}
	if n := strings.Count(w.log.String(), "call refused"); n == 0 || n > 4 {
		t.Errorf("%d lines for 800 refused calls", n)
	}
	if n := must(testutil.GatherAndCount(w.server.counts.Registry, "caucus_calls_total")); n > 20 {
		t.Errorf("%d kinds of calls are counted", n)
	}
	if n := w.counted("caucus_calls_total", "PermissionDenied", "ListMembers"); n != 400 {
		t.Errorf("%v of 400 refused calls are counted", n)
	}
}

// counted is a counter's values, by the values of its labels, sorted by the labels' names.
func (w *world) counted(name string, labels ...string) (n float64) {
	for _, f := range must(w.server.counts.Registry.Gather()) {
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if f.GetName() == name && slices.Equal(values, labels) {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}
