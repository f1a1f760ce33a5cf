package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/dataset"
	"caucus/learners"
)

// Result is what the analyst gets. All of it is public once released.
type Result struct {
	Classifier *Classifier `json:"classifier,omitempty"`
	// Drift says how the private records' feature mean differs from the
	// pool's, where the mechanism releases that mean anyway.
	Drift *aggregation.Drift `json:"drift,omitempty"`
	// EffectiveRows is Kish's effective sample size of a tilted pool.
	EffectiveRows float64 `json:"effective_rows,omitempty"`
	// Ratio is what a ratio study says.
	Ratio *RatioResult `json:"ratio,omitempty"`
	// Labels is what a labels study says beside its classifier.
	Labels *LabelResult `json:"labels,omitempty"`
	// Weights are the result of a reweigh study.
	Weights  *Weights `json:"weights,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Classifier is a linear classifier on mapped features.
type Classifier struct {
	Classes []string `json:"classes"`
	// Weights is map.Dim() × 1 for two classes (the score of the second),
	// map.Dim() × K otherwise.
	Weights [][]float64               `json:"weights"`
	Lambda  float64                   `json:"lambda"`
	Path    []aggregation.LambdaPoint `json:"path,omitempty"`
}

// Linear is the classifier as a model.
func (c Classifier) Linear() (learners.Linear, error) {
	if len(c.Classes) < 2 {
		return learners.Linear{}, fmt.Errorf("read classifier: it has %d classes, at least two are needed: the release was damaged", len(c.Classes))
	}
	columns := learners.Columns(len(c.Classes))
	w := mat.NewDense(max(len(c.Weights), 1), columns, nil)
	for i, row := range c.Weights {
		if len(row) != columns {
			return learners.Linear{}, fmt.Errorf("read classifier: row %d has %d weights, want %d for %d classes", i, len(row), columns, len(c.Classes))
		}
		w.SetRow(i, row)
	}
	return learners.Linear{W: w, Classes: len(c.Classes)}, nil
}

// Release is the document a study ends in: what is claimed, what was agreed,
// the result, and what is needed to check both.
type Release struct {
	Manifest `json:"manifest"`
	// Plan is the canonical bytes that the manifest's hash names.
	Plan json.RawMessage `json:"plan"`
	// Forecast is what was expected from public inputs before noise.
	Forecast *Forecast `json:"forecast,omitempty"`
	Result   Result    `json:"result"`
	// Published are the aggregator's publications, each as the ledger gave it
	// (privacy.ParsePublished); Sum is the sum of the parties' own, where each
	// released its part and any reader may see it. The result follows from
	// either. A simulated release has neither.
	Published [][]byte `json:"published,omitempty"`
	Sum       []byte   `json:"sum,omitempty"`
}

// ParsedPlan is the plan a release was made under. It refuses a release whose
// plan is not the one it names.
func (r Release) ParsedPlan() (Plan, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Plan); err != nil {
		return Plan{}, fmt.Errorf("read release: its plan is not JSON: %w", err)
	}
	if got := HashOf(compact.Bytes()); got != r.PlanHash {
		return Plan{}, fmt.Errorf("read release: its plan has hash %s, it names %s: it was changed", got, r.PlanHash)
	}
	return ParsePlan(compact.Bytes())
}

// Predict applies a release to records with the plan's schema and map.
func (r Release) Predict(records *dataset.Records) ([]int, *mat.Dense, error) {
	if r.Result.Classifier == nil {
		return nil, nil, fmt.Errorf("predict: this release holds no classifier")
	}
	p, err := r.ParsedPlan()
	if err != nil {
		return nil, nil, err
	}
	model, err := r.Result.Classifier.Linear()
	if err != nil {
		return nil, nil, err
	}
	if rows, _ := model.W.Dims(); rows != p.Map.Dim() || !slices.Equal(r.Result.Classifier.Classes, p.Schema.Classes()) {
		return nil, nil, fmt.Errorf("predict: the classifier has %d weights of classes %v, the plan's map and schema have %d and %v: the release was damaged", rows, r.Result.Classifier.Classes, p.Map.Dim(), p.Schema.Classes())
	}
	x := p.Map.Apply(records.X)
	return model.Predict(x), model.Probabilities(x), nil
}
