package learners

import (
	"fmt"
	"math"
)

// Channel turns true labels into noisy ones: it keeps a label with probability Keep, otherwise it
// draws one of the other classes uniformly.
type Channel struct {
	Keep    float64 // p, above 1/Classes; 1 means no noise
	Classes int     // K ≥ 2
}

// Flip returns q = (1−p)/(K−1), the probability of each wrong class.
func (c Channel) Flip() float64 { return (1 - c.Keep) / float64(c.Classes-1) }

// Unbiased returns ([given] − q)/(p−q), where given says whether the noisy label is a certain
// class. Its mean is 1 if the true label is this class, otherwise 0.
func (c Channel) Unbiased(given bool) float64 {
	q := c.Flip()
	v := -q
	if given {
		v = 1 - q
	}
	return v / (c.Keep - q)
}

// Validate requires at least 2 classes, and 1/Classes < Keep ≤ 1: at 1/Classes a noisy label says
// nothing about the true one.
func (c Channel) Validate() error {
	if c.Classes < 2 || !(c.Keep > 1/float64(c.Classes)) || c.Keep > 1 {
		return fmt.Errorf("channel keeps a label of %d classes with probability %g: it must be above 1/classes and at most 1", c.Classes, c.Keep)
	}
	return nil
}

// Cost is a row's cost in one class's column: Yes·ℓ(s) + No·ℓ(−s), s its score for the class. In a
// RankRisk, Yes is the row's weight as the pair's member that should score higher, No as the other
// member.
type Cost struct{ Yes, No float64 }

// ClassCost is the cost of rows that are labelled with the column's class (In), and of other rows
// (Out).
type ClassCost struct{ In, Out Cost }

// PlainCost returns the cost for labels without noise.
func PlainCost() ClassCost { return ClassCost{In: Cost{Yes: 1}, Out: Cost{No: 1}} }

// BackwardCost makes the expected cost of a noisy label equal to the cost of the true label
// (Natarajan et al. 2013; Patrini et al. 2017, backward correction): Unbiased·ℓ(s) +
// (1−Unbiased)·ℓ(−s). A convex loss stays convex if ℓ(z)−ℓ(−z) is linear (logistic, squared,
// unhinged). A hinge becomes non-convex, and needs a ridge to be bounded below. For a symmetric
// loss see OneSided.
func BackwardCost(c Channel) ClassCost {
	in, out := c.Unbiased(true), c.Unbiased(false)
	return ClassCost{In: Cost{in, 1 - in}, Out: Cost{out, 1 - out}}
}

// Balanced divides the costs by twice the share of rows in the class (Yes) or outside (No), which
// turns the risk into the balanced error (BER). The share is clamped to [1e-3, 1 − 1e-3].
func (c ClassCost) Balanced(share float64) ClassCost {
	share = math.Max(1e-3, math.Min(1-1e-3, share))
	divide := func(x Cost) Cost { return Cost{x.Yes / (2 * share), x.No / (2 * (1 - share))} }
	return ClassCost{In: divide(c.In), Out: divide(c.Out)}
}

// OneSided returns the same cost for a symmetric loss, up to a constant. As ℓ(−z) = C − ℓ(z),
// Yes·ℓ(z) + No·ℓ(−z) is (Yes−No)·ℓ(z) or (No−Yes)·ℓ(−z), whichever weight is positive. So for
// symmetric losses the backward correction only reweights rows labelled with the class against the
// others, by (2−p−q):(p+q). A convex loss stays convex, also beyond its Reach. With two classes the
// ratio is 1:1, so no correction is needed.
func (c ClassCost) OneSided() ClassCost {
	side := func(x Cost) Cost {
		return Cost{Yes: math.Max(0, x.Yes-x.No), No: math.Max(0, x.No-x.Yes)}
	}
	return ClassCost{In: side(c.In), Out: side(c.Out)}
}

func (c ClassCost) of(in bool) Cost {
	if in {
		return c.In
	}
	return c.Out
}
