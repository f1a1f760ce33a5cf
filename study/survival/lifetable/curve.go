package lifetable

import (
	"math"
	"slices"

	"caucus/aggregation/validation"
)

// counts are one group's counts, exact or with noise, by interval j of time.
type counts struct {
	events   []float64 // records with the event
	censored []float64 // last seen without the event, those with a competing cause among them
	beyond   float64   // seen beyond the last edge
	columns  float64   // number of released counts that make up one of censored
	variance float64   // of the noise on a released count
}

// atRisk returns the number of records that enter each interval: sums over it and all later ones.
// Nothing is clipped, because a clipped count would move all earlier sums.
func (c counts) atRisk() []float64 {
	n, rest := make([]float64, len(c.events)), c.beyond
	for j := len(n) - 1; j >= 0; j-- {
		rest += c.events[j] + c.censored[j]
		n[j] = rest
	}
	return n
}

// hazards are the life table of a group: in interval j, exposed[j] = n − c/2 records are at risk,
// of which the share hazard[j] has the event.
type hazards struct {
	counts
	entering []float64 // records that enter
	exposed  []float64
	hazard   []float64
	logS     []float64 // ln S at the ends of the intervals, as the counts give it
	end      int       // intervals that the curve has
	zero     bool      // everybody at risk in the last interval has the event
}

// leastSignal is the least number of records that may enter an interval, in standard deviations of
// that number's noise. With fewer, the curve ends before it.
const leastSignal = 5

func newHazards(c counts) hazards {
	h := hazards{counts: c, entering: c.atRisk()}
	logS := 0.
	for j, n := range h.entering {
		cells := float64(len(h.entering)-j)*(1+c.columns) + 1
		m := n - c.censored[j]/2
		if !(n > leastSignal*math.Sqrt(cells*c.variance)) || !(n > 0) || !(m > 0) {
			break
		}
		q := c.events[j] / m
		h.exposed, h.hazard = append(h.exposed, m), append(h.hazard, q)
		if !(q < 1) {
			h.zero, h.end = true, j+1
			h.logS = append(h.logS, math.Inf(-1))
			break
		}
		logS += math.Log1p(-q)
		h.logS, h.end = append(h.logS, logS), j+1
	}
	return h
}

// known returns the number of intervals whose end has a finite ln S.
func (h hazards) known() int {
	if h.zero {
		return h.end - 1
	}
	return h.end
}

// spread returns the variances, by sampling and by noise, of Σ_J weight[J]·ln S_J over the first
// intervals.
//
// Proof note. ln S_J = Σ_{j≤J} ln(1 − d_j/m_j), m_j = n_j − c_j/2. With a = 1/(m(1−h)) and g = h·a,
// d_i enters its own term by −a_i and m_j of each j ≤ i by g_j; c_i enters m_i by half; who is
// beyond enters every m_j. So with W_j = Σ_{J≥j} weight[J] the derivatives are, for d_i,
// Σ_{j≤i} g_j·W_j − a_i·W_i; for c_i, Σ_{j≤i} g_j·W_j − ½·g_i·W_i; beyond, Σ g_j·W_j. Counts of
// intervals after the last J enter each m_j of the sum as those beyond do. Sampling is Greenwood's:
// Σ W_j²·h_j/(m_j(1−h_j)). A hazard below 0 samples like 0.
func (h hazards) spread(weight []float64) (float64, float64) {
	var sampling, noise float64
	w := slices.Clone(weight)
	for j := len(w) - 2; j >= 0; j-- {
		w[j] += w[j+1]
	}
	sum := 0.
	for j := range w {
		a := 1 / (h.exposed[j] * (1 - h.hazard[j]))
		g := h.hazard[j] * a
		sum += g * w[j]
		d, c := sum-a*w[j], sum-g*w[j]/2
		noise += d*d + h.columns*c*c
		sampling += w[j] * w[j] * max(g, 0)
	}
	later := float64(len(h.events)-len(w))*(1+h.columns) + 1
	return sampling, h.variance * (noise + later*sum*sum)
}

// z95 is the normal quantile of .975.
const z95 = 1.959963984540054

// Point is a curve at the end of an interval.
type Point struct {
	Time float64 `json:"time"`
	// Survival never rises; its interval comes from the counts as they were released.
	Survival validation.Number `json:"survival"`
	// AtRisk is the number of records that enter the interval, with noise, and Events the number
	// that have the event in it.
	AtRisk float64 `json:"at_risk"`
	Events float64 `json:"events"`
}

// points returns the curve at the ends of its intervals.
func (h hazards) points(edges []float64) []Point {
	out := []Point{}
	least := 0. // of ln S, and of its band's upper end
	for j := range h.end {
		p := Point{Time: edges[j], AtRisk: h.entering[j], Events: h.events[j]}
		if math.IsInf(h.logS[j], -1) { // the survivors of the interval before bound it
			p.Survival = validation.Number{High: 1}
			if j > 0 {
				p.Survival.High = out[j-1].Survival.High
			}
			out = append(out, p)
			break
		}
		sampling, noise := h.spread(unit(j))
		sd := math.Sqrt(sampling + noise)
		least = min(least, h.logS[j])
		s := math.Exp(least)
		p.Survival = validation.Number{
			Value: s, SD: s * sd, NoiseSD: s * math.Sqrt(noise),
			Low:  min(s, math.Exp(h.logS[j]-z95*sd)),
			High: min(1, max(s, math.Exp(h.logS[j]+z95*sd))),
		}
		out = append(out, p)
	}
	return out
}

// unit returns the weights of ln S_j alone.
func unit(j int) []float64 {
	w := make([]float64, j+1)
	w[j] = 1
	return w
}

// notReached is said of a median, and of an end of its interval, that a curve does not fall to.
const notReached = "not reached"

// median returns the time at which half have had the event: ln S is linear within an interval, and
// the curve and its band never rise. An end that the band does not reach is open. Unknown says that
// the curve does not reach a half, or that there is none. The second result is the lower end of the
// interval, also of a median that is not reached; 0 if the band does not reach a half either.
func (h hazards) median(edges []float64) (validation.Number, float64) {
	known := h.known()
	if h.end == 0 {
		return validation.Number{Unknown: "too few records"}, 0
	}
	var mid, low, high []float64
	for j := range known {
		sampling, noise := h.spread(unit(j))
		sd := z95 * math.Sqrt(sampling+noise)
		mid, low, high = append(mid, h.logS[j]), append(low, h.logS[j]-sd),
			append(high, h.logS[j]+sd)
	}
	if h.zero { // the curve falls to 0 in the last interval, at whose end at the latest half had it
		mid, low = append(mid, math.Inf(-1)), append(low, math.Inf(-1))
	}
	first, _ := crossing(low, edges)
	at, ok := crossing(mid, edges)
	if !ok {
		return validation.Number{Unknown: notReached}, first
	}
	n := validation.Number{Value: at, Low: first}
	n.High, ok = crossing(high, edges)
	n.NoHigh = !ok
	return n, first
}

// crossing returns the time at which the running minimum of ln S, linear between the ends of
// intervals, falls to ln ½.
func crossing(logS, edges []float64) (float64, bool) {
	half, last, begin := math.Log(0.5), 0., 0.
	for j, v := range logS {
		v = min(v, last)
		switch {
		case math.IsInf(v, -1):
			return edges[j], true
		case v <= half:
			return begin + (edges[j]-begin)*(half-last)/(v-last), true
		}
		last, begin = v, edges[j]
	}
	return 0, false
}

// restricted returns the mean time without the event up to the end of the curve: the area below it,
// with ln S linear within an interval.
func (h hazards) restricted(edges []float64) validation.Number {
	known := h.known()
	if known == 0 {
		return validation.Number{Unknown: "the curve has no interval"}
	}
	weight := make([]float64, known)
	var n validation.Number
	last, begin := 0., 0.
	for j := range known {
		width, v := edges[j]-begin, h.logS[j]
		area, byLast, byNext := areaBelow(last, v)
		n.Value += width * area
		if j > 0 {
			weight[j-1] += width * byLast
		}
		weight[j] += width * byNext
		last, begin = v, edges[j]
	}
	sampling, noise := h.spread(weight)
	n.SD, n.NoiseSD = math.Sqrt(sampling+noise), math.Sqrt(noise)
	n.Low, n.High = max(0, n.Value-z95*n.SD), min(begin, n.Value+z95*n.SD)
	n.Value = min(n.Value, begin)
	return n
}

// areaBelow returns ∫₀¹ e^{a+(b−a)t} dt, and its derivatives by a and b.
func areaBelow(a, b float64) (float64, float64, float64) {
	x := b - a
	if math.Abs(x) < 1e-4 { // e^a·(1 + x/2 + x²/6), in which the next term is below 1e-13
		e := math.Exp(a)
		area, byB := e*(1+x/2+x*x/6), e*(0.5+x/3)
		return area, area - byB, byB
	}
	area := (math.Exp(b) - math.Exp(a)) / x
	byB := (math.Exp(b) - area) / x
	return area, area - byB, byB
}
