package support

import (
	"errors"
	"testing"

	"caucus/auxdata"
)

func TestFractionOf(t *testing.T) {
	for name, c := range map[string]struct {
		holds  []bool
		weight []float64
		want   Fraction
	}{
		"plain":    {[]bool{true, false, false, true}, nil, Fraction{4, 2, 0.5, 0.5, 4}},
		"weighted": {[]bool{true, false}, []float64{3, 1}, Fraction{2, 1, 0.75, 0.5, 1.6}},
		"none":     {[]bool{false, false}, []float64{1, 1}, Fraction{2, 0, 0, 0, 2}},
		"all":      {[]bool{true}, []float64{7}, Fraction{1, 1, 1, 1, 1}},
	} {
		if got, err := FractionOf(c.holds, c.weight); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if _, err := FractionOf(nil, nil); !errors.Is(err, auxdata.ErrNoRows) {
		t.Errorf("no rows: %v", err)
	}
	if _, err := FractionOf([]bool{true}, []float64{1, 1}); err == nil {
		t.Error("more weights than rows are taken")
	}
}
