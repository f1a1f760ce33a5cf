package ratio

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
)

// ratioSystem is an estimator reduced to linear algebra. With h = readᵀg, g the inner products of
// the target with the sets:
//
//	free  = offset + linear·h              unconstrained ratios
//	coefs = coefOffset + coefLinear·h      weights of the model's functions in the fitted mean
//	a     = spread·coefs                   weights of the sets in the fitted mean
//	ratio = argmin over the simplex (ρ−free)ᵀ·metric·(ρ−free)
//
// For class-means the b functions are the class means, and coefs = ratio. For the mixture they are
// the sets.
type ratioSystem struct {
	read       *mat.Dense // M×b
	quadratic  *mat.Dense // b×b, inner products of the functions, unbiased
	linear     *mat.Dense // c×b
	offset     []float64  // c
	metric     *mat.SymDense
	coefLinear *mat.Dense // b×b; nil: coefs are the ratios themselves
	coefOffset []float64
	spread     *mat.Dense // M×b
	// c×c: mean effect of a row of each class on the ratios; the identity if nothing pulls to the
	// training shares
	slope *mat.Dense
}

// spectrumFloor is the smallest eigenvalue kept, relative to the largest. Smaller ones are noise.
const spectrumFloor = 1e-6

func (r ratioProblem) solve(estimator string) (ratioSystem, []Warning, error) {
	switch estimator {
	case embedding.EstimatorClassMeans:
		return r.solveClassMeans()
	case embedding.EstimatorMixture:
		return r.solveMixture(), nil, nil
	}
	return ratioSystem{}, nil, fmt.Errorf("estimator %q is not known: use one of %v", estimator,
		embedding.Estimators())
}

// Noise adds to the squared distance between class means. Only the mean of what it adds is known,
// and takeOff subtracts this mean ν. For a squared distance of 1 and noise in r directions, what it
// adds has standard deviation ν√(2/r): large for the sampling of a wide kernel (r of 5 to 50),
// small for privacy noise (r = D). What remains never falls below a floor of classMeanDeviations of
// these deviations, at most classMeanSignal, because the estimate divides by what remains (Fuller
// 1980 modifies errors in variables likewise). Of .02, .1, .25, .5 and 1 (no correction) for
// classMeanSignal, .5 was best on small simulated sets. On one draw of MNIST embeddings hidden at ρ
// = .05, 4 and 8 deviations were about equally good, and clearly better than 2. Directions at the
// floor pull the estimate towards the training shares; intervals are widened by as much.
const (
	classMeanDeviations = 5
	classMeanSignal     = 0.5
)

// solveClassMeans uses the class means B = ΦA, A = WP̃ᵀS⁻¹, with weights W and S = P̃WP̃ᵀ −
// Σv_iw_iC_i (v from unfitted, C_i the noise covariance of set i's shares). With Gram's V, U, D and
// s, BᵀB is Aᵀ(V + D·s)A − N. N = Aᵀdiag(V−U+D·s+tr(BᵀB·C_i))A is the mean addition of sampling, of
// privacy noise on embeddings, and of noise in P̃ (errors in variables).
func (r ratioProblem) solveClassMeans() (ratioSystem, []Warning, error) {
	c, m := r.shares.Dims()
	var warnings []Warning
	w := r.weights()
	pw := mat.DenseCopyOf(r.shares)
	for k := range c {
		for i := range m {
			pw.Set(k, i, pw.At(k, i)*w[i])
		}
	}
	var s mat.Dense
	s.Mul(pw, r.shares.T())
	corrected, without := mat.DenseCopyOf(&s), mat.DenseCopyOf(&s)
	for i, left := range r.unfitted(&s, w) {
		if cov := r.cov[i]; cov != nil {
			for a := range c {
				for b := range c {
					corrected.Set(a, b, corrected.At(a, b)-left*w[i]*cov.At(a, b))
					without.Set(a, b, without.At(a, b)-w[i]*cov.At(a, b))
				}
			}
		}
	}
	// Corrections are of first order: make none if noise dominates the sets' differences.
	before, after := smallestEigenvalue(&s), smallestEigenvalue(without)
	sound := after >= before/2
	if sound {
		s.CloneFrom(corrected)
	} else {
		warnings = append(warnings, Warning{NoisyShares, after / before, 0.5,
			"the noise on the label counts is as large as the differences between the sets: use larger sets, more different sets or a larger epsilon"})
	}
	var inverse, read mat.Dense
	if err := inverse.Inverse(&s); err != nil {
		high, low := r.singular()
		return ratioSystem{}, warnings, &Refusal{IllPosed, min(high/max(low, 1e-300), 1e300), "the sets' class shares do not differ enough: add sets whose shares differ"}
	}
	read.Mul(pw.T(), &inverse)
	sampling, private := r.noiseParts()
	seen, sampled, perturbed := sandwich(r.seen(), &read), sandwich(sampling,
		&read), sandwich(private, &read)
	var unbiased mat.Dense
	unbiased.Sub(seen, sampled)
	unbiased.Sub(&unbiased, perturbed)
	if sound {
		byShares := r.shareNoise(&unbiased, &read)
		sampled.Add(sampled, byShares)
		unbiased.Sub(&unbiased, byShares)
	}
	q, floored := takeOff(seen, sampled, perturbed, r.rank, float64(r.dim))
	if floored > 0 {
		warnings = append(warnings, Warning{GramNotPositive, floored, 0,
			"most of the difference seen between some classes is sampling or privacy noise, so the estimate is pulled towards the training shares: use more rows, more different sets or another width"})
	}
	metric, pinv, _ := ratioTangent(q)
	// free = u + H⁺(h − Qu), with u the uniform ratio and H⁺ = pinv.
	offset := make([]float64, c)
	for k := range c {
		offset[k] = 1 / float64(c)
		for j := range c {
			for l := range c {
				offset[k] -= pinv.At(k, j) * q.At(j, l) / float64(c)
			}
		}
	}
	var slope mat.Dense
	slope.Mul(pinv, &unbiased)
	out := ratioSystem{
		read: &read, quadratic: &unbiased, linear: mat.DenseCopyOf(pinv), offset: offset,
		metric: metric, spread: mat.DenseCopyOf(&read), slope: &slope,
	}
	return out, warnings, nil
}

// unfitted returns which part of the noise in each of M sets' shares p̃_i a correction of S =
// Σw_ip̃_ip̃_iᵀ should remove: 1 − h_i − w_i, with h_i = w_ip̃_iᵀS⁻¹p̃_i the set's leverage. The
// fit follows the rest of the noise. Removing all noise would make differences between c classes
// too large by 2(c+1)/M of the noise's share of S, to second order (Fuller 1980 has 1 − (c+1)/M).
func (r ratioProblem) unfitted(s *mat.Dense, w []float64) []float64 {
	out := make([]float64, len(w))
	var inverse mat.Dense
	if err := inverse.Inverse(s); err != nil {
		return out // solve refuses a singular S
	}
	for i := range out {
		share := r.shares.ColView(i)
		out[i] = max(1-w[i]*mat.Inner(share, &inverse, share)-w[i], 0)
	}
	return out
}

// shareNoise returns what the noise in P̃ adds to BᵀB (square) on average. To first order the noise
// Δ moves B by −BΔA, A = WP̃ᵀS⁻¹ (read), because S moves with P̃. So the noise adds Σ_i
// tr(BᵀB·C_i)·a_ia_iᵀ, a_i row i of A. Each C_i has row sums 0, so only differences between classes
// enter.
func (r ratioProblem) shareNoise(square, read *mat.Dense) *mat.Dense {
	each := mat.NewDense(r.sets(), r.sets(), nil)
	for i, cov := range r.cov {
		if cov != nil {
			var t mat.Dense
			t.Mul(square, cov)
			each.Set(i, i, max(mat.Trace(&t), 0))
		}
	}
	return sandwich(each, read)
}

// seen returns the Gram of the noisy embeddings, positive semidefinite. noiseParts returns its
// noise.
func (r ratioProblem) seen() *mat.Dense {
	out := mat.DenseCopyOf(r.gram.VStatistic)
	for i, s := range r.noise {
		out.Set(i, i, out.At(i, i)+float64(r.dim)*s)
	}
	return out
}

func (r ratioProblem) noiseParts() (sampling, private *mat.Dense) {
	m := r.sets()
	sampling, private = mat.NewDense(m, m, nil), mat.NewDense(m, m, nil)
	for i, s := range r.noise {
		sampling.Set(i, i, max(r.gram.VStatistic.At(i, i)-r.gram.UStatistic.At(i, i), 0))
		private.Set(i, i, float64(r.dim)*s)
	}
	return sampling, private
}

func sandwich(q, a *mat.Dense) *mat.Dense {
	var t, out mat.Dense
	t.Mul(q, a)
	out.Mul(a.T(), &t)
	return &out
}

// takeOff returns seen − sampled − perturbed, with the floor of classMeanDeviations in each joint
// eigenvector of signal and noise. floored is the largest share of noise at the floor; 0 if no
// direction is there.
func takeOff(seen, sampled, perturbed *mat.Dense, rank, dim float64) (q *mat.Dense,
	floored float64) {
	c, _ := seen.Dims()
	root := pseudoRoot(seen)
	var inverse mat.Dense
	if err := inverse.Inverse(root); err != nil {
		return seen, 1
	}
	sampling, private := sandwich(sampled, &inverse), sandwich(perturbed, &inverse)
	var all mat.Dense
	all.Add(sampling, private)
	values, vectors := symmetricEigen(&all)
	kept := mat.NewDense(c, c, nil)
	for e, v := range values {
		vector := mat.Col(nil, e, vectors)
		s := max(embedding.Dot(vector, ratioMul(sampling, vector)), 0)
		p := max(embedding.Dot(vector, ratioMul(private, vector)), 0)
		floor := min(classMeanDeviations*math.Sqrt(2*(s*s/max(rank, 1)+p*p/max(dim, 1))),
			classMeanSignal)
		left := 1 - v
		if left < floor {
			left = floor
			floored = max(floored, v)
		}
		for i := range c {
			kept.Set(i, e, vector[i]*math.Sqrt(left))
		}
	}
	var half mat.Dense
	half.Mul(root, kept)
	q = mat.NewDense(c, c, nil)
	q.Mul(&half, half.T())
	return q, floored
}

func pseudoRoot(s *mat.Dense) *mat.Dense {
	c, _ := s.Dims()
	values, vectors := symmetricEigen(s)
	half := mat.NewDense(c, c, nil)
	floor := 1e-12 * max(values[c-1], 1e-300)
	for e, v := range values {
		for i := range c {
			half.Set(i, e, vectors.At(i, e)*math.Sqrt(math.Sqrt(max(v, floor))))
		}
	}
	out := mat.NewDense(c, c, nil)
	out.Mul(half, half.T())
	return out
}

// symmetricEigen decomposes the symmetric part of d, smallest eigenvalue first.
func symmetricEigen(d *mat.Dense) ([]float64, *mat.Dense) {
	c, _ := d.Dims()
	s := mat.NewSymDense(c, nil)
	for i := range c {
		for j := range i + 1 {
			s.SetSym(i, j, (d.At(i, j)+d.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	var vectors mat.Dense
	if !eigen.Factorize(s, true) { // fails only for numbers that are not finite
		return make([]float64, c), identity(c)
	}
	eigen.VectorsTo(&vectors)
	return eigen.Values(nil), &vectors
}

// slope returns the mean effect of a row of each class if linear (c×M) maps scores to ratios:
// linear·ΦᵀB, B the least-squares class means.
func (r ratioProblem) slope(linear *mat.Dense) *mat.Dense {
	var square, back, t, out mat.Dense
	square.Mul(r.shares, r.shares.T())
	c := r.classes()
	s := mat.NewSymDense(c, nil)
	for i := range c {
		for j := range i + 1 {
			s.SetSym(i, j, square.At(i, j))
		}
	}
	back.Mul(r.shares.T(), pseudoInverse(s, 1e-12))
	t.Mul(linear, r.gram.UStatistic)
	out.Mul(&t, &back)
	return &out
}

// pull bounds, for each class, how far the estimate is drawn from the truth ρ towards the training
// shares p̄: (slope − I)(ρ − p̄), where the entries of ρ − p̄ sum to zero.
func (r ratioSystem) pull() []float64 {
	c, _ := r.slope.Dims()
	out := make([]float64, c)
	row := make([]float64, c)
	for k := range c {
		copy(row, r.slope.RawRowView(k))
		row[k]--
		out[k] = slices.Max(row) - slices.Min(row)
	}
	return out
}

// solveMixture follows the paper: V-statistic Gram, unconstrained least squares, Euclidean
// projection. A singular Gram gets the minimum-norm α.
func (r ratioProblem) solveMixture() ratioSystem {
	c, m := r.shares.Dims()
	inverse := pseudoInverse(r.gram.VStatistic, 1e-12)
	linear := mat.NewDense(c, m, nil)
	linear.Mul(r.shares, inverse)
	metric := mat.NewSymDense(c, nil)
	for k := range c {
		metric.SetSym(k, k, 1)
	}
	return ratioSystem{
		read: identity(m), quadratic: mat.DenseCopyOf(r.gram.UStatistic), linear: linear, offset: make([]float64, c),
		metric: metric, coefLinear: inverse, coefOffset: make([]float64, m), spread: identity(m),
		slope: r.slope(linear),
	}
}

// ratioTangent restricts q to the directions that sum to zero and raises small eigenvalues there to
// spectrumFloor times the largest. It returns the result, its pseudo-inverse, and the smallest
// eigenvalue over the largest before.
func ratioTangent(q *mat.Dense) (metric, pinv *mat.SymDense, ratio float64) {
	c, _ := q.Dims()
	centred := mat.NewSymDense(c, nil)
	rows, columns := make([]float64, c), make([]float64, c)
	var all float64
	for i := range c {
		for j := range c {
			rows[i] += q.At(i, j) / float64(c)
			columns[j] += q.At(i, j) / float64(c)
			all += q.At(i, j) / float64(c*c)
		}
	}
	for i := range c {
		for j := range i + 1 {
			a := q.At(i, j) - rows[i] - columns[j] + all
			b := q.At(j, i) - rows[j] - columns[i] + all
			centred.SetSym(i, j, (a+b)/2)
		}
	}
	// A lift makes the constant direction the last eigenvector, separate from other null
	// directions.
	metric, pinv = mat.NewSymDense(c, nil), mat.NewSymDense(c, nil)
	lift := 1e-300
	for i := range c {
		for j := range c {
			lift += math.Abs(centred.At(i, j))
		}
	}
	lifted := mat.NewSymDense(c, nil)
	for i := range c {
		for j := range i + 1 {
			lifted.SetSym(i, j, centred.At(i, j)+2*lift/float64(c))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(lifted, true) {
		return metric, pinv, 0
	}
	values := eigen.Values(nil)[:c-1]
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	top := max(values[c-2], 1e-9*lift)
	ratio = values[0] / top
	for e, v := range values {
		v = max(v, spectrumFloor*top)
		metric.SymRankOne(metric, v, vectors.ColView(e))
		pinv.SymRankOne(pinv, 1/v, vectors.ColView(e))
	}
	return metric, pinv, ratio
}

func pseudoInverse(s *mat.SymDense, floor float64) *mat.Dense {
	m := s.SymmetricDim()
	out := mat.NewSymDense(m, nil)
	var eigen mat.EigenSym
	if !eigen.Factorize(s, true) {
		return mat.DenseCopyOf(out)
	}
	values := eigen.Values(nil)
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	for e, v := range values {
		if v > floor*top {
			out.SymRankOne(out, 1/v, vectors.ColView(e))
		}
	}
	return mat.DenseCopyOf(out)
}

func smallestEigenvalue(d *mat.Dense) float64 {
	values, _ := symmetricEigen(d)
	return values[0]
}

func identity(m int) *mat.Dense {
	out := mat.NewDense(m, m, nil)
	for i := range m {
		out.Set(i, i, 1)
	}
	return out
}

func ratioMul(a *mat.Dense, x []float64) []float64 {
	r, _ := a.Dims()
	out := make([]float64, r)
	for i := range out {
		out[i] = embedding.Dot(a.RawRowView(i), x)
	}
	return out
}
