package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/life"
)

// Contributions that arrive while others are being written to disk are decided and stored together,
// in one transaction with one wait for the disk. The result is the same as if they came one after
// the other:
//
//   - Each contribution is stored in a savepoint. If one cannot be stored, its savepoint is undone
//     and the group ends before it. So no contribution is decided after a step of the machine that
//     did not happen.
//   - Nobody gets a receipt or a refusal before the transaction is on disk. If the transaction
//     fails, all callers of the group get its error and try again. So a party that is twice in a
//     group is never refused because of bytes that were not stored.

// errNoAnswer goes to the callers of a group whose storing panicked.
var errNoAnswer = errors.New("store contribution: it was given up")

// contribute decides on a contribution with a valid body. It returns the receipt once receipt and
// body are stored. The same transaction refuses a party that was revoked during its upload.
func (rs *runningStudy) contribute(ctx context.Context, caller protocol.Caller, r protocol.Receipt,
	body []byte, now time.Time) (protocol.Receipt, error) {
	p := &pending{caller: caller, receipt: r, body: body, now: now, done: make(chan struct{}),
		err: errNoAnswer}
	rs.queueMu.Lock()
	rs.queue = append(rs.queue, p)
	rs.queueMu.Unlock()
	for {
		select {
		case <-p.done:
			return p.answer, p.err
		case rs.lead <- struct{}{}: // no other call is storing: this call stores the whole queue
			rs.storeQueue(ctx)
		}
	}
}

// storeQueue stores the waiting contributions and answers their callers. The caller holds lead;
// storeQueue releases it.
func (rs *runningStudy) storeQueue(ctx context.Context) {
	rs.queueMu.Lock()
	group := rs.queue
	rs.queue = nil
	rs.queueMu.Unlock()
	defer func() {
		for _, p := range group {
			close(p.done)
		}
		<-rs.lead
	}()
	// A caller that goes away must not interrupt a commit.
	ctx = context.WithoutCancel(ctx)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	defer rs.settle()
	if err := rs.load(ctx); err != nil {
		refuse(group, err)
		return
	}
	var together, apart []*pending
	for _, p := range group {
		if rs.isLost(p.receipt.Party, p.receipt.Body) || rs.machine.State == study.Open &&
			!p.now.Before(rs.machine.Ending().Deadline) {
			apart = append(apart, p)
		} else {
			together = append(together, p)
		}
	}
	for len(together) > 0 {
		together = rs.storeLocked(ctx, together)
	}
	for _, p := range apart {
		p.answer, p.err = rs.storeApart(ctx, p)
	}
}

// storeApart stores a contribution that is in no group: lost bytes that came again, or a
// contribution after the deadline. The latter is refused as late, even if the scheduler has not yet
// checked the deadline.
func (rs *runningStudy) storeApart(ctx context.Context, p *pending) (protocol.Receipt, error) {
	if err := rs.load(ctx); err != nil {
		return protocol.Receipt{}, err
	}
	if _, err := rs.deadlineLocked(ctx, p.now); err != nil {
		return protocol.Receipt{}, err
	}
	if rs.isLost(p.receipt.Party, p.receipt.Body) {
		return rs.restoreLocked(ctx, p.caller, p.receipt, p.body)
	}
	rs.storeLocked(ctx, []*pending{p})
	return p.answer, p.err
}

func refuse(group []*pending, err error) {
	for _, p := range group {
		p.err = err
	}
}

// storeLocked stores a group's contributions in order, in one transaction, until one fails, and
// returns the rest. The caller holds mu.
func (rs *runningStudy) storeLocked(ctx context.Context, group []*pending) (rest []*pending) {
	if err := rs.load(ctx); err != nil {
		refuse(group, err)
		return nil
	}
	const name = "life.ContributionReceived"
	var stored, had []*pending
	torn := false // the machine made a step whose savepoint was undone
	machine := rs.machine
	rs.machine = nil // after a panic the store may lack the machine's steps
	err := rs.store.Update(ctx, func(tx records.Tx) error {
		for i, p := range group {
			if p.err = rs.certificates.CheckInTransaction(tx, p.caller); p.err != nil {
				continue
			}
			from := machine.State
			effects, err := machine.Step(life.ContributionReceived{Party: p.receipt.Party,
				Plan: p.receipt.Plan, Body: p.receipt.Body})
			if err != nil {
				p.err = err
				continue
			}
			wrote := false
			undone, err := tx.Savepoint(func() error {
				wrote, err = rs.keep(tx, from, effects, p)
				return err
			})
			if err != nil {
				return err
			}
			if undone != nil {
				p.err, rest, torn = fmt.Errorf("store study %s: %w", rs.hash,
					undone), group[i+1:], true
				break
			}
			if wrote {
				stored = append(stored, p)
			} else {
				had = append(had, p)
			}
		}
		for range stored {
			rs.point("before " + name)
		}
		return nil
	})
	if err != nil {
		refuse(group, fmt.Errorf("store study %s: %w", rs.hash, err))
		return nil
	}
	if !torn {
		rs.machine = machine
	}
	for _, p := range stored {
		rs.quietSince = rs.watch.clock.Elapsed()
		rs.point("after " + name)
		p.answer, p.err = p.receipt, nil
	}
	for _, p := range had {
		p.answer, p.err = rs.receiptLocked(ctx, p.receipt.Party)
	}
	return rest
}

func (rs *runningStudy) keep(tx records.Tx, from study.State, effects []life.Effect,
	p *pending) (wrote bool, err error) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case life.StoreContribution:
			wrote, err = true, tx.AddContribution(p.receipt, p.body)
		case life.StoreState:
			err = tx.SetState(rs.hash, from, e.State, e.Reason)
		}
		if err != nil {
			return wrote, err
		}
	}
	return wrote, nil
}
