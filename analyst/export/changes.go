package export

import (
	_ "embed"
	"fmt"
	"math"

	"caucus/aggregation/validation"
	"caucus/study"
	"caucus/study/regress/leastsquares"
)

//go:embed changes.R
var rChanges string

// changes reads a regress release. Measure change is a coefficient, of a column or of its level
// against another; step and per say which difference a drawing shows. Where the outcome is a
// logarithm, factor is of that step. The number of records has noise and no sampling.
func changes(f *Frame, r study.Release) error {
	t, err := leastsquares.TableOf(r)
	if err != nil {
		return err
	}
	f.About.Label = t.Outcome
	f.Texts = []string{"measure", "name", "column", "level", "against", "step", "unknown"}
	f.Numbers = []string{"value", "low", "high", "sd", "noise_sd", "per", "factor", "factor_low",
		"factor_high"}
	f.says = []string{
		fmt.Sprintf("Coefficients of %s, of the study %s. Written by caucus release export.",
			t.Outcome, f.About.Study),
		"A value is " + t.Meaning() + ".",
	}
	f.constants = [][2]string{{"change", rText(t.Changed())}, {"factor_of", rText(t.FactorOf)}}
	f.program = rChanges
	none := math.NaN()
	add := func(measure string, c leastsquares.Coefficient, step string, n validation.Number) {
		row := FrameRow{[]string{measure, measure, c.Column, c.Level, c.To, step, n.Unknown},
			append(interval(n), none, none, none, none)}
		if step != "" {
			row.Texts[1], row.Numbers[5] = c.Name(), c.Spread
			if t.FactorOf != "" {
				copy(row.Numbers[6:], interval(c.Factor())[:3])
			}
		}
		f.Rows = append(f.Rows, row)
	}
	for _, c := range t.Coefficients {
		add("change", c, c.Step(), c.Change)
	}
	no := leastsquares.Coefficient{}
	add("intercept", no, "", t.Intercept)
	add("r2", no, "", t.R2)
	add("residual_sd", no, "", t.Residual)
	add("records", no, "", t.CountedNumber())
	return nil
}
