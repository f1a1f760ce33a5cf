package lifetable

import (
	"math"

	"caucus/aggregation/validation"
)

// shared returns the number of intervals in which both groups have a curve above 0.
func shared(a, b hazards) int { return min(a.known(), b.known()) }

// hazardRatio returns the ratio of b's hazard to a's, an average over the intervals: with
// q = −ln(1 − h), Σ w·q_b / Σ w·q_a, weighted by w = m_a·m_b/(m_a + m_b).
//
// Proof note of its noise. Let H = Σ w·q of a group, and s = +1 for b, −1 for a. A count of events
// enters its own q by s·w·a/H, a = 1/(m(1−h)). Each m_j enters through both weights, with
// ∂w/∂m_a = (m_b/(m_a+m_b))², by (q_b/H_b − q_a/H_a)·∂w/∂m, and through its own q by −s·w·g/H,
// g = h·a. Counts enter m as in hazards.spread. Sampling is Σ w²·h/(m(1−h))/H² of each group.
func hazardRatio(a, b hazards) validation.Number {
	known := shared(a, b)
	if known == 0 {
		return validation.Number{Unknown: "the groups share no interval that somebody survives"}
	}
	var weight [2][]float64 // ∂w/∂m of each group
	var w []float64
	groups, total := [2]hazards{a, b}, [2]float64{}
	for j := range known {
		x, y := a.exposed[j], b.exposed[j]
		w = append(w, x*y/(x+y))
		weight[0] = append(weight[0], y*y/((x+y)*(x+y)))
		weight[1] = append(weight[1], x*x/((x+y)*(x+y)))
		for g, of := range groups {
			total[g] -= w[j] * math.Log1p(-of.hazard[j])
		}
	}
	if !(total[0] > 0 && total[1] > 0) {
		return validation.Number{Unknown: "noise leaves no events in a group"}
	}
	sampling, noise := 0., 0.
	for g, of := range groups {
		sign := float64(2*g - 1)
		direct, byExposed := make([]float64, known), make([]float64, known)
		for j := range known {
			each := 1 / (of.exposed[j] * (1 - of.hazard[j]))
			relative := -math.Log1p(-b.hazard[j])/total[1] + math.Log1p(-a.hazard[j])/total[0]
			direct[j] = sign * w[j] * each / total[g]
			byExposed[j] = relative*weight[g][j] - sign*w[j]*of.hazard[j]*each/total[g]
			sampling += w[j] * w[j] * max(of.hazard[j], 0) * each / (total[g] * total[g])
		}
		noise += of.noiseOf(direct, byExposed)
	}
	log, sd := math.Log(total[1]/total[0]), math.Sqrt(sampling+noise)
	if !(z95*sd < mostLog) {
		return validation.Number{Unknown: "noise leaves it open"}
	}
	ratio := math.Exp(log)
	return validation.Number{Value: ratio, SD: ratio * sd, NoiseSD: ratio * math.Sqrt(noise),
		Low: math.Exp(log - z95*sd), High: math.Exp(log + z95*sd)}
}

// mostLog is the half width of a logarithm's interval above which a ratio is not shown: ratios
// from a hundredth to a hundred times then fit.
const mostLog = 4.6

// noiseOf returns the variance, by noise, of a number whose derivatives by events and by exposed
// records are given for the first intervals.
func (h hazards) noiseOf(direct, byExposed []float64) float64 {
	sum, squares := 0., 0.
	for j := range direct {
		sum += byExposed[j]
		d, c := sum+direct[j], sum-byExposed[j]/2
		squares += d*d + h.columns*c*c
	}
	later := float64(len(h.events)-len(direct))*(1+h.columns) + 1
	return h.variance * (squares + later*sum*sum)
}

// logRank returns the log-rank test of equal hazards: the excess of b's events over those expected
// if both had the same, in its standard deviations by sampling and noise.
func logRank(a, b hazards) (float64, bool) {
	known := min(a.end, b.end)
	excess, sampling := 0., 0.
	var direct, byExposed [2][]float64
	for j := range known {
		x, y, d := a.exposed[j], b.exposed[j], a.events[j]+b.events[j]
		m := x + y
		excess += b.events[j] - y*d/m
		if m > 1 {
			sampling += x * y * max(d, 0) * max(m-d, 0) / (m * m * (m - 1))
		}
		direct[0], direct[1] = append(direct[0], -y/m), append(direct[1], x/m)
		byExposed[0] = append(byExposed[0], y*d/(m*m))
		byExposed[1] = append(byExposed[1], -x*d/(m*m))
	}
	noise := a.noiseOf(direct[0], byExposed[0]) + b.noiseOf(direct[1], byExposed[1])
	if !(sampling+noise > 0) {
		return 0, false
	}
	return excess / math.Sqrt(sampling+noise), true
}
