package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"caucus/aggregator/uploading"
	"caucus/auxdata"
	"caucus/coordinator/members"
	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds/results"
	"caucus/study/life"
)

// runningStudy takes one study from draft to release or failure. It holds the study's state
// machine, which does no I/O, and the store that keeps the machine's state. Every step is committed
// before it has any effect. After a failed commit the machine is read again from the store.
type runningStudy struct {
	hash         study.Hash
	name         string
	store        records.Store
	certificates *members.Certificates
	watch        *clockWatch
	point        func(string) // Config.Checkpoint, never nil
	// this coordinator's own aggregator, with its connection to the helper; never nil
	sharing *sharing
	batch   int

	mu      sync.Mutex  // guards the fields from here to over; held during a step and its commit
	machine *life.Study // nil: to be read from the store
	row     records.Study
	roster  map[study.PartyID]bool
	// poolBytes is the pool's size, 0 if not read yet, or if a restored store lacks the pool.
	poolBytes  uint64
	amendments []study.Signed
	lost       map[study.PartyID]time.Time // contributions whose bytes are lost, and since when
	// over is true once the study is released, failed or unreadable. finished is what then stays of
	// its machine.
	finished *finished
	over     atomic.Bool
	// quietSince is the elapsed time when the last contribution was stored: see sealByRule.
	quietSince time.Duration
	// trouble is the reason why the study waits for its helper, "" if it does not.
	trouble string
	// interrupt, if not nil, ends the work of who holds advancing, as a kill would.
	interrupt context.CancelFunc

	keptMu sync.Mutex // guards kept; held while kept is made
	kept   *studyChecker

	queueMu sync.Mutex // guards queue
	queue   []*pending
	lead    chan struct{} // capacity 1: held by the call that stores the queue

	uploadsMu sync.Mutex // guards uploads
	uploads   map[study.PartyID]bool

	// advancing is held while the study is opened with a helper, folded or released. It guards the
	// fields below.
	advancing sync.Mutex
	inspected bool // the stored bodies were checked against their digests
	// the log says already that the ledger has released the study, which waits for lost bytes
	saidKept bool
	// retry is the elapsed time of the next try after a temporary failure; wait doubles each time.
	retry time.Duration
	wait  time.Duration
}

// errUnreadable says that an earlier version made the plan and this version refuses it.
var errUnreadable = errors.New("this version cannot read its plan")

// load reads the machine if it is nil. The caller holds mu.
func (rs *runningStudy) load(ctx context.Context) error {
	if rs.machine != nil {
		return nil
	}
	var row records.Study
	var received map[study.PartyID]study.BodyDigest
	var lost map[study.PartyID]time.Time
	var amendments []study.Signed
	err := rs.store.View(ctx, func(tx records.Tx) (err error) {
		if row, err = tx.Study(rs.hash); err == nil {
			received, err = tx.Received(rs.hash)
		}
		if err == nil {
			lost, err = tx.Lost(rs.hash)
		}
		if err == nil {
			amendments, err = tx.Amendments(rs.hash)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read study %s: %w", rs.hash, err)
	}
	plan, hash, err := protocol.ParsePlan(row.Plan)
	if errors.Is(err, study.ErrPlan) {
		rs.row = row
		rs.over.Store(true) // no event moves this study
		return fmt.Errorf("read study %s: %w: %v: the version that made it ends it; its release, if it has one, is handed out as it is", rs.name, errUnreadable, err)
	}
	if err != nil {
		return fmt.Errorf("read study %s: its plan: %w", rs.hash, err)
	}
	if hash != rs.hash {
		return fmt.Errorf("read study %s: %w: its plan has hash %s", rs.hash, protocol.ErrDamaged,
			hash)
	}
	snapshot := life.Snapshot{State: row.State, Reason: row.Reason, Received: received,
		Lost: make(map[study.PartyID]bool, len(lost))}
	for p := range lost {
		snapshot.Lost[p] = true
	}
	var documents [][]byte
	for _, a := range amendments {
		documents = append(documents, a.Document)
	}
	if snapshot.Chain, err = study.AmendmentChainOf(plan, hash, documents); err != nil {
		return fmt.Errorf("read study %s: %w: %w", rs.hash, protocol.ErrDamaged, err)
	}
	rs.row, rs.amendments, rs.lost, rs.roster = row, amendments, lost, make(map[study.PartyID]bool,
		len(plan.Roster))
	for _, p := range plan.Roster {
		rs.roster[p] = true
	}
	rs.machine = life.Restore(plan, hash, snapshot)
	return nil
}

func (rs *runningStudy) view(ctx context.Context, fn func(*life.Study) error) error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	defer rs.settle()
	if err := rs.load(ctx); err != nil {
		return err
	}
	return fn(rs.machine)
}

// step applies an event and commits its store effects in one transaction. In the same transaction
// it calls the function also for each effect. It reports whether a receipt may be sent.
func (rs *runningStudy) step(ctx context.Context, e life.Event,
	also func(records.Tx, life.Effect) error) (receipt bool, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	defer rs.settle()
	return rs.stepLocked(ctx, e, also)
}

func (rs *runningStudy) stepLocked(ctx context.Context, e life.Event,
	also func(records.Tx, life.Effect) error) (receipt bool, err error) {
	// A caller that goes away must not interrupt a commit.
	ctx = context.WithoutCancel(ctx)
	if err := rs.load(ctx); err != nil {
		return false, err
	}
	from := rs.machine.State
	effects, err := rs.machine.Step(e)
	if err != nil {
		return false, err
	}
	var keep []life.Effect
	for _, effect := range effects {
		switch effect.(type) {
		case life.StoreContribution, life.StoreState, life.RestoreContribution,
			life.DropContributions, life.StoreAmendment:
			keep = append(keep, effect)
		case life.SendReceipt:
			receipt = true
		}
		// FoldSum and MakeRelease are left to advance, which sees from the stored state that they
		// are due.
	}
	if len(keep) == 0 {
		return receipt, nil
	}
	name := fmt.Sprintf("%T", e)
	machine := rs.machine
	rs.machine = nil // after a panic the store may lack the machine's step
	err = rs.store.Update(ctx, func(tx records.Tx) error {
		for _, effect := range keep {
			var err error
			switch s := effect.(type) {
			case life.StoreState:
				err = tx.SetState(rs.hash, from, s.State, s.Reason)
			case life.DropContributions:
				err = tx.DropContributions(rs.hash, s.Parties)
			}
			if err != nil {
				return err
			}
			if also != nil {
				if err := also(tx, effect); err != nil {
					return err
				}
			}
		}
		rs.point("before " + name)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("store study %s: %w", rs.hash, err)
	}
	rs.machine = machine
	for p := range rs.lost {
		if !machine.Lost[p] { // the bytes came again, or the contribution was dropped
			delete(rs.lost, p)
		}
	}
	rs.point("after " + name)
	if protocol.IsFinal(machine.State) {
		rs.over.Store(true) // from now on no checker is kept
		rs.keptMu.Lock()
		rs.kept = nil
		rs.keptMu.Unlock()
		// The commit deleted ballots and sum from the tables; Scrub removes them from the files.
		// The study is over even if Scrub fails: the next Scrub, or the next start, repeats it.
		_ = rs.store.Scrub(ctx)
	}
	return receipt, nil
}

// studyChecker checks a study's contributions and makes its release.
type studyChecker struct {
	task    study.Finisher
	maxBody int
	shared  bool // the study has two servers: a body is an upload for both

	mu      sync.Mutex // guards checker, which checks one body at a time
	checker study.Checker
}

// check checks a contribution's body, in a study without a second server.
func (s *studyChecker) check(body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checker.Check(body)
}

func (rs *runningStudy) studyChecker(ctx context.Context) (*studyChecker, error) {
	var plan study.Plan
	if err := rs.view(ctx, func(s *life.Study) error { plan = s.Plan; return nil }); err != nil {
		return nil, err
	}
	rs.keptMu.Lock()
	defer rs.keptMu.Unlock()
	if rs.kept == nil {
		data, err := readPool(ctx, rs.store, plan.Pool)
		if err != nil {
			return nil, err
		}
		made, err := newStudyChecker(plan, data)
		if err != nil || rs.over.Load() {
			return made, err
		}
		rs.kept = made
	}
	return rs.kept, nil
}

// newStudyChecker reads a pool's canonical bytes under a plan. It refuses a plan whose terms differ
// from those that this version computes, because this version could not read contributions made
// under them.
func newStudyChecker(plan study.Plan, data []byte) (*studyChecker, error) {
	task, err := results.ReadTask(plan, data)
	if err == nil {
		err = study.CheckTerms(task)
	}
	if err != nil {
		return nil, err
	}
	a := &studyChecker{task: task, maxBody: task.MaxBody(), shared: plan.Noise.Shared()}
	if a.shared {
		a.maxBody, err = uploading.MaxUploadBytes(task)
		return a, err
	}
	a.checker, err = study.NewChecker(task)
	return a, err
}

// uploading allows a party one upload at a time.
func (rs *runningStudy) uploading(party study.PartyID) (done func(), err error) {
	rs.uploadsMu.Lock()
	defer rs.uploadsMu.Unlock()
	if rs.uploads[party] {
		return nil, fmt.Errorf("%w: a contribution of %s is on its way already", protocol.ErrBusy,
			party)
	}
	if rs.uploads == nil {
		rs.uploads = map[study.PartyID]bool{}
	}
	rs.uploads[party] = true
	return func() {
		rs.uploadsMu.Lock()
		delete(rs.uploads, party)
		rs.uploadsMu.Unlock()
	}, nil
}

// poolSize is the pool's bytes, 0 if it is not stored. The caller holds mu and loaded the machine.
func (rs *runningStudy) poolSize(ctx context.Context) (uint64, error) {
	if rs.poolBytes > 0 {
		return rs.poolBytes, nil
	}
	err := rs.store.View(ctx, func(tx records.Tx) (err error) {
		rs.poolBytes, err = tx.PoolSize(rs.machine.Plan.Pool)
		return err
	})
	if errors.Is(err, records.ErrNoRow) {
		err = nil
	}
	return rs.poolBytes, err
}

func readPool(ctx context.Context, s records.Store, d auxdata.Digest) ([]byte, error) {
	var data []byte
	err := s.View(ctx, func(tx records.Tx) error {
		size, err := tx.PoolSize(d)
		if errors.Is(err, records.ErrNoRow) {
			return fmt.Errorf("%w: pool %s: upload it first", protocol.ErrNotFound, d)
		}
		if err == nil {
			data, err = tx.Pool(d, 0, int(size))
		}
		return err
	})
	return data, err
}

// known answers a contribution before its body is sent: with the receipt if these bytes were
// contributed before, or with the reason why the party cannot contribute. It returns false if the
// body is needed for an answer.
func (rs *runningStudy) known(ctx context.Context, party study.PartyID, digest study.BodyDigest,
	now time.Time) (protocol.Receipt, bool, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	defer rs.settle()
	if err := rs.load(ctx); err != nil {
		return protocol.Receipt{}, false, err
	}
	if _, err := rs.deadlineLocked(ctx, now); err != nil {
		return protocol.Receipt{}, false, err
	}
	_, had := rs.machine.Received[party]
	if rs.machine.State == study.Open && rs.roster[party] && !had || rs.isLost(party, digest) {
		return protocol.Receipt{}, false, nil
	}
	// This step stores nothing: it refuses, or it sends the receipt again.
	if _, err := rs.stepLocked(ctx, life.ContributionReceived{Party: party, Plan: rs.hash,
		Body: digest},
		nil); err != nil {
		return protocol.Receipt{}, false, err
	}
	r, err := rs.receiptLocked(ctx, party)
	return r, err == nil, err
}

func (rs *runningStudy) receiptLocked(ctx context.Context, party study.PartyID) (r protocol.Receipt,
	err error) {
	err = rs.store.View(ctx, func(tx records.Tx) error {
		r, err = tx.Receipt(rs.hash, party)
		return err
	})
	if err != nil {
		return r, fmt.Errorf("read receipt: %w", err)
	}
	return r, nil
}

// deadline seals or fails an open study whose deadline has passed. It does nothing while the clock
// is not trusted.
func (rs *runningStudy) deadline(ctx context.Context, now time.Time) (passed bool, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	defer rs.settle()
	if err := rs.load(ctx); err != nil {
		return false, err
	}
	return rs.deadlineLocked(ctx, now)
}

func (rs *runningStudy) deadlineLocked(ctx context.Context, now time.Time) (passed bool,
	err error) {
	if rs.machine.State != study.Open || now.Before(rs.machine.Ending().Deadline) {
		return false, nil
	}
	if _, doubt := rs.watch.now(); doubt != nil {
		return false, nil
	}
	_, err = rs.stepLocked(ctx, life.DeadlinePassed{}, nil)
	return err == nil, err
}

// cancel fails the study, unless a release is in progress.
func (rs *runningStudy) cancel(ctx context.Context, reason string) error {
	return rs.cancelUnless(ctx, reason, false, func() (string, error) { return "", nil })
}

// withdraw cancels the study for good for an operator, unless the ledger has charged its release
// already. A charged release is made in any case, even after a kill or a disk failure, if no other
// server must add its half.
//
// Nothing is drawn twice where a study with two servers ends after this server's ledger was
// charged: this server's aggregator then refuses every step of the study (ErrFailed), so that
// neither server can be asked for another share. Its ledger has the line, so an amendment does not
// take the study up again. If the helper had drawn too, it keeps its line and its share. The study
// is not ended once both shares are here, because Cancel refuses it then.
func (rs *runningStudy) withdraw(ctx context.Context, reason string, ledger *privacy.Ledger) error {
	err := rs.cancelUnless(ctx, reason, true, func() (words string, err error) {
		drawn, err := rs.drawn(ctx, ledger)
		if err != nil {
			return "", err
		}
		err = rs.view(ctx, func(m *life.Study) error {
			if m.Plan.Noise.Shared() {
				words = charged(m, drawn)
			} else if drawn {
				return fmt.Errorf("cancel study: %w: its noise was drawn and charged, so it will be released", study.ErrNotOpen)
			}
			return nil
		})
		return words, err
	})
	return wireError(err)
}

// interruptible is ctx for the holder of advancing. It ends once somebody cancels the study
// (seize).
func (rs *runningStudy) interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.interrupt = stop
	return ctx, stop
}

// seizeTime bounds how long seize waits for a step that cannot be interrupted.
const seizeTime = 8 * time.Second

// seize takes advancing from work that may be repeated, because it may wait for the helper for
// minutes. It reports whether it did.
func (rs *runningStudy) seize(ctx context.Context) bool {
	ctx, stop := context.WithTimeout(ctx, seizeTime)
	defer stop()
	for !rs.advancing.TryLock() {
		rs.mu.Lock()
		if rs.interrupt != nil {
			rs.interrupt()
		}
		rs.mu.Unlock()
		soon, stop := context.WithTimeout(ctx, 10*time.Millisecond)
		<-soon.Done()
		stop()
		if ctx.Err() != nil {
			return false
		}
	}
	return true
}

func (rs *runningStudy) cancelUnless(ctx context.Context, reason string, good bool,
	objects func() (words string, err error)) error {
	if !rs.seize(ctx) {
		return fmt.Errorf("cancel study: %w: it is being folded or released right now", protocol.ErrBusy)
	}
	defer rs.advancing.Unlock()
	words, err := objects()
	if err != nil {
		return err
	}
	if err := rs.forgetShares(ctx, reason, good); err != nil {
		return err
	}
	_, err = rs.step(ctx, life.StudyCancelled{Reason: reason + words}, nil)
	return err
}

func (rs *runningStudy) drawn(ctx context.Context, ledger *privacy.Ledger) (bool, error) {
	var state study.State
	if err := rs.view(ctx, func(s *life.Study) error {
		state = s.State
		return nil
	}); err != nil || state != study.Summed {
		return false, err
	}
	return rs.charged(ctx, func(id string) (bool, error) {
		_, found, err := ledger.FindLine(ctx, id)
		return found, err
	})
}

// charged reports whether a ledger has an entry for any of the study's outputs; holds says so of
// one entry's id.
func (rs *runningStudy) charged(ctx context.Context,
	holds func(id string) (bool, error)) (bool, error) {
	checker, err := rs.studyChecker(ctx)
	if err != nil {
		return false, err
	}
	charges, err := checker.task.Charges(0)
	if err != nil {
		return false, err
	}
	for _, charge := range charges {
		if found, err := holds(study.ReleaseID(rs.hash,
			checker.task.Plan().Noise.LedgerOutput(charge.Output))); found || err != nil {
			return found, records.WithAdvice(err)
		}
	}
	return false, nil
}

// permanent reports whether a retry cannot help.
func permanent(err error) bool {
	return !errors.Is(err, protocol.ErrUnavailable) && !errors.Is(err, protocol.ErrHelper) &&
		!errors.Is(err, privacy.ErrBehind) && !errors.Is(err, errWaits) && !damaged(err) &&
		!errors.Is(err, records.ErrDamagedSum) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) &&
		records.WithAdvice(err) == err
}

// sealByRule seals an open study that has enough contributions, once none arrived for the time that
// its seal rule states. The time counts from the last stored contribution, or from when this
// process first held the study.
func (rs *runningStudy) sealByRule(ctx context.Context, elapsed time.Duration) (sealed bool,
	err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	defer rs.settle()
	if err := rs.load(ctx); err != nil || rs.machine.State != study.Open ||
		rs.machine.Ending().Seal == nil {
		return false, err
	}
	if !rs.machine.MaySealEarly() || elapsed-rs.quietSince < rs.machine.Ending().Seal.QuietTime() {
		return false, nil
	}
	_, err = rs.stepLocked(ctx, life.QuietTimePassed{}, nil)
	return err == nil, err
}

type pending struct {
	caller  protocol.Caller
	receipt protocol.Receipt
	body    []byte
	now     time.Time

	done   chan struct{}
	answer protocol.Receipt
	err    error
}

// errDamagedBody says that a body was damaged after its inspection.
var errDamagedBody = errors.New("a stored contribution is not what was received")

var errMissingBody = errors.New("a stored contribution is missing")

// damaged reports whether an error says that bodies were damaged after their inspection.
func damaged(err error) bool {
	return errors.Is(err, errDamagedBody) || errors.Is(err, errMissingBody) ||
		errors.Is(err, study.ErrBodiesChanged)
}

// isLost reports whether a received contribution's bytes are lost. The caller holds mu.
func (rs *runningStudy) isLost(party study.PartyID, digest study.BodyDigest) bool {
	_, lost := rs.lost[party]
	return lost && rs.machine.Received[party] == digest &&
		(rs.machine.State == study.Sealed || rs.machine.State == study.Open)
}
