package learners

import (
	"fmt"
	"math"
	"strings"
)

// Loss is a margin loss ℓ(z), z = y·s for a label y in {−1, +1} and a score s. It is symmetric if
// ℓ(z) + ℓ(−z) is constant. Then labels flipped with equal probability change the risk only by a
// factor and a constant, so its minimiser is robust to them (Ghosh, Manwani & Sastry 2015;
// Charoenphakdee, Lee & Sugiyama 2019, the source of these names and forms).
type Loss struct {
	name   string
	value  func(z float64) float64
	slope  func(z float64) float64
	reach  float64
	convex bool
	pieces *pieces // not nil if ℓ is piecewise linear
	square bool    // ℓ(z) = (1−z)²
	link   *link   // not nil if ℓ is proper
}

// Name is one of LossNames, as plans spell it.
func (l Loss) Name() string { return l.name }

// Value returns ℓ(z) exactly, with its kinks. Risks use Loss.Smooth instead.
func (l Loss) Value(z float64) float64 { return l.value(z) }

// Slope returns ℓ′(z); at a kink, the slope to its right.
func (l Loss) Slope(z float64) float64 { return l.slope(z) }

// Symmetric reports whether ℓ(z) + ℓ(−z) is constant for |z| ≤ Reach.
func (l Loss) Symmetric() bool { return l.reach > 0 }

// SymmetricReach returns the largest |z| up to which ℓ is symmetric: +Inf if it is everywhere, 0 if
// it is nowhere.
func (l Loss) SymmetricReach() float64 { return l.reach }

// Convex reports whether ℓ is convex on the whole line. Otherwise a minimiser of its risk may be a
// local one.
func (l Loss) Convex() bool { return l.convex }

// BarrierParameters holds the two numbers of the barrier hinge loss (Charoenphakdee, Lee & Sugiyama
// 2019).
type BarrierParameters struct {
	Slope float64 // b > 1, the slope of the loss beyond the width
	Width float64 // r > 0: for |z| ≤ r the loss is r−z, and symmetric
}

// DefaultBarrier returns b = 200, r = 50, as in the experiments of Charoenphakdee, Lee & Sugiyama
// 2019.
func DefaultBarrier() BarrierParameters { return BarrierParameters{Slope: 200, Width: 50} }

// BarrierHinge returns ℓ(z) = max(−b(r+z)+r, max(b(z−r), r−z)): convex, and symmetric over as wide
// a range as a convex loss bounded below can be.
func BarrierHinge(p BarrierParameters) Loss {
	b, r := p.Slope, p.Width
	left := -b * r / (b - 1) // where −b(r+z)+r meets r−z, just beyond −r
	return Loss{
		name: "barrier-hinge",
		value: func(z float64) float64 {
			return math.Max(-b*(r+z)+r, math.Max(b*(z-r), r-z))
		},
		slope: func(z float64) float64 {
			switch {
			case z < left:
				return -b
			case z < r:
				return -1
			default:
				return b
			}
		},
		reach:  r,
		convex: true,
		pieces: &pieces{
			level: r - b*r, slope: -b, kinks: []kink{{at: left, turn: b - 1}, {at: r, turn: b + 1}},
			width: barrierSmoothing * r,
		},
	}
}

// Losses lists the losses in the order of LossNames.
func Losses() []Loss {
	everywhere := math.Inf(1)
	return []Loss{
		{name: "logistic", value: logisticLoss, slope: func(z float64) float64 { return -sigmoid(-z) }, convex: true, link: logitLink(1)},
		{name: "hinge", value: func(z float64) float64 {
			return math.Max(0, 1-z)
		}, slope: hingeSlope, convex: true,
			pieces: &pieces{level: 1, slope: -1, kinks: []kink{{at: 1, turn: 1}},
				width: DefaultSmoothing}},
		{name: "squared", value: func(z float64) float64 { return (1 - z) * (1 - z) },
			slope: func(z float64) float64 {
				return 2 * (z - 1)
			}, convex: true, square: true, link: identityLink()},
		{name: "savage", value: func(z float64) float64 { p := sigmoid(-2 * z); return p * p }, slope: savageSlope, link: logitLink(2)},
		{name: "sigmoid", value: func(z float64) float64 { return sigmoid(-z) },
			slope: func(z float64) float64 { return -sigmoid(z) * sigmoid(-z) }, reach: everywhere},
		{name: "unhinged", value: func(z float64) float64 { return 1 - z },
			slope: func(float64) float64 {
				return -1
			}, reach: everywhere, convex: true, pieces: &pieces{level: 1, slope: -1}},
		{name: "ramp", value: func(z float64) float64 { return math.Max(0, math.Min(1, (1-z)/2)) },
			slope: rampSlope, reach: everywhere,
			pieces: &pieces{level: 1, kinks: []kink{{at: -1, turn: -0.5}, {at: 1, turn: 0.5}},
				width: DefaultSmoothing}},
		BarrierHinge(DefaultBarrier()),
	}
}

// LossNames returns logistic, hinge, squared, savage, sigmoid, unhinged, ramp and barrier-hinge, in
// this order.
func LossNames() []string {
	var names []string
	for _, l := range Losses() {
		names = append(names, l.name)
	}
	return names
}

// FindLoss takes one of LossNames; barrier-hinge has DefaultBarrier. The error lists the names.
func FindLoss(name string) (Loss, error) {
	for _, l := range Losses() {
		if l.name == name {
			return l, nil
		}
	}
	return Loss{}, fmt.Errorf("unknown loss %q: use one of %s", name,
		strings.Join(LossNames(), ", "))
}

// sigmoid returns 1/(1+e^−z), exact to rounding in both tails.
func sigmoid(z float64) float64 {
	e := math.Exp(-math.Abs(z))
	if z < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

func logisticLoss(z float64) float64 {
	return math.Max(-z, 0) + math.Log1p(math.Exp(-math.Abs(z)))
}

func hingeSlope(z float64) float64 {
	if z < 1 {
		return -1
	}
	return 0
}

// savageSlope returns the slope of the savage loss (1+e^{2z})⁻² of Masnadi-Shirazi & Vasconcelos
// 2009: −4p²(1−p) with p = (1+e^{2z})⁻¹.
func savageSlope(z float64) float64 {
	p := sigmoid(-2 * z)
	return -4 * p * p * sigmoid(2*z)
}

func rampSlope(z float64) float64 {
	if -1 <= z && z < 1 {
		return -0.5
	}
	return 0
}
