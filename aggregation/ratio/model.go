package ratio

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
	"caucus/aggregation/fitting"
)

// Set is one set of records with known or noisy label shares. The target has no shares. Give Rows
// or Embedding.
type Set struct {
	Rows         *mat.Dense // n×d
	Embedding    []float64  // mean Fourier embedding, length Features
	EmbeddedRows int        // rows behind Embedding; ignored if Rows are given

	// Noise is the variance of the privacy noise on each coordinate of Embedding: v·(Scale/n)² for
	// variance v on the integer sum.
	Noise float64

	// Shares are the label shares of this very set, length c, sum 1. Noisy shares may be given
	// before projection onto the simplex (unbiased; best for class-means) or after it. ShareCov is
	// the covariance of their noise, with row sums zero because shares sum to 1; nil if exact.
	Shares   []float64
	ShareCov *mat.SymDense
}

// Options say how sets are compared. Set exactly one of Kernel and Fourier. With a kernel the model
// compares and keeps rows; with a Fourier map it compares and keeps mean embeddings.
type Options struct {
	Estimator  string // "" means EstimatorClassMeans
	Kernel     Kernel
	Fourier    *embedding.Fourier
	Confidence float64 // confidence of each class's interval; 0 means 0.95

	// EffectiveRank is the EffectiveRank of public rows, for sets given as embeddings alone. It
	// determines how much sampling noise varies around its mean. 0: computed from the sets' rows,
	// or a cautious guess without rows.
	EffectiveRank float64
}

// Validate requires exactly one of Kernel and Fourier, Confidence in [0,1) and EffectiveRank 0 or
// at least
// 1. It does not look at Estimator: Fit does.
func (o Options) Validate() error {
	if o.Confidence < 0 || o.Confidence >= 1 {
		return fmt.Errorf("ratio confidence = %g: give a number in (0,1), or 0 for 0.95", o.Confidence)
	}
	if o.EffectiveRank != 0 && !(o.EffectiveRank >= 1 && o.EffectiveRank <= 1e9) {
		return fmt.Errorf("ratio rank = %g: give EffectiveRank of public rows, at least 1, or 0", o.EffectiveRank)
	}
	if (o.Fourier != nil) == (o.Kernel.Name != "") {
		return fmt.Errorf("ratio options: give either a kernel or a Fourier map")
	}
	if o.Fourier != nil {
		return o.Fourier.Validate()
	}
	return o.Kernel.Validate()
}

// Model estimates the class ratios of unlabelled sets. Fit makes it; it is read-only and marshals
// to JSON. With a Fourier map it holds mean embeddings (for class-means those of the classes),
// never rows.
type Model struct {
	options Options
	classes int
	system  ratioSystem
	anchors *mat.Dense   // embeddings, b×D, with which a target is compared; nil with a kernel
	rows    []*mat.Dense // with a kernel: the rows of the sets, with which a target is compared
	sets    []ratioSetLaw
	// within-class covariance of one set row's effect on the ratios, c×c; nil if unknown
	spread *mat.SymDense
	// spread was estimated by leaving sets out; a target's rows give a better estimate
	indirect bool
	rank     float64 // effective rank of the rows' embeddings, ≥ 1
	warnings []Warning
	number   float64 // see Condition

	problem ratioProblem // problem and scores are only for fitting, and are not in JSON
	scores  []*mat.Dense
}

type ratioSetLaw struct {
	N        int           `json:"n"`
	Variance float64       `json:"variance"` // trace of the covariance of one row's embedding
	Noise    float64       `json:"noise,omitempty"`
	Shares   []float64     `json:"shares"`
	ShareCov *mat.SymDense `json:"-"`
}

// Options returns those of the fit. The pointer Fourier is shared: do not change what it points to.
func (m *Model) Options() Options { return m.options }

// Sets returns the sizes and shares of the fitted sets, without their features.
func (m *Model) Sets() []Set {
	var out []Set
	for _, s := range m.sets {
		out = append(out, Set{EmbeddedRows: s.N, Shares: s.Shares, ShareCov: s.ShareCov})
	}
	return out
}

// Classes is c, the length of each estimate of shares.
func (m *Model) Classes() int { return m.classes }

// Warnings are those of the fit, whatever the target; an estimate may add its own. The slice is the
// model's own.
func (m *Model) Warnings() []Warning { return m.warnings }

// Condition returns the factor by which errors of the embeddings grow in the published error bound:
// the largest singular value of the shares P̂ over the smallest of Â, the Gram of the sets.
func (m *Model) Condition() float64 { return m.number }

// TrainingShares returns the class shares of all sets together, the baseline of every estimate.
func (m *Model) TrainingShares() []float64 {
	out := make([]float64, m.classes)
	var n float64
	for _, s := range m.sets {
		for k, p := range s.Shares {
			out[k] += float64(s.N) * p
		}
		n += float64(s.N)
	}
	for k := range out {
		out[k] /= n
	}
	return fitting.ProjectSimplex(out, 1)
}

// Fit prepares the estimation of class ratios from sets whose label shares are known. It returns a
// *Refusal if no estimate is possible: a class in no set, equal shares in all sets, fewer sets than
// classes, or a set of fewer than two rows.
//
// It assumes that P(x|y) is the same in every set and in the target, and only shares differ.
// Estimate tests this.
func Fit(sets []Set, o Options) (*Model, error) {
	o.Estimator, o.Confidence = cmp.Or(o.Estimator, embedding.EstimatorClassMeans),
		cmp.Or(o.Confidence,
			0.95)
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("fit ratio: %w", err)
	}
	m := &Model{options: o}
	if err := m.describe(sets); err != nil {
		return nil, fmt.Errorf("fit ratio: %w", err)
	}
	warnings, err := m.problem.check(o.Estimator != embedding.EstimatorMixture)
	if err != nil {
		return nil, fmt.Errorf("fit ratio: %w", err)
	}
	system, more, err := m.problem.solve(o.Estimator)
	if err != nil {
		return nil, fmt.Errorf("fit ratio: %w", err)
	}
	m.system = system
	m.warnings = append(warnings, more...)
	m.number = m.problem.condition()
	m.spread = m.rowSpread()
	if m.spread == nil {
		m.spread, m.indirect = m.leaveOneOutSpread(), true
	}
	if o.Fourier != nil && o.Estimator == embedding.EstimatorClassMeans {
		m.collapse()
	}
	return m, nil
}

func (m *Model) describe(sets []Set) error {
	if len(sets) == 0 {
		return &Refusal{TooFewSets, 0, "give sets with label shares"}
	}
	m.classes = len(sets[0].Shares)
	if m.classes < 2 {
		return &Refusal{ShapeMismatch, float64(m.classes), "each set needs the shares of at least two classes"}
	}
	p := ratioProblem{shares: mat.NewDense(m.classes, len(sets), nil)}
	for i, s := range sets {
		if err := checkSet(s, i, 2, m.options); err != nil {
			return err
		}
		if len(s.Shares) != m.classes {
			return &Refusal{ShapeMismatch, float64(i),
				fmt.Sprintf("set %d has shares of %d classes, set 0 of %d", i, len(s.Shares),
					m.classes)}
		}
		var sum float64
		for k, v := range s.Shares {
			p.shares.Set(k, i, v)
			sum += v
		}
		if !(math.Abs(sum-1) < 1e-6) {
			return &Refusal{ShapeMismatch, sum, fmt.Sprintf("the shares of set %d do not sum to 1: divide the counts by the set's size", i)}
		}
		if s.ShareCov != nil && s.ShareCov.SymmetricDim() != m.classes {
			return &Refusal{ShapeMismatch, float64(i),
				fmt.Sprintf("the share covariance of set %d is not %d×%d", i, m.classes, m.classes)}
		}
		p.cov = append(p.cov, s.ShareCov)
		p.noise = append(p.noise, s.Noise)
	}
	if m.options.Fourier == nil {
		_, d := sets[0].Rows.Dims()
		for i, s := range sets {
			if _, di := s.Rows.Dims(); di != d {
				return &Refusal{ShapeMismatch, float64(i),
					fmt.Sprintf("set %d has %d columns, set 0 has %d", i, di, d)}
			}
			m.rows = append(m.rows, s.Rows)
		}
		p.gram, m.scores = NewGram(m.options.Kernel, m.rows)
		p.rank = effectiveRank(m.options.Kernel, m.rows)
	} else if err := m.embed(sets, &p); err != nil {
		return err
	}
	for i, s := range sets {
		m.sets = append(m.sets, ratioSetLaw{
			N: p.gram.SetSizes[i], Variance: max(p.gram.MeanSelfKernel[i]-p.gram.UStatistic.At(i, i), 0),
			Noise: s.Noise, Shares: s.Shares, ShareCov: s.ShareCov,
		})
	}
	if m.options.EffectiveRank >= 1 {
		p.rank = m.options.EffectiveRank
	}
	m.problem, m.rank = p, p.rank
	return nil
}

// unknownRank is the effective rank assumed without rows, cautiously below that of any useful RBF
// kernel.
const unknownRank = 4

func (m *Model) embed(sets []Set, p *ratioProblem) error {
	f := *m.options.Fourier
	p.dim = f.Features
	m.anchors = mat.NewDense(len(sets), f.Features, nil)
	n, self := make([]int, len(sets)), make([]float64, len(sets))
	var embedder *embedding.Embedder
	complete := true
	for i, s := range sets {
		n[i], self[i] = s.EmbeddedRows, 1
		if s.Rows == nil {
			m.anchors.SetRow(i, s.Embedding)
			complete = false
			continue
		}
		if embedder == nil {
			var err error
			if embedder, err = embedding.NewEmbedder(f); err != nil {
				return err
			}
		}
		n[i], _ = s.Rows.Dims()
		m.anchors.SetRow(i, embedder.Mean(s.Rows))
	}
	p.rank = unknownRank
	p.gram = EmbeddingGram(m.anchors, n, self, p.noise)
	if complete { // all sets have rows: a sample shows how much one row moves the ratios
		var sample []*mat.Dense
		for _, s := range sets {
			rows := everyRow(s.Rows, spreadRows)
			scores, _ := embedder.Scores(rows, m.anchors)
			m.scores = append(m.scores, scores)
			sample = append(sample, rows)
		}
		p.rank = effectiveRank(RBF(f.Gamma), sample)
	}
	return nil
}

// collapse replaces the M sets' embeddings by those of the c classes. class-means needs no more.
func (m *Model) collapse() {
	var b mat.Dense
	b.Mul(m.system.read.T(), m.anchors)
	m.anchors = &b
	m.system.read = identity(m.classes)
	m.scores = nil
}

func checkSet(s Set, i, least int, o Options) error {
	n := s.EmbeddedRows
	if s.Rows != nil {
		n, _ = s.Rows.Dims()
	}
	switch {
	case s.Rows == nil && s.Embedding == nil:
		return &Refusal{SetTooSmall, 0, fmt.Sprintf("set %d has neither rows nor an embedding", i)}
	case s.Rows == nil && o.Fourier == nil:
		return &Refusal{ShapeMismatch, float64(i), fmt.Sprintf("set %d has only an embedding: fit with the Fourier map that made it", i)}
	case s.Rows == nil && len(s.Embedding) != o.Fourier.Features:
		return &Refusal{ShapeMismatch, float64(len(s.Embedding)), fmt.Sprintf("the embedding of set %d has not the %d numbers of the map", i, o.Fourier.Features)}
	case n < least:
		return &Refusal{SetTooSmall, float64(n), fmt.Sprintf("set %d needs at least %d rows: the unbiased Gram compares different rows", i, least)}
	case s.Noise < 0 || math.IsNaN(s.Noise):
		return &Refusal{ShapeMismatch, s.Noise, fmt.Sprintf("the noise variance of set %d must be zero or more", i)}
	}
	if s.Rows != nil && o.Fourier != nil {
		if _, d := s.Rows.Dims(); d != o.Fourier.Dim {
			return &Refusal{ShapeMismatch, float64(d), fmt.Sprintf("set %d has not the %d columns of the Fourier map", i, o.Fourier.Dim)}
		}
	}
	for _, v := range s.Embedding {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return &Refusal{ShapeMismatch, float64(i),
				fmt.Sprintf("the embedding of set %d is not finite", i)}
		}
	}
	return nil
}

// everyRow returns at most limit rows of x, evenly spaced.
func everyRow(x *mat.Dense, limit int) *mat.Dense {
	n, d := x.Dims()
	if n <= limit {
		return x
	}
	out := mat.NewDense(limit, d, nil)
	for i := range limit {
		out.SetRow(i, x.RawRowView(i*n/limit))
	}
	return out
}
