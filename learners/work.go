package learners

import (
	"fmt"
	"math"
)

// TrainingSize is the public size of a training. It says nothing about the rows' content.
type TrainingSize struct {
	Rows           int // most rows to learn from
	MappedColumns  int // columns of mapped features
	EncodedColumns int // columns of encoded features
	Classes        int
	PredictedRows  int // rows to predict
}

// TrainingSteps bounds the steps of fitting the named learner and predicting, for any content of
// the rows. A step is about one multiplication and addition in the processor's cache, the unit of
// RunReference. TestWorkBoundsTime measured the factors on the slowest rows.
//
// The bounds follow from each learner's largest work:
//   - softmax and svm make tuningEvaluations for every ridge and fold, then fitEvaluations, and
//     each time one more line search. An evaluation reads every row once; a step uses Memory
//     vectors and a factor.
//   - knn compares all pairs of rows twice, with the longest list of neighbours.
//   - cart and forest read each row in each column at every level, and each bin in each node. There
//     are at most 2^(depth+1) nodes, and at most twice as many as rows.
//   - naive-bayes reads the rows once.
func TrainingSteps(name string, s TrainingSize) (float64, error) {
	if name == RandomLearner {
		most := 0.0
		for _, l := range catalogue() {
			w, err := TrainingSteps(l.Name(), s)
			if err != nil {
				return 0, err
			}
			most = math.Max(most, w)
		}
		return most, nil
	}
	l, err := New(name)
	if err != nil {
		return 0, err
	}
	switch l := l.(type) {
	case LinearLearner:
		return s.linear(l), nil
	case KNN:
		return s.neighbours(), nil
	case CART:
		folds := float64(max(l.Folds, 1))
		return folds*s.trees(1, l.MaxDepth, l.MinLeaf) +
			s.rows()*float64(l.MaxDepth*l.MaxDepth)*8, nil
	case Forest:
		return s.trees(l.Trees, l.MaxDepth, l.MinLeaf), nil
	case NaiveBayes:
		return s.binned(1) + float64(s.PredictedRows*s.EncodedColumns)*float64(64+8*s.Classes), nil
	}
	return 0, fmt.Errorf("learner %q has no bound on its work", name)
}

func (ts TrainingSize) rows() float64 { return float64(max(ts.Rows, MinTrainingRows)) }

func (ts TrainingSize) linear(l LinearLearner) float64 {
	n, d, c := ts.rows(), float64(ts.MappedColumns), float64(WeightColumns(ts.Classes))
	row := 2*d*c + 40*c // steps for a row's scores and gradient; an exponential takes about 20
	step := 80*d*c + 4*d*d*c
	factor := 0.0
	if ts.MappedColumns <= 512 { // see worthFactoring
		factor = d * d * d / 3
	} else {
		step = 80 * d * c
	}
	folds, ridges := float64(l.Folds), float64(len(l.Ridges))
	tuning, last := folds*ridges*(tuningEvaluations+maxTrials), float64(fitEvaluations+maxTrials)
	share := (folds - 1) / folds
	return tuning*(share*n*row+step) + ridges*n*row + last*(n*row+step) +
		(folds+1)*(n*d*d+8*n*d) + (folds*ridges+1)*factor + float64(ts.PredictedRows)*(d*c+4*c)
}

func (ts TrainingSize) neighbours() float64 {
	n, d := ts.rows(), float64(ts.MappedColumns)
	list := float64(neighbourChoices[len(neighbourChoices)-1])
	return n * (n + float64(ts.PredictedRows)) * (d + 8 + 6*list)
}

func (ts TrainingSize) binned(times float64) float64 {
	n, d := ts.rows(), float64(ts.EncodedColumns)
	return times*n*d*(48*math.Log2(n+1)+96) + 512*d
}

func (ts TrainingSize) trees(trees, depth, leaf int) float64 {
	n, d, k, t := ts.rows(), float64(ts.EncodedColumns), float64(ts.Classes), float64(trees)
	levels := float64(depth + 1)
	nodes := math.Min(math.Exp2(levels), 2*n/float64(max(leaf, 1))+1)
	return ts.binned(1) + t*levels*n*(24*d+48) + t*nodes*(d*treeBins*k*4+8*k) +
		float64(ts.PredictedRows)*t*(levels*4+k)
}

// RunReference runs a known number of steps like the learners' on generated data, so that a caller
// with a clock can measure the time of a step on this machine.
func RunReference() (steps float64) {
	const n, d, classes = 256, 24, 4
	x, count := make([]float64, n*d), make([]int, treeBins*classes)
	for i := range x {
		x[i] = float64(i%17) / 17
	}
	sum := 0.0
	for range 4 {
		for i := range n { // multiply rows, as knn and the risks do
			row := x[i*d : (i+1)*d]
			for j := range n {
				p := 0.0
				for k, v := range x[j*d : (j+1)*d] {
					p += v * row[k]
				}
				sum += p
			}
			count[(i*7)%len(count)] += int(sum) & 1 // count, as trees do
		}
		for i := range n * d {
			sum += math.Exp(-x[i])
		}
	}
	if sum < 0 { // keeps the compiler from dropping sum
		count[0]++
	}
	return 4 * (n*n*(d+1) + 40*n*d)
}
