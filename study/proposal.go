package study

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
)

// Proposal is what a researcher says about a study; Plan makes the plan of it.
// Zero fields take the defaults named here.
type Proposal struct {
	Name    string `yaml:"name"`
	Kind    string `yaml:"kind"` // classify
	Purpose string `yaml:"purpose"`
	Contact string `yaml:"contact"`
	// Data names the data source that agents should use.
	Data string `yaml:"data"`
	// Map is how the pool's features are mapped.
	Map dataset.Components `yaml:"map"`
	// Roster lists the parties that may contribute.
	Roster []PartyID `yaml:"roster"`

	Unit      privacy.Unit `yaml:"unit"`      // record
	Epsilon   float64      `yaml:"epsilon"`   // 1
	Delta     *float64     `yaml:"delta"`     // min(1e-6, 1/(10·units))
	Mechanism string       `yaml:"mechanism"` // DefaultMechanism
	Noise     string       `yaml:"noise"`     // DefaultNoise
	Bound     string       `yaml:"bound"`
	Shards    int          `yaml:"shards"` // 1
	Lambda    float64      `yaml:"lambda"` // 0: auto
	Learner   string       `yaml:"learner"`
	Tilt      bool         `yaml:"tilt"`
	// Labels are the terms of a labels study; what they leave out takes
	// DefaultLabelTerms, and a correction that fits the loss.
	Labels *LabelTerms `yaml:"labels"`
	// Ratio are the terms of a ratio study; what they leave out is as in
	// DefaultRatioTerms.
	Ratio *RatioTerms `yaml:"ratio"`
	// Reweigh are the terms of a reweigh study.
	Reweigh *ReweighTerms `yaml:"reweigh"`
	// Weights says where the pool's weights come from, or what it was made of.
	Weights *WeightSource `yaml:"weights"`

	// Minimum defaults to three quarters of the roster, rounded up, and at
	// least 2: a study should not wait for ever for the last site, nor stand for
	// half of them.
	Minimum  int       `yaml:"minimum"`
	Deadline time.Time `yaml:"deadline"`
	Readers  []string  `yaml:"readers"`
	// Records is how many records each party is publicly known to hold at least.
	Records int    `yaml:"records"` // RecordsPerParty
	Seed    uint64 `yaml:"seed"`
}

// RecordsPerParty is what is assumed of a party whose size is not said: a small
// hospital's share of one disease.
const RecordsPerParty = 200

// Size is what a forecast of the plan assumes of so many parties.
func (p Plan) Size(parties int) Size {
	return Size{Parties: parties, Records: parties * cmp.Or(p.Records, RecordsPerParty)}
}

// Proposed is a plan ready to be agreed on, with what it is about.
type Proposed struct {
	Plan      Plan
	Canonical []byte // the plan's bytes
	Hash      Hash
	Pool      *auxdata.Pool
	PoolBytes []byte // the pool's canonical bytes
	Remarks   []dataset.Remark
	Size      Size
	// Forecast is nil where the mechanism has none; Warning says in words why a
	// plan is not useful, "" if it is.
	Forecast *Forecast
	// ShareError is, for ratio studies, how far noise moves one class share of a
	// set on average.
	ShareError float64
	Warning    string
}

// Propose makes a plan: it fits the public map on the pool, fills in defaults
// and forecasts.
func Propose(s Proposal, schema dataset.Schema, pool *dataset.Table) (Proposed, error) {
	var out Proposed
	var canonical bytes.Buffer
	if pool.Rows() == 0 {
		return out, auxdata.ErrEmpty
	}
	if err := auxdata.WriteCSV(&canonical, schema, pool); err != nil {
		return out, err
	}
	out.PoolBytes = canonical.Bytes()
	records, _, err := schema.Encode(pool)
	if err != nil {
		return out, fmt.Errorf("encode public pool: %w", err)
	}
	p := s.plan(schema)
	if p.Map, err = FitMap(p, p.Size(len(p.Roster)), s.Map, records.X); err != nil {
		return out, err
	}
	if out.Pool, out.Remarks, err = auxdata.New(schema, p.Map, pool); err != nil {
		return out, err
	}
	p.Pool = out.Pool.Digest
	if err := p.chooseWidth(out.Pool); err != nil {
		return out, err
	}
	if err := p.Check(); err != nil {
		return out, err
	}
	task, err := NewTask(p, out.Pool)
	if err != nil {
		return out, err
	}
	if p.Terms, err = TermsOf(task); err != nil {
		return out, err
	}
	out.Plan = p
	if out.Canonical, err = p.Canonical(); err != nil {
		return out, err
	}
	out.Hash = HashOf(out.Canonical)
	out.Size = p.Size(len(p.Roster))
	if f, err := ForecastOf(task, out.Size); err == nil {
		out.Forecast = f
		out.Warning = f.Warning(p, out.Size)
	}
	if p.Ratio != nil {
		if out.ShareError, err = p.shareError(); err != nil {
			return out, err
		}
		out.Warning = p.shareWarning(out.ShareError)
	}
	return out, nil
}

// plan fills in the defaults. Its map keeps all features; of the schema it has
// the meaning alone.
func (s Proposal) plan(schema dataset.Schema) Plan {
	p := Plan{
		Name: s.Name, Kind: s.Kind, Purpose: s.Purpose, Contact: s.Contact, Data: s.Data,
		Schema: schema.Meaning(), Map: dataset.Identity(schema), Roster: s.Roster, Records: cmp.Or(s.Records, RecordsPerParty),
		Unit: s.Unit, Epsilon: s.Epsilon, Mechanism: s.Mechanism, Noise: s.Noise, Bound: s.Bound,
		Shards: s.Shards, Lambda: s.Lambda, Learner: s.Learner, Tilt: s.Tilt,
		Minimum: s.Minimum, Deadline: s.Deadline.UTC().Truncate(time.Second), Readers: s.Readers, Seed: s.Seed,
	}
	if p.Kind == "" {
		p.Kind = "classify"
	}
	if p.Kind == "ratio" {
		s.Ratio.complete(&p)
	}
	if p.Kind == "labels" {
		s.labels(&p)
	}
	p.Weights = s.Weights
	if p.Kind == "reweigh" {
		p.Reweigh, p.Mechanism = s.Reweigh, cmp.Or(p.Mechanism, "entropy")
	}
	if p.Unit == 0 {
		p.Unit = privacy.Record
	}
	if p.Epsilon == 0 {
		p.Epsilon = 1
	}
	if p.Mechanism == "" {
		p.Mechanism = DefaultMechanism(p.Unit)
	}
	if p.Noise == "" {
		p.Noise = DefaultNoise(p.Unit)
	}
	if p.Shards == 0 {
		p.Shards = 1
	}
	if p.Minimum == 0 {
		p.Minimum = max(2, (3*len(p.Roster)+3)/4)
	}
	if s.Delta != nil {
		p.Delta = *s.Delta
	} else if p.Kind == "labels" || p.Kind == "reweigh" {
		p.Delta = 0 // pure ε
	} else {
		p.Delta = DefaultDelta(p.Units())
	}
	return p
}

// labels fills in the defaults of a labels study.
func (s Proposal) labels(p *Plan) {
	t := DefaultLabelTerms()
	if s.Labels != nil {
		t.Loss, t.Risk = cmp.Or(s.Labels.Loss, t.Loss), cmp.Or(s.Labels.Risk, t.Risk)
		t.Correction = cmp.Or(s.Labels.Correction, DefaultCorrection(t.Loss, len(p.Schema.Label.Classes)))
		t.MaxRecords = cmp.Or(s.Labels.MaxRecords, t.MaxRecords)
	}
	p.Labels = &t
	p.Unit = cmp.Or(p.Unit, privacy.Label)
	p.Mechanism, p.Noise = cmp.Or(p.Mechanism, "rr"), cmp.Or(p.Noise, NoiseSite)
}

// MostDelta is the largest δ that says anything about so many units: at it a
// mechanism that publishes units outright would publish one in ten studies.
func MostDelta(units int) float64 { return 1 / (10 * float64(max(units, 1))) }

// DefaultDelta is far below one over the number of units.
func DefaultDelta(units int) float64 { return min(1e-6, MostDelta(units)) }
