package classify_test

import (
	"errors"
	"testing"

	"caucus/study"
	"caucus/study/conformance"
)

// TestMeansBodies: a body has 16 bits per cell, whoever sends it. A vector that is longer than a
// party's may be is refused, so a party that lies counts no more than an honest one.
func TestMeansBodies(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 600)
	p := conformance.ClassifyPlan(schema, pool, m)
	p.Mechanism = "means"
	bodies := conformance.Contributions(t, p, pool,
		append(conformance.Deal(records, 3), records.Select(nil)))
	sum, err := conformance.TaskOf(t, p, pool).NewSum()
	if err != nil {
		t.Fatal(err)
	}
	cells := pool.Dim()
	for i, b := range bodies {
		if len(b) != 2*cells {
			t.Errorf("party %d sends %d bytes, want %d", i, len(b), 2*cells)
		}
		if err := sum.Check(b); err != nil {
			t.Errorf("party %d: %v", i, err)
		}
	}
	q := conformance.StatisticOf(t, p, pool)
	long := make([]int64, cells)
	long[0], long[1] = 1<<14, 1
	overlong, err := q.AppendClear(long, 1)
	if err != nil {
		t.Fatal(err)
	}
	lowest := make([]int64, cells)
	lowest[0] = -1 << 15
	below, _ := q.AppendClear(lowest, 1)
	for name, b := range map[string][]byte{"longer than the bound": overlong,
		"the lowest 16 bits hold": below, "short": bodies[0][2:], "nothing": nil} {
		if err := sum.Check(b); !errors.Is(err, study.ErrContribution) {
			t.Errorf("%s: have %v, want ErrContribution", name, err)
		}
	}
}

// FuzzMeansBody: an accepted body is in range and encodes to the same bytes.
func FuzzMeansBody(f *testing.F) {
	schema, pool, m, records := conformance.Hospital(f, 400)
	p := conformance.ClassifyPlan(schema, pool, m)
	p.Mechanism = "means"
	q := conformance.StatisticOf(f, p, pool)
	f.Add(conformance.Contributions(f, p, pool, conformance.Deal(records, 1))[0])
	f.Add(make([]byte, 2*pool.Dim()))
	f.Fuzz(func(t *testing.T, body []byte) {
		v, weight, err := q.ParseClear(body)
		if err != nil {
			return
		}
		var norm int64
		for _, x := range v {
			norm += x * x
		}
		back, _ := q.AppendClear(v, weight)
		if weight != 1 || norm > 1<<28 || string(back) != string(body) {
			t.Errorf("accepted weight %d, squared norm %d, %d bytes that read back as %d", weight, norm, len(body), len(back))
		}
	})
}
