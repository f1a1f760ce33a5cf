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

// meter is how much one member calls.
type meter struct {
	open   int     // calls under way
	tokens float64 // calls it may start now
	last   time.Time
}

// allowed says which roles may make a call.
func allowed(method string) []protocol.Role {
	members := []protocol.Role{protocol.RoleParty, protocol.RoleOperator}
	switch method {
	case pb.Enrolment_Enrol_FullMethodName:
		return []protocol.Role{protocol.RoleInvitation}
	case pb.Studies_Contribute_FullMethodName:
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

// admit decides whether a call goes on. leave ends it.
func (g *gate) admit(ctx context.Context, method string) (caller protocol.Caller, leave func(), err error) {
	caller, err = protocol.CallerOf(ctx)
	if err != nil {
		return caller, nil, err
	}
	if !slices.Contains(allowed(method), caller.Role) {
		return caller, nil, fmt.Errorf("%w: role %s may not call %s", protocol.ErrDenied, caller.Role, path.Base(method))
	}
	if leave, err = g.enter(string(caller.Role) + "/" + caller.Name); err != nil {
		return caller, nil, err
	}
	if err = g.holds(ctx, caller); err != nil {
		leave()
		return caller, nil, err
	}
	return caller, leave, nil
}

// holds asks the store whether a certificate is still good. An invitation's is
// looked at when it is redeemed.
func (g *gate) holds(ctx context.Context, caller protocol.Caller) error {
	if caller.Role == protocol.RoleInvitation {
		return nil
	}
	return g.store.View(ctx, func(tx Tx) error { return stillHolds(tx, caller, g.now()) })
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
		return fmt.Errorf("%w: the certificate of %s was revoked: ask the operator", protocol.ErrDenied, caller.Name)
	case c.Name != caller.Name || c.Role != caller.Role:
		return fmt.Errorf("%w: the certificate of %s is registered for another", protocol.ErrDenied, caller.Name)
	case !now.Before(c.Expires):
		return fmt.Errorf("%w: the certificate of %s: enrol again with a new invitation", protocol.ErrExpired, caller.Name)
	}
	return nil
}

// enter counts a call of a member, whatever connections it comes by.
func (g *gate) enter(member string) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m, ok := g.meter[member]
	if !ok {
		m = &meter{tokens: float64(g.limits.Burst), last: time.Now()}
		g.meter[member] = m
	}
	now := time.Now()
	m.tokens = math.Min(float64(g.limits.Burst), m.tokens+g.limits.Rate*now.Sub(m.last).Seconds())
	m.last = now
	switch {
	case m.open >= g.limits.Calls:
		return nil, fmt.Errorf("%w: %d calls are open, at most %d may be", protocol.ErrBusy, m.open, g.limits.Calls)
	case m.tokens < 1:
		return nil, fmt.Errorf("%w: more than %g calls a second", protocol.ErrBusy, g.limits.Rate)
	}
	m.open++
	m.tokens--
	return func() {
		g.mu.Lock()
		m.open--
		g.mu.Unlock()
	}, nil
}

// callerKey finds the caller that the gate admitted.
type callerKey struct{}

func callerOf(ctx context.Context) protocol.Caller {
	c, _ := ctx.Value(callerKey{}).(protocol.Caller)
	return c
}

// pass admits a call, makes it, and turns its error into one that travels. A
// panic is the call's failure, not the daemon's; its text stays here.
func (g *gate) pass(ctx context.Context, method string, call func(context.Context) error) (err error) {
	start := time.Now()
	caller, leave, err := g.admit(ctx, method)
	if err == nil {
		err = func() (err error) {
			defer leave()
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("call panics: %v", p)
				}
			}()
			return call(context.WithValue(ctx, callerKey{}, caller))
		}()
	}
	travels := protocol.Status(err)
	g.counts.call(path.Base(method), status.Code(travels))
	attrs := []any{"call", path.Base(method), "party", caller.Name, "took", time.Since(start)}
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
	err = g.pass(ctx, info.FullMethod, func(ctx context.Context) (err error) {
		reply, err = handler(ctx, req)
		return err
	})
	return reply, err
}

func (g *gate) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return g.pass(ss.Context(), info.FullMethod, func(ctx context.Context) error {
		return handler(srv, &admittedStream{ss, ctx})
	})
}

type admittedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *admittedStream) Context() context.Context { return s.ctx }
