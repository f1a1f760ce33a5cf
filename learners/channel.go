package learners

import (
	"fmt"
	"math"
)

// LabelChannel turns true labels into noisy ones: it keeps a label with probability Keep, otherwise
// it draws one of the other classes uniformly.
type LabelChannel struct {
	Keep    float64 // p, above 1/Classes; 1 means no noise
	Classes int     // K ≥ 2
}

// Flip returns q = (1−p)/(K−1), the probability of each wrong class.
func (l LabelChannel) Flip() float64 { return (1 - l.Keep) / float64(l.Classes-1) }

// Unbiased returns ([given] − q)/(p−q), where given says whether the noisy label is a certain
// class. Its mean is 1 if the true label is this class, otherwise 0.
func (l LabelChannel) Unbiased(given bool) float64 {
	q := l.Flip()
	v := -q
	if given {
		v = 1 - q
	}
	return v / (l.Keep - q)
}

// Validate requires at least 2 classes, and 1/Classes < Keep ≤ 1: at 1/Classes a noisy label says
// nothing about the true one.
func (l LabelChannel) Validate() error {
	if l.Classes < 2 || !(l.Keep > 1/float64(l.Classes)) || l.Keep > 1 {
		return fmt.Errorf("channel keeps a label of %d classes with probability %g: it must be above 1/classes and at most 1", l.Classes, l.Keep)
	}
	return nil
}

// LossWeights is a row's cost in one class's column: Positive·ℓ(s) + Negative·ℓ(−s), s its score
// for the class. In a RankRisk, Positive is the row's weight as the pair's member that should score
// higher, Negative as the other member.
type LossWeights struct{ Positive, Negative float64 }

// ClassWeights is the cost of rows that are labelled with the column's class (InClass), and of
// other rows (OutOfClass).
type ClassWeights struct{ InClass, OutOfClass LossWeights }

// PlainWeights returns the cost for labels without noise.
func PlainWeights() ClassWeights {
	return ClassWeights{InClass: LossWeights{Positive: 1}, OutOfClass: LossWeights{Negative: 1}}
}

// BackwardWeights makes the expected cost of a noisy label equal to the cost of the true label
// (Natarajan et al. 2013; Patrini et al. 2017, backward correction): Unbiased·ℓ(s) +
// (1−Unbiased)·ℓ(−s). A convex loss stays convex if ℓ(z)−ℓ(−z) is linear (logistic, squared,
// unhinged). A hinge becomes non-convex, and needs a ridge to be bounded below. For a symmetric
// loss see OneSided.
func BackwardWeights(c LabelChannel) ClassWeights {
	in, out := c.Unbiased(true), c.Unbiased(false)
	return ClassWeights{InClass: LossWeights{in, 1 - in}, OutOfClass: LossWeights{out, 1 - out}}
}

// Balanced divides the costs by twice the share of rows in the class (Yes) or outside (No), which
// turns the risk into the balanced error (BER). The share is clamped to [1e-3, 1 − 1e-3].
func (c ClassWeights) Balanced(share float64) ClassWeights {
	share = math.Max(1e-3, math.Min(1-1e-3, share))
	divide := func(x LossWeights) LossWeights {
		return LossWeights{x.Positive / (2 * share), x.Negative / (2 * (1 - share))}
	}
	return ClassWeights{InClass: divide(c.InClass), OutOfClass: divide(c.OutOfClass)}
}

// OneSided returns the same cost for a symmetric loss, up to a constant. As ℓ(−z) = C − ℓ(z),
// Yes·ℓ(z) + No·ℓ(−z) is (Yes−No)·ℓ(z) or (No−Yes)·ℓ(−z), whichever weight is positive. So for
// symmetric losses the backward correction only reweights rows labelled with the class against the
// others, by (2−p−q):(p+q). A convex loss stays convex, also beyond its Reach. With two classes the
// ratio is 1:1, so no correction is needed.
func (c ClassWeights) OneSided() ClassWeights {
	side := func(x LossWeights) LossWeights {
		return LossWeights{Positive: math.Max(0, x.Positive-x.Negative),
			Negative: math.Max(0, x.Negative-x.Positive)}
	}
	return ClassWeights{InClass: side(c.InClass), OutOfClass: side(c.OutOfClass)}
}

func (c ClassWeights) of(in bool) LossWeights {
	if in {
		return c.InClass
	}
	return c.OutOfClass
}
