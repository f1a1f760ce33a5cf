package study

import (
	"errors"
	"fmt"
)

// ErrNoForecast: a mechanism that perturbs solutions has no moments to forecast
// from.
var ErrNoForecast = errors.New("there is no forecast for this mechanism")

// Forecast is what a plan can be expected to reach, from public inputs alone.
//
// The pool has no labels, so the forecast is made on a reference problem: a
// linear teacher on the plan's own pool, in a random direction, whose scores
// have standard deviation 2 and whose larger class has a share of .75 (two
// classes), or standard deviation 4 with balanced classes (more). Votes follow
// the teacher exactly; the plan's own noise is added; the plan's own fit is
// made, several times. It leaves out what parties lose by learning from few
// records.
type Forecast struct {
	// Accuracy is expected of the release, Unperturbed without noise, Majority
	// of always naming the largest class; all on the reference problem.
	Accuracy    float64 `json:"accuracy"`
	Unperturbed float64 `json:"unperturbed"`
	Majority    float64 `json:"majority"`
	// Useful: the release is expected to keep at least a quarter of what the
	// unperturbed classifier has over the majority class.
	Useful bool `json:"useful"`
	// NeedEpsilon and NeedParties are about what it would take to be useful,
	// one or the other; 0 where nothing within reach does.
	NeedEpsilon float64 `json:"need_epsilon,omitempty"`
	NeedParties int     `json:"need_parties,omitempty"`
}

// LeastGap is the least that the pool's features must tell of the reference problem
// without noise, in accuracy over the largest class.
const LeastGap = 0.01

// Size is what is publicly expected of a study's data.
type Size struct {
	Parties int
	// Records is how many records all parties have together.
	Records int
}

// Forecaster is a task that can say what to expect of it.
type Forecaster interface {
	// Forecast is from public inputs alone.
	Forecast(Size) (*Forecast, error)
}

// ForecastOf forecasts a study; ErrNoForecast where there is none.
func ForecastOf(t Task, size Size) (*Forecast, error) {
	if size.Parties < 1 || size.Records < 0 {
		return nil, fmt.Errorf("forecast study: %d parties with %d records in all: give at least one party", size.Parties, size.Records)
	}
	f, ok := t.(Forecaster)
	if !ok {
		return nil, ErrNoForecast
	}
	return f.Forecast(size)
}

// Warning says in words what a forecast that is not useful means, "" if it is.
func (f *Forecast) Warning(p Plan, size Size) string {
	if f == nil || f.Useful {
		return ""
	}
	if f.Unperturbed-f.Majority < LeastGap {
		return "this pool under this map tells the classes apart no better than naming the largest: give a pool of more varied rows, or keep more features"
	}
	s := fmt.Sprintf("at unit %s, ε = %g and %d parties this plan is expected to do little better than naming the largest class (%.2f on a reference problem, where the largest class has %.2f and the unperturbed classifier %.2f)",
		p.Unit, p.Epsilon, size.Parties, f.Accuracy, f.Majority, f.Unperturbed)
	if f.NeedParties > 0 {
		s += fmt.Sprintf("; it would take about ε = %.2g, or %d parties, or a finer unit", f.NeedEpsilon, f.NeedParties)
	}
	return s
}
