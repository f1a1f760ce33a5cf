package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// StandardMap is the kind of a map that scales each column separately ([StandardParameters]) and
// keeps all.
const StandardMap MapKind = "standard"

// StandardParameters holds the parameters of a map of kind "standard": column j becomes
//
//	uⱼ = min(max((xⱼ − Meanⱼ)·Factorⱼ, −Clip), Clip)
//
// so that neither an outlier nor a rare level outweighs the rest of its row.
type StandardParameters struct {
	Mean   []float64 `json:"mean"`
	Factor []float64 `json:"factor"`
	Clip   float64   `json:"cut"`
}

// famdCut bounds a standardised column. A number beyond five standard deviations carries no more
// information by being farther away. A level with a share below 1/5² = 4 % is scaled as if it had 4
// %: its own share would be estimated from few rows, and would dominate the norm of rows with this
// level.
const famdCut = 5

// FitFAMD fits the map to the dims main directions of a factor analysis of mixed data (Pagès 2004,
// "Analyse factorielle de données mixtes") of x, N×Dim encoded rows of the PUBLIC pool, never of
// private records. A number is divided by its standard deviation s, the indicator of a level of
// share p by √p, as in multiple correspondence analysis. Principal components follow:
//
//	u = (x − mean)/s  or  (x − p)/√p, cut at ±5;  z = Vᵀ(u − mean u)/Scale
//
// So a column's weight does not depend on the unit of its bounds: every number has variance 1, and
// no direction has more than variance 1 in common with a column of K levels. A missing flag counts
// as a number. whiten and errors are as in [FitPCA].
func FitFAMD(s Schema, x *mat.Dense, dims int, whiten float64) (Map, error) {
	standard, err := fitStandard(s, x)
	if err != nil {
		return Map{}, fmt.Errorf("fit famd: %w", err)
	}
	m, err := FitPCA(standard.Features(x), dims, whiten)
	if err != nil {
		return Map{}, fmt.Errorf("fit famd: %w", err)
	}
	return m.ComposeWith(standard), nil
}

// A column is dropped if at most famdFew of the pool's rows differ in it from the others. If it
// were scaled, a value that is rare in the pool but common in private records would get the largest
// features.
const famdFew = 9

// fitStandard scales the columns as in FitFAMD. A column becomes 0 if at most famdFew rows, and at
// most a tenth of all rows, differ from the rest.
func fitStandard(s Schema, x *mat.Dense) (Map, error) {
	n, d := x.Dims()
	switch {
	case d != s.Dim():
		return Map{}, fmt.Errorf("rows have %d columns; the schema encodes to %d", d, s.Dim())
	case n < 2:
		return Map{}, fmt.Errorf("the pool has %d rows; it needs at least 2", n)
	}
	mean, variance := columnMoments(x)
	out := &StandardParameters{Mean: mean, Factor: make([]float64, d), Clip: famdCut}
	level := s.levelColumns()
	for j, v := range variance {
		switch {
		case v-v != 0:
			return Map{}, fmt.Errorf("column %d of the pool holds a value that is not finite", j)
		case fewDiffer(x, j):
		case level[j]:
			out.Factor[j] = 1 / math.Sqrt(max(mean[j], 1./(famdCut*famdCut)))
		default:
			out.Factor[j] = 1 / math.Sqrt(v)
		}
	}
	return Map{Kind: StandardMap, Inputs: d, Outputs: d, Scale: 1, Standard: out}, nil
}

// columnMoments returns mean and variance (over N) of each column, in two passes.
func columnMoments(x *mat.Dense) (mean, variance []float64) {
	n, d := x.Dims()
	mean, variance = make([]float64, d), make([]float64, d)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			mean[j] += v / float64(n)
		}
	}
	for i := range n {
		for j, v := range x.RawRowView(i) {
			variance[j] += (v - mean[j]) * (v - mean[j]) / float64(n)
		}
	}
	return mean, variance
}

func fewDiffer(x *mat.Dense, j int) bool {
	column := mat.Col(nil, j, x)
	slices.Sort(column)
	n, common, run := len(column), 0, 0
	for i, v := range column {
		if run++; i == 0 || v != column[i-1] {
			run = 1
		}
		common = max(common, run)
	}
	return n-common <= min(famdFew, n/10)
}

func (s Schema) levelColumns() []bool {
	var level []bool
	for _, f := range s.Features {
		names, _ := f.names(maxColumns) // no error: Validate has checked the names
		for range len(names) * f.width() {
			level = append(level, f.Kind == Categorical)
		}
	}
	return level
}

func (s *StandardParameters) fill(z, x *mat.Dense) {
	n, _ := x.Dims()
	for i := range n {
		to := z.RawRowView(i)
		for j, v := range x.RawRowView(i) {
			to[j] = min(max((v-s.Mean[j])*s.Factor[j], -s.Clip), s.Clip)
		}
	}
}

func (s *StandardParameters) validate(m Map) error {
	switch {
	case s == nil || !(s.Clip > 0 && s.Clip < 1e30):
		return errors.New("map: a standard map needs a cut above 0, such as 5")
	case m.Outputs != m.Inputs:
		return fmt.Errorf("map: outputs is %d; a standard map keeps its %d inputs", m.Outputs, m.Inputs)
	case len(m.Mean) != 0 || len(m.Directions) != 0:
		return errors.New("map: a standard map has its mean under standard and no directions; remove them")
	case len(s.Mean) != m.Inputs || len(s.Factor) != m.Inputs:
		return fmt.Errorf("map: standard has %d means and %d factors; expected %d of each", len(s.Mean), len(s.Factor), m.Inputs)
	}
	for j, mean := range s.Mean {
		factor := math.Abs(s.Factor[j])
		if ordinary := factor == 0 || factor > 1e-30 && factor < 1e30; !ordinary ||
			!(math.Abs(mean) < 1e30) {
			return fmt.Errorf("map: standard holds mean %g and factor %g; expected numbers of ordinary size, a factor may be 0", mean, s.Factor[j])
		}
	}
	return nil
}
