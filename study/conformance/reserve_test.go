package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/kinds"
)

// TestReservedBeforeRead: for every kind and all records, a party's requests are those charged
// before the records were read: they complete the reservations at no further charge.
func TestReservedBeforeRead(t *testing.T) {
	c, plans := fuzzPlans(t)
	ctx := context.Background()
	for _, p := range plans {
		name := fmt.Sprintf("%s %s, noise %s, %d shards", p.Kind, p.Mechanism, p.Noise,
			kinds.Explain(p).Shards)
		task := conformance.TaskOf(t, p, c.pool)
		canonical, err := p.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		files := hostile(p.Unit == privacy.Label)
		for n := range 2 {
			files[fmt.Sprint(n, " records")] = alike(n, ill)
		}
		for what, rows := range files {
			reserved, err := task.Reservations(len(rows))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			charges, err := task.Charges(0)
			if err != nil {
				t.Fatal(err)
			}
			ledger, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := study.Reserve(ctx, ledger, study.HashOf(canonical), reserved,
					charges); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			before, err := ledger.Totals(ctx)
			if err != nil || before[p.Unit].Charges != 1 {
				t.Fatalf("%s: %d charges before the data, %v, want 1", name, before[p.Unit].Charges,
					err)
			}
			d, err := task.Contribute(c.inputs(c.records(t, rows), 0))
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Requests) != len(reserved) {
				t.Errorf("%s, %s: asks %d, reserved %d", name, what, len(d.Requests), len(reserved))
			}
			if _, err := study.ReleaseRequests(ctx, ledger, study.HashOf(canonical),
				d.Requests); err != nil {
				t.Errorf("%s, %s: the asks are not what was reserved: %v", name, what, err)
			}
			after, err := ledger.Totals(ctx)
			if err != nil || !reflect.DeepEqual(before, after) {
				t.Errorf("%s, %s: the data were charged %v, before them %v was (%v)", name, what, after, before, err)
			}
		}
	}
}

// TestReserveOnce: other terms under the plan's hash are refused, and so is a charge beyond the
// ledger's limit.
func TestReserveOnce(t *testing.T) {
	c, _ := fuzzPlans(t)
	ctx := context.Background()
	l, err := privacy.Open(privacy.NewMemoryJournal(),
		privacy.Config{Limits: map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1,
			Delta: 1e-5}}})
	if err != nil {
		t.Fatal(err)
	}
	reserve := func(h byte, p study.Plan) error {
		reserved, err := conformance.TaskOf(t, p, c.pool).Reservations(6)
		if err != nil {
			t.Fatal(err)
		}
		return study.Reserve(ctx, l, study.Hash{h}, reserved, nil)
	}
	p := c.classify("cross", privacy.Record, study.NoiseSite, 1)
	p.Epsilon, p.Delta = 0.8, 1e-6
	if err := reserve(1, p); err != nil {
		t.Fatal(err)
	}
	other := p
	other.Epsilon = 0.5
	if err := reserve(1, other); !errors.Is(err, privacy.ErrConflict) {
		t.Errorf("other terms: %v, want ErrConflict", err)
	}
	if err := reserve(2, p); !errors.Is(err, privacy.ErrBudget) {
		t.Errorf("a second study: %v, want ErrBudget", err)
	}
}
