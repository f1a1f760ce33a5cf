package fitting

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"caucus/aggregation"
	"caucus/aggregation/solving"
)

// QueryEstimate estimates the mean of a query over the private records, with its sources of error.
type QueryEstimate struct {
	Estimate float64 `json:"estimate"`
	// Standard deviations, to first order, of four errors. NoiseSD comes from the privacy noise,
	// RemainingSD from the difference that remains between weighted and released means,
	// PoolSamplingSD from sampling the pool. RecordSamplingSD comes from sampling the private
	// records, and concerns the part of the query that features do not explain.
	NoiseSD          float64 `json:"noise_sd"`
	RemainingSD      float64 `json:"left_sd"`
	PoolSamplingSD   float64 `json:"sampling_sd"`
	RecordSamplingSD float64 `json:"records_sd"`
	// ShiftSD is the standard deviation of the expected bias (see UnreleasedShift). The expectation
	// assumes that pool and private records differ in the unexplained part of the query as much as
	// in the unexplained part of each column. No released number bounds the bias.
	ShiftSD float64 `json:"shift_sd"`
	// R2 is the adjusted share of the query's variance in the pool that the features explain
	// linearly. MovedByWeights is the standard deviation of the weights.
	R2             float64 `json:"r_squared"`
	MovedByWeights float64 `json:"distance_moved"`
	// Low and High are the 95 % interval. If there is none, Caveat gives the reason.
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Caveat string   `json:"no_interval,omitempty"`
}

// leastR2 is the least R2 of an answer with an interval, from the simulations in docs/reweigh.md.
const leastR2 = 0.25

// EstimateMean estimates the mean of b, one number per pool row: Σwb/Σw.
//
// A change δ of the tilt β moves the estimate by about ⟨g, δ⟩, g the weighted covariance of b with
// x, so noise of covariance factor·factorᵀ in β adds variance ‖factorᵀg‖². Sampling is the error of
// a self-normalised mean (of the residual of b on x if the weights are calibrated to x). Sampling n
// private records from the weighted pool's law adds 1/n of the residual's variance.
//
// The interval covers all these errors and the shift that Untold estimates, by Student's t with
// UnreleasedShift.Columns degrees of freedom. Each error is cut at its largest possible value,
// because under much noise the first-order formula exceeds that.
func (w *WeightErrors) EstimateMean(b []float64, u UnreleasedShift) QueryEstimate {
	n, d := w.x.Dims()
	total := w.x.Total(w.weight)
	a := QueryEstimate{Estimate: stat.Mean(b, w.weight), R2: lawOf(w.x, nil).explained(b)}
	g := w.with(b, a.Estimate)
	if w.factor != nil {
		var moved mat.VecDense
		moved.MulVec(w.factor.T(), g)
		a.NoiseSD = mat.Norm(&moved, 2)
	}
	slope := mat.NewVecDense(d, nil)
	if w.slope != nil {
		slope.MulVec(w.slope, g)
	}
	squares, left := 0.0, 0.0
	fitted := make([]float64, n)
	w.x.Times(fitted, slope.RawVector().Data)
	centre := floats.Dot(slope.RawVector().Data, w.mean)
	for i := range n {
		r := b[i] - a.Estimate - (fitted[i] - centre)
		share := solving.WeightAt(w.weight, i) / total
		squares += r * share * r * share
		left += r * share * r
		a.MovedByWeights += (share*float64(n) - 1) * (share*float64(n) - 1) / float64(n)
	}
	a.PoolSamplingSD, a.MovedByWeights = math.Sqrt(squares), math.Sqrt(a.MovedByWeights)
	a.RecordSamplingSD, a.ShiftSD = math.Sqrt(left/u.Records), u.Shift*math.Sqrt(left)
	for j, gap := range u.gap(w.mean) {
		a.RemainingSD += slope.AtVec(j) * gap
	}
	a.RemainingSD = math.Abs(a.RemainingSD)
	least, most := slices.Min(b), slices.Max(b)
	farthest := max(a.Estimate-least, most-a.Estimate) // the largest possible error
	for _, part := range []*float64{&a.NoiseSD, &a.RemainingSD, &a.PoolSamplingSD,
		&a.RecordSamplingSD, &a.ShiftSD} {
		*part = min(*part, farthest)
	}
	switch {
	case u.Columns == 0:
		a.Caveat = "the release does not say the features' means, from which one could tell how far pool and private records differ"
	case w.slope == nil:
		a.Caveat = "the noise left nothing better than equal weights: the answer is the pool's own"
	case !(a.R2 >= leastR2):
		a.Caveat = "the features tell too little of the query in the pool: how the private records differ in the rest, nothing says"
	default:
		sd := math.Sqrt(a.NoiseSD*a.NoiseSD + a.RemainingSD*a.RemainingSD +
			a.PoolSamplingSD*a.PoolSamplingSD +
			a.RecordSamplingSD*a.RecordSamplingSD + a.ShiftSD*a.ShiftSD)
		by := sd * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(u.Columns)}.Quantile(0.975)
		low, high := max(a.Estimate-by, least), min(a.Estimate+by, most)
		a.Low, a.High = &low, &high
	}
	return a
}

// with returns the weighted covariance of b, whose weighted mean is mean, with each column of the
// rows.
func (w *WeightErrors) with(b []float64, mean float64) *mat.VecDense {
	n, d := w.x.Dims()
	moved := make([]float64, n)
	for i := range n {
		moved[i] = solving.WeightAt(w.weight, i) * (b[i] - mean)
	}
	g := mat.NewVecDense(d, nil)
	w.x.Sum(g.RawVector().Data, 1/w.x.Total(w.weight), moved)
	return g
}

// explained returns the adjusted R² of the regression of b on the rows' columns, at least 0.
func (w *WeightErrors) explained(b []float64) float64 {
	n, d := w.x.Dims()
	mean, variance := stat.PopMeanVariance(b, w.weight)
	if !(variance > 1e-12) || n <= d+1 {
		return 0
	}
	g := w.with(b, mean)
	solved := append([]float64(nil), g.RawVector().Data...)
	solving.NewRidgeCholesky(w.cov, 0).Solve(solved)
	share := mat.Dot(g, mat.NewVecDense(d, solved)) / variance
	return max(0, 1-(1-share)*float64(n-1)/float64(n-d-1))
}

// UnreleasedShift measures how private records and pool differ in the parts of columns that other
// columns don't explain.
type UnreleasedShift struct {
	// Shift is the size of the difference, in standard deviations of the unexplained part, from
	// Columns columns.
	Shift   float64
	Columns int
	Records float64

	means []float64 // released means, in the units of FeatureDesign.Rows; nil if not released
}

func (u UnreleasedShift) gap(weighted []float64) []float64 {
	out := make([]float64, len(u.means))
	for j, m := range u.means {
		out[j] = m - weighted[j]
	}
	return out
}

// mostUntold is the most released means (cells) for which Untold works: each column takes time ∝
// cells³.
const mostUntold = 1024

// UnreleasedShiftOf leaves out each column in turn. It predicts the column's released means (a text
// has one for each level) from those in which the column has no part, by the pool's regression with
// the fit's ridge. The column's value is the squared prediction error, minus noise and sampling,
// plus one standard error of the noise (so more noise never makes a release look better), over the
// unexplained variance. Shift is the root of the mean value.
//
// It treats the query as one more left-out column (the random shifts of Jeong & Rothenhäusler 2022,
// with the size of the shift learned from the columns themselves).
func UnreleasedShiftOf(fd *aggregation.FeatureDesign, x *mat.Dense, means []float64, noise Noise,
	lambda, records float64) UnreleasedShift {
	n, cells := x.Dims()
	u := UnreleasedShift{Records: records,
		means: floats.ScaleTo(make([]float64, len(means)), 1/fd.MaxRowNorm(), means)}
	if cells > mostUntold || cells < 2 {
		return u
	}
	base := newWeightLaw(x, nil)
	gap := u.gap(base.mean)
	sampling := 1/records + 1/float64(n)
	squares := 0.0
	for _, out := range columnsOf(fd) {
		var rest []int
		in := map[int]bool{}
		for _, j := range slices.Concat(out.cells, out.touched) {
			in[j] = true
		}
		for j := range cells {
			if !in[j] {
				rest = append(rest, j)
			}
		}
		if len(rest) == 0 {
			continue
		}
		s, cross := mat.NewSymDense(len(rest), nil), mat.NewDense(len(rest), len(out.cells), nil)
		for a, i := range rest {
			for b := a; b < len(rest); b++ {
				s.SetSym(a, b, base.cov.At(i, rest[b]))
			}
			for b, j := range out.cells {
				cross.Set(a, b, base.cov.At(i, j))
			}
		}
		slope := times(solving.NewRidgeCholesky(s, lambda).Inverse(), cross)
		signal, doubt, untold := 0.0, 0.0, 0.0
		for b, j := range out.cells {
			off := mat.NewVecDense(cells, nil)
			off.SetVec(j, 1)
			left, moved := base.cov.At(j, j), gap[j]
			for a, i := range rest {
				off.SetVec(i, -slope.At(a, b))
				left -= slope.At(a, b) * cross.At(a, b)
				moved -= slope.At(a, b) * gap[i]
			}
			if !(left > 1e-3*base.cov.At(j, j)) || base.cov.At(j, j) < 1e-12 {
				continue // the other columns explain this mean, or it hardly varies
			}
			var of mat.VecDense
			of.MulVec(noise.Factor.T(), off)
			chance := mat.Dot(&of, &of) + left*sampling
			signal += moved*moved - chance
			doubt += 2 * chance * chance
			untold += left
		}
		if untold > 0 {
			u.Columns++
			squares += math.Max(0, signal+math.Sqrt(doubt)) / untold
		}
	}
	if u.Columns > 0 {
		u.Shift = math.Sqrt(squares / float64(u.Columns))
	}
	return u
}

// leftOut lists the places of a column's own means, and of its histogram bins and joint frequencies
// (touched).
type leftOut struct{ cells, touched []int }

// columnsOf lists the design's columns. In mapped rows each feature is a column.
func columnsOf(fd *aggregation.FeatureDesign) (all []leftOut) {
	if len(fd.Groups) == 0 {
		for j := range fd.Cells() {
			all = append(all, leftOut{cells: []int{j}})
		}
		return all
	}
	place := map[string]int{}
	for _, g := range fd.Groups {
		if g.Second.Width > 0 || g.Bins > 0 {
			continue
		}
		k, seen := place[g.First.Column]
		if !seen {
			k = len(all)
			place[g.First.Column] = k
			all = append(all, leftOut{})
		}
		for j := range g.Width {
			all[k].cells = append(all[k].cells, g.FirstCell+j)
		}
	}
	for _, g := range fd.Groups {
		if g.Second.Width == 0 && g.Bins == 0 {
			continue
		}
		for _, column := range []string{g.First.Column, g.Second.Column} {
			k, of := place[column]
			if !of || column == "" {
				continue
			}
			for j := range g.Width {
				all[k].touched = append(all[k].touched, g.FirstCell+j)
			}
		}
	}
	return all
}
