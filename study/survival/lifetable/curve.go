package lifetable

import (
	"fmt"
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

// few reports whether fewer than that, or nobody, are left at the beginning of interval j, or
// beyond the last.
func (h hazards) few(j int) bool {
	n := h.beyond
	if j < len(h.entering) {
		n = h.entering[j]
	}
	cells := float64(len(h.entering)-j)*(1+h.columns) + 1
	return !(n > leastSignal*math.Sqrt(cells*h.variance))
}

func newHazards(c counts) hazards {
	h := hazards{counts: c, entering: c.atRisk()}
	logS := 0.
	for j, n := range h.entering {
		m := n - c.censored[j]/2
		if h.few(j) || !(m > 0) {
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

// points returns the curve, the share S without the event, at the ends of its intervals. The band
// is that of ln S. Where few survive, the error of S is almost normal and that of ln S is not: the
// band then begins at the low end of an interval for S itself, where this is lower.
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
		if h.few(j + 1) {
			p.Survival.Low = max(0, min(p.Survival.Low, s-z95*s*sd))
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

// median returns the time at which half have had the event, with ln S linear within an interval.
// The hazard may be uneven there, so the interval of confidence assumes only that survival never
// rises: it goes from the beginning of the interval in which the band's low end falls to a half to
// the end of the one in which the high end does. An end that the band does not reach is open.
// Unknown says that the curve does not reach a half, that it does where all at risk have the event,
// or that there is none. The second result is the lower end of the interval, also of a median that
// is unknown; 0 if the band falls to a half in the first interval or not at all.
func median(points []Point) (validation.Number, float64) {
	if len(points) == 0 {
		return validation.Number{Unknown: "too few records"}, 0
	}
	low := 0.
	if j := halved(points, func(n validation.Number) float64 { return n.Low }); j > 0 {
		low = points[j-1].Time
	}
	at := halved(points, func(n validation.Number) float64 { return n.Value })
	if at < 0 {
		return validation.Number{Unknown: notReached}, low
	}
	last, p := Point{Survival: validation.Number{Value: 1}}, points[at]
	if at > 0 {
		last = points[at-1]
	}
	if p.Survival.Value == 0 {
		return validation.Number{Unknown: fmt.Sprintf("before %.6g", p.Time)}, low
	}
	from := math.Log(last.Survival.Value)
	share := (from - math.Log(0.5)) / (from - math.Log(p.Survival.Value))
	n := validation.Number{Low: low, Value: last.Time + share*(p.Time-last.Time)}
	if j := halved(points, func(n validation.Number) float64 { return n.High }); j >= 0 {
		n.High = points[j].Time
	} else {
		n.NoHigh = true
	}
	return n, low
}

// halved returns the first interval at whose end a curve, or an end of its band, is at most a half,
// −1 without one.
func halved(points []Point, of func(validation.Number) float64) int {
	return slices.IndexFunc(points, func(p Point) bool { return of(p.Survival) <= 0.5 })
}

// restricted returns the mean time without the event up to the end of the curve: the area below it,
// with ln S linear within an interval. The interval of confidence assumes only that survival never
// rises: it goes from the low end of the area below the steps at the intervals' ends to the high
// end of that below the steps at their beginnings. Its standard deviation is that of the value.
func (h hazards) restricted(edges []float64) validation.Number {
	known := h.known()
	switch {
	case h.end == 0:
		return validation.Number{Unknown: "too few records"}
	case known == 0:
		return validation.Number{Unknown: "all have the event in the first interval"}
	}
	weight, ends, begins := make([]float64, known), make([]float64, known), make([]float64, known)
	var n validation.Number
	last, begin := 0., 0.
	for j := range known {
		width, v := edges[j]-begin, h.logS[j]
		area, byLast, byNext := areaBelow(last, v)
		n.Value += width * area
		ends[j] = width * math.Exp(v)
		n.Low += ends[j]
		n.High += width * math.Exp(last)
		if j > 0 {
			weight[j-1] += width * byLast
			begins[j-1] = width * math.Exp(last)
		}
		weight[j] += width * byNext
		last, begin = v, edges[j]
	}
	sampling, noise := h.spread(weight)
	n.SD, n.NoiseSD = math.Sqrt(sampling+noise), math.Sqrt(noise)
	n.Value = min(n.Value, begin)
	n.Low = min(n.Value, max(0, n.Low-z95*h.deviation(ends)))
	n.High = max(n.Value, min(begin, n.High+z95*h.deviation(begins)))
	return n
}

// deviation returns the standard deviation of such a sum as spread takes.
func (h hazards) deviation(weight []float64) float64 {
	sampling, noise := h.spread(weight)
	return math.Sqrt(sampling + noise)
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
