package learners

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Objective is a differentiable convex function of Dim numbers.
//
// Evaluate fills grad (length Dim) with the gradient at w and returns the value. It must not change
// w or keep either slice. An Objective keeps scratch memory, so it is not for concurrent use.
type Objective interface {
	Dim() int
	Evaluate(w, grad []float64) float64
}

// Preconditioned is an Objective that knows the rough shape of its Hessian. Precondition overwrites
// g with P⁻¹g for a fixed symmetric positive definite P. The closer P is to a multiple of the
// Hessian, the fewer iterations are needed.
type Preconditioned interface {
	Objective
	Precondition(g []float64)
}

// MinimiseSettings bound a minimisation by precision, by public counts of steps and evaluations, or
// by the caller. A zero field has the default named at it.
type MinimiseSettings struct {
	// GradientNorm is the Euclidean norm of the gradient at which to stop; default 1e-6. For a
	// λ-strongly convex objective the answer is then within GradientNorm/λ of the minimiser.
	GradientNorm float64
	// MaxIterations bounds the number of steps; default 500. A step takes mostly one evaluation, at
	// most maxTrials.
	MaxIterations int
	// MaxEvaluations bounds the evaluations before the last line search (which has at most
	// maxTrials). 0: no bound.
	MaxEvaluations int
	// Stop, if not nil, is called before each step. If it returns true, the minimisation ends.
	Stop func() bool
	// Memory is the number of past steps in the L-BFGS approximation; default 10.
	Memory int
}

// DefaultMinimiseSettings returns the defaults named at the fields.
func DefaultMinimiseSettings() MinimiseSettings {
	return MinimiseSettings{GradientNorm: 1e-6, MaxIterations: 500, Memory: 10}
}

func (m MinimiseSettings) orDefault() MinimiseSettings {
	d := DefaultMinimiseSettings()
	if !(m.GradientNorm > 0) {
		m.GradientNorm = d.GradientNorm
	}
	if m.MaxIterations <= 0 {
		m.MaxIterations = d.MaxIterations
	}
	if m.Memory <= 0 {
		m.Memory = d.Memory
	}
	return m
}

// Convergence tells how a minimisation ended. Value and GradientNorm are those at the returned
// point; Evaluations counts line searches too.
type Convergence struct {
	Iterations   int
	Evaluations  int
	Value        float64
	GradientNorm float64
	Converged    bool // GradientNorm is at most MinimiseSettings.GradientNorm
}

// Constants of the line search. The first two: Nocedal & Wright, Numerical Optimization (2006),
// §3.1 and §7.2. The approximate form: Hager & Zhang, SIAM J. Optim. 16 (2005), Eq. 4.1, which
// still works if the decrease is below the rounding error of the value.
const (
	sufficientDecrease = 1e-4
	sufficientCurve    = 0.9
	approximateSlope   = 0.8
	valueRounding      = 1e-9
	maxTrials          = 30
)

// Minimize runs L-BFGS (Liu & Nocedal 1989) on o from start and returns the best point. It is
// deterministic and does not change start. Unless start is Dim finite numbers it starts at the
// origin. It always ends: if no step improves the value any more, Converged is false.
func Minimize(o Objective, start []float64, s MinimiseSettings) ([]float64, Convergence) {
	s = s.orDefault()
	m := newMinimizer(o, start, s.Memory)
	m.value = o.Evaluate(m.w, m.grad)
	m.evaluations = 1
	iterations := 0
	for ; iterations < s.MaxIterations; iterations++ {
		if !(floats.Norm(m.grad, 2) > s.GradientNorm) {
			break
		}
		if s.MaxEvaluations > 0 && m.evaluations >= s.MaxEvaluations || s.Stop != nil && s.Stop() {
			break
		}
		if !m.step() {
			break
		}
	}
	norm := floats.Norm(m.grad, 2)
	return m.w, Convergence{
		Iterations:   iterations,
		Evaluations:  m.evaluations,
		Value:        m.value,
		GradientNorm: norm,
		Converged:    norm <= s.GradientNorm,
	}
}

type pair struct {
	s, y  []float64
	rho   float64 // 1/⟨s,y⟩ of the pair
	alpha float64 // scratch of the two-loop recursion
}

type minimizer struct {
	o           Objective
	shape       Preconditioned // nil if o is not Preconditioned
	w, grad     []float64
	value       float64
	direction   []float64
	trial       []float64
	trialGrad   []float64
	past        []pair // oldest first
	memory      int
	scratch     []float64
	evaluations int
}

func newMinimizer(o Objective, start []float64, memory int) *minimizer {
	n := o.Dim()
	m := &minimizer{o: o, memory: memory, past: make([]pair, 0, memory)}
	m.shape, _ = o.(Preconditioned)
	buffer := make([]float64, 6*n)
	cut := func() []float64 {
		var c []float64
		c, buffer = buffer[:n:n], buffer[n:]
		return c
	}
	m.w, m.grad, m.direction = cut(), cut(), cut()
	m.trial, m.trialGrad, m.scratch = cut(), cut(), cut()
	if len(start) == n && allFinite(start) {
		copy(m.w, start)
	}
	return m
}

func allFinite(v []float64) bool {
	for _, x := range v {
		if !finite(x) {
			return false
		}
	}
	return true
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// step moves w to a point of lower value, and reports whether it found one.
func (m *minimizer) step() bool {
	for {
		m.aim()
		slope := floats.Dot(m.grad, m.direction)
		if slope < 0 && m.search(slope) {
			m.remember()
			return true
		}
		if len(m.past) == 0 {
			return false
		}
		m.past = m.past[:0] // the past steps gave a bad direction: try once without them
	}
}

// aim sets direction to −H·grad, H the L-BFGS inverse Hessian.
func (m *minimizer) aim() {
	d := m.direction
	for i, g := range m.grad {
		d[i] = -g
	}
	for i := len(m.past) - 1; i >= 0; i-- {
		p := &m.past[i]
		p.alpha = p.rho * floats.Dot(p.s, d)
		floats.AddScaled(d, -p.alpha, p.y)
	}
	if m.shape != nil {
		m.shape.Precondition(d)
	}
	if n := len(m.past); n > 0 {
		last := m.past[n-1]
		copy(m.scratch, last.y)
		if m.shape != nil {
			m.shape.Precondition(m.scratch)
		}
		floats.Scale(1/(last.rho*floats.Dot(last.y, m.scratch)), d)
	}
	for i := range m.past {
		p := &m.past[i]
		floats.AddScaled(d, p.alpha-p.rho*floats.Dot(p.y, d), p.s)
	}
}

// search looks along direction, with slope slope0 < 0 at w, for a point that satisfies the Wolfe
// conditions, and leaves it in trial. A convex function's slope only rises along a line, so a
// bracket with secant steps suffices.
func (m *minimizer) search(slope0 float64) bool {
	length := 1.0
	if len(m.past) == 0 && m.shape == nil {
		length = 1 / math.Max(1, floats.Norm(m.grad, 2))
	}
	low, lowSlope := 0.0, slope0
	high, highSlope := math.Inf(1), math.NaN()
	for range maxTrials {
		floats.AddScaledTo(m.trial, m.w, length, m.direction)
		value := m.o.Evaluate(m.trial, m.trialGrad)
		m.evaluations++
		slope := floats.Dot(m.trialGrad, m.direction)
		switch {
		case !finite(value) || !finite(slope):
			high, highSlope = length, math.NaN()
		case !m.decreased(value, slope, length, slope0):
			high, highSlope = length, slope
		case slope < sufficientCurve*slope0:
			low, lowSlope = length, slope
		default:
			m.value = value
			return true
		}
		length = nextLength(low, lowSlope, high, highSlope)
	}
	return false
}

func (m *minimizer) decreased(value, slope, length, slope0 float64) bool {
	if value <= m.value+sufficientDecrease*length*slope0 {
		return true
	}
	return slope <= -approximateSlope*slope0 &&
		value <= m.value+valueRounding*(1+math.Abs(m.value))
}

// nextLength returns the zero of the secant through both slopes, well inside low..high; 4·low if
// high is infinite.
func nextLength(low, lowSlope, high, highSlope float64) float64 {
	if math.IsInf(high, 1) {
		return 4 * low
	}
	width := high - low
	share := 0.1 // the value at the upper end overflowed, so step far back
	if !math.IsNaN(highSlope) {
		share = 0.5
		if highSlope > lowSlope {
			share = -lowSlope / (highSlope - lowSlope)
		}
	}
	return low + width*math.Min(0.9, math.Max(0.1, share))
}

// remember moves to trial, and stores the step if its curvature exceeds rounding errors.
func (m *minimizer) remember() {
	var p pair
	if len(m.past) == m.memory {
		p = m.past[0]
		copy(m.past, m.past[1:])
		m.past = m.past[:m.memory-1]
	} else {
		p = pair{s: make([]float64, len(m.w)), y: make([]float64, len(m.w))}
	}
	floats.SubTo(p.s, m.trial, m.w)
	floats.SubTo(p.y, m.trialGrad, m.grad)
	m.w, m.trial = m.trial, m.w
	m.grad, m.trialGrad = m.trialGrad, m.grad
	curvature := floats.Dot(p.s, p.y)
	if curvature > 1e-14*floats.Norm(p.s, 2)*floats.Norm(p.y, 2) {
		p.rho = 1 / curvature
		m.past = append(m.past, p)
	}
}
