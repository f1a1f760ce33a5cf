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

// Performance is the performance of a classifier on new records.
type Performance struct {
	Accuracy DrawSummary `json:"accuracy"`
	AUC      DrawSummary `json:"auc"`
}

// HelpsVerdict says whether a release is expected to help its parties. There are two conditions.
// The release must be better than the classifier of one party alone. It must also have at least a
// quarter of the advantage that the pooled classifier has over always naming the largest class.
// Better means a higher accuracy, or AUC if even the pooled classifier has hardly an advantage in
// accuracy, as with rare classes.
type HelpsVerdict string

const (
	// the mean gain (Forecast.Gain) at the known AUC is MinGain or more
	Yes     HelpsVerdict = "yes"
	No      HelpsVerdict = "no"      // the mean gain is negative at each AUC that was tried
	Perhaps HelpsVerdict = "perhaps" // all other cases
)

// MinGain is the least gain in accuracy or AUC for which a party is assumed to take part.
const MinGain = 0.01

// Forecast is the expected outcome of a study, with the assumptions that it rests on.
type Forecast struct {
	// AUCsTried holds the AUCs that were tried: the known one, or several.
	AUCsTried []float64 `json:"auc"`
	Shares    []float64 `json:"class_shares"`
	// SharesAssumed reports that Draw assumed the class shares, because nobody gave them.
	SharesAssumed bool `json:"class_shares_assumed,omitempty"`
	Parties       int  `json:"parties"`
	Records       int  `json:"records"` // records of all parties together
	// Released is the release's classifier, Alone one party's own, Pooled one trained on all
	// records.
	Released Performance `json:"released"`
	Alone    Performance `json:"alone"`
	Pooled   Performance `json:"pooled"`
	// Majority is the accuracy of always naming the largest class.
	Majority float64 `json:"majority"`
	// Gain is, for each AUC tried, the mean margin by which both conditions of HelpsVerdict are
	// met: the smaller one.
	Gain  []float64    `json:"gain"`
	Helps HelpsVerdict `json:"helps"`
	Draws int          `json:"draws"`
}

// ByAUC reports whether HelpsVerdict compares AUCs and not accuracies.
func (f *Forecast) ByAUC() bool { return f.Pooled.Accuracy.Mean-f.Majority < MinGain }

// Agrees reports whether each mean differs by at most four standard errors of the difference.
func (f *Forecast) Agrees(with *Forecast) bool {
	near := func(a, b DrawSummary) bool {
		return math.Abs(a.Mean-b.Mean) <= 4*math.Hypot(a.Error, b.Error)+1e-6
	}
	lines := func(a, b Performance) bool {
		return near(a.Accuracy, b.Accuracy) &&
			near(a.AUC, b.AUC)
	}
	return math.Abs(f.Majority-with.Majority) < 1e-6 && lines(f.Released, with.Released) &&
		lines(f.Alone, with.Alone) && lines(f.Pooled, with.Pooled)
}
