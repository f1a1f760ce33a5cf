package classify

import (
	"testing"

	"caucus/dataset"
)

// The fewest components within a standard error of the best are taken.
func TestAutoTakesTheFewest(t *testing.T) {
	of := func(project dataset.Count, accuracy ...float64) candidate {
		return candidate{Components: dataset.Components{Project: project}, accuracy: accuracy}
	}
	for _, c := range []struct {
		name string
		all  []candidate
		want dataset.Count
	}{
		{"all alike", []candidate{of(5, .8, .8), of(10, .8, .8)}, 5},
		{"better for every teacher alike", []candidate{of(5, .8, .7), of(10, .81, .71)}, 10},
		{"better by chance: mean .005, standard error .015", []candidate{of(5, .8, .7), of(10, .82, .69)}, 5},
		{"the middle one", []candidate{of(5, .6, .6), of(10, .8, .7), of(20, .81, .69), of(40, .7, .6)}, 10},
		{"one alone", []candidate{of(5, .5, .5)}, 5},
	} {
		if got := firstNear(c.all).Project; got != c.want {
			t.Errorf("%s: %d components, want %d", c.name, got, c.want)
		}
	}
}
