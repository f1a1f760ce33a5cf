package learners

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// NaiveBayes is the naive NaiveBayesModel learner "naive-bayes" for features of any distribution.
// It cuts each column into bins at its quantiles (an indicator into its two values), and shrinks
// the bins' frequencies within a class towards those in all classes with a weight of Prior rows, so
// that rare bins have little influence.
type NaiveBayes struct {
	Bins  int     // 2..256, at most this many bins per column
	Prior float64 // > 0
}

// DefaultNaiveBayes returns settings that suit 50 to 500 rows.
func DefaultNaiveBayes() NaiveBayes { return NaiveBayes{Bins: 6, Prior: 2} }

// Name is "naive-bayes" for any number of bins.
func (NaiveBayes) Name() string { return "naive-bayes" }

// Features is EncodedFeatures: bins are cut in each column by itself.
func (NaiveBayes) Features() Features { return EncodedFeatures }

// Fit implements Learner; the Model is a *NaiveBayesModel or a ConstantModel. The rng is not used.
func (nb NaiveBayes) Fit(ctx context.Context, x *mat.Dense, y []int, classes int,
	_ *rand.Rand) (Model, error) {
	s, majority, err := learnable(x, y, classes)
	if majority != nil || err != nil {
		return majority, err
	}
	m := &NaiveBayesModel{bins: newBins(s.x, min(nb.Bins, maxBins)),
		prior: make([]float64, classes)}
	n := float64(len(s.y))
	for k, count := range s.counts {
		// Laplace's rule of succession: a class without rows stays possible.
		m.prior[k] = math.Log((float64(count) + 1) / (n + float64(classes)))
	}
	for j, codes := range m.bins.codes(s.x) {
		m.columns = append(m.columns, nb.column(codes, len(m.bins.cuts[j])+1, s))
	}
	return m, ctx.Err()
}

// column returns log P(bin | class) at [bin*classes+class].
func (nb NaiveBayes) column(codes []uint8, bins int, s sample) []float64 {
	table := make([]float64, bins*s.classes)
	pooled := make([]float64, bins)
	for i, k := range s.y {
		table[int(codes[i])*s.classes+k]++
		pooled[codes[i]] += 1 / float64(len(s.y))
	}
	for at, count := range table {
		bin, k := at/s.classes, at%s.classes
		table[at] = math.Log((count + nb.Prior*pooled[bin]) / (float64(s.counts[k]) + nb.Prior))
	}
	return table
}

// NaiveBayesModel is a fitted NaiveBayes. It is read-only, so goroutines may share it.
type NaiveBayesModel struct {
	bins    bins
	prior   []float64   // log P(class)
	columns [][]float64 // log P(bin | class), bins × classes, of each column
}

// Predict implements Model: the class of largest posterior probability, the lowest in a tie.
func (n *NaiveBayesModel) Predict(x *mat.Dense) []int {
	y := make([]int, rows(x))
	k := len(n.prior)
	score := make([]float64, k)
	for i := range y {
		copy(score, n.prior)
		for j, v := range x.RawRowView(i) {
			if len(n.columns[j]) == k {
				continue // a single bin carries no information
			}
			at := n.bins.of(j, v) * k
			floats.Add(score, n.columns[j][at:at+k])
		}
		y[i] = argmax(score)
	}
	return y
}
