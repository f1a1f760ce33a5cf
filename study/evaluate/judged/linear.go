package judged

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/evaluate"
)

// Coefficients are a linear model as papers print it. The log-odds of a class are the intercept
// plus a term for each name. A column of numbers ("age") has the coefficient times the value as its
// term, or times log(1+value) if the schema says log. A level ("sex=female") or a missing value
// ("chol?") has the coefficient as its term, for records that have the level or lack the value.
type Coefficients struct {
	// the class that the log-odds are for; default: the second of two
	Class        string             `yaml:"class"`
	Intercept    float64            `yaml:"intercept"`
	Coefficients map[string]float64 `yaml:"coefficients"`
}

// Model returns the model on a schema's encoded features. A value outside the schema's bounds
// counts as the bound. A missing value counts as the middle, unless the schema says missing: true.
func (c Coefficients) Model(s dataset.Schema) (*evaluate.Model, error) {
	fail := func(format string, args ...any) (*evaluate.Model, error) {
		return nil, study.PlanError("evaluate.model", format, args...)
	}
	classes := s.Classes()
	if len(classes) != 2 {
		return fail("coefficients are of two classes, the label has %d: give a release", len(classes))
	}
	sign := 1.0
	switch c.Class {
	case "", classes[1]:
	case classes[0]:
		sign = -1
	default:
		return fail("class %q is none of %v", c.Class, classes)
	}
	names := s.FeatureNames()
	for name := range c.Coefficients {
		if !slices.Contains(names, name) {
			return fail("there is no %q to multiply; names are %s", name,
				strings.Join(names[:min(len(names), 40)], ", "))
		}
	}
	m := &evaluate.Model{Map: dataset.Identity(s), Output: classifier.Probability}
	low, width := rangesOf(s)
	// this map never clips a row, so all columns have the same scale
	first := mat.NewDense(1, s.Dim(), nil)
	first.Set(0, 0, 1)
	mapped := m.Map.Apply(first).RawRowView(0)
	unit, one := mapped[0], mapped[s.Dim()]
	intercept := c.Intercept
	for j, name := range names {
		k := c.Coefficients[name]
		intercept += k * low[j]
		m.Weights = append(m.Weights, []float64{sign * k * width[j] / unit})
	}
	m.Weights = append(m.Weights, []float64{sign * intercept / one})
	for _, w := range m.Weights {
		if math.IsNaN(w[0]) || math.Abs(w[0]) > evaluate.MaxWeight {
			return fail("a coefficient is no number, or larger than any model's")
		}
	}
	return m, m.Check(s)
}

func rangesOf(s dataset.Schema) (low, width []float64) {
	for _, f := range s.Features {
		names := []string{f.Column}
		if f.Column == "" {
			names, _ = dataset.ExpandNames(f.Columns) // no error: the schema was checked
		}
		for range names {
			if f.Kind == dataset.Categorical {
				n := len(f.Levels)
				if !slices.Contains(f.Levels, "other") {
					n++
				}
				for range n {
					low, width = append(low, 0), append(width, 1)
				}
				continue
			}
			a, b := f.Min, f.Max
			if f.Log {
				a, b = math.Log1p(a), math.Log1p(b)
			}
			low, width = append(low, a), append(width, b-a)
			if f.FlagMissing {
				low, width = append(low, 0), append(width, 1)
			}
		}
	}
	return low, width
}

// ModelOf makes a model to judge from a release: its classifier on its plan's map. The release must
// be checked (results.CheckedPlan), and the study's schema must be the release's.
func ModelOf(r study.Release, s dataset.Schema) (*evaluate.Model, error) {
	c, ok := classifier.Of(r.Result)
	if !ok {
		return nil, study.PlanError("evaluate.model", "the release holds no classifier: give one of a study that ends in a classifier")
	}
	p, err := r.DecodedPlan()
	if err != nil {
		return nil, err
	}
	if !sameMeaning(p.Schema, s) {
		return nil, study.PlanError("evaluate.model", "the release is of another schema: its features, bounds, levels and classes must be this study's")
	}
	h := r.PlanHash
	m := &evaluate.Model{Release: &h, Map: p.Map, Weights: c.Weights, Output: c.Output}
	return m, m.Check(s)
}

func sameMeaning(a, b dataset.Schema) bool {
	x, errX := study.EncodeTerms([]any{a.Features, a.Label, a.Missing})
	y, errY := study.EncodeTerms([]any{b.Features, b.Label, b.Missing})
	return errX == nil && errY == nil && string(x) == string(y)
}
