package learners

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// MarginRisk is the ridge-penalised mean cost of rows with single labels, one class against the
// rest:
//
//	(1/N)·Σᵢ Σₖ [Yesᵢₖ·ℓ(sᵢₖ) + Noᵢₖ·ℓ(−sᵢₖ)] + (Ridge/2)·‖W‖²,  s = X·W,
//
// where row i has class k's In costs if its label is k, otherwise its Out costs. With two classes
// there is only the column of class 1. ℓ is Loss.Smooth, or its forward correction for a channel.
//
// It is convex if the loss is convex and no cost is negative; see also BackwardWeights. Ridge may
// be replaced between evaluations. It is not for concurrent use.
type MarginRisk struct {
	Ridge float64

	x     *mat.Dense
	y     []int
	costs []ClassWeights
	loss  sided
	first int // class of the first column
	curve float64
	rows  *sweep
}

// NewMarginRisk checks that costs has one entry for each column and y one label for each row.
// forward, if not nil, requests the forward correction. Labels outside 0..classes-1 belong to no
// class.
func NewMarginRisk(x *mat.Dense, y []int, classes int, l Loss, costs []ClassWeights,
	forward *LabelChannel) (*MarginRisk, error) {
	if n := rows(x); n == 0 || n != len(y) || classes < 2 || len(costs) != WeightColumns(classes) {
		return nil, fmt.Errorf("make margin risk: %d rows with %d labels of %d classes and %d costs do not fit together", n, len(y), classes, len(costs))
	}
	r := &MarginRisk{x: x, y: y, costs: costs, loss: bothSides(l.Smooth()),
		first: classes - WeightColumns(classes), curve: 1 / l.ScoreScale()}
	if classes > 2 {
		r.first = 0
	}
	if forward != nil {
		if err := l.CheckForward(); err != nil {
			return nil, fmt.Errorf("make margin risk: %w", err)
		}
		r.loss = l.forward(*forward)
	}
	r.rows = newSweep(x, nil, len(costs))
	return r, nil
}

// Dim returns d·Columns(Classes), the length of W in row-major order.
func (m *MarginRisk) Dim() int {
	_, d := m.x.Dims()
	return d * len(m.costs)
}

// Evaluate implements Objective without allocating.
func (m *MarginRisk) Evaluate(w, grad []float64) float64 {
	return ridged(m.Ridge, w, grad) + m.rows.run(m, w, grad)
}

// Precondition implements Preconditioned with P = XᵀX/(N·scale) + Ridge·I, scale = Loss.ScoreScale.
func (m *MarginRisk) Precondition(g []float64) { m.rows.precondition(g, m.curve, m.Ridge) }

// SetRidge changes Ridge through an interface, so that one search over ridges serves all risks.
func (m *MarginRisk) SetRidge(ridge float64) { m.Ridge = ridge }

func (m *MarginRisk) row(i int, scores []float64) float64 {
	value := 0.0
	for k, z := range scores {
		c := m.costs[k].of(m.y[i] == m.first+k)
		slope := 0.0
		if c.Positive != 0 {
			value += c.Positive * m.loss.yes(z)
			slope += c.Positive * m.loss.yesSlope(z)
		}
		if c.Negative != 0 {
			value += c.Negative * m.loss.no(z)
			slope += c.Negative * m.loss.noSlope(z)
		}
		scores[k] = slope
	}
	return value
}

// ridged sets grad to ridge·w and returns (ridge/2)‖w‖².
func ridged(ridge float64, w, grad []float64) float64 {
	value := 0.0
	for j, v := range w {
		grad[j] = ridge * v
		value += ridge / 2 * v * v
	}
	return value
}
