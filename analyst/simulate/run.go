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
	"caucus/study/bodies"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
	"caucus/study/life"
)

// Run is the result of a plan on a deal.
type Run struct {
	Release study.Release
	// Unperturbed is the result of the same contributions without noise. It is empty if the run was
	// lean or if the kind has no such result.
	Unperturbed study.Result
	// Published holds the coordinator's publications, none if sites add the noise.
	Published   []privacy.Published
	UploadBytes float64
}

// Options say how faithfully a run follows a real study. A lean run leaves out Run.Unperturbed,
// which takes a second fit.
type Options struct {
	SkipUnperturbed bool
	// SecretShares makes, proves and checks every party's secret shares in plans with
	// study.NoiseAggregators. Without SecretShares, the servers get shares of the sum, which is
	// faster. Only the noise in the results differs.
	SecretShares bool
	// Progress, if not nil, is called as contributions arrive, one at a time.
	Progress func(done int)
}

// Run runs a task that the deal made, by the steps of a real study (package life). The parties
// contribute in parallel, through simulation ledgers. The order of their contributions does not
// affect the result.
func (d *DealtData) Run(ctx context.Context, t study.Finisher, o Options) (Run, error) {
	fail := func(err error) (Run, error) { return Run{}, err }
	m, err := newMachine(t)
	if err != nil {
		return fail(err)
	}
	from, err := d.contributions(t, o.SkipUnperturbed)
	if err != nil {
		return fail(err)
	}
	two, err := m.aggregated(o.SecretShares)
	if err != nil {
		return fail(err)
	}
	var out Run
	err = eachParty(ctx, len(d.Parties), func(ctx context.Context, i int) (func() error, error) {
		body, clear, err := from.make(ctx, m, i)
		return func() error {
			err := m.receive(i, body)
			if err == nil && clear != nil {
				err = from.addClear(i, clear)
			}
			out.UploadBytes += float64(len(body))
			if o.Progress != nil {
				o.Progress(len(m.study.Received))
			}
			return err
		}, err
	})
	if err != nil {
		return fail(err)
	}
	if two != nil {
		out.UploadBytes = float64(two.bytes)
	}
	out.UploadBytes /= float64(len(d.Parties))
	if !o.SkipUnperturbed {
		if out.Unperturbed, err = from.unperturbed(ctx); err != nil {
			return fail(err)
		}
	}
	out.Release, err = m.conclude(ctx)
	out.Published = m.published
	return out, err
}

func checkedTask(p study.Plan, pool *auxdata.Pool) (study.Finisher, error) {
	if err := kinds.Check(p); err != nil {
		return nil, err
	}
	return results.NewTask(p, pool)
}

type machine struct {
	study.Finisher
	study     *life.Study
	gathered  *study.Accumulator
	ledger    *privacy.Ledger // the coordinator's ledger
	canonical []byte
	published []privacy.Published
}

func newMachine(t study.Finisher) (*machine, error) {
	p := t.Plan()
	canonical, err := p.Canonical()
	if err != nil {
		return nil, err
	}
	m := &machine{Finisher: t, study: life.New(p, t.Hash()), ledger: privacy.NewSimulation(p.Seed),
		canonical: canonical}
	if _, err := m.study.Step(life.StudyOpened{}); err != nil {
		return nil, err
	}
	m.gathered, err = study.NewAccumulator(t)
	return m, err
}

// aggregated makes the two servers of a plan with study.NoiseAggregators, nil for other plans.
func (m *machine) aggregated(real bool) (*servers, error) {
	if !m.study.Plan.Noise.Shared() {
		return nil, nil
	}
	// true, because kinds.Check allows secret shares only for such tasks
	of, _ := bodies.Of(m.Finisher)
	two, err := newServers(of, m.gathered.Sum, real)
	if err == nil {
		m.gathered.Sum = two
	}
	return two, err
}

// body makes party i's body from its contribution, through its ledger. It is safe for concurrent
// use.
func (m *machine) body(ctx context.Context, draft study.Contribution, i int) ([]byte, error) {
	released, err := study.ReleaseRequests(ctx,
		privacy.NewSimulation(m.study.Plan.Seed+1+uint64(i)),
		m.study.Hash, draft.Requests)
	if err != nil {
		return nil, err
	}
	return draft.Body(released)
}

func (m *machine) receive(i int, body []byte) error {
	return ReceiveContribution(m.study, m.gathered, m.study.Plan.Roster[i], body)
}

// ContributionSink takes contributions: a study.Accumulator or a study.Sum.
type ContributionSink interface {
	study.Checker
	Add(body []byte) error
}

// ReceiveContribution does what a coordinator does with a contribution: it checks the body, records
// it and adds it.
func ReceiveContribution(s *life.Study, to ContributionSink, party study.PartyID,
	body []byte) error {
	if err := to.Check(body); err != nil {
		return err
	}
	if _, err := s.Step(life.ContributionReceived{Party: party, Plan: s.Hash,
		Body: sha256.Sum256(body)}); err != nil {
		return err
	}
	return to.Add(body)
}

func (m *machine) Finish(s study.Contributions, released []privacy.Published) (study.Result,
	error) {
	m.published = released
	return m.Finisher.Finish(s, released)
}

func (m *machine) conclude(ctx context.Context) (study.Release, error) {
	if _, err := m.study.Step(life.SumDone{Contributions: len(m.study.Received)}); err != nil {
		return study.Release{}, err
	}
	t := m.Finisher
	if m.gathered.Sum != nil {
		t = m
	}
	release, err := life.Conclude(ctx, m.study, t, m.gathered.Contributions(), m.ledger)
	if err != nil {
		return release, err
	}
	release.Plan = m.canonical
	_, err = m.study.Step(life.ReleaseDone{})
	return release, err
}

// eachParty prepares the contributions of virtual parties on all processors, and adds them one at a
// time, in any order. After an error, it prepares no further contributions.
func eachParty(ctx context.Context, parties int,
	prepare func(ctx context.Context, i int) (add func() error, err error)) error {
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
