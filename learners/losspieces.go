package learners

import "math"

// pieces is a piecewise linear loss, level + slope·z + Σ turn·max(0, z − at), with the width of the
// parabola that replaces its kinks where it is minimised.
type pieces struct {
	level, slope float64
	kinks        []kink
	width        float64
}

type kink struct{ at, turn float64 }

// barrierSmoothing is the width of the barrier hinge's parabolas in units of its r: a hundredth of
// the range where the loss is symmetric.
const barrierSmoothing = 0.02

// Smooth is the loss for a minimiser: a loss with kinks is replaced by its mean over [z − τ/2, z +
// τ/2], which turns each kink into a parabola of width τ and changes nothing else; τ is 0.5, and
// r/50 for the barrier hinge. The mean of a symmetric loss is symmetric too, up to τ/2 before its
// reach, and that of a convex loss convex. Losses without kinks are their own.
func (l Loss) Smooth() Loss {
	if l.pieces == nil || len(l.pieces.kinks) == 0 {
		return l
	}
	p := *l.pieces
	l.value = func(z float64) float64 {
		v := p.level + p.slope*z
		for _, k := range p.kinks {
			v += k.turn * softened(z-k.at, p.width)
		}
		return v
	}
	l.slope = func(z float64) float64 {
		v := p.slope
		for _, k := range p.kinks {
			v += k.turn * math.Max(0, math.Min(1, (z-k.at)/p.width+0.5))
		}
		return v
	}
	l.reach = math.Max(0, l.reach-p.width/2)
	return l
}

// softened is the mean of max(0, ·) over [u − width/2, u + width/2].
func softened(u, width float64) float64 {
	switch {
	case u <= -width/2:
		return 0
	case u >= width/2:
		return u
	}
	return (u + width/2) * (u + width/2) / (2 * width)
}

// Unbalanced reports whether a loss cannot be expected to separate one of classes classes from the
// rest under risk accuracy: a convex and symmetric loss is linear over its reach, so it weighs
// every row alike however well it is told apart, and where the rest are more, that moves all scores
// as far down as they go. Balanced (BER) or pairwise (AUC) risks are free of it.
func (l Loss) Unbalanced(classes int) bool { return l.convex && l.Symmetric() && classes > 2 }

// Scale is the size of the loss's scores: its reach where that is finite, else 1. A ridge means the
// same to two losses if divided by it.
func (l Loss) Scale() float64 {
	if l.reach > 0 && !math.IsInf(l.reach, 1) {
		return l.reach
	}
	return 1
}
