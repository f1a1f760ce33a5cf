package learners

import "math"

// pieces is a piecewise linear loss, level + slope·z + Σ turn·max(0, z − at). The minimiser
// replaces each kink by a parabola of this width.
type pieces struct {
	level, slope float64
	kinks        []kink
	width        float64
}

type kink struct{ at, turn float64 }

// barrierSmoothing is the width of the barrier hinge's parabolas in units of r.
const barrierSmoothing = 0.02

// Smooth returns the loss to minimise: a loss with kinks is replaced by its mean over [z − τ/2, z +
// τ/2], which turns each kink into a parabola of width τ and changes nothing else. τ is 0.5, and
// r/50 for the barrier hinge. The mean of a symmetric loss stays symmetric up to τ/2 before its
// reach, and that of a convex loss convex. A loss without kinks is returned unchanged.
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

// softened returns the mean of max(0, ·) over [u − width/2, u + width/2].
func softened(u, width float64) float64 {
	switch {
	case u <= -width/2:
		return 0
	case u >= width/2:
		return u
	}
	return (u + width/2) * (u + width/2) / (2 * width)
}

// MayIgnoreClass reports that a loss may fail to separate one class from the rest under the risk
// "accuracy". A convex and symmetric loss is linear over its reach, so every row has the same
// weight, even if it is well separated. With more than two classes the rest outnumber the class and
// push all scores down as far as possible. Balanced (BER) and pairwise (AUC) risks do not have this
// fault.
func (l Loss) MayIgnoreClass(classes int) bool { return l.convex && l.Symmetric() && classes > 2 }

// ScoreScale returns the size of the loss's scores: its reach if finite, otherwise 1. A ridge
// divided by ScoreScale means the same for every loss.
func (l Loss) ScoreScale() float64 {
	if l.reach > 0 && !math.IsInf(l.reach, 1) {
		return l.reach
	}
	return 1
}
