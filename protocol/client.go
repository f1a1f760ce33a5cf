package protocol

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"caucus/internal/clock"
	"caucus/privacy"
	"caucus/protocol/pb"
	"caucus/study"
)

// DialOptions change how a coordinator is reached. The zero value works.
type DialOptions struct {
	// Coordinator is a host:port that replaces the identity's.
	Coordinator string
	// Timeout bounds a call; 0 means 30 s. TransferTimeout bounds the transfer of a whole pool,
	// contribution or release; 0 means 10 minutes.
	Timeout, TransferTimeout time.Duration
	// NewestSignedFile is a file for the newest document about the coordinator's ledger. Each call
	// of Studies shows this document to the coordinator. If empty, the document is only in memory.
	NewestSignedFile string
	// Now is this machine's clock, which checks certificates; nil is the system's.
	Now func() time.Time
}

// Client calls a coordinator as one identity. It is safe for concurrent use and must be closed.
type Client struct {
	line        *line
	enrolment   pb.EnrolmentClient
	studies     pb.StudiesClient
	coordinator string
	ca          string
	timeout     time.Duration
	transfer    time.Duration
	now         func() time.Time
	memory      *memory

	heartbeatMu sync.Mutex // guards heartbeat
	heartbeat   Heartbeat

	keysMu sync.Mutex // guards keys
	keys   Keys
}

// Unary is a call of one message in each direction, as gRPC generates them.
type Unary[Q, A any] func(context.Context, *Q, ...grpc.CallOption) (*A, error)

// Ask makes a call within the client's time for one call. Its error begins with what, the thing to
// do, and wraps the server's (FromStatus).
func Ask[Q, A any](ctx context.Context, c *Client, what string, call Unary[Q, A], request *Q,
	options ...grpc.CallOption) (*A, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	reply, err := call(ctx, request, options...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, FromStatus(err))
	}
	return reply, nil
}

// Dial prepares a client. The first call connects, and later calls when needed.
func Dial(id Identity, o DialOptions) (*Client, error) {
	pair, err := tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key))
	if err != nil {
		return nil, fmt.Errorf("dial coordinator: identity: %w", err)
	}
	if o.Coordinator == "" {
		o.Coordinator = id.Coordinator
	}
	keys, err := id.Keys()
	if err != nil {
		return nil, fmt.Errorf("dial coordinator: identity: %w", err)
	}
	return dial(id.CA, pair, keys, o)
}

func dial(ca string, pair tls.Certificate, keys Keys, o DialOptions) (*Client, error) {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.TransferTimeout == 0 {
		o.TransferTimeout = 10 * time.Minute
	}
	o.Now = clock.Clock{Now: o.Now}.Complete().Now
	config, err := ClientTLS(ca, pair, o.Now)
	if err != nil {
		return nil, fmt.Errorf("dial coordinator: %w", err)
	}
	held, err := openMemory(o.NewestSignedFile, keys)
	if err != nil {
		return nil, fmt.Errorf("dial coordinator: %w", err)
	}
	alive := keepalive.ClientParameters{Time: time.Minute, Timeout: 20 * time.Second}
	if several(o.Coordinator) { // leaves a paused replica within 15 s; gRPC allows no shorter Time
		alive = keepalive.ClientParameters{Time: PingInterval, Timeout: 5 * time.Second}
	}
	l, err := newLine(func(opened *sockets) (*grpc.ClientConn, error) {
		target, option := replicas(o.Coordinator)
		return grpc.NewClient(target, option,
			grpc.WithTransportCredentials(firstWord{credentials.NewTLS(config), opened}),
			// Callers wait between attempts, so the connection's own delays are short.
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
				MinConnectTimeout: 10 * time.Second,
			}),
			// Keepalive notices a peer that vanished.
			grpc.WithKeepaliveParams(alive),
		)
	})
	if err != nil {
		return nil, fmt.Errorf("dial coordinator %s: %w", o.Coordinator, err)
	}
	return &Client{
		line: l, enrolment: pb.NewEnrolmentClient(l), studies: pb.NewStudiesClient(l),
		coordinator: o.Coordinator, ca: ca, keys: keys,
		timeout: o.Timeout, transfer: o.TransferTimeout, now: o.Now, memory: held,
	}, nil
}

// replicas makes a dial target, and its option, from addresses with commas between them. gRPC tries
// one address after the other, because all replicas but the leader refuse connections.
func replicas(addresses string) (target string, option grpc.DialOption) {
	all := strings.Split(addresses, ",")
	if len(all) == 1 {
		return addresses, grpc.EmptyDialOption{}
	}
	r := manual.NewBuilderWithScheme("replicas")
	var state resolver.State
	for _, a := range all {
		state.Endpoints = append(state.Endpoints,
			resolver.Endpoint{Addresses: []resolver.Address{{Addr: a}}})
	}
	r.InitialState(state)
	return "replicas:///" + all[0], grpc.WithResolvers(r)
}

// Close ends the connection. Calls under way fail.
func (c *Client) Close() error { return c.line.Close() }

// HangUp ends the connection and its calls; the next call connects again. After it returns, no
// socket is open and nothing more is sent.
func (c *Client) HangUp() error { return c.line.hangUp() }

// Connection is the connection under the client, for services of the coordinator that no party
// calls.
func (c *Client) Connection() grpc.ClientConnInterface { return c.line }

// Transferring bounds a context by the client's time for the transfer of a whole file.
func (c *Client) Transferring(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.transfer)
}

// Now is this machine's time, by the clock that checks certificates.
func (c *Client) Now() time.Time { return c.now() }

// Keys returns the coordinator's signing keys known so far.
func (c *Client) Keys() Keys {
	c.keysMu.Lock()
	defer c.keysMu.Unlock()
	return c.keys
}

func (c *Client) follow(successions []Signed) error {
	c.keysMu.Lock()
	defer c.keysMu.Unlock()
	for _, s := range successions {
		keys, err := c.keys.Follow(s)
		if err != nil {
			return err
		}
		c.keys = keys
	}
	return nil
}

// Summary is a study's state as the coordinator says it, unsigned: Hash is the plan's, Roster
// counts the parties asked, Contributed those whose bodies are stored, Reason says why a study
// failed. Deadline and Minimum are after amendments.
type Summary struct {
	Hash        study.Hash  `json:"hash"`
	Name        string      `json:"name"`
	Kind        string      `json:"kind"`
	State       study.State `json:"state"`
	Reason      string      `json:"reason,omitempty"`
	Deadline    time.Time   `json:"deadline"`
	Roster      int         `json:"roster"`
	Contributed int         `json:"contributed"`
	Minimum     int         `json:"minimum"`
	// CallerContributed reports that the caller has contributed.
	CallerContributed bool `json:"mine"`
	// CallerLost reports that the caller's contribution is lost, and that the coordinator wants the
	// same bytes again.
	CallerLost bool `json:"lost,omitempty"`
	// Amendments counts the plan's amendments. Deadline and Minimum are those in force.
	Amendments int `json:"amendments,omitempty"`
}

// Study is a study that the caller may see. The coordinator signed its plan, and the plan's hash
// identifies the study. Plan and amendments have passed ParsePlan and ParseAmendments.
type Study struct {
	Summary
	Plan          study.Plan            `json:"-"`
	PlanBytes     []byte                `json:"-"`
	PlanSignature []byte                `json:"-"`
	Amendments    []study.Signed        `json:"-"`
	Chain         *study.AmendmentChain `json:"-"`
	PoolBytes     uint64                `json:"pool_bytes"`
	// ContributedBy, and the lists of parties after it, are for operators.
	ContributedBy []string `json:"contributed_by"`
	Missing       []string `json:"missing"`
	Declined      []string `json:"declined"`
	// Awaited lists contributors that have not called since the coordinator started, and parties
	// that hold a release that the coordinator has forgotten. The release waits for them.
	Awaited []string `json:"awaited"`
	// Statuses give the report of each missing party's last call.
	Statuses []PartyStatus `json:"statuses,omitempty"`
	// Helper is the helper's acceptance of a study with noise by aggregators, as the coordinator
	// passed it on, without a check: uploading.CheckAcceptance checks it with the helper's key. It
	// is empty for other studies.
	Helper Signed `json:"-"`
	// Forecast is the forecast that the operator made with "caucus study create". The coordinator
	// signed it, and package study/stated reads its document. It is empty if the operator made
	// none.
	Forecast Signed `json:"-"`
}

// MaxForecastBytes bounds the bytes of a forecast's document, which has about 1,500.
const MaxForecastBytes = 16 << 10

// MaxAcceptanceBytes bounds the bytes of a helper's acceptance, which has about 2,100.
const MaxAcceptanceBytes = 16 << 10

// Listing is the reply to a poll: the studies that the caller may see, with what the reply proves
// about the coordinator's clock, addresses and ledger.
type Listing struct {
	Studies []Summary
	// Skew is the lead of the coordinator's clock over this machine's.
	Skew time.Duration
	// Addresses are those of the coordinator's replicas, for Identity.WithKeys.
	Addresses Addresses
	// CoordinatorRestored says how the coordinator's ledger contradicts what it signed earlier,
	// which proves that the ledger was restored to an older state; else nil.
	CoordinatorRestored error
	// HelperRestored says how a helper's signatures on releases contradict each other, which proves
	// that the helper was restored to an older state and may have drawn noise twice; else nil.
	HelperRestored error
	// StoreError says why the coordinator's signed document could not be stored; else nil.
	StoreError error
}

// Studies lists opened studies for a party, all studies for an operator, newest first.
func (c *Client) Studies(ctx context.Context) (Listing, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	keys := c.Keys()
	newest := keys.Newest()
	held, head := c.memory.newest()
	request := &pb.ListRequest{Shown: held.proto(), Signer: newest[:]}
	c.reported(request)
	reply, err := c.list(ctx, request)
	if err != nil {
		return Listing{}, fmt.Errorf("list studies: %w", FromStatus(err))
	}
	l := Listing{Skew: time.UnixMilli(reply.UnixMillis).Sub(c.now())}
	if err := c.follow(SignedFromProto(reply.Successions)); err != nil {
		return Listing{}, fmt.Errorf("list studies: %w", err)
	}
	if l.Addresses, err = addressesOf(reply.Addresses, reply.Replicas,
		c.Keys().Newest()); err != nil {
		return Listing{}, fmt.Errorf("list studies: %w", err)
	}
	l.HelperRestored = c.HelperRestored()
	l.CoordinatorRestored, l.StoreError, err = c.compare(reply.Head, held, head)
	if err != nil {
		return Listing{}, fmt.Errorf("list studies: %w", err)
	}
	for _, s := range reply.Studies {
		summary, err := summaryOf(s)
		if err != nil {
			return Listing{}, fmt.Errorf("list studies: %w", err)
		}
		l.Studies = append(l.Studies, summary)
	}
	return l, nil
}

// PingInterval is the shortest interval at which a client checks that its connection still works. A
// server must allow it (keepalive.EnforcementPolicy).
const PingInterval = 10 * time.Second

// listTime bounds the answer of one of several replicas. The system of a paused replica keeps its
// connections open and accepts new ones, so its callers would wait for the whole timeout while
// another replica leads. Another one takes over within about this time.
const listTime = 4 * time.Second

// shortLists is the number of tries that have listTime each. After them, a new leader has taken
// over.
const shortLists = 3

// list asks again, on a new connection, while one of several replicas does not answer. The last
// question has the rest of the time, for a slow network.
func (c *Client) list(ctx context.Context, r *pb.ListRequest) (*pb.ListReply, error) {
	for range shortLists {
		if !several(c.coordinator) {
			break
		}
		one, stop := context.WithTimeout(ctx, listTime)
		reply, err := c.studies.List(untold{one}, r)
		silent := one.Err() != nil
		if stop(); err == nil || !silent || ctx.Err() != nil {
			return reply, err
		}
		if err := c.HangUp(); err != nil {
			return nil, err
		}
	}
	return c.studies.List(ctx, r)
}

// untold is a context whose deadline gRPC does not tell the server. The server would end the call a
// moment before the client does, with an error of its own.
type untold struct{ context.Context }

// Deadline reports that there is none.
func (untold) Deadline() (time.Time, bool) { return time.Time{}, false }

// several reports whether an address has several replicas.
func several(address string) bool { return strings.Contains(address, ",") }

// compare checks the ledger head in signed against held, the document that this client showed the
// coordinator, and before, the head in held. It stores signed if the ledger continues from before.
// back says how the ledger contradicts held.
func (c *Client) compare(signed *pb.Signed, held ShownHead,
	before privacy.Head) (back, forgot, err error) {
	if signed == nil {
		return fmt.Errorf("the coordinator knows that its ledger was put back to an older state (it was at entry %d), and releases nothing", before.Sequence), nil, nil
	}
	s := ShownHead{HeadDocument, signed.Document, signed.Signature}
	now, err := s.Head(c.Keys())
	switch {
	case err != nil:
		return nil, nil, err
	case held.Kind != "" && now.Sequence < before.Sequence:
		return fmt.Errorf("the coordinator's ledger went back from entry %d to %d: it was put back to an older state", before.Sequence, now.Sequence), nil, nil
	case held.Kind != "" && now.Sequence == before.Sequence && now.Hash != before.Hash:
		return fmt.Errorf("the coordinator signed two different entries %d of its ledger: it was put back to an older state and went on", now.Sequence), nil, nil
	}
	return nil, c.memory.keep(s, now, c.Keys()), nil
}

func summaryOf(s *pb.Summary) (Summary, error) {
	if s == nil || len(s.PlanHash) != len(study.Hash{}) {
		return Summary{}, fmt.Errorf("%w: a study without a plan hash", ErrDamaged)
	}
	return Summary{
		Hash: study.Hash(s.PlanHash), Name: s.Name, Kind: s.Kind, State: study.State(s.State), Reason: s.Reason,
		Deadline: time.UnixMilli(s.DeadlineUnixMillis).UTC(), Roster: int(s.Roster), Contributed: int(s.Contributed),
		Minimum: int(s.Minimum), CallerContributed: s.Mine, CallerLost: s.Lost, Amendments: int(s.Amendments),
	}, nil
}

// Study returns a study by its hash, a unique prefix of the hash, or its name.
func (c *Client) Study(ctx context.Context, ref string) (Study, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	s, err := c.show(ctx, ref)
	if err != nil {
		return Study{}, fmt.Errorf("show study %s: %w", ref, err)
	}
	return s, nil
}

func (c *Client) show(ctx context.Context, ref string) (Study, error) {
	stream, err := c.studies.Show(ctx, &pb.StudyRequest{Study: ref})
	if err != nil {
		return Study{}, FromStatus(err)
	}
	var s Study
	var plan Assembly
	for first := true; ; first = false {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Study{}, FromStatus(err)
		}
		if first {
			if s.Summary, err = summaryOf(part.Summary); err != nil {
				return Study{}, err
			}
			s.PoolBytes = part.PoolBytes
			if s.Helper, err = signedWithin(part.Helper, MaxAcceptanceBytes,
				"a helper's acceptance"); err != nil {
				return Study{}, err
			}
			if s.Forecast, err = signedWithin(part.Forecast, MaxForecastBytes+ed25519.SignatureSize,
				"a forecast"); err != nil {
				return Study{}, err
			}
			s.Amendments = append(s.Amendments, SignedFromProto(part.Amendments)...)
		}
		if part.Plan != nil {
			if plan.Data == nil {
				if part.Plan.Size > MaxPlanBytes {
					return Study{}, fmt.Errorf("%w: a plan of %d bytes is announced", ErrTooLarge,
						part.Plan.Size)
				}
				plan.Size, s.PlanSignature = part.Plan.Size, part.Plan.Signature
			}
			if err := plan.Add(part.Plan); err != nil {
				return Study{}, err
			}
		}
		s.ContributedBy = append(s.ContributedBy, part.Contributed...)
		s.Missing = append(s.Missing, part.Missing...)
		s.Declined = append(s.Declined, part.Declined...)
		s.Awaited = append(s.Awaited, part.Awaited...)
		for _, p := range part.Statuses {
			s.Statuses = append(s.Statuses,
				PartyStatus{p.Party, WaitReason(p.What), TimeOf(p.SeenUnixMillis)})
		}
	}
	if s.PlanBytes, err = plan.Complete(); err != nil {
		return Study{}, err
	}
	if err := c.Keys().Verify(PlanDocument, s.PlanBytes, s.PlanSignature); err != nil {
		return Study{}, err
	}
	if s.Forecast.Document != nil {
		if err := c.Keys().Verify(ForecastDocument, s.Forecast.Document,
			s.Forecast.Signature); err != nil {
			return Study{}, err
		}
	}
	var hash study.Hash
	if s.Plan, hash, err = ParsePlan(s.PlanBytes); err != nil {
		return Study{}, err
	}
	if hash != s.Hash {
		return Study{}, fmt.Errorf("%w: its plan has hash %s", ErrDamaged, hash)
	}
	if s.Chain, err = ParseAmendments(s.Plan, hash, s.Amendments, c.Keys()); err != nil {
		return Study{}, err
	}
	// The signed values replace the summary's values.
	s.Summary.Amendments, s.Deadline, s.Minimum = s.Chain.Len(), s.Chain.Ending().Deadline,
		s.Chain.Ending().Minimum
	return s, nil
}

// signedWithin reads a document and its signature. If they have more than most bytes together, it
// returns ErrTooLarge.
func signedWithin(p *pb.Signed, most int, what string) (Signed, error) {
	s := Signed{Document: p.GetDocument(), Signature: p.GetSignature()}
	if n := len(s.Document) + len(s.Signature); n > most {
		return Signed{}, fmt.Errorf("%w: %s of %d bytes", ErrTooLarge, what, n)
	}
	return s, nil
}

// Contribute sends a party's contribution and returns the signed receipt once the contribution is
// stored. A repeated call with the same bytes returns the same receipt; other bytes fail with
// study.ErrDifferentUpload.
func (c *Client) Contribute(ctx context.Context, plan study.Hash, body []byte) (Receipt, error) {
	fail := func(err error) (Receipt, error) {
		return Receipt{}, fmt.Errorf("contribute to study %s: %w", plan, err)
	}
	ctx, cancel := c.Transferring(ctx)
	defer cancel()
	stream, err := c.studies.Contribute(ctx)
	if err != nil {
		return fail(FromStatus(err))
	}
	digest := sha256.Sum256(body)
	err = stream.Send(&pb.ContributeRequest{Part: &pb.ContributeRequest_Header{Header: &pb.ContributionHeader{
		PlanHash: plan[:], Size: uint64(len(body)), Sha256: digest[:],
	}}})
	for chunk := range Chunks(body, 0) {
		if err != nil {
			break // io.EOF: the server has answered already
		}
		err = stream.Send(&pb.ContributeRequest{Part: &pb.ContributeRequest_Chunk{Chunk: chunk}})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fail(FromStatus(err))
	}
	reply, err := stream.CloseAndRecv()
	if err != nil {
		return fail(FromStatus(err))
	}
	receipt, err := ParseReceipt(reply.Document, reply.Signature, c.Keys())
	if err != nil {
		return fail(err)
	}
	// This copy only helps later calls to prove a restore. The caller stores the receipt too, so an
	// error here is no reason to send again.
	_ = c.memory.keep(ShownHead{ReceiptDocument, receipt.Document, receipt.Signature},
		receipt.Ledger,
		c.Keys())
	return receipt, nil
}

// Decline says that this party does not take part in an open study. A repeated call changes
// nothing.
func (c *Client) Decline(ctx context.Context, plan study.Hash) error {
	_, err := Ask(ctx, c, "decline study "+plan.String(), c.studies.Decline,
		&pb.DeclineRequest{PlanHash: plan[:]})
	return err
}

// Leave ends this party's membership for good. The call may end without an answer, because it ends
// the party's connections: ErrDenied of a later call says that it took effect.
func (c *Client) Leave(ctx context.Context, name string) error {
	_, err := Ask(ctx, c, "leave", pb.NewAdministrationClient(c.line).Revoke,
		&pb.RevokeRequest{Name: name})
	return err
}

// HelperRestored returns the error that Listing.HelperRestored reports.
func (c *Client) HelperRestored() error { return c.memory.helperBack() }

// Release fetches a study's release. If the release has another form (version of its format),
// Release returns its bytes and study.ErrForm.
func (c *Client) Release(ctx context.Context, ref string) (SignedRelease, error) {
	fail := func(err error) (SignedRelease, error) {
		return SignedRelease{}, fmt.Errorf("fetch release of study %s: %w", ref, err)
	}
	ctx, cancel := c.Transferring(ctx)
	defer cancel()
	stream, err := c.studies.DownloadRelease(ctx, &pb.DownloadRequest{Study: ref})
	if err != nil {
		return fail(FromStatus(err))
	}
	var a Assembly
	keys := c.Keys()
	r := SignedRelease{Signer: keys.Newest(), Successions: keys.Successions()}
	err = receive(stream, &a, func(c *pb.Chunk) error {
		if c.Offset == 0 {
			r.Signature = c.Signature
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	if r.Document, err = a.Complete(); err != nil {
		return fail(err)
	}
	if r.Release, err = ParseRelease(r.Document, r.Signature, keys); err != nil &&
		!errors.Is(err, study.ErrForm) {
		return fail(err)
	}
	anotherForm := err
	for _, k := range append([]SignerKey{keys.first}, keys.after()...) { // find the key that signed
		if r.Check(k) == nil {
			r.Signer = k
		}
	}
	shown := ShownHead{ReleaseDocument, r.Document, r.Signature}
	// this fails for a release that is too long to show
	if head, err := shown.Head(keys); err == nil {
		_ = c.memory.keep(shown, head, keys)
	}
	_ = c.memory.keepHelper(r.Release, keys)
	return r, anotherForm
}

const maxDownload = 1 << 30

// receive joins a download's chunks, and calls the function added after each. The first contains
// the total size.
func receive(stream grpc.ServerStreamingClient[pb.Chunk], a *Assembly,
	added func(*pb.Chunk) error) error {
	for begun := false; ; {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return FromStatus(err)
		}
		if !begun {
			begun = true
			if chunk.Size > maxDownload {
				return fmt.Errorf("%w: %d bytes are announced", ErrTooLarge, chunk.Size)
			}
			a.Size = chunk.Size
		}
		if err := a.Add(chunk); err != nil {
			return err
		}
		if err := added(chunk); err != nil {
			return err
		}
	}
}
