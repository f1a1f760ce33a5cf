package learners

import "gonum.org/v1/gonum/mat"

// ProbabilityFit measures how far a classifier's outputs are from probabilities of the labels.
type ProbabilityFit struct {
	// Brier is the mean squared distance (Brier 1950): (p−y)² for two classes, Σₖ(pₖ−yₖ)² for more.
	Brier float64 `json:"brier"`
	// Slope is the slope of the labels' log odds over the scores: 1 if calibrated, below 1 if the
	// scores are too extreme, 0 if no slope can be fitted.
	Slope float64 `json:"slope"`
}

// MeasureProbabilities compares the labels of rows x with a linear model's probabilities. The
// model's scores count as log odds. Rows without a label are ignored.
func MeasureProbabilities(l Linear, x *mat.Dense, y []int) ProbabilityFit {
	keep := make([]int, 0, len(y))
	for i, k := range y {
		if k >= 0 {
			keep = append(keep, i)
		}
	}
	if len(keep) == 0 {
		return ProbabilityFit{}
	}
	at := x
	if _, d := x.Dims(); len(keep) < len(y) {
		at = mat.NewDense(len(keep), d, nil)
		for to, i := range keep {
			at.SetRow(to, x.RawRowView(i))
		}
	}
	s, p := l.Scores(at), l.Probabilities(at)
	c, n := WeightColumns(l.Classes), float64(len(keep))
	out, share, along := ProbabilityFit{}, make([]float64, c), 0.0
	for i, from := range keep {
		for k, q := range p.RawRowView(i) {
			if k == y[from] {
				q--
			}
			out.Brier += q * q / n
		}
		if column := y[from] - l.Classes + c; column >= 0 {
			share[column] += 1 / n
			along += s.At(i, column) / n
		}
	}
	if l.Classes == 2 {
		out.Brier /= 2
	}
	if r, ok := Recalibrate(s, nil, share, along); ok {
		out.Slope = r.Slope
	}
	return out
}
