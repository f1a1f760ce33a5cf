package aggregation

import (
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
// meansRadius, row-major d × learners.WeightColumns(classes) (for two classes the one column of
// class 1).
//
// Bound. MeansInRange holds for every vector that a party sends: as its last step, PartyVector
// checks this in integers and sends zeros if it fails. So for any records, replacing the party
// moves the sum by at most 2·meansRadius in L2, and √cells times that in L1.
//
// Why directions: in these coordinates the noise is equal in every direction of the fit. The length
// of a mean mostly reflects the number of records, so dropping it loses little, needs no public
// length, and no party counts more than another.
type MeansDesign struct {
	Transform, InverseTransform *mat.Dense // T and its inverse, d×d
	Mean                        []float64  // mean of the pool's rows
	Classes                     int
}

const (
	// meansRadius keeps a cell within 16 bits. Truncation moves a cell by less than 1; at ε = 64,
	// the largest in a plan, noise has a standard deviation of 700 or more.
	meansRadius = 1 << 14
	// meansRidge limits how much T stretches directions of small variance. Rows have norm at most
	// 1.
	meansRidge = 1e-3
)

// MeansL2sq bounds the squared L2 movement of the sum when one party is replaced.
const MeansL2sq = 4 * meansRadius * meansRadius

// MaxMeansEntry is the largest magnitude of a party's number.
const MaxMeansEntry int64 = meansRadius

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
	g := solving.SpectrumOf(x, weight)
	m := &MeansDesign{Transform: g.Power(-0.5, 1, meansRidge),
		InverseTransform: g.Power(0.5, 1, meansRidge),
		Mean:             make([]float64, d), Classes: classes}
	total := 0.0
	for i := range n {
		total += solving.WeightAt(weight, i)
		floats.AddScaled(m.Mean, solving.WeightAt(weight, i), x.RawRowView(i))
	}
	floats.Scale(1/total, m.Mean)
	return m
}

// Cells returns the length of a party's vector.
func (m *MeansDesign) Cells() int { return len(m.Mean) * learners.WeightColumns(m.Classes) }

// NewSum returns a party's empty sum, d×columns.
func (m *MeansDesign) NewSum() *mat.Dense {
	return mat.NewDense(len(m.Mean), learners.WeightColumns(m.Classes), nil)
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
				row[k] -= v / float64(m.Classes)
			}
			if c > 1 {
				row[class] += v
			} else if class == 1 {
				row[0] += v
			}
		}
	}
}

// PartyVector returns a party's vector; zero if its records do not separate the classes.
func (m *MeansDesign) PartyVector(sum *mat.Dense) []int64 {
	var white mat.Dense
	white.Mul(m.Transform, sum)
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
