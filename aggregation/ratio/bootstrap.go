package ratio

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Bootstrap is Estimate with standard errors from resampled rows, for models
// that compare rows by a kernel. Each draw resamples the target's and every
// set's rows, redraws the noise of the shares, and fits and estimates anew, so
// that, unlike the formula, it sees how noise in the Gram and the shares acts
// through the inverse. The Gram of a resample is taken to first order (Hájek
// projection), which needs one mean kernel value per row and set instead of
// one per pair of rows:
//
//	G*_ij = G_ij + (mean* of row scores of i with j − G_ij) + (the same for j with i).
//
// draws of 200 leave a standard error uncertain by about 7 %.
func (m *Model) Bootstrap(target Set, draws int, rng *rand.Rand) (Estimate, error) {
	if m.options.Fourier != nil {
		return Estimate{}, errors.New("bootstrap ratio: the model holds embeddings, not rows: use Estimate")
	}
	if draws < 20 {
		return Estimate{}, fmt.Errorf("bootstrap ratio: %d draws are too few: use 200", draws)
	}
	out, err := m.Estimate(target)
	if err != nil {
		return out, err
	}
	view, err := m.look(target)
	if err != nil {
		return out, err
	}
	problem, scores := m.problem, m.scores
	if scores == nil { // a model read from JSON
		problem.gram, scores = NewGram(m.options.Kernel, m.rows)
	}
	sets := problem.sets()
	means := make([]*mat.Dense, sets)
	noise := make([]*mat.Dense, sets)
	for i := range sets {
		means[i] = mat.NewDense(1, sets+1, nil)
		if c := problem.cov[i]; c != nil {
			noise[i] = ratioRoot(c)
		}
	}
	free := mat.NewDense(draws, m.classes, nil)
	done := 0
	for range draws {
		draw := problem
		draw.gram = Gram{V: mat.NewSymDense(sets, nil), U: mat.NewSymDense(sets, nil), Self: problem.gram.Self, N: problem.gram.N}
		draw.shares = mat.DenseCopyOf(problem.shares)
		for i, s := range scores {
			resampleMean(means[i].RawRowView(0), s, view.reverse[i], rng)
			if noise[i] != nil {
				z := make([]float64, m.classes)
				for k := range z {
					z[k] = rng.NormFloat64()
				}
				for k, e := range ratioMul(noise[i], z) {
					draw.shares.Set(k, i, draw.shares.At(k, i)+e)
				}
			}
		}
		g := make([]float64, sets)
		at := make([]float64, sets)
		resampleMean(at, view.scores, nil, rng)
		for i := range sets {
			for j := range i + 1 {
				draw.gram.set(i, j, means[i].At(0, j)+means[j].At(0, i)-problem.gram.V.At(i, j))
			}
			g[i] = at[i] + means[i].At(0, sets) - view.g[i]
		}
		system, _, err := draw.solve(m.options.Estimator)
		if err != nil {
			continue
		}
		free.SetRow(done, system.estimate(g).free)
		done++
	}
	if done < draws*9/10 {
		out.Warnings = append(out.Warnings, Warning{IllPosed, float64(done) / float64(draws), 0.9,
			"many resamples could not be solved: the sets barely separate the classes"})
	}
	if done < 2 {
		return out, nil
	}
	// Resampled rows change their labels too, which is no error when the ratios
	// wanted are those of this very set and the sets' shares are known. So the
	// bootstrap tells how much larger the spread is than the formula says with
	// labels redrawn, and that factor is applied to the formula without.
	point := m.system.estimate(view.g)
	within, _ := m.covariance(point, view)
	total := mat.NewSymDense(m.classes, nil)
	total.CopySym(within)
	takeLabels := func(p []float64, f float64) {
		labels := m.system.labelCovariance(p)
		for k := range m.classes {
			total.SetSym(k, k, total.At(k, k)+f*labels.At(k, k))
		}
	}
	takeLabels(point.shares, 1/float64(view.n))
	for i, a := range point.setWeights {
		takeLabels(m.sets[i].Shares, a*a/float64(m.sets[i].N))
	}
	cov := mat.NewSymDense(m.classes, nil)
	for k := range m.classes {
		// Half the range of the middle 68 %: a draw in which the sets happen to
		// separate nothing would rule a variance.
		values := mat.Col(nil, k, kernelRows(free, 0, done))
		slices.Sort(values)
		at := func(q float64) float64 { return values[int(math.Round(q*float64(done-1)))] }
		half := (at(0.8413) - at(0.1587)) / 2
		if total.At(k, k) > 0 {
			cov.SetSym(k, k, half*half*within.At(k, k)/total.At(k, k))
		}
	}
	out.Method, out.NoInterval = "bootstrap", "" // the formula's reasons are not its own
	out.interval(cov, m.options.Confidence, m.system.pull())
	return out, nil
}

// resampleMean fills mean with column means over as many rows of scores drawn
// with replacement; extra, if any, is one more column.
func resampleMean(mean []float64, scores *mat.Dense, extra []float64, rng *rand.Rand) {
	n, _ := scores.Dims()
	clear(mean)
	for range n {
		r := rng.IntN(n)
		for j, v := range scores.RawRowView(r) {
			mean[j] += v / float64(n)
		}
		if extra != nil {
			mean[len(mean)-1] += extra[r] / float64(n)
		}
	}
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

// ratioRoot returns R with RRᵀ = s, for a positive semidefinite s.
func ratioRoot(s *mat.SymDense) *mat.Dense {
	c := s.SymmetricDim()
	out := mat.NewDense(c, c, nil)
	var svd mat.SVD
	if !svd.Factorize(s, mat.SVDThin) {
		return out
	}
	var u mat.Dense
	svd.UTo(&u)
	for j, v := range svd.Values(nil) {
		for i := range c {
			out.Set(i, j, u.At(i, j)*sqrtOrZero(v))
		}
	}
	return out
}
