package validation

import (
	"fmt"
	"math"
)

// Number is an estimate with its uncertainty, or the reason why there is none.
type Number struct {
	Value float64 `json:"value"`
	// SD is the standard deviation of all uncertainty, NoiseSD of the noise alone.
	SD      float64 `json:"sd"`
	NoiseSD float64 `json:"noise_sd"`
	// Low and High are a 95 % interval. With NoLow or NoHigh, noise leaves that side open, and the
	// end is 0.
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	NoLow  bool    `json:"no_low,omitempty"`
	NoHigh bool    `json:"no_high,omitempty"`
	// Unknown gives the reason why there is no number; all other fields are then 0.
	Unknown string `json:"unknown,omitempty"`
}

func unknown(format string, args ...any) Number {
	return Number{Unknown: fmt.Sprintf(format, args...)}
}

// Known reports whether there is a value; if not, Unknown gives the reason.
func (n Number) Known() bool { return n.Unknown == "" }

// Covers reports whether v lies in the closed interval, of which an open side reaches to infinity.
// An unknown number covers nothing.
func (n Number) Covers(v float64) bool {
	return n.Known() && (n.NoLow || n.Low <= v) && (n.NoHigh || v <= n.High)
}

// Bounded reports whether there is a number whose interval has both ends.
func (n Number) Bounded() bool { return n.Known() && !n.NoLow && !n.NoHigh }

// Interval writes the 95 % interval with so many digits after the point: "a to b", "b or less", "a
// or more", "any" with both sides open, "" for an unknown number.
func (n Number) Interval(digits int) string {
	switch {
	case !n.Known():
		return ""
	case n.NoLow && n.NoHigh:
		return "any"
	case n.NoLow:
		return fmt.Sprintf("%.*f or less", digits, n.High)
	case n.NoHigh:
		return fmt.Sprintf("%.*f or more", digits, n.Low)
	}
	return fmt.Sprintf("%.*f to %.*f", digits, n.Low, digits, n.High)
}

// Words writes "value (interval)" with so many digits after the point, or "unknown" without the
// reason.
func (n Number) Words(digits int) string {
	if !n.Known() {
		return "unknown"
	}
	return fmt.Sprintf("%.*f (%s)", digits, n.Value, n.Interval(digits))
}

// Ends returns the interval of a share. An open side ends at 0 or 1.
func (n Number) Ends() (low, high float64) {
	if low, high = math.Max(n.Low, 0), math.Min(n.High, 1); n.NoLow {
		low = 0
	}
	if n.NoHigh {
		high = 1
	}
	return low, high
}

// finite returns an unknown number if a field is not finite, which happens after a division by
// almost 0. JSON cannot hold infinities.
func (n Number) finite() Number {
	for _, v := range []float64{n.Value, n.SD, n.NoiseSD, n.Low, n.High} {
		if v-v != 0 {
			return unknown("noise leaves it open")
		}
	}
	return n
}

// z95 is the normal quantile of .975.
const z95 = 1.959963984540054

const (
	// leastSignal is the least total that may be a denominator, in standard deviations of its
	// noise.
	leastSignal = 4
	// mostAUCSD is the largest standard deviation of an AUC. With a larger one the AUC is reported
	// as unknown.
	mostAUCSD = 0.1
)

func (n Number) widen(sd float64) Number {
	if !n.Known() || sd == 0 {
		return n
	}
	old := n.SD
	n.SD = math.Hypot(n.SD, sd)
	if old > 0 {
		n.Low, n.High = n.Value-(n.Value-n.Low)*n.SD/old, n.Value+(n.High-n.Value)*n.SD/old
	} else {
		n.Low, n.High = n.Value-z95*sd, n.Value+z95*sd
	}
	return n
}

func (n Number) within(low, high float64) Number {
	clip := func(v float64) float64 { return math.Min(math.Max(v, low), high) }
	n.Value, n.Low, n.High = clip(n.Value), clip(n.Low), clip(n.High)
	return n
}

// fieller returns Fieller's interval: all θ with (x − θy)² ≤ z²(vxx − 2θvxy + θ²vyy).
func fieller(x, y, vxx, vxy, vyy float64) (low, high float64, ok bool) {
	const z2 = z95 * z95
	a, b, c := y*y-z2*vyy, x*y-z2*vxy, x*x-z2*vxx
	d := b*b - a*c
	if !(a > 0) {
		return 0, 0, false // the interval is unbounded
	}
	d = math.Sqrt(math.Max(d, 0)) // x/y is in the interval, so d is below 0 only by rounding
	return (b - d) / a, (b + d) / a, true
}
