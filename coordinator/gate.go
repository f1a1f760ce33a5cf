package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"caucus/protocol"
	"caucus/protocol/pb"
)

// gate is what every call passes first: who calls, whether its certificate
// still holds, whether its role allows the call, and whether it calls too much.
type gate struct {
	store  Store
	limits Limits
	now    func() time.Time
	log    *slog.Logger
	counts *counts

	mu    sync.Mutex
	meter map[string]*meter
}

// meter is how much one member calls, whatever connections it comes by.
type meter struct {
	calls   map[*call]bool // under way
	uploads int            // of them, those with a body in memory
	tokens  float64        // calls it may start now
	bytes   float64        // bytes it may move now; below 0, the next transfer waits
	last    time.Time
}

// call is one call under way.
type call struct {
	caller protocol.Caller
	member string
	end    context.CancelCauseFunc // ends it for a reason that the caller is told
}

// allowed says which roles may make a call.
func allowed(method string) []protocol.Role {
	members := []protocol.Role{protocol.RoleParty, protocol.RoleOperator}
	switch method {
	case pb.Enrolment_Enrol_FullMethodName:
		return []protocol.Role{protocol.RoleInvitation}
	case pb.Studies_Contribute_FullMethodName, pb.Studies_Decline_FullMethodName:
		return []protocol.Role{protocol.RoleParty}
	case pb.Enrolment_Renew_FullMethodName:
		return members
	}
	switch service := strings.Trim(path.Dir(method), "/"); service {
	case pb.Administration_ServiceDesc.ServiceName:
		return []protocol.Role{protocol.RoleOperator}
	case pb.Studies_ServiceDesc.ServiceName, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection":
		return members
	}
	return nil
}

// admit decides whether a call goes on. What it returns ends when the caller
// goes away, its certificate expires or it is revoked. leave ends the call.
func (g *gate) admit(ctx context.Context, method string, streams bool) (admitted context.Context, leave func(), err error) {
	caller, err := protocol.CallerOf(ctx)
	if err != nil {
		return ctx, nil, err
	}
	c := &call{caller: caller, member: string(caller.Role) + "/" + caller.Name}
	admitted, c.end = context.WithCancelCause(context.WithValue(ctx, callKey{}, c))
	fail := func(err error) (context.Context, func(), error) {
		c.end(nil)
		return admitted, nil, err
	}
	if !slices.Contains(allowed(method), caller.Role) {
		return fail(fmt.Errorf("%w: role %s may not call %s", protocol.ErrDenied, caller.Role, path.Base(method)))
	}
	// It is entered before its certificate is looked at: whoever is revoked
	// meanwhile is either not good any more there, or ended by evict.
	if err := g.enter(c, streams); err != nil {
		return fail(err)
	}
	expires, err := g.holds(ctx, caller)
	if err != nil {
		g.leave(c)
		return fail(err)
	}
	expiry := time.AfterFunc(expires.Sub(g.now()), func() { c.end(expired(caller)) })
	return admitted, func() { expiry.Stop(); g.leave(c); c.end(nil) }, nil
}

// invitationCall bounds a call with an invitation, which is looked at when it is
// redeemed.
const invitationCall = time.Minute

// holds asks the store whether a certificate is still good, and until when.
func (g *gate) holds(ctx context.Context, caller protocol.Caller) (until time.Time, err error) {
	if caller.Role == protocol.RoleInvitation {
		return g.now().Add(invitationCall), nil
	}
	err = g.store.View(ctx, func(tx Tx) (err error) {
		if err = stillHolds(tx, caller, g.now()); err != nil {
			return err
		}
		c, err := tx.Certificate(caller.Serial)
		until = c.Expires
		return err
	})
	return until, err
}

func expired(caller protocol.Caller) error {
	return fmt.Errorf("%w: the certificate of %s: enrol again with a new invitation", protocol.ErrExpired, caller.Name)
}

func revoked(name string) error {
	return fmt.Errorf("%w: the certificate of %s was revoked: ask the operator", protocol.ErrDenied, name)
}

// stillHolds asks within a transaction, so that what the transaction writes and
// a revocation cannot cross each other.
func stillHolds(tx Tx, caller protocol.Caller, now time.Time) error {
	c, err := tx.Certificate(caller.Serial)
	switch {
	case errors.Is(err, errNone):
		return fmt.Errorf("%w: %s is not known here: ask the operator for an invitation", protocol.ErrDenied, caller.Name)
	case err != nil:
		return fmt.Errorf("look up certificate: %w", err)
	case c.Revoked:
		return revoked(caller.Name)
	case c.Name != caller.Name || c.Role != caller.Role:
		return fmt.Errorf("%w: the certificate of %s is registered for another", protocol.ErrDenied, caller.Name)
	case !now.Before(c.Expires):
		return expired(caller)
	}
	return nil
}

// enter counts a call of a member.
func (g *gate) enter(c *call, streams bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	m, ok := g.meter[c.member]
	now := time.Now()
	if !ok {
		m = &meter{calls: map[*call]bool{}, tokens: float64(g.limits.Burst), bytes: float64(g.limits.Bytes), last: now}
		g.meter[c.member] = m
	}
	rest := now.Sub(m.last)
	m.tokens = math.Min(float64(g.limits.Burst), m.tokens+g.limits.Rate*rest.Seconds())
	m.bytes = math.Min(float64(g.limits.Bytes), m.bytes+float64(g.limits.Bytes)*rest.Hours())
	m.last = now
	switch {
	case len(m.calls) >= g.limits.Calls:
		return fmt.Errorf("%w: %d calls are open, at most %d may be", protocol.ErrBusy, len(m.calls), g.limits.Calls)
	case m.tokens < 1:
		return fmt.Errorf("%w: more than %g calls a second", protocol.ErrBusy, g.limits.Rate)
	case streams && m.bytes <= 0:
		return fmt.Errorf("%w: more than %d bytes an hour", protocol.ErrBusy, g.limits.Bytes)
	}
	m.calls[c] = true
	m.tokens--
	return nil
}

func (g *gate) leave(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.meter[c.member].calls, c)
}

// moved counts bytes that a member sent or got. A transfer that has begun may
// go on; the next one waits until the member is out of debt.
func (g *gate) moved(member string, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.meter[member].bytes -= float64(n)
}

// uploading takes one of a member's places for a body in memory.
func (g *gate) uploading(member string) (done func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.meter[member]
	if m.uploads >= g.limits.Streams {
		return nil, fmt.Errorf("%w: %d uploads are under way, at most %d may be", protocol.ErrBusy, m.uploads, g.limits.Streams)
	}
	m.uploads++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		m.uploads--
	}, nil
}

// evict ends the calls of a member that was revoked, whatever they are doing.
func (g *gate) evict(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.meter {
		for c := range m.calls {
			if c.caller.Name == name {
				c.end(revoked(name))
			}
		}
	}
}

// callKey finds the call that the gate admitted.
type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

func callerOf(ctx context.Context) protocol.Caller {
	if c := callOf(ctx); c != nil {
		return c.caller
	}
	return protocol.Caller{}
}

// ended is why a call was ended from this side, nil if it was not.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && protocol.Reason(cause) != "CANCELLED" {
		return cause
	}
	return nil
}

// pass admits a call, makes it, and turns its error into one that travels. A
// panic is the call's failure, not the daemon's; its text stays here.
func (g *gate) pass(ctx context.Context, method string, streams bool, do func(context.Context) error) (err error) {
	start := time.Now()
	ctx, leave, err := g.admit(ctx, method, streams)
	if err == nil {
		err = func() (err error) {
			defer leave()
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("call panics: %v", p)
				}
			}()
			err = do(ctx)
			if why := ended(ctx); err != nil && why != nil {
				err = why
			}
			return err
		}()
	}
	travels := protocol.Status(err)
	g.counts.call(path.Base(method), status.Code(travels))
	attrs := []any{"call", path.Base(method), "party", callerOf(ctx).Name, "took", time.Since(start)}
	switch reason := protocol.Reason(err); {
	case err == nil:
		g.log.Debug("call", attrs...)
	case status.Code(travels) == codes.Internal:
		g.log.Error("call fails", append(attrs, "error", err)...)
	case reason == "UNAVAILABLE": // the machine's own trouble
		g.log.Error("call fails", append(attrs, "reason", reason, "error", err)...)
	default: // the caller is told more than the log: it may be about its data
		if reason == "" {
			reason = status.Code(travels).String()
		}
		g.log.Info("call refused", append(attrs, "reason", reason)...)
	}
	return travels
}

func (g *gate) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (reply any, err error) {
	plan := info.FullMethod == pb.Studies_Show_FullMethodName // may be megabytes
	err = g.pass(ctx, info.FullMethod, plan, func(ctx context.Context) (err error) {
		reply, err = handler(ctx, req)
		if message, ok := reply.(proto.Message); ok && err == nil && plan {
			g.moved(callOf(ctx).member, proto.Size(message))
		}
		return err
	})
	return reply, err
}

func (g *gate) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return g.pass(ss.Context(), info.FullMethod, true, func(ctx context.Context) error {
		return handler(srv, &admittedStream{ss, ctx, g})
	})
}

// admittedStream is a stream that ends when its call does, even while the other
// end says nothing or takes nothing, and that counts what it moves.
type admittedStream struct {
	grpc.ServerStream
	ctx  context.Context
	gate *gate
}

func (s *admittedStream) Context() context.Context { return s.ctx }

func (s *admittedStream) RecvMsg(m any) error { return s.move(s.ServerStream.RecvMsg, m) }
func (s *admittedStream) SendMsg(m any) error { return s.move(s.ServerStream.SendMsg, m) }

// move makes a call that cannot be given up, but which ends when the handler
// has returned.
func (s *admittedStream) move(do func(any) error, m any) error {
	done := make(chan error, 1)
	go func() { done <- do(m) }()
	select {
	case err := <-done:
		if message, ok := m.(proto.Message); ok && err == nil {
			s.gate.moved(callOf(s.ctx).member, proto.Size(message))
		}
		return err
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}
