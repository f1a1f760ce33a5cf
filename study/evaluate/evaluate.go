package evaluate

import (
	"cmp"
	"fmt"
	"strings"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// Kind evaluates scores. The unit is the record, or the party if the plan bounds a party's records.
type Kind struct{}

// Mechanisms are those of study.NoiseMechanisms: exact noise of integer counts.
func Mechanisms() []string { return study.NoiseMechanisms() }

// Mechanisms returns gaussian and laplace; none is for simulation only.
func (Kind) Mechanisms() []string { return Mechanisms() }

// Shared returns all mechanisms, because secret shares of counts add up like counts.
func (Kind) Shared() []string { return Mechanisms() }

// Terms returns a zero *Terms, into which a study file or plan is read.
func (Kind) Terms() any { return new(Terms) }

// Check demands unit record, or party with a cap on records, edges that fit the schema, and at most
// 65,536 counts.
func (Kind) Check(p study.Plan) error {
	var t Terms
	if err := p.DecodeTerms(&t); err != nil {
		return err
	}
	switch {
	case p.Unit == privacy.Label:
		return study.PlanError("unit", "evaluate counts scores and subgroups, which unit label does not hide: use unit record")
	case !study.ByRecord(p.Unit) && p.Unit != privacy.Party:
		return study.PlanError("unit", "evaluate cannot hide a %s: use unit record, or unit party with evaluate.per_party", p.Unit)
	case p.Map.Kind != dataset.IdentityMap:
		return study.PlanError("map", "a model brings its own map, and subgroups are of the schema's columns: do not project them")
	}
	if err := t.Check(p); err != nil {
		return err
	}
	if err := study.CheckNoise(p); err != nil {
		return err
	}
	if err := t.CheckEdges(p.Schema); err != nil {
		return err
	}
	if n := NewHistograms(p, t).Cells(); n > maxCells {
		return study.PlanError("evaluate", "%d counts, at most %d are possible: use fewer bins or subgroups", n, maxCells)
	}
	return nil
}

// Complete fills in the defaults. The default class is the second of two.
func (Kind) Complete(p *study.Plan, s study.Proposal) error {
	p.Unit = cmp.Or(p.Unit, privacy.Record)
	p.Noise = cmp.Or(p.Noise, study.DefaultNoise(p.Unit))
	var t Terms
	if err := s.DecodeTerms(&t); err != nil {
		return err
	}
	if classes := p.Schema.Classes(); len(t.Classes) == 0 && len(classes) == 2 {
		t.Classes = classes[1:]
	}
	if err := p.SetTerms(t); err != nil {
		return err
	}
	p.CompleteNoise(s, boundOf(*p, t), 2*DefaultBins*t.histograms())
	return nil
}

// Words say whose scores are counted, and that a program of the site's own sees its records.
func (Kind) Words(p study.Plan) study.Words {
	t := study.TermsOf[Terms](p)
	what := "a model that the plan carries"
	if t.Program {
		what = "the scores that a program of this site's own gives"
	} else if t.Model == nil {
		what = fmt.Sprintf("the scores in column %q", t.Score)
	} else if t.Model.Release != nil {
		what = "a model that the plan carries and says to be that of release " + t.Model.Release.String()[:16]
	}
	var by []string
	for _, g := range t.By {
		by = append(by, g.Column)
	}
	w := study.Words{
		CountsMissing: CountsMissing(p),
		DataSent: fmt.Sprintf("how many of this site's records have each label and a score in each of %d public intervals, for %s, of class %s",
			len(t.Edges[0])+1, what, strings.Join(t.Classes, ", ")),
		ExactDataReceived: "counts of its records by score and label",
		Trained:           study.NothingTrained, Neighbours: study.NeighbourText(p), LiarText: p.Noise.Trust().LiarInRecords, PerParty: t.PerParty,
	}
	if t.Model != nil {
		w.MaxNumbers = t.Model.Map.Dim()
	}
	if t.Program {
		w.Trained, w.Learner, w.SiteScores = programWords, learners.AnyClassifier, true
	}
	if len(by) > 0 {
		w.DataSent += ", for each level of " + strings.Join(by, ", ")
	}
	if p.Unit == privacy.Party {
		w.DataSent += fmt.Sprintf(", of at most %d records", t.PerParty)
		if w.LiarText = p.Noise.Trust().LiarInVectors; p.Noise.SumsInClear() {
			w.LiarText = fmt.Sprintf("it can move the result by %d records", t.PerParty)
		}
	} else {
		w.DataSent += ", and the declared number of records"
	}
	if n := t.histograms(); n > 1 {
		w.DataSent += fmt.Sprintf("; these are %d tables, so that a record adds to %d counts and noise is %d times that of one table", n, n, n)
	}
	w.DataSent += p.Noise.Trust().LeavingText
	return w
}

// Task is an evaluate plan with its model: how a site scores records and counts them by score.
type Task struct {
	bodies.Task
	Histograms *Histograms // its statistic
}

// New makes the histograms from the plan alone; the pool's rows are scored where results are
// made (package judged).
func (Kind) New(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	h := NewHistograms(p, study.TermsOf[Terms](p))
	return Task{bodies.Task{TaskBase: study.NewTaskBase(Kind{}, p, pool), Statistic: h,
		SearchSeed: 0x6576616c75617465}, h}, nil
}

// Work implements study.Task. It includes mapping all records and, where results are made, all rows
// of the pool, one by one.
func (t Task) Work(records int) (study.Work, error) {
	n, each := float64(records+t.Pool().Rows()), float64(t.Histograms.terms.histograms())*64
	if m := t.Histograms.terms.Model; m != nil {
		each += 3*study.MapSteps(m.Map) + 4*float64(len(m.Weights)*len(m.Weights[0]))
	}
	w := study.Work{OtherSteps: t.CommonWork(records) + n*each}
	if t.Histograms.terms.Program { // the party bounds the time of its program
		w.Shards = 1
	}
	return w, nil
}
