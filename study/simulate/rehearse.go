package simulate

import (
	"context"
	"fmt"

	"caucus/auxdata"
	"caucus/study"
)

// Rehearse runs a plan among parties that are given here, one Inputs for each name of
// the roster, through the real machine, with ledgers that only simulate. The plan
// is stamped simulated. The answer depends on the inputs and the plan's seed alone.
func Rehearse(ctx context.Context, p study.Plan, pool *auxdata.Pool, parties []study.Inputs) (study.Release, error) {
	fail := func(err error) (study.Release, error) {
		return study.Release{}, fmt.Errorf("simulate: %w", err)
	}
	if len(parties) != len(p.Roster) {
		return fail(fmt.Errorf("%d parties for a roster of %d: give one each", len(parties), len(p.Roster)))
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
	for i, in := range parties {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		var body []byte
		if two != nil {
			body, err = two.task.Statistic.AppendClear(two.task.Local(in))
		} else {
			var draft study.Contribution
			if draft, err = t.Contribute(in); err == nil {
				body, err = m.body(ctx, draft, i)
			}
		}
		if err == nil {
			err = m.receive(i, body)
		}
		if err != nil {
			return fail(fmt.Errorf("party %s: %w", p.Roster[i], err))
		}
	}
	return m.conclude(ctx)
}
