package learners

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Recalibration turns scores s (one per column) into Slope·s + Intercept. The softmax of these (for
// two classes the logistic function) is calibrated as well as one slope and one intercept per class
// allow (Platt 1999; for more classes Guo et al. 2017, with intercepts).
type Recalibration struct {
	Intercept []float64 // one per column
	Slope     float64
	// Curvature is the Hessian of the mean log loss in (Intercept, Slope). Its inverse turns an
	// error in the solved equations into errors of the parameters.
	Curvature *mat.SymDense
}

const (
	recalibrationSteps = 60
	recalibrationMost  = 1e3 // a larger slope would mean that the scores separate the classes
)

// Recalibrate solves, for rows of scores s (N×Columns(classes)) under weights (nil: equal), with p
// the softmax of Slope·s + Intercept,
//
//	Ê[pₖ] = share[k] for each column k,   Ê[Σₖ pₖsₖ] = along.
//
// These are the equations of the log-loss fit to outcomes y, with share and along the means E[yₖ]
// and E[Σₖ yₖsₖ]. It returns false if no slope above 0 solves them, for example for equal scores.
// For more than two classes the intercepts sum to 0.
func Recalibrate(s *mat.Dense, weight, share []float64, along float64) (Recalibration, bool) {
	if rows(s) == 0 {
		return Recalibration{}, false
	}
	n, c := s.Dims()
	// Newton's method on a convex function, the mean log loss minus its linear target, from scores
	// divided by their spread. Steps are halved until they descend.
	spread, total := 0.0, 0.0
	for i := range n {
		v := rowWeight(weight, i)
		total += v
		for _, x := range s.RawRowView(i) {
			spread += v * x * x
		}
	}
	spread = math.Sqrt(spread / total)
	if !(spread > 0) || math.IsInf(spread, 1) {
		return Recalibration{}, false
	}
	target := append(append([]float64(nil), share...), along/spread)
	at := make([]float64, c+1)
	at[c] = spread
	value, gradient, hessian := recalibrationLoss(s, weight, target, at, spread)
	for range recalibrationSteps {
		if norm := mat.Norm(mat.NewVecDense(c+1, gradient), 2); norm < 1e-12 {
			break
		}
		step := mat.NewVecDense(c+1, nil)
		var factor mat.Cholesky
		if !factor.Factorize(hessian) {
			return Recalibration{}, false
		}
		_ = factor.SolveVecTo(step, mat.NewVecDense(c+1, gradient))
		moved, next := false, make([]float64, c+1)
		for scale := 1.0; scale > 1e-9; scale /= 2 {
			for j := range next {
				next[j] = at[j] - scale*step.AtVec(j)
			}
			if v, g, h := recalibrationLoss(s, weight, target, next, spread); v < value {
				value, gradient, hessian, at, moved = v, g, h, next, true
				break
			}
		}
		if !moved {
			break
		}
	}
	if worst := mat.Norm(mat.NewVecDense(c+1, gradient), 2); !(worst <= 1e-6) {
		return Recalibration{}, false
	}
	out := Recalibration{Intercept: at[:c], Slope: at[c] / spread,
		Curvature: mat.NewSymDense(c+1, nil)}
	for i := range c + 1 {
		for j := i; j <= c; j++ {
			h := hessian.At(i, j)
			if i == c {
				h *= spread
			}
			if j == c {
				h *= spread
			}
			out.Curvature.SetSym(i, j, h)
		}
	}
	return out, out.Slope > 0 && out.Slope < recalibrationMost
}

// recalibrationLoss returns Ê[log Σ e^{θ·(1,s/spread)}] − ⟨target, θ⟩, its gradient and Hessian in
// θ = (intercepts, slope·spread). For more than two classes a small ridge holds the sum of the
// intercepts at 0, which affects nothing else.
func recalibrationLoss(s *mat.Dense, weight, target, theta []float64,
	spread float64) (float64, []float64, *mat.SymDense) {
	n, c := s.Dims()
	value, gradient, hessian := 0.0, make([]float64, c+1), mat.NewSymDense(c+1, nil)
	total := 0.0
	p := make([]float64, c)
	for i := range n {
		v, row := rowWeight(weight, i), s.RawRowView(i)
		total += v
		top := 0.0
		if c > 1 {
			top = math.Inf(-1)
		}
		for k, x := range row {
			p[k] = theta[k] + theta[c]*x/spread
			top = math.Max(top, p[k])
		}
		sum := 0.0
		if c == 1 {
			sum = math.Exp(-top) // class 0 scores 0
		}
		for k := range p {
			p[k] = math.Exp(p[k] - top)
			sum += p[k]
		}
		value += v * (top + math.Log(sum))
		mean, square := 0.0, 0.0
		for k := range p {
			p[k] /= sum
			x := row[k] / spread
			mean += p[k] * x
			square += p[k] * x * x
		}
		for k, q := range p {
			gradient[k] += v * q
			hessian.SetSym(k, c, hessian.At(k, c)+v*q*(row[k]/spread-mean))
			hessian.SetSym(k, k, hessian.At(k, k)+v*q)
			for l := k; l < c; l++ {
				hessian.SetSym(k, l, hessian.At(k, l)-v*q*p[l])
			}
		}
		gradient[c] += v * mean
		hessian.SetSym(c, c, hessian.At(c, c)+v*(square-mean*mean))
	}
	value /= total
	hessian.ScaleSym(1/total, hessian)
	sum := 0.0
	for k := range c {
		sum += theta[k]
	}
	for j := range gradient {
		gradient[j] = gradient[j]/total - target[j]
		value -= target[j] * theta[j]
	}
	if c > 1 {
		value += sum * sum / 2
		for k := range c {
			gradient[k] += sum
			for l := k; l < c; l++ {
				hessian.SetSym(k, l, hessian.At(k, l)+1)
			}
		}
	}
	return value, gradient, hessian
}

func rowWeight(weight []float64, i int) float64 {
	if weight == nil {
		return 1
	}
	return weight[i]
}
