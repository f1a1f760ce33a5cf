package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// Draw returns a new answer about neighbour 0 or 1. nil stands for a refusal, which counts as an
// answer.
type Draw func(neighbour int) []float64

// IntegerDraw makes a Draw of integer answers, which are exact up to 2⁵³.
func IntegerDraw(draw func(neighbour int) []int64) Draw {
	return func(neighbour int) []float64 {
		var out []float64
		for _, v := range draw(neighbour) {
			out = append(out, float64(v))
		}
		return out
	}
}

// Audit measures how well answers about two neighbours can be told apart, without knowing the
// mechanism. For each of many views of an answer it learns an event E from one half of the samples
// and counts E on the other half. As P₀[E] ≤ e^ε·P₁[E] + δ, and the same with the two exchanged,
//
//	ε ≥ log((p − δ)/q),  p a lower bound on P₀[E], q an upper one on P₁[E].
//
// The views are: each number, exactly and in bins; the position of its lowest set bit, which
// reveals floating point; the sum; the direction between the data sets' means; the Laplace and the
// Euclidean privacy loss between these means; the difference or sum of two numbers, if its variance
// is below half that of independent numbers; and the whole answer.
//
// False alarms. Given the first half, the events are fixed and the counts of the second half are
// binomial. Each of the 2E bounds (p and q for each of E events) is Clopper & Pearson's (1934) at
// level FalseAlarm/(2E). So with probability 1−FalseAlarm all of them hold, and then so does every
// ε. A mechanism that is (ε,δ)-private is found to exceed ε with probability at most FalseAlarm,
// whatever was learnt.
type Audit struct {
	Samples    int     // answers about each data set
	Delta      float64 // δ at which ε is bounded
	FalseAlarm float64 // probability that the bound is wrong
}

// Default returns an audit with a false-alarm rate of 10⁻¹⁰.
func Default() Audit { return Audit{Samples: 40_000, FalseAlarm: 1e-10} }

// Validate requires 100 to 2³⁰ samples, 0 ≤ Delta < 1 and 0 < FalseAlarm < 1.
func (a Audit) Validate() error {
	switch {
	case a.Samples < 100 || a.Samples > 1<<30:
		return fmt.Errorf("check audit: %d samples, give 100 to 2^30", a.Samples)
	case !(a.Delta >= 0 && a.Delta < 1):
		return fmt.Errorf("check audit: delta is %v, give 0 to below 1", a.Delta)
	case !(a.FalseAlarm > 0 && a.FalseAlarm < 1):
		return fmt.Errorf("check audit: the false-alarm rate is %v, give one above 0 and below 1", a.FalseAlarm)
	}
	return nil
}

// LowerBound is an audit's result: with probability at least 1−FalseAlarm, no (ε,δ) guarantee holds
// with a smaller ε. Events counts the events tried.
type LowerBound struct {
	Epsilon float64 `json:"epsilon"` // lower bound on ε at Delta; 0 if nothing was found
	Delta   float64 `json:"delta"`
	// Event describes what tells the two data sets apart best. Of Tested answers about each data
	// set, EventCount show the event for the data set that favours it, and OtherCount for the
	// other.
	Event      string `json:"event"`
	EventCount int    `json:"likely"`
	OtherCount int    `json:"other"`
	Tested     int    `json:"tested"`
	Events     int    `json:"events"`
}

// Exceeds reports whether the bound refutes a claimed ε at its δ.
func (l LowerBound) Exceeds(epsilon float64) bool { return l.Epsilon > epsilon }

// Most runs the audit repeats times and returns the largest bound. The probability of a false alarm
// is up to repeats times FalseAlarm.
func (a Audit) Most(ctx context.Context, repeats int, draw Draw) (LowerBound, error) {
	most := LowerBound{Delta: a.Delta}
	for range repeats {
		if err := ctx.Err(); err != nil {
			return most, err
		}
		f, err := a.Run(draw)
		if err != nil {
			return most, err
		}
		if f.Epsilon >= most.Epsilon {
			most = f
		}
	}
	return most, nil
}

// Run draws Samples answers about each data set and bounds ε. It fails only on invalid parameters.
func (a Audit) Run(draw Draw) (LowerBound, error) {
	if err := a.Validate(); err != nil {
		return LowerBound{}, err
	}
	half := a.Samples / 2
	var learn, test [2][][]float64
	for side := range 2 {
		for range half {
			learn[side] = append(learn[side], draw(side))
			test[side] = append(test[side], draw(side))
		}
	}
	views := viewsOf(learn)
	f := LowerBound{Delta: a.Delta, Tested: half, Events: 2 * len(views)}
	level := a.FalseAlarm / float64(2*f.Events)
	for _, v := range views {
		seen := v.count(learn)
		for side := range 2 {
			e := a.learn(seen, side, half, level)
			var hits [2]int
			for s := range 2 {
				for _, x := range test[s] {
					if e[v.cell(x)] {
						hits[s]++
					}
				}
			}
			likely, other := hits[side], hits[1-side]
			bound := math.Log((leastShare(likely, half, level) - a.Delta) / mostShare(other, half,
				level))
			if bound > f.Epsilon {
				f.Epsilon, f.EventCount, f.OtherCount = bound, likely, other
				f.Event = fmt.Sprintf("%s, more likely on data set %d", v.name, side)
			}
		}
	}
	return f, nil
}

// learn returns an event: the values in seen whose counts favour data set side most, as many values
// as give the largest bound on the learning half.
func (a Audit) learn(seen map[uint64][2]int, side, n int, level float64) map[uint64]bool {
	type cell struct {
		key   uint64
		ratio float64
	}
	cells := make([]cell, 0, len(seen))
	for k, c := range seen {
		cells = append(cells, cell{k, (float64(c[side]) + 0.5) / (float64(c[1-side]) + 0.5)})
	}
	slices.SortFunc(cells, func(x, y cell) int {
		return cmp.Or(cmp.Compare(y.ratio, x.ratio), cmp.Compare(x.key, y.key))
	})
	z := math.Sqrt(-2 * math.Log(level)) // near the normal quantile of level
	best, at, hits := math.Inf(-1), 0, [2]int{}
	for i, c := range cells {
		for s := range 2 {
			hits[s] += seen[c.key][s]
		}
		low, _ := wilson(hits[side], n, z)
		_, high := wilson(hits[1-side], n, z)
		if score := math.Log(max(low-a.Delta, 1e-300) / high); score > best {
			best, at = score, i+1
		}
	}
	event := make(map[uint64]bool, at)
	for _, c := range cells[:at] {
		event[c.key] = true
	}
	return event
}

// wilson returns Wilson's approximate interval after k successes of n. It affects only the choice
// of events.
func wilson(k, n int, z float64) (low, high float64) {
	x, m, zz := float64(k), float64(n), z*z
	middle, half := x+zz/2, z*math.Sqrt(x*(1-x/m)+zz/4)
	return max(0, middle-half) / (m + zz), min(m+zz, middle+half) / (m + zz)
}
