package main

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/learners"
	"caucus/privacy"
)

// partyMeans is a candidate for party level that releases no votes: each party
// sends the mean over its records of (class − 1/K) ⊗ whitened features, cut to
// norm Clip; replacing a party moves the sum by at most 2·Clip. The noisy mean
// stands for the moments of the votes and is fitted in the same way. It asks no
// learner of a party, so small parties lose nothing by learning alone.
//
// In this laboratory the noise is floating-point; a release would round each
// party's vector to a lattice first, as cross does.
type partyMeans struct {
	whiten, back *mat.Dense // d×d, symmetric
	mean         []float64  // the pool's
	columns      int
	classes      int
	clip         float64
}

// partyMeansRidge evens out directions of the pool with more variance.
const partyMeansRidge = 1e-3

// newPartyMeans takes the mean size of a party, which is public. The norm of a
// mean of n records is about √(s² + p(1−1/K)/n) with p the effective dimension
// of the whitened features and s the signal; s² = .1 is a correlation of about
// .6 with the class. The clip is half that norm: cutting shrinks all parties
// about alike, so the direction stays, and noise halves (on adult and phishing
// half was as good as .7 and better than 1 or 1.5 at every ε).
func newPartyMeans(pool *mat.Dense, classes int, size float64) partyMeans {
	n, d := pool.Dims()
	s := mat.NewSymDense(d, nil)
	s.SymOuterK(1/float64(n), pool.T())
	var e mat.EigenSym
	e.Factorize(s, true)
	var v mat.Dense
	e.VectorsTo(&v)
	left, right := mat.NewDense(d, d, nil), mat.NewDense(d, d, nil)
	effective := 0.0
	for j, value := range e.Values(nil) {
		root := math.Sqrt(math.Max(value, 0) + partyMeansRidge)
		effective += math.Max(value, 0) / (root * root)
		for i := range d {
			left.Set(i, j, v.At(i, j)/root)
			right.Set(i, j, v.At(i, j)*root)
		}
	}
	m := partyMeans{classes: classes, columns: learners.Columns(classes), whiten: mat.NewDense(d, d, nil), back: mat.NewDense(d, d, nil), mean: make([]float64, d)}
	m.whiten.Mul(left, v.T())
	m.back.Mul(right, v.T())
	for i := range n {
		floats.AddScaled(m.mean, 1/float64(n), pool.RawRowView(i))
	}
	spread := .25 // of one column of two classes
	if classes > 2 {
		spread = 1 - 1/float64(classes)
	}
	m.clip = math.Sqrt(.1+spread*effective/math.Max(size, 1)) / 2
	return m
}

// party is what a party sends.
func (m partyMeans) party(l labelled, rows []int) *mat.Dense {
	_, d := l.X.Dims()
	raw, n := mat.NewDense(d, m.columns, nil), 0.0
	for _, i := range rows {
		if l.Y[i] < 0 {
			continue
		}
		n++
		for j, x := range l.X.RawRowView(i) {
			for k := range m.columns {
				y := -1 / float64(m.classes)
				if m.columns == 1 && l.Y[i] == 1 || m.columns > 1 && l.Y[i] == k {
					y++
				}
				raw.Set(j, k, raw.At(j, k)+x*y)
			}
		}
	}
	out := mat.NewDense(d, m.columns, nil)
	out.Mul(m.whiten, raw)
	out.Scale(1/math.Max(n, 1), out)
	if norm := mat.Norm(out, 2); norm > m.clip {
		out.Scale(m.clip/norm, out)
	}
	return out
}

// fit releases the mean with noise and fits as a tally is fitted.
func (m partyMeans) fit(pool *mat.Dense, l labelled, parties [][]int, b privacy.Budget, rng *rand.Rand) learners.Linear {
	_, d := pool.Dims()
	sd := 2 * m.clip / math.Sqrt(2*privacy.RhoOf(b)) / float64(len(parties))
	mean := mat.NewDense(d, m.columns, nil)
	for _, rows := range parties {
		mean.Add(mean, m.party(l, rows))
	}
	mean.Scale(1/float64(len(parties)), mean)
	for j := range d {
		for k := range m.columns {
			mean.Set(j, k, mean.At(j, k)+sd*rng.NormFloat64())
		}
		if m.columns > 1 { // the true sum over classes is 0
			row := mean.RawRowView(j)
			floats.AddConst(-floats.Sum(row)/float64(m.columns), row)
		}
	}
	mu := mat.NewDense(d, m.columns, nil)
	mu.Mul(m.back, mean)
	for j := range d {
		for k := range m.columns {
			mu.Set(j, k, mu.At(j, k)+m.mean[j]/float64(m.classes))
		}
	}
	factor := mat.DenseCopyOf(m.back)
	factor.Scale(sd, factor)
	noise := aggregation.Noise{Factor: factor, Centred: m.columns > 1}
	return aggregation.FitVotes(pool, nil, m.classes, mu, noise, 0, rng).Model
}
