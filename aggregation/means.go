package aggregation

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/solving"
	"caucus/learners"
)

// MeansDesign is the public side of the mechanism "means", made from pool, map and classes alone. A
// party sends the direction of
//
//	(mean over its records of (onehot(y) − 1/K) ⊗ x) in coordinates xT,
//
// T = (S + ridge)^(−1/2) with S the pool's second moment, as an integer vector of norm at most
// meansRadius, row-major d × learners.Columns(classes) (for two classes the one column of class 1).
//
// Bound. MeansInRange holds for every vector that a party sends: as its last step, Direction checks
// this in integers and sends zeros if it fails. So for any records, replacing the party moves the
// sum by at most 2·meansRadius in L2, and √cells times that in L1.
//
// Why directions: in these coordinates the noise is equal in every direction of the fit. The length
// of a mean mostly reflects the number of records, so dropping it loses little, needs no public
// length, and no party counts more than another.
type MeansDesign struct {
	to, back *mat.Dense // T and its inverse, d×d
	mean     []float64  // mean of the pool's rows
	classes  int
}

const (
	// meansRadius keeps a cell within 16 bits. Truncation moves a cell by less than 1; at ε = 64,
	// the largest in a plan, noise has a standard deviation of 700 or more.
	meansRadius = 1 << 14
	// meansRidge limits how much T stretches directions of small variance. Rows have norm at most
	// 1.
	meansRidge = 1e-3
	// meansLength is a fixed value for the length of a party's mean: the correlation of class and
	// features, at most 1/2 for two classes, plus the scatter of few records. It scales noise and
	// signal alike, so the release's ridge compensates: on adult, phishing and wisdm_har a quarter
	// to twice this length were as good.
	meansLength = 0.3
)

// MeansL2sq bounds the squared L2 movement of the sum when one party is replaced.
const MeansL2sq = 4 * meansRadius * meansRadius

// MeansMost is the largest magnitude of a party's number.
const MeansMost int64 = meansRadius

// MeansL1 bounds the L1 movement of the sum of vectors with this many cells.
func MeansL1(cells int) int64 {
	return int64(math.Ceil(2 * meansRadius * math.Sqrt(float64(cells)) * (1 + 1e-12)))
}

// MeansInRange reports whether a vector's norm is at most meansRadius, as a party's must be.
func MeansInRange(v []int64) bool {
	left := int64(meansRadius * meansRadius)
	for _, x := range v {
		if x < -meansRadius || x > meansRadius {
			return false
		}
		if left -= x * x; left < 0 {
			return false
		}
	}
	return true
}

// NewMeansDesign makes the design for a pool x (N×d) under row weights (nil: equal).
func NewMeansDesign(x *mat.Dense, weight []float64, classes int) *MeansDesign {
	n, d := x.Dims()
	g := solving.MetricOf(x, weight)
	m := &MeansDesign{to: g.Power(-0.5, 1, meansRidge), back: g.Power(0.5, 1, meansRidge),
		mean: make([]float64, d), classes: classes}
	total := 0.0
	for i := range n {
		total += solving.WeightAt(weight, i)
		floats.AddScaled(m.mean, solving.WeightAt(weight, i), x.RawRowView(i))
	}
	floats.Scale(1/total, m.mean)
	return m
}

// Cells returns the length of a party's vector.
func (m *MeansDesign) Cells() int { return len(m.mean) * learners.Columns(m.classes) }

// NewSum returns a party's empty sum, d×columns.
func (m *MeansDesign) NewSum() *mat.Dense {
	return mat.NewDense(len(m.mean), learners.Columns(m.classes), nil)
}

// Add adds records to a party's sum. x is n×d, mapped. y has classes 0..classes−1; records with −1,
// no label, are ignored.
func (m *MeansDesign) Add(sum, x *mat.Dense, y []int) {
	_, c := sum.Dims()
	for i, class := range y {
		if class < 0 {
			continue
		}
		for j, v := range x.RawRowView(i) {
			if !(math.Abs(v) <= 1) { // no map makes such a value
				continue
			}
			row := sum.RawRowView(j)
			for k := range row {
				row[k] -= v / float64(m.classes)
			}
			if c > 1 {
				row[class] += v
			} else if class == 1 {
				row[0] += v
			}
		}
	}
}

// Direction returns a party's vector; zero if its records do not separate the classes.
func (m *MeansDesign) Direction(sum *mat.Dense) []int64 {
	var white mat.Dense
	white.Mul(m.to, sum)
	out := make([]int64, m.Cells())
	norm := mat.Norm(&white, 2)
	if !(norm > 0) || math.IsInf(norm, 1) {
		return out
	}
	for i, v := range white.RawMatrix().Data {
		// Truncate towards zero. The factor covers the rounding of norm.
		out[i] = int64(v / norm * meansRadius * (1 - 1e-9))
	}
	if !MeansInRange(out) {
		clear(out)
	}
	return out
}

// Mu makes FitVotes' moments (d×learners.Columns(classes)) from the noisy sum of the parties'
// directions: the mean direction times meansLength, plus the pool's mean row over K.
func (m *MeansDesign) Mu(sum []float64, parties float64) (*mat.Dense, error) {
	d, c := len(m.mean), learners.Columns(m.classes)
	if len(sum) != d*c {
		return nil, fmt.Errorf("read a sum of means: have %d numbers, want %d features of %d columns", len(sum), d, c)
	}
	z := mat.NewDense(d, c, nil)
	for j := range d {
		row := z.RawRowView(j)
		for k := range row {
			row[k] = sum[j*c+k] * meansLength / (meansRadius * parties)
		}
		if c > 1 { // a row sums to 0, except for truncation and noise
			solving.Centre(row, 0)
		}
	}
	mu := mat.NewDense(d, c, nil)
	mu.Mul(m.back, z)
	for j, v := range m.mean {
		for k := range c {
			mu.Set(j, k, mu.At(j, k)+v/float64(m.classes))
		}
	}
	return mu, nil
}

// ExactMu returns what Mu returns for a release without noise, if every party's mean gives the
// moments mu.
func (m *MeansDesign) ExactMu(mu *mat.Dense) *mat.Dense {
	// about adds or removes the pool's mean row divided by K
	about := func(from *mat.Dense, sign float64) *mat.Dense {
		out := mat.DenseCopyOf(from)
		out.Apply(func(j, _ int, v float64) float64 {
			return v + sign*m.mean[j]/float64(m.classes)
		}, out)
		return out
	}
	var z, told mat.Dense
	z.Mul(m.to, about(mu, -1))
	if norm := mat.Norm(&z, 2); norm > 0 {
		z.Scale(meansLength/norm, &z)
	}
	told.Mul(m.back, &z)
	return about(&told, 1)
}

// Noise returns the distribution of Mu's noise if every cell of the sum has noise of this variance.
func (m *MeansDesign) Noise(variance, parties float64) Noise {
	f := mat.DenseCopyOf(m.back)
	f.Scale(math.Sqrt(variance)*meansLength/(meansRadius*parties), f)
	return Noise{Factor: f, Centred: m.classes > 2}
}
