package learners

import (
	"fmt"
	"math"
)

// Channel turns true labels into given ones: it keeps a label with probability Keep, and else draws
// one of the other classes uniformly.
type Channel struct {
	Keep    float64 // p, above 1/Classes; 1 is no noise
	Classes int     // K ≥ 2
}

// Flip is q = (1−p)/(K−1), the probability of each wrong class.
func (c Channel) Flip() float64 { return (1 - c.Keep) / float64(c.Classes-1) }

// Unbiased is ([given] − q)/(p−q), where given says that the given label is a certain class. Its
// mean is 1 if the true label is that class, else 0.
func (c Channel) Unbiased(given bool) float64 {
	q := c.Flip()
	v := -q
	if given {
		v = 1 - q
	}
	return v / (c.Keep - q)
}

// Validate says what is wrong with a channel.
func (c Channel) Validate() error {
	if c.Classes < 2 || !(c.Keep > 1/float64(c.Classes)) || c.Keep > 1 {
		return fmt.Errorf("channel keeps a label of %d classes with probability %g: it must be above 1/classes and at most 1", c.Classes, c.Keep)
	}
	return nil
}

// Cost is a row's cost in one class's column: Yes·ℓ(s) + No·ℓ(−s), s being its score for the class. In a
// RankRisk, Yes is the row's weight as the member of a pair that should score higher, No as the other.
type Cost struct{ Yes, No float64 }

// ClassCost is the cost of rows whose label is the column's class (In), and of the others (Out).
type ClassCost struct{ In, Out Cost }

// PlainCost is the cost for trusted labels.
func PlainCost() ClassCost { return ClassCost{In: Cost{Yes: 1}, Out: Cost{No: 1}} }

// BackwardCost makes the expected cost of a noisy label equal to the cost of the true one (Natarajan et
// al. 2013; Patrini et al. 2017, backward correction): Unbiased·ℓ(s) + (1−Unbiased)·ℓ(−s). If ℓ(z)−ℓ(−z)
// is linear (logistic, squared, unhinged), a convex loss stays convex. A hinge does not, and needs a
// ridge to be bounded below. For a symmetric loss see OneSided.
func BackwardCost(c Channel) ClassCost {
	in, out := c.Unbiased(true), c.Unbiased(false)
	return ClassCost{In: Cost{in, 1 - in}, Out: Cost{out, 1 - out}}
}

// Balanced divides the costs by twice the share of rows of the class (Yes), and of the others (No):
// the risk becomes that of the balanced error (BER). The share is kept within 1e-3 of 0 and 1.
func (c ClassCost) Balanced(share float64) ClassCost {
	share = math.Max(1e-3, math.Min(1-1e-3, share))
	divide := func(x Cost) Cost { return Cost{x.Yes / (2 * share), x.No / (2 * (1 - share))} }
	return ClassCost{In: divide(c.In), Out: divide(c.Out)}
}

// OneSided is the same cost, up to a constant, for a symmetric loss. As ℓ(−z) = C − ℓ(z), Yes·ℓ(z) +
// No·ℓ(−z) is (Yes−No)·ℓ(z) or (No−Yes)·ℓ(−z) up to a constant, whichever weight is positive. So for
// symmetric losses the backward correction only reweights the rows whose label is the class, and the
// others, by (2−p−q):(p+q). A convex loss stays convex, also beyond its Reach. With two classes the
// ratio is 1:1: no correction is needed. With more it is: noise is uneven between a class and the rest.
func (c ClassCost) OneSided() ClassCost {
	side := func(x Cost) Cost { return Cost{Yes: math.Max(0, x.Yes-x.No), No: math.Max(0, x.No-x.Yes)} }
	return ClassCost{In: side(c.In), Out: side(c.Out)}
}

func (c ClassCost) of(in bool) Cost {
	if in {
		return c.In
	}
	return c.Out
}
