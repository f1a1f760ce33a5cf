package regress

import (
	"cmp"
	"fmt"
	"strings"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// Kind is the study kind regress. The unit is the record, or the party if the plan bounds a party's
// records.
type Kind struct{}

// Terms are the terms that only regress plans have.
type Terms struct {
	Outcome  string   `json:"outcome" yaml:"outcome" help:"column that the others go with: a number of the schema, a text or the label (default: the label)"`
	Is       string   `json:"is,omitempty" yaml:"is" help:"level of the outcome that counts as 1, of a text or the label (default: the last class of the label)"`
	Columns  []string `json:"columns" yaml:"columns" help:"columns whose coefficients are asked for; few columns have narrow intervals (default: all features)"`
	Expected float64  `json:"expected,omitempty" yaml:"expected" help:"share of the records expected to have the level of the label that counts as 1 (default .25)"`
	Radius   float64  `json:"radius,omitempty" yaml:"radius" help:"longest row of standardised columns and outcome; longer rows are shortened to it (default: by the pool and the number of records)"`
	PerParty int64    `json:"per_party,omitempty" yaml:"per_party" help:"most records (at unit patient: patients) that one party adds; of more, a part chosen by keys. 0: unknown, and then nothing is said of a whole party"`
}

const (
	// At unit party the bound's L2² is 50·B² times the square of this, an int64 of itself.
	maxPerParty = 1 << 20
	usualShare  = 0.25
	usualRadius = 5 // of plans that name none
)

// Mechanisms are those of study.NoiseMechanisms: exact noise of integer sums.
func Mechanisms() []string { return study.NoiseMechanisms() }

// Mechanisms returns gaussian and laplace; none is for simulation only.
func (Kind) Mechanisms() []string { return Mechanisms() }

// Shared returns all mechanisms, because secret shares of sums add up like sums.
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
		return study.PlanError("form", "%d: regress plans have form %d or above", p.Form,
			study.FormCommitted)
	case p.Unit == privacy.Label:
		return study.PlanError("unit", "regress adds up columns too, which unit label does not hide: use unit record")
	case !study.ByRecord(p.Unit) && p.Unit != privacy.Party:
		return study.PlanError("unit", "regress cannot hide a %s: use unit record, or unit party with regress.per_party", p.Unit)
	case p.Unit == privacy.Party && t.PerParty < 1:
		return study.PlanError("regress.per_party", "unit party hides all of a party's records: give the most that one adds")
	case p.Unit == privacy.Party && t.PerParty > maxPerParty:
		return study.PlanError("regress.per_party",
			"%d records of a party, at most %d are possible", t.PerParty, maxPerParty)
	case t.PerParty < 0 || t.PerParty > 1<<40:
		return study.PlanError("regress.per_party", "%d: give the most records a party holds, or 0 if that is not public", t.PerParty)
	case p.Map.Kind != dataset.IdentityMap:
		return study.PlanError("map", "regress takes the schema's own columns: do not project them")
	case len(t.Columns) == 0:
		return study.PlanError("regress.columns", "name the columns whose coefficients you want")
	case (t.Expected != 0) != (t.Outcome == p.Schema.Label.Column):
		return study.PlanError("regress.expected", "%g: give the share of an outcome that is the label, and no other", t.Expected)
	case t.Expected != 0 && !(t.Expected > 0 && t.Expected < 1):
		return study.PlanError("regress.expected", "%g: give a share of the records above 0 and below 1", t.Expected)
	}
	dim, err := t.dim(p.Schema)
	if err != nil {
		return err
	}
	if dim > mostDim {
		return study.PlanError("regress.columns", "%d columns, with one for each level of a text but one; at most %d are possible, and few have narrow intervals: name fewer", dim-2, mostDim-2)
	}
	l, err := t.lattice(p, dim)
	if err != nil {
		return err
	}
	if most := mostRecords(p, t, l); int64(p.Records) > most && t.PerParty == 0 {
		return study.PlanError("records", "%d at each of %d sites: the sums of so many do not fit an integer; use fewer, or a smaller radius", p.Records, p.MostParties())
	}
	return study.CheckNoise(p)
}

// dim returns the length of a row.
func (t Terms) dim(s dataset.Schema) (int, error) {
	d, err := t.columns(s, nil)
	if err != nil {
		return 0, err
	}
	return d.Dim(), nil
}

// Complete fills in the defaults: the last class of the label is the outcome, and all features are
// columns.
func (Kind) Complete(p *study.Plan, s study.Proposal) error {
	p.Unit = cmp.Or(p.Unit, privacy.Record)
	p.Noise = cmp.Or(p.Noise, study.DefaultNoise(p.Unit))
	var t Terms
	if err := s.DecodeTerms(&t); err != nil {
		return err
	}
	t.Outcome = cmp.Or(t.Outcome, p.Schema.Label.Column)
	if t.Outcome == p.Schema.Label.Column {
		t.Expected = cmp.Or(t.Expected, usualShare)
		if classes := p.Schema.Classes(); t.Is == "" && len(classes) > 0 {
			t.Is = classes[len(classes)-1]
		}
	}
	if len(t.Columns) == 0 {
		for _, f := range p.Schema.Features {
			if f.Column != "" && f.Column != t.Outcome {
				t.Columns = append(t.Columns, f.Column)
			}
		}
	}
	if err := p.SetTerms(t); err != nil {
		return err
	}
	dim, err := t.dim(p.Schema)
	if err != nil {
		return err
	}
	l, err := t.lattice(*p, dim)
	if err != nil {
		return err
	}
	// The mechanisms compare alike for every radius.
	p.CompleteNoise(s, l.bound(*p), l.Cells())
	return nil
}

// Words say what a site adds up, what leaves it, and what a lying party can do to the sum.
func (Kind) Words(p study.Plan) study.Words {
	t := study.TermsOf[Terms](p)
	outcome := t.Outcome
	if t.Is != "" {
		outcome += " = " + t.Is
	}
	w := study.Words{
		CountsMissing:     true,
		DataSent:          fmt.Sprintf("sums over this site's records of %s and of %s, of their squares, and of the products of each two, and how many records have them all", strings.Join(t.Columns, ", "), outcome),
		ExactDataReceived: "sums of columns of its records, and of their squares and products",
		Trained:           study.NothingTrained, Neighbours: study.NeighbourText(p),
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

// Task is a regress plan with its pool: how a site sums products of standardised columns.
type Task struct {
	bodies.Task
	Moments *Moments
}

// New makes the task of a checked plan. It fails if the pool does not support the plan's columns.
func (Kind) New(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	m, err := newMoments(p, pool)
	if err != nil {
		return nil, err
	}
	return Task{bodies.Task{TaskBase: study.NewTaskBase(Kind{}, p, pool), Statistic: m,
		SearchSeed: 0x72656772657373}, m}, nil
}

// Work grows with records × products.
func (t Task) Work(records int) (study.Work, error) {
	return study.Work{OtherSteps: t.CommonWork(records) +
		float64(records)*float64(4*t.Moments.Cells()+20*t.Moments.Dim())}, nil
}

// Counts implements study.Counter: it describes one site's sums before noise, how many records they
// have and the mean of each column, in the schema's unit.
func (t Task) Counts(values []int64) ([]string, int64) {
	m := t.Moments
	one := OfSquare * m.One * m.One
	n := values[0] / one
	lines := []string{fmt.Sprintf("records with the outcome and all columns: %d", n)}
	for j, c := range append(append([]Column{}, m.Columns...), m.Outcome) {
		if n == 0 {
			break
		}
		off := float64(values[m.Cell(0, j+1)]) / float64(OfProduct*m.One*m.One*n)
		v := c.Low + (c.High-c.Low)*(c.Mean+c.Scale*off)
		lines = append(lines, fmt.Sprintf("mean of %s: about %.4g", c.Name(), v))
	}
	return lines, one
}
