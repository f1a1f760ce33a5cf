package evaluate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"caucus/aggregation/binning"
	"caucus/dataset"
	"caucus/internal/yamlfile"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
)

// Terms are the terms that only evaluate plans have. Exactly one of Model, Score and Program says
// whose scores are judged.
type Terms struct {
	// the judged model, unless Score or Program is set
	Model      *Model     `json:"model,omitempty" yaml:"-"`
	Score      string     `json:"score,omitempty" yaml:"score" help:"judge the scores in this column in place of a model: a probability where its range is 0 to 1"`
	Program    bool       `json:"program,omitempty" yaml:"program" help:"each party's own program scores its records, with probabilities (unit party)"`
	ModelFile  string     `json:"-" yaml:"model" file:"yes" help:"the model to judge: a release with a classifier, its JSON from release export, or coefficients of a linear model (YAML)"`
	Classes    []string   `json:"classes" yaml:"classes" help:"classes whose scores are judged, each against all others; default for two classes: the second"`
	Thresholds []float64  `json:"thresholds,omitempty" yaml:"thresholds" help:"probabilities at and above which a record counts as predicted in the class"`
	By         []Grouping `json:"by,omitempty" yaml:"by" help:"subgroups by columns, such as [sex, {column: age, edges: [40, 60]}]; each adds as much noise again"`
	Bins       int        `json:"bins" yaml:"bins" help:"parts that scores are cut into; default: 20, or 10 with subgroups or where the AUC is expected to scatter by more than .02"`
	// inner bin edges for each of Classes; in log-odds for probabilities
	Edges    [][]float64 `json:"edges" yaml:"-"`
	PerParty int64       `json:"per_party,omitempty" yaml:"per_party" help:"most records of one party that count; needed at unit party"`
}

// File is the model's file on the author's machine, "" for none. No plan contains it.
func (t *Terms) File() string { return t.ModelFile }

// Model is a linear model on mapped features.
type Model struct {
	// plan hash of the model's release; nil for other models
	Release *study.Hash `json:"release,omitempty"`
	Map     dataset.Map `json:"map"`
	Weights [][]float64 `json:"weights"` // Map.Dim() × 1 for two classes, else × K
	// meaning of the numbers; all except scores are log-odds
	Output classifier.Output `json:"output"`
}

// Grouping is a column whose public levels form subgroups.
type Grouping struct {
	Column string `json:"column" yaml:"column"` // a text, or a number cut at Edges
	// in the number's unit; a value on an edge belongs to the group above
	Edges []float64 `json:"edges,omitempty" yaml:"edges"`
}

// UnmarshalYAML also reads the short form COLUMN or COLUMN:EDGE,EDGE.
func (g *Grouping) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		type plain Grouping
		return yamlfile.DecodeNode(n, (*plain)(g))
	}
	column, edges, cut := strings.Cut(n.Value, ":")
	*g = Grouping{Column: column}
	for _, e := range strings.Split(edges, ",") {
		if !cut {
			break
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(e), 64)
		if err != nil {
			return fmt.Errorf("%q: want COLUMN or COLUMN:EDGE,EDGE with numbers", n.Value)
		}
		g.Edges = append(g.Edges, v)
	}
	return nil
}

// DefaultBins is the default number of bins of scores. Package judged takes fewer with subgroups or
// much noise.
const DefaultBins = 20

const (
	maxBins = 100 // noise hides finer bins
	// keep a plan readable and a contribution below a megabyte
	maxThresholds, maxGroupings, maxCells = 20, 8, 1 << 16
	// binning.LogOdds moves probabilities off 0 and 1 by less
	leastThreshold = 1e-6
	// keeps squares of scores finite and bins distinct
	maxScore = 1e12
	// keeps the bound 2c² for a party of c records far inside an int64
	maxPerParty = 1 << 24
)

// MaxWeight bounds a model's weights. It keeps scores finite: mapped rows have norm at most 1.
const MaxWeight = 1e6

// Check refuses terms that make no sense with a plan. CheckEdges completes it.
func (t Terms) Check(p study.Plan) error {
	fail := func(field, format string, args ...any) error {
		return study.PlanError("evaluate."+field, format, args...)
	}
	classes := p.Schema.Classes()
	switch {
	case t.judged() != 1:
		return fail("model", "give a model to judge (model: FILE, a release or a linear model), or score: COLUMN of the sites' own scores, or program: true for those that a program of each site gives; not both, nor all three")
	case t.Program && p.Unit != privacy.Party:
		return fail("program", "a program that a party brings is given many records and may keep those of other studies, so that one %s could move the scores of all: use unit party, or write the scores into a column and judge that (score: COLUMN)", p.Unit)
	case len(t.Classes) == 0:
		return fail("classes", "the label has %d classes: say which are judged, each against all others: %v", len(classes), classes)
	case t.Bins < 2 || t.Bins > maxBins:
		return fail("bins", "%d: give 2 to %d", t.Bins, maxBins)
	case len(t.Thresholds) > maxThresholds:
		return fail("thresholds", "%d: give at most %d", len(t.Thresholds), maxThresholds)
	case len(t.By) > maxGroupings:
		return fail("by", "%d groupings: give at most %d; each adds as much to the bound again", len(t.By), maxGroupings)
	case t.PerParty < 0 || t.PerParty > maxPerParty:
		return fail("per_party", "%d: give the most records of a party that count, at most %d, or 0 if that is not public", t.PerParty, maxPerParty)
	case p.Unit == privacy.Party && t.PerParty == 0:
		return fail("per_party", "0: at unit party say how many records of a party count at most: the noise hides so many")
	}
	for i, name := range t.Classes {
		if !slices.Contains(classes, name) || slices.Contains(t.Classes[:i], name) {
			return fail("classes", "%q is no class, or named twice; there are %v", name, classes)
		}
	}
	if t.Model != nil {
		if err := t.Model.Check(p.Schema); err != nil {
			return err
		}
	} else if len(t.Classes) != 1 {
		return fail("classes", "a column or a program has scores for one class: name that one, of %v", classes)
	} else if _, err := scoreColumn(p.Schema, t.Score); !t.Program && err != nil {
		return err
	}
	logOdds := t.logOdds(p.Schema)
	for i, at := range t.Thresholds {
		switch {
		case logOdds && !(at > 0 && at < 1) || at-at != 0:
			return fail("thresholds", "%v: give probabilities between 0 and 1", at)
		case logOdds && !(at >= leastThreshold && at <= 1-leastThreshold):
			return fail("thresholds", "%v: nobody decides so near to 0 or 1; give %g to %g", at, leastThreshold, 1-leastThreshold)
		case slices.Contains(t.Thresholds[:i], at):
			return fail("thresholds", "%v twice", at)
		}
	}
	for i, g := range t.By {
		if slices.ContainsFunc(t.By[:i], func(o Grouping) bool { return o.Column == g.Column }) {
			return fail("by", "column %q twice", g.Column)
		}
		if _, err := groupsOf(p.Schema, g, CountsMissing(p)); err != nil {
			return err
		}
	}
	return nil
}

// CheckEdges refuses edges that planning cannot make. Each threshold must be an edge, because
// counts by bin tell nothing about a threshold inside a bin.
func (t Terms) CheckEdges(s dataset.Schema) error {
	if len(t.Edges) != len(t.Classes) {
		return study.PlanError("evaluate.edges", "of %d classes, %d are judged", len(t.Edges),
			len(t.Classes))
	}
	for _, edges := range t.Edges {
		if len(edges) == 0 {
			return study.PlanError("evaluate.edges", "the pool's rows all have the same score, so that there are no bins: give a pool of more varied rows, or thresholds")
		}
		if len(edges) > maxBins+maxThresholds {
			return study.PlanError("evaluate.edges", "%d: at most %d are possible", len(edges),
				maxBins+maxThresholds)
		}
		for i, z := range edges {
			if !(math.Abs(z) <= maxScore) || i > 0 && !(z > edges[i-1]) {
				return study.PlanError("evaluate.edges", "they must be finite and increase")
			}
		}
		for _, at := range t.Thresholds {
			z := at
			if t.logOdds(s) {
				z = binning.LogOdds(at)
			}
			// The author's processor may have rounded the logarithm differently.
			if !slices.ContainsFunc(edges, func(e float64) bool {
				return math.Abs(e-z) <= 1e-9*(1+math.Abs(z))
			}) {
				return study.PlanError("evaluate.edges", "threshold %v is no edge of a bin: leave edges to study create", at)
			}
		}
	}
	return nil
}

// Check refuses a model that does not fit the schema. Models that pass give finite scores.
func (m *Model) Check(s dataset.Schema) error {
	fail := func(format string, args ...any) error {
		return study.PlanError("evaluate.model", format, args...)
	}
	if err := m.Map.Validate(); err != nil {
		return fail("%v", err)
	}
	if have, want := m.Map.Columns(), s.Dim(); have != want {
		return fail("it takes %d encoded features, the schema has %d: it is a model of another schema", have, want)
	}
	if len(m.Weights) != m.Map.Dim() {
		return fail("it has weights for %d features, its map makes %d", len(m.Weights), m.Map.Dim())
	}
	columns := learners.WeightColumns(len(s.Classes()))
	for _, row := range m.Weights {
		if len(row) != columns {
			return fail("it has %d weights a feature, %d classes take %d: it is a model of other classes", len(row), len(s.Classes()), columns)
		}
		for _, w := range row {
			if !(math.Abs(w) <= MaxWeight) {
				return fail("a weight of %g is beyond %g, which no model has", w,
					float64(MaxWeight))
			}
		}
	}
	if !slices.Contains(classifier.Outputs(), m.Output) {
		return fail("its output %q is none of %v", m.Output, classifier.Outputs())
	}
	return nil
}

func (t Terms) judged() (n int) {
	for _, given := range []bool{t.Model != nil, t.Score != "", t.Program} {
		if given {
			n++
		}
	}
	return n
}

func (t Terms) logOdds(s dataset.Schema) bool {
	if t.Program {
		return true
	}
	if t.Model != nil {
		return t.Model.Output != classifier.Score
	}
	f, err := scoreColumn(s, t.Score)
	return err == nil && f.Min == 0 && f.Max == 1 && !f.Log
}

func scoreColumn(s dataset.Schema, name string) (dataset.Feature, error) {
	for _, f := range s.Features {
		if f.Column != name {
			continue
		}
		switch {
		case f.Kind != dataset.Numeric:
			return f, study.PlanError("evaluate.score", "column %q is no number", name)
		case !(math.Abs(f.Min) <= maxScore && math.Abs(f.Max) <= maxScore):
			return f, study.PlanError("evaluate.score", "column %q goes from %g to %g in the schema: give bounds within ±%g", name, f.Min, f.Max, float64(maxScore))
		case !f.FlagMissing:
			return f, study.PlanError("evaluate.score", "column %q needs missing: true in the schema: without it a record that has no score counts as one in the middle", name)
		}
		return f, nil
	}
	return dataset.Feature{}, study.PlanError("evaluate.score",
		"the schema has no column %q of its own", name)
}

// histograms is the number of histograms. Each record is in one cell of every histogram.
func (t Terms) histograms() int { return len(t.Classes) * max(len(t.By), 1) }
