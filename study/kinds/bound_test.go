package kinds_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"caucus/privacy"
	"caucus/study"
)

// TestAnotherBoundIsRefused: a party that released under another bound than plan and pool
// give, by the plan's mechanism and under its id, is not added: a manifest would claim what
// its ledger was not charged for.
func TestAnotherBoundIsRefused(t *testing.T) {
	ctx := context.Background()
	c := newClinic(t, []string{"no", "yes"}, 5)
	p := c.classify("cross", privacy.Record, study.NoiseSite, 1)
	task := taskOf(t, p, c.pool)
	d, err := task.Contribute(c.inputs(c.records(t, alike(6, ill)), 0))
	must(t, err)
	ask := d.Requests[0]
	checker, err := study.NewChecker(task)
	must(t, err)
	for _, other := range []bool{false, true} {
		bound := ask.Sensitive.Bound()
		if other {
			bound.L2sq--
		}
		s, err := privacy.NewSensitive(openAsk(t, ask), bound)
		must(t, err)
		ledger, err := privacy.Open(privacy.NewMemory(), privacy.Config{})
		must(t, err)
		released, err := ledger.Release(ctx, study.ReleaseID(task.Hash(), ask.Output), s, ask.Mechanism)
		must(t, err)
		b, err := released.MarshalBinary()
		must(t, err)
		err = checker.Check(append(binary.AppendUvarint(nil, 6), b...))
		if (err != nil) != other || other && !strings.Contains(err.Error(), "another bound") {
			t.Errorf("another bound %v: %v", other, err)
		}
	}
}
