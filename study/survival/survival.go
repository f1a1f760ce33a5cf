package survival

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// Kind is the study kind survival. The unit is the record, or the party if the plan bounds a
// party's records.
type Kind struct{}

// Event is what the times lead to: a level of a text, or a class of the label.
type Event struct {
	Column string `json:"column" yaml:"column"`
	Is     string `json:"is" yaml:"is"`
}

// Terms are the terms that only survival plans have.
type Terms struct {
	Time     string    `json:"time" yaml:"time" help:"column of the time to the event, or to when somebody was last seen without it"`
	TimeUnit string    `json:"time_unit,omitempty" yaml:"time_unit" help:"unit of the time in words and pictures, such as days (default: the column's name if that is hours, days, weeks, months or years)"`
	Event    Event     `json:"event" yaml:"event" help:"the event, such as {column: died, is: \"yes\"}; the rest of the column's levels mean last seen without it (default: the last class of the label)"`
	Causes   []string  `json:"causes,omitempty" yaml:"causes" help:"levels of the event's column that compete with the event, each counted apart"`
	By       string    `json:"by,omitempty" yaml:"by" help:"a curve for each level of this column: a text or the label"`
	Until    float64   `json:"until" yaml:"until" help:"end of the curve, in the time's unit (default: the time's largest value)"`
	Expected float64   `json:"expected" yaml:"expected" help:"share of the records expected to have the event until then, for bins and forecast (default .25)"`
	Bins     int       `json:"bins,omitempty" yaml:"bins" help:"intervals of equal length (default: 4 to 20, by the noise)"`
	Edges    []float64 `json:"edges,omitempty" yaml:"edges" help:"upper ends of intervals of your own, in place of bins"`
	Entry    string    `json:"entry,omitempty" yaml:"entry" help:"column of the time at which somebody came under observation: always refused, because curves take everybody as observed from time 0"`
	PerParty int64     `json:"per_party,omitempty" yaml:"per_party" help:"most records (at unit patient: patients) that one party counts; of more, a part chosen by keys. 0: unknown, and then nothing is said of a whole party"`
}

const (
	leastBins, mostBins = 4, 20 // of the default
	maxBins             = 200
	maxCells            = 1 << 16 // keeps a contribution below a megabyte
	// At unit party the bound's L2² is 2·per_party², and the sum over all parties an int64.
	maxPerParty = 1 << 24
	usualShare  = 0.25
	// mostUnit is the most bytes of a unit's name, so that an axis has room for it.
	mostUnit = 24
)

// Axis names the time with its unit, such as "followup (days)", or "days" if a column of days is
// called so.
func (t Terms) Axis() string {
	if t.TimeUnit == "" || strings.EqualFold(t.TimeUnit, t.Time) {
		return t.Time
	}
	return t.Time + " (" + t.TimeUnit + ")"
}

// Mechanisms are those of study.NoiseMechanisms: exact noise of integer counts.
func Mechanisms() []string { return study.NoiseMechanisms() }

// Mechanisms returns gaussian and laplace; none is for simulation only.
func (Kind) Mechanisms() []string { return Mechanisms() }

// Shared returns all mechanisms, because secret shares of counts add up like counts.
func (Kind) Shared() []string { return Mechanisms() }

// Terms returns a zero *Terms, into which a study file or plan is read.
func (Kind) Terms() any { return new(Terms) }

// Check demands unit record, or party with a cap on records, and terms that fit the schema.
func (Kind) Check(p study.Plan) error {
	t := study.TermsOf[Terms](p)
	if err := p.DecodeTerms(&t); err != nil {
		return err
	}
	switch {
	case p.Form < study.FormCommitted:
		return study.PlanError("form", "%d: survival plans have form %d or above", p.Form,
			study.FormCommitted)
	case p.Unit == privacy.Label:
		return study.PlanError("unit", "survival counts times, which unit label does not hide: use unit record")
	case !study.ByRecord(p.Unit) && p.Unit != privacy.Party:
		return study.PlanError("unit", "survival cannot hide a %s: use unit record, or unit party with survival.per_party", p.Unit)
	case p.Choose == study.Last:
		return study.PlanError("choose", "last: who has a last record has lived until then, so that curves would lie too high: use first")
	case p.Unit == privacy.Party && t.PerParty < 1:
		return study.PlanError("survival.per_party", "unit party hides all of a party's records: give the most that one counts")
	case p.Map.Kind != dataset.IdentityMap:
		return study.PlanError("map", "survival counts the schema's own columns: do not project them")
	case p.Unit == privacy.Party && t.PerParty > maxPerParty:
		return study.PlanError("survival.per_party",
			"%d records of a party, at most %d are possible", t.PerParty, maxPerParty)
	case t.Entry != "":
		return study.PlanError("survival.entry", "%q: curves take everybody as observed from time 0, and of people who came later only those count who lived to that time, so that a curve would be too high: measure the time from when somebody came, and leave entry out", t.Entry)
	case t.PerParty < 0 || t.PerParty > 1<<40:
		return study.PlanError("survival.per_party", "%d: give the most records a party holds, or 0 if that is not public", t.PerParty)
	case !(t.Expected > 0 && t.Expected < 1):
		return study.PlanError("survival.expected", "%g: give a share of the records above 0 and below 1", t.Expected)
	}
	l, err := t.check(p.Schema)
	if err != nil {
		return err
	}
	if n := l.Cells(); n > maxCells {
		return study.PlanError("survival", "%d counts, at most %d are possible: use fewer bins, groups or causes", n, maxCells)
	}
	return study.CheckNoise(p)
}

// ends returns the upper ends of the intervals: those given, or those of equal intervals.
func (t Terms) ends() []float64 {
	if len(t.Edges) > 0 {
		return t.Edges
	}
	var out []float64
	n := min(cmp.Or(t.Bins, leastBins), maxBins) // check refuses other numbers
	for k := range n {
		out = append(out, t.Until*float64(k+1)/float64(n))
	}
	return out
}

func (t Terms) check(s dataset.Schema) (Layout, error) {
	l, err := LayoutOf(s, t)
	if err != nil {
		return l, err
	}
	f, _, _ := feature(s, t.Time)
	first := math.Max(0, f.Min)
	switch {
	case t.By != "" && (t.By == t.Event.Column || t.By == t.Time):
		return l, study.PlanError("survival.by", "%q is what the curve is of: group by another column", t.By)
	case slices.Contains(t.Causes, t.Event.Is):
		return l, study.PlanError("survival.causes", "%q is the event itself", t.Event.Is)
	case len(slices.Compact(slices.Sorted(slices.Values(t.Causes)))) < len(t.Causes):
		return l, study.PlanError("survival.causes", "%q: name each cause once", t.Causes)
	case len(t.TimeUnit) > mostUnit:
		return l, study.PlanError("survival.time_unit", "%q: give a short word, such as days",
			t.TimeUnit)
	case t.Bins < 0 || t.Bins > maxBins:
		return l, study.PlanError("survival.bins", "%d: give 1 to %d", t.Bins, maxBins)
	case len(t.Edges) > maxBins:
		return l, study.PlanError("survival.edges", "%d intervals: give at most %d", len(t.Edges),
			maxBins)
	case len(t.Edges) > 0 && t.Bins != 0:
		return l, study.PlanError("survival.bins", "edges say where the intervals end: leave bins out, or edges")
	case !(t.Until > first && t.Until <= f.Max):
		return l, study.PlanError("survival.until", "%g: give a time above %g, at most %g, where the schema's %s ends", t.Until, first, f.Max, t.Time)
	case len(t.Edges) > 0 && t.Edges[len(t.Edges)-1] != t.Until:
		return l, study.PlanError("survival.edges", "the last ends at %g, the curve at %g: let them be the same, or leave until out", t.Edges[len(t.Edges)-1], t.Until)
	}
	for _, e := range t.ends() {
		if !(e > first) {
			return l, study.PlanError("survival.edges", "%v: give times that rise, from above %g",
				t.ends(), math.Max(0, f.Min))
		}
		if f.Position(e)-f.Position(first) < leastWidth {
			return l, study.PlanError("survival.edges", "the interval from %g to %g is too short beside the range of %s, %g to %g: narrow that range in the schema", first, e, t.Time, f.Min, f.Max)
		}
		first = e
	}
	return l, nil
}

// leastWidth is the least width of an interval, as a share of the time's range: far above onEdge.
const leastWidth = 1e-8

// units are the columns' names that say the unit of the time.
var units = []string{"hours", "days", "weeks", "months", "years"}

// Complete fills in the defaults: the last class of the label is the event, and the curve ends at
// the schema's largest time.
func (Kind) Complete(p *study.Plan, s study.Proposal) error {
	p.Unit = cmp.Or(p.Unit, privacy.Record)
	p.Noise = cmp.Or(p.Noise, study.DefaultNoise(p.Unit))
	var t Terms
	if err := s.DecodeTerms(&t); err != nil {
		return err
	}
	t.Expected = cmp.Or(t.Expected, usualShare)
	if unit := strings.ToLower(t.Time); t.TimeUnit == "" && slices.Contains(units, unit) {
		t.TimeUnit = unit
	}
	if t.Event.Column == "" {
		t.Event.Column = p.Schema.Label.Column
	}
	if classes := p.Schema.Classes(); t.Event.Is == "" && t.Event.Column == p.Schema.Label.Column &&
		len(classes) > 0 {
		t.Event.Is = classes[len(classes)-1]
	}
	if t.Until == 0 && len(t.Edges) > 0 {
		t.Until = t.Edges[len(t.Edges)-1]
	}
	if f, _, ok := feature(p.Schema, t.Time); ok && t.Until == 0 {
		t.Until = f.Max
	}
	if err := p.SetTerms(t); err != nil {
		return err
	}
	p.CompleteNoise(s, boundOf(*p, t), mostBins*2)
	return nil
}

// Tune cuts the time into intervals of equal length. Where a study leaves their number open, it is
// 1.25·D/(K·v), within 4 to 20: D is the expected number of events in the smallest group (by the
// pool, half the even share at least), K the number of noises, and v their variance
// (docs/survival.md says why).
func (Kind) Tune(p *study.Plan, pool *auxdata.Pool) error {
	t := study.TermsOf[Terms](*p)
	if len(t.Edges) > 0 || t.Bins != 0 {
		return nil
	}
	t.Bins = leastBins
	parties := int(p.MostParties())
	if d := t.expected(*p, pool, p.Size(parties)); d > 0 {
		if v, err := variance(*p, t, mostBins*2, p.Noise.Draws(parties)); err == nil {
			t.Bins = int(min(max(1.25*d/v, leastBins), mostBins))
		}
	}
	return p.SetTerms(t)
}

// variance returns the variance of the noise on a released count, one of so many cells, that has
// so many noises.
func variance(p study.Plan, t Terms, cells, draws int) (float64, error) {
	b := boundOf(p, t)
	m, err := p.Calibrate(b, cells)
	if err != nil {
		return 0, err
	}
	return float64(draws) * privacy.VarianceOf(m, b, 0, cells), nil
}

// expected returns the expected number of events in the smallest group, of which at least half an
// even share is assumed; 0 if the terms do not fit the schema.
func (t Terms) expected(p study.Plan, pool *auxdata.Pool, size study.Size) float64 {
	l, err := LayoutOf(p.Schema, t)
	if err != nil {
		return 0
	}
	shares := l.GroupShares(pool)
	return t.Expected * float64(size.Records) * slices.Min(shares)
}

// GroupShares returns each group's share of the pool's rows, at least half an even share. Equal
// shares stand for those of classes, which a pool does not hold.
func (l Layout) GroupShares(pool *auxdata.Pool) []float64 {
	n := float64(len(l.Groups))
	out := make([]float64, len(l.Groups))
	rows := pool.Rows()
	for i := range rows {
		if l.by.as == nil || l.by.label {
			break
		}
		if g := l.by.of(pool.Encoded.RawRowView(i), -1); g >= 0 {
			out[g] += 1 / float64(rows)
		}
	}
	for g := range out {
		if l.by.as == nil || l.by.label {
			out[g] = 1 / n
		}
		out[g] = max(out[g], 0.5/n)
	}
	return out
}

// Words say what a site counts, what leaves it, and what a lying party can do to the counts.
func (Kind) Words(p study.Plan) study.Words {
	t := study.TermsOf[Terms](p)
	leaves := fmt.Sprintf("how many of this site's records have %s = %s, and how many were last seen without it, in each of %d public intervals of %s", t.Event.Column, t.Event.Is, len(t.ends()), t.Axis())
	if len(t.Causes) > 0 {
		leaves += fmt.Sprintf(", and how many have %s = %s", t.Event.Column,
			strings.Join(t.Causes, " or "))
	}
	leaves += ", and how many were seen for longer"
	if t.By != "" {
		leaves += ", for each level of " + t.By
	}
	leaves += "; how many lie in none of these (everybody counts as observed from time 0)"
	w := study.Words{
		CountsMissing: true,
		DataSent:      leaves, ExactDataReceived: "counts of its records by time and event",
		Trained: study.NothingTrained, Neighbours: study.NeighbourText(p),
		LiarText: p.Noise.Trust().LiarInRecords, PerParty: t.PerParty,
	}
	if p.Unit == privacy.Party {
		w.DataSent += fmt.Sprintf(", of at most %d records", t.PerParty)
		if w.LiarText = p.Noise.Trust().LiarInVectors; p.Noise.SumsInClear() {
			w.LiarText = fmt.Sprintf("it can move the result by %d records", t.PerParty)
		}
	} else {
		w.DataSent += ", and the declared number of records"
	}
	w.DataSent += p.Noise.Trust().LeavingText
	return w
}

// Task is a survival plan: how a site counts events and censored records by interval and group.
type Task struct {
	bodies.Task
	Counted *Counts
}

// New makes the task of a checked plan.
func (Kind) New(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	c, err := newCounts(p)
	if err != nil {
		return nil, err
	}
	return Task{bodies.Task{TaskBase: study.NewTaskBase(Kind{}, p, pool), Statistic: c,
		SearchSeed: 0x737572766976616c}, c}, nil
}

// Work grows with records × intervals.
func (t Task) Work(records int) (study.Work, error) {
	l := t.Counted.Layout
	return study.Work{OtherSteps: t.CommonWork(records) +
		float64(records)*float64(len(l.Edges)+len(l.Groups)+l.Columns+8)*4}, nil
}
