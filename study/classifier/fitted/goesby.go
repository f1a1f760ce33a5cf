package fitted

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
	"caucus/study/classifier"
)

// mostMoves is the most differences that SeparatingColumns shows.
const mostMoves = 8

// move says that a typical difference between two records (words) changes the second class's score
// by this number.
type move struct {
	words string
	by    float64
}

// SeparatingColumns shows, as a chart and in a sentence, by which columns a classifier of two
// classes separates the classes, largest change of the score first. It gives no intervals, although
// the weights contain privacy noise; Coefficients gives some. SeparatingColumns multiplies a
// level's change by √(p(1−p)), where p is the level's share in the pool, because the weight of a
// rare level is mostly noise and should not come first.
//
// Both results are empty for more than two classes, for images, and if the noise left nothing.
func SeparatingColumns(c classifier.Classifier, p study.Plan,
	model learners.Linear) (*study.ReportChart,
	string) {
	if c.Lambda == 0 || len(c.Classes) != 2 || p.Schema.Dim() > contrastColumns {
		return nil, ""
	}
	moves := movesOf(p, model)
	slices.SortStableFunc(moves, func(a, b move) int {
		return cmp.Compare(math.Abs(b.by), math.Abs(a.by))
	})
	all := len(moves)
	moves = moves[:min(all, mostMoves)]
	if all == 0 || moves[0].by == 0 {
		return nil, ""
	}
	chart := &study.ReportChart{
		Title: "largest weights of the classifier", Zero: true,
		Note: fmt.Sprintf("right raises its score of %s, left lowers it; the middle line is 0, the largest weight 1; %d of %d weights; privacy noise is in them, so order and sign may be wrong", c.Classes[1], len(moves), all),
	}
	var up, down []string
	for _, m := range moves {
		chart.Bars = append(chart.Bars, study.NewIntervalBar(m.words, m.by/math.Abs(moves[0].by),
			0))
		if m.by > 0 && len(up) < mostNamed {
			up = append(up, m.words)
		} else if m.by < 0 && len(down) < mostNamed {
			down = append(down, m.words)
		}
	}
	var said []string
	if len(up) > 0 {
		said = append(said, "rises for "+strings.Join(up, "; "))
	}
	if len(down) > 0 {
		said = append(said, "falls for "+strings.Join(down, "; "))
	}
	return chart, " Its weights are not findings: they describe the classifier, and privacy noise may have changed their order or sign. By the largest, its score of " + c.Classes[1] + " " + strings.Join(said, ", and ") + "."
}

func movesOf(p study.Plan, model learners.Linear) (all []move) {
	codes := p.Schema.ColumnCodes()
	middle := p.Map.PoolMean()
	if middle == nil {
		middle = make([]float64, p.Schema.Dim())
		for _, code := range codes {
			for k := range code.Width {
				middle[code.FirstColumn+k] = 1 / float64(code.Width)
			}
			if code.Feature.Kind == dataset.Numeric {
				middle[code.FirstColumn] = .5
			}
		}
	}
	score := func(change func(row []float64)) float64 {
		row := slices.Clone(middle)
		change(row)
		return mat.Dot(p.Map.Apply(mat.NewDense(1, len(row), row)).RowView(0), model.W.ColView(0))
	}
	rest := score(func([]float64) {})
	for _, code := range codes {
		f, at := code.Feature, code.FirstColumn
		if f.Kind == dataset.Numeric {
			_, _, of := unitOf(f)
			step := min(of/2, .5)
			up, down := score(func(row []float64) {
				row[at] += step
			}), score(func(row []float64) { row[at] -= step })
			all = append(all, move{"higher " + code.Column, (up - down) * of / (2 * step)})
			continue
		}
		for k, level := range f.Levels {
			with := score(func(row []float64) {
				clear(row[at : at+code.Width])
				row[at+k] = 1
			})
			share := middle[at+k]
			all = append(all, move{code.Column + ": " + level,
				(with - rest) * math.Sqrt(max(0, share*(1-share)))})
		}
	}
	return all
}
