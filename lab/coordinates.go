package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/learners"
)

// coordinates are a public change of features for gradient rivals, made from the pool: x ↦ xT/R,
// cut to norm 1. Plain gradient descent on principal components would need hundreds of rounds for
// the small ones, each paid for with noise; rivals get the pool's help, as votes do.
type coordinates struct {
	t      *mat.Dense
	radius float64 // R, a high quantile of ‖xT‖ over the pool
	rate   float64 // 1 over the largest curvature of the mean risk on the pool
}

// coordinatesOf makes T = (S/4 + ridge)^(−1/2), S the pool's second moment; a
// ridge of +Inf leaves the features as they are.
func coordinatesOf(pool *mat.Dense, ridge float64, classes int) coordinates {
	n, d := pool.Dims()
	second := func(x *mat.Dense) *mat.SymDense {
		s := mat.NewSymDense(d, nil)
		s.SymOuterK(1/float64(n), x.T())
		return s
	}
	c := coordinates{t: mat.NewDense(d, d, nil), radius: 1}
	if math.IsInf(ridge, 1) {
		for j := range d {
			c.t.Set(j, j, 1)
		}
	} else {
		var e mat.EigenSym
		e.Factorize(second(pool), true)
		var v mat.Dense
		e.VectorsTo(&v)
		left := mat.NewDense(d, d, nil)
		for j, value := range e.Values(nil) {
			f := 1 / math.Sqrt(math.Max(value, 0)/4+ridge)
			for i := range d {
				left.Set(i, j, v.At(i, j)*f)
			}
		}
		c.t.Mul(left, v.T())
		var z mat.Dense
		z.Mul(pool, c.t)
		norms := make([]float64, n)
		for i := range n {
			norms[i] = mat.Norm(z.RowView(i), 2)
		}
		slices.Sort(norms)
		c.radius = norms[int(.75*float64(n-1))]
	}
	var e mat.EigenSym
	e.Factorize(second(c.rows(pool)), false)
	curvature := e.Values(nil)[d-1] / 4
	if classes > 2 {
		curvature *= 2
	}
	c.rate = 1 / curvature
	return c
}

// rows changes the features of some rows.
func (c coordinates) rows(x *mat.Dense) *mat.Dense {
	var z mat.Dense
	z.Mul(x, c.t)
	n, d := z.Dims()
	for i := range n {
		row := z.RawRowView(i)
		scale := 1 / math.Max(c.radius, mat.Norm(mat.NewVecDense(d, row), 2))
		for j := range row {
			row[j] *= scale
		}
	}
	return &z
}

func (c coordinates) records(l labelled) labelled {
	l.X = c.rows(l.X)
	return l
}

// back is the model on the features as they were.
func (c coordinates) back(m learners.Linear) learners.Linear {
	var w mat.Dense
	w.Mul(c.t, m.W)
	w.Scale(1/c.radius, &w)
	return learners.Linear{W: &w, Classes: m.Classes}
}
