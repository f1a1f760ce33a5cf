package simulate

import (
	"cmp"
	"context"
	"fmt"

	"caucus/auxdata"
	"caucus/study"
)

// RunPlan runs a plan by the steps of a real study, with simulation ledgers. parties has Inputs
// for each name of the roster, or fewer, which several parties then share: they contribute the same
// with different noise. The plan is marked as simulated. The result depends only on the inputs and
// the plan's seed.
func RunPlan(ctx context.Context, p study.Plan, pool *auxdata.Pool,
	parties []study.Inputs) (study.Release, error) {
	return rehearse(ctx, p, pool, len(parties), func(i int) study.Inputs { return parties[i] })
}

// rehearse is RunPlan among parties that are asked for their inputs one after the other.
func rehearse(ctx context.Context, p study.Plan, pool *auxdata.Pool, parties int,
	inputs func(i int) study.Inputs) (study.Release, error) {
	fail := func(err error) (study.Release, error) {
		return study.Release{}, fmt.Errorf("simulate: %w", err)
	}
	if parties == 0 || parties > len(p.Roster) {
		return fail(fmt.Errorf("%d parties for a roster of %d: give one each, or fewer that stand for several", parties, len(p.Roster)))
	}
	p.Simulated = true
	t, err := checkedTask(p, pool)
	if err != nil {
		return fail(err)
	}
	m, err := newMachine(t)
	if err != nil {
		return fail(err)
	}
	two, err := m.aggregated(false)
	if err != nil {
		return fail(err)
	}
	clear, drafts := make([][]byte, parties), make([]study.Contribution, parties)
	for i, name := range p.Roster {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		of := i % parties
		switch {
		case i != of:
		case two != nil:
			clear[of], err = two.task.Statistic.AppendClear(two.task.Local(inputs(of)))
		default:
			drafts[of], err = t.Contribute(inputs(of))
		}
		body := clear[of]
		if err == nil && two == nil {
			body, err = m.body(ctx, drafts[of], i)
		}
		if err == nil {
			err = m.receive(i, body)
		}
		if err != nil {
			return fail(fmt.Errorf("party %s: %w", name, err))
		}
	}
	return m.conclude(ctx)
}

// countAll makes and rehearses a plan of a kind that counts the records of all parties as they are,
// missing cells marked. No records are set aside for tests, and a twentieth is the pool unless the
// split says otherwise.
func (s Split) countAll(ctx context.Context, of study.Proposal) (*DealtData, study.Finisher,
	study.Release, error) {
	fail := func(err error) (*DealtData, study.Finisher, study.Release, error) {
		return nil, nil, study.Release{}, err
	}
	s.Test, s.PoolFraction = s.Train, cmp.Or(s.PoolFraction, 1./20)
	d, err := s.dealt(0)
	if err != nil {
		return fail(err)
	}
	d.Private = d.Private.MarkMissing() // as kinds.RecordSchema says
	d.marked = d.public.MarkMissing().All().X
	size := d.Size()
	of.Records = cmp.Or(of.Records, size.Records/size.Parties)
	task, err := d.Task(of)
	if err != nil {
		return fail(err)
	}
	release, err := rehearse(ctx, task.Plan(), task.Pool(), size.Parties, d.Inputs)
	return d, task, release, err
}
