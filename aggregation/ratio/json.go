package ratio

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
)

// jsonMatrix is a row-major matrix in JSON, exact: Go's shortest decimals read back to the same
// float64.
type jsonMatrix struct {
	Rows    int       `json:"rows"`
	Columns int       `json:"columns"`
	Data    []float64 `json:"data"`
}

func toJSONMatrix(d mat.Matrix) *jsonMatrix {
	r, c := d.Dims()
	out := &jsonMatrix{Rows: r, Columns: c, Data: make([]float64, 0, r*c)}
	for i := range r {
		for j := range c {
			out.Data = append(out.Data, d.At(i, j))
		}
	}
	return out
}

func (j *jsonMatrix) dense(rows, columns int) (*mat.Dense, error) {
	if j == nil {
		return nil, errors.New("a matrix is missing")
	}
	if (rows >= 0 && j.Rows != rows) || (columns >= 0 && j.Columns != columns) ||
		j.Rows < 1 || j.Columns < 1 || len(j.Data)/j.Columns != j.Rows ||
		len(j.Data)%j.Columns != 0 {
		return nil, fmt.Errorf("a matrix is %d×%d with %d numbers, want %d×%d", j.Rows, j.Columns,
			len(j.Data), rows, columns)
	}
	for _, v := range j.Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("a matrix holds a number that is not finite")
		}
	}
	return mat.NewDense(j.Rows, j.Columns, j.Data), nil
}

func (j *jsonMatrix) symmetric(c int) (*mat.SymDense, error) {
	d, err := j.dense(c, c)
	if err != nil {
		return nil, err
	}
	out := mat.NewSymDense(c, nil)
	for i := range c {
		for k := range i + 1 {
			out.SetSym(i, k, d.At(i, k))
		}
	}
	return out, nil
}

type jsonRatioSet struct {
	ratioSetLaw
	ShareCov *jsonMatrix `json:"share_covariance,omitempty"`
}

type jsonRatioModel struct {
	Version    int                `json:"version"`
	Estimator  string             `json:"estimator"`
	Classes    int                `json:"classes"`
	Confidence float64            `json:"confidence"`
	Kernel     *Kernel            `json:"kernel,omitempty"`
	Fourier    *embedding.Fourier `json:"fourier,omitempty"`
	Sets       []jsonRatioSet     `json:"sets"`
	Anchors    *jsonMatrix        `json:"anchors,omitempty"`
	Rows       []*jsonMatrix      `json:"rows,omitempty"`
	Read       *jsonMatrix        `json:"read"`
	Quadratic  *jsonMatrix        `json:"quadratic"`
	Linear     *jsonMatrix        `json:"linear"`
	Offset     []float64          `json:"offset"`
	Metric     *jsonMatrix        `json:"metric"`
	CoefLinear *jsonMatrix        `json:"coef_linear,omitempty"`
	CoefOffset []float64          `json:"coef_offset,omitempty"`
	Weights    *jsonMatrix        `json:"set_weights"`
	Slope      *jsonMatrix        `json:"slope"`
	Spread     *jsonMatrix        `json:"spread,omitempty"`
	Indirect   bool               `json:"spread_indirect,omitempty"`
	Rank       float64            `json:"effective_rank"`
	Condition  float64            `json:"condition"`
	Warnings   []Warning          `json:"warnings,omitempty"`
}

const modelVersion = 1

// MarshalJSON writes what Estimate needs: with a kernel the sets' rows too, with a Fourier map no
// rows.
func (m *Model) MarshalJSON() ([]byte, error) {
	s := m.system
	out := jsonRatioModel{
		Version: modelVersion, Estimator: m.options.Estimator, Classes: m.classes, Confidence: m.options.Confidence,
		Fourier: m.options.Fourier, Read: toJSONMatrix(s.read), Quadratic: toJSONMatrix(s.quadratic),
		Linear: toJSONMatrix(s.linear), Offset: s.offset, Metric: toJSONMatrix(s.metric), CoefOffset: s.coefOffset, Slope: toJSONMatrix(s.slope),
		Weights: toJSONMatrix(s.spread), Indirect: m.indirect, Rank: m.rank, Condition: m.number, Warnings: m.warnings,
	}
	if s.coefLinear != nil {
		out.CoefLinear = toJSONMatrix(s.coefLinear)
	}
	if m.spread != nil {
		out.Spread = toJSONMatrix(m.spread)
	}
	for _, law := range m.sets {
		j := jsonRatioSet{ratioSetLaw: law}
		if law.ShareCov != nil {
			j.ShareCov = toJSONMatrix(law.ShareCov)
		}
		out.Sets = append(out.Sets, j)
	}
	if m.options.Fourier != nil {
		out.Anchors = toJSONMatrix(m.anchors)
	} else {
		out.Kernel = &m.options.Kernel
		for _, rows := range m.rows {
			out.Rows = append(out.Rows, toJSONMatrix(rows))
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads a model and checks that its parts fit together, so that Estimate cannot
// panic.
func (m *Model) UnmarshalJSON(data []byte) error {
	var in jsonRatioModel
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read ratio model: %w", err)
	}
	out, err := in.model()
	if err != nil {
		return fmt.Errorf("read ratio model: %w", err)
	}
	*m = *out
	return nil
}

func (jrm jsonRatioModel) model() (*Model, error) {
	if jrm.Version != modelVersion {
		return nil, fmt.Errorf("version %d is not %d: use the release of the program that wrote it", jrm.Version, modelVersion)
	}
	c, sets := jrm.Classes, len(jrm.Sets)
	if c < 2 || sets < 2 || len(jrm.Offset) != c || !(jrm.Confidence > 0 && jrm.Confidence < 1) {
		return nil, errors.New("classes, sets, offset or confidence are missing")
	}
	out := &Model{
		options: Options{Estimator: jrm.Estimator, Fourier: jrm.Fourier, Confidence: jrm.Confidence},
		classes: c, indirect: jrm.Indirect || jrm.Spread == nil, rank: jrm.Rank, warnings: jrm.Warnings, number: jrm.Condition,
	}
	if jrm.Kernel != nil {
		out.options.Kernel = *jrm.Kernel
	}
	if err := out.options.Validate(); err != nil {
		return nil, err
	}
	functions := sets
	if jrm.Estimator == embedding.EstimatorClassMeans {
		functions = c
	}
	anchors := sets
	if jrm.Fourier != nil {
		anchors = functions
	}
	var problems []error
	dense := func(j *jsonMatrix, r, k int) *mat.Dense {
		d, err := j.dense(r, k)
		problems = append(problems, err)
		return d
	}
	s := &out.system
	s.read, s.quadratic = dense(jrm.Read, anchors, functions), dense(jrm.Quadratic, functions,
		functions)
	s.linear, s.spread = dense(jrm.Linear, c, functions), dense(jrm.Weights, sets, functions)
	s.offset, s.coefOffset, s.slope = jrm.Offset, jrm.CoefOffset, dense(jrm.Slope, c, c)
	metric, err := jrm.Metric.symmetric(c)
	problems = append(problems, err)
	s.metric = metric
	switch jrm.Estimator {
	case embedding.EstimatorClassMeans:
	case embedding.EstimatorMixture:
		s.coefLinear = dense(jrm.CoefLinear, functions, functions)
		if len(jrm.CoefOffset) != functions {
			problems = append(problems, errors.New("coef_offset has the wrong length"))
		}
	default:
		problems = append(problems, fmt.Errorf("estimator %q is not known", jrm.Estimator))
	}
	if jrm.Spread != nil {
		out.spread, err = jrm.Spread.symmetric(c)
		problems = append(problems, err)
	}
	for _, j := range jrm.Sets {
		law := j.ratioSetLaw
		if law.N < 2 || len(law.Shares) != c {
			problems = append(problems, errors.New("a set has no size or shares"))
		}
		if j.ShareCov != nil {
			law.ShareCov, err = j.ShareCov.symmetric(c)
			problems = append(problems, err)
		}
		out.sets = append(out.sets, law)
	}
	if jrm.Fourier != nil {
		out.anchors = dense(jrm.Anchors, anchors, jrm.Fourier.Features)
	} else {
		if len(jrm.Rows) != sets {
			problems = append(problems, errors.New("the rows of some sets are missing"))
		}
		d := -1
		for i, j := range jrm.Rows {
			if i < sets && j != nil {
				if d < 0 {
					d = j.Columns
				}
				out.rows = append(out.rows, dense(j, jrm.Sets[i].N, d))
			} else {
				problems = append(problems, errors.New("the rows of a set are missing"))
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return out, nil
}
