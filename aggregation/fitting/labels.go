package fitting

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/learners"
)

// LabelFit is the result of a fit to noisy labels.
type LabelFit struct {
	Model learners.Linear
	// Lambda is the ridge used, Path the search for it.
	Lambda float64
	Path   []LabelRidgePoint
}

// LabelRidgePoint is one step of the search for the ridge.
type LabelRidgePoint struct {
	Lambda float64 `json:"lambda"`
	// HeldOutRisk is the unbiased held-out risk. HeldOutSE is the standard error of its difference
	// from the best.
	HeldOutRisk float64 `json:"held_out"`
	HeldOutSE   float64 `json:"standard_error,omitempty"`
}

// labels is a fit to noisy labels.
type labels struct{ aggregation.LabelOptions }

type labelRisk interface {
	learners.Objective
	SetRidge(float64)
}

// labelRidges are tried in order. The weakest ones suit small features and little label noise.
var labelRidges = []float64{1, 0.3, 0.1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6,
	3e-7, 1e-7}

const (
	labelFolds      = 5
	labelWorse      = 3    // the search ends after this many clearly worse ridges in succession
	labelGradient   = 1e-4 // gradient norm at which a search stops, in units of the loss's scale
	labelFinal      = 1e-6
	labelIterations = 300
	// iterations per ridge; each ridge starts from the solution of the ridge before
	labelSearching = 60
)

// FitLabels fits a linear classifier to rows x (N×d; the last column, the intercept, is a positive
// constant) with labels y that went through o.Channel. It ignores labels outside 0..K-1. It is
// post-processing of the labels.
//
// With Lambda 0 it takes the strongest ridge whose held-out risk is within one standard error of
// the least, because under much noise many ridges look alike, and the strongest is the safest.
//
// RiskAUC does not determine the threshold of the scores, which is then set where the unbiased
// estimate of each class's errors is least. For RiskAccuracy the threshold moves only if that is
// clearly better, because a strong ridge shrinks the features' weights but not the noise in the
// intercept.
func FitLabels(x *mat.Dense, y []int, o aggregation.LabelOptions,
	rng *rand.Rand) (LabelFit, error) {
	if err := o.Validate(); err != nil {
		return LabelFit{}, fmt.Errorf("fit labels: %w", err)
	}
	x, y = labelledRows(x, y, o.Channel.Classes)
	if len(y) == 0 {
		return LabelFit{}, fmt.Errorf("fit labels: there are no labelled rows")
	}
	l, fit := labels{o}, LabelFit{Lambda: o.Lambda}
	if o.Lambda == 0 {
		var err error
		if fit.Lambda, fit.Path, err = l.search(x, y, rng); err != nil {
			return LabelFit{}, err
		}
	}
	risk, err := l.risk(x, y, rng)
	if err != nil {
		return LabelFit{}, err
	}
	start := l.start(x, y, fit.Lambda, rng)
	fit.Model = l.solve(risk, fit.Lambda, labelFinal, labelIterations, start)
	if o.Risk != aggregation.RiskBER {
		l.cut(fit.Model, x, y, o.Risk == aggregation.RiskAccuracy)
	}
	return fit, nil
}

func labelledRows(x *mat.Dense, y []int, classes int) (*mat.Dense, []int) {
	keep := make([]int, 0, len(y))
	for i, k := range y {
		if 0 <= k && k < classes {
			keep = append(keep, i)
		}
	}
	if len(keep) == len(y) {
		return x, y
	}
	return pickLabelled(x, y, keep)
}

func pickLabelled(x *mat.Dense, y, keep []int) (*mat.Dense, []int) {
	if len(keep) == 0 {
		return &mat.Dense{}, nil
	}
	_, d := x.Dims()
	px, py := mat.NewDense(len(keep), d, nil), make([]int, len(keep))
	for to, from := range keep {
		px.SetRow(to, x.RawRowView(from))
		py[to] = y[from]
	}
	return px, py
}

func (l labels) costs(y []int) []learners.ClassWeights {
	base := learners.PlainWeights()
	channel := learners.LabelChannel{Keep: 1, Classes: l.Channel.Classes}
	if l.Correction == aggregation.CorrectionBackward {
		base, channel = learners.BackwardWeights(l.Channel), l.Channel
	}
	costs := make([]learners.ClassWeights, learners.WeightColumns(l.Channel.Classes))
	// For the AUC with a symmetric loss, the corrections of a pair's two labels cancel up to a
	// factor.
	if l.Loss.Symmetric() && l.Risk == aggregation.RiskAUC {
		base = learners.PlainWeights()
	}
	shares := DebiasedShares(y, channel)
	for k := range costs {
		costs[k] = base
		if l.Risk == aggregation.RiskBER {
			class := k
			if l.Channel.Classes == 2 {
				class = 1
			}
			// A share within two standard errors of 0 or 1 may be 0 or 1. Dividing by less than two
			// standard errors would weight noise.
			least := math.Min(2*shares.Error[class], 0.5)
			costs[k] = base.Balanced(math.Max(least, math.Min(shares.Share[class], 1-least)))
		}
		if l.Loss.Symmetric() && l.Risk != aggregation.RiskAUC {
			costs[k] = costs[k].OneSided()
		}
	}
	return costs
}

func (l labels) risk(x *mat.Dense, y []int, rng *rand.Rand) (labelRisk, error) {
	if l.Risk == aggregation.RiskAUC {
		return learners.NewRankRisk(x, y, l.Channel.Classes, l.Loss, l.costs(y), rng)
	}
	var forward *learners.LabelChannel
	if l.Correction == aggregation.CorrectionForward {
		forward = &l.Channel
	}
	return learners.NewMarginRisk(x, y, l.Channel.Classes, l.Loss, l.costs(y), forward)
}

// start returns the squared loss's solution, because searches from the origin may end in a poor
// local minimum.
func (l labels) start(x *mat.Dense, y []int, lambda float64, rng *rand.Rand) []float64 {
	if l.Loss.Convex() && l.Correction == aggregation.CorrectionNone {
		return nil
	}
	squared, err := learners.FindLoss("squared")
	if err != nil {
		return nil
	}
	convex := l
	convex.Loss = squared
	if l.Correction == aggregation.CorrectionForward {
		convex.Correction = aggregation.CorrectionBackward
	}
	risk, err := convex.risk(x, y, rng)
	if err != nil {
		return nil
	}
	return convex.solve(risk, lambda, labelGradient, labelIterations, nil).W.RawMatrix().Data
}

func (l labels) solve(risk labelRisk, lambda, gradient float64, iterations int,
	start []float64) learners.Linear {
	risk.SetRidge(lambda / l.Loss.ScoreScale())
	w, _ := learners.Minimize(risk, start,
		learners.MinimiseSettings{GradientNorm: gradient, MaxIterations: iterations})
	return learners.NewLinear(w, l.Channel.Classes)
}

// SearchedRidges returns the ridges of a search, in order; a search may stop before the last.
func SearchedRidges() []float64 { return slices.Clone(labelRidges) }

func (l labels) search(x *mat.Dense, y []int, rng *rand.Rand) (float64, []LabelRidgePoint,
	error) {
	folds := min(labelFolds, len(y))
	if folds < 2 {
		return labelRidges[0], nil, nil
	}
	fold := make([]int, len(y))
	for to, i := range rng.Perm(len(y)) {
		fold[i] = to % folds
	}
	type part struct {
		risk labelRisk
		x    *mat.Dense // the records that are held out
		y    []int
		w    []float64
	}
	parts := make([]part, folds)
	for f := range folds {
		var in, out []int
		for i := range y {
			if fold[i] == f {
				out = append(out, i)
			} else {
				in = append(in, i)
			}
		}
		tx, ty := pickLabelled(x, y, in)
		risk, err := l.risk(tx, ty, rng)
		if err != nil {
			return 0, nil, err
		}
		hx, hy := pickLabelled(x, y, out)
		parts[f] = part{risk: risk, x: hx, y: hy, w: l.start(tx, ty, labelRidges[0], rng)}
	}
	var path []LabelRidgePoint
	var held [][]float64 // held-out risk of each fold, by ridge
	best, worse := 0, 0
	for r, ridge := range labelRidges {
		point, here := LabelRidgePoint{Lambda: ridge}, make([]float64, folds)
		for f := range parts {
			p := &parts[f]
			model := l.solve(p.risk, ridge, labelGradient, labelSearching, p.w)
			p.w = model.W.RawMatrix().Data
			here[f] = l.measure(model, p.x, p.y)
			point.HeldOutRisk += here[f] / float64(folds)
		}
		path, held = append(path, point), append(held, here)
		if point.HeldOutRisk < path[best].HeldOutRisk {
			best = r
		}
		if more, spread := compare(here, held[best]); more > 2*spread {
			worse++
		} else {
			worse = 0
		}
		if worse == labelWorse {
			break
		}
	}
	chosen := best
	for r := len(path) - 1; r >= 0; r-- {
		more, spread := compare(held[r], held[best])
		path[r].HeldOutSE = spread
		if r <= best && more <= spread {
			chosen = r
		}
	}
	return path[chosen].Lambda, path, nil
}

func compare(a, b []float64) (mean, spread float64) {
	n := float64(len(a))
	for f := range a {
		mean += (a[f] - b[f]) / n
	}
	square := 0.0
	for f := range a {
		square += (a[f] - b[f] - mean) * (a[f] - b[f] - mean)
	}
	return mean, math.Sqrt(square / (n * (n - 1)))
}

func (l labels) measure(m learners.Linear, x *mat.Dense, y []int) float64 {
	got := learners.MeasureScores(m, x, y, l.Channel)
	switch l.Risk {
	case aggregation.RiskBER:
		return got.BER
	case aggregation.RiskAUC:
		return 1 - got.AUC
	}
	return 1 - got.Accuracy
}

// cut moves each column's intercept so that the unbiased estimate of the errors is least at a
// threshold of zero. If cautious is set, it moves an intercept only for a gain above two standard
// errors of the noise.
func (l labels) cut(m learners.Linear, x *mat.Dense, y []int, cautious bool) {
	scores := m.Scores(x)
	d, columns := m.W.Dims()
	intercept := x.At(0, d-1)
	p, q := l.Channel.Keep, l.Channel.Flip()
	// about the largest standard deviation of a row's 2·Unbiased−1
	spread := 2 * math.Sqrt(p*(1-p)) / (p - q)
	for k := range columns {
		class := k
		if l.Channel.Classes == 2 {
			class = 1
		}
		s := mat.Col(nil, k, scores)
		order := make([]int, len(s))
		below := 0 // rows that the model now calls "no"
		for i := range order {
			order[i] = i
			if s[i] <= 0 {
				below++
			}
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Compare(s[i], s[j]) })
		// errors[a] is the number of errors, up to a constant, if the threshold is above the first
		// a rows.
		errors := make([]float64, len(s)+1)
		for a, i := range order {
			errors[a+1] = errors[a] + 2*l.Channel.Unbiased(y[i] == class) - 1
		}
		least, at := 0, s[order[0]]-1
		for a := 1; a <= len(order); a++ {
			if a < len(order) && s[order[a]] == s[order[a-1]] {
				continue
			}
			if errors[a] < errors[least] {
				least, at = a, s[order[a-1]]
				if a < len(order) {
					at = (at + s[order[a]]) / 2
				}
			}
		}
		moved := math.Abs(float64(least - below))
		if cautious && errors[below]-errors[least] <= 2*spread*math.Sqrt(moved) {
			continue
		}
		m.W.Set(d-1, k, m.W.At(d-1, k)-at/intercept)
	}
}

// LabelShares are the classes' shares of the true labels, estimated from noisy labels.
type LabelShares struct {
	// Share is unbiased, so it may leave [0,1]. Projected holds the nearest possible shares.
	Share     []float64 `json:"share"`
	Projected []float64 `json:"projected"`
	// Error is the standard error from label noise alone, without sampling of the records.
	Error []float64 `json:"standard_error"`
}

// DebiasedShares debiases the shares n_k/N of noisy labels: (n_k/N − q)/(p − q). Given the true
// labels, the variance is [π p(1−p) + (1−π) q(1−q)]/(N(p−q)²). Error uses the projected share as
// the true share π.
func DebiasedShares(y []int, c learners.LabelChannel) LabelShares {
	s := LabelShares{Share: make([]float64, c.Classes), Error: make([]float64, c.Classes)}
	n := 0.0
	for _, k := range y {
		if 0 <= k && k < c.Classes {
			s.Share[k]++
			n++
		}
	}
	p, q := c.Keep, c.Flip()
	if n == 0 {
		for k := range s.Share {
			s.Share[k] = 1 / float64(c.Classes)
			s.Error[k] = math.Inf(1)
		}
		s.Projected = slices.Clone(s.Share)
		return s
	}
	for k := range s.Share {
		s.Share[k] = (s.Share[k]/n - q) / (p - q)
	}
	return NewLabelShares(s.Share, n, c)
}

// NewLabelShares adds projection and error to debiased shares of n labels.
func NewLabelShares(share []float64, n float64, c learners.LabelChannel) LabelShares {
	s := LabelShares{Share: share, Projected: ProjectSimplex(share, 1),
		Error: make([]float64, c.Classes)}
	p, q := c.Keep, c.Flip()
	for k, share := range s.Projected {
		s.Error[k] = math.Sqrt((share*p*(1-p) + (1-share)*q*(1-q)) / n / ((p - q) * (p - q)))
	}
	return s
}
