package members

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"caucus/coordinator/folder"
	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/protocol/server"
)

// CallGate checks every connection and call. At the handshake it refuses invalid certificates. On a
// call's header, before a byte of the message is read, it checks that the certificate is still
// valid, that the role allows the call, and that neither the member nor all members together call
// too much. An admitted call must send its message within a time limit. It ends when the caller
// goes away, or its certificate expires or is revoked.
type CallGate struct {
	certificates *Certificates
	connections  *connections
	limits       folder.Limits
	clock        clock.Clock
	log          *slog.Logger
	refusals     *refusals
	counts       *callCounts
	methods      map[string]bool

	mu     sync.Mutex         // guards the rest, and the content of the meters
	meter  map[string]*meter  // each member's meter
	failed map[string]*bucket // tries with invalid certificates, by serial
	calls  int                // open calls of all members
}

// NewCallGate makes a gate that is closed until Before opens it. Its counts go to registry.
func NewCallGate(s *Certificates, c folder.Config, registry prometheus.Registerer) *CallGate {
	g := &CallGate{
		certificates: s, limits: c.Limits, clock: c.Clock, log: c.Log, refusals: newRefusals(c.Clock), counts: newCallCounts(registry),
		methods: map[string]bool{}, meter: map[string]*meter{}, failed: map[string]*bucket{},
	}
	g.connections = newConnections(nil, nil, g.limits, g.clock, g.counts)
	return g
}

// WrapListener puts the gate in front of a listener. It returns the listener to serve and the
// server's options.
func (cg *CallGate) WrapListener(l net.Listener, a *server.Authority) (net.Listener,
	[]grpc.ServerOption,
	error) {
	tls, err := server.TLS(a, cg.clock.Now, cg.handshake)
	if err != nil {
		return nil, nil, err
	}
	cg.connections = newConnections(l, credentials.NewTLS(tls), cg.limits, cg.clock, cg.counts)
	return cg.connections, []grpc.ServerOption{
		grpc.Creds(cg.connections), grpc.InTapHandle(cg.header), grpc.UnaryInterceptor(cg.Unary), grpc.StreamInterceptor(cg.Stream), grpc.ForceServerCodecV2(newCodec()),
	}, nil
}

// AdmitCall checks a call's handshake and header without a network, for tests.
func (cg *CallGate) AdmitCall(ctx context.Context, caller protocol.Caller,
	method string) (context.Context,
	error) {
	if err := cg.handshake(caller); err != nil {
		return nil, err
	}
	c := &connection{home: cg.connections, caller: caller}
	return cg.header(peer.NewContext(ctx, &peer.Peer{AuthInfo: introduced{connection: c}}),
		&tap.Info{FullMethodName: method})
}

// Traffic is the traffic through the gate at one moment.
type Traffic struct {
	Handshakes  int                // connections that have not finished their handshake
	Connections map[string]int     // finished handshakes, by member: role/name
	Calls       map[string]int     // open calls, by member
	BytesLeft   map[string]float64 // bytes that each member may move now
}

// Traffic looks at calls and then at connections, each under its own lock, so the two may differ by
// what happened in between.
func (cg *CallGate) Traffic() Traffic {
	t := Traffic{Connections: map[string]int{}, Calls: map[string]int{},
		BytesLeft: map[string]float64{}}
	cg.mu.Lock()
	for name, m := range cg.meter {
		t.Calls[name], t.BytesLeft[name] = len(m.calls), m.bytes.left
	}
	cg.mu.Unlock()
	cg.connections.mu.Lock()
	defer cg.connections.mu.Unlock()
	t.Handshakes = len(cg.connections.greets)
	for name, own := range cg.connections.byMember {
		t.Connections[name] = len(own)
	}
	return t
}

// AllowMethods lets calls of these services through; the gate refuses all other names before it
// counts or logs them. Call it before serving.
func (cg *CallGate) AllowMethods(services map[string]grpc.ServiceInfo) {
	for name, s := range services {
		for _, m := range s.Methods {
			cg.methods["/"+name+"/"+m.Name] = true
		}
	}
}

// meter counts one member's calls and bytes, over all its connections.
type meter struct {
	calls   map[*call]bool
	uploads int    // calls with a body in memory
	starts  bucket // calls that the member may start now
	bytes   bucket // bytes that the member may move now; below 0 the next transfer waits
}

// bucket is a token bucket: it fills at a rate up to a size.
type bucket struct {
	left float64
	last time.Duration
}

func (b *bucket) fill(now time.Duration, size, rate float64) {
	b.left = math.Min(size, b.left+rate*(now-b.last).Seconds())
	b.last = now
}

type call struct {
	caller  protocol.Caller
	member  string
	method  string
	moves   bool // a transfer of pools, plans or bodies, whose bytes count
	begun   time.Duration
	ctx     context.Context         // context of the handler
	end     context.CancelCauseFunc // ends ctx, with the reason for the caller
	taken   atomic.Bool             // set by the handler, or by the call's end if that came first
	expiry  clock.Timer             // ends the call when the certificate expires
	message clock.Timer             // ends the call if a message takes too long
}

// memberOf returns the name under which calls and connections are counted. An invitation is no
// member yet and is counted by its serial, so that a lost or stolen invitation uses no share of the
// party with the same name.
func memberOf(c protocol.Caller) string {
	if enrols(c.Role) {
		return string(c.Role) + "/" + c.Serial
	}
	return string(c.Role) + "/" + c.Name
}

// An invitation needs one call; its second connection is for a retry. A join token has many
// holders, which call at once when machines are set up together; a holder without a place tries
// again.
const (
	invitationConnections = 2
	invitationCalls       = 2
	invitationCall        = time.Minute // longest time for the call
	tokenConnections      = 64
	tokenCalls            = 64
)

func allowed(method string) []protocol.Role {
	members := []protocol.Role{protocol.RoleParty, protocol.RoleOperator}
	switch method {
	case pb.Enrolment_Enrol_FullMethodName:
		return []protocol.Role{protocol.RoleInvitation, protocol.RoleToken}
	case pb.Studies_Contribute_FullMethodName, pb.Studies_Decline_FullMethodName:
		return []protocol.Role{protocol.RoleParty}
	case pb.Enrolment_Renew_FullMethodName, pb.Administration_Revoke_FullMethodName:
		return members
	}
	switch service := strings.Trim(path.Dir(method), "/"); service {
	case pb.Replicas_ServiceDesc.ServiceName:
		return []protocol.Role{protocol.RoleReplica}
	case pb.Administration_ServiceDesc.ServiceName:
		return []protocol.Role{protocol.RoleOperator}
	case pb.Studies_ServiceDesc.ServiceName, "grpc.health.v1.Health",
		"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection":
		return members
	}
	return nil
}

// moves reports whether a call moves much data. Such a call waits while its member has moved more
// than Limits.Bytes allows.
func moves(method string) bool {
	switch method {
	case pb.Studies_Show_FullMethodName, pb.Studies_DownloadPool_FullMethodName,
		pb.Studies_DownloadRelease_FullMethodName,
		pb.Studies_Contribute_FullMethodName, pb.Administration_UploadPool_FullMethodName,
		pb.Administration_CreateStudy_FullMethodName,
		pb.Administration_AcceptAnswer_FullMethodName:
		return true
	}
	return strings.HasPrefix(method, "/grpc.reflection.")
}

const handshakeTime = 10 * time.Second

// handshake refuses an invalid certificate before there is a connection. If this machine cannot
// look the certificate up now, handshake admits the caller, because each call's header is checked
// again.
func (cg *CallGate) handshake(caller protocol.Caller) error {
	cg.mu.Lock()
	if b := cg.failed[caller.Serial]; b != nil {
		if b.fill(cg.clock.Elapsed(), float64(cg.limits.Burst), cg.limits.Rate); b.left < 1 {
			cg.mu.Unlock()
			return fmt.Errorf("%w: its handshakes were refused before", protocol.ErrBusy)
		}
	}
	cg.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
	defer cancel()
	_, _, err := cg.certificates.Validity(ctx, caller)
	if protocol.IsRetryable(err) || protocol.Reason(err) == "" {
		return nil
	}
	cg.failedHandshake(caller.Serial)
	cg.counts.handshakes.Inc()
	cg.refusals.log(cg.log, "handshake", caller, err)
	return err
}

const mostFailed = 10_000

// failedHandshake counts a try with an invalid certificate.
func (cg *CallGate) failedHandshake(serial string) {
	cg.mu.Lock()
	defer cg.mu.Unlock()
	b := cg.failed[serial]
	if b == nil {
		if len(cg.failed) >= mostFailed {
			clear(cg.failed)
		}
		b = &bucket{left: float64(cg.limits.Burst), last: cg.clock.Elapsed()}
		cg.failed[serial] = b
	}
	b.left--
}

// mostRefused is the number of refused calls after which a connection is closed, because grpc keeps
// data about each of them until then.
const mostRefused = 1000

func (cg *CallGate) header(ctx context.Context, info *tap.Info) (context.Context, error) {
	connection := connectionOf(ctx)
	if connection == nil {
		return ctx, protocol.Status(fmt.Errorf("%w: the connection has no verified certificate",
			protocol.ErrDenied))
	}
	connection.touch()
	c := &call{
		caller: connection.caller, member: memberOf(connection.caller), method: info.FullMethodName, moves: moves(info.FullMethodName), begun: cg.clock.Elapsed(),
	}
	admitted, err := cg.admit(ctx, c)
	if err != nil {
		cg.report(c, err)
		if connection.refused.Add(1) >= mostRefused {
			connection.Close()
		}
		return ctx, protocol.Status(err)
	}
	return admitted, nil
}

func (cg *CallGate) admit(ctx context.Context, c *call) (context.Context, error) {
	if !cg.methods[c.method] {
		c.method = "unknown" // no names chosen by callers in counts and logs
		return nil, fmt.Errorf("%w: there is no such call: the coordinator runs another version", protocol.ErrInvalid)
	}
	if !slices.Contains(allowed(c.method), c.caller.Role) {
		return nil, fmt.Errorf("%w: role %s may not call %s", protocol.ErrDenied, c.caller.Role,
			path.Base(c.method))
	}
	// cut ends grpc's own context of the call, and grpc then answers "cancelled". So cut is called
	// only while no handler has the call, because a handler can give the caller the real reason.
	outer, cut := context.WithCancel(context.WithValue(ctx, callKey{}, c))
	c.ctx, c.end = context.WithCancelCause(outer)
	// Check the certificate first, so that a call with an invalid one counts against no member's
	// limit. enter compares the revision, and so notices a revocation after this check. After a
	// later one, evict ends the call.
	until, err := cg.enterOnce(ctx, c)
	if err != nil {
		cut()
		return nil, err
	}
	c.expiry = cg.clock.AfterFunc(until.Sub(cg.clock.Now()), func() { c.end(expired(c.caller)) })
	late := cg.limits.UploadTimeLimit(protocol.MaxMessage)
	c.message = cg.clock.AfterFunc(late, func() {
		c.end(fmt.Errorf("%w: a message did not pass within %v", protocol.ErrBusy, late))
	})
	// From here on, whoever takes the call also ends it and frees its place: the handler or, if no
	// handler has it yet, the end of the call's context.
	context.AfterFunc(c.ctx, func() {
		if c.taken.CompareAndSwap(false, true) {
			cg.leave(c)
			cg.report(c, whyEnded(c.ctx))
			cut()
		}
	})
	return outer, nil
}

// enterOnce checks the certificate and enters the call, and repeats both if somebody is revoked
// meanwhile. It returns the time when the call must end.
func (cg *CallGate) enterOnce(ctx context.Context, c *call) (until time.Time, err error) {
	for {
		until, revision, err := cg.certificates.Validity(ctx, c.caller)
		if err == nil {
			err = cg.enter(c, revision)
		}
		if err != errRevision {
			if enrols(c.caller.Role) {
				until = cg.clock.Now().Add(invitationCall)
			}
			return until, err
		}
	}
}

var errRevision = fmt.Errorf("somebody was revoked meanwhile")

// enter counts a call of a member whose certificate was valid at a revision.
func (cg *CallGate) enter(c *call, revision int64) error {
	cg.mu.Lock()
	defer cg.mu.Unlock()
	if cg.certificates.at() > revision {
		return errRevision
	}
	now := cg.clock.Elapsed()
	m, ok := cg.meter[c.member]
	if !ok {
		m = &meter{calls: map[*call]bool{}, starts: bucket{float64(cg.limits.Burst), now},
			bytes: bucket{float64(cg.limits.Bytes), now}}
		cg.meter[c.member] = m
	}
	m.starts.fill(now, float64(cg.limits.Burst), cg.limits.Rate)
	m.bytes.fill(now, float64(cg.limits.Bytes), float64(cg.limits.Bytes)/time.Hour.Seconds())
	most := cg.limits.Calls
	switch c.caller.Role {
	case protocol.RoleInvitation:
		most = min(most, invitationCalls)
	case protocol.RoleToken:
		most = tokenCalls
	}
	switch {
	case len(m.calls) >= most:
		return fmt.Errorf("%w: %d calls are open, at most %d may be", protocol.ErrBusy,
			len(m.calls), most)
	case m.starts.left < 1:
		return fmt.Errorf("%w: more than %g calls a second", protocol.ErrBusy, cg.limits.Rate)
	case c.moves && m.bytes.left <= 0:
		return fmt.Errorf("%w: more than %d bytes an hour", protocol.ErrBusy, cg.limits.Bytes)
	case cg.calls >= cg.limits.AllCalls && c.caller.Role != protocol.RoleReplica:
		return fmt.Errorf("%w: %d calls of all members are open", protocol.ErrBusy, cg.calls)
	}
	m.calls[c] = true
	m.starts.left--
	cg.calls++
	return nil
}

func (cg *CallGate) leave(c *call) {
	c.expiry.Stop()
	c.message.Stop()
	cg.mu.Lock()
	defer cg.mu.Unlock()
	delete(cg.meter[c.member].calls, c)
	cg.calls--
}

// moved counts a call's bytes. A running transfer goes on, even if its member has moved more than
// Limits.Bytes allows.
func (cg *CallGate) moved(c *call, n int) {
	cg.mu.Lock()
	defer cg.mu.Unlock()
	cg.meter[c.member].bytes.left -= float64(n)
}

// evict ends the calls and connections of members and tokens that were revoked. revision is the
// revision after the revocation.
func (cg *CallGate) evict(revision int64, names ...string) {
	cg.certificates.seen(revision)
	gone := map[string]bool{}
	for _, name := range names {
		gone[name] = true
	}
	cg.mu.Lock()
	for _, m := range cg.meter {
		for c := range m.calls {
			if gone[c.caller.Name] {
				c.end(revoked(c.caller.Name))
			}
		}
	}
	cg.mu.Unlock()
	cg.connections.evict(gone)
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// CallerOf returns who makes the admitted call of ctx, from the verified certificate. Outside a
// call of the gate it is the zero Caller, which has no role.
func CallerOf(ctx context.Context) protocol.Caller {
	if c := callOf(ctx); c != nil {
		return c.caller
	}
	return protocol.Caller{}
}

// whyEnded returns the reason why a call's context ended; nil if it has not ended.
func whyEnded(ctx context.Context) error {
	cause := context.Cause(ctx)
	if protocol.Reason(cause) == "CANCELLED" {
		return context.Canceled
	}
	return cause
}

// handle runs an admitted call. A panic fails the call, not the daemon, and its text is not sent.
func (cg *CallGate) handle(c *call, do func() error) error {
	if !c.taken.CompareAndSwap(false, true) {
		return protocol.Status(whyEnded(c.ctx))
	}
	err := func() (err error) {
		defer cg.leave(c)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("call panics: %v", p)
			}
		}()
		return do()
	}()
	if why := whyEnded(c.ctx); err != nil && why != nil {
		err = why
	}
	return cg.report(c, err)
}

// report counts and logs the outcome of a call, and converts its error for the wire.
func (cg *CallGate) report(c *call, err error) error {
	travels := protocol.Status(err)
	cg.counts.call(path.Base(c.method), status.Code(travels))
	reason := protocol.Reason(err)
	if err != nil {
		cg.counts.refused.WithLabelValues(cmp.Or(reason, status.Code(travels).String())).Inc()
	}
	switch {
	case err == nil:
		cg.log.Debug("call", "call", path.Base(c.method), "party", c.caller.Name, "took",
			cg.clock.Elapsed()-c.begun)
	// a bug, or a problem of this machine
	case status.Code(travels) == codes.Internal, reason == "UNAVAILABLE":
		cg.log.Error("call fails", "call", path.Base(c.method), "party", c.caller.Name, "took",
			cg.clock.Elapsed()-c.begun, "reason", reason, "error", err)
	default: // the log gets less than the caller, because the text may be about its data
		cg.refusals.log(cg.log, path.Base(c.method), c.caller, err)
	}
	return travels
}

// Unary runs an admitted call under the call's own context, which ends when the caller is revoked.
// Errors leave in the form of protocol.Status.
func (cg *CallGate) Unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo,
	handler grpc.UnaryHandler) (reply any, err error) {
	c := callOf(ctx)
	c.message.Stop()
	err = cg.handle(c, func() (err error) {
		reply, err = handler(c.ctx, req)
		return err
	})
	return reply, err
}

// Stream runs an admitted call whose messages count towards the caller's bytes, silence and pace.
// Errors leave in the form of protocol.Status.
func (cg *CallGate) Stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	c := callOf(ss.Context())
	return cg.handle(c, func() error {
		return handler(srv, &admittedStream{ss, c, connectionOf(c.ctx), cg})
	})
}
