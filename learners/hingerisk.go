package learners

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// DefaultSmoothing is the width of HingeRisk's parabola by default. The risk is then within 0.25 of
// the hinge risk, and its curvature at most 2.
const DefaultSmoothing = 0.5

// HingeRisk is the ridge-penalised smoothed hinge risk of soft targets t:
//
//	(1/Σv)·Σᵢ vᵢ·Σₖ [tᵢₖ·h(sᵢₖ) + (1−tᵢₖ)·h(−sᵢₖ)] + (Ridge/2)·‖W‖²,  s = X·W
//
// one class against the rest; with two classes only the term of class 1. h is the hinge max(0, 1−z)
// with its kink replaced by a parabola of width τ = Smoothing: 0 for z ≥ 1, 1−z−τ/2 for z ≤ 1−τ,
// (1−z)²/2τ between (Shalev-Shwartz & Zhang, JMLR 14, 2013, the smoothed hinge with their γ). It is
// within τ/2 of the hinge.
//
// It is convex if RowWeight ≥ 0, Ridge ≥ 0 and 0 ≤ t ≤ 1 (project noisy targets first), and then
// Ridge-strongly convex. The fields may be replaced between evaluations, but the numbers in X and
// RowWeight must not change. It is not for concurrent use; a copy shares scratch memory with the
// original.
type HingeRisk struct {
	X         *mat.Dense // N×d
	Targets   *mat.Dense // N×Classes
	RowWeight []float64  // N numbers v ≥ 0; nil means 1 each
	Ridge     float64    // ≥ 0
	Classes   int        // K ≥ 2
	Smoothing float64    // τ > 0; 0 means DefaultSmoothing

	rows *sweep
}

// Dim returns d·Columns(Classes), the length of W in row-major order.
func (h *HingeRisk) Dim() int {
	_, d := h.X.Dims()
	return d * WeightColumns(h.Classes)
}

// Evaluate implements Objective. It allocates on its first call only. Wrong shapes panic.
func (h *HingeRisk) Evaluate(w, grad []float64) float64 {
	h.prepare()
	value := 0.0
	for j, v := range w {
		grad[j] = h.Ridge * v
		value += h.Ridge / 2 * v * v
	}
	return value + h.rows.run(h, w, grad)
}

// Precondition implements Preconditioned with P = XᵀVX/Σv + Ridge·I, V the diagonal matrix of v.
func (h *HingeRisk) Precondition(g []float64) {
	h.prepare()
	h.rows.precondition(g, 1, h.Ridge)
}

func (h *HingeRisk) prepare() {
	n, _ := h.X.Dims()
	if tn, tk := h.Targets.Dims(); h.Classes < 2 || tn != n || tk != h.Classes {
		panic(fmt.Sprintf("learners: hinge risk of %d rows and %d classes needs targets of %d×%d, not %d×%d",
			n, h.Classes, n, h.Classes, tn, tk))
	}
	if !h.rows.of(h.X, h.RowWeight, WeightColumns(h.Classes)) {
		h.rows = newSweep(h.X, h.RowWeight, WeightColumns(h.Classes))
	}
}

func (h *HingeRisk) row(i int, scores []float64) float64 {
	v, width := 1.0, h.Smoothing
	if h.RowWeight != nil {
		v = h.RowWeight[i]
	}
	if width == 0 {
		width = DefaultSmoothing
	}
	target := h.Targets.RawRowView(i)[h.Classes-len(scores):]
	value := 0.0
	for k, z := range scores {
		t := target[k]
		own, ownSlope := smoothHinge(z, width)
		other, otherSlope := smoothHinge(-z, width)
		value += t*own + (1-t)*other
		scores[k] = v * (t*ownSlope - (1-t)*otherSlope)
	}
	return v * value
}

func smoothHinge(z, width float64) (value, slope float64) {
	gap := 1 - z
	switch {
	case gap <= 0:
		return 0, 0
	case gap >= width:
		return gap - width/2, -1
	default:
		return gap * gap / (2 * width), -gap / width
	}
}
