package privacy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Sampler answers once about one of two neighbouring data sets, 0 or 1. Its
// answers are independent. A refusal is an answer too: nil.
type Sampler func(neighbour int) []float64

// Audit measures how well the answers about two neighbours can be told apart.
// Nothing in it knows the mechanism: it learns from one half of the samples an
// event E for each of many views of an answer, counts on the other half how
// often each happens, and concludes from P₀[E] ≤ e^ε·P₁[E] + δ, and the same
// the other way round, that
//
//	ε ≥ log((p − δ)/q),  p a lower bound on P₀[E], q an upper one on P₁[E].
//
// The views are each number, exactly and in bins; the position of its lowest
// bit that is set, by which floating point gives itself away; the sum; the
// direction in which the data sets' means differ; the Laplace and the Euclidean
// privacy loss between these means; the difference or the sum of two numbers,
// where one of them varies by less than half of what it would if the two were
// independent; and the answer as a whole.
//
// False alarms. Given the first half, the events are fixed and the counts of
// the second half binomial. Each of the 2E bounds used (p and q for each of E
// events) is Clopper & Pearson's (1934) at level FalseAlarm/(2E), so with
// probability 1−FalseAlarm all of them hold, and then so does every ε. A
// mechanism that is (ε,δ)-private is found to exceed ε with probability
// FalseAlarm at most, whatever was learnt.
//
// What it cannot do: a small bound proves nothing. It is a check on code, not a
// proof of it.
type Audit struct {
	Samples    int     // answers about each data set
	Delta      float64 // δ at which ε is bounded
	FalseAlarm float64 // probability that the bound does not hold
}

// DefaultAudit has a false-alarm rate of 10⁻¹⁰.
func DefaultAudit() Audit { return Audit{Samples: 40_000, FalseAlarm: 1e-10} }

// Validate says which field is wrong.
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

// Finding is what an audit proved.
type Finding struct {
	Epsilon float64 `json:"epsilon"` // lower bound on ε at Delta; 0 if nothing was found
	Delta   float64 `json:"delta"`
	// Event says what gave the data sets away, and how often it happened among
	// the test samples of the data set where it is likely and of the other.
	Event  string `json:"event"`
	Likely int    `json:"likely"`
	Other  int    `json:"other"`
	Tested int    `json:"tested"`
	// Events is how many were tested.
	Events int `json:"events"`
}

// Exceeds reports whether the finding refutes an ε claimed at its δ.
func (f Finding) Exceeds(epsilon float64) bool { return f.Epsilon > epsilon }

// Run draws from the sampler and bounds its ε from below. It fails on
// parameters that do not validate only.
func (a Audit) Run(sample Sampler) (Finding, error) {
	if err := a.Validate(); err != nil {
		return Finding{}, err
	}
	half := a.Samples / 2
	var learn, test [2][][]float64
	for side := range 2 {
		for range half {
			learn[side] = append(learn[side], sample(side))
			test[side] = append(test[side], sample(side))
		}
	}
	views := viewsOf(learn)
	f := Finding{Delta: a.Delta, Tested: half, Events: 2 * len(views)}
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
			bound := math.Log((leastShare(likely, half, level) - a.Delta) / mostShare(other, half, level))
			if bound > f.Epsilon {
				f.Epsilon, f.Likely, f.Other = bound, likely, other
				f.Event = fmt.Sprintf("%s, more likely on data set %d", v.name, side)
			}
		}
	}
	return f, nil
}

// learn chooses the cells that tell data set side apart best: those with the
// largest ratio of counts, as many as make the bound on the learning half
// largest.
func (a Audit) learn(seen map[uint64][2]int, side, n int, level float64) map[uint64]bool {
	type cell struct {
		key   uint64
		ratio float64
	}
	cells := make([]cell, 0, len(seen))
	for k, c := range seen {
		cells = append(cells, cell{k, (float64(c[side]) + 0.5) / (float64(c[1-side]) + 0.5)})
	}
	slices.SortFunc(cells, func(x, y cell) int { return cmp.Or(cmp.Compare(y.ratio, x.ratio), cmp.Compare(x.key, y.key)) })
	z := math.Sqrt(-2 * math.Log(level)) // about the normal quantile
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

// wilson is the interval of that name: good enough to choose events by.
func wilson(k, n int, z float64) (low, high float64) {
	x, m, zz := float64(k), float64(n), z*z
	middle, half := x+zz/2, z*math.Sqrt(x*(1-x/m)+zz/4)
	return max(0, middle-half) / (m + zz), min(m+zz, middle+half) / (m + zz)
}

// leastShare is Clopper & Pearson's lower bound on a probability of which k of
// n came true: the p at which k or more have probability level, P = I_p(k,n−k+1).
// Bisection and the error of incompleteBeta are rounded away from the claim.
func leastShare(k, n int, level float64) float64 {
	if k <= 0 {
		return 0
	}
	low, high := 0., float64(k)/float64(n)
	for range 100 {
		if p := (low + high) / 2; incompleteBeta(p, float64(k), float64(n-k+1)) <= level*(1-betaError) {
			low = p
		} else {
			high = p
		}
	}
	return low
}

// mostShare is the upper bound: that of the failures from below.
func mostShare(k, n int, level float64) float64 { return 1 - leastShare(n-k, n, level) }

// view is one way to look at an answer: it puts it into a cell.
type view struct {
	name string
	cell func([]float64) uint64
}

func (v view) count(learn [2][][]float64) map[uint64][2]int {
	seen := map[uint64][2]int{}
	for s, xs := range learn {
		for _, x := range xs {
			k := v.cell(x)
			c := seen[k]
			c[s]++
			seen[k] = c
		}
	}
	return seen
}

// mostCoordinates that are looked at one by one: those whose means differ most.
const mostCoordinates = 16

// viewsOf makes the views from the answers to learn from.
func viewsOf(learn [2][][]float64) []view {
	d := 0
	for _, xs := range learn {
		for _, x := range xs {
			d = max(d, len(x))
		}
	}
	mean, variance := meansOf(learn, d)
	weight := make([]float64, d)
	order := make([]int, d)
	for j := range d {
		order[j] = j
		if v := variance[0][j] + variance[1][j]; v > 0 {
			weight[j] = (mean[1][j] - mean[0][j]) / v
		}
	}
	apart := func(j int) float64 { return math.Abs(weight[j] * (mean[1][j] - mean[0][j])) }
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(apart(j), apart(i)) })
	views := []view{
		{"the whole answer", hashOf},
		binned("the sum", learn, func(x []float64) float64 { return dot(x, nil) }),
		binned("the direction of the means", learn, func(x []float64) float64 { return dot(x, weight) }),
		binned("the Laplace loss of the means", learn, func(x []float64) float64 {
			loss := 0.
			for j, v := range x {
				loss += math.Abs(v-mean[1][j]) - math.Abs(v-mean[0][j])
			}
			return loss
		}),
		binned("the Euclidean loss of the means", learn, func(x []float64) float64 {
			far, near := 0., 0.
			for j, v := range x {
				far, near = math.Hypot(far, v-mean[1][j]), math.Hypot(near, v-mean[0][j])
			}
			return far - near
		}),
	}
	for _, j := range order[:min(d, mostCoordinates)] {
		number := func(x []float64) float64 {
			if j >= len(x) {
				return math.NaN()
			}
			return x[j]
		}
		views = append(views,
			binned(fmt.Sprintf("number %d", j), learn, number),
			view{fmt.Sprintf("number %d exactly", j), func(x []float64) uint64 { return math.Float64bits(number(x)) }},
			view{fmt.Sprintf("the lowest bit of number %d", j), func(x []float64) uint64 { return lowestBit(number(x)) }},
		)
	}
	for _, p := range closePairs(learn, mean, d) {
		combined := func(x []float64) float64 {
			if p.j >= len(x) {
				return math.NaN()
			}
			return x[p.i] + p.sign*x[p.j]
		}
		what := map[float64]string{1: "plus", -1: "minus"}[p.sign]
		views = append(views,
			binned(fmt.Sprintf("number %d %s number %d", p.i, what, p.j), learn, combined),
			view{fmt.Sprintf("number %d %s number %d exactly", p.i, what, p.j), func(x []float64) uint64 { return math.Float64bits(combined(x)) }},
		)
	}
	return views
}

// pairOf is xᵢ + sign·xⱼ, i < j, and its variance in units of that of independent
// numbers.
type pairOf struct {
	i, j     int
	sign     float64
	variance float64
}

// mostPairs that are looked at, of all pairs of the first pairedCoordinates
// numbers, chosen by the first pairedSamples answers.
const (
	mostPairs         = 8
	pairedCoordinates = 512
	pairedSamples     = 200
)

// closePairs are those whose difference or sum varies least.
func closePairs(learn [2][][]float64, mean [2][]float64, d int) []pairOf {
	d = min(d, pairedCoordinates)
	columns, square := make([][]float64, d), make([]float64, d)
	for s, xs := range learn {
		for _, x := range xs[:min(len(xs), pairedSamples)] {
			for j := range d {
				v := 0.
				if j < len(x) {
					v = x[j] - mean[s][j]
				}
				columns[j] = append(columns[j], v)
				square[j] += v * v
			}
		}
	}
	var out []pairOf
	for i := range d {
		for j := i + 1; j < d; j++ {
			both := square[i] + square[j]
			if both == 0 {
				continue
			}
			product := dot(columns[i], columns[j]) // Σ(xᵢ ± xⱼ)² = Σxᵢ² + Σxⱼ² ± 2Σxᵢxⱼ
			if share := 1 - 2*math.Abs(product)/both; share < 0.5 {
				sign := -1.
				if product < 0 {
					sign = 1
				}
				out = append(out, pairOf{i, j, sign, share})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b pairOf) int { return cmp.Compare(a.variance, b.variance) })
	return out[:min(len(out), mostPairs)]
}

func meansOf(learn [2][][]float64, d int) (mean, variance [2][]float64) {
	for s, xs := range learn {
		mean[s], variance[s] = make([]float64, d), make([]float64, d)
		for _, x := range xs {
			for j, v := range x {
				mean[s][j] += v / float64(len(xs))
			}
		}
		for _, x := range xs {
			for j, v := range x {
				variance[s][j] += (v - mean[s][j]) * (v - mean[s][j]) / float64(len(xs))
			}
		}
	}
	return mean, variance
}

// dot is Σ wⱼxⱼ, all weights 1 where there are none.
func dot(x, w []float64) float64 {
	sum := 0.
	for j, v := range x {
		if w != nil {
			v *= w[j]
		}
		sum += v
	}
	return sum
}

// mostBins keeps the counts in each large enough to learn from.
const mostBins = 64

// binned looks at a number in bins between quantiles of what was learnt, or
// value by value where there are few.
func binned(name string, learn [2][][]float64, number func([]float64) float64) view {
	var all []float64
	for _, xs := range learn {
		for _, x := range xs {
			if v := number(x); !math.IsNaN(v) {
				all = append(all, v)
			}
		}
	}
	slices.Sort(all)
	edges := slices.Compact(slices.Clone(all))
	if len(edges) > mostBins {
		for b := range mostBins {
			edges[b] = all[b*len(all)/mostBins]
		}
		edges = slices.Compact(edges[:mostBins])
	}
	return view{name, func(x []float64) uint64 {
		v := number(x)
		if math.IsNaN(v) {
			return math.MaxUint64
		}
		at, found := slices.BinarySearch(edges, v)
		if !found {
			at-- // from edge to the next; −1 below all of them
		}
		return uint64(at + 1)
	}}
}

// lowestBit is the exponent of the largest power of two that divides x.
func lowestBit(x float64) uint64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	fraction, exponent := math.Frexp(math.Abs(x))
	for m := uint64(fraction * (1 << 53)); m&1 == 0; m >>= 1 {
		exponent++
	}
	return uint64(exponent + 1<<12)
}

// hashOf is FNV-1a over an answer's bits: two answers in one cell by accident
// make an event larger, never a bound wrong.
func hashOf(x []float64) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range x {
		for b := math.Float64bits(v); ; b >>= 8 {
			h = (h ^ b&0xff) * 1099511628211
			if b < 1<<8 {
				break
			}
		}
		h = (h ^ 0x1ff) * 1099511628211 // ends the number
	}
	return h
}
