package aggregator

import (
	"context"
	"crypto/sha256"
	stdtls "crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"sync"
	"syscall"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"caucus/aggregator/uploading"
	"caucus/internal/clock"
	"caucus/internal/database"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
)

// maxCall bounds the bytes of a call: 32 contributions with proofs of at most 67 kB
// (shares.VectorForm).
const maxCall = 4 << 20

// Serve answers the coordinator's calls on a listener until ctx ends. Only the holder of the
// coordinator's key can connect. Serve logs failures, also those whose text the caller does not
// get.
func (s *Server) Serve(ctx context.Context, on net.Listener, log *slog.Logger) error {
	var sealing protocol.KeyPin
	if s.config.Sealing != nil {
		sealing = protocol.SealingPin(s.config.Sealing.Public())
	}
	tls, err := PinnedTLS(s.config.Signer, s.config.OtherKey, sealing)
	if err != nil {
		return fmt.Errorf("serve %v: %w", s.config.Role, err)
	}
	logged := -time.Minute // by the clock: strangers fill no log
	pinned := tls.VerifyConnection
	tls.VerifyConnection = func(c stdtls.ConnectionState) error {
		err := pinned(c)
		s.mu.Lock()
		defer s.mu.Unlock()
		if now := s.config.Clock.Elapsed(); err != nil && now-logged >= time.Minute {
			logged = now
			log.Warn("a caller is refused", "error", err)
		}
		return err
	}
	g := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(tls)), grpc.MaxRecvMsgSize(maxCall),
		grpc.MaxConcurrentStreams(4),
		grpc.ConnectionTimeout(20*time.Second), grpc.WaitForHandlers(true),
		grpc.MaxHeaderListSize(16<<10),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: pingTime / 2, PermitWithoutStream: true,
		}),
		grpc.UnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo,
			handle grpc.UnaryHandler) (any, error) {
			answer, err := handle(ctx, request)
			if err != nil {
				log.Warn("call refused", "call", info.FullMethod, "error", err)
			}
			return answer, asStatus(err)
		}),
		grpc.StreamInterceptor(func(on any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
			handle grpc.StreamHandler) error {
			err := handle(on, stream)
			if err != nil {
				log.Warn("call refused", "call", info.FullMethod, "error", err)
			}
			return asStatus(err)
		}),
	)
	pb.RegisterHelperServer(g, service{s: s, brings: &sync.Mutex{}})
	stopped := context.AfterFunc(ctx, g.Stop)
	defer stopped()
	if err := g.Serve(on); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve %v: %w", s.config.Role, err)
	}
	return nil
}

// meanings maps this package's errors to the wire. Package protocol maps all others.
var meanings = []struct {
	err    error
	code   codes.Code
	reason string
}{
	{ErrConflict, codes.AlreadyExists, "CONFLICT"},
	{ErrBehind, codes.FailedPrecondition, "BEHIND"},
	{ErrStepOrder, codes.FailedPrecondition, "ORDER"},
	{ErrFailed, codes.FailedPrecondition, "FAILED"},
	{privacy.ErrBudget, codes.FailedPrecondition, "BUDGET"},
	{ErrFull, codes.ResourceExhausted, "FULL"},
}

const domain = "caucus aggregator"

// refusedKey matches what a coordinator may read once the helper has refused its certificate. In
// TLS 1.3 a client is done before it is refused.
var refusedKey = regexp.MustCompile(`remote error: tls|broken pipe|reset by peer|server preface`)

// asStatus converts an error for the wire. The text of an error that neither meanings nor
// protocol.Status knows is left out.
func asStatus(err error) error {
	if errors.Is(err, syscall.ENOSPC) || database.IsDiskFull(err) {
		err = fmt.Errorf("%w: the disk of the helper is full: its operator makes room", ErrFull)
	}
	for _, m := range meanings {
		if errors.Is(err, m.err) {
			if s, failed := status.New(m.code,
				err.Error()).WithDetails(&errdetails.ErrorInfo{Domain: domain,
				Reason: m.reason}); failed == nil {
				return s.Err()
			}
		}
	}
	return protocol.Status(err)
}

// nameOfStudy matches what a helper's text has of the study that the caller names itself.
var nameOfStudy = regexp.MustCompile(`(?:[a-z]+ )*(?:study|plan) [0-9a-f]{64}: `)

func asError(err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	p := s.Proto()
	p.Message = nameOfStudy.ReplaceAllString(p.Message, "")
	s = status.FromProto(p)
	err = s.Err()
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.Domain == domain {
			for _, m := range meanings {
				// the helper's own limit; its operator may raise it
				if m.reason == info.Reason && (m.err == privacy.ErrBudget || m.err == ErrFull) {
					return fmt.Errorf("%w: %s", protocol.ErrHelper, s.Message())
				}
				if m.reason == info.Reason {
					return fmt.Errorf("the helper: %w: %s", m.err, s.Message())
				}
			}
		}
	}
	if s.Code() == codes.Internal {
		return fmt.Errorf("%w: it failed by itself, and its own log says why: call its operator", protocol.ErrHelper)
	}
	if refusedKey.MatchString(s.Message()) {
		return fmt.Errorf("%w: it ends the connection: perhaps it pins another key than this coordinator's: "+
			"compare both with caucus helper keys, at each server (%s)", protocol.ErrHelper, s.Message())
	}
	if s.Code() == codes.DeadlineExceeded {
		return fmt.Errorf("%w: it does not answer", protocol.ErrHelper)
	}
	if meant := protocol.FromStatus(err); !errors.Is(meant, protocol.ErrUnavailable) {
		return fmt.Errorf("the helper: %w", meant)
	}
	return fmt.Errorf("%w: %s", protocol.ErrHelper, s.Message())
}

type service struct {
	pb.UnimplementedHelperServer
	s      *Server
	brings *sync.Mutex // held during one Bring at a time; guards no field
}

func fixed(what string, b []byte) (out [sha256.Size]byte, err error) {
	if len(b) != len(out) {
		return out, fmt.Errorf("%w: %s has %d bytes, want %d", protocol.ErrInvalid, what, len(b),
			len(out))
	}
	return [sha256.Size]byte(b), nil
}

func signedOf(d *pb.HelperDocument) Signed {
	return Signed{Document: d.GetDocument(), Signature: d.GetSignature()}
}

func documentOf(s Signed) *pb.HelperDocument {
	return &pb.HelperDocument{Document: s.Document, Signature: s.Signature}
}

func (s service) Accept(ctx context.Context, d *pb.HelperDocument) (*pb.HelperDocument, error) {
	plan, err := fixed("plan", d.GetPlan())
	if err != nil {
		return nil, err
	}
	out, err := s.s.Accept(ctx, plan, signedOf(d))
	return documentOf(out), err
}

func (s service) Bring(stream grpc.ClientStreamingServer[pb.HelperPart, pb.HelperBrought]) error {
	shelf := s.s.config.Plans
	if shelf == nil {
		return fmt.Errorf("bring plan: %w: this server takes none", protocol.ErrDenied)
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	head := first.GetHeader()
	plan, err := fixed("plan", head.GetPlan())
	if err != nil {
		return err
	}
	if most := uint64(shelf.MaxPoolBytes()); head.GetPlanSize() > protocol.MaxPlanBytes ||
		head.GetPoolSize() > most {
		return fmt.Errorf("%w: a plan of %d bytes with a pool of %d: at most %d and %d are taken", protocol.ErrTooLarge, head.GetPlanSize(), head.GetPoolSize(), protocol.MaxPlanBytes, most)
	}
	s.brings.Lock() // so that memory holds at most one pool
	defer s.brings.Unlock()
	if shelf.Has(plan) {
		return stream.SendAndClose(&pb.HelperBrought{})
	}
	canonical, err := assemble(head.GetPlanSize(), stream, (*pb.HelperPart).GetPlan)
	if err != nil {
		return err
	}
	if sha256.Sum256(canonical) != plan {
		return fmt.Errorf("%w: the plan has another hash than %x", protocol.ErrDamaged, plan)
	}
	digest, err := shelf.Check(plan, canonical)
	if err != nil && (digest == [sha256.Size]byte{} || !s.s.agreed(stream.Context(), plan)) {
		return fmt.Errorf("bring plan %x: %w: %w", plan, protocol.ErrDenied, err)
	}
	if err := s.s.room(stream.Context(), plan,
		int64(head.GetPlanSize()+head.GetPoolSize())); err != nil {
		return fmt.Errorf("bring plan %x: %w", plan, err)
	}
	pool, err := assemble(head.GetPoolSize(), stream, (*pb.HelperPart).GetPool)
	if err != nil {
		return err
	}
	if sha256.Sum256(pool) != digest {
		return fmt.Errorf("%w: the pool's digest is not the plan's", protocol.ErrDamaged)
	}
	s.s.point("before plan kept")
	if err := shelf.Store(plan, canonical, pool); err != nil {
		return err
	}
	s.s.point("after plan kept")
	return stream.SendAndClose(&pb.HelperBrought{})
}

func assemble(size uint64, stream grpc.ClientStreamingServer[pb.HelperPart, pb.HelperBrought],
	chunk func(*pb.HelperPart) *pb.Chunk) ([]byte, error) {
	a := protocol.Assembly{Size: size}
	for uint64(len(a.Data)) < size {
		part, err := stream.Recv()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", protocol.ErrDamaged, err)
		}
		if err := a.Add(chunk(part)); err != nil {
			return nil, err
		}
	}
	return a.Complete()
}

func (s service) Reveal(ctx context.Context, d *pb.HelperDocument) (*pb.HelperHalf, error) {
	plan, err := fixed("plan", d.GetPlan())
	if err != nil {
		return nil, err
	}
	half, err := fixed("half of a verify key", d.GetHalf())
	if err != nil {
		return nil, err
	}
	out, err := s.s.Reveal(ctx, plan, half, signedOf(d))
	if err != nil {
		return nil, err
	}
	return &pb.HelperHalf{Half: out[:]}, nil
}

func (s service) Prepare(ctx context.Context, o *pb.HelperOffers) (*pb.HelperAnswers, error) {
	plan, err := fixed("plan", o.GetPlan())
	if err != nil {
		return nil, err
	}
	var offers []uploading.PrepareRequest
	for _, o := range o.GetOffers() {
		offer := uploading.PrepareRequest{Party: study.PartyID(o.GetParty()), Weight: o.GetWeight(),
			CommonPart: o.GetHead(), HelperPart: o.GetSealed()}
		if len(o.GetMessage()) > 0 { // an absent field may arrive as nil or as an empty slice
			offer.Message = o.GetMessage()
		}
		if offer.CoordinatorDigest, err = fixed("digest of a part", o.GetOther()); err != nil {
			return nil, err
		}
		offers = append(offers, offer)
	}
	answers, err := s.s.Prepare(ctx, plan, offers)
	if err != nil {
		return nil, err
	}
	out := &pb.HelperAnswers{}
	for _, a := range answers {
		out.Answers = append(out.Answers,
			&pb.HelperAnswer{Party: string(a.Party), Accepted: a.Accepted, Message: a.Message})
	}
	return out, nil
}

func (s service) Seal(ctx context.Context, d *pb.HelperDocument) (*pb.HelperDocument, error) {
	plan, err := fixed("plan", d.GetPlan())
	if err != nil {
		return nil, err
	}
	signature, err := s.s.Seal(ctx, plan, signedOf(d))
	return &pb.HelperDocument{Signature: signature}, err
}

func (s service) Share(ctx context.Context, d *pb.HelperDocument) (*pb.HelperDocument, error) {
	plan, err := fixed("plan", d.GetPlan())
	if err != nil {
		return nil, err
	}
	out, err := s.s.Share(ctx, plan)
	return documentOf(out), err
}

func (s service) End(ctx context.Context, d *pb.HelperDocument) (*pb.HelperEnded, error) {
	plan, err := fixed("plan", d.GetPlan())
	if err != nil {
		return nil, err
	}
	return &pb.HelperEnded{}, s.s.End(ctx, plan)
}

func (s service) Recall(ctx context.Context, d *pb.HelperDocument) (*pb.HelperRecalled, error) {
	return &pb.HelperRecalled{}, s.s.Recall(ctx, signedOf(d))
}

// RemoteHelper is the helper over a network, over mutual TLS with pinned keys. Every call has a
// deadline, and may be repeated after any error: the helper answers again what it answered before.
// It is safe for concurrent use.
type RemoteHelper struct {
	connection *grpc.ClientConn
	helper     pb.HelperClient
	asked      asked
}

// Deadlines of calls to the helper: workTime of Prepare, Seal and Share, since work on
// contributions may take long on a slow machine; callTime of Accept, Reveal, End and Recall, which
// read and write a few rows, and of each part of Bring. Whoever waits for Advance can end its ctx,
// and repeat the call later. A connection whose helper answers no ping is given up after pingTime
// twice, and every call on it ends.
const (
	workTime = 2 * time.Minute
	callTime = 8 * time.Second
	pingTime = 10 * time.Second // the least that grpc allows
	// bringRate is the least rate, in bytes a second, at which a helper stores what was sent.
	bringRate = 8 << 20
	// silence is the time after which a call without an answer counts as not answered, if the
	// helper has answered no other call either.
	silence = 5 * time.Second
)

// asked remembers which calls to the helper have no answer.
type asked struct {
	clock   clock.Clock
	mu      sync.Mutex // guards the rest
	next    int
	running map[int]time.Time
	// when the last answer came, and when the first of the calls began that all failed since; zero:
	// none
	answered, failed time.Time
}

// begin notes a call. end notes how the call ended; an error that the helper itself sent is an
// answer.
func (a *asked) begin() (end func(error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, at := a.next, a.clock.Now()
	if a.next++; a.running == nil {
		a.running = map[int]time.Time{}
	}
	a.running[n] = at
	return func(err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.running, n)
		switch code := status.Code(err); {
		case code == codes.Canceled: // this server stops
		case code != codes.Unavailable && code != codes.DeadlineExceeded:
			a.failed, a.answered = time.Time{}, a.clock.Now()
		case code == codes.DeadlineExceeded && a.answered.After(at): // it was busy
		case a.failed.IsZero():
			a.failed = latest(at, a.answered)
		}
	}
}

// since returns when the oldest call began that has no answer, zero if none is late. busy reports
// whether the helper answered other calls meanwhile, so that it is at work and not silent.
func (a *asked) since() (at time.Time, busy bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	at, busy = a.failed, a.failed.IsZero() && now.Sub(a.answered) < silence
	for _, began := range a.running {
		late := now.Sub(began) >= silence
		if !busy {
			began = latest(began, a.answered)
		}
		if late && (at.IsZero() || began.Before(at)) {
			at = began
		}
	}
	return at, busy
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// watched gives each call a deadline and notes whether the helper answered.
func (r *RemoteHelper) watched(ctx context.Context, method string, in, out any, c *grpc.ClientConn,
	invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
	limit := callTime
	switch method {
	case pb.Helper_Prepare_FullMethodName, pb.Helper_Seal_FullMethodName,
		pb.Helper_Share_FullMethodName:
		limit = workTime
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	end := r.asked.begin()
	err := invoke(ctx, method, in, out, c, o...)
	end(err)
	return err
}

var _ Peer = (*RemoteHelper)(nil)

// Dial prepares the coordinator's connection to a helper. The connection is made at the first call,
// and again after a loss, only to the holder of the helper's key.
func Dial(address string, own *protocol.Signer, helper protocol.SignerKey) (*RemoteHelper, error) {
	tls, err := PinnedTLS(own, helper, protocol.KeyPin{})
	if err != nil {
		return nil, fmt.Errorf("dial helper: %w", err)
	}
	r := &RemoteHelper{asked: asked{clock: clock.Clock{}.Complete()}}
	r.connection, err = grpc.NewClient(address,
		grpc.WithUnaryInterceptor(r.watched),
		grpc.WithTransportCredentials(credentials.NewTLS(tls)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxCall),
			grpc.MaxCallSendMsgSize(maxCall)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second}, MinConnectTimeout: 10 * time.Second}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingTime, Timeout: pingTime}),
	)
	if err != nil {
		return nil, fmt.Errorf("dial helper %s: %w", address, err)
	}
	r.helper = pb.NewHelperClient(r.connection)
	return r, nil
}

// Close ends the connection and the calls under way. The helper may have done what they asked.
func (r *RemoteHelper) Close() error { return r.connection.Close() }

// SilentSince returns since when the helper has not answered what it was asked, zero if it answers.
// A helper that is connected and does not answer is silent too, unless it answered another call
// meanwhile: then it is busy. Probe asks it now and then, so that its silence is noticed before a
// study needs it.
func (r *RemoteHelper) SilentSince() (since time.Time, busy bool) { return r.asked.since() }

// SendPlan sends a plan and its pool to a helper that lacks them. The errors name no study.
func (r *RemoteHelper) SendPlan(ctx context.Context, plan study.Hash, canonical,
	pool []byte) error {
	r.wake(ctx)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	late := r.asked.clock.AfterFunc(callTime, func() { stop(context.DeadlineExceeded) })
	defer late.Stop()
	end := r.asked.begin()
	err := r.bring(ctx, plan, canonical, pool, late)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = status.FromContextError(cause).Err()
	}
	end(err)
	return asError(err)
}

// wake retries a failed connection at once, because the helper may just have started.
func (r *RemoteHelper) wake(ctx context.Context) {
	if r.connection.GetState() != connectivity.TransientFailure {
		return
	}
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	r.connection.ResetConnectBackoff()
	r.connection.WaitForStateChange(ctx, connectivity.TransientFailure)
}

// bring lets each part of a plan and its pool take callTime, and the helper's storing of them
// longer if they are large.
func (r *RemoteHelper) bring(
	ctx context.Context, plan study.Hash, canonical, pool []byte, late clock.Timer,
) error {
	stream, err := r.helper.Bring(ctx)
	if err != nil {
		return err
	}
	send := func(part *pb.HelperPart) {
		if err == nil { // io.EOF: the server has answered already
			err = stream.Send(part)
			late.Reset(callTime)
		}
	}
	send(&pb.HelperPart{Part: &pb.HelperPart_Header{Header: &pb.HelperHeader{
		Plan: plan[:], PlanSize: uint64(len(canonical)), PoolSize: uint64(len(pool)),
	}}})
	for chunk := range protocol.Chunks(canonical, 0) {
		send(&pb.HelperPart{Part: &pb.HelperPart_Plan{Plan: chunk}})
	}
	for chunk := range protocol.Chunks(pool, 0) {
		send(&pb.HelperPart{Part: &pb.HelperPart_Pool{Pool: chunk}})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	late.Reset(callTime + time.Second*time.Duration(len(pool)/bringRate))
	_, err = stream.CloseAndRecv()
	return err
}

// Accept gives up after 8 seconds. The helper may still have accepted; ask again.
func (r *RemoteHelper) Accept(ctx context.Context, plan study.Hash, own Signed) (Signed, error) {
	out, err := r.helper.Accept(ctx,
		&pb.HelperDocument{Plan: plan[:], Document: own.Document, Signature: own.Signature})
	return signedOf(out), asError(err)
}

// Reveal gives up after 8 seconds. It refuses a half of other than 32 bytes.
func (r *RemoteHelper) Reveal(ctx context.Context, plan study.Hash, half [32]byte,
	reveal Signed) ([32]byte, error) {
	out, err := r.helper.Reveal(ctx,
		&pb.HelperDocument{Plan: plan[:], Document: reveal.Document, Signature: reveal.Signature,
			Half: half[:]})
	if err != nil {
		return [32]byte{}, asError(err)
	}
	return fixed("the helper's half", out.GetHalf())
}

// Prepare gives up after 2 minutes. It returns what the helper answered, and leaves to Server
// whether that covers each offer.
func (r *RemoteHelper) Prepare(ctx context.Context, plan study.Hash,
	offers []uploading.PrepareRequest) ([]PrepareReply, error) {
	in := &pb.HelperOffers{Plan: plan[:]}
	for _, o := range offers {
		in.Offers = append(in.Offers,
			&pb.HelperOffer{Party: string(o.Party), Weight: o.Weight, Head: o.CommonPart,
				Other: o.CoordinatorDigest[:], Sealed: o.HelperPart, Message: o.Message})
	}
	out, err := r.helper.Prepare(ctx, in)
	if err != nil {
		return nil, asError(err)
	}
	var answers []PrepareReply
	for _, a := range out.GetAnswers() {
		answers = append(answers,
			PrepareReply{study.PartyID(a.GetParty()), a.GetAccepted(), a.GetMessage()})
	}
	return answers, nil
}

// Seal gives up after 2 minutes. Server checks the signature.
func (r *RemoteHelper) Seal(ctx context.Context, plan study.Hash, set Signed) ([]byte, error) {
	out, err := r.helper.Seal(ctx,
		&pb.HelperDocument{Plan: plan[:], Document: set.Document, Signature: set.Signature})
	return out.GetSignature(), asError(err)
}

// Share asks the helper to release its share, through its own ledger and with its own noise, and
// gives up after 2 minutes. The same share comes again when asked again.
func (r *RemoteHelper) Share(ctx context.Context, plan study.Hash) (Signed, error) {
	out, err := r.helper.Share(ctx, &pb.HelperDocument{Plan: plan[:]})
	return signedOf(out), asError(err)
}

// End gives up after 8 seconds. Repeat it until it succeeds, or the helper keeps what it stored of
// the study.
func (r *RemoteHelper) End(ctx context.Context, plan study.Hash) error {
	_, err := r.helper.End(ctx, &pb.HelperDocument{Plan: plan[:]})
	return asError(err)
}

// Recall gives up after 8 seconds. ErrBehind comes from the helper, as through Server.
func (r *RemoteHelper) Recall(ctx context.Context, share Signed) error {
	_, err := r.helper.Recall(ctx,
		&pb.HelperDocument{Document: share.Document, Signature: share.Signature})
	return asError(err)
}
