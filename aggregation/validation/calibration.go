package validation

import "math"

// line is a calibration: the log-odds of the class at score z are intercept + slope·z.
type line struct {
	intercept, slope float64
	known            bool
}

type fitting struct {
	ScoreBins
	h Histogram
}

// equations returns s = Σᵦ (P(b) − n(b)·μᵦ)·(1, z̄ᵦ), which the fitted line makes 0, and its
// derivatives. Bin b has n(b) records, P(b) of the class. The pool's scores in it have mean z̄ᵦ
// and, by the line, mean probability μᵦ. s is linear in the counts, so noise leaves its mean 0 at
// the true line, even if counts are below 0.
func (f fitting) equations(a, b float64) (s [2]float64, j [2][2]float64) {
	for k, of := range f.bins {
		mu, da, db := of.at(a, b)
		n := f.h.Positive[k] + f.h.Negative[k]
		r := f.h.Positive[k] - n*mu
		s[0], s[1] = s[0]+r, s[1]+r*of.mean
		j[0][0], j[0][1] = j[0][0]+n*da, j[0][1]+n*db
		j[1][0], j[1][1] = j[1][0]+n*da*of.mean, j[1][1]+n*db*of.mean
	}
	return s, j
}

// at returns a line's mean probability over a bin's points, with derivatives by intercept and
// slope.
func (b bin) at(intercept, slope float64) (mu, da, db float64) {
	for _, p := range b.points {
		q := sigmoid(intercept + slope*p.z)
		v := p.weight * q * (1 - q)
		mu, da, db = mu+p.weight*q, da+v, db+v*p.z
	}
	return mu, da, db
}

// level returns the intercept that makes s[0] of equations zero at a given slope. Both classes have
// records, so s[0] has opposite signs at very small and very large intercepts.
func (f fitting) level(slope, start float64) float64 {
	spread := 1.0
	for _, of := range f.bins {
		spread = max(spread, math.Abs(of.mean))
	}
	low, high := -40-math.Abs(slope)*spread, 40+math.Abs(slope)*spread
	a := math.Min(math.Max(start, low), high)
	for range 60 {
		s, j := f.equations(a, slope)
		if s[0] > 0 {
			low = a
		} else {
			high = a
		}
		next := a + s[0]/j[0][0]
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-a) < 1e-10*(1+math.Abs(a)) {
			return next
		}
		a = next
	}
	return a
}

// tension returns s[1] of equations in its standard deviations, at a slope and the intercept that
// makes s[0] zero. An error of s[0] moves that intercept, and through it s[1] by kappa times as
// much, which is subtracted.
func (f fitting) tension(slope, start float64, noiseOnly bool) (t, intercept, deviation float64) {
	a := f.level(slope, start)
	s, j := f.equations(a, slope)
	kappa := j[1][0] / j[0][0]
	v := 0.0
	for k, of := range f.bins {
		mu, da, _ := of.at(a, slope)
		p, n := f.h.scatter(f.h.Positive[k]), f.h.scatter(f.h.Negative[k])
		if noiseOnly {
			p, n = f.h.Noise, f.h.Noise
		}
		at := of.mean - kappa
		v += (p*(1-mu)*(1-mu) + n*mu*mu) * at * at
		if !noiseOnly {
			d := (f.h.Positive[k] + f.h.Negative[k]) * da * slope * of.hidden() * at
			v += d * d
		}
	}
	deviation = math.Sqrt(v)
	return s[1] / deviation, a, deviation
}

// hidden returns the standard deviation of the difference between the mean scores of a bin's
// records and of its pool rows: the pool has few rows, and records may be distributed differently.
// In a bin of width w, a uniform density and one twice as high at one end as at the other have
// means w/18 apart, which is √12/18 of the uniform deviation.
func (b bin) hidden() float64 { return b.sd * math.Sqrt(1/math.Max(b.rows, 1)+12./(18*18)) }

const mostSlope = 1e3

// fit returns the line, its slope and its intercept. The interval holds the slopes with tension
// within ±z95.
func (s ScoreBins) fit(h Histogram) (line, Number, Number) {
	none := func(why string) (line, Number, Number) {
		return line{}, unknown("%s", why), unknown("%s", why)
	}
	if why := h.drowned(); why != "" {
		return none(why)
	}
	if len(s.bins) < 2 {
		return none("all scores are in one bin")
	}
	f := fitting{s, h}
	unit := s.unit() // size of a usual slope
	a, b := 0.0, unit
	solved := false
	for range 100 {
		a = f.level(b, a)
		e, j := f.equations(a, b)
		// d is the derivative of e[1] by the slope, while the intercept keeps e[0] at 0.
		d := j[1][1] - j[1][0]*j[0][1]/j[0][0]
		if !(d > 0) || math.IsInf(d, 0) {
			break
		}
		step := math.Max(-2*unit, math.Min(e[1]/d, 2*unit))
		b += step
		if math.Abs(step) < 1e-9*unit {
			solved = true
			break
		}
		if math.Abs(b) > mostSlope*unit {
			break
		}
	}
	if !solved {
		return none("noise leaves it open")
	}
	a = f.level(b, a)
	_, j := f.equations(a, b)
	det := j[1][1] - j[1][0]*j[0][1]/j[0][0]
	_, _, all := f.tension(b, a, false)
	_, _, noise := f.tension(b, a, true)
	slope := Number{Value: b, SD: all / det, NoiseSD: noise / det}
	slope.Low, slope.High = slope.Value, slope.Value
	if all > 0 {
		var closed [2]bool
		slope.Low, closed[0] = f.end(b, a, -slope.SD, unit)
		slope.High, closed[1] = f.end(b, a, slope.SD, unit)
		slope.NoLow, slope.NoHigh = !closed[0], !closed[1]
		if !slope.Bounded() {
			return line{a, b, true}, slope, unknown("noise leaves the slope open")
		}
	}
	return line{a, b, true}, slope, f.intercept(a, b)
}

// unit returns 1 for log-odds, otherwise one over the scatter of the pool's scores.
func (s ScoreBins) unit() float64 {
	if s.LogOdds {
		return 1
	}
	low, high := s.bins[0].mean, s.bins[len(s.bins)-1].mean
	if !(high > low) {
		return 1
	}
	return 4 / (high - low)
}

// end returns one end of the slope's interval. It takes growing steps until tension exceeds z95,
// then bisects.
func (f fitting) end(b, a, step, unit float64) (float64, bool) {
	inside, outside := b, b
	for range 40 {
		outside += step
		if math.Abs(outside-b) > mostSlope*unit {
			return 0, false
		}
		t, at, _ := f.tension(outside, a, false)
		a = at
		if math.Abs(t) > z95 {
			break
		}
		inside, step = outside, step*1.5
	}
	if t, _, _ := f.tension(outside, a, false); !(math.Abs(t) > z95) {
		return 0, false
	}
	for range 40 {
		mid := (inside + outside) / 2
		t, at, _ := f.tension(mid, a, false)
		a = at
		if math.Abs(t) > z95 {
			outside = mid
		} else {
			inside = mid
		}
		if math.Abs(outside-inside) < 1e-9*unit {
			break
		}
	}
	return outside, true
}

// intercept returns the line's intercept. Its deviation is a sandwich estimate, from the errors of
// s and the derivatives of s (method equations).
func (f fitting) intercept(a, b float64) Number {
	_, j := f.equations(a, b)
	det := j[0][0]*j[1][1] - j[0][1]*j[1][0]
	of := func(noiseOnly bool) float64 {
		v := 0.0
		for k, bin := range f.bins {
			mu, da, _ := bin.at(a, b)
			p, n := f.h.scatter(f.h.Positive[k]), f.h.scatter(f.h.Negative[k])
			if noiseOnly {
				p, n = f.h.Noise, f.h.Noise
			}
			g := (j[1][1] - j[0][1]*bin.mean) / det
			v += (p*(1-mu)*(1-mu) + n*mu*mu) * g * g
			if !noiseOnly {
				d := (f.h.Positive[k] + f.h.Negative[k]) * da * b * bin.hidden() * g
				v += d * d
			}
		}
		return math.Sqrt(v)
	}
	out := Number{Value: a, SD: of(false), NoiseSD: of(true)}
	out.Low, out.High = a-z95*out.SD, a+z95*out.SD
	return out
}

// inTheLarge returns the intercept at slope 1: above 0 if the class is more frequent than the
// scores predict.
func (s ScoreBins) inTheLarge(h Histogram) Number {
	if why := h.drowned(); why != "" {
		return unknown("%s", why)
	}
	f := fitting{s, h}
	a := f.level(1, 0)
	_, j := f.equations(a, 1)
	var all, noise float64
	for k, of := range s.bins {
		mu, da, _ := of.at(a, 1)
		d := (h.Positive[k] + h.Negative[k]) * da * of.hidden()
		all += h.scatter(h.Positive[k])*(1-mu)*(1-mu) + h.scatter(h.Negative[k])*mu*mu + d*d
		noise += h.Noise * ((1-mu)*(1-mu) + mu*mu)
	}
	if !(j[0][0] > 0) {
		return unknown("noise leaves it open")
	}
	out := Number{Value: a, SD: math.Sqrt(all) / j[0][0], NoiseSD: math.Sqrt(noise) / j[0][0]}
	out.Low, out.High = a-z95*out.SD, a+z95*out.SD
	return out
}
