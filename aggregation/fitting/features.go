package fitting

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/dataset"
)

// BinMeans returns the means of a number's bins, nil if the design has none.
func BinMeans(fd *aggregation.FeatureDesign, b dataset.Block, means []float64) []float64 {
	for _, g := range fd.Groups {
		if g.Bins > 0 && g.First == b {
			return means[g.FirstCell : g.FirstCell+g.Width]
		}
	}
	return nil
}

// FeatureMeans returns the mean entries of n records from their released sums, moved to the nearest
// possible means: each in [0,1], and groups with a fixed total summing to 1.
func FeatureMeans(fd *aggregation.FeatureDesign, sums []float64, n float64) ([]float64, error) {
	if len(sums) != fd.Cells() {
		return nil, fmt.Errorf("read feature sums: have %d numbers, want %d", len(sums), fd.Cells())
	}
	out := make([]float64, len(sums))
	for j, v := range sums {
		out[j] = v / (aggregation.SumScale * n)
	}
	for _, g := range fd.Groups {
		project(g, out[g.FirstCell:g.FirstCell+g.Width])
	}
	return out, nil
}

func project(g aggregation.FeatureGroup, means []float64) {
	if g.SumsToOne {
		copy(means, ProjectSimplex(means, 1))
		return
	}
	for k, v := range means {
		means[k] = math.Max(0, math.Min(v, 1))
	}
}

// noiseDraws estimates the deviations of the noise on FeatureMeans to about a tenth.
const noiseDraws = 64

// FeatureNoise returns the law of the noise on means (from FeatureMeans), in the units of the
// design's Rows, for noise of deviation sd (see MeanNoiseSD). Projection changes the noise, so
// fresh public draws around the means are projected too, group by group.
func FeatureNoise(fd *aggregation.FeatureDesign, means []float64, sd float64, laplace bool,
	rng *rand.Rand) Noise {
	if len(fd.Groups) == 0 {
		return Noise{Factor: IsotropicNoise(fd.Cells(), sd).Factor, Laplace: laplace}
	}
	f, scale := mat.NewDense(fd.Cells(), fd.Cells(), nil), 1/fd.MaxRowNorm()
	for _, g := range fd.Groups {
		at := means[g.FirstCell : g.FirstCell+g.Width]
		errors := mat.NewDense(g.Width, noiseDraws, nil)
		raw := IsotropicNoise(g.Width, sd)
		raw.Laplace = laplace
		fresh := raw.Draw(noiseDraws, rng)
		for k := range noiseDraws {
			v := mat.Col(nil, k, fresh)
			floats.Add(v, at)
			project(g, v)
			floats.Sub(v, at)
			errors.SetCol(k, v)
		}
		c := mat.NewSymDense(g.Width, nil)
		c.SymOuterK(scale*scale/noiseDraws, errors)
		f.Slice(g.FirstCell, g.FirstCell+g.Width, g.FirstCell,
			g.FirstCell+g.Width).(*mat.Dense).Copy(squareRoot(c))
	}
	return Noise{Factor: f, Laplace: laplace}
}

// AddSamplingNoise adds sampling to a law of the noise on means: n records are matched by N pool
// rows x (from FeatureDesign.Rows), so it adds the pool's covariance over n and over N. The search
// for λ needs this, because weights also fit the chance deviations of the pool.
func AddSamplingNoise(noise Noise, x *mat.Dense, n float64) Noise {
	rows, cells := x.Dims()
	c := newWeightLaw(x, nil).cov
	c.ScaleSym(1/n+1/float64(rows), c)
	f := mat.NewDense(cells, 2*cells, nil)
	f.Slice(0, cells, 0, cells).(*mat.Dense).Copy(noise.Factor)
	f.Slice(0, cells, cells, 2*cells).(*mat.Dense).Copy(squareRoot(c))
	return Noise{Factor: f, Laplace: noise.Laplace}
}

// RecordsInSums returns the number of records in released sums with a count.
func RecordsInSums(sums []float64) float64 { return sums[len(sums)-1] / aggregation.SumScale }

// AddCountNoise adds the noise of the record count to the distribution of the noise on means. off
// is the count's relative standard deviation. Dividing by a noisy count scales all means alike, so
// the noise gets one more direction, across all groups: half the difference of the means scaled by
// 1±off, projected as in FeatureMeans.
func AddCountNoise(fd *aggregation.FeatureDesign, noise Noise, means []float64, off float64) Noise {
	cells, scale := fd.Cells(), 1/fd.MaxRowNorm()
	up, down := make([]float64, cells), make([]float64, cells)
	floats.ScaleTo(up, 1+off, means)
	floats.ScaleTo(down, 1-off, means)
	for _, g := range fd.Groups {
		project(g, up[g.FirstCell:g.FirstCell+g.Width])
		project(g, down[g.FirstCell:g.FirstCell+g.Width])
	}
	_, have := noise.Factor.Dims()
	f := mat.NewDense(cells, have+1, nil)
	f.Slice(0, cells, 0, have).(*mat.Dense).Copy(noise.Factor)
	for j := range cells {
		f.Set(j, have, (up[j]-down[j])/2*scale)
	}
	return Noise{Factor: f, Laplace: noise.Laplace}
}
