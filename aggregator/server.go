package aggregator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"sync"

	"caucus/aggregation/shares"
	"caucus/internal/clock"
	"caucus/internal/database"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
	"caucus/study/bodies"
)

// Errors that callers branch on.
var (
	// ErrConflict: an earlier request about the same study or party was different.
	ErrConflict = errors.New("this server agreed to something else before")
	ErrBehind   = errors.New("this server's files were put back to an older state than its head file knows: it says nothing of any study until its operator reconciles")
	// ErrStepOrder: an earlier step has not been taken.
	ErrStepOrder = errors.New("it is not time for that")
	ErrFailed    = errors.New("the study failed")
	// ErrFull: the helper is at the limits that its operator set.
	ErrFull = errors.New("this helper accepts and keeps no more")
	// ErrForgotten: the helper no longer knows its acceptance of an open study.
	ErrForgotten = errors.New("the helper's files were put back: it does not know what it agreed to any more")
)

// Config opens one of the two servers. Role says which; some fields are for one role alone, as
// their comments say.
type Config struct {
	Role shares.Role
	// Store is the path of the studies' database (Create), and Head that of the head file
	// (WriteNewHead).
	Store, Head string
	// Lease is the lease of a coordinator's replicas; only the leader may write. Nil without
	// replicas.
	Lease *database.Lease
	// Journal stores the server's ledger, and Limits bounds its spending. Ledger, if not nil, is a
	// ledger that the caller has opened on Journal; Limits is then unused.
	Journal privacy.Journal
	Limits  map[privacy.Unit]privacy.Budget
	Ledger  *privacy.Ledger
	// Signer signs for this server. OtherKey is the other server's key, which comes from its
	// operator.
	Signer   *protocol.Signer
	OtherKey protocol.SignerKey
	// Sealing is a helper's sealing key; nil for a coordinator.
	Sealing *server.SealingKey
	// Task makes a study's task from its stored plan and pool, and checks both at each call.
	Task func(context.Context, study.Hash) (study.Task, error)
	// CheckPolicy is a helper's policy. Its error says why it refuses a plan. A nil CheckPolicy
	// refuses every plan.
	CheckPolicy func(study.Task) error
	// CheckBudget says, at a helper, why its budget has too little left for a study beside those
	// that are Promised. A nil CheckBudget has no limit.
	CheckBudget func(study.Task) error
	// MaxOpen bounds a helper's accepted studies that have not ended, and MaxShares the bytes of
	// its store. At either limit the helper accepts no further study. 0 is no limit.
	MaxOpen   int
	MaxShares int64
	// Plans stores the plans and pools that the coordinator sends to a helper. With nil the helper
	// takes none.
	Plans PlanStore
	// Clock tells a helper when a study's deadline has passed. The zero Clock is the machine's.
	Clock clock.Clock
	// Checkpoint, if not nil, is called between effects. Tests stop the server there.
	Checkpoint func(effect string)
}

// PlanStore stores the coordinator's plans and pools at a helper. Config.Task reads them.
type PlanStore interface {
	// Has reports whether a plan is stored with its pool.
	Has(study.Hash) bool
	// Check checks a plan by its canonical bytes alone, and refuses one that the helper would not
	// serve. It returns the pool's digest also if the policy refuses the plan.
	Check(h study.Hash, canonical []byte) (pool [32]byte, err error)
	// MakeRoom makes room for a plan and its pool, size bytes together, or refuses. It removes no
	// plan of a running study, as underWay reports, and always has room for such a plan. The server
	// accepts no study during the call.
	MakeRoom(h study.Hash, size int64, underWay func(study.Hash) (bool, error)) error
	// Store stores plan and pool durably. The caller has checked hash and digest.
	Store(h study.Hash, canonical, pool []byte) error
	// MaxPoolBytes bounds a pool's bytes.
	MaxPoolBytes() int
}

// Server is one aggregator, safe for concurrent use. Calls that agree on something with the other
// server take turns (Server.take). ReceiveAll takes no turn, so it never waits for the other
// server.
type Server struct {
	config Config
	db     *database.DB
	ledger *privacy.Ledger

	// held by one writing transaction at a time; guards the fields below
	mu     sync.Mutex
	turns  map[study.Hash]chan struct{} // closed when the turn ends that a call holds
	mark   mark                         // the head file's content
	behind bool
	open   map[study.Hash]promise // accepted studies that have not ended
	roster roster                 // parties of the study that was asked about last
	// newest is the latest share of the helper that this coordinator has seen. newestStep is its
	// Step, the number of the helper's transaction.
	newest     Signed
	newestStep int64
	shown      bool // the helper was restored, and has been shown all its shares
}

// SQLite describes the store of a server at path, for database.Upgrade.
func SQLite(path string) database.StoreFile { return database.StoreFile{SQLite: file, Path: path} }

// Create makes an empty store at path, with mode 0600. It refuses a file that exists. WriteNewHead
// makes the head file that belongs to it.
func Create(path string) error {
	db, err := file.Create(path)
	if err != nil {
		return fmt.Errorf("make store of shares: %w", err)
	}
	return db.Close()
}

// Copy copies a server's whole store at one moment. The server may be running.
func Copy(ctx context.Context, from, to string) error {
	db, err := file.Open(from)
	if err == nil {
		err = errors.Join(db.Copy(ctx, to), db.Close())
	}
	if err != nil {
		return fmt.Errorf("copy store of shares: %w", err)
	}
	return nil
}

// Open opens a server on its files. On restored files it opens too, but then answers only
// ErrBehind.
func Open(ctx context.Context, c Config) (*Server, error) {
	fail := func(err error) (*Server, error) { return nil, fmt.Errorf("open %v: %w", c.Role, err) }
	switch {
	case c.Role > shares.Helper:
		return fail(errors.New("there is no such role"))
	case (c.Role == shares.Helper) != (c.Sealing != nil):
		return fail(errors.New("a helper has a sealing key, a coordinator none"))
	case c.Signer.Key() == c.OtherKey:
		return fail(errors.New("the other server has this one's key: a coordinator that is its own helper sees every contribution"))
	}
	if err := database.Check(c.Store); err != nil {
		return fail(err)
	}
	c.Clock = c.Clock.Complete()
	s := &Server{config: c, open: map[study.Hash]promise{}, turns: map[study.Hash]chan struct{}{}}
	var err error
	if s.mark, err = readMark(c.Head); err != nil {
		return fail(err)
	}
	if s.ledger = c.Ledger; s.ledger == nil {
		if s.ledger, err = privacy.Open(c.Journal,
			privacy.Config{Limits: c.Limits, LastSequence: s.mark.entry}); err != nil {
			return fail(err)
		}
	}
	ledger, err := privacy.JournalHead(ctx, c.Journal)
	if err != nil {
		return fail(err)
	}
	if s.db, err = file.Open(c.Store); err != nil {
		return fail(err)
	}
	s.db.Guard = c.Lease
	var steps int64
	err = s.view(ctx, study.Hash{}, func(t *transaction) error {
		steps, err = t.steps()
		return err
	})
	if err != nil {
		return fail(errors.Join(err, s.db.Close()))
	}
	s.behind = steps < s.mark.steps || ledger.Sequence < s.mark.entry
	if !s.behind && s.mark.sealing != s.pin() {
		return fail(errors.Join(errors.New("the sealing key is another than the head file knows: parties pinned that one"), s.db.Close()))
	}
	if !s.behind { // the process was killed before it wrote the head file
		err = s.remember(steps, ledger.Sequence)
	}
	if err == nil {
		err = s.view(ctx, study.Hash{}, func(t *transaction) error {
			return t.records(func(h study.Hash, r record) error {
				s.count(h, r)
				return s.note(r.ShareOther)
			})
		})
	}
	if err != nil {
		return fail(errors.Join(err, s.db.Close()))
	}
	return s, nil
}

// Close closes the store, not the ledger's journal, which is the caller's. A killed server loses no
// more.
func (s *Server) Close() error { return s.db.Close() }

// take waits for its turn about a study, until ctx ends. A helper's calls are all one after the
// other. At a coordinator a call may wait for the helper, so a study waits for no other study, but
// for its turn at work: the zero hash.
func (s *Server) take(ctx context.Context, h study.Hash) (release func(), err error) {
	if s.config.Role == shares.Helper {
		h = study.Hash{}
	}
	for {
		s.mu.Lock()
		held := s.turns[h]
		if held == nil {
			held = make(chan struct{})
			s.turns[h] = held
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.turns, h)
				close(held)
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return func() {}, fmt.Errorf("wait for another call: %w", ctx.Err())
		}
	}
}

func (s *Server) pin() Digest {
	if s.config.Sealing == nil {
		return Digest{}
	}
	return pinOf(s.config.Sealing.Public())
}

func (s *Server) point(effect string) {
	if s.config.Checkpoint != nil {
		s.config.Checkpoint(effect)
	}
}

// remember writes the head file. Call it before anything leaves. The caller holds mu.
func (s *Server) remember(steps, entry int64) error {
	m := s.mark
	m.steps, m.entry = max(m.steps, steps), max(m.entry, entry)
	if m == s.mark {
		return nil
	}
	if err := writeMark(s.config.Head, m); err != nil {
		return err
	}
	s.mark = m
	return nil
}

func (s *Server) view(ctx context.Context, h study.Hash, fn func(*transaction) error) error {
	return s.db.View(ctx, func(tx *sql.Tx) error { return fn(&transaction{ctx, tx, h}) })
}

// update changes a study in one transaction, and then writes the head file. An error of fn undoes
// its writes. After any other error the writes may be stored or not.
func (s *Server) update(ctx context.Context, h study.Hash, effect string,
	fn func(*transaction, *record) error) (r record, err error) {
	ctx = context.WithoutCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	var steps int64
	err = s.db.Update(ctx, func(tx *sql.Tx) error {
		t := &transaction{ctx, tx, h}
		if r, err = t.record(); err != nil && !errors.Is(err, errNone) {
			return err
		}
		if err := fn(t, &r); err != nil {
			return err
		}
		if err := errors.Join(t.setRecord(r), t.run("UPDATE steps SET n = n + 1")); err != nil {
			return err
		}
		steps, err = t.steps()
		s.point("before " + effect)
		return err
	})
	if err != nil {
		return r, err
	}
	s.count(h, r)
	s.point("after " + effect)
	if err := s.remember(steps, 0); err != nil {
		return r, err
	}
	s.point("remembered " + effect)
	return r, nil
}

// count keeps open up to date with a study's record. The caller holds mu, or nobody else has s yet.
func (s *Server) count(h study.Hash, r record) {
	if delete(s.open, h); r.open() {
		s.open[h] = r.promise
	}
}

// set is update for a change of the record alone.
func (s *Server) set(ctx context.Context, h study.Hash, effect string,
	change func(*record)) (record, error) {
	return s.update(ctx, h, effect, func(_ *transaction, r *record) error { change(r); return nil })
}

// current returns an error on a restored server, and brings the head file up to date. Call it
// before an answer from the store: after a failed commit or a failed write of the head file, the
// store may be ahead of the head file.
func (s *Server) current(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behind {
		return ErrBehind
	}
	return s.view(ctx, study.Hash{}, func(t *transaction) error {
		steps, err := t.steps()
		if err != nil {
			return err
		}
		return s.remember(steps, 0)
	})
}

// task is a study's task. of is the same task as a bodies.Task, which has the statistic.
type task struct {
	study.Task
	of bodies.Task
}

// recorded returns a study's record without its plan. An unknown study has the empty record.
func (s *Server) recorded(ctx context.Context, h study.Hash) (r record, err error) {
	if err = s.current(ctx); err == nil {
		err = s.view(ctx, h, func(tx *transaction) error { r, err = tx.record(); return err })
	}
	if errors.Is(err, errNone) {
		err = nil
	}
	if err == nil && r.Failed != "" {
		err = fmt.Errorf("%w: %s", ErrFailed, r.Failed)
	}
	if err != nil {
		err = fmt.Errorf("study %s: %w", h, err)
	}
	return r, err
}

func (s *Server) known(ctx context.Context, h study.Hash) (t task, r record, err error) {
	fail := func(err error) (task, record, error) {
		return t, r, fmt.Errorf("study %s: %w", h, err)
	}
	if r, err = s.recorded(ctx, h); err != nil {
		return t, r, err
	}
	if t.Task, err = s.config.Task(ctx, h); err != nil {
		return fail(err)
	}
	var ok bool
	if t.of, ok = bodies.Of(t.Task); !ok || t.Hash() != h || !t.Plan().Noise.Shared() {
		return fail(errors.New("its plan is none for two aggregators"))
	}
	return t, r, nil
}

// underWay reports whether contributions to a study were checked here and the study is neither
// released nor failed. Only then must the helper keep the plan; otherwise the coordinator can send
// it again.
func (s *Server) underWay(ctx context.Context, h study.Hash) (is bool, err error) {
	err = s.view(ctx, h, func(tx *transaction) error {
		r, err := tx.record()
		if errors.Is(err, errNone) {
			return nil
		}
		if err == nil && r.Share.Document == nil && r.Failed == "" {
			is, err = tx.contributed()
		}
		return err
	})
	return is, err
}

func (s *Server) agreed(ctx context.Context, h study.Hash) bool {
	r, err := s.recorded(ctx, h)
	return err == nil && r.Own.Document != nil
}

// room asks a helper's shelf for room. It holds the turn, so that no plan is removed while it is
// being accepted.
func (s *Server) room(ctx context.Context, h study.Hash, size int64) error {
	release, err := s.take(ctx, h)
	defer release()
	if err != nil {
		return err
	}
	return s.config.Plans.MakeRoom(h, size, func(h study.Hash) (bool, error) {
		return s.underWay(ctx, h)
	})
}

// PromisedCosts returns the costs of studies that this helper accepted and has not released: those
// before their plan's deadline, and those whose contributions were checked here, which may be
// released later.
func (s *Server) PromisedCosts(ctx context.Context) (all []privacy.Cost, err error) {
	s.mu.Lock()
	open := maps.Clone(s.open)
	s.mu.Unlock()
	for h, p := range open {
		if p.over(s.config.Clock.Now()) {
			if is, err := s.underWay(ctx, h); err != nil {
				return nil, err
			} else if !is {
				continue
			}
		}
		all = append(all, p.Costs...)
	}
	return all, nil
}

// full returns why a helper stores no more. Acceptances stay after their studies have ended, so
// that no study is accepted twice. Without limits a caller could therefore fill the helper's disk.
func (s *Server) full(ctx context.Context, accepting bool) error {
	open, now := 0, s.config.Clock.Now()
	s.mu.Lock()
	for _, p := range s.open {
		if !p.over(now) {
			open++
		}
	}
	s.mu.Unlock()
	if most := s.config.MaxOpen; accepting && most > 0 && open >= most {
		return fmt.Errorf("%w: max_open: it has %d studies before their deadline that are neither released nor failed: release or cancel one, or ask its operator for more (caucus helper studies)", ErrFull, open)
	}
	var bytes int64
	err := s.view(ctx, study.Hash{}, func(t *transaction) (err error) {
		bytes, err = t.bytes()
		return err
	})
	if most := s.config.MaxShares; err == nil && most > 0 && bytes >= most {
		return fmt.Errorf("%w: max_shares: its store has %d bytes of %d: ask its operator for more", ErrFull, bytes, most)
	}
	return err
}

type roster struct {
	plan study.Hash
	has  map[study.PartyID]bool
}

func (s *Server) enrolled(t task, p study.PartyID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roster.has == nil || s.roster.plan != t.Hash() {
		s.roster = roster{t.Hash(), map[study.PartyID]bool{}}
		for _, p := range t.Plan().Roster {
			s.roster.has[p] = true
		}
	}
	return s.roster.has[p]
}

// key combines both halves into the verify key, which is uniform if either half is.
func (s *Server) key(h study.Hash, r record) shares.Key {
	var halves [2]half
	halves[s.config.Role], halves[1-s.config.Role] = r.Half, *r.OtherHalf
	return shares.Key(hashed("caucus verify key 1", h[:], halves[shares.Coordinator][:],
		halves[shares.Helper][:]))
}

func (s *Server) helperAcceptance(r record) Digest {
	if s.config.Role == shares.Helper {
		return r.Own.Digest()
	}
	return r.Theirs.Digest()
}

type given struct {
	share  shares.SecretShare
	weight int64
}

func accept(t *transaction, of bodies.Task, all []given) error {
	if len(all) == 0 {
		return nil
	}
	row, err := t.sum()
	if err != nil {
		return err
	}
	form := shares.VectorForm{Cells: of.Statistic.Cells()}
	sum := form.NewSum()
	if row.sum != nil {
		if sum, err = form.ParseShare(row.sum); err != nil {
			return err
		}
	}
	for _, g := range all {
		if err := sum.Add(g.share); err != nil {
			return err
		}
		row.weight, row.contributions = row.weight+g.weight, row.contributions+1
	}
	if row.sum, err = sum.MarshalBinary(); err != nil {
		return err
	}
	return t.setSum(row)
}

func (s *Server) setOf(ctx context.Context, h study.Hash, r record) (set ContributionSet,
	err error) {
	set = ContributionSet{Plan: h, Helper: s.helperAcceptance(r), Amendments: r.Amendments}
	members := protocol.NewMembers()
	err = s.view(ctx, h, func(t *transaction) error {
		for after := ""; ; {
			all, err := t.contributions("verdict = $2 AND party > $3", accepted, after)
			if err != nil || len(all) == 0 {
				return err
			}
			for _, c := range all {
				after = string(c.party)
				members.AddMember(c.party, c.digest)
				set.Contributions, set.Weight = set.Contributions+1, set.Weight+c.weight
			}
		}
	})
	set.MembersDigest = members.Digest()
	return set, err
}

func (s *Server) release(ctx context.Context, h study.Hash) (Signed, error) {
	if r, err := s.recorded(ctx, h); err != nil || r.Share.Document != nil {
		return r.Share, err
	}
	t, r, err := s.known(ctx, h)
	if err != nil {
		return Signed{}, err
	}
	fail := func(err error) (Signed, error) {
		return Signed{}, fmt.Errorf("release share of study %s: %w", h, err)
	}
	if !r.sealed() {
		return fail(fmt.Errorf("%w: the other server has not signed the set", ErrStepOrder))
	}
	var row sumRow
	if err := s.view(ctx, h, func(tx *transaction) error {
		row, err = tx.sum()
		return err
	}); err != nil {
		return fail(err)
	}
	sum, err := shares.VectorForm{Cells: t.of.Statistic.Cells()}.ParseShare(row.sum)
	if err != nil {
		return fail(err)
	}
	request, err := bodies.ShareRequest(t.of.Statistic, s.config.Role, sum, row.weight)
	if err != nil {
		return fail(err)
	}
	request.SourceDigest = from(r.Set, request.SourceDigest)
	s.point("before ledger")
	published, err := study.ReleaseRequests(ctx, s.ledger, h, []study.Request{request})
	if err != nil {
		return fail(err)
	}
	s.point("after ledger")
	s.mu.Lock()
	err = s.remember(0, published[0].Sequence)
	s.mu.Unlock()
	if err != nil {
		return fail(err)
	}
	out := AggregateShare{Plan: h, Role: s.config.Role.String(), Set: r.Set.Digest()}
	if out.Published, err = published[0].MarshalBinary(); err != nil {
		return fail(err)
	}
	if s.config.Role == shares.Helper {
		line, _, err := s.ledger.FindLine(ctx, published[0].ID)
		if err != nil {
			return fail(err)
		}
		out.Line = &line
	}
	r, err = s.update(ctx, h, "share stored", func(tx *transaction, r *record) (err error) {
		if out.Line != nil {
			if out.Step, err = tx.next(); err != nil {
				return err
			}
		}
		if r.Share, err = protocol.SignJSON(s.config.Signer, protocol.ShareDocument,
			out); err != nil {
			return err
		}
		return tx.wipe()
	})
	if err != nil {
		return fail(err)
	}
	return r.Share, nil
}

// Cancel ends a study without a release. The reason may be made public. A helper that released its
// share refuses, and so does a coordinator with both shares.
func (s *Server) Cancel(ctx context.Context, plan study.Hash, reason string) error {
	release, err := s.take(ctx, plan)
	defer release()
	if err != nil {
		return err
	}
	r, err := s.recorded(ctx, plan)
	if err != nil {
		return err
	}
	if r.ShareOther.Document != nil || s.config.Role == shares.Helper && r.Share.Document != nil {
		return fmt.Errorf("cancel study %s: %w: it is released", plan, ErrStepOrder)
	}
	_, err = s.update(ctx, plan, "failure stored", func(t *transaction, r *record) error {
		r.Failed = reason
		return t.wipe()
	})
	return err
}

func (s *Server) note(share Signed) error {
	var said AggregateShare
	// A share that an earlier helper signed proves nothing to the present one.
	if s.config.OtherKey.Verify(protocol.ShareDocument, share.Document, share.Signature) != nil {
		return nil
	}
	if err := study.DecodeStrictJSON(share.Document, &said); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if said.Step > s.newestStep {
		s.newest, s.newestStep = share, said.Step
	}
	return nil
}
