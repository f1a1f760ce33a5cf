package evaluate_test

import (
	"errors"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/evaluate"
	"caucus/study/kinds"
)

// TestEvaluateRefusals: a plan is refused if no proof covers it or its terms make no sense.
func TestEvaluateRefusals(t *testing.T) {
	schema, _, pool, _ := conformance.HospitalWithPool(t, 400)
	terms := func(change func(*evaluate.Terms)) func(*study.Plan) {
		return func(p *study.Plan) {
			t := conformance.TermsIn[evaluate.Terms](*p)
			change(&t)
			p.KindTerms = conformance.EncodeTerms(t)
		}
	}
	model := func(change func(*evaluate.Model)) func(*study.Plan) {
		return terms(func(t *evaluate.Terms) { change(t.Model) })
	}
	for name, c := range map[string]struct {
		change func(*study.Plan)
		says   string
	}{
		"unknown mechanism":           {func(p *study.Plan) { p.Mechanism = "entropy" }, "[gaussian laplace]"},
		"auto in a plan":              {func(p *study.Plan) { p.Mechanism = "auto" }, "laplace or gaussian"},
		"unit label":                  {func(p *study.Plan) { p.Unit = privacy.Label }, "use unit record"},
		"unit party of any size":      {func(p *study.Plan) { p.Unit = privacy.Party }, "evaluate.per_party"},
		"gaussian of δ 0":             {func(p *study.Plan) { p.Mechanism = "gaussian" }, "use laplace"},
		"a map":                       {func(p *study.Plan) { p.Map.Kind = dataset.PCAMap }, "map"},
		"no terms":                    {func(p *study.Plan) { p.KindTerms = nil }, "give a model to judge"},
		"terms of another kind":       {func(p *study.Plan) { p.KindTerms = []byte(`{"keep":0.1}`) }, "keep"},
		"neither model nor score":     {terms(func(t *evaluate.Terms) { t.Model = nil }), "give a model to judge"},
		"model and score":             {terms(func(t *evaluate.Terms) { t.Score = "age" }), "not both"},
		"a score that is not there":   {terms(func(t *evaluate.Terms) { t.Model, t.Score = nil, "risk" }), "no column \"risk\""},
		"a score that is no number":   {terms(func(t *evaluate.Terms) { t.Model, t.Score = nil, "sex" }), "no number"},
		"a score that cannot lack":    {terms(func(t *evaluate.Terms) { t.Model, t.Score = nil, "age" }), "missing: true"},
		"no class":                    {terms(func(t *evaluate.Terms) { t.Classes = nil }), "say which are judged"},
		"another class":               {terms(func(t *evaluate.Terms) { t.Classes = []string{"perhaps"} }), "is no class"},
		"a class twice":               {terms(func(t *evaluate.Terms) { t.Classes = append(t.Classes, t.Classes[0]) }), "named twice"},
		"a threshold of 1":            {terms(func(t *evaluate.Terms) { t.Thresholds = []float64{1} }), "between 0 and 1"},
		"a threshold next to 0":       {terms(func(t *evaluate.Terms) { t.Thresholds = []float64{1e-12} }), "so near to 0 or 1"},
		"a threshold twice":           {terms(func(t *evaluate.Terms) { t.Thresholds = []float64{.3, .3} }), "twice"},
		"a threshold that is no edge": {terms(func(t *evaluate.Terms) { t.Thresholds = []float64{.3001} }), "no edge of a bin"},
		"many thresholds":             {terms(func(t *evaluate.Terms) { t.Thresholds = make([]float64, 21) }), "at most 20"},
		"one bin":                     {terms(func(t *evaluate.Terms) { t.Bins = 1 }), "2 to 100"},
		"no edges":                    {terms(func(t *evaluate.Terms) { t.Edges = nil }), "edges"},
		"an empty list of edges":      {terms(func(t *evaluate.Terms) { t.Edges = [][]float64{{}} }), "same score"},
		"edges that fall":             {terms(func(t *evaluate.Terms) { t.Edges = [][]float64{{1, 0}} }), "increase"},
		"edges that stay":             {terms(func(t *evaluate.Terms) { t.Edges = [][]float64{{1, 1}} }), "increase"},
		"an edge beyond":              {terms(func(t *evaluate.Terms) { t.Edges = [][]float64{{1, 1e300}} }), "finite"},
		"too many edges":              {terms(func(t *evaluate.Terms) { t.Edges = [][]float64{make([]float64, 500)} }), "at most"},
		"a group that is not there":   {terms(func(t *evaluate.Terms) { t.By = []evaluate.Grouping{{Column: "town"}} }), "no column \"town\""},
		"a group by the label":        {terms(func(t *evaluate.Terms) { t.By = []evaluate.Grouping{{Column: schema.Label.Column}} }), "feature"},
		"a group twice":               {terms(func(t *evaluate.Terms) { t.By = []evaluate.Grouping{{Column: "sex"}, {Column: "sex"}} }), "twice"},
		"a number without edges":      {terms(func(t *evaluate.Terms) { t.By = []evaluate.Grouping{{Column: "age"}} }), "give 1 to 20 edges"},
		"edges out of range":          {terms(func(t *evaluate.Terms) { t.By = []evaluate.Grouping{{Column: "age", Edges: []float64{1e9}}} }), "between its bounds"},
		"levels with edges":           {terms(func(t *evaluate.Terms) { t.By = []evaluate.Grouping{{Column: "sex", Edges: []float64{1}}} }), "takes no edges"},
		"too many groupings":          {terms(func(t *evaluate.Terms) { t.By = make([]evaluate.Grouping, 9) }), "at most 8"},
		"per_party negative":          {terms(func(t *evaluate.Terms) { t.PerParty = -1 }), "per_party"},
		"per_party beyond":            {terms(func(t *evaluate.Terms) { t.PerParty = 1 << 40 }), "per_party"},
		"a weight beyond":             {model(func(m *evaluate.Model) { m.Weights[0][0] = 1e300 }), "no model has"},
		"weights lacking":             {model(func(m *evaluate.Model) { m.Weights = m.Weights[1:] }), "its map makes"},
		"weights of more classes":     {model(func(m *evaluate.Model) { m.Weights[2] = []float64{1, 2, 3} }), "other classes"},
		"no weights of a feature":     {model(func(m *evaluate.Model) { m.Weights[2] = nil }), "other classes"},
		"a map of another schema":     {model(func(m *evaluate.Model) { m.Map.Inputs--; m.Weights = m.Weights[1:] }), "another schema"},
		"a map without a scale":       {model(func(m *evaluate.Model) { m.Map.Scale = 0 }), "scale"},
		"an output that is not known": {model(func(m *evaluate.Model) { m.Output = "certainty" }), "none of"},
	} {
		p := conformance.EvaluatePlan(t, schema, pool, nil)
		c.change(&p)
		if err := kinds.Check(p); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
}
