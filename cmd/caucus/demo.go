package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"caucus/agent/site"
	"caucus/coordinator/folder"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/simulate"
)

// demo holds the flags of demo.
type demo struct {
	*console
	parties int
	records int
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
		Long: `Start a coordinator, a helper and agents that talk mutual TLS over loopback, enrol the
agents by invitation, run studies from draft to release, and report what they
were worth, what they cost and what they protect.

One study of each kind: classify by votes (hides a party) and by sums (hides a
record), labels, ratio, reweigh, describe, and evaluate, which judges the release
by sums; and by sums once more, split between coordinator and helper, so that neither sees
what an agent sent. It uses the adult data set where --data-dir (or CAUCUS_DATA) has it, else
generated hospital data. Everything it starts it stops; only the report and the
releases stay.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.IntVar(&d.parties, "parties", 50, "number of parties, each with an agent of its own")
	f.Float64Var(&d.epsilon, "epsilon", 1, "privacy budget ε of each study")
	f.IntVar(&d.records, "records", 24_000, "how many records of the data to use: a quarter each for tests and the pool, half are the parties'")
	f.StringVar(&d.out, "out", "caucus-demo", "folder for report.html and report.json")
	writes(f, "out", asFolder)
	f.StringVar(&d.dataDir, "data-dir", os.Getenv("CAUCUS_DATA"), "folder of the known data sets (default $CAUCUS_DATA)")
	f.Uint64Var(&d.seed, "seed", 1, "seed of the split and of generated data; never of a release")
	return cmd
}

// demoReport is the JSON document of demo; report.html shows it.
type demoReport struct {
	Data    string      `json:"data"`
	Real    bool        `json:"real_data"`
	Parties int         `json:"parties"`
	Epsilon float64     `json:"epsilon"`
	Records int         `json:"private_records"`
	Pool    int         `json:"pool_rows"`
	Test    int         `json:"test_records"`
	Studies []demoStudy `json:"studies"`
	// Ledgers are those of the coordinator and of one agent.
	Ledgers []ledgerDocument `json:"ledgers"`
	Curves  []demoCurve      `json:"curves"`
	Seconds float64          `json:"seconds"`
	Version string           `json:"version"`
	Command string           `json:"command"`
}

// demoStudy is one study run between daemons.
type demoStudy struct {
	Name        string              `json:"name"`
	About       string              `json:"about"`
	Kind        string              `json:"kind"`
	Mechanism   string              `json:"mechanism"`
	Unit        privacy.Unit        `json:"unit"`
	Noise       study.Noise         `json:"noise"`
	Epsilon     float64             `json:"epsilon"`
	Delta       float64             `json:"delta"`
	Measure     demoMeasure         `json:"measure"`
	Contributed []study.PartyID     `json:"contributed"`
	Missing     []study.PartyID     `json:"missing"`
	Plan        study.Hash          `json:"plan"`
	Warnings    []string            `json:"warnings,omitempty"`
	Seconds     float64             `json:"seconds"`
	Release     string              `json:"release"`
	Costs       []study.ReleaseCost `json:"costs"`
}

// demoMeasure compares a study's release with the truth.
type demoMeasure struct {
	// Better names the good end: "high" or "low".
	Name   string `json:"name"`
	Better string `json:"better"`
	// Released is the release's number, Unperturbed that of the same study rehearsed at ε =
	// nearlyClear, Baseline the best guess without a study.
	Released     float64 `json:"released"`
	Unperturbed  float64 `json:"unperturbed"`
	Baseline     float64 `json:"baseline"`
	BaselineName string  `json:"baseline_name"`
	// Sure is how far chance can move Released on this many records, and SureIs describes it:
	// half the width of the 95 % interval of an accuracy, or a stand-in for an error. Smaller
	// differences count as none.
	Sure   float64 `json:"sure_to"`
	SureIs string  `json:"sure_is"`
	// Alone is the mean over sites of the number from their own records; null where that is the
	// baseline.
	Alone *float64 `json:"one_site_alone"`
}

// demoCurve is a simulated line of accuracy against ε.
type demoCurve struct {
	Study       string      `json:"study"`
	Points      []demoPoint `json:"points"`
	Unperturbed float64     `json:"unperturbed"`
	Majority    float64     `json:"majority_class"`
	Pooled      float64     `json:"pooled"`
	// Alone is the mean accuracy of classifiers that parties fit to their own records.
	Alone float64 `json:"one_site_alone"`
}

type demoPoint struct {
	Epsilon  float64 `json:"epsilon"`
	Accuracy float64 `json:"accuracy"`
	SD       float64 `json:"sd"`
}

func (d *demo) run(ctx context.Context) error {
	start := time.Now()
	if d.parties < 2 {
		return usagef("--parties %d: give at least 2", d.parties)
	}
	if d.records < 400 {
		return usagef("--records %d: give at least 400", d.records)
	}
	if err := (privacy.Budget{Epsilon: d.epsilon, Delta: 1e-6}).Validate(); err != nil {
		return usageError{err}
	}
	if limit := (privacy.Budget{Epsilon: demoStudies * d.epsilon, Delta: 1e-4}); limit.Validate() != nil {
		return usagef("--epsilon %g: an agent of a demo takes %d studies, which is above what a ledger can be limited to: give a smaller one", d.epsilon, demoStudies)
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
		Command: fmt.Sprintf("caucus demo --parties %d --records %d --epsilon %g --seed %d", d.parties, d.records, d.epsilon, d.seed),
	}
	d.note("starting a coordinator, a helper and %d agents on %s", d.parties, data.name)
	f, err := found(ctx, dir, data, demoPolicy(d.epsilon, data.schema), slog.New(slog.NewTextHandler(d.err, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		return err
	}
	releases, err := d.studies(ctx, f, data, &r)
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
	if err := d.alone(data, &r, releases); err != nil {
		return err
	}
	r.Seconds = time.Since(start).Seconds()
	if err := d.writeDemoReport(d.out, r); err != nil {
		return err
	}
	return d.print(r, func(w io.Writer) error { return printDemo(w, r, d.out) })
}

// ledgers reads the spending after the daemons stopped.
func (d *demo) ledgers(ctx context.Context, f *federation, r *demoReport) error {
	at := filepath.Join(f.dir, "coordinator", folder.LedgerFile)
	central, err := readLedger(ctx, at, nil, defaultLedgerDelta)
	if err != nil {
		return err
	}
	central.Ledger = "coordinator"
	first := f.agents[0]
	one, err := readLedger(ctx, site.LedgerFile(first), first.Policy.Total, defaultLedgerDelta)
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
	for _, p := range classifyProposals(d.epsilon) {
		c := demoCurve{Study: p.Name}
		for _, epsilon := range []float64{0.3, 1, 3, 10} {
			delta := 1e-6
			s, err := simulate.Classify{
				Split: simulate.Split{Schema: data.schema, Train: data.learn, Test: data.test, PoolFraction: 1. / 3, Parties: d.parties, Seed: d.seed},
				Proposal: study.Proposal{
					Name: p.Name, Kind: "classify", Unit: p.Unit, Epsilon: epsilon, Delta: &delta, Mechanism: p.Mechanism,
					Map: dataset.Components{Project: demoProject},
				},
				Repeats: 3,
			}.Run(ctx)
			if err != nil {
				return nil, err
			}
			c.Points = append(c.Points, demoPoint{epsilon, s.Accuracy.Released, s.Accuracy.ReleasedSD})
			c.Unperturbed, c.Majority, c.Pooled, c.Alone = s.Accuracy.Unperturbed, s.Accuracy.MajorityClass, s.Accuracy.Pooled, s.Accuracy.LocalMean
		}
		out = append(out, c)
	}
	return out, nil
}

// shareRight is the share of labelled records predicted correctly.
func shareRight(predicted, y []int) float64 {
	right, labelled := classifier.Right(predicted, y)
	return float64(right) / float64(max(labelled, 1))
}

func printDemo(w io.Writer, r demoReport, out string) error {
	fmt.Fprintf(w, "\n%d parties with %d records of %s; a pool of %d rows; %d test records\n\n", r.Parties, r.Records, r.Data, r.Pool, r.Test)
	t := newTable(w, "study", "kind", "hides", "ε", "δ", "noise by", "parties", "measure", "released", "one party alone", fmt.Sprintf("ε = %g", nearlyClear), "without a study")
	for _, s := range r.Studies {
		t.add(s.Name, s.Kind, "a "+s.Unit.String(), fmt.Sprint(s.Epsilon), fmt.Sprintf("%.0e", s.Delta), string(s.Noise),
			fmt.Sprintf("%d of %d", len(s.Contributed), len(s.Contributed)+len(s.Missing)), s.Measure.Name, fmt.Sprintf("%.3f", s.Measure.Released), s.Measure.aloneText(),
			fmt.Sprintf("%.3f", s.Measure.Unperturbed), fmt.Sprintf("%.3f (%s)", s.Measure.Baseline, s.Measure.BaselineName))
	}
	if err := t.render(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%.0f s. Read %s; check a release and use it with:\n  caucus release verify %[3]s --pool %[4]s\n  caucus release predict %[3]s --data FILE\n",
		r.Seconds, filepath.Join(out, "report.html"), filepath.Join(out, r.Studies[0].Release), filepath.Join(out, demoPool))
	return err
}

func (c *console) writeDemoReport(dir string, r demoReport) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := c.writeText(filepath.Join(dir, "report.json"), append(b, '\n')); err != nil {
		return err
	}
	return c.write(filepath.Join(dir, "report.html"), func(w io.Writer) error { return writeDemoPage(w, r) })
}
