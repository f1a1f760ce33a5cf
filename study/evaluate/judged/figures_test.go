package judged

import (
	"reflect"
	"testing"

	"caucus/aggregation/validation"
	"caucus/study"
)

// judgedSample has scores that are not probabilities, long names, and bins that noise hides or
// leaves open.
func judgedSample() ClassResult {
	known := func(v float64) validation.Number {
		return validation.Number{Value: v, Low: v - .2, High: v + .1}
	}
	of := Subgroup{Performance: validation.Performance{AUC: known(.8),
		Bins: []validation.CalibrationPoint{
			{Mean: -3, Positives: 10, Negatives: 90, Observed: known(.1)},
			{Mean: 0, Positives: -2, Negatives: 3, Observed: validation.Number{Unknown: "noise"}},
			{Mean: 2, Positives: 40, Negatives: 30, Observed: validation.Number{Value: .6, NoLow: true, NoHigh: true}},
		}}}
	subgroup := of
	subgroup.Level = "<b>class"
	return ClassResult{Class: "<b>class", Edges: []float64{-1, 1}, Overall: of,
		Groupings: []Subgroups{{Column: "ward", Levels: []Subgroup{subgroup}}}}
}

// TestFigures: a figure's table holds its numbers, open intervals reach 0 or 1, and bins hidden by
// noise appear in neither.
func TestFigures(t *testing.T) {
	f := judgedSample().figures()
	drowned := judgedSample()
	drowned.Overall.AUC.Unknown = "noise"
	if drowned.figures() != nil {
		t.Error("noise alone is drawn")
	}
	var rows [][]string
	for _, of := range f {
		for _, row := range of.Table.Rows {
			rows = append(rows, row[:2])
		}
	}
	want := [][]string{
		{"-3.000", "0.100 (-0.100 to 0.200)"}, {"0.000", "unknown"}, {"2.000", "0.600 (any)"},
		{"none", "0.000, 0.000"}, {"1.000", "0.244, 0.833"}, {"-1.000", "0.268, 0.833"}, {"all", "1.000, 1.000"},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("tables hold %q, want %q", rows, want)
	}
	if got, want := f[0].Lines[0].Points, []study.ReportPoint{{X: 0, Y: .1, Low: 0, High: .2},
		{X: 1, Y: .6, Low: 0, High: 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("everybody's calibration is %v, want %v", got, want)
	}
}
