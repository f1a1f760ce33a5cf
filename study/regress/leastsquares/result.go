package leastsquares

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"caucus/aggregation/validation"
	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/regress"
)

// Table is the result of a regress study: coefficients of least squares with 95 % intervals.
type Table struct {
	// Records is the public number of all records, also those that drop out. At unit party it is
	// private, and 0 here.
	Records int64 `json:"records"`
	// Counted is the number of records with the outcome and all columns, with noise.
	Counted float64 `json:"counted"`
	NoiseSD float64 `json:"noise_sd"` // of Counted, in records
	// Outcome is the outcome in words. With Share it is a level, and coefficients are differences
	// of its share.
	Outcome string `json:"outcome"`
	Share   bool   `json:"share,omitempty"`
	// FactorOf is what exp(change) multiplies where the outcome is a logarithm, such as 1 + days;
	// else "".
	FactorOf     string            `json:"factor_of,omitempty"`
	Where        string            `json:"where,omitempty"`
	Radius       float64           `json:"radius"` // longest row, in standard deviations
	Coefficients []Coefficient     `json:"coefficients"`
	Intercept    validation.Number `json:"intercept"`
	R2           validation.Number `json:"r2"`
	Residual     validation.Number `json:"residual"`
}

// Coefficient says how the outcome goes with a column, at equal values of the others.
type Coefficient struct {
	Column string `json:"column"`
	Level  string `json:"level,omitempty"` // of a text, compared with To
	To     string `json:"to,omitempty"`    // the pool's most frequent level
	Log    bool   `json:"log,omitempty"`   // of log(1 + column)
	// Spread is the standard deviation of the column in the pool, in the column's unit; 1 of a
	// level.
	Spread float64 `json:"spread"`
	// Change of the outcome, in its unit, where the column is higher by 1.
	Change validation.Number `json:"change"`
}

// Results is the half of the kind for who releases, verifies or reads.
type Results struct{}

// Body returns an empty *Table, into which a release's body is read strictly.
func (Results) Body() any { return new(Table) }

// Finisher finishes tasks of package regress, and panics for others.
func (Results) Finisher(t study.Task) study.Finisher { return finisher{t.(regress.Task)} }

// TableOf reads a release's body, and refuses one without coefficients.
func TableOf(r study.Release) (Table, error) {
	var t Table
	if err := r.Result.DecodeBody(&t); err != nil {
		return t, fmt.Errorf("read regress release: %w", err)
	}
	if len(t.Coefficients) == 0 {
		return t, errors.New("read regress release: it has no coefficient: it was damaged")
	}
	return t, nil
}

type finisher struct{ regress.Task }

// Finish implements study.Finisher.
func (f finisher) Finish(of study.Contributions, r []privacy.Published) (study.Result, error) {
	return f.FinishBy(f, of, r)
}

// FinishTotal implements bodies.Finisher.
func (f finisher) FinishTotal(total bodies.Total, _ *rand.Rand) (study.Result, error) {
	sd, err := f.Moments.Deviation(total.Draws)
	if err != nil {
		return study.Result{}, err
	}
	return study.NewResult(Of(f.Plan(), f.Moments.Design, f.Pool(), total.Values,
		int64(total.Weight), sd), nil)
}

// Of makes the table of a checked plan from its sums, of which each has noise of standard deviation
// sd, 0 for exact sums.
func Of(p study.Plan, d *regress.Design, pool *auxdata.Pool, sums []float64, records int64,
	sd float64) Table {
	if p.Unit == privacy.Party {
		records = 0
	}
	e := Estimate(d, pool, sums, sd*sd)
	out := tableOf(d)
	out.Records, out.Counted, out.Where = records, e.Counted, p.Where
	out.NoiseSD = sd / float64(regress.OfSquare*d.One*d.One)
	out.Intercept, out.R2, out.Residual = e.Intercept, e.R2, e.Residual
	for j, n := range e.Coefficients {
		out.Coefficients[j].Change = n
	}
	return out
}

// Exact makes the table of a checked plan from standardised rows (Design.Standard), without noise
// and with no row shortened. A record that drops out has no row, nil. What is rounding beside the
// outcome's spread is 0.
func Exact(p study.Plan, d *regress.Design, pool *auxdata.Pool, rows [][]float64) Table {
	whole := *d
	whole.Radius = math.Inf(1)
	sums, one := make([]float64, d.Cells()), float64(d.One)
	for _, u := range rows {
		if u == nil {
			continue
		}
		w := append([]float64{1}, u...)
		for i, v := range w {
			sums[d.Cell(i, i)] += regress.OfSquare * one * one * v * v
			for j := i + 1; j < len(w); j++ {
				sums[d.Cell(i, j)] += regress.OfProduct * one * one * v * w[j]
			}
		}
	}
	out := Of(p, &whole, pool, sums, int64(len(rows)), 0)
	out.Radius = d.Radius
	// Rounding of squares is about 1e-16 of them, and the square root of that is a deviation.
	least := 1e-6 * d.Outcome.Scale * (d.Outcome.High - d.Outcome.Low)
	for j, c := range out.Coefficients {
		n := &out.Coefficients[j].Change
		if c.Spread*math.Abs(n.Value) < least {
			n.Value = 0
		}
		if c.Spread*n.SD < least {
			n.SD, n.Low, n.High = 0, n.Value, n.Value
		}
	}
	return out
}

// tableOf makes the table of a design, without numbers.
func tableOf(d *regress.Design) Table {
	out := Table{Outcome: d.Outcome.Name(), Share: d.Outcome.Level != "", Radius: d.Radius}
	if d.Outcome.Log {
		out.FactorOf = "1 + " + d.Outcome.Column
	}
	for _, c := range d.Columns {
		of := Coefficient{Column: c.Column, Level: c.Level, Log: c.Log, Spread: 1}
		if c.Level == "" {
			of.Spread = c.Scale * (c.High - c.Low)
		} else {
			of.To = d.Base[c.Column]
		}
		out.Coefficients = append(out.Coefficients, of)
	}
	return out
}
