package embedding

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Fourier is a public random feature map for the kernel exp(−Gamma‖x−y‖²) (Rahimi & Recht 2007):
// Features numbers a row, in pairs
//
//	φ(x) = √(2/Features)·(cos⟨ω_1,x⟩, sin⟨ω_1,x⟩, cos⟨ω_2,x⟩, …)
//
// Pairs make ‖φ(x)‖ = 1 exactly, at every x. The frequencies ω ([frequencies]) come from
// Seed alone, so the four numbers in a plan determine the map.
type Fourier struct {
	Dim      int     `json:"dim"`      // columns of a row
	Features int     `json:"features"` // even; length of an embedding
	Gamma    float64 `json:"gamma"`
	Seed     uint64  `json:"seed"`
}

// Validate requires Dim ≥ 1, an even Features ≥ 2 and a finite Gamma > 0. Any Seed will do.
func (f Fourier) Validate() error {
	switch {
	case f.Dim < 1:
		return fmt.Errorf("fourier dim = %d: give the number of feature columns", f.Dim)
	case f.Features < 2 || f.Features%2 != 0:
		return fmt.Errorf("fourier features = %d: give an even number, 2,000 is usual", f.Features)
	case !(f.Gamma > 0) || math.IsInf(f.Gamma, 0):
		return fmt.Errorf("fourier gamma = %g: give a positive width", f.Gamma)
	}
	return nil
}

// Embedder computes embeddings. Copy it for concurrent use.
type Embedder struct {
	spec        Fourier
	frequencies *frequencies
	phases      []float64
}

// NewEmbedder draws Features/2 frequencies of length Dim from the map's seed. It fails only where
// Validate does.
func NewEmbedder(f Fourier) (*Embedder, error) {
	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("make embedder: %w", err)
	}
	return &Embedder{
		spec:        f,
		frequencies: drawFrequencies(f.Dim, f.Features/2, f.Gamma, f.Seed),
		phases:      make([]float64, f.Features/2),
	}, nil
}

// Copy returns an embedder with the same frequencies, for another core.
func (e *Embedder) Copy() *Embedder {
	return &Embedder{spec: e.spec, frequencies: e.frequencies.copy(),
		phases: make([]float64, len(e.phases))}
}

// AddTo adds Σ_i φ(x_i) to sum (length Features). x is n×Dim; large sets can be added in blocks.
func (e *Embedder) AddTo(sum []float64, x *mat.Dense) {
	scale := math.Sqrt(2 / float64(e.spec.Features))
	e.each(x, func(_ int, phases []float64) {
		for j, p := range phases {
			s, c := math.Sincos(p)
			sum[2*j] += scale * c
			sum[2*j+1] += scale * s
		}
	})
}

// Mean returns the mean embedding of the rows of x, length Features.
func (e *Embedder) Mean(x *mat.Dense) []float64 {
	sum := make([]float64, e.spec.Features)
	e.AddTo(sum, x)
	n, _ := x.Dims()
	for j := range sum {
		sum[j] /= float64(n)
	}
	return sum
}

// Scores returns ⟨φ(x_i), anchor_j⟩, n × a, for anchors a × Features, and the rows' mean embedding.
// It holds one embedding at a time.
func (e *Embedder) Scores(x, anchors *mat.Dense) (scores *mat.Dense, mean []float64) {
	n, _ := x.Dims()
	a, _ := anchors.Dims()
	scores = mat.NewDense(n, a, nil)
	mean = make([]float64, e.spec.Features)
	scale := math.Sqrt(2 / float64(e.spec.Features))
	row := make([]float64, e.spec.Features)
	e.each(x, func(i int, phases []float64) {
		for j, p := range phases {
			s, c := math.Sincos(p)
			row[2*j], row[2*j+1] = scale*c, scale*s
		}
		for j, v := range row {
			mean[j] += v / float64(n)
		}
		for j := range a {
			scores.Set(i, j, Dot(row, anchors.RawRowView(j)))
		}
	})
	return scores, mean
}

func (e *Embedder) each(x *mat.Dense, visit func(i int, phases []float64)) {
	n, _ := x.Dims()
	for i := range n {
		e.frequencies.project(e.phases, x.RawRowView(i))
		visit(i, e.phases)
	}
}

// Lattice is the public grid on which embeddings are summed as integers: each cos/sin pair of a row
// becomes a pair of integers of norm at most Radius.
type Lattice struct {
	Radius int64 // 1 .. 2^30; usually DefaultLattice
}

// DefaultLattice has a rounding error below 2⁻²⁰ of a row and keeps sums of 2^40 rows inside int64.
func DefaultLattice() Lattice { return Lattice{Radius: 1 << 20} }

// IntegerBound bounds how far replacing one row moves an integer embedding sum. Scale/n times the
// sum of n rows is a mean embedding.
type IntegerBound struct {
	L1, L2sq int64
	Cells    int
	Scale    float64
}

// Bound returns the bounds for the map. Each of p = Features/2 pairs has norm at most R, so two
// rows differ by at most 2R per pair: ‖Δ‖₂² ≤ p(2R)² and ‖Δ‖₁ ≤ p·√2·2R, rounded up. The bounds
// hold for any integers of such norms, independently of kernel, floating point and data.
func (l Lattice) Bound(f Fourier) (IntegerBound, error) {
	if err := f.Validate(); err != nil {
		return IntegerBound{}, fmt.Errorf("bound embedding: %w", err)
	}
	pairs := int64(f.Features / 2)
	if l.Radius < 1 || l.Radius > 1<<30 {
		return IntegerBound{}, fmt.Errorf("bound embedding: lattice radius = %d: give 1 to 2^30", l.Radius)
	}
	perPair := 4 * l.Radius * l.Radius
	if perPair > math.MaxInt64/pairs {
		return IntegerBound{}, fmt.Errorf("bound embedding: %d features on a lattice of radius %d overflow int64: take a smaller radius", f.Features, l.Radius)
	}
	// 2√2 < 2.8284272, so l1 is rounded up, in integers.
	l1 := (l.Radius*28284272 + 9999999) / 10000000 * pairs
	return IntegerBound{
		L1: l1, L2sq: perPair * pairs, Cells: f.Features,
		Scale: math.Sqrt(2/float64(f.Features)) / float64(l.Radius),
	}, nil
}

// AddIntegersTo adds Σ_i z(x_i) to sum (length Features), z(x) the row's embedding on the lattice,
// truncated towards zero, each pair's norm checked in integers. The order of rows does not change
// the sum.
func (e *Embedder) AddIntegersTo(sum []int64, x *mat.Dense, l Lattice) {
	radius := float64(l.Radius)
	e.each(x, func(_ int, phases []float64) {
		for j, p := range phases {
			s, c := math.Sincos(p)
			a, b := latticePair(radius*c, radius*s, l.Radius)
			sum[2*j] += a
			sum[2*j+1] += b
		}
	})
}

// latticePair truncates (c, s) and guarantees a² + b² ≤ radius². NaN becomes (0, 0).
func latticePair(c, s float64, radius int64) (a, b int64) {
	limit := float64(radius)
	if !(math.Abs(c) <= limit) || !(math.Abs(s) <= limit) {
		return 0, 0
	}
	a, b = int64(c), int64(s)
	for a*a+b*b > radius*radius { // cos or sin was rounded outwards
		if a*a >= b*b {
			a -= fourierSign(a)
		} else {
			b -= fourierSign(b)
		}
	}
	return a, b
}

func fourierSign(a int64) int64 {
	if a < 0 {
		return -1
	}
	return 1
}

// MeanOfIntegers turns a (noisy) integer sum of n rows into a mean embedding. Noise of variance v
// on each integer has variance v·(Scale/n)² on the mean.
func (i IntegerBound) MeanOfIntegers(sum []int64, n int) []float64 {
	out := make([]float64, len(sum))
	for j, v := range sum {
		out[j] = float64(v) * i.Scale / float64(n)
	}
	return out
}

// Dot returns the inner product of two rows of one length.
func Dot(a, b []float64) float64 {
	var sum float64
	for j, v := range a {
		sum += v * b[j]
	}
	return sum
}
