package evaluate

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/validation"
	"caucus/dataset"
	"caucus/study"
)

// scorer gives a record's scores of the classes that are judged.
type scorer struct {
	terms Terms
	// weights of the model, and the places of the judged classes among all.
	weights *mat.Dense
	classes []int
	// column is the score's first encoded column, the one behind it says that it is missing.
	column  int
	feature dataset.Feature
	logOdds bool
}

func newScorer(p study.Plan, t Terms) *scorer {
	s := &scorer{terms: t, logOdds: t.logOdds(p.Schema)}
	for _, name := range t.Classes {
		for k, class := range p.Schema.Classes() {
			if class == name {
				s.classes = append(s.classes, k)
			}
		}
	}
	if t.Program {
		return s
	}
	if t.Model == nil {
		s.feature, _ = scoreColumn(p.Schema, t.Score)
		for _, b := range p.Schema.Blocks() {
			if b.Column == t.Score {
				s.column = b.Start
				break
			}
		}
		return s
	}
	s.weights = mat.NewDense(len(t.Model.Weights), len(t.Model.Weights[0]), nil)
	for i, row := range t.Model.Weights {
		for k, w := range row {
			s.weights.Set(i, k, plain(w))
		}
	}
	return s
}

// plain is a weight, or 0 below 1e-30, where no model's are. Mapped features are 0 or above
// that too (dataset.Map.Apply), so that no product is subnormal: those take many times as
// long, and a plan that has such weights would make time tell of the records.
func plain(w float64) float64 {
	if math.Abs(w) < 1e-30 {
		return 0
	}
	return w
}

// of writes the scores of one encoded record, NaN where it has none. It looks at no other
// record: a matrix product over many may round a row by what stands beside it.
func (s *scorer) of(row []float64, out []float64) {
	if s.terms.Program { // the party's answers: histograms.own
		out[0] = math.NaN()
		return
	}
	if s.terms.Model == nil {
		out[0] = s.inColumn(row)
		return
	}
	x := s.terms.Model.Map.Apply(mat.NewDense(1, len(row), row)).RawRowView(0)
	_, columns := s.weights.Dims()
	all := make([]float64, columns)
	for j, v := range x {
		for k, w := range s.weights.RawRowView(j) {
			all[k] += v * w
		}
	}
	for at, k := range s.classes {
		z := logOdds(all, k)
		if z-z != 0 { // the model's check excludes it
			z = math.NaN()
		}
		out[at] = z
	}
}

// logOdds of class k: of two classes the one score is the second's, of more the softmax's
// s(k) − log Σ exp s(j) over the others.
func logOdds(all []float64, k int) float64 {
	if len(all) == 1 {
		if k == 0 {
			return -all[0]
		}
		return all[0]
	}
	most := math.Inf(-1)
	for j, v := range all {
		if j != k {
			most = math.Max(most, v)
		}
	}
	sum := 0.0
	for j, v := range all {
		if j != k {
			sum += math.Exp(math.Max(v-most, -700)) // 10⁻³⁰⁴, which is not subnormal
		}
	}
	return all[k] - most - math.Log(sum)
}

func (s *scorer) inColumn(row []float64) float64 {
	v := row[s.column]
	if !(v >= 0 && v <= 1) || row[s.column+1] > 0.5 {
		return math.NaN()
	}
	switch f := s.feature; {
	case s.logOdds:
		return validation.LogOdds(v)
	case f.Log:
		low, high := math.Log1p(f.Min), math.Log1p(f.Max)
		return math.Expm1(low + v*(high-low))
	default:
		return f.Min + v*(f.Max-f.Min)
	}
}

// all are the scores of encoded rows, by class judged; NaN where a row has none.
func (s *scorer) all(x *mat.Dense) [][]float64 {
	n, _ := x.Dims()
	out := make([][]float64, len(s.classes))
	for at := range out {
		out[at] = make([]float64, n)
	}
	one := make([]float64, len(out))
	for i := range n {
		s.of(x.RawRowView(i), one)
		for at, z := range one {
			out[at][i] = z
		}
	}
	return out
}

// cut is the score of a threshold on the scale of edges.
func (s *scorer) cut(at float64) float64 {
	if s.logOdds {
		return validation.LogOdds(at)
	}
	return at
}
