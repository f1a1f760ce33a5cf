package ratio

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
	"caucus/aggregation/fitting"
)

// spreadRows is the number of rows that estimate a variance: its relative error is √(2/500) = 6 %.
const spreadRows = 500

// rowEffects maps scores of rows (n×b) to their effects on the ratios, n×c. The unconstrained
// estimate is offset plus the mean effect.
func (r ratioSystem) rowEffects(scores *mat.Dense) *mat.Dense {
	var h, out mat.Dense
	h.Mul(scores, r.read)
	out.Mul(&h, r.linear.T())
	return &out
}

// withinCovariance returns the covariance of the rows of effects (n×c) minus the classes'
// contribution. On average a row of class k moves the ratios by column k of K = slope (e_k, unless
// the estimate is pulled towards the training shares). So classes of shares p contribute K(diag(p)
// − ppᵀ)Kᵀ. This is not an error, because the ratios wanted are those of this very set.
func (r ratioSystem) withinCovariance(effects *mat.Dense, p []float64) *mat.SymDense {
	n, c := effects.Dims()
	if n < 2 {
		return mat.NewSymDense(c, nil)
	}
	out := covarianceOf(effects)
	between := r.labelCovariance(p)
	for k := range c {
		for l := range k + 1 {
			v := out.At(k, l) - between.At(k, l)
			if k == l {
				v = max(v, 0.01*out.At(k, k)) // the difference of two estimates may go negative
			}
			out.SetSym(k, l, v)
		}
	}
	return out
}

// labelCovariance returns K(diag(p) − ppᵀ)Kᵀ, K the slope. Noisy p are projected first.
func (r ratioSystem) labelCovariance(p []float64) *mat.Dense {
	p = fitting.ProjectSimplex(p, 1)
	c := len(p)
	labels := mat.NewDense(c, c, nil)
	for k := range c {
		for l := range c {
			labels.Set(k, l, -p[k]*p[l])
		}
		labels.Set(k, k, p[k]*(1-p[k]))
	}
	return sandwich(labels, mat.DenseCopyOf(r.slope.T()))
}

func (m *Model) rowSpread() *mat.SymDense {
	if m.scores == nil {
		return nil
	}
	out := mat.NewSymDense(m.classes, nil)
	var total float64
	for _, s := range m.sets {
		total += float64(s.N)
	}
	for i, scores := range m.scores {
		w := m.system.withinCovariance(m.system.rowEffects(everyRow(scores, spreadRows)),
			m.sets[i].Shares)
		w.ScaleSym(float64(m.sets[i].N)/total, w)
		out.AddSym(out, w)
	}
	return out
}

const leaveOneOutLimit = 50

// leaveOneOutSpread estimates the covariance of one row's effect from embeddings alone: the other
// sets estimate each set's shares. The squared error, minus known noise, over 1/n_i + Σa_j²/n_j is
// one draw of the covariance. It returns nil for fewer than 2c + 2 sets.
func (m *Model) leaveOneOutSpread() *mat.SymDense {
	p := m.problem
	total := p.sets()
	if total < 2*m.classes+2 {
		return nil
	}
	out := mat.NewSymDense(m.classes, nil)
	used := 0
	step := max(1, total/leaveOneOutLimit)
	for i := 0; i < total; i += step {
		var others []int
		for j := range total {
			if j != i {
				others = append(others, j)
			}
		}
		part := p.selectSets(others)
		if _, err := part.check(m.options.Estimator != embedding.EstimatorMixture); err != nil {
			continue
		}
		system, _, err := part.solve(m.options.Estimator)
		if err != nil {
			continue
		}
		g := make([]float64, len(others))
		for a, j := range others {
			g[a] = p.gram.UStatistic.At(i, j)
		}
		law := part.laws()
		est := system.estimate(g)
		known := knownCovariance(system, law, est.setWeights, p.noise[i])
		known.AddSym(known, secondOrder(system, law, est.setWeights, float64(p.gram.SetSizes[i]),
			p.noise[i], p.rank, float64(p.dim)))
		factor := 1 / float64(p.gram.SetSizes[i])
		for a, w := range est.setWeights {
			factor += w * w / float64(law[a].N)
		}
		for k := range m.classes {
			for l := range k + 1 {
				e := (est.free[k]-p.shares.At(k, i))*(est.free[l]-p.shares.At(l, i)) - known.At(k,
					l)
				if c := p.cov[i]; c != nil {
					e -= c.At(k, l)
				}
				out.SetSym(k, l, out.At(k, l)+e/factor)
			}
		}
		used++
	}
	if used < m.classes+2 {
		return nil
	}
	out.ScaleSym(1/float64(used), out)
	for k := range m.classes {
		if out.At(k, k) < 0 { // the known noise explains all of the error, so no variance is left
			for l := range m.classes {
				out.SetSym(k, l, 0)
			}
		}
	}
	return out
}

func (r ratioProblem) laws() []ratioSetLaw {
	out := make([]ratioSetLaw, r.sets())
	for i := range out {
		out[i] = ratioSetLaw{N: r.gram.SetSizes[i], Noise: r.noise[i],
			Shares:   mat.Col(nil, i, r.shares),
			ShareCov: r.cov[i],
			Variance: max(r.gram.MeanSelfKernel[i]-r.gram.UStatistic.At(i, i), 0)}
	}
	return out
}

// knownCovariance returns the part of the covariance of the unconstrained ratios that is known
// exactly. With a the weights of the sets it is
//
//	L Q Lᵀ (s_U + Σ a_i² s_i) + Σ a_i² C_i,
//
// L and Q the system's linear and quadratic, s the noise variance of embeddings, C_i the covariance
// of the noise in shares.
func knownCovariance(s ratioSystem, sets []ratioSetLaw, a []float64,
	targetNoise float64) *mat.SymDense {
	c, _ := s.linear.Dims()
	noise := targetNoise
	for i, w := range a {
		noise += w * w * sets[i].Noise
	}
	var t, q mat.Dense
	t.Mul(s.linear, s.quadratic)
	q.Mul(&t, s.linear.T())
	out := mat.NewSymDense(c, nil)
	for k := range c {
		for l := range k + 1 {
			out.SetSym(k, l, noise*(q.At(k, l)+q.At(l, k))/2)
		}
	}
	for i, w := range a {
		if sets[i].ShareCov != nil {
			share := mat.NewSymDense(c, nil)
			share.ScaleSym(w*w, sets[i].ShareCov)
			out.AddSym(out, share)
		}
	}
	return out
}

// EffectiveRank returns (tr C)²/tr C², at least 1, of the covariance C of public rows (n×d) under a
// kernel.
func EffectiveRank(k Kernel, x *mat.Dense) float64 { return effectiveRank(k, []*mat.Dense{x}) }

func effectiveRank(k Kernel, sets []*mat.Dense) float64 {
	rank, _ := spectrumOf(k, sets)
	return rank
}

// spectrumOf returns, for the covariance C of at most 300 embedded rows, (tr C)²/tr C² (the number
// of directions that share the sampling noise) and tr C³/(tr C)³ (how unevenly they share it).
func spectrumOf(k Kernel, sets []*mat.Dense) (rank, third float64) {
	_, d := sets[0].Dims()
	each := max(2, 300/len(sets))
	var rows []float64
	for i, x := range sets {
		if i >= 150 {
			break
		}
		part := everyRow(x, each)
		n, _ := part.Dims()
		for r := range n {
			rows = append(rows, part.RawRowView(r)...)
		}
	}
	n := len(rows) / d
	if n < 4 {
		return 1, 1
	}
	x := mat.NewDense(n, d, rows)
	values := mat.NewDense(n, n, nil)
	values.Mul(x, x.T())
	norms := kernelNorms(x)
	k.finish(values, norms, norms)
	mean := make([]float64, n)
	var all, trace, square float64
	for i := range n {
		for _, v := range values.RawRowView(i) {
			mean[i] += v / float64(n)
			all += v / float64(n*n)
		}
	}
	for i := range n {
		for j := range n {
			v := values.At(i, j) - mean[i] - mean[j] + all
			if i == j {
				trace += v / float64(n)
			} else {
				square += v * v / float64(n*(n-1))
			}
		}
	}
	if square <= 0 {
		return 1, 1
	}
	// Estimate tr C³ from triples of different rows, as tr C² from pairs.
	apart := mat.NewDense(n, n, nil)
	apart.Apply(func(i, j int, v float64) float64 {
		if i == j {
			return 0
		}
		return v - mean[i] - mean[j] + all
	}, values)
	var twice mat.Dense
	twice.Mul(apart, apart)
	cube := 0.0
	for i := range n {
		cube += floats.Dot(twice.RawRowView(i), apart.RawRowView(i))
	}
	cube /= float64(n) * float64(n-1) * float64(n-2)
	rank = max(1, trace*trace/square)
	// For eigenvalues λ ≥ 0 with Σλ = 1 and Σλ² = 1/rank, Σλ³ is between these bounds.
	return rank, min(max(cube/(trace*trace*trace), 1/(rank*rank)), math.Pow(rank, -1.5))
}

// secondOrder returns the covariance that products of noise with noise add for class-means. The
// error of Bᵀ(Φ_U − Bρ) is Bᵀe plus the product of the noise in B with the noise in the residual.
// With Cov_i = s_iI + C/n_i, tr C = τ and tr C² = τ²/r,
//
//	tr(Cov_i Cov_j) = D·s_is_j + (s_i/n_j + s_j/n_i)τ + τ²/(r·n_in_j).
//
// With R the weights of the sets in the class means (M×c), a their weights in the fitted mean, E
// and e_U the errors of Φ and Φ_U, and x = (Cov_U + Σa_i²Cov_i), the covariance of RᵀEᵀ(e_U − Ea)
// is Σ_i R_ikR_il tr(Cov_i x) + Σ_ij R_ika_iR_jla_j tr(Cov_iCov_j), mapped through L.
func secondOrder(s ratioSystem, sets []ratioSetLaw, a []float64,
	n, targetNoise, rank, dim float64) *mat.SymDense {
	c, _ := s.linear.Dims()
	out := mat.NewSymDense(c, nil)
	if s.coefLinear != nil || n < 1 { // other estimators weight sets, not class means
		return out
	}
	var trace float64
	for _, set := range sets {
		trace += set.Variance / float64(len(sets))
	}
	noise, sample := targetNoise, trace/n
	for i, w := range a {
		noise += w * w * sets[i].Noise
		sample += w * w * trace / float64(sets[i].N)
	}
	rank = max(rank, 1)
	product := mat.NewDense(c, c, nil)
	alpha, beta := make([]float64, c), make([]float64, c)
	for i, set := range sets {
		t := trace / float64(set.N)
		each := dim*set.Noise*noise + set.Noise*sample + t*noise + t*sample/rank
		row := s.spread.RawRowView(i)
		for k, x := range row {
			alpha[k] += x * a[i] * set.Noise
			beta[k] += x * a[i] * t
			for l, y := range row {
				product.Set(k, l, product.At(k, l)+x*y*each)
			}
		}
	}
	for k := range c {
		for l := range c {
			product.Set(k, l, product.At(k,
				l)+dim*alpha[k]*alpha[l]+alpha[k]*beta[l]+beta[k]*alpha[l]+beta[k]*beta[l]/rank)
		}
	}
	seen := sandwich(product, mat.DenseCopyOf(s.linear.T()))
	for k := range c {
		for l := range k + 1 {
			out.SetSym(k, l, seen.At(k, l))
		}
	}
	return out
}

func covarianceOf(x *mat.Dense) *mat.SymDense {
	n, c := x.Dims()
	centred := mat.DenseCopyOf(x)
	for k := range c {
		var mean float64
		for i := range n {
			mean += x.At(i, k) / float64(n)
		}
		for i := range n {
			centred.Set(i, k, x.At(i, k)-mean)
		}
	}
	out := mat.NewSymDense(c, nil)
	out.SymOuterK(1/float64(n-1), centred.T())
	return out
}
