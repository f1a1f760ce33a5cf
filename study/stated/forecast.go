package stated

import "math"

// DrawSummary summarises a number over all draws: its mean with standard error, and the range of
// nine in ten draws.
type DrawSummary struct {
	Mean  float64 `json:"mean"`
	Error float64 `json:"error"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Line is the performance of a classifier on new records.
type Line struct {
	Accuracy DrawSummary `json:"accuracy"`
	AUC      DrawSummary `json:"auc"`
}

// Helps says whether a release is expected to help its parties. There are two conditions. The
// release must be better than the classifier of one party alone. It must also have at least a
// quarter of the advantage that the pooled classifier has over always naming the largest class.
// Better means a higher accuracy, or AUC if even the pooled classifier has hardly an advantage in
// accuracy, as with rare classes.
type Helps string

const (
	Yes     Helps = "yes"     // the mean gain (Forecast.Gain) at the known AUC is LeastGain or more
	No      Helps = "no"      // the mean gain is negative at each AUC that was tried
	Perhaps Helps = "perhaps" // all other cases
)

// LeastGain is the least gain in accuracy or AUC for which a party is assumed to take part.
const LeastGain = 0.01

// Forecast is the expected outcome of a study, with the assumptions that it rests on.
type Forecast struct {
	// Looked holds the AUCs that were tried: the known one, or several.
	Looked []float64 `json:"auc"`
	Shares []float64 `json:"class_shares"`
	// Assumed reports that Draw assumed the class shares, because nobody gave them.
	Assumed bool `json:"class_shares_assumed,omitempty"`
	Parties int  `json:"parties"`
	Records int  `json:"records"` // records of all parties together
	// Released is the release's classifier, Alone one party's own, Pooled one trained on all
	// records.
	Released Line `json:"released"`
	Alone    Line `json:"alone"`
	Pooled   Line `json:"pooled"`
	// Majority is the accuracy of always naming the largest class.
	Majority float64 `json:"majority"`
	// Gain is, for each AUC tried, the mean margin by which both conditions of Helps are met: the
	// smaller one.
	Gain  []float64 `json:"gain"`
	Helps Helps     `json:"helps"`
	Draws int       `json:"draws"`
}

// ByAUC reports whether Helps compares AUCs and not accuracies.
func (f *Forecast) ByAUC() bool { return f.Pooled.Accuracy.Mean-f.Majority < LeastGain }

// Agrees reports whether each mean differs by at most four standard errors of the difference.
func (f *Forecast) Agrees(with *Forecast) bool {
	near := func(a, b DrawSummary) bool {
		return math.Abs(a.Mean-b.Mean) <= 4*math.Hypot(a.Error, b.Error)+1e-6
	}
	lines := func(a, b Line) bool { return near(a.Accuracy, b.Accuracy) && near(a.AUC, b.AUC) }
	return math.Abs(f.Majority-with.Majority) < 1e-6 && lines(f.Released, with.Released) &&
		lines(f.Alone, with.Alone) && lines(f.Pooled, with.Pooled)
}
