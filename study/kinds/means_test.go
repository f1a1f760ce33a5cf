package kinds_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"caucus/aggregation"
	"caucus/privacy"
	"caucus/study"
)

// TestMeansBodies: a body is 16 bits a cell whoever sends it, and one that is
// longer than a party's vector may be is refused: a party that lies counts for
// no more than an honest one.
func TestMeansBodies(t *testing.T) {
	schema, pool, m, records := hospital(t, 600)
	p := testPlan(schema, pool, m)
	p.Mechanism = "means"
	bodies := contributions(t, p, pool, append(deal(records, 3), records.Select(nil)))
	sum, err := taskOf(t, p, pool).NewSum()
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
	q := statisticOf(t, p, pool)
	long := make([]int64, cells)
	long[0], long[1] = 1<<14, 1
	overlong, err := q.AppendClear(long, 1)
	if err != nil {
		t.Fatal(err)
	}
	lowest := make([]int64, cells)
	lowest[0] = -1 << 15
	below, _ := q.AppendClear(lowest, 1)
	for name, b := range map[string][]byte{"longer than the bound": overlong, "the lowest 16 bits hold": below, "short": bodies[0][2:], "nothing": nil} {
		if err := sum.Check(b); !errors.Is(err, study.ErrContribution) {
			t.Errorf("%s: have %v, want ErrContribution", name, err)
		}
	}
}

// FuzzMeansBody: what is accepted is in range and reads back as it was sent.
func FuzzMeansBody(f *testing.F) {
	schema, pool, m, records := hospital(f, 400)
	p := testPlan(schema, pool, m)
	p.Mechanism = "means"
	q := statisticOf(f, p, pool)
	f.Add(contributions(f, p, pool, deal(records, 1))[0])
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

// TestMeansForecast: a forecast is about what parties reach that all know the
// reference problem's classes, through directions of one length and the noise:
// with many classes a mean is longer than meansLength, and its length is not
// sent.
func TestMeansForecast(t *testing.T) {
	schema, pool, m, _ := hospital(t, 1500)
	p := testPlan(schema, pool, m)
	p.Mechanism, p.Epsilon, p.Schema.Label.Classes = "means", 1, nil
	for k := range 10 {
		p.Schema.Label.Classes = append(p.Schema.Label.Classes, fmt.Sprint(k))
	}
	const parties = 30
	f, err := study.ForecastOf(taskOf(t, p, pool), study.Size{Parties: parties})
	if err != nil {
		t.Fatal(err)
	}
	q := statisticOf(t, p, pool)
	noise, err := q.Noise(parties, 1)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := q.Terms(parties)
	if err != nil {
		t.Fatal(err)
	}
	design, r, rng := aggregation.NewMeansDesign(pool.X, pool.Weight, 10), aggregation.NewReference(pool, 10, p.Lambda), rand.New(rand.NewPCG(1, 1))
	y := make([]int, r.X.RawMatrix().Rows)
	for i := range y {
		for u := rng.Float64(); y[i] < 9 && u >= r.P.At(i, y[i]); y[i]++ {
			u -= r.P.At(i, y[i])
		}
	}
	direction := design.Direction(r.X, y)
	sd, reached := math.Sqrt(privacy.VarianceOf(terms.Mechanism, terms.Bound, 0, len(direction))), 0.
	for range 4 {
		sum := make([]float64, len(direction))
		for i, v := range direction {
			sum[i] = parties*float64(v) + sd*rng.NormFloat64()
		}
		mu, err := design.Mu(sum, parties)
		if err != nil {
			t.Fatal(err)
		}
		reached += r.AccuracyOf(mu, noise, 0) / 4
	}
	t.Logf("forecast %.3f, reached %.3f, largest class %.3f", f.Accuracy, reached, f.Majority)
	if f.Useful || f.Accuracy > reached+.1 {
		t.Errorf("forecast %.3f (useful: %t), reached %.3f where the largest class has %.3f", f.Accuracy, f.Useful, reached, f.Majority)
	}
}
