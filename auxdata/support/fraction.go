package support

import (
	"fmt"

	"caucus/auxdata"
)

// Fraction is the part of a pool's rows that meet a condition.
type Fraction struct {
	Rows, Matching int
	// Weighted is the matching rows' share of the weight, and Unweighted their share of the rows.
	Weighted, Unweighted float64
	// EffectiveRows is Kish's effective number of rows, (Σw)²/Σw² for weights w.
	EffectiveRows float64
}

// FractionOf returns the fraction of rows for which holds is true. Weights are positive; nil:
// equal.
func FractionOf(holds []bool, weight []float64) (Fraction, error) {
	if len(holds) == 0 {
		return Fraction{}, auxdata.ErrNoRows
	}
	if weight != nil && len(weight) != len(holds) {
		return Fraction{}, fmt.Errorf("weigh rows: have %d weights for %d rows", len(weight),
			len(holds))
	}
	s := Fraction{Rows: len(holds)}
	total, sum, squares := 0.0, 0.0, 0.0
	for i, h := range holds {
		v := 1.0
		if weight != nil {
			v = weight[i]
		}
		total += v
		squares += v * v
		if h {
			sum += v
			s.Matching++
		}
	}
	s.Weighted, s.Unweighted, s.EffectiveRows = sum/total, float64(s.Matching)/float64(s.Rows),
		total*total/squares
	return s, nil
}
