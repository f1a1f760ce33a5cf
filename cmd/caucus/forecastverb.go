package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"caucus/agent/source"
	"caucus/analyst/forecast"
	"caucus/analyst/report"
	"caucus/analyst/terms"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/labels/learned"
	"caucus/study/stated"
)

type forecastCommand struct {
	*console.Console
	terms.Study
	reading                  input.ReadOptions
	features, classes, draws int
	out                      string
	sweep                    []string
}

type forecastDocument struct {
	Kind      string             `json:"kind"`
	Parties   int                `json:"parties"`
	Records   int                `json:"records"` // records of each party
	Features  int                `json:"features"`
	Columns   string             `json:"-"` // the schema's columns, in words
	Unit      privacy.Unit       `json:"unit"`
	Epsilon   float64            `json:"epsilon"`
	Delta     float64            `json:"delta"`
	Mechanism string             `json:"mechanism"`
	Noise     study.Noise        `json:"noise"`
	MadeUp    bool               `json:"features_made_up,omitempty"` // true if no pool was given
	Forecast  *forecast.Forecast `json:"forecast,omitempty"`         // only for classify
	// ShareError and NoiseWords forecast the effect of noise for kinds without a Forecast.
	ShareError float64             `json:"share_error,omitempty"`
	NoiseWords string              `json:"noise_forecast,omitempty"`
	Labels     *learned.LabelGuide `json:"labels,omitempty"` // only for labels
	Warning    string              `json:"warning,omitempty"`
	Curves     []forecastCurve     `json:"curves,omitempty"`
}

// forecastCurve varies one of ε, parties and records. The other two are the plan's.
type forecastCurve struct {
	Against string          `json:"against"` // epsilon, parties or records
	Points  []forecastPoint `json:"points"`
}

type forecastPoint struct {
	At float64 `json:"at"`
	*forecast.Forecast
}

func newForecast(c *console.Console) *cobra.Command {
	var t termFlags
	p := forecastCommand{Console: c}
	cmd := &cobra.Command{
		Use:   "forecast [KIND] [STUDY.yaml]",
		Short: "Forecast whether a study would help, beside one party alone; needs no coordinator",
		Long: `Forecast how accurate a released classifier would be, beside one party alone, all
records pooled, and always naming the largest class. Say how many parties there are,
and how many records each has.

The forecast makes up records whose features separate the classes to a given AUC, runs
the study on these records, and repeats both --draws times. It uses public inputs
only, and reads nobody's records. For describe, evaluate and ratio, it says how far
noise moves each number; for labels, how many labels are needed; for reweigh, nothing.

A study helps many small parties, and parties without labels. A dozen parties with
thousands of records each are mostly as good alone, even for rare classes.

Without a schema and a pool, the features are made up too: numbers with a slight
correlation. docs/forecast.md says what a forecast ignores and how often forecasts
were right.`,
		Example: `  caucus forecast readmission.yaml --parties 12
  caucus forecast --parties 200 --records 100 --unit party --auc .8 --class-shares .5,.5
  caucus forecast --parties 300 --records 24 --unit party --auc .8 --class-shares .5,.5 --sweep epsilon --out forecast.html
  caucus forecast labels --parties 10 --records 100 --epsilon 0.5
  caucus forecast describe --parties 12 --records 2000 --schema schema.yaml --pool pool.csv --json`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if p.Study, err = t.read(c, cmd, args); err != nil {
			return err
		}
		return refused(cmd, p.run(cmd))
	}
	t.add(cmd, "parties", "records", "unit", "epsilon", "delta", "noise", "mechanism", "learner",
		"schema", "pool", "class_shares", "auc", "seed")
	f := cmd.Flags()
	drawsFlag(f, &p.draws)
	f.StringSliceVar(&p.sweep, "sweep", nil, "also forecast other values of epsilon, parties, records, or several of these")
	f.IntVar(&p.features, "features", 0, "number of features, if no schema is given (default 12)")
	f.IntVar(&p.classes, "classes", 0, "number of classes, if no schema is given (default 2, or those of --class-shares)")
	p.reading.Flags(f)
	f.StringVar(&p.out, "out", "", "also write the forecast as a page (.html), or the --sweep as a picture (.svg)")
	console.MarkOutput(f, "out", ".html", ".svg")
	return cmd
}

// Bounds on the parties of a forecast and on each party's records.
const (
	mostParties      = forecast.MostParties
	mostPartyRecords = 1_000_000
	mostDraws        = stated.MaxDraws
)

func (fc *forecastCommand) run(cmd *cobra.Command) error {
	f := cmd.Flags()
	if fc.Parties = cmp.Or(fc.Parties, len(fc.Roster)); fc.Records == 0 && !fc.HasTerm("records") {
		fc.Records = study.RecordsPerParty
	}
	switch {
	case fc.Parties == 0 && !fc.HasTerm("parties"):
		return console.Usagef("say how many parties take part: give --parties, or parties or a roster of names in the study file")
	case fc.Parties < 1 || fc.Parties > mostParties:
		return console.Usagef("--parties %d: say how many parties take part, 1 to %d", fc.Parties, mostParties)
	case fc.Records < 1 || fc.Records > mostPartyRecords:
		return console.Usagef("--records %d: say how many records each party has, 1 to %d", fc.Records, mostPartyRecords)
	case fc.draws < 1 || fc.draws > mostDraws:
		return console.Usagef("--draws %d: give 1 to %d", fc.draws, mostDraws)
	case (fc.Schema == "") != (fc.Pool == ""):
		return console.Usagef("--schema and --pool go together: one says what the columns of the other mean")
	case fc.Schema != "" && f.Changed("features"):
		return console.Usagef("--features is for forecasts without a schema: the schema says how many there are")
	case fc.Schema != "" && f.Changed("classes"):
		return console.Usagef("--classes is for forecasts without a schema: the schema names the classes")
	case fc.Schema == "" && f.Changed("classes") && (fc.classes < 2 || fc.classes > mostMadeUp):
		return console.Usagef("--classes %d: give 2 to %d", fc.classes, mostMadeUp)
	case fc.Schema == "" && f.Changed("features") && (fc.features < 1 || fc.features > mostMadeUp):
		return console.Usagef("--features %d: 1 to %d can be made up", fc.features, mostMadeUp)
	case strings.EqualFold(filepath.Ext(fc.out), ".svg") && len(fc.sweep) == 0:
		return console.Usagef("--out %s: a picture shows a sweep: give --sweep, or a name that ends in .html", fc.out)
	case fc.Kind != kinds.Default && (len(fc.sweep) > 0 || fc.out != ""):
		return console.Usagef("--sweep and --out show what a classifier is worth, and this is a %s study: leave them out", fc.Kind)
	}
	for _, against := range fc.sweep {
		if forecastSweeps[against] == nil {
			return console.Usagef("--sweep %s: give epsilon, parties or records, or several of these", against)
		}
	}
	fc.Name, fc.Epsilon = cmp.Or(fc.Name, "forecast"), cmp.Or(fc.Epsilon, 1)
	schema, pool, err := fc.public()
	if err != nil {
		return err
	}
	if err := readNamed(&fc.Study, schema, pool, false); err != nil {
		return err
	}
	if fc.Schema == "" && !fc.HasTerm("map.project") {
		fc.Map.Project = 0 // 0 keeps all made-up features
	}
	all := 1
	for _, against := range fc.sweep {
		all += len(fc.swept(against))
	}
	bar := console.NewProgress(fc.Console)
	defer bar.Stop()
	done := 0
	draw := func(epsilon float64, parties, records int) (planning.PreparedPlan, *forecast.Forecast,
		error) {
		s := fc.Proposal
		s.Epsilon, s.Records, s.Roster = epsilon, records, nil
		if parties != fc.Parties || !fc.HasTerm("minimum") {
			s.Minimum, s.Floor = parties, 0
		}
		for i := range parties {
			s.Roster = append(s.Roster, study.PartyID(fmt.Sprintf("party-%d", i+1)))
		}
		made, err := planning.ProposePlan(s, schema, pool)
		if err != nil || fc.Kind != kinds.Default {
			return made, nil, err
		}
		made.Size = study.Size{Parties: parties, Records: parties * records}
		drawn, err := forecast.DrawForecast(cmd.Context(), made.Plan, made.Pool,
			forecast.PublicInputs{Size: made.Size, AUC: s.AUC},
			forecast.Options{Draws: drawsOf(f, fc.draws), Coefficients: done == 0 &&
				fc.Schema != "",
				Progress: func(i, of int) {
					bar.Set(done*of+i, all*of)
				}})
		done++
		return made, drawn, err
	}
	made, drawn, err := draw(fc.Epsilon, fc.Parties, fc.Records)
	if err != nil {
		return err
	}
	if all := made.Pool.Dim() - 1; int(fc.Map.Project) > all {
		fc.Note("note: map.project %d: there are no more than %s, and all are kept", fc.Map.Project, console.Counted(all, "components"))
	}
	doc := forecastDocument{
		Kind: fc.Kind, Parties: fc.Parties, Records: fc.Records, Features: made.Pool.Dim() - 1, Columns: columnWords(made.Plan), Unit: made.Plan.Unit, Epsilon: made.Plan.Epsilon, Delta: made.Plan.Delta,
		Mechanism: made.Plan.Mechanism, Noise: made.Plan.Noise, MadeUp: fc.Schema == "", Forecast: drawn,
		ShareError: made.ShareSD, NoiseWords: made.Noise, Warning: made.Warning,
	}
	if fc.Kind == "labels" {
		guide, err := learned.NewLabelGuide(fc.Parties*fc.Records, len(schema.Classes()),
			made.Plan.Epsilon)
		if err != nil {
			return console.Usagef("%w", err)
		}
		doc.Labels = &guide
	}
	for _, against := range fc.sweep {
		curve := forecastCurve{Against: against}
		for _, v := range fc.swept(against) {
			at := map[string]float64{"epsilon": fc.Epsilon, "parties": float64(fc.Parties),
				"records": float64(fc.Records)}
			at[against] = v
			_, drawn, err := draw(at["epsilon"], int(at["parties"]), int(at["records"]))
			if err != nil {
				return err
			}
			curve.Points = append(curve.Points, forecastPoint{v, drawn})
		}
		doc.Curves = append(doc.Curves, curve)
	}
	bar.Stop()
	if fc.out != "" {
		if err := writeForecastDrawing(fc.Console, fc.out, doc); err != nil {
			return err
		}
	}
	costs := ""
	if !fc.JSON {
		if costs, err = costWords(made.Plan, made.Pool); err != nil {
			return err
		}
	}
	return fc.Print(doc, func(w io.Writer) {
		printForecasts(w, doc.Forecast, doc.ShareError, doc.NoiseWords)
		if doc.Warning != "" {
			fmt.Fprintf(w, "warning    %s\n", doc.Warning)
		}
		fmt.Fprintf(w, "plan       %s, %s\nguarantee  unit %s, ε = %g, δ = %.2g; mechanism %s, noise added by %s\n",
			doc.sizeWords(), doc.featureWords(), doc.Unit, doc.Epsilon, doc.Delta, doc.Mechanism,
			doc.Noise.Trust().By)
		fmt.Fprint(w, costs)
		if doc.Labels != nil {
			writeLabelGuide(w, *doc.Labels)
			return
		}
		for _, curve := range doc.Curves {
			curve.table(w)
		}
		if len(doc.Curves) > 0 {
			fmt.Fprintln(w, sweepWords)
		}
	})
}

func (f forecastCurve) table(w io.Writer) {
	t := console.NewTable(w, f.Against, "released", "one party alone", "all records pooled",
		"AUC released", "AUC one party alone", "AUC all records pooled", "helps")
	for _, p := range f.Points {
		three := func(d stated.DrawSummary) string { return fmt.Sprintf("%.3f", d.Mean) }
		t.Add(fmt.Sprint(p.At), three(p.Released.Accuracy), three(p.Alone.Accuracy),
			three(p.Pooled.Accuracy), three(p.Released.AUC), three(p.Alone.AUC),
			three(p.Pooled.AUC), string(p.Helps))
	}
	t.Render()
}

func (f forecastDocument) sizeWords() string {
	return fmt.Sprintf("%s of %s each", console.Counted(f.Parties, "parties"),
		console.Counted(f.Records, "records"))
}

// sweepWords warns how exact the numbers of a sweep are.
var sweepWords = fmt.Sprintf("All records pooled means at most %d of them, or as many as a party has. Each number is a mean over few simulations (--draws), so small differences are chance.", forecast.MaxPooledRecords)

func (f forecastDocument) featureWords() string {
	if f.MadeUp {
		return console.Counted(f.Features, "features") + ", made up"
	}
	return f.Columns
}

// public returns the schema and the pool, either given or made up.
func (fc *forecastCommand) public() (dataset.Schema, *dataset.Table, error) {
	if fc.Schema == "" {
		classes := max(2, fc.classes)
		if fc.Kind == kinds.Default {
			var own classify.Terms
			if err := fc.DecodeTerms(&own); err != nil {
				return dataset.Schema{}, nil, err
			}
			classes = max(classes, len(own.ClassShares))
		}
		return madeUp(cmp.Or(fc.features, defaultMadeUp), classes)
	}
	schema, err := source.ReadSchema(fc.Schema)
	if err != nil {
		return schema, nil, err
	}
	pool, err := fc.reading.Table(fc.Console, fc.Pool, schema, schema.Format())
	return schema, pool, err
}

const (
	defaultMadeUp = 12
	mostMadeUp    = 200
	madeUpRows    = 1000
	// madeUpShared is the share of a made-up feature's variance that comes from one number that all
	// features of a record share, because in real records age influences many features.
	madeUpShared = 0.2
)

// madeUp makes a schema of numeric features, and a pool with this schema.
func madeUp(features, classes int) (dataset.Schema, *dataset.Table, error) {
	s := dataset.Schema{Label: dataset.Label{Column: "class"}}
	for k := range classes {
		s.Label.Classes = append(s.Label.Classes, strconv.Itoa(k))
	}
	var columns []string
	for j := range features {
		columns = append(columns, fmt.Sprintf("x%d", j+1))
		s.Features = append(s.Features,
			dataset.Feature{Column: columns[j], Kind: dataset.Numeric, Min: -3, Max: 3})
	}
	rng := rand.New(rand.NewPCG(1, 1)) // fixed, so that everybody gets the same pool
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

// forecastSweeps holds the values that a sweep tries in addition to the plan's own.
var forecastSweeps = map[string][]float64{
	"epsilon": {.1, .3, 1, 3, 10}, "parties": {3, 10, 30, 100, 300, 1000}, "records": {20, 60, 200, 600, 2000},
}

func (fc *forecastCommand) swept(against string) []float64 {
	own := map[string]float64{"epsilon": fc.Epsilon, "parties": float64(fc.Parties),
		"records": float64(fc.Records)}[against]
	at := append(slices.Clone(forecastSweeps[against]), own)
	slices.Sort(at)
	return slices.Compact(at)
}

func writeForecastDrawing(c *console.Console, name string, doc forecastDocument) error {
	if !strings.EqualFold(filepath.Ext(name), ".svg") {
		return c.Write(name, func(w io.Writer) error { return writeForecastPage(w, doc) })
	}
	return c.WriteText(name, []byte(report.CombineCharts(forecastCharts(doc),
		"What a study would be worth", doc.Forecast.Verdict())))
}
