package main

import (
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
	"caucus/study/classify"
	"caucus/study/forecast"
	"caucus/study/kinds"
)

// forecastCommand holds the flags of forecast.
type forecastCommand struct {
	study.Proposal
	terms                           classify.Terms
	reading                         reading
	sites, records, features, draws int
	schema, pool, unit, out         string
	sweep                           []string
	delta                           float64
}

// forecastDocument is the JSON document of forecast.
type forecastDocument struct {
	Sites     int                `json:"sites"`
	Records   int                `json:"records"` // of each site
	Features  int                `json:"features"`
	Unit      privacy.Unit       `json:"unit"`
	Epsilon   float64            `json:"epsilon"`
	Delta     float64            `json:"delta"`
	Mechanism string             `json:"mechanism"`
	Noise     string             `json:"noise"`
	MadeUp    bool               `json:"features_made_up,omitempty"` // no pool was given
	Forecast  *forecast.Forecast `json:"forecast"`
	Curves    []forecastCurve    `json:"curves,omitempty"`
}

// forecastCurve is a forecast against one thing, with all else as planned.
type forecastCurve struct {
	Against string          `json:"against"` // epsilon, sites or records
	Points  []forecastPoint `json:"points"`
}

type forecastPoint struct {
	At float64 `json:"at"`
	*forecast.Forecast
}

func newForecast(c *console) *cobra.Command {
	p := forecastCommand{Proposal: study.Proposal{Name: "forecast", Map: dataset.Components{Project: dataset.Auto}}}
	cmd := &cobra.Command{
		Use:   "forecast",
		Short: "Forecast what a classify study would be worth, beside one site alone; needs no coordinator",
		Long: `Forecast accuracy and AUC of a classifier released by so many sites with so many
records each, beside what one site has alone, all records pooled would give, and
the largest class. The forecast draws made-up records whose classes features
separate to a known AUC, runs the study on these records, and does so --draws
times. All of it is from public inputs: no record of anybody is read.

A study helps many small parties, rare classes and sites without labels. A dozen
sites with thousands of records each and common classes mostly do as well alone.

Without --schema and --pool the features are made up: so many numbers, lightly
correlated. docs/forecast.md says what a forecast leaves out and how often it was
right.`,
		Example: `  caucus forecast --sites 5 --records 5400 --classes .73,.27 --features 12
  caucus forecast --sites 300 --records 24 --unit party --auc .8 --sweep epsilon --out forecast.html
  caucus forecast --sites 12 --records 2000 --schema schema.yaml --pool pool.csv --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return refused(cmd, p.run(cmd, c)) },
	}
	f := cmd.Flags()
	f.IntVar(&p.sites, "sites", 0, "how many sites, or parties, take part")
	f.IntVar(&p.records, "records", study.RecordsPerParty, "records that each of them has")
	f.Float64SliceVar(&p.terms.ClassShares, "classes", nil, "the classes' public shares, as .73,.27 (default two classes of .75 and .25)")
	forecastFlags(f, &p.Proposal, &p.draws)
	f.StringSliceVar(&p.sweep, "sweep", nil, "also forecast other values of epsilon, sites, records, or several of these")
	f.IntVar(&p.features, "features", 0, "how many features, where no schema is given (default 12)")
	f.StringVar(&p.schema, "schema", "", "schema file, with --pool")
	f.StringVar(&p.pool, "pool", "", "file of the public pool, with --schema")
	reads(f, "schema", "pool")
	p.reading.flags(f)
	componentsFlags(f, &p.Map)
	f.StringVar(&p.unit, "unit", "record", "what the guarantee hides: party or record")
	f.Float64Var(&p.Epsilon, "epsilon", 1, "privacy budget ε")
	f.Float64Var(&p.delta, "delta", 0, "privacy budget δ (default min(1e-6, 1/(10·units)))")
	f.StringVar(&p.Mechanism, "mechanism", "", "default: tally at unit party, else cross")
	f.StringVar(&p.Noise, "noise", "", "site, coordinator or aggregators (default: coordinator at unit party, else site)")
	f.IntVar(&p.terms.Shards, "shards", 0, "classifiers a site trains on disjoint shards of its records")
	f.StringVar(&p.out, "out", "", "also write the forecast as a page (.html), or what --sweep found as a picture (.svg)")
	writes(f, "out", ".html", ".svg")
	return cmd
}

// A forecast takes at most so many sites and records of each.
const (
	mostSites       = 10_000
	mostSiteRecords = 1_000_000
	mostDraws       = 10_000
)

func (p *forecastCommand) run(cmd *cobra.Command, c *console) error {
	f := cmd.Flags()
	switch {
	case p.sites < 1 || p.sites > mostSites:
		return usagef("--sites %d: say how many sites take part, 1 to %d", p.sites, mostSites)
	case p.records < 1 || p.records > mostSiteRecords:
		return usagef("--records %d: say how many records each site has, 1 to %d", p.records, mostSiteRecords)
	case p.draws < 1 || p.draws > mostDraws:
		return usagef("--draws %d: give 1 to %d", p.draws, mostDraws)
	case (p.schema == "") != (p.pool == ""):
		return usagef("--schema and --pool go together: one says what the columns of the other mean")
	case p.schema != "" && f.Changed("features"):
		return usagef("--features is for forecasts without a schema: the schema says how many there are")
	case p.schema == "" && f.Changed("features") && (p.features < 1 || p.features > mostMadeUp):
		return usagef("--features %d: 1 to %d can be made up", p.features, mostMadeUp)
	case p.schema == "" && len(p.terms.ClassShares) == 1:
		return usagef("--classes %g: give the share of each class, of two at least, as .73,.27", p.terms.ClassShares[0])
	case p.Epsilon == 0:
		return errZeroEpsilonFlag
	case strings.EqualFold(filepath.Ext(p.out), ".svg") && len(p.sweep) == 0:
		return usagef("--out %s: a picture shows a sweep: give --sweep, or a name that ends in .html", p.out)
	}
	for _, against := range p.sweep {
		if forecastSweeps[against] == nil {
			return usagef("--sweep %s: give epsilon, sites or records, or several of these", against)
		}
	}
	unit, err := unitOf(p.unit)
	if err != nil {
		return err
	}
	p.Unit = unit
	if f.Changed("delta") {
		p.Delta = &p.delta
	}
	schema, pool, err := p.public(c)
	if err != nil {
		return err
	}
	if p.schema == "" && !f.Changed("project") {
		p.Map.Project = 0 // made-up features are what is kept
	}
	all := 1
	for _, against := range p.sweep {
		all += len(p.swept(against))
	}
	bar := newProgress(c)
	defer bar.stop()
	done := 0
	draw := func(epsilon float64, sites, records int) (kinds.Proposed, *forecast.Forecast, error) {
		s := p.Proposal
		s.Epsilon, s.Records, s.Minimum, s.Roster = epsilon, records, sites, nil
		for i := range sites {
			s.Roster = append(s.Roster, study.PartyID(fmt.Sprintf("site-%d", i+1)))
		}
		made, err := kinds.Proposed{}, error(nil)
		if s.KindTerms, err = study.EncodeTerms(p.terms); err == nil {
			made, err = kinds.Propose(s, schema, pool)
		}
		if err != nil {
			return made, nil, err
		}
		made.Size = study.Size{Parties: sites, Records: sites * records}
		drawn, err := forecast.Draw(cmd.Context(), made.Plan, made.Pool, forecast.Public{Size: made.Size, AUC: s.AUC},
			forecast.Options{Draws: drawsOf(f, p.draws), Progress: func(i, of int) { bar.set(done*of+i, all*of) }})
		done++
		return made, drawn, err
	}
	made, drawn, err := draw(p.Epsilon, p.sites, p.records)
	if err != nil {
		return err
	}
	if all := made.Pool.Dim() - 1; int(p.Map.Project) > all {
		c.note("note: --project %d: there are no more than %s, and all are kept", p.Map.Project, counted(all, "components"))
	}
	doc := forecastDocument{
		Sites: p.sites, Records: p.records, Features: made.Pool.Dim() - 1, Unit: made.Plan.Unit, Epsilon: made.Plan.Epsilon, Delta: made.Plan.Delta,
		Mechanism: made.Plan.Mechanism, Noise: made.Plan.Noise, MadeUp: p.schema == "", Forecast: drawn,
	}
	for _, against := range p.sweep {
		curve := forecastCurve{Against: against}
		for _, v := range p.swept(against) {
			epsilon, sites, records := p.Epsilon, p.sites, p.records
			switch against {
			case "epsilon":
				epsilon = v
			case "sites":
				sites = int(v)
			case "records":
				records = int(v)
			}
			_, drawn, err := draw(epsilon, sites, records)
			if err != nil {
				return err
			}
			curve.Points = append(curve.Points, forecastPoint{v, drawn})
		}
		doc.Curves = append(doc.Curves, curve)
	}
	bar.stop()
	if p.out != "" {
		if err := c.writeForecastDrawing(p.out, doc); err != nil {
			return err
		}
	}
	return c.print(doc, func(w io.Writer) error {
		if _, err := fmt.Fprintf(w, "plan       %s, %s\nguarantee  unit %s, ε = %g, δ = %.2g; mechanism %s, noise at the %s\n",
			doc.sitesWords(), doc.featureWords(), doc.Unit, doc.Epsilon, doc.Delta, doc.Mechanism, doc.Noise); err != nil {
			return err
		}
		task, err := kinds.NewTask(made.Plan, made.Pool)
		if err != nil {
			return err
		}
		if err := printRemoval(w, task); err != nil {
			return err
		}
		if err := printForecast(w, doc.Forecast, "--classes says them"); err != nil {
			return err
		}
		for _, curve := range doc.Curves {
			if err := curve.print(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// print writes a curve as a table.
func (curve forecastCurve) print(w io.Writer) error {
	t := newTable(w, curve.Against, "released", "alone", "pooled", "AUC released", "alone", "pooled", "helps")
	for _, p := range curve.Points {
		three := func(d forecast.Drawn) string { return fmt.Sprintf("%.3f", d.Mean) }
		t.add(fmt.Sprint(p.At), three(p.Released.Accuracy), three(p.Alone.Accuracy), three(p.Pooled.Accuracy), three(p.Released.AUC), three(p.Alone.AUC), three(p.Pooled.AUC), string(p.Helps))
	}
	return t.render()
}

func (d forecastDocument) sitesWords() string {
	return fmt.Sprintf("%s of %s each", counted(d.Sites, "sites"), counted(d.Records, "records"))
}

func (d forecastDocument) featureWords() string {
	if d.MadeUp {
		return counted(d.Features, "features") + ", made up"
	}
	return counted(d.Features, "features") + " of the pool"
}

// public is the schema and the pool, given or made up.
func (p *forecastCommand) public(c *console) (dataset.Schema, *dataset.Table, error) {
	if p.schema == "" {
		classes := max(2, len(p.terms.ClassShares))
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

// forecastSweeps are the values that a sweep looks at, beside the plan's own.
var forecastSweeps = map[string][]float64{
	"epsilon": {.1, .3, 1, 3, 10}, "sites": {3, 10, 30, 100, 300, 1000}, "records": {20, 60, 200, 600, 2000},
}

// swept are the values that this forecast looks at.
func (p *forecastCommand) swept(against string) []float64 {
	own := map[string]float64{"epsilon": p.Epsilon, "sites": float64(p.sites), "records": float64(p.records)}[against]
	at := append(slices.Clone(forecastSweeps[against]), own)
	slices.Sort(at)
	return slices.Compact(at)
}

// writeForecastDrawing writes a picture where the name ends in .svg, else a page.
func (c *console) writeForecastDrawing(name string, doc forecastDocument) error {
	if !strings.EqualFold(filepath.Ext(name), ".svg") {
		return c.write(name, func(w io.Writer) error { return writeForecastPage(w, doc) })
	}
	var b strings.Builder
	drawForecast(&b, doc)
	return c.writeText(name, []byte(b.String()))
}
