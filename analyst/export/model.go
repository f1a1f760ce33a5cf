package export

import (
	"fmt"
	"math"

	"caucus/dataset"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/kinds/results"
)

// Model is a release's classifier as plain steps. Cells become encoded numbers (Columns), which go
// through Steps and give K scores. The class is the one with the largest score, the first in a tie.
// Output says what is reported for each class: for classifier.Score the scores, else their softmax.
// The weights include any calibration. docs/analyst.md describes the JSON.
type Model struct {
	// Form is raised whenever the meaning of this document changes.
	Form int `json:"caucus_model"`
	// About identifies the model and names its unit of privacy.
	About About `json:"about"`
	// Classes are in the order of the scores.
	Classes []string          `json:"classes"`
	Output  classifier.Output `json:"output"`
	// Missing is a text that means a missing cell. An empty cell is also missing.
	Missing        string   `json:"missing,omitempty"`
	Columns        []Column `json:"columns"`
	EncodedColumns int      `json:"encoded"`
	Steps          []Step   `json:"steps"`
	Warnings       []string `json:"warnings,omitempty"`
}

// ModelForm is the value of Model.Form that this version writes, and the only one that it reads.
const ModelForm = 1

// About identifies the release for a reader of the file.
type About struct {
	Study     string  `json:"study"`
	Plan      string  `json:"plan"` // the plan's hash
	Kind      string  `json:"kind"`
	Mechanism string  `json:"mechanism"`
	Unit      string  `json:"unit"`
	Epsilon   float64 `json:"epsilon"`
	Delta     float64 `json:"delta"`
	Parties   int     `json:"parties"`
	Simulated bool    `json:"simulated,omitempty"`
	Purpose   string  `json:"purpose,omitempty"`
	Label     string  `json:"label"` // the predicted column, or the event of curves
}

// Column is one column of a file. A number v is clamped to [Min, Max]. With Log, the number and its
// bounds become log(1+v). The number is then scaled to [0,1] and goes to position At of the encoded
// row. A cell without a finite number gives ½, and with MissingFlag also 1 at At+1. A text gives 1
// at At plus its index in Levels, or at OtherIndex if it is no level. A text that is the same
// number as a level, such as 1.0 and 1, counts as that level.
type Column struct {
	Name        string              `json:"name"`
	Kind        dataset.FeatureKind `json:"kind"`
	At          int                 `json:"at"`
	Min         float64             `json:"min,omitempty"`
	Max         float64             `json:"max,omitempty"`
	Log         bool                `json:"log,omitempty"`
	MissingFlag bool                `json:"flag,omitempty"`
	Levels      []string            `json:"levels,omitempty"`
	OtherIndex  int                 `json:"other"` // −1 for numbers

	code dataset.ColumnCode
}

// Step is a function of a row of numbers.
type Step struct {
	Op TransformKind `json:"op"`
	// Mean, Factor and Cut are for op standard, with one mean and one factor for each number of the
	// row.
	Mean   []float64 `json:"mean,omitempty"`
	Factor []float64 `json:"factor,omitempty"`
	Cut    float64   `json:"cut,omitempty"`
	// Matrix (inputs × outputs) and Offset (outputs) are for op linear.
	Matrix [][]float64 `json:"matrix,omitempty"`
	Offset []float64   `json:"offset,omitempty"`
}

// TransformKind names the function of a step.
type TransformKind string

const (
	Standardise  TransformKind = "standard" // min(max((x − mean)·factor, −cut), cut)
	Linear       TransformKind = "linear"   // x·matrix + offset
	ShrinkToBall TransformKind = "ball"     // x / max(1, ‖x‖)
)

// mostWeight bounds a model's numbers, because larger numbers overflow in some languages. No map
// that Caucus fits has larger numbers.
const mostWeight = 1e100

// New turns a release's classifier into steps, with the map folded in. It refuses releases without
// a classifier and releases of another form. It checks no signature: verify first.
func New(r study.Release) (Model, error) {
	p, err := results.CheckedPlan(r)
	if err != nil {
		return Model{}, err
	}
	c, ok := classifier.Of(r.Result)
	if !ok {
		return Model{}, fmt.Errorf("export: a release of kind %s holds no classifier (caucus release show says what it holds; weights are put to their pool with --to pool)", p.Kind)
	}
	if _, _, _, err := classifier.CheckedClassifier(r); err != nil {
		return Model{}, fmt.Errorf("export: %w", err)
	}
	m := Model{
		Form: ModelForm, About: aboutOf(r, p),
		Classes: p.Schema.Classes(), Output: c.Output, Missing: p.Schema.Missing, EncodedColumns: p.Schema.Dim(), Warnings: r.Result.Warnings,
	}
	m.Columns = columnsOf(p.Schema)
	if m.Steps, err = stepsOf(p.Map); err != nil {
		return Model{}, err
	}
	if p.Map.Kind != dataset.IdentityMap || p.Map.Inner != nil ||
		p.Map.Scale < dataset.Identity(p.Schema).Scale {
		m.Steps = append(m.Steps, Step{Op: ShrinkToBall})
	}
	m.Steps = fold(append(m.Steps, last(c)))
	return m, m.check()
}

func aboutOf(r study.Release, p study.Plan) About {
	return About{
		Study: p.Name, Plan: r.PlanHash.String(), Kind: p.Kind, Mechanism: p.Mechanism, Unit: p.Unit.String(),
		Epsilon: p.Epsilon, Delta: p.Delta, Parties: r.Parties, Simulated: p.Simulated, Purpose: p.Purpose, Label: p.Schema.Label.Column,
	}
}

func columnsOf(s dataset.Schema) (all []Column) {
	for _, code := range s.ColumnCodes() {
		f := code.Feature
		all = append(all, Column{Name: code.Column, Kind: f.Kind, At: code.FirstColumn, Min: f.Min,
			Max: f.Max, Log: f.Log, MissingFlag: f.FlagMissing, Levels: f.Levels, OtherIndex: code.OtherColumn,
			code: code})
	}
	return all
}

// stepsOf lists a map's steps, apart from the division by the norm.
func stepsOf(m dataset.Map) ([]Step, error) {
	var steps []Step
	if m.Inner != nil {
		var err error
		if steps, err = stepsOf(*m.Inner); err != nil {
			return nil, err
		}
	}
	scaled := func(n int) Step {
		s := Step{Op: Linear, Matrix: zeros(n, n), Offset: make([]float64, n)}
		for i := range n {
			s.Matrix[i][i] = 1 / m.Scale
		}
		return s
	}
	switch m.Kind {
	case dataset.IdentityMap:
		return append(steps, scaled(m.Inputs)), nil
	case dataset.PCAMap:
		s := Step{Op: Linear, Matrix: zeros(m.Inputs, m.Outputs),
			Offset: make([]float64, m.Outputs)}
		for i := range m.Inputs {
			for j := range m.Outputs {
				v := float64(m.Directions[i*m.Outputs+j])
				s.Matrix[i][j] = v / m.Scale
				s.Offset[j] -= m.Mean[i] * v / m.Scale
			}
		}
		return append(steps, s), nil
	case dataset.StandardMap:
		return append(steps, Step{Op: Standardise, Mean: m.Standard.Mean, Factor: m.Standard.Factor,
			Cut: m.Standard.Clip}, scaled(m.Inputs)), nil
	}
	return nil, fmt.Errorf("export: a map of kind %s has no plain form in these languages: use caucus release predict, or plan the study with another map", m.Kind)
}

// last returns the step from mapped features z to scores. A map's row is (z, 1)·Shrink/√2. With two
// classes, the first class's score is minus the second's if the model reports scores, else 0.
func last(c classifier.Classifier) Step {
	d, classes := len(c.Weights)-1, len(c.Classes)
	s := Step{Op: Linear, Matrix: zeros(d, classes), Offset: make([]float64, classes)}
	factor := dataset.NormMargin / math.Sqrt2
	for i, row := range c.Weights {
		to := s.Offset
		if i < d {
			to = s.Matrix[i]
		}
		for k, w := range row {
			to[classes-len(row)+k] = w * factor
		}
		if classes == 2 && c.Output == classifier.Score {
			to[0] = -to[1]
		}
	}
	return s
}

func (m Model) scores() bool { return m.Output == classifier.Score }

func fold(steps []Step) []Step {
	var out []Step
	for _, s := range steps {
		if n := len(out) - 1; s.Op == Linear && n >= 0 && out[n].Op == Linear {
			out[n] = product(out[n], s)
			continue
		}
		out = append(out, s)
	}
	return out
}

func product(a, b Step) Step {
	width := len(b.Offset)
	out := Step{Op: Linear, Matrix: zeros(len(a.Matrix), width), Offset: make([]float64, width)}
	copy(out.Offset, b.Offset)
	addRow := func(to, row []float64) {
		for j, v := range row {
			if v == 0 {
				continue
			}
			for k, w := range b.Matrix[j] {
				to[k] += v * w
			}
		}
	}
	addRow(out.Offset, a.Offset)
	for i, row := range a.Matrix {
		addRow(out.Matrix[i], row)
	}
	return out
}

// check refuses numbers that languages would compute differently.
func (m Model) check() error {
	for _, s := range m.Steps {
		for _, row := range append([][]float64{s.Offset, s.Mean, s.Factor, {s.Cut}}, s.Matrix...) {
			for _, v := range row {
				if !(math.Abs(v) < mostWeight) {
					return fmt.Errorf("export: the release holds the number %g, which is no weight or direction of a study: it was damaged", v)
				}
			}
		}
	}
	return nil
}

func (m Model) widths() []int {
	all := []int{m.EncodedColumns}
	for _, s := range m.Steps {
		n := all[len(all)-1]
		if s.Op == Linear {
			n = len(s.Offset)
		}
		all = append(all, n)
	}
	return all
}

func zeros(rows, columns int) [][]float64 {
	all, out := make([]float64, rows*columns), make([][]float64, rows)
	for i := range out {
		out[i] = all[i*columns : (i+1)*columns]
	}
	return out
}
