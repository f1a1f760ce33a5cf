package export

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/evaluate"
)

// Parse reads a model's JSON document. It refuses another form, and steps that do not fit each
// other.
func Parse(text []byte) (Model, error) {
	var m Model
	if err := study.DecodeStrictly(text, &m); err != nil {
		return m, fmt.Errorf("read exported model: %w", err)
	}
	if m.Form != ModelForm {
		return m, fmt.Errorf("read exported model: it has form %d, this version reads %d: export the release again", m.Form, ModelForm)
	}
	if err := m.check(); err != nil {
		return m, err
	}
	width := m.Encoded
	for i, s := range m.Steps {
		if s.Op != Linear { // Judged makes a map of a standard step and checks its numbers
			continue
		}
		fits := len(s.Matrix) == width && len(s.Offset) > 0
		for _, row := range s.Matrix {
			fits = fits && len(row) == len(s.Offset)
		}
		if !fits {
			return m, fmt.Errorf("read exported model: step %d does not take the %d numbers that come before it: the file was damaged", i+1, width)
		}
		width = len(s.Offset)
	}
	return m, nil
}

// Judged returns the model for an evaluate plan with this schema. The result names no release,
// because its weights differ by rounding. Judged accepts two forms of model: one linear step, and a
// projection (linear, ball, linear) with or without standardised columns. It rounds a projection's
// directions to single precision, as a map has them, so scores differ from the release's by at most
// a relative millionth.
func (m Model) Judged(s dataset.Schema) (*evaluate.Model, error) {
	fail := func(format string, args ...any) (*evaluate.Model, error) {
		return nil, fmt.Errorf("judge exported model: "+format, args...)
	}
	own := columnsOf(s)
	for i := range own {
		own[i].code = dataset.ColumnCode{}
	}
	if !reflect.DeepEqual(own, m.Columns) || m.Encoded != s.Dim() || m.Missing != s.Missing ||
		m.About.Label != s.Label.Column || !slices.Equal(m.Classes, s.Classes()) {
		return fail("it is of another schema: its columns, bounds, levels, marker of missing cells and classes must be this study's")
	}
	out := &evaluate.Model{Map: dataset.Identity(s), Output: m.Output}
	switch ops := m.ops(); {
	case slices.Equal(ops, []Op{Linear}):
	case slices.Equal(ops, []Op{Linear, Ball, Linear}), slices.Equal(ops,
		[]Op{Standard, Linear, Ball, Linear}):
		var err error
		if out.Map, err = projection(m.Steps[len(ops)-3]); err != nil {
			return fail("%v", err)
		}
		if first := m.Steps[0]; first.Op == Standard {
			out.Map = out.Map.After(dataset.Map{
				Kind: dataset.StandardMap, Inputs: m.Encoded, Outputs: m.Encoded, Scale: 1,
				Standard: &dataset.Standard{Mean: first.Mean, Factor: first.Factor, Cut: first.Cut},
			})
		}
		if err := out.Map.Validate(); err != nil {
			return fail("%v", err)
		}
	default:
		return fail("its steps are %v; those without a map, of principal components and of mixed data's are read back: give the release itself instead", ops)
	}
	last := m.Steps[len(m.Steps)-1]
	if len(last.Offset) != len(m.Classes) {
		return fail("it has %d scores of %d classes: the file was damaged", len(last.Offset), len(m.Classes))
	}
	// A map's row is (z, 1)·Shrink/√2. For an identity, z is the encoded row divided by the map's
	// scale.
	intercept := math.Sqrt2 / dataset.Shrink
	unit := intercept
	if len(m.Steps) == 1 {
		unit *= out.Map.Scale
	}
	columns := learners.Columns(len(m.Classes))
	row := func(scores []float64, by float64) []float64 {
		if columns > 1 {
			of := slices.Clone(scores)
			for k := range of {
				of[k] *= by
			}
			return of
		}
		if m.Output == classifier.Score { // the first class's score is minus the second's
			return []float64{scores[1] * by}
		}
		return []float64{(scores[1] - scores[0]) * by}
	}
	for _, scores := range last.Matrix {
		out.Weights = append(out.Weights, row(scores, unit))
	}
	out.Weights = append(out.Weights, row(last.Offset, intercept))
	return out, nil
}

func (m Model) ops() (all []Op) {
	for _, s := range m.Steps {
		all = append(all, s.Op)
	}
	return all
}

// projection returns the map of principal components that equals a linear step. Several means give
// the step's offset; projection takes the one of least norm.
func projection(s Step) (dataset.Map, error) {
	in, out := len(s.Matrix), len(s.Offset)
	m := dataset.Map{Kind: dataset.PCAMap, Inputs: in, Scale: 1, Outputs: out}
	directions := mat.NewDense(out, in, nil) // transposed
	for i, row := range s.Matrix {
		for j, v := range row {
			m.Directions = append(m.Directions, float32(v))
			directions.Set(j, i, float64(float32(v)))
		}
	}
	offset := mat.NewVecDense(out, nil)
	for j, v := range s.Offset {
		offset.SetVec(j, -v)
	}
	var mean mat.VecDense
	if err := mean.SolveVec(directions, offset); err != nil {
		return m, fmt.Errorf("its projection has directions that are no basis: %w", err)
	}
	m.Mean = slices.Clone(mean.RawVector().Data)
	return m, nil
}
