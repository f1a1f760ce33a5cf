package ratio

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// quadraticOnSimplex minimises ½xᵀHx − bᵀx over {x ≥ 0, Σx = 1}.
//
// H must be positive definite along directions that sum to zero (callers raise small eigenvalues).
// The method is a primal active set (Lawson & Hanson 1974, ch. 23, plus the sum constraint): each
// step adds the coordinate that violates optimality most and solves exactly on the support, so it
// ends after finitely many steps. gap = max_k gᵀ(x − e_k), g = Hx − b, certifies f(x) − min f ≤ gap
// even if the loop ends early.
func quadraticOnSimplex(h mat.Symmetric, b []float64) (x []float64, gap float64) {
	c := len(b)
	// Adding lift·11ᵀ to H makes it definite, and adds only a constant to the objective, because Σx
	// = 1.
	lift := 0.0
	size := 1e-300
	for i := range c {
		lift += h.At(i, i)
		size = max(size, math.Abs(h.At(i, i)), math.Abs(b[i]))
	}
	lift /= float64(c)
	tolerance := 1e-13 * size

	x = make([]float64, c)
	best, at := math.Inf(1), 0
	for k := range c {
		if f := h.At(k, k)/2 - b[k]; f < best {
			best, at = f, k
		}
	}
	x[at] = 1
	inside := make([]bool, c)
	inside[at] = true
	gradient := make([]float64, c)
	for range 50 * c { // about c steps in practice; 50c is a public bound
		low := 0
		gap = 0
		for i := range c {
			g := -b[i]
			for j := range c {
				g += h.At(i, j) * x[j]
			}
			gradient[i] = g
			if g < gradient[low] {
				low = i
			}
		}
		for i := range c {
			gap += x[i] * (gradient[i] - gradient[low])
		}
		if gap <= tolerance || inside[low] {
			return x, gap
		}
		inside[low] = true
		for {
			z, ok := supportMinimum(h, b, inside, lift)
			if !ok {
				return x, gap
			}
			step := 1.0
			for i := range c {
				if inside[i] && z[i] <= 0 && x[i] > z[i] {
					step = min(step, x[i]/(x[i]-z[i]))
				}
			}
			for i := range c {
				x[i] += step * (z[i] - x[i])
			}
			if step == 1 {
				break
			}
			for i := range c {
				if inside[i] && x[i] <= 1e-15 {
					x[i], inside[i] = 0, false
				}
			}
		}
	}
	return x, gap
}

// supportMinimum solves the problem on the support alone, without sign constraints.
func supportMinimum(h mat.Symmetric, b []float64, inside []bool, lift float64) ([]float64, bool) {
	var support []int
	for i, in := range inside {
		if in {
			support = append(support, i)
		}
	}
	s := len(support)
	hs := mat.NewSymDense(s, nil)
	right := mat.NewDense(s, 2, nil)
	for i, p := range support {
		for j, q := range support[:i+1] {
			hs.SetSym(i, j, h.At(p, q)+lift)
		}
		right.Set(i, 0, b[p])
		right.Set(i, 1, 1)
	}
	var chol mat.Cholesky
	if !chol.Factorize(hs) {
		return nil, false
	}
	var y mat.Dense
	if err := chol.SolveTo(&y, right); err != nil {
		return nil, false
	}
	var sum, one float64
	for i := range s {
		sum += y.At(i, 0)
		one += y.At(i, 1)
	}
	z := make([]float64, len(inside))
	for i, p := range support {
		z[p] = y.At(i, 0) + (1-sum)/one*y.At(i, 1)
	}
	return z, true
}
