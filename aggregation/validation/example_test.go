package validation_test

import (
	"fmt"
	"math"

	"caucus/aggregation/validation"
)

// Counts of records by score and class show how well a score separates the class, and whether it is
// calibrated. This one exaggerates: its log-odds are twice those of the class.
func Example() {
	var pool []float64
	for i := range 999 {
		pool = append(pool, float64(i-499)/125)
	}
	scale := validation.NewScoreBins(validation.Quantiles(pool, nil, 20, nil), pool, nil, true)
	// a standard deviation of 14 on each count
	h := validation.Histogram{Noise: 200, ForPopulation: true}
	for b := range scale.Bins() {
		share := 1 / (1 + math.Exp(-(float64(b)-9.5)/5)) // probability of the class
		h.Positive = append(h.Positive, 500*share)
		h.Negative = append(h.Negative, 500*(1-share))
	}
	p := scale.Performance(h, nil)
	fmt.Printf("AUC %.2f ± %.3f, slope %.1f ± %.2f\n", p.AUC.Value, p.AUC.SD, p.Slope.Value,
		p.Slope.SD)
	h.Noise = 1e6
	fmt.Println("or:", scale.Performance(h, nil).AUC.Unknown)
	// Output:
	// AUC 0.78 ± 0.007, slope 0.5 ± 0.02
	// or: both classes have fewer records than four standard deviations of their noise
}
