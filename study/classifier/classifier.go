package classifier

import (
	"encoding/json"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/solving"
	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
)

// Classifier is a linear classifier on mapped features.
type Classifier struct {
	Classes []string `json:"classes"`
	// map.Dim() × 1 for two classes (score of the second), else map.Dim() × K
	Weights     [][]float64           `json:"weights"`
	Output      Output                `json:"output"` // meaning of the numbers
	Calibration *Calibration          `json:"calibration,omitempty"`
	Lambda      float64               `json:"lambda"`
	Path        []solving.LambdaPoint `json:"path,omitempty"`
}

// Of returns the classifier in a result of any kind, and false if there is none.
func Of(r study.Result) (Classifier, bool) {
	var body struct {
		Classifier *Classifier `json:"classifier"`
	}
	if json.Unmarshal(r.Body, &body) != nil || body.Classifier == nil {
		return Classifier{}, false
	}
	return *body.Classifier, true
}

// Linear returns the classifier as a linear model. It refuses weights of a wrong shape.
func (c Classifier) Linear() (learners.Linear, error) {
	if err := c.checkOutput(); err != nil {
		return learners.Linear{}, err
	}
	if len(c.Classes) < 2 {
		return learners.Linear{}, fmt.Errorf("read classifier: it has %d classes, at least two are needed: the release was damaged", len(c.Classes))
	}
	columns := learners.WeightColumns(len(c.Classes))
	if len(c.Weights) == 0 {
		return learners.Linear{}, fmt.Errorf("read classifier: it has no weights: the release was damaged")
	}
	for i, row := range c.Weights { // check the lengths before allocating a matrix
		if len(row) != columns {
			return learners.Linear{}, fmt.Errorf("read classifier: row %d has %d weights, want %d for %d classes", i, len(row), columns, len(c.Classes))
		}
	}
	w := mat.NewDense(len(c.Weights), columns, nil)
	for i, row := range c.Weights {
		w.SetRow(i, row)
	}
	return learners.Linear{W: w, Classes: len(c.Classes)}, nil
}

// CountCorrect counts the labelled records and the correct predictions among them.
func CountCorrect(predicted, y []int) (right, labelled int) {
	for i, k := range y {
		if k < 0 {
			continue
		}
		labelled++
		if predicted[i] == k {
			right++
		}
	}
	return right, labelled
}

// Accuracy returns the share of labelled records that are predicted correctly, 0 if none has a
// label.
func Accuracy(predicted, y []int) float64 {
	right, labelled := CountCorrect(predicted, y)
	return float64(right) / float64(max(labelled, 1))
}

// CheckedClassifier returns a release's classifier, the same classifier as a linear model, and the
// plan. It refuses weights of a wrong shape, an unknown Output, and a map or classes that differ
// from the plan's. All code that uses or shows a classifier calls CheckedClassifier.
func CheckedClassifier(r study.Release) (c Classifier, model learners.Linear, p study.Plan,
	err error) {
	c, ok := Of(r.Result)
	if !ok {
		return c, model, p, fmt.Errorf("read classifier: this release holds none")
	}
	if p, err = r.DecodedPlan(); err != nil {
		return c, model, p, err
	}
	if model, err = c.Linear(); err != nil {
		return c, model, p, err
	}
	if rows, _ := model.W.Dims(); rows != p.Map.Dim() ||
		!slices.Equal(c.Classes, p.Schema.Classes()) {
		return c, model, p, fmt.Errorf("read classifier: it has %d weights of classes %v, the plan's map and schema have %d and %v: the release was damaged", rows, c.Classes, p.Map.Dim(), p.Schema.Classes())
	}
	return c, model, p, nil
}

// Predict applies a release's classifier to records with the plan's schema and map. It returns, for
// each record, the predicted class and one number per class, whose meaning is the classifier's
// Output.
func Predict(r study.Release, records *dataset.Records) ([]int, *mat.Dense, error) {
	predict, err := Predictor(r)
	if err != nil {
		return nil, nil, err
	}
	return predict(records)
}

// Predictor reads a release and returns its Predict, for files that are read in parts.
func Predictor(r study.Release) (func(*dataset.Records) ([]int, *mat.Dense, error), error) {
	c, model, p, err := CheckedClassifier(r)
	return func(records *dataset.Records) ([]int, *mat.Dense, error) {
		x := p.MapRecords(records)
		values, err := c.Values(x)
		return model.Predict(x), values, err
	}, err
}
