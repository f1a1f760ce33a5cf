package leastsquares

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/validation"
	"caucus/auxdata"
	"caucus/study/regress"
)

// Estimates are least squares from noisy second moments, in the schema's units.
type Estimates struct {
	// Counted is the number of records with the outcome and all columns.
	Counted float64
	// Coefficients have the order of Design.Columns: the change of the outcome where the column is
	// higher by 1 in its unit, or has the level and not the base.
	Coefficients []validation.Number
	// Intercept is the outcome where all columns are 0, and texts have their base.
	Intercept validation.Number
	// R2 is the share of the outcome's variance that the columns explain. Residual is the standard
	// deviation of the rest, in the outcome's unit.
	R2, Residual validation.Number
}

// z95 is the normal quantile of .975.
const z95 = 1.959963984540054

// Estimate makes the estimates from the sums of a design (regress.Moments), each with noise of this
// variance, 0 for exact sums. The pool says how a row's length goes with what least squares leave.
func Estimate(d *regress.Design, _ *auxdata.Pool, sums []float64, variance float64) Estimates {
	steps := float64(d.One * d.One)
	product := math.Sqrt(variance) / (regress.OfProduct * steps)
	square := math.Sqrt(variance) / (regress.OfSquare * steps)
	k := d.Dim() - 1
	s, y := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
	for i := range k {
		for j := i; j < k; j++ {
			of := regress.OfProduct * steps
			if i == j {
				of = regress.OfSquare * steps
			}
			s.SetSym(i, j, sums[d.Cell(i, j)]/of)
		}
		y.SetVec(i, sums[d.Cell(i, k)]/(regress.OfProduct*steps))
	}
	out := Estimates{Counted: s.At(0, 0)}
	var factors mat.Cholesky
	if !factors.Factorize(s) {
		no := validation.Number{Unknown: "the noise is too large for the columns"}
		for range k - 1 {
			out.Coefficients = append(out.Coefficients, no)
		}
		out.Intercept, out.R2, out.Residual = no, no, no
		return out
	}
	var beta mat.VecDense
	var inverse mat.SymDense
	_ = factors.SolveVecTo(&beta, y) // an error is a large condition number
	_ = factors.InverseTo(&inverse)
	noise := noiseOf(beta.RawVector().Data, product*product, square*square)
	var left, byNoise mat.Dense
	left.Mul(&inverse, noise)
	byNoise.Mul(&left, &inverse)
	rest := sums[d.Cell(k, k)]/(regress.OfSquare*steps) - mat.Dot(&beta, y)
	sigma := math.Max(0, rest) / math.Max(1, out.Counted-float64(k))
	unit := d.Outcome.Scale * (d.Outcome.High - d.Outcome.Low)
	number := func(by float64, j int) validation.Number {
		n := validation.Number{Value: by * beta.AtVec(j), NoiseSD: math.Abs(by) * math.Sqrt(byNoise.At(j, j))}
		n.SD = math.Hypot(n.NoiseSD, math.Abs(by)*math.Sqrt(sigma*inverse.At(j, j)))
		n.Low, n.High = n.Value-z95*n.SD, n.Value+z95*n.SD
		return n
	}
	for j, c := range d.Columns {
		out.Coefficients = append(out.Coefficients, number(unit/(c.Scale*(c.High-c.Low)), j+1))
	}
	out.Intercept = number(unit, 0)
	out.R2 = validation.Number{Unknown: "not estimated"}
	out.Residual = out.R2
	return out
}

// noiseOf returns the covariance of the noise in y − Sβ: product is the variance of the noise on a
// product of two numbers, square on a square.
func noiseOf(beta []float64, product, square float64) *mat.SymDense {
	out, sum := mat.NewSymDense(len(beta), nil), 0.
	for _, b := range beta {
		sum += b * b
	}
	for i, b := range beta {
		out.SetSym(i, i, product*(1+sum-b*b)+square*b*b)
		for j := range i {
			out.SetSym(i, j, product*b*beta[j])
		}
	}
	return out
}
