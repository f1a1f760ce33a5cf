package described

import (
	"slices"
	"strings"
	"testing"
)

// TestReportShowsThePossible: estimates that noise made impossible are shown at the end of their
// interval, quantiles in both tables as the same bound, and a group of which nothing is known in no
// table.
func TestReportShowsThePossible(t *testing.T) {
	share := &Estimate{Value: -.03, Low: 0, High: .02, NoiseLow: 0, NoiseHigh: .01}
	below := Quantile{P: .25, Estimate: Estimate{Value: 3, Low: 0, High: 50, NoiseLow: 0,
		NoiseHigh: 50}}
	known := Summary{
		Noisy: []float64{-3, 9}, Counts: []float64{0, 6}, Shares: []*Estimate{nil, nil}, Mean: &Estimate{Value: -5, Low: 0, High: 9, NoiseHigh: 9},
		Quantiles: []Quantile{below, {.5, Estimate{Value: 60, Low: 50, High: 70, NoiseLow: 50, NoiseHigh: 70}}, {.75, Estimate{Value: 60, Low: 50, High: 70, NoiseLow: 50, NoiseHigh: 70}}},
	}
	shown := Table{
		Records: 10, By: "sex", Groups: []Group{{Level: "f", Count: Count{Share: share}, NearestPossible: 6}, {Level: "other", NearestPossible: 1}},
		Columns: []Column{{Column: "age", Edges: []float64{0, 50, 70, 100}, Groups: []Summary{known, {Noisy: []float64{1, 1}, Counts: []float64{0, 1}, Shares: []*Estimate{nil, nil}}}}},
	}
	one, intervals := shown.one("the records"), shown.intervals()
	if !slices.Equal(one.Head, []string{"", "f"}) ||
		!strings.HasSuffix(one.Title, "too few records: other") {
		t.Errorf("%q shows the groups %q", one.Title, one.Head)
	}
	for _, want := range [][]string{{"age, mean ± sd", "0 ± unknown"},
		{"  median [quartiles]", "60 [below 50 to 60]"}} {
		if !slices.ContainsFunc(one.Rows, func(row []string) bool {
			return slices.Equal(row, want)
		}) {
			t.Errorf("no row %q in %q", want, one.Rows)
		}
	}
	want := [][]string{
		{"sex", "f", "", "0.00 %", "at most 2.00 %", "at most 1.00 %"},
		{"age", "mean", "f", "0", "0 to 9", "0 to 9"},
		{"age", "lower quartile", "f", "below 50", "0 to 50", "0 to 50"},
		{"age", "median", "f", "60", "50 to 70", "50 to 70"},
		{"age", "upper quartile", "f", "60", "50 to 70", "50 to 70"},
	}
	if !slices.EqualFunc(intervals.Rows, want, func(a, b []string) bool {
		return slices.Equal(a, b)
	}) {
		t.Errorf("intervals %q, want %q", intervals.Rows, want)
	}
}
