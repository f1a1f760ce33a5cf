package fitted

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
	"caucus/study/classifier"
)

// Comparison compares a release with a site's own classifier. Its numbers have no noise: for the
// site only.
type Comparison struct {
	Records int `json:"records"` // labelled records
	// Released measures the release. Alone measures the site's own by cross-validation, each
	// patient in one fold.
	Released learners.Measures `json:"released"`
	Alone    learners.Measures `json:"alone"`
	Majority float64           `json:"majority_class"`
	// Gain is Released's accuracy minus Alone's. GainMargin is half the width of its 95 % interval.
	Gain       float64 `json:"gain"`
	GainMargin float64 `json:"gain_sure_to"`
	// TrainingAccuracy is the accuracy of the site's own classifier on its training records. If the
	// records took part in the study, Released's accuracy on them is too high by up to about
	// OverfitBound (function flattered).
	TrainingAccuracy float64 `json:"alone_fitted"`
	OverfitBound     float64 `json:"released_flattered_by_up_to"`
}

const (
	comparisonFolds = 5
	leastCompared   = 20 // fewest records for a comparison
)

// Compare measures a release and the site's own classifier on the site's records, which are encoded
// by the plan's schema. It measures the own classifier on records that were not used to train it.
// But the released classifier may have been trained on all of them; Flattered bounds the effect.
func Compare(r study.Release, records *dataset.Records) (Comparison, error) {
	c, model, p, err := classifier.CheckedClassifier(r)
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
	if k := slices.IndexFunc(counts, func(n float64) bool {
		return n == float64(len(labelled))
	}); k >= 0 {
		return Comparison{}, fmt.Errorf("compare: all %d records with a label are of class %q: naming it is always right here, which tells nothing of two classifiers", len(labelled), c.Classes[k])
	}
	records = records.Select(labelled)
	n := float64(records.Len())
	x := p.MapRecords(records)
	out := Comparison{
		Records: records.Len(), Majority: slices.Max(counts) / n,
		Released: learners.MeasureScores(model, x, records.Y, trueLabels(len(c.Classes))),
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
	out.TrainingAccuracy = fitted.Accuracy
	out.OverfitBound = flattered(out.TrainingAccuracy-out.Alone.Accuracy, r.Parties)
	out.GainMargin = 1.96 * math.Sqrt(math.Max(squares/n-out.Gain*out.Gain, 0)/(n-1))
	return out, nil
}

// flattered bounds the excess of the released classifier's accuracy on records of a party that took
// part. own is the excess of the party's own classifier on its training records. The excess of a
// fit of p weights to n records falls like p/n (Hastie, Tibshirani & Friedman, section 7.4). If all
// parties have n records each, the release is a fit to parties·n records, so its excess is
// own/parties. Votes and noise make it smaller.
func flattered(own float64, parties int) float64 {
	return math.Max(own, 0) / float64(max(parties, 1))
}

func trueLabels(classes int) learners.LabelChannel {
	return learners.LabelChannel{Classes: classes, Keep: 1}
}

func alone(x *mat.Dense, y []int, train, test []int, classes, fold int) (learners.Measures, []int,
	error) {
	pick := func(rows []int) (*mat.Dense, []int) {
		_, d := x.Dims()
		px, py := mat.NewDense(max(len(rows), 1), d, nil), make([]int, len(rows))
		for i, row := range rows {
			px.SetRow(i, x.RawRowView(row))
			py[i] = y[row]
		}
		return px, py
	}
	if len(train) == 0 { // all records belong to one patient
		return learners.Measures{AUC: .5}, make([]int, len(test)), nil
	}
	trainX, trainY := pick(train)
	testX, testY := pick(test)
	model, err := learners.Softmax().Fit(context.Background(), trainX, trainY, classes,
		rand.New(rand.NewPCG(1, uint64(fold))))
	if err != nil {
		return learners.Measures{}, nil, err
	}
	named := model.Predict(testX)
	if linear, ok := model.(learners.Linear); ok {
		return learners.MeasureScores(linear, testX, testY, trueLabels(classes)), named, nil
	}
	return learners.Measures{AUC: .5, BER: 1 - 1/float64(classes)}, named, nil
}

// foldsOf splits records into parts of similar size; all records of a patient are in one part.
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
