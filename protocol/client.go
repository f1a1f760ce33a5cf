package protocol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"caucus/internal/clock"
	"caucus/privacy"
	"caucus/protocol/pb"
	"caucus/study"
	"caucus/study/kinds"
)

// DialOptions change how a coordinator is reached; the zero value is good.
type DialOptions struct {
	// Coordinator, host:port, instead of the identity's.
	Coordinator string
	// Timeout of a call, 30 s where 0; Transfer of a whole pool, contribution
	// or release, 10 minutes where 0.
	Timeout, Transfer time.Duration
	// Memory is a file that keeps the newest document that tells how far the
	// coordinator's ledger was, to be shown to it with each Studies. Empty keeps it
	// while the client lives.
	Memory string
	// Now is this end's clock, for certificates; nil is the machine's.
	Now func() time.Time
}

// Client speaks to a coordinator as one identity. It is safe for concurrent
// use; close it when done.
type Client struct {
	line        *line
	enrolment   pb.EnrolmentClient
	studies     pb.StudiesClient
	admin       pb.AdministrationClient
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

type enrolCall = func(context.Context, *pb.EnrolRequest, ...grpc.CallOption) (*pb.EnrolReply, error)

// Dial prepares a client. It connects when first used, and again when needed.
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
	if o.Transfer == 0 {
		o.Transfer = 10 * time.Minute
	}
	o.Now = clock.Clock{Now: o.Now}.Complete().Now
	config, err := clientTLS(ca, pair, o.Now)
	if err != nil {
		return nil, fmt.Errorf("dial coordinator: %w", err)
	}
	held, err := openMemory(o.Memory, keys)
	if err != nil {
		return nil, fmt.Errorf("dial coordinator: %w", err)
	}
	l, err := newLine(func(opened *sockets) (*grpc.ClientConn, error) {
		return grpc.NewClient(o.Coordinator,
			grpc.WithTransportCredentials(firstWord{credentials.NewTLS(config), opened}),
			// Callers wait between attempts; the connection must not wait longer.
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
				MinConnectTimeout: 10 * time.Second,
			}),
			// A peer that went away without a word is noticed.
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		)
	})
	if err != nil {
		return nil, fmt.Errorf("dial coordinator %s: %w", o.Coordinator, err)
	}
	return &Client{
		line: l, enrolment: pb.NewEnrolmentClient(l), studies: pb.NewStudiesClient(l),
		admin: pb.NewAdministrationClient(l), coordinator: o.Coordinator, ca: ca, keys: keys,
		timeout: o.Timeout, transfer: o.Transfer, now: o.Now, memory: held,
	}, nil
}

// Close ends the connection; calls under way fail.
func (c *Client) Close() error { return c.line.Close() }

// HangUp ends the connection, and calls under way with it; the next call connects anew.
// Once it returns nothing is left open and nothing more is sent.
func (c *Client) HangUp() error { return c.line.hangUp() }

// Keys are those that the coordinator signs with, as far as it said so.
func (c *Client) Keys() Keys {
	c.keysMu.Lock()
	defer c.keysMu.Unlock()
	return c.keys
}

// follow goes on to the keys that a coordinator changed to.
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

// Summary is what a list says of a study.
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
	// Mine: the caller has contributed.
	Mine bool `json:"mine"`
	// Lost: the bytes of the caller's contribution are lost; the same are wanted
	// again.
	Lost bool `json:"lost,omitempty"`
	// Amendments is how many the plan has: Deadline and Minimum are those in force.
	Amendments int `json:"amendments,omitempty"`
}

// Study is a study as the caller may see it. Its plan was signed by the
// coordinator, has the hash that names the study, and passed ParsePlan; its amendments
// passed ParseAmendments.
type Study struct {
	Summary
	Plan          study.Plan `json:"-"`
	PlanBytes     []byte     `json:"-"`
	PlanSignature []byte     `json:"-"`
	// Amendments are the plan's, each signed; Chain is what they say.
	Amendments []study.Signed `json:"-"`
	Chain      *study.Chain   `json:"-"`
	PoolBytes  uint64         `json:"pool_bytes"`
	// ContributedBy, and the names below, are for operators.
	ContributedBy []string `json:"contributed_by"`
	Missing       []string `json:"missing"`
	// Declined are those of the missing that said that they take no part.
	Declined []string `json:"declined"`
	// Awaited are contributors that have not called since the coordinator started:
	// the release waits for them.
	Awaited []string `json:"awaited"`
	// Statuses are what the missing said when they called last, for operators.
	Statuses []PartyStatus `json:"statuses,omitempty"`
	// Helper is the helper's acceptance of a study with noise by aggregators, as the
	// coordinator passed it on: nothing in it is checked here, which takes the helper's key
	// (aggregator.CheckAcceptance). Empty where none was passed on.
	Helper Signed `json:"-"`
}

// MaxAcceptance is the most bytes that a helper's acceptance has: one has about 2,100.
const MaxAcceptance = 16 << 10

// Listing is an answer to Studies.
type Listing struct {
	Studies []Summary
	// Skew is by how much the coordinator's clock is ahead of this one.
	Skew time.Duration
	// Back says how the coordinator's ledger contradicts what it signed before: it
	// was put back to an older state. Nil: it does not.
	Back error
	// HelperBack says how a helper contradicts what it signed of another release: it was put
	// back to an older state, and may have drawn twice. Nil: none does.
	HelperBack error
	// Forgot is why what the coordinator signed could not be kept; nil if it is.
	Forgot error
}

// Studies lists what the caller may see: a party the opened studies whose
// roster names it, an operator all; newest first.
func (c *Client) Studies(ctx context.Context) (Listing, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	keys := c.Keys()
	newest := keys.Newest()
	held, head := c.memory.newest()
	request := &pb.ListRequest{Shown: held.proto(), Signer: newest[:]}
	c.reported(request)
	reply, err := c.studies.List(ctx, request)
	if err != nil {
		return Listing{}, fmt.Errorf("list studies: %w", FromStatus(err))
	}
	l := Listing{Skew: time.UnixMilli(reply.UnixMillis).Sub(c.now())}
	if err := c.follow(SignedOf(reply.Successions)); err != nil {
		return Listing{}, fmt.Errorf("list studies: %w", err)
	}
	l.HelperBack = c.HelperBack()
	l.Back, l.Forgot, err = c.compare(reply.Head, held, head)
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

// compare holds the head that the coordinator signed just now against the newest
// document that it was shown, and keeps it where it goes on from there.
func (c *Client) compare(signed *pb.Signed, held Shown, before privacy.Head) (back, forgot, err error) {
	if signed == nil {
		return fmt.Errorf("the coordinator knows that its ledger was put back to an older state (it was at entry %d), and releases nothing", before.Sequence), nil, nil
	}
	s := Shown{HeadDocument, signed.Document, signed.Signature}
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
		Minimum: int(s.Minimum), Mine: s.Mine, Lost: s.Lost, Amendments: int(s.Amendments),
	}, nil
}

// Study gives one study, by hash, a unique beginning of it, or name.
func (c *Client) Study(ctx context.Context, ref string) (Study, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	s, err := c.show(ctx, ref)
	if err != nil {
		return Study{}, fmt.Errorf("show study %s: %w", ref, err)
	}
	return s, nil
}

// show puts a study together and checks it.
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
			s.Helper = Signed{Document: part.Helper.GetDocument(), Signature: part.Helper.GetSignature()}
			if n := len(s.Helper.Document) + len(s.Helper.Signature); n > MaxAcceptance {
				return Study{}, fmt.Errorf("%w: a helper's acceptance of %d bytes", ErrTooLarge, n)
			}
			s.Amendments = append(s.Amendments, SignedOf(part.Amendments)...)
		}
		if part.Plan != nil {
			if plan.Data == nil {
				if part.Plan.Size > MaxPlan {
					return Study{}, fmt.Errorf("%w: a plan of %d bytes is announced", ErrTooLarge, part.Plan.Size)
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
			s.Statuses = append(s.Statuses, PartyStatus{p.Party, Wait(p.What), timeOf(p.SeenUnixMillis)})
		}
	}
	if s.PlanBytes, err = plan.Whole(); err != nil {
		return Study{}, err
	}
	if err := c.Keys().Verify(PlanDocument, s.PlanBytes, s.PlanSignature); err != nil {
		return Study{}, err
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
	// What was signed is believed, and not what a summary says beside it.
	s.Summary.Amendments, s.Deadline, s.Minimum = s.Chain.Len(), s.Chain.Ending().Deadline, s.Chain.Ending().Minimum
	return s, nil
}

// Contribute sends a party's contribution and returns the signed receipt once
// it is stored. The same bytes again give the same receipt; other bytes are
// refused with study.ErrOtherBytes.
func (c *Client) Contribute(ctx context.Context, plan study.Hash, body []byte) (Receipt, error) {
	fail := func(err error) (Receipt, error) {
		return Receipt{}, fmt.Errorf("contribute to study %s: %w", plan, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.transfer)
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
			break // io.EOF: the answer is there already
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
	// The caller keeps the receipt; that this one could not be kept as well is no
	// reason to send again.
	_ = c.memory.keep(Shown{ReceiptDocument, receipt.Document, receipt.Signature}, receipt.Ledger, c.Keys())
	return receipt, nil
}

// Decline says that this party takes no part in an open study, and nothing
// else. It may be repeated.
func (c *Client) Decline(ctx context.Context, plan study.Hash) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if _, err := c.studies.Decline(ctx, &pb.DeclineRequest{PlanHash: plan[:]}); err != nil {
		return fmt.Errorf("decline study %s: %w", plan, FromStatus(err))
	}
	return nil
}

// HelperBack: see Listing.
func (c *Client) HelperBack() error { return c.memory.helperBack() }

// Release fetches the release of a study that is released. One of another form
// comes as it is, with study.ErrForm.
func (c *Client) Release(ctx context.Context, ref string) (SignedRelease, error) {
	fail := func(err error) (SignedRelease, error) {
		return SignedRelease{}, fmt.Errorf("fetch release of study %s: %w", ref, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.transfer)
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
	if r.Document, err = a.Whole(); err != nil {
		return fail(err)
	}
	if r.Release, err = ParseRelease(r.Document, r.Signature, keys); err != nil && !errors.Is(err, study.ErrForm) {
		return fail(err)
	}
	of := err
	for _, k := range append([]SignerKey{keys.first}, keys.after()...) { // whose of them it is
		if r.Check(k) == nil {
			r.Signer = k
		}
	}
	shown := Shown{ReleaseDocument, r.Document, r.Signature}
	if head, err := shown.Head(keys); err == nil { // not one that is too long to show
		_ = c.memory.keep(shown, head, keys)
	}
	_ = c.memory.keepHelper(r.Release, keys)
	return r, of
}

// ParseRelease reads a release that the coordinator signed and whose plan is
// the one it names. It refuses a simulated one. One of another form comes with
// study.ErrForm: what it says of its ledger can be read, and no more is checked than
// its signature.
func ParseRelease(document, signature []byte, key Verifier) (study.Release, error) {
	if err := key.Verify(ReleaseDocument, document, signature); err != nil {
		return study.Release{}, err
	}
	if manifest, err := checkForm(document); err != nil {
		return study.Release{Manifest: manifest}, err
	}
	var r study.Release
	d := json.NewDecoder(bytes.NewReader(document))
	if err := d.Decode(&r); err != nil {
		return study.Release{}, fmt.Errorf("%w: release: %v", ErrDamaged, err)
	}
	if _, err := kinds.Usable(r); err != nil {
		return study.Release{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if r.Simulated {
		return study.Release{}, fmt.Errorf("%w: the release is simulated", ErrInvalid)
	}
	return r, nil
}

// maxDownload bounds what is taken into memory, whatever a size announces.
const maxDownload = 1 << 30

// receive puts the chunks of a download together, and says after each. The first
// carries the whole's size.
func receive(stream grpc.ServerStreamingClient[pb.Chunk], a *Assembly, added func(*pb.Chunk) error) error {
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
