package aggregation

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
)

// geometry is a pool's principal directions, without the intercept.
type geometry struct {
	variance []float64  // of each, descending; directions without any are left out
	vectors  *mat.Dense // d−1 × directions
	energy   float64    // mean square of the pool's rows
	rows     float64    // effective
	constant float64    // what each row's intercept is
}

func geometryOf(pool *auxdata.Pool) geometry {
	n, d := pool.X.Dims()
	g := geometry{energy: mat.Trace(secondMoment(pool.X, pool.Weight)), rows: pool.EffectiveRows(), constant: pool.X.At(0, d-1)}
	if d < 2 {
		return g
	}
	mean := pool.Mean()
	centred := mat.NewDense(n, d-1, nil)
	for i := range n {
		for j := range d - 1 {
			centred.Set(i, j, pool.X.At(i, j)-mean[j])
		}
	}
	m := metricOf(centred, pool.Weight)
	most := floats.Max(m.values)
	var kept []int
	for j := len(m.values) - 1; j >= 0; j-- {
		if m.values[j] > math.Max(1e-9*most, 1e-12) {
			kept = append(kept, j)
			g.variance = append(g.variance, m.values[j])
		}
	}
	if len(kept) == 0 {
		return g
	}
	g.vectors = mat.NewDense(d-1, len(kept), nil)
	for c, j := range kept {
		g.vectors.SetCol(c, mat.Col(nil, j, m.vectors))
	}
	return g
}

// along is the variance of noise along each direction.
func (g geometry) along(n Noise) []float64 {
	out := make([]float64, len(g.variance))
	if n.Factor == nil || len(out) == 0 {
		return out
	}
	rows, _ := g.vectors.Dims()
	_, p := n.Factor.Dims()
	var f mat.Dense
	f.Mul(g.vectors.T(), n.Factor.Slice(0, rows, 0, p))
	for j := range out {
		out[j] = floats.Dot(f.RawRowView(j), f.RawRowView(j))
	}
	return out
}

// atConstant is the variance of noise on the intercept.
func (g geometry) atConstant(n Noise) float64 {
	if n.Factor == nil {
		return 0
	}
	d, _ := n.Factor.Dims()
	last := n.Factor.RawRowView(d - 1)
	return floats.Dot(last, last)
}

// spread is how the variance of scores is shared among directions whose weights are of
// size variance^(−flat/2): at 0 all features count alike, so that wide directions tell
// most; at 1 all directions tell equally much. Independent scores of so many classes lie
// in as many directions, less one, and no more than that much of each is in any.
func (g geometry) spread(flat float64, classes int) []float64 {
	n := len(g.variance)
	share, from := make([]float64, n), make([]float64, n+1) // from: what is left from a direction on
	for j := n - 1; j >= 0; j-- {
		share[j] = math.Pow(g.variance[j]/g.variance[0], 1-flat)
		from[j] = from[j+1] + share[j]
	}
	places := min(classes-1, n)
	most, left, full := 1/float64(places), 1., 0 // the widest are full first, as flat is at most 1
	for full < places && share[full]*left >= most*from[full]*(1-1e-12) {
		share[full] = most
		left -= most
		full++
	}
	for j := full; j < n; j++ {
		if full == places {
			share[j] = 0
		} else {
			share[j] *= left / from[full]
		}
	}
	return share
}
