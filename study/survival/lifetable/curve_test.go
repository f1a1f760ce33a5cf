package lifetable

import (
	"math"
	"testing"
)

var smooth = counts{
	events: []float64{30, 20, 25, 10, 12}, censored: []float64{8, 12, 9, 20, 15}, beyond: 140,
	columns: 2, variance: 3,
}

var other = counts{
	events: []float64{45, 30, 31, 22, 9}, censored: []float64{5, 14, 8, 12, 15}, beyond: 60,
	columns: 2, variance: 3,
}

// derivatives returns Σ (∂f/∂cell)² over all released counts of c, by differences.
func derivatives(c counts, f func(counts) float64) (squares float64) {
	const step = 1e-4
	by := func(cell func(*counts) *float64) float64 {
		var v [2]float64
		for k, off := range []float64{-step, step} {
			d := c
			d.events = append([]float64{}, c.events...)
			d.censored = append([]float64{}, c.censored...)
			*cell(&d) += off
			v[k] = f(d)
		}
		return (v[1] - v[0]) / (2 * step)
	}
	for j := range c.events {
		d := by(func(c *counts) *float64 { return &c.events[j] })
		x := by(func(c *counts) *float64 { return &c.censored[j] })
		squares += d*d + c.columns*x*x
	}
	d := by(func(c *counts) *float64 { return &c.beyond })
	return squares + d*d
}

// TestNoiseByGradient: the noise of each number is the noise on a count times the number's
// derivatives by every count, which differences give without any formula.
func TestNoiseByGradient(t *testing.T) {
	edges := []float64{1, 2, 3.5, 5, 6}
	h := newHazards(smooth)
	if h.end != 5 || h.zero {
		t.Fatalf("the curve has %d intervals", h.end)
	}
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: variance %.9g by the formula, %.9g by differences", name, got, want)
		}
	}
	for j, p := range h.points(edges) {
		want := smooth.variance * derivatives(smooth, func(c counts) float64 {
			return newHazards(c).logS[j]
		})
		near("ln S", math.Pow(p.Survival.NoiseSD/p.Survival.Value, 2), want)
	}
	r := h.restricted(edges)
	near("restricted mean", r.NoiseSD*r.NoiseSD, smooth.variance*derivatives(smooth,
		func(c counts) float64 { return newHazards(c).restricted(edges).Value }))
	b := newHazards(other)
	ratio := hazardRatio(h, b)
	near("hazard ratio", math.Pow(ratio.NoiseSD/ratio.Value, 2),
		smooth.variance*derivatives(smooth, func(c counts) float64 {
			return math.Log(hazardRatio(newHazards(c), b).Value)
		})+other.variance*derivatives(other, func(c counts) float64 {
			return math.Log(hazardRatio(h, newHazards(c)).Value)
		}))
}

// TestLogRankNoise: the test's excess of events has the noise that differences give.
func TestLogRankNoise(t *testing.T) {
	excess := func(a, b hazards) (u float64) {
		for j := range shared(a, b) {
			u += b.events[j] - b.exposed[j]*(a.events[j]+b.events[j])/(a.exposed[j]+b.exposed[j])
		}
		return u
	}
	a, b := newHazards(smooth), newHazards(other)
	noise := smooth.variance*derivatives(smooth, func(c counts) float64 {
		return excess(newHazards(c), b)
	}) + other.variance*derivatives(other, func(c counts) float64 {
		return excess(a, newHazards(c))
	})
	with, _ := logRank(a, b)
	exact, exactOther := smooth, other
	exact.variance, exactOther.variance = 0, 0
	without, _ := logRank(newHazards(exact), newHazards(exactOther))
	u := excess(a, b)
	if got, want := (u/with)*(u/with)-(u/without)*(u/without),
		noise; math.Abs(got-want) > 1e-6*want {
		t.Errorf("variance by noise %.9g, by differences %.9g", got, want)
	}
}

// TestEdgesOfLife: nobody has the event, all have it at once, and nobody is there.
func TestEdgesOfLife(t *testing.T) {
	edges := []float64{1, 2}
	none := newHazards(counts{events: []float64{0, 0}, censored: []float64{3, 4}, beyond: 5,
		columns: 1})
	if p := none.points(edges); len(p) != 2 || p[1].Survival.Value != 1 || p[1].Survival.Low != 1 {
		t.Errorf("nobody has the event: %+v", p)
	}
	if m, _ := median(none.points(edges)); m.Unknown != "not reached" {
		t.Errorf("nobody has the event: median %+v", m)
	}
	all := newHazards(counts{events: []float64{7, 0}, censored: []float64{0, 0}, columns: 1})
	if p := all.points(edges); len(p) != 1 || p[0].Survival.Value != 0 {
		t.Errorf("all have the event at once: %+v", p)
	}
	if m, low := median(all.points(edges)); m.Unknown != "before 1" || low != 0 {
		t.Errorf("all have the event at once: median %+v from %g", m, low)
	}
	if r := all.restricted(edges); r.Unknown != "all have the event in the first interval" {
		t.Errorf("all have the event at once: restricted mean %+v", r)
	}
	up := newHazards(counts{events: []float64{-40, 2}, censored: []float64{0, 0}, beyond: 200,
		columns: 1, variance: 8})
	if r := up.restricted(edges); !(r.Low <= r.Value && r.Value <= r.High && r.High <= 2) {
		t.Errorf("noise makes the curve rise: restricted mean %+v", r)
	}
	empty := newHazards(counts{events: []float64{0, 0}, censored: []float64{0, 0}, columns: 1})
	if p := empty.points(edges); len(p) != 0 {
		t.Errorf("nobody is there: %+v", p)
	}
	if r := empty.restricted(edges); r.Known() {
		t.Errorf("nobody is there: restricted mean %+v", r)
	}
	if r := hazardRatio(none, empty); r.Known() {
		t.Errorf("nobody is there: hazard ratio %+v", r)
	}
}

// TestNothingIsClipped: counts that noise made negative enter all sums as they are, so that sums of
// noise stay centred on 0; the curve that is shown never rises.
func TestNothingIsClipped(t *testing.T) {
	c := counts{events: []float64{10, -4, 6}, censored: []float64{-3, 2, -5}, beyond: 94,
		columns: 1}
	h := newHazards(c)
	for j, want := range []float64{100, 93, 95} {
		if h.entering[j] != want {
			t.Errorf("%g enter interval %d, want %g", h.entering[j], j, want)
		}
	}
	points := h.points([]float64{1, 2, 3})
	for j := 1; j < len(points); j++ {
		if points[j].Survival.Value > points[j-1].Survival.Value {
			t.Errorf("the curve rises at interval %d", j)
		}
	}
	if h.logS[1] <= h.logS[0] {
		t.Error("the counts as released do not rise: the test shows nothing")
	}
}
