package validation

import "math"

// Histogram holds the released counts of records by bin: of the class, and of all other classes.
type Histogram struct {
	Positive, Negative []float64
	// Noise is the variance of the noise on each count.
	Noise float64
	// ForPopulation reports that intervals are for the records' population, else for these records.
	ForPopulation bool
}

func (h Histogram) totals() (positive, negative float64) {
	for b, p := range h.Positive {
		positive += p
		negative += h.Negative[b]
	}
	return positive, negative
}

func (h Histogram) scatter(n float64) float64 {
	if h.ForPopulation {
		return h.Noise + math.Max(n, 0)
	}
	return h.Noise
}

// drowned returns the reason why a histogram gives no rates, or "".
func (h Histogram) drowned() string {
	p, n := h.totals()
	noise := math.Sqrt(h.Noise * float64(len(h.Positive)))
	switch least := max(leastSignal*noise, 0.5); {
	case p < least && n < least:
		return "both classes have fewer records than four standard deviations of their noise"
	case p < least:
		return "records of the class are fewer than four standard deviations of their noise"
	case n < least:
		return "records of other classes are fewer than four standard deviations of their noise"
	}
	return ""
}

func (h Histogram) count(of func(b int) (positive, negative float64)) Number {
	var n Number
	cells := 0.0
	for b := range h.Positive {
		p, q := of(b)
		n.Value += p*h.Positive[b] + q*h.Negative[b]
		cells += p*p + q*q
	}
	n.NoiseSD = math.Sqrt(cells * h.Noise)
	n.SD, n.Low, n.High = n.NoiseSD, n.Value-z95*n.NoiseSD, n.Value+z95*n.NoiseSD
	return n
}

// ratio estimates Σ c·count / Σ d·count. of returns the weights c, d of a bin's two counts.
//
// With x = Σ c·count and y = Σ d·count over independent counts with variance s², Var(x − θy) = Σ
// s²(c − θd)². The interval is Fieller's.
func (h Histogram) ratio(of func(b int) (c, d [2]float64)) Number {
	var x, y, vxx, vxy, vyy, dd float64
	for b := range h.Positive {
		c, d := of(b)
		for k, n := range [2]float64{h.Positive[b], h.Negative[b]} {
			s := h.scatter(n)
			x, y = x+c[k]*n, y+d[k]*n
			vxx, vxy, vyy = vxx+s*c[k]*c[k], vxy+s*c[k]*d[k], vyy+s*d[k]*d[k]
			dd += d[k] * d[k]
		}
	}
	if y < max(leastSignal*math.Sqrt(h.Noise*dd), 0.5) {
		return unknown("the records that it is a share of are fewer than four standard deviations of their noise")
	}
	out := Number{Value: x / y}
	var ok bool
	if out.Low, out.High, ok = fieller(x, y, vxx, vxy, vyy); !ok {
		return unknown("noise leaves it open")
	}
	var noise float64
	for b := range h.Positive {
		c, d := of(b)
		for k := range 2 {
			noise += h.Noise * (c[k] - out.Value*d[k]) * (c[k] - out.Value*d[k])
		}
	}
	out.SD, out.NoiseSD = math.Sqrt(math.Max(0, vxx-2*out.Value*vxy+out.Value*out.Value*vyy))/y,
		math.Sqrt(noise)/y
	return out
}
