package lifetable

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"caucus/aggregation/validation"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/survival"
)

// Table is the result of a survival study: a survival curve for each group, and comparisons. It is
// computed from noisy counts, so every number has an interval.
type Table struct {
	// Records is the public number of all records, also those that fail the condition. At unit
	// party it is private, and 0 here.
	Records int64   `json:"records"`
	NoiseSD float64 `json:"noise_sd"` // standard deviation of a count's noise, in records
	// UncountedRecords is the number of records, with noise, that no curve counts: without a time,
	// an event or a group, or because they fail the condition.
	UncountedRecords float64 `json:"rest"`
	Time             string  `json:"time"`
	// TimeUnit is the unit of all times, such as days; "" where the plan names none.
	TimeUnit string   `json:"time_unit,omitempty"`
	Event    string   `json:"event"` // in words: column = level
	Causes   []string `json:"causes,omitempty"`
	// CensoredLevels holds the levels that count as last seen without the event.
	CensoredLevels []string  `json:"seen"`
	Where          string    `json:"where,omitempty"`
	By             string    `json:"by,omitempty"`
	Edges          []float64 `json:"edges"` // upper ends of the intervals, in the time's unit
	Groups         []Group   `json:"groups"`
	// Compared holds each later group beside the first.
	Compared []Comparison `json:"compared,omitempty"`
}

// Group is the survival curve of one level of the grouping column, with noisy counts of records.
type Group struct {
	Level      string  `json:"level"`
	Records    float64 `json:"records"` // with noise
	Events     float64 `json:"events"`  // until the last edge, with noise
	SeenBeyond float64 `json:"beyond"`  // seen at the last edge or later, with noise
	Points     []Point `json:"points"`
	// EndsReason says why the curve ends before the last edge, "" if it does not.
	EndsReason string `json:"ends,omitempty"`
	// Median has an interval and no standard deviation. MedianLow is the lower end of the interval,
	// also where the curve itself does not fall to a half; 0 if the band does so in the first
	// interval, or not at all.
	Median    validation.Number `json:"median"`
	MedianLow float64           `json:"median_low,omitempty"`
	// Mean is the mean time without the event up to MeanTo, the end of the last interval that
	// somebody survives (restricted mean).
	Mean   validation.Number `json:"mean"`
	MeanTo float64           `json:"mean_to"`
}

// Comparison compares two groups, unadjusted.
type Comparison struct {
	Of        string `json:"of"`
	Reference string `json:"to"` // the group of reference
	// Ratio is the hazard of Of divided by that of Reference, an average over the time in which
	// both have a curve.
	Ratio validation.Number `json:"hazard_ratio"`
	// Difference is the survival of Of less that of Reference at time At, the last that both curves
	// reach.
	At         float64           `json:"at"`
	Difference validation.Number `json:"difference"`
	// P is the p value of the log-rank test, of equal hazards, with noise in its variance; nil if
	// the groups share no interval, or nobody has the event.
	P *float64 `json:"log_rank_p,omitempty"`
}

// Results is the half of the kind for who releases, verifies or reads.
type Results struct{}

// Body returns an empty *Table, into which a release's body is read strictly.
func (Results) Body() any { return new(Table) }

// Finisher finishes tasks of package survival, and panics for others.
func (Results) Finisher(t study.Task) study.Finisher { return finisher{t.(survival.Task)} }

// TableOf reads a release's body, and refuses one whose parts do not fit each other.
func TableOf(r study.Release) (Table, error) {
	var t Table
	if err := r.Result.DecodeBody(&t); err != nil {
		return t, fmt.Errorf("read survival release: %w", err)
	}
	whole := len(t.Edges) > 0 && len(t.Groups) > 0 && len(t.Compared) == len(t.Groups)-1
	for j, e := range t.Edges {
		whole = whole && e > 0 && (j == 0 || e > t.Edges[j-1])
	}
	for _, g := range t.Groups {
		whole = whole && len(g.Points) <= len(t.Edges)
		for j := 0; whole && j < len(g.Points); j++ {
			whole = g.Points[j].Time == t.Edges[j]
		}
	}
	if !whole {
		return t, errors.New("read survival release: groups, intervals and comparisons do not fit each other: it was damaged")
	}
	return t, nil
}

type finisher struct{ survival.Task }

// Finish implements study.Finisher.
func (f finisher) Finish(of study.Contributions, r []privacy.Published) (study.Result, error) {
	return f.FinishBy(f, of, r)
}

// FinishTotal implements bodies.Finisher.
func (f finisher) FinishTotal(total bodies.Total, _ *rand.Rand) (study.Result, error) {
	sd, err := f.Counted.Deviation(total.Draws)
	if err != nil {
		return study.Result{}, err
	}
	t, err := Of(f.Plan(), total.Values, int64(total.Weight), sd)
	if err != nil {
		return study.Result{}, err
	}
	return study.NewResult(t, nil)
}

// Of makes the table of a checked plan from its histogram, of which each count has noise of
// standard deviation sd, 0 for exact counts.
func Of(p study.Plan, values []float64, records int64, sd float64) (Table, error) {
	t := study.TermsOf[survival.Terms](p)
	l, err := survival.LayoutOf(p.Schema, t)
	if err != nil {
		return Table{}, err
	}
	if p.Unit == privacy.Party {
		records = 0
	}
	out := Table{Records: records, NoiseSD: sd, UncountedRecords: values[0], Time: t.Time,
		TimeUnit: t.TimeUnit, Event: t.Event.Column + " = " + t.Event.Is, Causes: t.Causes, By: t.By, Edges: l.Edges,
		Where: p.Where, CensoredLevels: l.CensoredLevels}
	out.fill(l, values, sd*sd)
	return out, nil
}
