package aggregator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
)

// maxCall is the most bytes of one call: 32 contributions whose proofs are as long as
// shares.Form allows, 67 kB each.
const maxCall = 4 << 20

// Serve answers the coordinator's calls on a listener until the context ends. Nobody but
// the holder of the coordinator's key gets a connection. What a call failed with, where the
// other end is not told, is logged here.
func (s *Server) Serve(ctx context.Context, on net.Listener, log *slog.Logger) error {
	tls, err := protocol.PinnedTLS(s.config.Signer, s.config.Other)
	if err != nil {
		return fmt.Errorf("serve %v: %w", s.config.Role, err)
	}
	g := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(tls)), grpc.MaxRecvMsgSize(maxCall), grpc.MaxConcurrentStreams(4),
		grpc.ConnectionTimeout(20*time.Second), grpc.WaitForHandlers(true), grpc.MaxHeaderListSize(16<<10),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 30 * time.Second, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			answer, err := handle(ctx, request)
			if err != nil {
				log.Warn("call refused", "call", info.FullMethod, "error", err)
			}
			return answer, asStatus(err)
		}),
	)
	pb.RegisterHelperServer(g, service{s: s})
	stopped := context.AfterFunc(ctx, g.Stop)
	defer stopped()
	if err := g.Serve(on); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve %v: %w", s.config.Role, err)
	}
	return nil
}

// meanings is how this room's errors travel; protocol has the others.
var meanings = []struct {
	err    error
	code   codes.Code
	reason string
}{
	{ErrConflict, codes.AlreadyExists, "CONFLICT"},
	{ErrBehind, codes.FailedPrecondition, "BEHIND"},
	{ErrOrder, codes.FailedPrecondition, "ORDER"},
	{ErrFailed, codes.FailedPrecondition, "FAILED"},
}

const domain = "caucus aggregator"

// asStatus is an error as it travels. One without a meaning at the other end goes without
// its text.
func asStatus(err error) error {
	for _, m := range meanings {
		if errors.Is(err, m.err) {
			if s, failed := status.New(m.code, err.Error()).WithDetails(&errdetails.ErrorInfo{Domain: domain, Reason: m.reason}); failed == nil {
				return s.Err()
			}
		}
	}
	return protocol.Status(err)
}

// asError is the error that a status means.
func asError(err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.Domain == domain {
			for _, m := range meanings {
				if m.reason == info.Reason {
					return fmt.Errorf("the helper: %w: %s", m.err, s.Message())
				}
			}
		}
	}
	return fmt.Errorf("the helper: %w", protocol.FromStatus(err))
}

// service is a helper as its coordinator calls it.
type service struct {
	pb.UnimplementedHelperServer
	s *Server
}

// fixed reads 32 bytes.
func fixed(what string, b []byte) (out [sha256.Size]byte, err error) {
	if len(b) != len(out) {
		return out, fmt.Errorf("%w: %s has %d bytes, want %d", protocol.ErrInvalid, what, len(b), len(out))
	}
	return [sha256.Size]byte(b), nil
}

func signedOf(d *pb.HelperDocument) Signed { return Signed{d.GetDocument(), d.GetSignature()} }

func documentOf(s Signed) *pb.HelperDocument {
	return &pb.HelperDocument{Document: s.Document, Signature: s.Signature}
}

func (v service) Accept(ctx context.Context, d *pb.HelperDocument) (*pb.HelperDocument, error) {
	plan, err := fixed("plan", d.GetPlan())
	if err != nil {
		return nil, err
	}
	out, err := v.s.Accept(ctx, plan, signedOf(d))
	return documentOf(out), err
}

func (v service) Reveal(ctx context.Context, d *pb.HelperDocument) (*pb.HelperHalf, error) {
	plan, err := fixed("plan", d.GetPlan())
	if err != nil {
		return nil, err
	}
	half, err := fixed("half of a verify key", d.GetHalf())
	if err != nil {
		return nil, err
	}
	out, err := v.s.Reveal(ctx, plan, half, signedOf(d))
	if err != nil {
		return nil, err
	}
	return &pb.HelperHalf{Half: out[:]}, nil
}

func (v service) Prepare(ctx context.Context, o *pb.HelperOffers) (*pb.HelperAnswers, error) {
	plan, err := fixed("plan", o.GetPlan())
	if err != nil {
		return nil, err
	}
	var offers []Offer
	for _, o := range o.GetOffers() {
		offer := Offer{Party: study.PartyID(o.GetParty()), Weight: o.GetWeight(), Head: o.GetHead(), Sealed: o.GetSealed()}
		if len(o.GetMessage()) > 0 { // of bytes that are not there Go makes an empty slice, or nil
			offer.Message = o.GetMessage()
		}
		if offer.Other, err = fixed("digest of a part", o.GetOther()); err != nil {
			return nil, err
		}
		offers = append(offers, offer)
	}
	answers, err := v.s.Prepare(ctx, plan, offers)
	if err != nil {
		return nil, err
	}
	out := &pb.HelperAnswers{}
	for _, a := range answers {
		out.Answers = append(out.Answers, &pb.HelperAnswer{Party: string(a.Party), Accepted: a.Accepted, Message: a.Message})
	}
	return out, nil
}

func (v service) Seal(ctx context.Context, d *pb.HelperDocument) (*pb.HelperDocument, error) {
	plan, err := fixed("plan", d.GetPlan())
	if err != nil {
		return nil, err
	}
	signature, err := v.s.Seal(ctx, plan, signedOf(d))
	return &pb.HelperDocument{Signature: signature}, err
}

func (v service) Share(ctx context.Context, d *pb.HelperDocument) (*pb.HelperDocument, error) {
	plan, err := fixed("plan", d.GetPlan())
	if err != nil {
		return nil, err
	}
	out, err := v.s.Share(ctx, plan)
	return documentOf(out), err
}

// Remote is a helper at the other end of a connection. It is a Peer.
type Remote struct {
	connection *grpc.ClientConn
	helper     pb.HelperClient
}

var _ Peer = (*Remote)(nil)

// Dial makes the coordinator's end: it connects when it is first asked, again when that was
// lost, and with the holder of the helper's key alone.
func Dial(address string, own *protocol.Signer, helper protocol.SignerKey) (*Remote, error) {
	tls, err := protocol.PinnedTLS(own, helper)
	if err != nil {
		return nil, fmt.Errorf("dial helper: %w", err)
	}
	c, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(credentials.NewTLS(tls)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxCall), grpc.MaxCallSendMsgSize(maxCall)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second}, MinConnectTimeout: 10 * time.Second}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute, Timeout: 20 * time.Second}),
	)
	if err != nil {
		return nil, fmt.Errorf("dial helper %s: %w", address, err)
	}
	return &Remote{c, pb.NewHelperClient(c)}, nil
}

// Close ends the connection.
func (r *Remote) Close() error { return r.connection.Close() }

// Accept: see Peer, as for the calls below.
func (r *Remote) Accept(ctx context.Context, plan study.Hash, own Signed) (Signed, error) {
	out, err := r.helper.Accept(ctx, &pb.HelperDocument{Plan: plan[:], Document: own.Document, Signature: own.Signature})
	return signedOf(out), asError(err)
}

// Reveal opens the study.
func (r *Remote) Reveal(ctx context.Context, plan study.Hash, half [32]byte, reveal Signed) ([32]byte, error) {
	out, err := r.helper.Reveal(ctx, &pb.HelperDocument{Plan: plan[:], Document: reveal.Document, Signature: reveal.Signature, Half: half[:]})
	if err != nil {
		return [32]byte{}, asError(err)
	}
	return fixed("the helper's half", out.GetHalf())
}

// Prepare has contributions checked.
func (r *Remote) Prepare(ctx context.Context, plan study.Hash, offers []Offer) ([]Answer, error) {
	in := &pb.HelperOffers{Plan: plan[:]}
	for _, o := range offers {
		in.Offers = append(in.Offers, &pb.HelperOffer{Party: string(o.Party), Weight: o.Weight, Head: o.Head, Other: o.Other[:], Sealed: o.Sealed, Message: o.Message})
	}
	out, err := r.helper.Prepare(ctx, in)
	if err != nil {
		return nil, asError(err)
	}
	var answers []Answer
	for _, a := range out.GetAnswers() {
		answers = append(answers, Answer{study.PartyID(a.GetParty()), a.GetAccepted(), a.GetMessage()})
	}
	return answers, nil
}

// Seal has the set signed.
func (r *Remote) Seal(ctx context.Context, plan study.Hash, set Signed) ([]byte, error) {
	out, err := r.helper.Seal(ctx, &pb.HelperDocument{Plan: plan[:], Document: set.Document, Signature: set.Signature})
	return out.GetSignature(), asError(err)
}

// Share fetches the helper's release.
func (r *Remote) Share(ctx context.Context, plan study.Hash) (Signed, error) {
	out, err := r.helper.Share(ctx, &pb.HelperDocument{Plan: plan[:]})
	return signedOf(out), asError(err)
}
