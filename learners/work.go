package learners

import (
	"fmt"
	"math"
)

// Size is the public size of a training. It says nothing about the rows' content.
type Size struct {
	Rows    int // most rows to learn from
	Mapped  int // columns of mapped features
	Encoded int // columns of encoded features
	Classes int
	Votes   int // rows to predict
}

// Work bounds the steps of fitting the named learner and predicting, for any content of the rows. A
// step is about one multiplication and addition in the processor's cache, the unit of Reference.
// TestWorkBoundsTime measured the factors on the slowest rows.
//
// The bounds follow from each learner's largest work:
//   - softmax and svm make tuningEvaluations for every ridge and fold, then fitEvaluations, and
//     each time one more line search. An evaluation reads every row once; a step uses Memory
//     vectors and a factor.
//   - knn compares all pairs of rows twice, with the longest list of neighbours.
//   - cart and forest read each row in each column at every level, and each bin in each node. There
//     are at most 2^(depth+1) nodes, and at most twice as many as rows.
//   - naive-bayes reads the rows once.
func Work(name string, s Size) (float64, error) {
	if name == Mixed {
		most := 0.0
		for _, l := range catalogue() {
			w, err := Work(l.Name(), s)
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
		return s.binned(1) + float64(s.Votes*s.Encoded)*float64(64+8*s.Classes), nil
	}
	return 0, fmt.Errorf("learner %q has no bound on its work", name)
}

func (s Size) rows() float64 { return float64(max(s.Rows, MinimumRows)) }

func (s Size) linear(l LinearLearner) float64 {
	n, d, c := s.rows(), float64(s.Mapped), float64(Columns(s.Classes))
	row := 2*d*c + 40*c // steps for a row's scores and gradient; an exponential takes about 20
	step := 80*d*c + 4*d*d*c
	factor := 0.0
	if s.Mapped <= 512 { // see worthFactoring
		factor = d * d * d / 3
	} else {
		step = 80 * d * c
	}
	folds, ridges := float64(l.Folds), float64(len(l.Ridges))
	tuning, last := folds*ridges*(tuningEvaluations+maxTrials), float64(fitEvaluations+maxTrials)
	share := (folds - 1) / folds
	return tuning*(share*n*row+step) + ridges*n*row + last*(n*row+step) +
		(folds+1)*(n*d*d+8*n*d) + (folds*ridges+1)*factor + float64(s.Votes)*(d*c+4*c)
}

func (s Size) neighbours() float64 {
	n, d := s.rows(), float64(s.Mapped)
	list := float64(neighbourChoices[len(neighbourChoices)-1])
	return n * (n + float64(s.Votes)) * (d + 8 + 6*list)
}

func (s Size) binned(times float64) float64 {
	n, d := s.rows(), float64(s.Encoded)
	return times*n*d*(48*math.Log2(n+1)+96) + 512*d
}

func (s Size) trees(trees, depth, leaf int) float64 {
	n, d, k, t := s.rows(), float64(s.Encoded), float64(s.Classes), float64(trees)
	levels := float64(depth + 1)
	nodes := math.Min(math.Exp2(levels), 2*n/float64(max(leaf, 1))+1)
	return s.binned(1) + t*levels*n*(24*d+48) + t*nodes*(d*treeBins*k*4+8*k) +
		float64(s.Votes)*t*(levels*4+k)
}

// Reference runs a known number of steps like the learners' on generated data, so that a caller
// with a clock can measure the time of a step on this machine.
func Reference() (steps float64) {
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
