package learners

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// Model assigns a class to each row of a matrix.
type Model interface {
	// Predict returns a class in 0..K-1 for each row of x, which has the columns of the fit. It may
	// be called concurrently.
	Predict(x *mat.Dense) []int
}

// Learner trains a Model on labelled rows.
type Learner interface {
	// Name returns the name that New takes.
	Name() string
	// Features returns the form of records that the learner needs.
	Features() Features
	// Fit trains on the rows of x (N×d) with a label y in 0..classes-1, leaves out other rows, and
	// chooses its own parameters from these rows alone. No content of rows makes it fail: without
	// rows, with one class or with fewer than MinTrainingRows it returns a ConstantModel. It ends
	// within the steps that TrainingSteps bounds from public sizes, and soon after ctx ends, with
	// ctx's error. Any other error is about arguments of wrong shapes.
	Fit(ctx context.Context, x *mat.Dense, y []int, classes int, rng *rand.Rand) (Model, error)
}

// VotingLearner is a Learner with special settings for a model that is one voter of many.
type VotingLearner interface {
	Learner
	// ForVoting returns these settings. They make the vote of many models better, and one a little
	// worse.
	ForVoting() Learner
}

// Features says in which form a learner takes records.
type Features uint8

const (
	// MappedFeatures features have rows of norm at most 1 and an intercept column.
	MappedFeatures Features = iota
	// EncodedFeatures features are in [0,1], one column per number or category.
	EncodedFeatures
)

// String returns "encoded" or "mapped", for people; no document contains it.
func (f Features) String() string {
	if f == EncodedFeatures {
		return "encoded"
	}
	return "mapped"
}

// MinTrainingRows is the least number of labelled rows from which a learner learns more than the
// majority class. Below it some held-out fold would have fewer than two rows.
const MinTrainingRows = 8

// RandomLearner names a learner that NewOrRandom draws at random.
const RandomLearner = "mixed"

func catalogue() []Learner {
	return []Learner{Softmax(), LinearSVM(), DefaultCART(), DefaultForest(), DefaultNaiveBayes(),
		KNN{}}
}

// Names lists the names that NewOrRandom takes: every learner, then RandomLearner.
func Names() []string {
	var names []string
	for _, l := range catalogue() {
		names = append(names, l.Name())
	}
	return append(names, RandomLearner)
}

// New returns the named learner. Mixed is not one learner: use NewOrRandom.
func New(name string) (Learner, error) {
	for _, l := range catalogue() {
		if l.Name() == name {
			return l, nil
		}
	}
	if name == RandomLearner {
		return nil, fmt.Errorf("learner %q is drawn for each site: use Assign", name)
	}
	return nil, fmt.Errorf("unknown learner %q: use one of %s", name, strings.Join(Names(), ", "))
}

// DefaultLearner is the learner to train if none is named.
const DefaultLearner = "softmax"

// AnyClassifier stands in plans in which each party chooses its classifier: a learner or another
// program. New and NewOrRandom refuse it, because it is not a learner.
const AnyClassifier = "any"

// NewOrRandom works like New, but for RandomLearner it draws one of the other learners uniformly.
func NewOrRandom(name string, rng *rand.Rand) (Learner, error) {
	if name == RandomLearner {
		all := catalogue()
		return all[rng.IntN(len(all))], nil
	}
	return New(name)
}

// ConstantModel predicts one class for every row. Learners return it if there is nothing to learn.
type ConstantModel struct{ Class int }

// Predict implements Model. Of x it reads only the number of rows.
func (c ConstantModel) Predict(x *mat.Dense) []int {
	y := make([]int, rows(x))
	for i := range y {
		y[i] = c.Class
	}
	return y
}

type sample struct {
	x       *mat.Dense
	y       []int
	classes int
	counts  []int
}

// labelled checks the arguments of a Fit and drops rows without a label.
func labelled(x *mat.Dense, y []int, classes int) (sample, error) {
	n := rows(x)
	if classes < 2 {
		return sample{}, fmt.Errorf("fit a classifier: %d classes, need at least 2", classes)
	}
	if n != len(y) {
		return sample{}, fmt.Errorf("fit a classifier: %d rows with %d labels, need one label a row", n, len(y))
	}
	keep := make([]int, 0, n)
	for i, k := range y {
		if 0 <= k && k < classes {
			keep = append(keep, i)
		}
	}
	s := sample{x: x, y: y, classes: classes}
	if len(keep) < n {
		s = s.pick(keep)
	}
	s.counts = make([]int, classes)
	for _, k := range s.y {
		s.counts[k]++
	}
	return s, nil
}

// pick copies the kept rows, without counts.
func (s sample) pick(keep []int) sample {
	p := sample{x: &mat.Dense{}, y: make([]int, len(keep)), classes: s.classes}
	if len(keep) == 0 {
		return p
	}
	_, d := s.x.Dims()
	p.x = mat.NewDense(len(keep), d, nil)
	for i, from := range keep {
		p.x.SetRow(i, s.x.RawRowView(from))
		p.y[i] = s.y[from]
	}
	return p
}

// majority returns the most frequent class, the lowest in a tie, 0 without rows.
func (s sample) majority() int {
	best := 0
	for k, n := range s.counts {
		if n > s.counts[best] {
			best = k
		}
	}
	return best
}

// learnable is labelled for a Fit. It returns a ConstantModel too if nothing but the majority class
// can be learnt.
func learnable(x *mat.Dense, y []int, classes int) (s sample, majority Model, err error) {
	s, err = labelled(x, y, classes)
	if err == nil && (len(s.y) < MinTrainingRows || s.counts[s.majority()] == len(s.y)) {
		majority = ConstantModel{s.majority()}
	}
	return s, majority, err
}

// folds returns a random fold in 0..k-1 for each row, with each class spread evenly.
func (s sample) folds(k int, rng *rand.Rand) []int {
	fold := make([]int, len(s.y))
	next := make([]int, s.classes)
	start := 0
	for c, n := range s.counts {
		next[c] = start % k
		start += n
	}
	for _, i := range rng.Perm(len(s.y)) {
		c := s.y[i]
		fold[i] = next[c] % k
		next[c]++
	}
	return fold
}

// split returns the rows outside and inside fold f. Inside, it leaves out rows of a class that is
// absent outside, because no learner could know it.
func (s sample) split(fold []int, f int) (train, held sample) {
	var out, in []int
	known := make([]int, s.classes)
	for i, k := range s.y {
		if fold[i] != f {
			out = append(out, i)
			known[k]++
		}
	}
	for i, k := range s.y {
		if fold[i] == f && known[k] > 0 {
			in = append(in, i)
		}
	}
	train, held = s.pick(out), s.pick(in)
	train.counts = known
	return train, held
}
