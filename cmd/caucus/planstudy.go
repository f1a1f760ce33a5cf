package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// planCommand holds the flags of plan.
type planCommand struct {
	study.Proposal
	reading                  reading
	sites, records, features int
	schema, pool, unit, out  string
	delta                    float64
}

// planned is the JSON document of plan.
type planned struct {
	Sites     int             `json:"sites"`
	Records   int             `json:"records"` // of each site
	Features  int             `json:"features"`
	Unit      privacy.Unit    `json:"unit"`
	Epsilon   float64         `json:"epsilon"`
	Delta     float64         `json:"delta"`
	Mechanism string          `json:"mechanism"`
	Noise     string          `json:"noise"`
	MadeUp    bool            `json:"features_made_up,omitempty"` // no pool was given
	Forecast  *study.Forecast `json:"forecast"`
	Curves    []planCurve     `json:"curves"`
}

// planCurve is a forecast against one thing, with all else as planned.
type planCurve struct {
	Against string      `json:"against"` // epsilon, sites or records
	Points  []planPoint `json:"points"`
}

type planPoint struct {
	At       float64    `json:"at"`
	Released study.Line `json:"released"`
	Pooled   study.Line `json:"pooled"`
	Alone    study.Line `json:"alone"`
	Majority float64    `json:"majority"`
}

func newPlan(c *console) *cobra.Command {
	p := planCommand{Proposal: study.Proposal{Name: "plan", Map: dataset.Components{Project: dataset.Auto}}}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Forecast what a study would be worth, beside one site alone; needs no coordinator",
		Long: `Forecast accuracy and AUC of a classifier released by so many sites with so many
records each, beside what one site has alone, all records pooled would give, and
the largest class; and say what ε, sites or records it would take to help. All
of it is from public inputs: no record is read.

A study helps many small parties, rare classes and sites without labels. A dozen
sites with thousands of records each and common classes mostly do as well alone.

Without --schema and --pool the features are made up: so many numbers, lightly
correlated. docs/forecast.md says what a forecast leaves out and how often it was
right.`,
		Example: `  caucus plan --sites 5 --records 5400 --classes .73,.27 --features 12
  caucus plan --sites 300 --records 24 --unit party --auc .8 --out plan.html
  caucus plan --sites 12 --records 2000 --schema schema.yaml --pool pool.csv --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return refused(cmd, p.run(cmd, c)) },
	}
	f := cmd.Flags()
	f.IntVar(&p.sites, "sites", 0, "how many sites, or parties, take part")
	f.IntVar(&p.records, "records", study.RecordsPerParty, "records that each of them has")
	f.Float64SliceVar(&p.Shares, "classes", nil, "the classes' public shares, as .73,.27 (default two classes of .75 and .25)")
	reachedFlags(f, &p.Proposal)
	f.IntVar(&p.features, "features", 0, "how many features, where no schema is given (default 12)")
	f.StringVar(&p.schema, "schema", "", "schema file, with --pool")
	f.StringVar(&p.pool, "pool", "", "file of the public pool, with --schema")
	reads(f, "schema", "pool")
	p.reading.flags(f)
	componentsFlags(f, &p.Map)
	f.StringVar(&p.unit, "unit", "record", "what the guarantee hides: party, record or label")
	f.Float64Var(&p.Epsilon, "epsilon", 1, "privacy budget ε")
	f.Float64Var(&p.delta, "delta", 0, "privacy budget δ (default min(1e-6, 1/(10·units)))")
	f.StringVar(&p.Mechanism, "mechanism", "", "default: tally at unit party, else cross")
	f.StringVar(&p.Noise, "noise", "", "site, coordinator or aggregators (default: coordinator at unit party, else site)")
	f.IntVar(&p.Shards, "shards", 0, "classifiers a site trains on disjoint shards of its records")
	f.StringVar(&p.out, "out", "", "also draw it, into this file: .html or .svg")
	writes(f, "out", ".html", ".svg")
	return cmd
}

// Planning takes at most so many parties and records of each: as many as a search for
// what it would take looks at.
var mostPlanned = study.MostNeeded

func (p *planCommand) run(cmd *cobra.Command, c *console) error {
	f := cmd.Flags()
	switch {
	case p.sites < 1 || p.sites > mostPlanned.Parties:
		return usagef("--sites %d: say how many sites take part, 1 to %d", p.sites, mostPlanned.Parties)
	case p.records < 1 || p.records > mostPlanned.Records:
		return usagef("--records %d: say how many records each site has, 1 to %d", p.records, mostPlanned.Records)
	case (p.schema == "") != (p.pool == ""):
		return usagef("--schema and --pool go together: one says what the columns of the other mean")
	case p.schema != "" && f.Changed("features"):
		return usagef("--features is for plans without a schema: the schema says how many there are")
	case p.schema == "" && f.Changed("features") && (p.features < 1 || p.features > mostMadeUp):
		return usagef("--features %d: 1 to %d can be made up", p.features, mostMadeUp)
	case p.schema == "" && len(p.Shares) == 1:
		return usagef("--classes %g: give the share of each class, of two at least, as .73,.27", p.Shares[0])
	case p.Epsilon == 0:
		return errZeroEpsilonFlag
	}
	unit, err := unitOf(p.unit)
	if err != nil {
		return err
	}
	p.Unit = unit
	if f.Changed("delta") {
		p.Delta = &p.delta
	}
	for i := range p.sites {
		p.Roster = append(p.Roster, study.PartyID(fmt.Sprintf("site-%d", i+1)))
	}
	p.Proposal.Records, p.Minimum = p.records, p.sites
	schema, pool, err := p.public(c)
	if err != nil {
		return err
	}
	if p.schema == "" && !f.Changed("project") {
		p.Map.Project = 0 // made-up features are what is kept
	}
	made, err := kinds.Propose(p.Proposal, schema, pool)
	if err != nil {
		return err
	}
	task, err := kinds.NewTask(made.Plan, made.Pool)
	if err != nil {
		return err
	}
	if _, err := study.ForecastOf(task, made.Size); errors.Is(err, study.ErrNoForecast) {
		return usagef("--mechanism %s: %w: choose tally, means, moment or cross", made.Plan.Mechanism, err)
	} else if err != nil {
		return usagef("--epsilon %g: no forecast can be made: %w", made.Plan.Epsilon, err)
	}
	if all := made.Pool.Dim() - 1; int(p.Map.Project) > all {
		c.note("note: --project %d: there are no more than %s, and all are kept", p.Map.Project, counted(all, "components"))
	}
	doc := planned{
		Sites: p.sites, Records: p.records, Features: made.Pool.Dim() - 1, Unit: made.Plan.Unit, Epsilon: made.Plan.Epsilon, Delta: made.Plan.Delta,
		Mechanism: made.Plan.Mechanism, Noise: made.Plan.Noise, MadeUp: p.schema == "", Forecast: made.Forecast,
	}
	if doc.Curves, err = planCurves(task, p.sites, p.records); err != nil {
		return err
	}
	if p.out != "" {
		if err := c.writePlanDrawing(p.out, doc); err != nil {
			return err
		}
	}
	return c.print(doc, func(w io.Writer) error {
		if _, err := fmt.Fprintf(w, "plan       %s, %s\nguarantee  unit %s, ε = %g, δ = %.2g; mechanism %s, noise at the %s\n",
			doc.sitesWords(), doc.featureWords(), doc.Unit, doc.Epsilon, doc.Delta, doc.Mechanism, doc.Noise); err != nil {
			return err
		}
		if err := printRemoval(w, task); err != nil {
			return err
		}
		return printForecast(w, doc.Forecast, doc.size(), "--classes says them")
	})
}

func (d planned) size() study.Size { return study.Size{Parties: d.Sites, Records: d.Sites * d.Records} }

func (d planned) sitesWords() string {
	return fmt.Sprintf("%s of %s each", counted(d.Sites, "sites"), counted(d.Records, "records"))
}

func (d planned) featureWords() string {
	if d.MadeUp {
		return counted(d.Features, "features") + ", made up"
	}
	return counted(d.Features, "features") + " of the pool"
}

// public is the schema and the pool, given or made up.
func (p *planCommand) public(c *console) (dataset.Schema, *dataset.Table, error) {
	if p.schema == "" {
		classes := max(2, len(p.Shares))
		features := p.features
		if features == 0 {
			features = defaultMadeUp
		}
		return madeUp(features, classes)
	}
	schema, err := readSchema(p.schema)
	if err != nil {
		return schema, nil, err
	}
	pool, err := p.reading.table(c, p.pool, schema, schema.Format())
	return schema, pool, err
}

const (
	defaultMadeUp = 12
	mostMadeUp    = 200
	madeUpRows    = 1000
	// madeUpShared is how much of each made-up feature's variance is one thing that
	// all have in common, as age is in tables of people.
	madeUpShared = 0.2
)

// madeUp is a schema of so many numbers and a pool of them.
func madeUp(features, classes int) (dataset.Schema, *dataset.Table, error) {
	s := dataset.Schema{Label: dataset.Label{Column: "class"}}
	for k := range classes {
		s.Label.Classes = append(s.Label.Classes, strconv.Itoa(k))
	}
	var columns []string
	for j := range features {
		columns = append(columns, fmt.Sprintf("x%d", j+1))
		s.Features = append(s.Features, dataset.Feature{Column: columns[j], Kind: dataset.Numeric, Min: -3, Max: 3})
	}
	rng := rand.New(rand.NewPCG(1, 1)) // the same for everybody
	rows := make([][]string, madeUpRows)
	for i := range rows {
		common := rng.NormFloat64() * math.Sqrt(madeUpShared)
		for range features {
			v := common + rng.NormFloat64()*math.Sqrt(1-madeUpShared)
			rows[i] = append(rows[i], strconv.FormatFloat(v, 'f', 3, 64))
		}
	}
	t, err := dataset.NewTable(columns, rows)
	return s, t, err
}

// What a plan is drawn against.
var (
	planEpsilons = []float64{.03, .05, .1, .2, .3, .5, 1, 2, 3, 5, 10}
	planSites    = []float64{1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000}
	planRecords  = []float64{10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10000}
)

// planCurves forecasts the plan with another ε, number of sites or of records.
func planCurves(t study.Task, sites, records int) (out []planCurve, err error) {
	o, err := study.OutlookOf(t)
	if err != nil {
		return nil, err
	}
	epsilon := t.Plan().Epsilon
	for _, against := range []struct {
		name string
		at   []float64
		own  float64
		size func(v float64) (float64, int, int)
	}{
		{"epsilon", planEpsilons, epsilon, func(v float64) (float64, int, int) { return v, sites, records }},
		{"sites", planSites, float64(sites), func(v float64) (float64, int, int) { return epsilon, int(v), records }},
		{"records", planRecords, float64(records), func(v float64) (float64, int, int) { return epsilon, sites, int(v) }},
	} {
		curve := planCurve{Against: against.name}
		at := append(slices.Clone(against.at), against.own)
		slices.Sort(at)
		for _, v := range slices.Compact(at) {
			epsilon, sites, records := against.size(v)
			f, err := o.At(epsilon, study.Size{Parties: sites, Records: sites * records})
			if err != nil {
				return nil, err
			}
			curve.Points = append(curve.Points, planPoint{v, f.Released, f.Pooled, f.Alone, f.Majority})
		}
		out = append(out, curve)
	}
	return out, nil
}

// writePlanDrawing writes a picture where the name ends in .svg, else a page.
func (c *console) writePlanDrawing(name string, doc planned) error {
	if !strings.EqualFold(filepath.Ext(name), ".svg") {
		return c.write(name, func(w io.Writer) error { return writePlanPage(w, doc) })
	}
	var b strings.Builder
	drawPlan(&b, doc)
	return c.writeText(name, []byte(b.String()))
}
