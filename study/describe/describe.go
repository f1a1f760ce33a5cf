package describe

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/keyed"
)

// Kind is the kind of study that counts records by column. Its unit is the record;
// each site adds its own noise unless the plan says otherwise.
type Kind struct{}

// Terms are the terms of a describe plan.
type Terms struct {
	// Bins is into how many equal parts a number's public range is cut: 2 to maxBins.
	Bins int `json:"bins" yaml:"bins"`
	// PerParty is the most records that one party counts; of more, a part chosen by
	// keys. With it a guarantee for a record counts that often for a party. 0: unknown,
	// and then the study guarantees nothing for a whole party.
	PerParty int64 `json:"per_party,omitempty" yaml:"per_party"`
}

// DefaultTerms cut a number's range into tenths.
func DefaultTerms() Terms { return Terms{Bins: 10} }

const (
	// maxBins: a percent of a range is finer than noise lets anyone see.
	maxBins = 100
	// maxCells keeps a contribution below a megabyte.
	maxCells = 1 << 16
	// muchNoise is the share of all records from which a count's noise is warned of: a
	// tenth is all that a cell of a table with ten holds.
	muchNoise = 0.1
)

// Mechanisms are the names of describe's mechanisms.
func Mechanisms() []string { return study.NoiseMechanisms() }

// Mechanisms are the names of the kind's.
func (Kind) Mechanisms() []string { return Mechanisms() }

func (Kind) Check(p study.Plan) error {
	if err := study.CheckTrainsNothing(p); err != nil {
		return err
	}
	if err := study.CheckForeseesNothing(p); err != nil {
		return err
	}
	t := DefaultTerms()
	if err := p.DecodeTerms(&t); err != nil {
		return err
	}
	switch {
	case p.Unit == privacy.Label:
		return study.PlanError("unit", "describe counts features, which unit label does not hide: use unit record")
	case p.Unit != privacy.Record:
		return study.PlanError("unit", "describe cannot hide a %s: its bound is for one record. Use unit record; with describe.per_party it also counts that many times ε for a party", p.Unit)
	case p.Map.Kind != dataset.IdentityMap:
		return study.PlanError("map", "describe counts the schema's own columns: do not project them")
	case p.Shards > 1:
		return study.PlanError("shards", "%d: describe trains nothing at a site, so set shards to 1", p.Shards)
	}
	if err := t.check(p.Schema); err != nil {
		return err
	}
	return study.CheckNoise(p)
}

// check refuses terms that make no statistic of a schema.
func (t Terms) check(s dataset.Schema) error {
	switch {
	case t.Bins < 2 || t.Bins > maxBins:
		return study.PlanError("describe.bins", "%d: give 2 to %d", t.Bins, maxBins)
	case t.PerParty < 0 || t.PerParty > 1<<40:
		return study.PlanError("describe.per_party", "%d: give the most records a party holds, or 0 if that is not public", t.PerParty)
	}
	if n := mostCells(s, t.Bins); n > maxCells {
		return study.PlanError("describe", "up to %d counts, at most %d are possible: use fewer bins or leave columns out", n, maxCells)
	}
	return nil
}

// mostCells bounds the cells of a schema without listing them.
func mostCells(s dataset.Schema, bins int) int {
	return s.Dim()*bins + len(s.Classes()) + 1
}

// termsOf are the terms of a plan that was checked.
func termsOf(p study.Plan) Terms {
	t := DefaultTerms()
	_ = p.DecodeTerms(&t)
	return t
}

// Terms and Body: see study.Kind.
func (Kind) Terms() any { return new(Terms) }
func (Kind) Body() any  { return new(Counts) }

// Complete fills in the defaults: ten bins, and the quieter noise.
func (Kind) Complete(p *study.Plan, s study.Proposal) error {
	p.Unit = cmp.Or(p.Unit, privacy.Record)
	p.Noise = cmp.Or(p.Noise, study.DefaultNoise(p.Unit))
	var t Terms
	if err := s.DecodeTerms(&t); err != nil {
		return err
	}
	t.Bins = cmp.Or(t.Bins, DefaultTerms().Bins)
	if err := p.SetTerms(t); err != nil {
		return err
	}
	if t.check(p.Schema) != nil { // Check says so
		return nil
	}
	q := newCounts(*p)
	p.CompleteNoise(s, q.bound(), q.Cells())
	return nil
}

func (Kind) Words(p study.Plan) study.Words {
	t := termsOf(p)
	w := study.Words{
		Leaves:   fmt.Sprintf("for each column of the schema, how many of this site's records have each level or class, or a number in each of %d public intervals, and the declared number of records", t.Bins) + p.AddedNoise(),
		Received: "counts of its records by column",
		Trained:  study.NothingTrained, Neighbours: study.OneUnit(p), Liar: study.LiesInRecords, PerParty: t.PerParty,
	}
	if p.Noise == study.NoiseSite {
		w.Liar = study.LiesInNoise
	}
	return w
}

// counts is the statistic of a describe plan: how many records lie in each cell of
// each column.
//
// Proof note.
//   - Neighbours: replace one record. Public: plan, and how many records each site
//     has.
//   - Lemma: a record lies in exactly one cell of each column (column.of). Replacing
//     it takes 1 from a cell and adds 1 to a cell, so a column moves by e_b − e_a: 0,
//     or 2 in L1 and 2 in L2², in 2 cells. A column of one cell does not move. Over
//     the d others that is 2d, 2d and 2d.
//   - Numeric model: counts are integers. Which cell is decided in floating point,
//     from the one record and the plan, so rounding moves a record to another cell
//     and never into two.
//   - The caller guarantees that one party is behind a site. Of more records than a
//     per-party number names, a site counts only so many (Local), and no more are
//     taken from it (Weights).
type counts struct {
	plan    study.Plan
	terms   Terms // the kind's, of the plan
	columns []column
}

func newCounts(p study.Plan) *counts {
	t := termsOf(p)
	return &counts{plan: p, terms: t, columns: columnsOf(p.Schema, t.Bins)}
}

func (q *counts) Cells() int         { return cellsOf(q.columns) }
func (q *counts) ReleasedCells() int { return q.Cells() }

// Weights bound a site's records so that no number of sites makes a sum wrap, and
// by what the plan says a party holds: what it guarantees for a whole party rests on
// that number.
func (q *counts) Weights() (least, most int64) {
	most = 1 << 40 / q.plan.MostSites()
	if k := q.terms.PerParty; k > 0 {
		most = min(most, k)
	}
	return 0, most
}

func (q *counts) Local(in study.Inputs) ([]int64, int64) {
	records := in.Records
	if _, most := q.Weights(); int64(records.Len()) > most {
		// A part chosen without looking at them, so that no more of a party's
		// records count than the plan says.
		records = records.Select(keyed.Of(keyed.Rule{Study: in.Study, Unit: q.plan.Unit}, records, in.ShardKey).Cut(int(most)))
	}
	return count(q.columns, records), int64(records.Len())
}

func (q *counts) AppendClear(vector []int64, records int64) ([]byte, error) {
	return bodies.AppendSums(vector, records), nil
}

// ParseClear refuses counts that no records have: each column's add up to their
// number.
func (q *counts) ParseClear(body []byte) ([]int64, int64, error) {
	v, records, err := bodies.ParseSums("counts", body, q)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range q.columns {
		left := records
		for _, n := range v[c.cell : c.cell+c.cells()] {
			if n < 0 || n > left {
				left = -1 // the count itself is nobody's to read in a log
				break
			}
			left -= n
		}
		if left != 0 {
			return nil, 0, fmt.Errorf("read counts: those of column %q are not of %d records", c.name, records)
		}
	}
	return v, records, nil
}

// bound: see the proof note of counts.
func (q *counts) bound() privacy.Bound {
	d := 2 * moving(q.columns)
	return privacy.Bound{Unit: q.plan.Unit, L1: d, L2sq: d, Cells: int(d), PerParty: q.terms.PerParty}
}

// Terms do not depend on the number of records, so they are the same at every site.
func (q *counts) Terms(int64) (study.ReleaseTerms, error) {
	t := study.ReleaseTerms{Output: "counts", Bound: q.bound()}
	var err error
	t.Mechanism, err = q.plan.Calibrate(t.Bound, q.Cells())
	return t, err
}

func (q *counts) Sensitive(vector []int64, _ int64, t study.ReleaseTerms) (privacy.Sensitive, error) {
	return privacy.NewSensitive(vector, t.Bound)
}

// Noise: a forecast of accuracy is not what counts are for; see ForecastNoise.
func (q *counts) Noise(float64, int) (aggregation.Noise, error) {
	return aggregation.Noise{}, study.ErrNoForecast
}

// deviation is the standard deviation of so many independent noises on a count.
func (q *counts) deviation(draws int) (float64, error) {
	t, err := q.Terms(1)
	if err != nil {
		return 0, err
	}
	return math.Sqrt(float64(draws) * privacy.VarianceOf(t.Mechanism, t.Bound, 0, q.Cells())), nil
}

func (q *counts) Finish(total bodies.Total, _ *rand.Rand) (study.Result, error) {
	sd, err := q.deviation(total.Draws)
	if err != nil {
		return study.Result{}, err
	}
	noisy := make([]int64, len(total.Values))
	for i, v := range total.Values {
		noisy[i] = int64(v)
	}
	return study.NewResult(countsOf(q.columns, noisy, int64(total.Weight), sd), nil)
}

// task is that of a describe plan.
type task struct {
	bodies.Task
	counts *counts
}

func (Kind) New(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	q := newCounts(p)
	return task{bodies.Task{Agreed: study.Agree(Kind{}, p, pool), Statistic: q, Fresh: 0x6465736372696265}, q}, nil
}

func (t task) Work(records int) (study.Work, error) {
	return study.Work{Rest: t.CommonWork(records) + float64(records)*float64(t.Plan().Schema.Dim()+len(t.counts.columns))*16}, nil
}

// ForecastNoise: see study.NoiseForecaster.
func (t task) ForecastNoise(size study.Size) (words, warning string, err error) {
	draws := 1
	if t.Plan().Noise == study.NoiseSite {
		draws = size.Parties
	}
	sd, err := t.counts.deviation(draws)
	if err != nil {
		return "", "", err
	}
	costs, err := t.Plan().NoiseCosts(t.counts.bound(), t.counts.Cells())
	if err != nil {
		return "", "", err
	}
	words = fmt.Sprintf("± %.3g records a count, the standard deviation of its noise, of about %d records in all\n%s", sd, size.Records, t.Plan().NoiseWords(costs))
	if sd > muchNoise*float64(size.Records) {
		warning = fmt.Sprintf("noise moves each count by %.3g of about %d records: use more records, a larger ε or fewer columns (they are %d)", sd, size.Records, len(t.counts.columns))
	}
	return words, warning, nil
}
