package fitting

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/solving"
	"caucus/learners"
)

// calibrationFolds is the number of parts of the records. The fit to the other parts scores each.
const calibrationFolds = 10

// intervalRounds is how often an end of the interval and its errors, which depend on each other,
// are computed.
const intervalRounds = 6

// CalibrateLabels turns the scores of a fit to noisy labels into probabilities of the true labels,
// from the same labels. fit is FitLabels' result for the same x, y and options. Let u be the
// unbiased estimate of a record's class (learners.LabelChannel.Unbiased), and p the probabilities
// of scores s after recalibration. CalibrateLabels solves over the N records
//
//	Ê[pₖ] = Ê[uₖ],   Ê[Σₖ pₖsₖ] = Ê[Σₖ uₖsₖ],
//
// the equations of a fit by log loss to the true labels. With the fit's own scores they would be
// circular, because the fit follows the noise in u: the noise adds Σᵢ Var(uᵢ)·∂sᵢ/∂uᵢ/N to Ê[Σₖ
// uₖsₖ] on average. So s is each record's score by a fit to the other nine tenths (centred, because
// differences between these fits' intercepts say nothing about the slope).
//
// A fit to fewer records is noisier, and noise in scores flattens the slope, by about their
// variance. T, the sum of squared distances of the ten fits from their mean, estimates the variance
// of such a fit (a grouped jackknife); the fit to all records has T·9/10. So the slope is
// multiplied by Var(s)/(Var(s) − T/10).
//
// Given the scores, the errors of both right hand sides are sums over records with known variance:
// a noisy label is class k with probability rₖ = q + (keep−q)pₖ, so Cov u = (diag r −
// rrᵀ)/(keep−q)², which contains privacy noise and sampling of labels. The noise of other records'
// labels in s counts twice, for its own square and because pairs of records err together: the
// variance of u times the scatter of the ten fits.
//
// The interval holds the slopes whose mean along the scores is within Normal95 deviations of the
// observed one. Each slope implies its own deviation: steeper slopes give probabilities nearer to 0
// and 1, which inform less about them. (With one deviation for all slopes, a slope estimated too
// small would seem too certain.) SlopeSD is derived from the interval's upper half.
//
// CalibrateLabels returns nil for too few records, and if the equations have no solution.
func CalibrateLabels(o aggregation.LabelOptions, fit LabelFit, x *mat.Dense, y []int,
	rng *rand.Rand) *Calibration {
	l := labels{o}
	x, y = labelledRows(x, y, l.Channel.Classes)
	if len(y) < 2*calibrationFolds {
		return nil
	}
	_, means := centred(fit.Model.Scores(x))
	held, off, err := l.heldOut(x, y, fit.Lambda, rng)
	if err != nil {
		return nil
	}
	n, columns := held.Dims()
	share, along := make([]float64, columns), 0.0
	for i, k := range y {
		for column, t := range held.RawRowView(i) {
			u := l.Channel.Unbiased(k == column+l.Channel.Classes-columns)
			share[column] += u / float64(n)
			along += u * t / float64(n)
		}
	}
	r, ok := learners.Recalibrate(held, nil, share, along)
	if !ok {
		return nil
	}
	low, lowest := l.farthest(held, off, share, along, -1)
	high, highest := l.farthest(held, off, share, along, 1)
	if !lowest || !highest {
		return nil
	}
	all, scatter := solving.FrobeniusProduct(held, held), 0.0
	for _, s := range off {
		scatter += solving.FrobeniusProduct(s, s)
	}
	more := all / (all - scatter/calibrationFolds)
	if !(more > 0) { // the scatter of the fits explains all variance of the scores
		return nil
	}
	r.Slope *= more
	out := &Calibration{Recalibration: r, Low: more * low, High: more * high}
	out.SlopeSD = out.Slope * math.Log(out.High/out.Slope) / aggregation.Normal95
	for k, mean := range means { // shift the intercepts for scores that are not centred
		out.Intercept[k] -= r.Slope * mean
	}
	return out
}

// farthest returns the lower (side −1) or upper (side 1) end of the interval: the slope whose mean
// along the scores is Normal95 standard deviations from the observed one, by the errors that this
// slope implies. It returns false if there is none.
func (l labels) farthest(held *mat.Dense, off []*mat.Dense, share []float64,
	along, side float64) (float64, bool) {
	to, slope := along, 0.0
	for range intervalRounds {
		r, ok := learners.Recalibrate(held, nil, share, to)
		if !ok {
			return 0, false
		}
		slope = r.Slope
		_, sd := deviations(r, l.targetErrors(recalibrated(held, r, l.Channel.Classes), held,
			off))
		to = along + side*aggregation.Normal95*sd
	}
	return slope, true
}

func centred(s *mat.Dense) (*mat.Dense, []float64) {
	n, columns := s.Dims()
	out, means := mat.NewDense(n, columns, nil), make([]float64, columns)
	for i := range n {
		for k, v := range s.RawRowView(i) {
			means[k] += v / float64(n)
		}
	}
	for i := range n {
		for k, v := range s.RawRowView(i) {
			out.Set(i, k, v-means[k])
		}
	}
	return out, means
}

// heldOut returns each record's centred scores by the fit to the other folds, N×columns, and for
// each fit its distance from the fits' mean on all records.
func (l labels) heldOut(x *mat.Dense, y []int, lambda float64,
	rng *rand.Rand) (held *mat.Dense, off []*mat.Dense, err error) {
	n := len(y)
	fold := make([]int, n)
	for to, i := range rng.Perm(n) {
		fold[i] = to % calibrationFolds
	}
	held = mat.NewDense(n, learners.WeightColumns(l.Channel.Classes), nil)
	for f := range calibrationFolds {
		var in []int
		for i := range y {
			if fold[i] != f {
				in = append(in, i)
			}
		}
		tx, ty := pickLabelled(x, y, in)
		risk, err := l.risk(tx, ty, rng)
		if err != nil {
			return nil, nil, err
		}
		s, _ := centred(l.solve(risk, lambda, labelFinal, labelIterations,
			l.start(tx, ty, lambda, rng)).Scores(x))
		off = append(off, s)
		for i := range n {
			if fold[i] == f {
				held.SetRow(i, s.RawRowView(i))
			}
		}
	}
	mean := mat.NewDense(n, learners.WeightColumns(l.Channel.Classes), nil)
	for _, s := range off {
		mean.Add(mean, s)
	}
	mean.Scale(1./calibrationFolds, mean)
	for _, s := range off {
		s.Sub(s, mean)
	}
	return held, off, nil
}

// targetErrors returns the covariance of the errors of the shares, then of the mean along the
// held-out scores, at the records' probabilities p (N×classes). A fit's variance is 9/10 of the sum
// of the fits' squared distances.
func (l labels) targetErrors(p, held *mat.Dense, off []*mat.Dense) *mat.SymDense {
	n, columns := held.Dims()
	keep, flip := l.Channel.Keep, l.Channel.Flip()
	scale := 1 / ((keep - flip) * (keep - flip) * float64(n) * float64(n))
	out := mat.NewSymDense(columns+1, nil)
	add := func(k, l int, v float64) { out.SetSym(k, l, out.At(k, l)+scale*v) }
	r := make([]float64, columns)
	variance := func(t []float64) (square, mean float64) { // variance and mean of ⟨noisy label, t⟩
		for k, v := range t {
			square += r[k] * v * v
			mean += r[k] * v
		}
		return square - mean*mean, mean
	}
	for i := range n {
		for k := range r {
			r[k] = flip + (keep-flip)*p.At(i, k+l.Channel.Classes-columns)
		}
		t := held.RawRowView(i)
		along, mean := variance(t)
		for _, s := range off {
			square, _ := variance(s.RawRowView(i))
			along += square * (calibrationFolds - 1) / calibrationFolds
		}
		add(columns, columns, along)
		for k := range r {
			for l := k; l < columns; l++ {
				add(k, l, -r[k]*r[l])
			}
			add(k, k, r[k])
			add(k, columns, r[k]*(t[k]-mean))
		}
	}
	return out
}
