package classifier

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
)

// Comparison compares a release with a site's own classifier. It is exact: only the site may see it.
type Comparison struct {
	Records int `json:"records"` // labelled records
	// Alone measures a classifier of the site's other records, by cross-validation, patients kept whole.
	Released learners.Measures `json:"released"`
	Alone    learners.Measures `json:"alone"`
	Majority float64           `json:"majority_class"`
	// Gain is the release's accuracy minus Alone's; Sure, half the width of its 95 % interval.
	Gain float64 `json:"gain"`
	Sure float64 `json:"gain_sure_to"`
	// Fitted is the accuracy of the site's own classifier on its training records. Flattered estimates
	// the most by which the release's accuracy may be too high here if these records took part in it:
	// see flattered.
	Fitted    float64 `json:"alone_fitted"`
	Flattered float64 `json:"released_flattered_by_up_to"`
}

const (
	comparisonFolds = 5
	leastCompared   = 20 // fewest records that say anything
)

// Compare judges a release on records encoded by its plan's schema. They may have taken part in the
// release, while the site's own classifier is judged on records it was not fitted to; Flattered says how
// much that can matter.
func Compare(r study.Release, records *dataset.Records) (Comparison, error) {
	c, model, p, err := Sound(r)
	if err != nil {
		return Comparison{}, fmt.Errorf("compare: %w", err)
	}
	var labelled []int
	counts := make([]float64, len(c.Classes))
	for i, y := range records.Y {
		if y >= 0 {
			labelled = append(labelled, i)
			counts[y]++
		}
	}
	if len(labelled) < leastCompared {
		return Comparison{}, fmt.Errorf("compare: at least %d records with a label are needed, there are %d", leastCompared, len(labelled))
	}
	if k := slices.IndexFunc(counts, func(n float64) bool { return n == float64(len(labelled)) }); k >= 0 {
		return Comparison{}, fmt.Errorf("compare: all %d records with a label are of class %q: naming it is always right here, which tells nothing of two classifiers", len(labelled), c.Classes[k])
	}
	records = records.Select(labelled)
	n := float64(records.Len())
	x := p.Mapped(records)
	out := Comparison{
		Records: records.Len(), Majority: slices.Max(counts) / n,
		Released: learners.Measure(model, x, records.Y, trueLabels(len(c.Classes))),
	}
	own := make([]int, records.Len())
	for fold, test := range foldsOf(records) {
		in, train := make([]bool, len(own)), []int(nil)
		for _, row := range test {
			in[row] = true
		}
		for i := range own {
			if !in[i] {
				train = append(train, i)
			}
		}
		if len(test) == 0 {
			continue
		}
		m, named, err := alone(x, records.Y, train, test, len(c.Classes), fold)
		if err != nil {
			return Comparison{}, err
		}
		for i, row := range test {
			own[row] = named[i]
		}
		out.Alone.AUC += m.AUC * float64(len(test)) / n
		out.Alone.BER += m.BER * float64(len(test)) / n
	}
	squares := 0.
	for i, k := range model.Predict(x) {
		d := 0.
		if k == records.Y[i] {
			d++
		}
		if own[i] == records.Y[i] {
			d--
			out.Alone.Accuracy += 1 / n
		}
		out.Gain += d / n
		squares += d * d
	}
	all := make([]int, records.Len())
	for i := range all {
		all[i] = i
	}
	fitted, _, err := alone(x, records.Y, all, all, len(c.Classes), comparisonFolds)
	if err != nil {
		return Comparison{}, err
	}
	out.Fitted = fitted.Accuracy
	out.Flattered = flattered(out.Fitted-out.Alone.Accuracy, r.Parties)
	out.Sure = 1.96 * math.Sqrt(math.Max(squares/n-out.Gain*out.Gain, 0)/(n-1))
	return out, nil
}

// flattered bounds the optimism of the classifier of all parties on one party's records, given the
// optimism own of that party's classifier. The optimism of fitting p numbers to n records falls
// like p/n (Hastie, Tibshirani & Friedman, section 7.4), and if parties are alike, all of them have
// parties·n records. Votes and noise reduce it further.
func flattered(own float64, parties int) float64 { return math.Max(own, 0) / float64(max(parties, 1)) }

func trueLabels(classes int) learners.Channel { return learners.Channel{Classes: classes, Keep: 1} }

func alone(x *mat.Dense, y []int, train, test []int, classes, fold int) (learners.Measures, []int, error) {
	pick := func(rows []int) (*mat.Dense, []int) {
		_, d := x.Dims()
		px, py := mat.NewDense(max(len(rows), 1), d, nil), make([]int, len(rows))
		for i, row := range rows {
			px.SetRow(i, x.RawRowView(row))
			py[i] = y[row]
		}
		return px, py
	}
	if len(train) == 0 { // one patient has all records
		return learners.Measures{AUC: .5}, make([]int, len(test)), nil
	}
	trainX, trainY := pick(train)
	testX, testY := pick(test)
	model, err := learners.Softmax().Fit(context.Background(), trainX, trainY, classes, rand.New(rand.NewPCG(1, uint64(fold))))
	if err != nil {
		return learners.Measures{}, nil, err
	}
	named := model.Predict(testX)
	if linear, ok := model.(learners.Linear); ok {
		return learners.Measure(linear, testX, testY, trueLabels(classes)), named, nil
	}
	return learners.Measures{AUC: .5, BER: 1 - 1/float64(classes)}, named, nil
}

// foldsOf splits records into parts of similar size, each patient in one part.
func foldsOf(records *dataset.Records) [][]int {
	out := make([][]int, comparisonFolds)
	of := map[string]int{}
	rng := rand.New(rand.NewPCG(1, 2))
	next := 0
	for _, i := range rng.Perm(records.Len()) {
		fold := next % comparisonFolds
		if records.Patient != nil {
			if known, ok := of[records.Patient[i]]; ok {
				out[known] = append(out[known], i)
				continue
			}
			of[records.Patient[i]] = fold
		}
		next++
		out[fold] = append(out[fold], i)
	}
	return out
}
