package described

import (
	"reflect"
	"testing"
)

// TestCharts: charts omit estimates that are unknown or bounded on one side only, show a negative
// share as 0, and show the largest of many levels.
func TestCharts(t *testing.T) {
	share := func(v float64) *Estimate {
		return &Estimate{Value: v, Low: max(v-.1, 0), High: v + .1}
	}
	texts := Column{Column: "unit",
		Levels: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, Groups: []Summary{{
			Counts: []float64{9, 1, 8, 7, 6, 5, 4, 3, 2, 0},
			Shares: []*Estimate{share(.5), share(.01), nil, share(-.02), share(.1), share(.1), share(.1), share(.1), share(.01), share(0)},
		}}}
	number := Column{Column: "age", Edges: []float64{0, 50, 100}, Groups: []Summary{{
		Noisy: []float64{5, 4, 1}, Counts: []float64{5, 4, 1}, Shares: []*Estimate{share(.5), share(.4), share(.1)},
		Mean:      share(41),
		Quantiles: []Quantile{{.25, Estimate{Value: 20, Low: 0, High: 50, NoiseLow: 0, NoiseHigh: 50}}, {.5, Estimate{Value: 45, Low: 40, High: 50, NoiseLow: 40, NoiseHigh: 50}}, {.75, Estimate{Value: 80, Low: 50, High: 100, NoiseLow: 50, NoiseHigh: 100}}},
	}}}
	got := map[string][]string{}
	for _, c := range (Table{Records: 10, Columns: []Column{texts, number}}).charts() {
		for _, b := range c.Bars {
			if b.Value < 0 {
				t.Errorf("%s: %s is %g", c.Title, b.Name, b.Value)
			}
			got[c.Title] = append(got[c.Title], b.Name)
		}
	}
	want := map[string][]string{
		"unit, share of the records":    {"a", "d", "e", "f", "g", "h", "i"},
		"age, mean and quartiles":       {"mean", "median"},
		"missing, share of the records": {"age"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("charts show %q, want %q", got, want)
	}
}
