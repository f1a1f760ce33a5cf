package study

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"caucus/privacy"
)

// ErrNoForecast: a mechanism that perturbs solutions has no moments to forecast
// from.
var ErrNoForecast = errors.New("there is no forecast for this mechanism")

// Forecast is what a study can be expected to reach, from public inputs alone, beside
// what can be had without it: one party alone, the largest class. All of it is on
// records like the pool's, whose classes a linear score in the plan's features
// separates as far as Separation says (aggregation.Outlook). It leaves out that
// parties differ from each other and from the pool.
type Forecast struct {
	// Separation is the AUC that a classifier reaches: the plan's, or the band in which
	// most tables of people lie. TrainedOn is how many records it was trained on, 0 for
	// all there is to know; ItsAccuracy, of more than two classes, 0 where nobody says it.
	Separation  Range   `json:"separation"`
	TrainedOn   int     `json:"trained_on,omitempty"`
	ItsAccuracy float64 `json:"its_accuracy,omitempty"`
	// LawError is how much either way of every range is for what the law leaves out.
	LawError float64 `json:"law_error"`
	// Shares are the classes', the plan's; SharesAssumed says that it has none.
	Shares        []float64 `json:"class_shares"`
	SharesAssumed bool      `json:"class_shares_assumed,omitempty"`
	// Released is the release's classifier; Unperturbed the same without noise;
	// Pooled one of all records in one place; Alone one of one party's records.
	Released    Line `json:"released"`
	Unperturbed Line `json:"unperturbed"`
	Pooled      Line `json:"pooled"`
	Alone       Line `json:"alone"`
	// Majority is the accuracy of always naming the largest class; its AUC is 1/2.
	Majority float64 `json:"majority"`
	// Helps says whether a party has something of the release: see Helps.
	Helps Helps `json:"helps"`
	// HelpsFrom is the least separation looked at at which it is sure to, by
	// LeastGain; 0 where there is none.
	HelpsFrom float64 `json:"helps_from,omitempty"`
	// The least of one with the others as they are that would help, at the middle
	// separation: ε; parties, each with as many records; records of each party.
	// 0 where nothing within reach does (MostNeeded).
	NeedEpsilon float64 `json:"need_epsilon,omitempty"`
	NeedParties int     `json:"need_parties,omitempty"`
	NeedRecords int     `json:"need_records,omitempty"`
}

// Range is a number with the least and the most it is expected to be: over the
// separations and places of truth that were looked at, over draws of the noise, and more
// either way for what the law itself leaves out. Nine of ten simulated releases lay
// inside (docs/forecast.md).
type Range struct {
	Low  float64 `json:"low"`
	Mid  float64 `json:"mid"`
	High float64 `json:"high"`
}

// Line is what a classifier is expected to be worth on new records.
type Line struct {
	// Accuracy is the share of records it labels correctly, AUC the area under the
	// curve (for more than two classes the mean over classes of each against the rest).
	Accuracy Range `json:"accuracy"`
	AUC      Range `json:"auc"`
}

// Helps is whether a release is expected to help its parties: to keep a quarter or
// more of what a classifier without noise has over the largest class, and to be no worse
// than what one party has alone. It is judged by accuracy; where even the true score
// would hardly beat the largest class by it, as with rare classes, by AUC.
type Helps string

const (
	// HelpsYes: by LeastGain or more, at the separation that the plan says.
	HelpsYes Helps = "yes"
	// HelpsNo: it is expected to be worse, at every separation that was looked at.
	HelpsNo Helps = "no"
	// HelpsDepends: by less than LeastGain, or at some separations of a band: see
	// HelpsFrom. Nobody who does not know the separation is told yes.
	HelpsDepends Helps = "depends"
)

// LeastGain is the least by which a release has to be expected to be better than what
// makes it help: nobody would take part for less, and a forecast cannot tell less from
// nothing (half a point left more than one yes in ten wrong, docs/forecast.md).
const LeastGain = 0.01

// LeastGap is the least that features must tell, over the largest class.
const LeastGap = 0.01

// MostNeeded is how far a search for what would help goes.
var MostNeeded = struct {
	Epsilon          float64
	Parties, Records int
}{10, 100_000, 1_000_000}

// Size is what is publicly expected of a study's data.
type Size struct {
	Parties int
	// Records is how many records all parties have together.
	Records int
}

// Outlook forecasts studies that differ from a plan in ε and size alone.
type Outlook interface {
	// At is the forecast, but for what it would take.
	At(epsilon float64, s Size) (*Forecast, error)
	// Need fills in what it would take.
	Need(f *Forecast, epsilon float64, s Size) error
}

// Forecaster is a task that can say what to expect of it.
type Forecaster interface {
	// Outlook is from public inputs alone.
	Outlook() (Outlook, error)
}

// OutlookOf is a task's outlook; ErrNoForecast where it has none.
func OutlookOf(t Task) (Outlook, error) {
	f, ok := t.(Forecaster)
	if !ok {
		return nil, ErrNoForecast
	}
	return f.Outlook()
}

// ForecastOf forecasts a study; ErrNoForecast where there is none.
func ForecastOf(t Task, size Size) (*Forecast, error) {
	if size.Parties < 1 || size.Records < 0 {
		return nil, fmt.Errorf("forecast study: %d parties with %d records in all: give at least one party", size.Parties, size.Records)
	}
	foreseen, err := json.Marshal(t.Plan().foreseen())
	if err != nil {
		return nil, fmt.Errorf("forecast study: %w", err)
	}
	return forecasts.of(asked{HashOf(foreseen), size}, func() (*Forecast, error) {
		o, err := OutlookOf(t)
		if err != nil {
			return nil, err
		}
		f, err := o.At(t.Plan().Epsilon, size)
		if err != nil {
			return nil, err
		}
		if err := o.Need(f, t.Plan().Epsilon, size); err != nil {
			return nil, err
		}
		if _, err := json.Marshal(f); err != nil { // a release that had it could not be written
			return nil, fmt.Errorf("forecast study: %w", err)
		}
		return f, nil
	})
}

// asked is what a forecast follows from: what a plan says of it names the pool too.
type asked struct {
	foreseen Hash
	size     Size
}

// foreseen is a plan without what no forecast hangs on: studies that are repeated have
// one.
func (p Plan) foreseen() Plan {
	p.Name, p.Purpose, p.Contact, p.Data, p.Deadline, p.TermsDigest = "", "", "", "", time.Time{}, ""
	return p
}

// remembered are forecasts that were made, a few: making one takes some tenths of a second,
// of many classes seconds, and whoever proposes, releases, verifies and shows a study asks
// for the same.
type remembered struct {
	sync.Mutex
	made map[asked]Forecast
}

var forecasts = remembered{made: map[asked]Forecast{}}

const mostRemembered = 64

func (r *remembered) of(q asked, make func() (*Forecast, error)) (*Forecast, error) {
	r.Lock()
	f, known := r.made[q]
	r.Unlock()
	if known {
		return &f, nil
	}
	made, err := make()
	if err != nil {
		return made, err
	}
	r.Lock()
	defer r.Unlock()
	if len(r.made) >= mostRemembered {
		clear(r.made)
	}
	r.made[q] = *made
	return made, nil
}

// Warning says in words why a plan is not expected to help, "" where it may.
func (f *Forecast) Warning(p Plan, size Size) string {
	if f == nil || f.Helps != HelpsNo {
		return ""
	}
	if f.Unperturbed.Accuracy.High-f.Majority < LeastGap && f.Unperturbed.AUC.High < .5+LeastGap {
		return "this pool under this map tells the classes apart no better than naming the largest: give a pool of more varied rows, or keep more features"
	}
	s := fmt.Sprintf("at unit %s, ε = %g and %d parties of %d records this plan is not expected to help: accuracy %.2f, where one party alone has %.2f, all records pooled %.2f and the largest class %.2f (AUC %.2f, alone %.2f)",
		p.Unit, p.Epsilon, size.Parties, size.Records/max(size.Parties, 1), f.Released.Accuracy.Mid, f.Alone.Accuracy.Mid, f.Pooled.Accuracy.Mid, f.Majority, f.Released.AUC.Mid, f.Alone.AUC.Mid)
	s += ": " + f.whyNot() + "; " + f.Ways(size)
	if p.Unit != privacy.Label && f.needs(false) != "" {
		s += "; a finer unit takes less noise"
	}
	return s
}

// Each is how many records a party has.
func (s Size) Each() float64 { return float64(s.Records) / float64(cmp.Or(s.Parties, 1)) }
