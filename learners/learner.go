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
	// Predict returns one class in 0..K-1 per row; x has the columns of the fit. It may be called
	// concurrently.
	Predict(x *mat.Dense) []int
}

// Learner makes a Model from labelled rows.
type Learner interface {
	// Name is what New takes.
	Name() string
	// Features is the form of records the learner is made for.
	Features() Features
	// Fit trains on the rows of x (N×d) whose label y is in 0..classes-1, and chooses its own
	// parameters by them alone. Rows with another label are left out. No content of rows makes it
	// fail: with none, one class or fewer than MinimumRows it returns a Constant. It ends within a
	// number of steps that Work bounds from public sizes, and soon after ctx does, then with its
	// error; every other error means that the arguments do not fit together.
	Fit(ctx context.Context, x *mat.Dense, y []int, classes int, rng *rand.Rand) (Model, error)
}

// Voter is a Learner with a separate setting for one voter of many.
type Voter interface {
	Learner
	// ForVoting returns that setting. The vote gains by it, the model alone loses a little.
	ForVoting() Learner
}

// Features is a form of the records.
type Features uint8

const (
	// Mapped features have rows of norm at most 1 and an intercept column.
	Mapped Features = iota
	// Encoded features are in [0,1], one column per number or category.
	Encoded
)

func (f Features) String() string {
	if f == Encoded {
		return "encoded"
	}
	return "mapped"
}

// MinimumRows is the least number of labelled rows from which a learner learns more than the
// majority class: below it no held-out fold has two rows.
const MinimumRows = 8

// Mixed is the name for a learner drawn at random; see Assign.
const Mixed = "mixed"

// catalogue lists the learners in the order of Names.
func catalogue() []Learner {
	return []Learner{Softmax(), SVM(), DefaultCART(), DefaultForest(), DefaultNaiveBayes(), KNN{}}
}

// Names lists what Assign takes: every learner, then Mixed.
func Names() []string {
	var names []string
	for _, l := range catalogue() {
		names = append(names, l.Name())
	}
	return append(names, Mixed)
}

// New returns the named learner. Mixed is not one learner: use Assign.
func New(name string) (Learner, error) {
	for _, l := range catalogue() {
		if l.Name() == name {
			return l, nil
		}
	}
	if name == Mixed {
		return nil, fmt.Errorf("learner %q is drawn for each site: use Assign", name)
	}
	return nil, fmt.Errorf("unknown learner %q: use one of %s", name, strings.Join(Names(), ", "))
}

// Default names the learner that is trained where nobody names one.
const Default = "softmax"

// Any is for plans whose parties each choose a classifier, one of these or another program. It is
// no learner: New and Assign do not know it.
const Any = "any"

// Assign is New, with Mixed standing for a uniform draw from all the others.
func Assign(name string, rng *rand.Rand) (Learner, error) {
	if name == Mixed {
		all := catalogue()
		return all[rng.IntN(len(all))], nil
	}
	return New(name)
}

// Constant predicts one class for every row.
type Constant struct{ Class int }

// Predict implements Model.
func (c Constant) Predict(x *mat.Dense) []int {
	y := make([]int, rows(x))
	for i := range y {
		y[i] = c.Class
	}
	return y
}

// sample is the labelled part of Fit's rows.
type sample struct {
	x       *mat.Dense
	y       []int
	classes int
	counts  []int // rows of each class
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

// pick copies some rows; counts are left for the caller.
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

// majority is the most frequent class, the lowest in a tie, 0 without rows.
func (s sample) majority() int {
	best := 0
	for k, n := range s.counts {
		if n > s.counts[best] {
			best = k
		}
	}
	return best
}

// tooLittle reports whether there is nothing to learn but the majority class.
func (s sample) tooLittle() bool {
	return len(s.y) < MinimumRows || s.counts[s.majority()] == len(s.y)
}

// folds deals the rows to k folds, each class evenly, in an order drawn from rng, and returns the
// fold of each row.
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

// split returns the rows outside and inside fold f. Inside, rows of a class that is absent outside
// are left out: no learner could have known it.
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
