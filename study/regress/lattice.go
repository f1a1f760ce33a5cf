package regress

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/floats"

	"caucus/privacy"
	"caucus/study"
)

// Lattice says which rows of integers are possible, and how far they move the sums of their
// products.
type Lattice struct {
	// One is the constant of each row that counts, a power of two. A standardised number of 1 has
	// as many steps.
	One int64
	// Radius bounds the length of the standardised columns and outcome, U.
	Radius float64
	// Longest bounds the squared length of the columns and outcome in steps, One²·U².
	Longest int64
	// Records is the most records of one unit: 1, or those of a party.
	Records int64
	dim     int // length of a row
}

// Products of a row's numbers are multiplied by these before they are summed up, so that products
// of two different numbers, which stand once in the sums and twice in a matrix, weigh no more than
// twice the squares: 7² ≤ 2·5².
const (
	OfSquare  = 5
	OfProduct = 7
)

const (
	mostOne, leastOne = 1 << 12, 1 << 6
	// radiusSteps is the number of steps of 1 in a radius, so that Longest is exact.
	radiusSteps = 16
	// leastRadius and mostRadius bound U.
	leastRadius, mostRadius = 0.5, 100
	// mostDim bounds the length of a row, which keeps a contribution below 40 kB.
	mostDim = 66
)

// RadiusAbove returns the least possible radius that rows of this length do not exceed.
func RadiusAbove(length float64) float64 {
	return min(max(math.Ceil(length*radiusSteps)/radiusSteps, leastRadius), mostRadius)
}

// lattice returns the finest lattice whose bound fits an int64.
func (t Terms) lattice(p study.Plan, dim int) (Lattice, error) {
	l := Lattice{One: mostOne, Radius: cmp.Or(t.Radius, usualRadius), Records: 1, dim: dim}
	if p.Unit == privacy.Party {
		l.Records = t.PerParty
	}
	r := int64(l.Radius * radiusSteps)
	if !(l.Radius >= leastRadius && l.Radius <= mostRadius) || float64(r) != l.Radius*radiusSteps {
		return l, study.PlanError("regress.radius", "%g: give %g to %d, in steps of 1/%d", l.Radius,
			leastRadius, mostRadius, radiusSteps)
	}
	for ; l.One >= leastOne; l.One /= 2 {
		l.Longest = l.One * l.One * r * r / (radiusSteps * radiusSteps)
		if most := float64(l.Records) * float64(l.Squared()); 50*most*most < math.MaxInt64 {
			return l, nil
		}
	}
	return l, study.PlanError("regress.radius", "%g, with %d records of a party: their bound is too large for an integer; use fewer columns, fewer records, or a smaller radius", l.Radius, l.Records)
}

// Squared returns B, the largest squared length of a row in steps.
func (l Lattice) Squared() int64 { return l.One*l.One + l.Longest }

// Cells returns the number of sums: one for each two of a row's numbers, in the order (0,0), (0,1),
// …, (0,d−1), (1,1), ….
func (l Lattice) Cells() int { return l.dim * (l.dim + 1) / 2 }

// Cell returns the place of the sum of products of numbers i ≤ j of a row.
func (l Lattice) Cell(i, j int) int { return i*l.dim - i*(i-1)/2 + j - i }

// Shorten writes a row to w: One, then the standardised numbers in steps, shortened as one ray to
// Radius and truncated towards zero. It is all 0 if a number is not finite, which no record has.
// The share by which it shortened is returned.
func (l Lattice) Shorten(w []int64, u []float64) float64 {
	norm := floats.Norm(u, 2)
	clear(w)
	if !(norm <= math.MaxFloat64) {
		return 0
	}
	share := 1.
	if norm > l.Radius {
		share = l.Radius / norm
	}
	sum := int64(0)
	for j, v := range u {
		w[1+j] = int64(v * share * float64(l.One))
		sum += w[1+j] * w[1+j]
	}
	// Rounding can make a row longer by a few steps.
	for sum > l.Longest {
		sum = 0
		for j, v := range w[1:] {
			w[1+j] = v - int64(math.Copysign(1, float64(v)))
			if v == 0 {
				w[1+j] = 0
			}
			sum += w[1+j] * w[1+j]
		}
	}
	w[0] = l.One
	return share
}

// Add adds the weighted products of a row's numbers to sums.
func (l Lattice) Add(sums, w []int64) {
	at := 0
	for i, v := range w {
		sums[at] += OfSquare * v * v
		at++
		for _, of := range w[i+1:] {
			sums[at] += OfProduct * v * of
			at++
		}
	}
}

// bounds returns how far the sums move in L1 and in L2² if a unit's records are replaced, and if
// they are removed (Moments).
func (l Lattice) bounds() (privacy.Bound, privacy.Bound) {
	var replaced, removed privacy.Bound
	most, d := l.Records*l.Squared(), float64(l.dim)
	removed.L1 = (7*int64(l.dim) + 3) * ((most + 1) / 2)
	removed.L2sq = 25 * most * most
	replaced.L1 = min(2*removed.L1,
		int64(math.Ceil(float64(most)*math.Sqrt(24.5*d*d+25.5*d)*(1+1e-9))))
	replaced.L2sq = 50 * most * most
	return replaced, removed
}
