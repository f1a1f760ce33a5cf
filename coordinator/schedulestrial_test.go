package coordinator

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"caucus/auxdata"
	"caucus/coordinator/folder"
	"caucus/coordinator/members"
	"caucus/coordinator/records"
	"caucus/coordinator/watch"
	"caucus/internal/clock"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/protocol/server"
	"caucus/study"
)

// stage is the start of all trials with a number of parties: a coordinator with its members, and
// the drafts a and b of all parties. They are tallies, unless b keeps its bodies.
type stage struct {
	parties   []study.PartyID
	began     time.Time
	authority *server.Authority
	signer    *protocol.Signer
	operator  *x509.Certificate
	members   map[study.PartyID]*x509.Certificate
	pool      []byte
	plans     map[study.Hash]study.Plan
	named     map[string]study.Hash
	image     []byte // an image of the store

	// for a study with kept bodies: each party's body and its other one
	kept map[study.Hash]map[study.PartyID][2][]byte

	sumsMu sync.Mutex
	sums   map[string][]byte // see sumOf
}

// scene is what a stage is made for.
type scene struct {
	parties int
	kept    bool
	ending  bool
}

// deadline is when a stage's study seals.
const deadline = time.Hour

// stageBegan is the moment at which all stages begin, so that scenes share plans and forecasts.
var stageBegan = time.Now().Truncate(time.Second)

// stages are made once for each scene.
var stages = func() map[scene]func() *stage {
	all := map[scene]func() *stage{}
	for _, n := range []int{2, 3, 4} {
		for _, kept := range []bool{false, true} {
			for _, ending := range []bool{false, true} {
				of := scene{n, kept, ending}
				all[of] = sync.OnceValue(func() *stage { return newStage(of) })
			}
		}
	}
	return all
}()

func newStage(of scene) *stage {
	n, kept := of.parties, of.kept
	s := &stage{
		parties: names(n), began: stageBegan, members: map[study.PartyID]*x509.Certificate{},
		plans: map[study.Hash]study.Plan{}, named: map[string]study.Hash{}, pool: poolOf(2 * n), sums: map[string][]byte{},
		kept: map[study.Hash]map[study.PartyID][2][]byte{},
	}
	s.authority, s.signer = must(server.NewAuthority(s.began)), must(protocol.NewSigner())
	d := newMemoryDisk()
	defer d.end()
	must(0, d.tables.Update(context.Background(), func(tx records.Tx) error {
		issue := func(name string, role protocol.Role) *x509.Certificate {
			request := must(must(protocol.NewEnrolment()).Request())
			c := must(s.authority.IssueMember(protocol.Caller{Name: name, Role: role}, request,
				s.began))
			must(0, tx.AddMember(name, role))
			must(0, tx.AddCertificate(records.Certificate{Serial: serialOf(c), Name: name,
				Expires: c.NotAfter}))
			return c
		}
		s.operator = issue("operator", protocol.RoleOperator)
		for _, p := range s.parties {
			s.members[p] = issue(string(p), protocol.RoleParty)
		}
		for _, name := range []string{"a", "b"} {
			p := planOf(s.parties, s.pool, s.began.Add(deadline))
			if kept && name == "b" {
				p = ratioPlan(s.parties, s.pool, s.began.Add(deadline))
			}
			if of.ending && name == "a" {
				p.Minimum, p.Floor, p.Seal = min(3, n), 2, &study.SealRule{Share: 0.75,
					QuietSeconds: 600}
			}
			p.Name, p.Lambda = name, 1 // no rule depends on the fit, and a fixed ridge is fast
			text := must(p.Canonical())
			h := study.HashOf(text)
			s.plans[h], s.named[name] = p, h
			if kept && name == "b" {
				s.keep(h)
			}
			must(0, tx.AddStudy(records.Study{
				Hash: h, Name: name, Plan: text, Signature: s.signer.Sign(protocol.PlanDocument, text), Created: s.began, State: study.Draft,
			}))
		}
		return tx.AddPool(auxdata.Digest(sha256.Sum256(s.pool)), s.pool)
	}))
	s.image = d.save().files[folder.StoreFile]
	return s
}

// keep makes the bodies of a study that keeps them.
func (s *stage) keep(h study.Hash) {
	all := contributionsTo(must(newStudyChecker(s.plans[h], s.pool)).task, 2*len(s.parties), 5)
	s.kept[h] = map[study.PartyID][2][]byte{}
	for i, p := range s.parties {
		s.kept[h][p] = [2][]byte{all[2*i], all[2*i+1]}
	}
}

// body is a party's contribution: one vote for yes, on a row of its own. Its other body votes on
// another row of its own. If the study keeps bodies, both are contributions of its own too.
func (s *stage) body(h study.Hash, p study.PartyID, other bool) []byte {
	if kept := s.kept[h][p]; other && kept[1] != nil {
		return kept[1]
	} else if kept[0] != nil {
		return kept[0]
	}
	row := slices.Index(s.parties, p)
	if other {
		row += len(s.parties)
	}
	return ballotFor(row, 2*len(s.parties))
}

// sumOf is the sum of all contributions, each counted once, or the kept bodies in their canonical
// bytes.
func (s *stage) sumOf(h study.Hash, received map[study.PartyID]study.BodyDigest) []byte {
	s.sumsMu.Lock()
	defer s.sumsMu.Unlock()
	var key strings.Builder
	fmt.Fprint(&key, s.kept[h] != nil, " ")
	var bodies [][]byte
	for _, p := range s.parties {
		for _, other := range []bool{false, true} {
			body := s.body(h, p, other)
			if d, ok := received[p]; ok && d == sha256.Sum256(body) {
				bodies = append(bodies, body)
				fmt.Fprint(&key, p, other, " ")
			}
		}
	}
	sum, ok := s.sums[key.String()]
	if !ok {
		sum = sumOf(s.plans[h], s.pool, bodies)
		s.sums[key.String()] = sum
	}
	return sum
}

// backup is a copy of a coordinator's disk and of its head file.
type backup struct {
	saved
	head  []byte
	truth truth
}

// place is a party in a study.
type place struct {
	study study.Hash
	party study.PartyID
}

// truth is the content of a coordinator's store, as its commits showed.
type truth struct {
	state    map[study.Hash]study.State
	reason   map[study.Hash]string
	received map[study.Hash]map[study.PartyID]study.BodyDigest
	ending   map[study.Hash]study.Ending
	wanted   map[place]bool    // contributions missing from a study that was taken up again
	issued   map[string]string // each certificate's holder, by serial
	revoked  map[string]bool   // certificates
}

func (t truth) clone() truth {
	c := truth{maps.Clone(t.state), maps.Clone(t.reason),
		map[study.Hash]map[study.PartyID]study.BodyDigest{}, maps.Clone(t.ending),
		maps.Clone(t.wanted), maps.Clone(t.issued), maps.Clone(t.revoked)}
	for h, r := range t.received {
		c.received[h] = maps.Clone(r)
	}
	return c
}

// trial is a coordinator that runs through a schedule, without a network. Calls pass the gate and
// the generated handlers as they would behind one.
type trial struct {
	*stage
	*faults
	disk   disk
	head   string  // the path of the head file, "" for none
	budget bool    // the ledger has room for one study
	server *Server // nil while stopped
	// clock is the machine's clock, and elapsed is the time since the trial began.
	clock   *standingClock
	elapsed time.Duration
	log     io.Writer
	plant   plant

	truth  truth
	summed map[study.Hash][]byte // the last sum read from the store

	// What parties and operators hold.
	certificates map[study.PartyID]*x509.Certificate
	invitations  map[study.PartyID]*invited
	receipts     map[place]receipted
	held         map[study.PartyID]holding             // each party's newest signed document
	got          map[study.PartyID]map[study.Hash]bool // releases
	redemptions  map[string]int                        // by the invitation's serial

	draws     map[privacy.Digest]draw        // by the hash of the ledger entry
	releases  map[study.Hash]map[string]bool // all published releases
	backups   []backup
	putBack   map[string]bool     // what was ever restored: "store", "ledger"
	proven    bool                // a caller or a file proved that the ledger was restored
	waived    map[study.Hash]bool // since the start
	keyless   map[study.Hash]bool // asked for ballots again after the draw
	claimed   map[study.Hash]bool // since the start: a caller holds a release
	damaged   map[place]bool      // bodies that the disk damaged
	stored    bool                // a time is stored, so a jump is noticed
	vouched   bool                // an operator vouched for the clock
	violation *violation
}

func serialOf(c *x509.Certificate) string { return c.SerialNumber.Text(16) }

// receipted is a party's receipt, and the bytes that it is for.
type receipted struct {
	document []byte
	body     study.BodyDigest
}

// draw is what noise was drawn for.
type draw struct {
	study study.Hash
	sum   string
}

// holding is a document that the coordinator signed, and the ledger's head at that time.
type holding struct {
	protocol.ShownHead
	head privacy.Head
}

type invited struct {
	certificate *x509.Certificate
	request     []byte
	issued      []byte // the certificate, once its holder has it
}

// violation is a rule that did not hold.
type violation struct{ rule, detail string }

// broken fails the trial: it stores the first rule that was found broken, with what was seen.
func (t *trial) broken(rule, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.violation == nil {
		t.violation = &violation{rule, fmt.Sprintf(format, args...)}
	}
}

// newTrial begins a trial on a disk, which may be that of an earlier trial.
func newTrial(of scene, d disk) *trial {
	s := stages[of]()
	t := &trial{
		stage: s, disk: d, clock: &standingClock{now: s.began}, log: io.Discard,
		faults: &faults{fail: map[string]int{}, passed: map[string]bool{}},
		truth: truth{
			map[study.Hash]study.State{}, map[study.Hash]string{}, map[study.Hash]map[study.PartyID]study.BodyDigest{}, map[study.Hash]study.Ending{}, map[place]bool{},
			map[string]string{}, map[string]bool{},
		},
		summed: map[study.Hash][]byte{}, certificates: maps.Clone(s.members), invitations: map[study.PartyID]*invited{},
		receipts: map[place]receipted{}, held: map[study.PartyID]holding{}, redemptions: map[string]int{},
		draws: map[privacy.Digest]draw{}, releases: map[study.Hash]map[string]bool{}, putBack: map[string]bool{},
		damaged: map[place]bool{}, waived: map[study.Hash]bool{}, got: map[study.PartyID]map[study.Hash]bool{}, claimed: map[study.Hash]bool{}, keyless: map[study.Hash]bool{},
	}
	for p, c := range s.members {
		t.truth.issued[serialOf(c)] = string(p)
	}
	for h := range s.plans {
		t.truth.state[h], t.truth.received[h] = study.Draft, map[study.PartyID]study.BodyDigest{}
		t.truth.ending[h] = s.plans[h].Ending()
		t.releases[h] = map[string]bool{}
	}
	d.begin(s.image)
	t.backup(nil) // the first backup, of a new coordinator
	return t
}

// start starts the coordinator on the present disk.
func (t *trial) start() error {
	t.mu.Lock()
	t.dead = false
	t.mu.Unlock()
	c, began := folder.DefaultConfig("."), t.elapsed
	c.Limits.Rate, c.Limits.Burst, c.WitnessWait, c.Head = 1e9, 1e9, 0, t.head
	if t.budget {
		// a study takes ε = 8
		c.Budget = map[privacy.Unit]privacy.Budget{privacy.Party: {Epsilon: 10, Delta: 1e-5}}
	}
	c.Clock = clock.Clock{Now: t.clock.Now, Elapsed: func() time.Duration {
		return t.elapsed - began
	}}
	c.Clock = c.Clock.Complete()
	c.Log, c.Checkpoint = slog.New(slog.NewTextHandler(t.log,
		&slog.HandlerOptions{Level: slog.LevelDebug})), t.checkpoint
	s := &Server{config: c, counts: watch.NewMetrics(), authority: t.authority, signer: t.signer}
	s.keys = must(protocol.FollowKeys(t.signer.Key(), nil))
	for _, name := range t.disk.reopen(t.clock.Now()) {
		t.askedAgain(t.named[name])
	}
	j := t.disk.ledger()
	if t.plant.ledger != nil {
		j = t.plant.ledger(j)
	}
	s.store = &faultyStore{t.disk.store(), t.faults, t}
	if t.plant.store != nil {
		s.store = t.plant.store(s.store)
	}
	if err := s.assemble(&faultyJournal{j, t.faults, t}); err != nil {
		return err
	}
	for _, each := range s.registry.studies {
		each.batch = 2 // four parties are two batches
	}
	if t.plant.server != nil {
		t.plant.server(s)
	}
	s.gate.AllowMethods(services())
	t.server = s
	clear(t.waived)
	clear(t.claimed)
	t.keepTime()
	return nil
}

// keepTime stores the time now and then, as the scheduler does.
func (t *trial) keepTime() { _ = t.server.registry.watch.save(context.Background(), false) }

// up starts a stopped coordinator, as its operator would. It reports whether the coordinator runs.
func (t *trial) up() bool {
	if t.server != nil && !t.killed() {
		return true
	}
	t.server = nil
	if err := t.start(); err != nil {
		t.server = nil
		fmt.Fprintln(t.log, "does not start:", err)
	}
	return t.server != nil
}

// sendable is one message on its way.
type sendable = proto.Message

// wire is a stream without a network: the caller's messages, and the answers.
type wire struct {
	ctx   context.Context
	sends []sendable
	then  error // after the caller's messages, io.EOF for a proper end
	trial *trial
	reply sendable
}

func (w *wire) SetHeader(metadata.MD) error  { return nil }
func (w *wire) SendHeader(metadata.MD) error { return nil }
func (w *wire) SetTrailer(metadata.MD)       {}
func (w *wire) Context() context.Context     { return w.ctx }

func (w *wire) RecvMsg(m any) error {
	if len(w.sends) == 0 {
		return w.then
	}
	p := m.(*members.ReceivedMessage)
	proto.Merge(p.Message.(proto.Message), w.sends[0])
	w.sends = w.sends[1:]
	return nil
}

func (w *wire) SendMsg(m any) error {
	if w.trial.killed() {
		return errKilled
	}
	w.reply = m.(proto.Message)
	return nil
}

// services are all of a coordinator's services.
var services = sync.OnceValue(func() map[string]grpc.ServiceInfo {
	g := grpc.NewServer()
	defer g.Stop()
	pb.RegisterEnrolmentServer(g, &Server{})
	pb.RegisterStudiesServer(g, &Server{})
	pb.RegisterAdministrationServer(g, &Server{})
	return g.GetServiceInfo()
})

// from is the context of a call on a new connection under a certificate, after handshake and
// header.
func (t *trial) from(c *x509.Certificate, method string) (context.Context, error) {
	return t.server.gate.AdmitCall(context.Background(), must(protocol.CallerOfCertificate(c)),
		method)
}

// call makes a unary call. It returns nil if no answer came.
func (t *trial) call(service *grpc.ServiceDesc, method string, c *x509.Certificate,
	request proto.Message) (reply any, err error) {
	i := slices.IndexFunc(service.Methods, func(m grpc.MethodDesc) bool {
		return m.MethodName == method
	})
	ctx, err := t.from(c, "/"+service.ServiceName+"/"+method)
	if err == nil {
		read := func(m any) error { proto.Merge(m.(proto.Message), request); return nil }
		reply, err = service.Methods[i].Handler(t.server, ctx, read, t.server.gate.Unary)
	}
	return reply, t.heard(method, err)
}

// heard is the error that the caller sees, if it sees any.
func (t *trial) heard(method string, err error) error {
	if t.killed() {
		return errKilled
	}
	if code := status.Code(protocol.Status(err)); code == codes.Internal || code == codes.Unknown {
		t.broken("no call ends in an internal error", "%s: %v", method, err)
	}
	return protocol.FromStatus(err)
}

// upload sends a contribution and returns the signed receipt.
func (t *trial) upload(p study.PartyID, h study.Hash, body []byte, cut bool) (*pb.Signed, error) {
	digest := sha256.Sum256(body)
	ctx, err := t.from(t.certificates[p], pb.Studies_Contribute_FullMethodName)
	if err != nil {
		return nil, t.heard("Contribute", err)
	}
	w := &wire{ctx: ctx, then: io.EOF, trial: t}
	w.sends = append(w.sends, &pb.ContributeRequest{Part: &pb.ContributeRequest_Header{
		Header: &pb.ContributionHeader{PlanHash: h[:], Size: uint64(len(body)), Sha256: digest[:]},
	}})
	if cut {
		w.then = status.Error(codes.Canceled, "the connection was cut")
	} else {
		for c := range protocol.Chunks(body, 0) {
			w.sends = append(w.sends,
				&pb.ContributeRequest{Part: &pb.ContributeRequest_Chunk{Chunk: c}})
		}
	}
	service := pb.Studies_ServiceDesc
	i := slices.IndexFunc(service.Streams, func(m grpc.StreamDesc) bool {
		return m.StreamName == "Contribute"
	})
	err = t.server.gate.Stream(t.server, w,
		&grpc.StreamServerInfo{FullMethod: pb.Studies_Contribute_FullMethodName},
		service.Streams[i].Handler)
	if signed, ok := w.reply.(*pb.Signed); ok {
		return signed, nil
	}
	if err == nil {
		err = errors.New("it ended without an answer")
	}
	return nil, t.heard("Contribute", err)
}

// hold keeps a party's document if it is the newest.
func (t *trial) hold(p study.PartyID, kind protocol.DocumentKind, document, signature []byte) {
	shown := protocol.ShownHead{Kind: kind, Document: document, Signature: signature}
	head, err := shown.Head(t.signer.Key())
	if err != nil {
		t.broken("what is signed can be shown", "%s: %v", p, err)
	}
	if had := t.held[p]; had.Kind == "" || head.Sequence > had.head.Sequence {
		t.held[p] = holding{shown, head}
	}
}

// der is the certificate in an invitation or an answer.
func der(b []byte) *x509.Certificate {
	if block, _ := pem.Decode(b); block != nil {
		b = block.Bytes
	}
	return must(x509.ParseCertificate(b))
}

// keepHead gives the trial a head file in a folder.
func (t *trial) keepHead(dir string) {
	t.head = filepath.Join(dir, "head", "caucus.head")
	must(0, errors.Join(os.RemoveAll(filepath.Dir(t.head)), os.RemoveAll(t.awayHead())))
	must(0, os.MkdirAll(filepath.Dir(t.head), 0o700))
	must(0, os.WriteFile(t.head, fmt.Appendln(nil, privacy.Head{}), 0o600))
}

// awayHead is where the head's folder is while nothing can be written to it.
func (t *trial) awayHead() string { return filepath.Dir(t.head) + ".away" }

// away moves the head's folder away, like a disk that is not mounted. back moves it back.
func (t *trial) away([]string) {
	if t.head != "" {
		_ = os.Rename(filepath.Dir(t.head), t.awayHead())
	}
}

func (t *trial) back() {
	if t.head != "" {
		_ = os.Rename(t.awayHead(), filepath.Dir(t.head))
	}
}

// restart stops the coordinator if it runs, and starts it.
func (t *trial) restart([]string) {
	t.server = nil
	t.up()
}

// pick returns a random one.
func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }
