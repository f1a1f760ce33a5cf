package learners

import "math"

// pieces is a piecewise linear loss, level + slope·z + Σ turn·max(0, z − at). width is the width of
// the parabolas that replace its kinks for the minimiser.
type pieces struct {
	level, slope float64
	kinks        []kink
	width        float64
}

type kink struct{ at, turn float64 }

// barrierSmoothing is the width of the barrier hinge's parabolas in units of r: a hundredth of the range
// where the loss is symmetric.
const barrierSmoothing = 0.02

// Smooth is the loss to minimise. It replaces a loss with kinks by its mean over [z − τ/2, z +
// τ/2], which turns each kink into a parabola of width τ and changes nothing else; τ is 0.5, and
// r/50 for the barrier hinge. The mean of a symmetric loss is symmetric too, up to τ/2 before its
// reach, and that of a convex loss is convex. A loss without kinks is returned unchanged.
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

// Unbalanced reports that a loss may fail to separate one class from the rest under the risk "accuracy".
// A convex and symmetric loss is linear over its reach, so every row has the same weight however well it
// is separated. With more than two classes the rest outnumber the class and push all scores down as far
// as they go. Balanced (BER) and pairwise (AUC) risks do not have this fault.
func (l Loss) Unbalanced(classes int) bool { return l.convex && l.Symmetric() && classes > 2 }

// Scale is the size of the loss's scores: its reach if that is finite, else 1. A ridge divided by
// Scale means the same for every loss.
func (l Loss) Scale() float64 {
	if l.reach > 0 && !math.IsInf(l.reach, 1) {
		return l.reach
	}
	return 1
}
