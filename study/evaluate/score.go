package evaluate

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/binning"
	"caucus/dataset"
	"caucus/study"
)

// Scorer gives records the scores that a plan judges.
type Scorer struct {
	terms   Terms
	weights *mat.Dense                    // weights of the model
	fill    func(row []float64) []float64 // fills missing cells, for a model
	Classes []int                         // the judged classes, by their index in the schema
	column  int                           // index of the score's encoded column; the next column marks a missing score
	feature dataset.Feature
	LogOdds bool // scores are log-odds of probabilities
}

// NewScorer makes the scorer of a plan with these terms, which were checked.
func NewScorer(p study.Plan, t Terms) *Scorer {
	s := &Scorer{terms: t, LogOdds: t.logOdds(p.Schema), fill: p.Schema.MissingFiller()}
	for _, name := range t.Classes {
		for k, class := range p.Schema.Classes() {
			if class == name {
				s.Classes = append(s.Classes, k)
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

// plain sets weights below 1e-30, which no fitted model has, to 0. Mapped features are 0 or above
// 1e-30 (dataset.Map.Apply), so no product is subnormal. Processors take many times longer for
// subnormal products, so a plan with tiny weights could make the time reveal records.
func plain(w float64) float64 {
	if math.Abs(w) < 1e-30 {
		return 0
	}
	return w
}

// Of writes the scores of one encoded record, NaN for a missing score. It reads no other record,
// because a matrix product over many rows may round a row differently depending on the others.
func (s *Scorer) Of(row []float64, out []float64) {
	if s.terms.Program { // Histograms.own gives the scores instead
		out[0] = math.NaN()
		return
	}
	if s.terms.Model == nil {
		out[0] = s.inColumn(row)
		return
	}
	x := s.terms.Model.Map.Apply(mat.NewDense(1, len(row), s.fill(row))).RawRowView(0)
	_, columns := s.weights.Dims()
	all := make([]float64, columns)
	for j, v := range x {
		for k, w := range s.weights.RawRowView(j) {
			all[k] += v * w
		}
	}
	for at, k := range s.Classes {
		z := logOdds(all, k)
		if z-z != 0 { // the model's check excludes this
			z = math.NaN()
		}
		out[at] = z
	}
}

// logOdds returns the log-odds of class k from a model's scores s. Two classes have one score, the
// log-odds of the second. With more classes, s are softmax scores and the log-odds are s(k) − log Σ
// exp s(j), over j ≠ k.
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
			sum += math.Exp(math.Max(v-most, -700)) // exp(−700) is 10⁻³⁰⁴, which is not subnormal
		}
	}
	return all[k] - most - math.Log(sum)
}

func (s *Scorer) inColumn(row []float64) float64 {
	v := row[s.column]
	if !(v >= 0 && v <= 1) || row[s.column+1] > 0.5 {
		return math.NaN()
	}
	if s.LogOdds {
		return binning.LogOdds(v)
	}
	return s.feature.Value(v)
}

// All returns the scores of encoded rows for each judged class, NaN for a missing score.
func (s *Scorer) All(x *mat.Dense) [][]float64 {
	n, _ := x.Dims()
	out := make([][]float64, len(s.Classes))
	for at := range out {
		out[at] = make([]float64, n)
	}
	one := make([]float64, len(out))
	for i := range n {
		s.Of(x.RawRowView(i), one)
		for at, z := range one {
			out[at][i] = z
		}
	}
	return out
}

// Cut returns the score at a threshold of the plan: its log-odds if it is a probability.
func (s *Scorer) Cut(at float64) float64 {
	if s.LogOdds {
		return binning.LogOdds(at)
	}
	return at
}
