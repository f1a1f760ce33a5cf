package estimated

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
	"caucus/aggregation/fitting"
	"caucus/aggregation/ratio"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	studyratio "caucus/study/ratio"
)

// estimator reads contributions for the estimators.
type estimator struct{ studyratio.ContributionReader }

// sets returns all contributed sets in the estimators' form. It leaves out sets that are too small
// for an estimate, and returns their number, small, which reveals nothing new: sizes are public or
// released.
func (s estimator) sets(all study.Bodies) (sets []ratio.Set, small int, err error) {
	for body, err := range all {
		if err != nil {
			return nil, 0, err
		}
		b, err := s.Parse(body)
		if err != nil {
			return nil, 0, err
		}
		some, err := s.setsOf(b)
		if err != nil {
			return nil, 0, err
		}
		for k, set := range some {
			if b.Sizes != nil && b.Sizes[k] == 0 {
				continue // the party lacks this set
			}
			if set.EmbeddedRows < 2 {
				small++
				continue
			}
			sets = append(sets, set)
		}
	}
	return sets, small, nil
}

func (s estimator) setsOf(b studyratio.ParsedContribution) ([]ratio.Set, error) {
	if s.Design.Terms.Features == studyratio.FeaturesNoisyEmbedding {
		return s.noisySets(b), nil
	}
	totals := make([]int64, len(b.Sizes))
	for k, n := range b.Sizes {
		totals[k] = int64(n)
	}
	estimates, err := privacy.EstimateCounts(b.Released, totals)
	if err != nil {
		return nil, err
	}
	var out []ratio.Set
	for k, e := range estimates {
		set := ratio.Set{EmbeddedRows: b.Sizes[k]}
		if set.EmbeddedRows >= 2 {
			set.Shares, set.ShareCov = s.shares(e.Counts, e.Covariance, float64(set.EmbeddedRows))
			if b.Rows != nil {
				set.Rows = bodies.ParseFeatures(b.Rows[k], set.EmbeddedRows, s.Plan.Map.Dim())
			} else {
				set.Embedding = s.Design.Embeddings.MeanOfIntegers(b.Sums[k], set.EmbeddedRows)
			}
		}
		out = append(out, set)
	}
	return out, nil
}

// leastSet is the least size of a set, in deviations of the size's noise, under a condition.
const leastSet = 4

// noisySets returns the sets of a release whose counts and sums have independent Gaussian noise. If
// sizes are not public, the sum of a set's noisy counts stands for its size. An error in that sum
// scales the set's shares and embedding by the same factor, which cancels when embeddings are
// regressed on shares. So the covariance leaves out errors in this direction.
func (s estimator) noisySets(b studyratio.ParsedContribution) []ratio.Set {
	d := s.Design
	c := float64(d.Classes)
	countVariance := privacy.VarianceOf(d.Mechanism, d.Bound, 0, 2)
	sumVariance := privacy.VarianceOf(d.Mechanism, d.Bound, 1, 2)
	var out []ratio.Set
	for from := 0; from < len(b.Released.Values); from += d.Block {
		values := b.Released.Values[from : from+d.Block]
		counts, sum := make([]float64, d.Classes), 0.
		for j := range counts {
			counts[j] = float64(values[j])
			sum += counts[j]
		}
		variance, shift := countVariance, 0.
		set := ratio.Set{EmbeddedRows: int(max(0, math.Round(sum)))}
		if b.Sizes != nil {
			set.EmbeddedRows = b.Sizes[from/d.Block]
			shift = (float64(set.EmbeddedRows) - sum) / c
		} else if s.Plan.Where != "" && sum < leastSet*math.Sqrt(c*variance) {
			set.EmbeddedRows = 0 // the party lacks this set, or too few records meet the condition
		}
		if set.EmbeddedRows >= 2 {
			covariance := make([]float64, d.Classes*d.Classes)
			for j := range counts {
				counts[j] += shift
				for k := range counts {
					covariance[j*d.Classes+k] = -variance / c
				}
				covariance[j*d.Classes+j] += variance
			}
			total := 0.
			for _, v := range counts {
				total += v
			}
			for j := range counts {
				counts[j] *= float64(set.EmbeddedRows) / total
			}
			set.Shares, set.ShareCov = s.shares(counts, covariance, float64(set.EmbeddedRows))
			set.Embedding = d.Embeddings.MeanOfIntegers(values[d.Classes:], set.EmbeddedRows)
			scale := d.Embeddings.Scale / float64(set.EmbeddedRows)
			set.Noise = sumVariance * scale * scale
		}
		out = append(out, set)
	}
	return out
}

// shares returns a set's class shares and their covariance. For estimator class-means, which
// averages over sets, the shares are unbiased. For other estimators they are projected onto the
// simplex.
func (s estimator) shares(counts, covariance []float64, n float64) ([]float64, *mat.SymDense) {
	c := len(counts)
	shares := make([]float64, c)
	cov := mat.NewSymDense(c, nil)
	noisy := false
	for j := range shares {
		shares[j] = counts[j] / n
		for k := range j + 1 {
			cov.SetSym(j, k, covariance[j*c+k]/n/n)
			noisy = noisy || covariance[j*c+k] != 0
		}
	}
	if s.Design.Terms.Estimator != embedding.EstimatorClassMeans {
		shares = fitting.ProjectSimplex(shares, 1)
	}
	if !noisy {
		return shares, nil
	}
	return shares, cov
}
