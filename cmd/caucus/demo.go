package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"caucus/agent"
	"caucus/coordinator"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
)

// demo holds the flags of demo.
type demo struct {
	*console
	parties int
	epsilon float64
	out     string
	dataDir string
	seed    uint64
}

func newDemo(c *console) *cobra.Command {
	d := &demo{console: c}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run real studies between a coordinator and agents on this machine",
		Long: `Start a coordinator and agents that talk mutual TLS over loopback, enrol the
agents by invitation, run studies from draft to release, and report what they
were worth, what they cost and what they protect.

It uses the adult data set where --data-dir (or CAUCUS_DATA) has it, else
generated hospital data. Everything it starts it stops; only the report stays.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.IntVar(&d.parties, "parties", 50, "number of parties, each with an agent of its own")
	f.Float64Var(&d.epsilon, "epsilon", 1, "privacy budget ε of each study")
	f.StringVar(&d.out, "out", "caucus-demo", "folder for report.html and report.json")
	f.StringVar(&d.dataDir, "data-dir", os.Getenv("CAUCUS_DATA"), "folder of the known data sets (default $CAUCUS_DATA)")
	f.Uint64Var(&d.seed, "seed", 1, "seed of the split and of generated data; never of a release")
	return cmd
}

// demoReport is the JSON document of demo, and what report.html shows.
type demoReport struct {
	Data    string      `json:"data"`
	Real    bool        `json:"real_data"`
	Parties int         `json:"parties"`
	Epsilon float64     `json:"epsilon"`
	Records int         `json:"private_records"`
	Pool    int         `json:"pool_rows"`
	Test    int         `json:"test_records"`
	Studies []demoStudy `json:"studies"`
	// Ledgers are what was spent, at the coordinator and at one agent.
	Ledgers []ledgerDocument `json:"ledgers"`
	Curves  []demoCurve      `json:"curves"`
	Seconds float64          `json:"seconds"`
	Version string           `json:"version"`
	Command string           `json:"command"`
}

// demoStudy is one study that was really run.
type demoStudy struct {
	Name        string              `json:"name"`
	About       string              `json:"about"`
	Kind        string              `json:"kind"`
	Mechanism   string              `json:"mechanism"`
	Unit        privacy.Unit        `json:"unit"`
	Noise       string              `json:"noise"`
	Epsilon     float64             `json:"epsilon"`
	Delta       float64             `json:"delta"`
	Accuracy    float64             `json:"accuracy"`
	Forecast    *study.Forecast     `json:"forecast,omitempty"`
	Contributed []study.PartyID     `json:"contributed"`
	Missing     []study.PartyID     `json:"missing"`
	Plan        study.Hash          `json:"plan"`
	Lambda      float64             `json:"lambda"`
	Warnings    []string            `json:"warnings,omitempty"`
	Seconds     float64             `json:"seconds"`
	Release     string              `json:"release"`
	Costs       []study.ReleaseCost `json:"costs"`
}

// demoCurve is a simulated line of accuracy against ε.
type demoCurve struct {
	Study       string      `json:"study"`
	Points      []demoPoint `json:"points"`
	Unperturbed float64     `json:"unperturbed"`
	Majority    float64     `json:"majority_class"`
	Pooled      float64     `json:"pooled"`
}

type demoPoint struct {
	Epsilon  float64 `json:"epsilon"`
	Accuracy float64 `json:"accuracy"`
	SD       float64 `json:"sd"`
}

// demoStudies are the studies a demo runs, one for each way of classify.
func demoStudies(epsilon float64) []study.Proposal {
	return []study.Proposal{
		{
			Name: "votes", Purpose: "hide every party whole: each agent trains a classifier and sends one vote a pool row; the coordinator adds noise once, on the sum",
			Unit: privacy.Party, Epsilon: epsilon, Mechanism: "tally",
		},
		{
			Name: "sums", Purpose: "hide every record: each agent sends noisy sums of label × features; its noise is added before anything leaves, so nobody else needs to be trusted",
			Unit: privacy.Record, Epsilon: epsilon, Mechanism: "cross",
		},
	}
}

// demoData is the data of a demo, split.
type demoData struct {
	name    string
	real    bool
	schema  dataset.Schema
	pool    *dataset.Table
	test    *dataset.Records
	learn   *dataset.Records // pool and private records, for the simulated curves
	parties []*dataset.Table
	records int
}

// demoRecords bounds the records of a demo, so that it ends within a minute.
const demoRecords = 24_000

func (d *demo) data() (demoData, error) {
	out := demoData{name: "generated hospital data"}
	var table *dataset.Table
	if known, err := dataset.LoadKnown("adult"); err == nil && d.dataDir != "" {
		table, err = known.Load(os.DirFS(d.dataDir), "train")
		if err != nil {
			d.note("note: %v; using generated hospital data", err)
		} else {
			out.name, out.real, out.schema = "adult (UCI, Becker & Kohavi 1996)", true, known.Schema
		}
	}
	if !out.real {
		c := dataset.DefaultHospitalConfig()
		c.Seed, c.Records = d.seed, demoRecords
		table, out.schema = dataset.Hospitals(c)
	}
	// The files written for the agents have a header and commas.
	out.schema.Columns, out.schema.Comment, out.schema.Delimiter = nil, "", ""
	rows := rand.New(rand.NewPCG(d.seed, 2)).Perm(table.Rows())
	rows = rows[:min(len(rows), demoRecords)]
	quarter := len(rows) / 4
	var err error
	if out.test, _, err = out.schema.EncodeLabelled(table.Select(rows[:quarter])); err != nil {
		return out, err
	}
	if out.learn, _, err = out.schema.EncodeLabelled(table.Select(rows[quarter:])); err != nil {
		return out, err
	}
	out.pool = table.Select(rows[quarter : 2*quarter])
	private := rows[2*quarter:]
	out.records = len(private)
	if d.parties > out.records/2 {
		return out, usagef("--parties %d: there are %d private records, give at most half as many parties", d.parties, out.records)
	}
	for i := range d.parties {
		var mine []int
		for j := i; j < len(private); j += d.parties {
			mine = append(mine, private[j])
		}
		out.parties = append(out.parties, table.Select(mine))
	}
	return out, nil
}

func (d *demo) run(ctx context.Context) error {
	start := time.Now()
	if d.parties < 2 {
		return usagef("--parties %d: give at least 2", d.parties)
	}
	if err := (privacy.Budget{Epsilon: d.epsilon, Delta: 1e-6}).Validate(); err != nil {
		return usageError{err}
	}
	data, err := d.data()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.out, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "caucus-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := demoReport{
		Data: data.name, Real: data.real, Parties: d.parties, Epsilon: d.epsilon,
		Records: data.records, Pool: data.pool.Rows(), Test: data.test.Len(), Version: version(),
		Command: fmt.Sprintf("caucus demo --parties %d --epsilon %g --seed %d", d.parties, d.epsilon, d.seed),
	}
	d.note("starting a coordinator and %d agents on %s", d.parties, data.name)
	f, err := found(ctx, dir, data.parties, demoPolicy(d.epsilon))
	if err != nil {
		return err
	}
	err = d.studies(ctx, f, data, &r)
	if err = errors.Join(err, f.close()); err != nil {
		return err
	}
	if err := d.ledgers(ctx, f, &r); err != nil {
		return err
	}
	d.note("simulating other budgets")
	if r.Curves, err = d.curves(ctx, data); err != nil {
		return err
	}
	r.Seconds = time.Since(start).Seconds()
	if err := writeDemoReport(d.out, r); err != nil {
		return err
	}
	return d.print(r, func(w io.Writer) error { return printDemo(w, r, d.out) })
}

// studies runs each study between the daemons and tests its release.
func (d *demo) studies(ctx context.Context, f *federation, data demoData, r *demoReport) error {
	for i, p := range demoStudies(d.epsilon) {
		began := time.Now()
		p.Data, p.Roster, p.Minimum, p.Seed = "records", f.roster, d.parties, d.seed
		p.Map = study.ProposedMap{Project: demoProject}
		p.Deadline = time.Now().Add(time.Hour)
		p.Records = data.records
		proposed, err := study.Propose(p, data.schema, data.pool)
		if err != nil {
			return err
		}
		if proposed.Warning != "" {
			d.note("warning: %s", proposed.Warning)
		}
		last := -1
		release, err := f.run(ctx, proposed, func(have, of int) {
			if have != last {
				last = have
				d.note("study %s: %d of %d contributed", p.Name, have, of)
			}
		})
		if err != nil {
			return err
		}
		predicted, _, err := release.Predict(data.test)
		if err != nil {
			return err
		}
		s := demoStudy{
			Name: p.Name, About: p.Purpose, Kind: proposed.Plan.Kind, Mechanism: proposed.Plan.Mechanism, Unit: proposed.Plan.Unit,
			Noise: proposed.Plan.Noise, Epsilon: proposed.Plan.Epsilon, Delta: proposed.Plan.Delta,
			Accuracy: shareRight(predicted, data.test.Y), Forecast: proposed.Forecast,
			Contributed: release.Contributed, Missing: release.Missing, Plan: proposed.Hash,
			Lambda: release.Result.Classifier.Lambda, Warnings: release.Result.Warnings, Costs: release.Costs,
			Seconds: time.Since(began).Seconds(), Release: fmt.Sprintf("release-%d-%s.json", i+1, p.Name),
		}
		if err := writeRelease(filepath.Join(d.out, s.Release), &release); err != nil {
			return err
		}
		r.Studies = append(r.Studies, s)
	}
	return nil
}

// demoProject is how many principal components a demo keeps: few parties at
// a small budget want few.
const demoProject = 20

// ledgers reads what was spent, after the daemons stopped.
func (d *demo) ledgers(ctx context.Context, f *federation, r *demoReport) error {
	at := filepath.Join(f.dir, "coordinator", coordinator.LedgerFile)
	central, err := readLedger(ctx, at, nil, defaultLedgerDelta)
	if err != nil {
		return err
	}
	central.Ledger = "coordinator"
	first := f.agents[0]
	one, err := readLedger(ctx, agent.LedgerFile(first), first.Policy.Total, defaultLedgerDelta)
	if err != nil {
		return err
	}
	one.Ledger = string(f.roster[0]) + " (all agents alike)"
	r.Ledgers = []ledgerDocument{central, one}
	return nil
}

// curves simulates the same studies at other budgets.
func (d *demo) curves(ctx context.Context, data demoData) ([]demoCurve, error) {
	var out []demoCurve
	for _, p := range demoStudies(d.epsilon) {
		c := demoCurve{Study: p.Name}
		for _, epsilon := range []float64{0.3, 1, 3, 10} {
			s, err := study.Simulation{
				Plan: study.Plan{
					Name: p.Name, Kind: "classify", Schema: data.schema, Unit: p.Unit, Epsilon: epsilon, Delta: 1e-6,
					Mechanism: p.Mechanism, Noise: study.DefaultNoise(p.Unit), Shards: 1, Minimum: 1,
				},
				Train: data.learn, Test: data.test, PoolFraction: 1. / 3, Parties: d.parties,
				Project: demoProject, Repeats: 3, Seed: d.seed,
			}.Run(ctx)
			if err != nil {
				return nil, err
			}
			c.Points = append(c.Points, demoPoint{epsilon, s.Accuracy.Released, s.Accuracy.ReleasedSD})
			c.Unperturbed, c.Majority, c.Pooled = s.Accuracy.Unperturbed, s.Accuracy.MajorityClass, s.Accuracy.Pooled
		}
		out = append(out, c)
	}
	return out, nil
}

// shareRight is the share of labelled records predicted correctly.
func shareRight(predicted, y []int) float64 {
	right, labelled := 0, 0
	for i, k := range y {
		if k >= 0 {
			labelled++
			if predicted[i] == k {
				right++
			}
		}
	}
	return float64(right) / float64(max(labelled, 1))
}

func printDemo(w io.Writer, r demoReport, out string) error {
	fmt.Fprintf(w, "\n%d parties with %d records of %s; a pool of %d rows; %d test records\n\n", r.Parties, r.Records, r.Data, r.Pool, r.Test)
	t := newTable(w, "study", "hides", "ε", "δ", "noise by", "took part", "accuracy", "without noise", "majority")
	for i, s := range r.Studies {
		t.add(s.Name, "a "+s.Unit.String(), fmt.Sprint(s.Epsilon), fmt.Sprintf("%.0e", s.Delta), s.Noise,
			fmt.Sprintf("%d of %d", len(s.Contributed), len(s.Contributed)+len(s.Missing)), fmt.Sprintf("%.3f", s.Accuracy),
			fmt.Sprintf("%.3f", r.Curves[i].Unperturbed), fmt.Sprintf("%.3f", r.Curves[i].Majority))
	}
	if err := t.render(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%.0f s. Read %s; use a release with:\n  caucus predict --release %s --data FILE\n",
		r.Seconds, filepath.Join(out, "report.html"), filepath.Join(out, r.Studies[0].Release))
	return err
}

func writeDemoReport(dir string, r demoReport) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), append(b, '\n'), 0o644); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, "report.html"))
	if err != nil {
		return err
	}
	return errors.Join(writeDemoPage(file, r), file.Close())
}
