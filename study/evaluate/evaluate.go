package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"caucus/aggregation/validation"
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
	case p.Unit != privacy.Record && p.Unit != privacy.Party:
		return study.PlanError("unit", "evaluate cannot hide a %s: use unit record, or unit party with evaluate.per_party", p.Unit)
	case p.Map.Kind != dataset.IdentityMap:
		return study.PlanError("map", "a model brings its own map, and subgroups are of the schema's columns: do not project them")
	}
	if err := t.check(p); err != nil {
		return err
	}
	if err := study.CheckNoise(p); err != nil {
		return err
	}
	if err := t.checkEdges(p.Schema); err != nil {
		return err
	}
	if n := newHistograms(p, t).Cells(); n > maxCells {
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
	p.CompleteNoise(s, boundOf(*p, t), 2*manyBins*t.histograms())
	return nil
}

// Tune cuts the scores at the pool's quantiles and the thresholds, into 20 bins. It takes 10 bins
// if there are subgroups, or if the forecast AUC with 20 bins has a standard deviation above .02.
func (Kind) Tune(p *study.Plan, pool *auxdata.Pool) error {
	t := study.TermsOf[Terms](*p)
	if len(t.Edges) > 0 {
		return nil
	}
	bins := t.Bins
	if bins == 0 {
		bins = manyBins
		if len(t.By) > 0 {
			bins = fewBins
		}
	}
	t.Bins = bins
	if t.check(*p) != nil { // Check refuses such a plan
		return p.SetTerms(t)
	}
	given := study.TermsOf[Terms](*p).Bins > 0
	for {
		t.cut(*p, pool)
		if given || bins == fewBins || t.checkEdges(p.Schema) != nil {
			break
		}
		h := newHistograms(*p, t)
		h.read(pool)
		sd, err := h.deviation(h.draws(len(p.Roster)))
		if err != nil {
			break // Check refuses such a plan
		}
		forecast := h.forecast(p.Size(max(len(p.Roster), 1)), sd)
		if auc := forecast[0].AUC; auc.Known() && auc.SD <= coarse {
			break
		}
		bins = fewBins
		t.Bins = bins
	}
	return p.SetTerms(t)
}

func (t *Terms) cut(p study.Plan, pool *auxdata.Pool) {
	s := newScorer(p, *t)
	var with []float64
	for _, at := range t.Thresholds {
		with = append(with, s.cut(at))
	}
	t.Edges = nil
	if t.Program {
		t.Edges = append(t.Edges, evenEdges(t.Bins, with))
		return
	}
	for _, scores := range s.all(pool.Encoded) {
		z, w := known(scores, pool.Weight)
		t.Edges = append(t.Edges, validation.Quantiles(z, w, t.Bins, with))
	}
}

func known(z, weight []float64) (scores, weights []float64) {
	for i, v := range z {
		if v-v != 0 {
			continue
		}
		scores = append(scores, v)
		if weight != nil {
			weights = append(weights, weight[i])
		}
	}
	return scores, weights
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
		CountsMissing: countsMissing(p),
		Leaves: fmt.Sprintf("how many of this site's records have each label and a score in each of %d public intervals, for %s, of class %s",
			len(t.Edges[0])+1, what, strings.Join(t.Classes, ", ")),
		Received: "counts of its records by score and label",
		Trained:  study.NothingTrained, Neighbours: study.OneUnit(p), Liar: p.Noise.Trust().LiarInRecords, PerParty: t.PerParty,
	}
	if t.Model != nil {
		w.Numbers = t.Model.Map.Dim()
	}
	if t.Program {
		w.Trained, w.Learner, w.Scored = programWords, learners.Any, true
	}
	if len(by) > 0 {
		w.Leaves += ", for each level of " + strings.Join(by, ", ")
	}
	if p.Unit == privacy.Party {
		w.Leaves += fmt.Sprintf(", of at most %d records", t.PerParty)
		if w.Liar = p.Noise.Trust().LiarInVectors; p.Noise.InClear() {
			w.Liar = fmt.Sprintf("it can move the result by %d records", t.PerParty)
		}
	} else {
		w.Leaves += ", and the declared number of records"
	}
	if n := t.histograms(); n > 1 {
		w.Leaves += fmt.Sprintf("; these are %d tables, so that a record adds to %d counts and noise is %d times that of one table", n, n, n)
	}
	w.Leaves += p.Noise.Trust().Added
	return w
}

type task struct {
	bodies.Task
	h *histograms
}

// New scores the pool's rows once, which gives each bin the probability that stands for its
// records.
func (Kind) New(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	h := newHistograms(p, study.TermsOf[Terms](p))
	h.read(pool)
	return task{bodies.Task{TaskBase: study.NewTaskBase(Kind{}, p, pool), Statistic: h,
		Fresh: 0x6576616c75617465}, h}, nil
}

// Work implements study.Task. It includes mapping all records and, in New, all rows of the pool,
// one by one.
func (t task) Work(records int) (study.Work, error) {
	n, each := float64(records+t.Pool().Rows()), float64(t.h.terms.histograms())*64
	if m := t.h.terms.Model; m != nil {
		each += 3*study.MapSteps(m.Map) + 4*float64(len(m.Weights)*len(m.Weights[0]))
	}
	w := study.Work{Rest: t.CommonWork(records) + n*each}
	if t.h.terms.Program { // the party bounds the time of its program
		w.Shards = 1
	}
	return w, nil
}

// ForecastNoise assumes that records are like the pool's rows and that the model predicts the
// number of records in the class correctly.
func (t task) ForecastNoise(size study.Size) (words, warning string, err error) {
	p := t.Plan()
	sd, err := t.h.deviation(t.h.draws(size.Parties))
	if err != nil {
		return "", "", err
	}
	costs, err := p.NoiseCosts(t.h.bound(), t.h.Cells())
	if err != nil {
		return "", "", err
	}
	for at, of := range t.h.forecast(size, sd) {
		words += fmt.Sprintf("%s: AUC ± %s, slope ± %s", t.h.terms.Classes[at], shortSD(of.AUC),
			shortSD(of.Slope))
		if of.Brier.Known() {
			words += ", Brier ± " + shortSD(of.Brier)
		}
		if !of.AUC.Known() {
			warning = fmt.Sprintf("the AUC is not expected to be shown (%s): use more records, a larger ε, or fewer subgroups and classes", of.AUC.Unknown)
		}
		words += "; "
		if sure := t.h.sure[at]; sure > 0 && warning == "" {
			warning = strings.TrimSpace(ClassResult{Sure: sure}.sureWords())
		}
	}
	words += fmt.Sprintf("± is the standard deviation by noise and sampling, for about %d records in all in %d bins", size.Records, len(t.h.terms.Edges[0])+1)
	if t.h.terms.Program {
		words += ", if they lie evenly between 0 and 1 and are right, which nobody knows beforehand"
	}
	if n := t.h.terms.histograms(); n > 1 {
		words += fmt.Sprintf("; %d tables: each record counts in all of them, so the bound is %d times that of one", n, n)
	}
	for g, by := range t.h.groups {
		for level, name := range by.levels {
			if share := t.h.shares[g][level]; by.column != "" && share > 0 {
				of := t.h.scales[0].Of(t.h.scales[0].Expected(share*float64(size.Records), sd*sd),
					nil)
				words += fmt.Sprintf("\n%s %s (%.0f %% of the pool): AUC ± %s, slope ± %s", by.column, name, 100*share, shortSD(of.AUC), shortSD(of.Slope))
			}
		}
	}
	if narrow := p.AboutFewer(size); narrow != "" {
		words += "\n" + narrow
	}
	return words + "\n" + p.NoiseWords(costs), warning, nil
}

func shortSD(n validation.Number) string {
	if !n.Known() {
		return "(not shown: " + n.Unknown + ")"
	}
	return fmt.Sprintf("%.2g", n.SD)
}

func (h *histograms) draws(parties int) int { return h.plan.Noise.Draws(max(parties, 1)) }

func (h *histograms) forecast(size study.Size, sd float64) []validation.Performance {
	records := float64(size.Records)
	if k := h.terms.PerParty; k > 0 {
		records = math.Min(records, float64(k)*float64(size.Parties))
	}
	var out []validation.Performance
	for _, s := range h.scales {
		out = append(out, s.Of(s.Expected(records, sd*sd*h.overallNoise()), nil))
	}
	return out
}
