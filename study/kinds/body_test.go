package kinds_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
)

// TestLargestBody: whatever was released, as much noise as a mechanism may have
// included, fits into a body, so that no noise decides whether a site, which is
// charged already, takes part.
func TestLargestBody(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 5)
	rng := rand.New(rand.NewPCG(1, 1))
	_, d := c.pool.Encoded.Dims()
	rows := mat.NewDense(4000, d, nil)
	rows.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, rows)
	for _, mechanism := range []string{"tally", "moment", "cross"} {
		p := c.classify(mechanism, privacy.Record, study.NoiseSite, 1)
		pool := auxdata.Virtual(rows, p.Map)
		p.Pool = pool.Digest
		task := taskOf(t, p, pool)
		reserved, err := task.Reservations(60)
		if err != nil {
			t.Fatal(err)
		}
		made := reserved[0].Terms
		far, err := privacy.NewSensitive(slices.Repeat([]int64{-1 << 61}, made.Length), made.Bound)
		if err != nil {
			t.Fatal(err)
		}
		l, err := privacy.Open(privacy.NewMemory(), privacy.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Release(t.Context(), study.ReleaseID(task.Hash(), reserved[0].Output), far.From(made.Source), made.Mechanism)
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
			t.Errorf("%s: a body has %d bytes, %d are allowed", mechanism, len(body), task.MaxBody())
		}
	}
}
