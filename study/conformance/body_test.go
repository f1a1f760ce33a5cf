package conformance_test

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/conformance"
	"caucus/study/keyed"
	"caucus/study/kinds"
)

// TestLargestBody: the largest release, with the largest possible noise, fits into a body. A noise
// that did not fit would decide whether a site that is already charged takes part.
func TestLargestBody(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 5)
	rng := rand.New(rand.NewPCG(1, 1))
	_, d := c.pool.Encoded.Dims()
	rows := mat.NewDense(4000, d, nil)
	rows.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, rows)
	for _, mechanism := range []string{"tally", "moment", "cross"} {
		p := c.classify(mechanism, privacy.Record, study.NoiseSite, 1)
		pool := auxdata.NewSimulated(rows, p.Map)
		p.Pool = pool.Digest
		task := conformance.TaskOf(t, p, pool)
		reserved, err := task.Reservations(60)
		if err != nil {
			t.Fatal(err)
		}
		made := reserved[0].Terms
		far, err := privacy.NewSensitive(slices.Repeat([]int64{-1 << 61}, made.Length), made.Bound)
		if err != nil {
			t.Fatal(err)
		}
		l, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Release(t.Context(), study.ReleaseID(task.Hash(), reserved[0].Output),
			far.WithSource(made.SourceDigest), made.Mechanism)
		if err != nil {
			t.Fatal(err)
		}
		contribution, err := task.Contribute(c.inputs(c.records(t, alike(60, well)), 0))
		if err != nil {
			t.Fatal(err)
		}
		body, err := contribution.Body([]privacy.Published{r})
		if err != nil {
			t.Fatal(err)
		}
		if len(body) > task.MaxBody() {
			t.Errorf("%s: a body has %d bytes, %d are allowed", mechanism, len(body),
				task.MaxBody())
		}
	}
}

// TestOneLength: under each plan, bodies of the same number of records have the same length,
// whatever the records, the noise drawn and the number of entries in the party's ledger, so that
// length reveals nothing. Where sites release sums, the length does not even depend on the number
// of records.
func TestOneLength(t *testing.T) {
	narrow, plans := fuzzPlans(t)
	wide, records := wideClinic(t)
	rng := rand.New(rand.NewPCG(5, 6))
	type from struct {
		c clinic
		p study.Plan
		// records returns n records, of different content in each call.
		records func(n int) *dataset.Records
	}
	var all []from
	for _, p := range plans {
		all = append(all, from{narrow, p, func(n int) *dataset.Records {
			var rows []visit
			for range n {
				rows = append(rows,
					visit{[]string{"no", "yes", "maybe", ""}[rng.IntN(4)],
						strconv.Itoa(rng.IntN(11)), strconv.FormatFloat(rng.Float64(), 'f', 2,
							64), []string{"east", "west",
							"north"}[rng.IntN(3)], strconv.Itoa(rng.IntN(5)), []string{"s",
							"t"}[rng.IntN(2)]})
			}
			return narrow.records(t, rows)
		}})
	}
	for _, p := range widePlans(wide) {
		all = append(all, from{wide, p, func(n int) *dataset.Records {
			rows := rng.Perm(records.Len())[:n]
			if rng.IntN(2) == 0 { // all equal: the largest sums
				rows = slices.Repeat(rows[:1], n)
			}
			return records.Select(rows)
		}})
	}
	for _, a := range all {
		task := conformance.TaskOf(t, a.p, a.c.pool)
		_, sums := bodies.Of(task)
		want := map[int]int{} // by number of records
		for draw := range 10 {
			n := []int{40, 60}[draw%2]
			in := keyed.ExactlyN(kinds.SelectionRuleOf(a.p), a.p.Schema, a.records(n), n, []byte{1})
			d, err := task.Contribute(a.c.inputs(in, draw))
			if err != nil {
				t.Fatal(err)
			}
			l, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2 * draw { // gives the answer another ledger number
				if err := l.Spend(t.Context(), strconv.Itoa(i),
					privacy.Cost{Unit: privacy.Record, Pure: big.NewRat(1, 1),
						Rho: big.NewRat(1, 2)}); err != nil {
					t.Fatal(err)
				}
			}
			r, err := study.ReleaseRequests(t.Context(), l, task.Hash(), d.Requests)
			if err != nil {
				t.Fatal(err)
			}
			body, err := d.Body(r)
			if err != nil {
				t.Fatal(err)
			}
			if a.p.Noise == study.NoiseSite && sums {
				n = 0
				want[n] = task.MaxBody()
			}
			if had, seen := want[n]; seen && len(body) != had || len(body) > task.MaxBody() {
				t.Errorf("%s %s, noise at %s, %d records: %d bytes, %d before, at most %d", a.p.Kind, a.p.Mechanism, a.p.Noise, n, len(body), had, task.MaxBody())
			}
			want[n] = len(body)
			checker, err := study.NewChecker(task)
			if err == nil {
				err = checker.Check(body)
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, other := range map[string][]byte{"a zero more": append(slices.Clone(body), 0),
				"a byte less": body[:len(body)-1]} {
				if checker.Check(other) == nil {
					t.Errorf("%s %s: a body with %s is taken", a.p.Kind, a.p.Mechanism, name)
				}
			}
		}
	}
}
