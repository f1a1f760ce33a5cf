package learners

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// blockRows is the number of rows that are scored at a time. A block is then still in the nearest
// caches when the gradient needs it, and smaller than the four 64-row tiles at which gonum starts
// goroutines.
const blockRows = 128

// rowLoss is the loss of one row, in which the risks differ.
type rowLoss interface {
	// row returns the weighted loss of row i. It overwrites the C scores with the derivatives.
	row(i int, scores []float64) float64
}

// sweep is the common part of risks: a weighted mean over rows of a loss of linear scores, its
// gradient, and a preconditioner. It belongs to one matrix and one vector of weights.
type sweep struct {
	x       blas64.General // N×d
	weight  []float64      // v, nil for 1 each
	columns int            // C
	total   float64        // Σv
	weights []float64      // C×d, transposed because long products are faster
	grad    []float64      // C×d
	scores  []float64      // blockRows×C

	gram   []float64 // d×d: Σ v x xᵀ / Σv, upper half; nil until needed
	factor blas64.Triangular
	ridge  float64 // the ridge for which factor was computed
	sound  bool
}

func newSweep(x *mat.Dense, weight []float64, columns int) *sweep {
	raw := x.RawMatrix()
	if weight != nil && len(weight) != raw.Rows {
		panic(fmt.Sprintf("learners: %d row weights for %d rows", len(weight), raw.Rows))
	}
	return &sweep{
		x:       raw,
		weight:  weight,
		columns: columns,
		total:   weightSum(weight, raw.Rows),
		weights: make([]float64, columns*raw.Cols),
		grad:    make([]float64, columns*raw.Cols),
		scores:  make([]float64, min(blockRows, raw.Rows)*columns),
	}
}

func (s *sweep) of(x *mat.Dense, weight []float64, columns int) bool {
	if s == nil {
		return false
	}
	raw := x.RawMatrix()
	return same(raw.Data, s.x.Data) && raw.Rows == s.x.Rows && raw.Cols == s.x.Cols &&
		same(weight, s.weight) && columns == s.columns
}

// same reports whether two slices share their memory.
func same(a, b []float64) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// run returns (1/Σv)·Σ loss and adds its gradient to grad; w and grad are d×C.
func (s *sweep) run(l rowLoss, w, grad []float64) float64 {
	if s.total == 0 {
		return 0
	}
	d, c := s.x.Cols, s.columns
	for j := range d {
		for k := range c {
			s.weights[k*d+j] = w[j*c+k]
		}
	}
	clear(s.grad)
	value := 0.0
	for first := 0; first < s.x.Rows; first += blockRows {
		block := s.x
		block.Rows = min(blockRows, s.x.Rows-first)
		block.Data = s.x.Data[first*s.x.Stride:]
		scores := s.scores[:block.Rows*c]
		s.score(block, scores)
		for i := range block.Rows {
			value += l.row(first+i, scores[i*c:(i+1)*c])
		}
		s.collect(block, scores)
	}
	for j := range d {
		for k := range c {
			grad[j*c+k] += s.grad[k*d+j] / s.total
		}
	}
	return value / s.total
}

func (s *sweep) score(block blas64.General, scores []float64) {
	d, c := s.x.Cols, s.columns
	if c == 1 {
		blas64.Gemv(blas.NoTrans, 1, block, blas64.Vector{N: d, Inc: 1, Data: s.weights},
			0, blas64.Vector{N: block.Rows, Inc: 1, Data: scores})
		return
	}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, block,
		blas64.General{Rows: c, Cols: d, Stride: d, Data: s.weights},
		0, blas64.General{Rows: block.Rows, Cols: c, Stride: c, Data: scores})
}

func (s *sweep) collect(block blas64.General, slopes []float64) {
	d, c := s.x.Cols, s.columns
	if c == 1 {
		blas64.Gemv(blas.Trans, 1, block, blas64.Vector{N: block.Rows, Inc: 1, Data: slopes},
			1, blas64.Vector{N: d, Inc: 1, Data: s.grad})
		return
	}
	blas64.Gemm(blas.Trans, blas.NoTrans, 1,
		blas64.General{Rows: block.Rows, Cols: c, Stride: c, Data: slopes}, block,
		1, blas64.General{Rows: c, Cols: d, Stride: d, Data: s.grad})
}

// worthFactoring compares costs: a factor of the Gram matrix takes N·d² + d³/3, a sweep 4·N·d·C.
// With few rows and many features factoring takes longer than it saves.
func (s *sweep) worthFactoring() bool {
	n, d := s.x.Rows, s.x.Cols
	return d <= 64 || d <= 512 && n >= 4*d
}

// precondition overwrites g (d×C) with P⁻¹g, P = curve·(Σ v·x·xᵀ)/Σv + ridge·I, where curve is a
// typical second derivative of the loss by a score.
func (s *sweep) precondition(g []float64, curve, ridge float64) {
	if !s.worthFactoring() {
		return
	}
	if s.gram == nil || ridge != s.ridge {
		s.refactor(curve, ridge)
	}
	if !s.sound {
		return
	}
	if s.columns == 1 {
		v := blas64.Vector{N: s.x.Cols, Inc: 1, Data: g}
		blas64.Trsv(blas.Trans, s.factor, v)
		blas64.Trsv(blas.NoTrans, s.factor, v)
		return
	}
	m := blas64.General{Rows: s.x.Cols, Cols: s.columns, Stride: s.columns, Data: g}
	blas64.Trsm(blas.Left, blas.Trans, 1, s.factor, m)
	blas64.Trsm(blas.Left, blas.NoTrans, 1, s.factor, m)
}

// nullShare keeps P positive definite without a ridge: a direction in which no row varies gets this
// share of the mean curvature.
const nullShare = 1e-7

func (s *sweep) refactor(curve, ridge float64) {
	d := s.x.Cols
	if s.gram == nil {
		s.gram = s.weightedGram()
	}
	s.ridge = ridge
	data := make([]float64, d*d)
	trace := 0.0
	for j := range d {
		trace += s.gram[j*d+j]
	}
	floor := curve * nullShare * trace / float64(d)
	for i, v := range s.gram {
		data[i] = curve * v
	}
	for j := range d {
		data[j*d+j] += ridge + floor
	}
	s.factor, s.sound = lapack64.Potrf(blas64.Symmetric{N: d, Stride: d, Data: data,
		Uplo: blas.Upper})
}

func (s *sweep) weightedGram() []float64 {
	d := s.x.Cols
	gram := blas64.Symmetric{N: d, Stride: d, Data: make([]float64, d*d), Uplo: blas.Upper}
	if s.total == 0 {
		return gram.Data
	}
	if s.weight == nil {
		blas64.Syrk(blas.Trans, 1/s.total, s.x, 0, gram)
		return gram.Data
	}
	for i, v := range s.weight {
		row := blas64.Vector{N: d, Inc: 1, Data: s.x.Data[i*s.x.Stride : i*s.x.Stride+d]}
		blas64.Syr(v/s.total, row, gram)
	}
	return gram.Data
}
