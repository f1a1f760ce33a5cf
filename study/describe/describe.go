package describe

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// Kind is the study kind describe. The unit is the record.
type Kind struct{}

// Terms are the terms that only describe plans have.
type Terms struct {
	Bins     int    `json:"bins" yaml:"bins" help:"parts of equally many of the pool's rows that a number is cut into (default: 4 to 20, by the noise); of too few rows, equal steps of its range (10)"`
	By       string `json:"by,omitempty" yaml:"by" help:"give all tables for each level of this column: the label or a text"`
	Count    bool   `json:"count,omitempty" yaml:"count" help:"count only the records that meet the condition"`
	Sites    bool   `json:"sites,omitempty" yaml:"sites" help:"show readers of the release the table of each site beside that of all, under the site's name"`
	PerParty int64  `json:"per_party,omitempty" yaml:"per_party" help:"most records (at unit patient: patients) that one party counts; of more, a part chosen by keys. 0: unknown, and then nothing is guaranteed for a whole party"`
	Cuts     []Cut  `json:"cuts,omitempty" yaml:"cuts" help:"numbers cut at edges of your own, such as [{column: age, edges: [40, 65, 80]}], in place of the pool's quantiles"`
	// Edges are each number's inner bin edges: those in Cuts or, for other numbers, the quantiles
	// that cut the pool into PoolQuantiles parts (poolEdges). Edges are public, and New checks them
	// by computing them again. A number without edges has Bins bins of equal width.
	PoolQuantiles int                  `json:"parts,omitempty" yaml:"-"`
	Edges         map[string][]float64 `json:"edges,omitempty" yaml:"-"`
}

// Cut gives a number's inner bin edges, in its own unit. A value on an edge belongs to the bin
// above.
type Cut struct {
	Column string    `json:"column" yaml:"column"`
	Edges  []float64 `json:"edges" yaml:"edges"`
}

// DefaultTerms cut a number's range into tenths.
func DefaultTerms() Terms { return Terms{Bins: 10} }

const (
	maxBins = 100 // noise would hide finer bins than a percent of the range
	// Tune cuts the pool's rows into leastParts to mostParts parts.
	leastParts, mostParts = 4, 20
	// A release that shows every site's table has at most mostParties sites, and mostOfParties
	// numbers in all, so that it stays below about 100 MB.
	mostParties   = 200
	mostOfParties = 1 << 18
	maxCells      = 1 << 16 // keeps a contribution below a megabyte
	// noise on a count, as a share of all records, above which the forecast warns
	muchNoise = 0.1
)

// Mechanisms are those of study.NoiseMechanisms: exact noise of integer counts.
func Mechanisms() []string { return study.NoiseMechanisms() }

// Mechanisms returns gaussian and laplace; none is for simulation only.
func (Kind) Mechanisms() []string { return Mechanisms() }

// Shared returns all mechanisms, because secret shares of counts add up like counts.
func (Kind) Shared() []string { return Mechanisms() }

// Check demands unit record and the schema's own columns, and bounds cells and sites, so that
// releases stay readable.
func (Kind) Check(p study.Plan) error {
	t := DefaultTerms()
	if err := p.DecodeTerms(&t); err != nil {
		return err
	}
	switch {
	case p.Unit == privacy.Label:
		return study.PlanError("unit", "describe counts features, which unit label does not hide: use unit record")
	case !study.ByRecord(p.Unit):
		return study.PlanError("unit", "describe cannot hide a %s: its bound is for one record. Use unit record; with describe.per_party it also counts that many times ε for a party", p.Unit)
	case p.Map.Kind != dataset.IdentityMap:
		return study.PlanError("map", "describe counts the schema's own columns: do not project them")
	case t.Sites && !p.Noise.AddedAtSite():
		return study.PlanError("describe.sites", "with noise %q no site's own numbers are released: use noise site, or leave sites out", p.Noise)
	case t.Sites && p.MostParties() > mostParties:
		return study.PlanError("describe.sites", "%d sites, each with a table of its own, at most %d are shown: leave sites out", p.MostParties(), mostParties)
	case t.Count && p.Where == "":
		return study.PlanError("where", "describe.count asks how many records match, so say which: where: age >= 65")
	}
	if err := t.check(p.Schema); err != nil {
		return err
	}
	if n := p.MostParties() * int64(LayoutOf(p, t).cells); t.Sites && n > mostOfParties {
		return study.PlanError("describe.sites", "%d counts of all sites, at most %d are possible: use fewer bins or groups, or leave sites out", n, mostOfParties)
	}
	return study.CheckNoise(p)
}

func (t Terms) check(s dataset.Schema) error {
	if t.PerParty < 0 || t.PerParty > 1<<40 {
		return study.PlanError("describe.per_party", "%d: give the most records a party holds, or 0 if that is not public", t.PerParty)
	}
	if t.Count {
		if t.Bins != 0 || t.By != "" || t.Cuts != nil {
			return study.PlanError("describe.count", "a single number has neither bins nor groups: leave bins, cuts and by out, or count")
		}
		return nil
	}
	if t.Bins < 2 || t.Bins > maxBins || t.PoolQuantiles < 0 || t.PoolQuantiles > maxBins {
		return study.PlanError("describe.bins", "%d: give 2 to %d", t.Bins, maxBins)
	}
	if err := t.checkCuts(s); err != nil {
		return err
	}
	groups := 1
	if t.By != "" {
		if groups = levelsIn(s, t.By); groups == 0 {
			return study.PlanError("describe.by", "%q is neither the label nor a text of the schema, whose levels are public: group by one of those", t.By)
		}
	}
	if n := groups * (s.Dim()*(t.mostBins()+3) + len(s.Classes()) + 1); n > maxCells {
		return study.PlanError("describe", "up to %d counts, at most %d are possible: use fewer bins or groups, or leave columns out", n, maxCells)
	}
	return nil
}

func (t Terms) mostBins() int {
	most := t.Bins
	for _, edges := range t.Edges {
		most = max(most, len(edges)+1)
	}
	return most
}

// levelsIn counts a grouping column's levels, and one more for other values. It is 0 for a column
// that cannot group.
func levelsIn(s dataset.Schema, column string) int {
	if column == s.Label.Column {
		return len(s.Classes()) + 1
	}
	for _, f := range s.Features {
		names, _ := dataset.ExpandNames(f.Columns) // no error: the schema was checked
		if f.Kind == dataset.Categorical && (f.Column == column || slices.Contains(names, column)) {
			return len(f.Levels) + 1
		}
	}
	return 0
}

// TermsOf returns the terms of a checked plan, with defaults.
func TermsOf(p study.Plan) Terms {
	t := DefaultTerms()
	_ = p.DecodeTerms(&t)
	return t
}

// Terms returns a zero *Terms, into which a study file or plan is read.
func (Kind) Terms() any { return new(Terms) }

// Complete fills in the defaults.
func (Kind) Complete(p *study.Plan, s study.Proposal) error {
	p.Unit = cmp.Or(p.Unit, privacy.Record)
	p.Noise = cmp.Or(p.Noise, study.DefaultNoise(p.Unit))
	var t Terms
	if err := s.DecodeTerms(&t); err != nil {
		return err
	}
	if !t.Count {
		t.Bins, t.PoolQuantiles = cmp.Or(t.Bins, DefaultTerms().Bins), t.Bins
	}
	if err := p.SetTerms(t); err != nil {
		return err
	}
	if t.check(p.Schema) != nil || t.Count && p.Where == "" { // Check refuses such a plan
		return nil
	}
	q := newCounts(*p)
	p.CompleteNoise(s, q.bound(), q.Cells())
	return nil
}

// Tune cuts numbers at the pool's quantiles. If a study leaves the number of parts open, Tune
// chooses the number for which intervals of quartiles are shortest. Let n be the number of records
// and sd the standard deviation of a count's noise. The interval spans the noise of the counts
// below the quartile, about 2·1.96·sd·√(parts/4) records, and the rounding to edges at both ends,
// about n/parts records. The sum is least at about (n/sd)^⅔ parts.
func (Kind) Tune(p *study.Plan, pool *auxdata.Pool) error {
	t := TermsOf(*p)
	if t.Count || t.check(p.Schema) != nil { // Check refuses such a plan
		return nil
	}
	if t.PoolQuantiles == 0 {
		q, parties := newCounts(*p), int(p.MostParties())
		sd, err := q.Deviation(p.Noise.Draws(parties))
		if err != nil { // Check refuses such a plan
			return nil
		}
		n := float64(p.Size(parties).Records)
		if q.Group != nil {
			n /= float64(q.Group.Cells())
		}
		t.PoolQuantiles = int(min(max(math.Pow(n/sd, 2./3), leastParts), mostParts))
	}
	t.Edges = t.innerEdges(p.Schema, pool)
	return p.SetTerms(t)
}

// Words say what is counted. With sites, they name what leaves under a site's name.
func (Kind) Words(p study.Plan) study.Words {
	t := TermsOf(p)
	leaves := fmt.Sprintf("for each column of the schema, how many of this site's records have each level or class, or a number in each of up to %d public intervals, with two sums for mean and sd", t.mostBins())
	received := "counts of its records by column"
	if t.By != "" {
		leaves += fmt.Sprintf("; all of it for each level of %s", t.By)
	}
	if p.Where != "" {
		leaves += "; and how many records the study is about"
	}
	if t.Count {
		leaves, received = "how many of this site's records the condition holds for, one number", "count of matching records"
	}
	w := study.Words{
		CountsMissing: countsMissing(p),
		DataSent:      leaves + "; and the declared number of records" + p.Noise.Trust().LeavingText, ExactDataReceived: received,
		Trained: study.NothingTrained, Neighbours: study.NeighbourText(p), LiarText: p.Noise.Trust().LiarInRecords, PerParty: t.PerParty,
	}
	if t.Sites {
		w.ShownByName = true
		w.DataSent += "; readers of the release see this site's own table, and how many records it declared, under its name"
		w.NotProtected = []string{"what is true of a site as a whole: its own numbers, with its noise, are released under its name"}
	}
	return w
}

// Task is a describe plan with its pool: how a site counts records by column, group and bin.
type Task struct {
	bodies.Task
	Counted *counts
}

// New computes the edges again from terms and pool, and refuses a plan whose edges differ by more
// than a relative 1e-9.
func (Kind) New(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	q := newCounts(p)
	// the author's processor may round logarithms differently
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(a+b) }
	if t := q.terms; t.Edges != nil &&
		!maps.EqualFunc(t.Edges, t.innerEdges(p.Schema, pool), func(a, b []float64) bool {
			return slices.EqualFunc(a, b, near)
		}) {
		return nil, study.PlanError("describe.edges", "this machine computes other quantiles of the pool than the plan has edges: they were changed, or made by another version")
	}
	t := Task{bodies.Task{TaskBase: study.NewTaskBase(Kind{}, p, pool), Statistic: q,
		SearchSeed: 0x6465736372696265}, q}
	if q.terms.Sites {
		return EachPartyTask{t}, nil
	}
	return t, nil
}

// Work grows with records × columns. The factor 16 allows for a lookup of a number's bin in each.
func (t Task) Work(records int) (study.Work, error) {
	return study.Work{OtherSteps: t.CommonWork(records) +
		float64(records)*float64(t.Plan().Schema.Dim()+(3+t.Counted.terms.mostBins()/4)*len(t.Counted.Columns)+1)*16}, nil
}
