package simulate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// Rehearse runs a plan among parties that are given here, one Inputs for each
// name of the roster, through the real study machine, with ledgers that only
// simulate. The plan is stamped simulated. The answer depends on the inputs and
// the plan's seed alone.
func Rehearse(ctx context.Context, p study.Plan, pool *auxdata.Pool, parties []study.Inputs) (study.Release, error) {
	if len(parties) != len(p.Roster) {
		return study.Release{}, fmt.Errorf("rehearse study: %d parties for a roster of %d: give one each", len(parties), len(p.Roster))
	}
	p.Simulated = true
	r, err := newRehearsal(p, pool)
	if err != nil {
		return study.Release{}, fmt.Errorf("rehearse study: %w", err)
	}
	for i, in := range parties {
		if err := ctx.Err(); err != nil {
			return study.Release{}, err
		}
		d, err := r.task.Contribute(in)
		if err != nil {
			return study.Release{}, fmt.Errorf("rehearse party %s: %w", p.Roster[i], err)
		}
		if _, err := r.contribute(ctx, d, i); err != nil {
			return study.Release{}, fmt.Errorf("rehearse party %s: %w", p.Roster[i], err)
		}
	}
	return r.conclude(ctx)
}

// rehearsal is a study's machine with what it adds to.
type rehearsal struct {
	task      study.Task
	study     *study.Study
	sum       study.Sum
	ledger    *privacy.Ledger // the coordinator's
	canonical []byte
}

// newRehearsal opens a study.
func newRehearsal(p study.Plan, pool *auxdata.Pool) (*rehearsal, error) {
	canonical, err := p.Canonical()
	if err != nil {
		return nil, err
	}
	if err := kinds.Check(p); err != nil {
		return nil, err
	}
	task, err := kinds.NewTask(p, pool)
	if err != nil {
		return nil, err
	}
	r := &rehearsal{task: task, study: study.New(p, study.HashOf(canonical)), ledger: privacy.Simulation(p.Seed), canonical: canonical}
	if _, err := r.study.Step(study.Opened{}); err != nil {
		return nil, err
	}
	r.sum, err = task.NewSum()
	return r, err
}

// contribute makes a draft's body and sends it; it returns the bytes sent.
func (r *rehearsal) contribute(ctx context.Context, d study.Contribution, i int) (int, error) {
	body, err := r.body(ctx, d, i)
	if err != nil {
		return 0, err
	}
	return len(body), Receive(r.study, r.sum, r.study.Plan.Roster[i], body)
}

// body settles a draft through a ledger of the party's own. Parties may do so
// at the same time.
func (r *rehearsal) body(ctx context.Context, d study.Contribution, i int) ([]byte, error) {
	released, err := study.Settle(ctx, privacy.Simulation(r.study.Plan.Seed+1+uint64(i)), r.study.Hash, d.Requests)
	if err != nil {
		return nil, err
	}
	return d.Body(released)
}

// conclude seals, folds and releases.
func (r *rehearsal) conclude(ctx context.Context) (study.Release, error) {
	if _, err := r.study.Step(study.FoldDone{Contributions: len(r.study.Received)}); err != nil {
		return study.Release{}, err
	}
	release, err := study.Conclude(ctx, r.study, r.task, r.sum, r.ledger)
	if err != nil {
		return release, err
	}
	release.Plan = r.canonical
	_, err = r.study.Step(study.ReleaseDone{})
	return release, err
}

// eachParty prepares the contributions of so many virtual parties, on all
// processors, and adds them, one at a time and in any order. After an error no
// other party begins.
func eachParty(ctx context.Context, parties int, prepare func(ctx context.Context, i int) (add func() error, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		next   atomic.Int64
		mu     sync.Mutex
		failed error
		wg     sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= parties {
					return
				}
				add, err := prepare(ctx, i)
				mu.Lock()
				if err == nil {
					err = add()
				}
				if err != nil && failed == nil {
					failed = fmt.Errorf("simulate party %d: %w", i+1, err)
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	if wg.Wait(); failed == nil {
		failed = ctx.Err()
	}
	return failed
}

// Receive is what a server does with a contribution: check, step, add.
func Receive(s *study.Study, sum study.Sum, party study.PartyID, body []byte) error {
	if err := sum.Check(body); err != nil {
		return err
	}
	if _, err := s.Step(study.Contributed{Party: party, Plan: s.Hash, Body: sha256.Sum256(body)}); err != nil {
		return err
	}
	return sum.Add(body)
}
