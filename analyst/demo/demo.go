package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"caucus/agent/site"
	"caucus/analyst/simulate"
	"caucus/coordinator/folder"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/study"
)

// Options size the demo, whose coordinator, helper and agents all run on this machine over
// loopback.
type Options struct {
	Parties int // clinics
	Devices int // a fleet of many small parties, which votes
	// of the data: tests, clinics and devices get two sevenths each, the pool gets one seventh
	Records  int
	Epsilon  float64 // ε of each study
	Seed     uint64  // seeds the split and generated data; never a release
	DataSets fs.FS   // folder of the known data sets; nil for none
	// Software is the version of the program.
	Software string
	Log      *slog.Logger // log of the daemons
	Note     func(format string, args ...any)
	// Progress is called when a contribution arrives, with the numbers of all so far and in the
	// end.
	Progress func(contributed, parties int)
}

// Validate returns an error for the first invalid option.
func (o Options) Validate() error {
	switch {
	case o.Parties < 2:
		return fmt.Errorf("--parties %d: give at least 2", o.Parties)
	case o.Records < leastRecords:
		return fmt.Errorf("--records %d: give at least %d", o.Records, leastRecords)
	case o.Devices < 2:
		return fmt.Errorf("--devices %d: give at least 2", o.Devices)
	case 7*max(o.Parties, o.Devices) > o.Records:
		return fmt.Errorf("--parties %d and --devices %d: each kind has %d records, give at most half as many of them, or more --records", o.Parties, o.Devices, 2*o.Records/7)
	}
	if err := (privacy.Budget{Epsilon: o.Epsilon, Delta: 1e-6}).Validate(); err != nil {
		return err
	}
	if limit := (privacy.Budget{Epsilon: mostStudies * o.Epsilon,
		Delta: 1e-4}); limit.Validate() != nil {
		return fmt.Errorf("--epsilon %g: an agent of a demo takes %d studies, which is above what a ledger can be limited to: give a smaller one", o.Epsilon, mostStudies)
	}
	return nil
}

const leastRecords = 400

// Report is the result of a demo; report.html shows it.
type Report struct {
	Data        string  `json:"data"`
	Real        bool    `json:"real_data"`
	Parties     int     `json:"parties"`
	Devices     int     `json:"devices"`
	Epsilon     float64 `json:"epsilon"`
	Records     int     `json:"private_records"`
	Pool        int     `json:"pool_rows"`
	TestRecords int     `json:"test_records"`
	Studies     []Study `json:"studies"`
	// Ledgers are those of the coordinator and of one agent.
	Ledgers []Ledger `json:"ledgers"`
	Curves  []Curve  `json:"curves"`
	Seconds float64  `json:"seconds"`
	Version string   `json:"version"`
	Command string   `json:"command"`
	// Files are the pools and the signed releases, by name.
	Files map[string][]byte `json:"-"`
}

// Ledger is what one daemon's ledger spent in the demo, for each unit, and the daemon's name.
type Ledger struct {
	Ledger string             `json:"ledger"`
	Units  []journal.Spending `json:"units"`
}

// Study is one study of the demo, with its release compared with the truth.
type Study struct {
	Name        string          `json:"name"`
	About       string          `json:"about"`
	Kind        string          `json:"kind"`
	Mechanism   string          `json:"mechanism"`
	Unit        privacy.Unit    `json:"unit"`
	Noise       study.Noise     `json:"noise"`
	Epsilon     float64         `json:"epsilon"`
	Delta       float64         `json:"delta"`
	Measure     Measure         `json:"measure"`
	Contributed []study.PartyID `json:"contributed"`
	Missing     []study.PartyID `json:"missing"`
	Plan        study.Hash      `json:"plan"`
	Warnings    []string        `json:"warnings,omitempty"`
	// Forecast is the verdict before any party was asked; empty for kinds without a forecast.
	Forecast string              `json:"forecast,omitempty"`
	Seconds  float64             `json:"seconds"`
	Release  string              `json:"release"`
	Costs    []study.ReleaseCost `json:"costs"`
	// Figure is the picture of a study whose result is curves over time.
	Figure *study.ReportFigure `json:"-"`
}

// Measure compares a study's release with the truth.
type Measure struct {
	// Better names the good end: "high" or "low".
	Name   string `json:"name"`
	Better string `json:"better"`
	// Released is the release's number, Baseline the best guess without a study.
	Released     float64 `json:"released"`
	Baseline     float64 `json:"baseline"`
	BaselineName string  `json:"baseline_name"`
	// Margin bounds how far chance moves Released with this number of records: half the width of an
	// accuracy's 95 % interval or, if Released is an error, an approximation. MarginText describes
	// the bound. Smaller differences count as none.
	Margin     float64 `json:"sure_to"`
	MarginText string  `json:"sure_is"`
	// Alone is the mean of what each site computes from its own records; null if that is the
	// baseline.
	Alone *float64 `json:"one_site_alone"`
}

// Curve is a simulated line of accuracy against ε.
type Curve struct {
	Study       string  `json:"study"`
	Points      []Point `json:"points"`
	Unperturbed float64 `json:"unperturbed"`
	Majority    float64 `json:"majority_class"`
	Pooled      float64 `json:"pooled"`
	// Alone is the mean accuracy of classifiers that parties fit to their own records.
	Alone float64 `json:"one_site_alone"`
}

// Point is a simulated accuracy at one ε: the mean over repetitions, and their standard deviation.
type Point struct {
	Epsilon  float64 `json:"epsilon"`
	Accuracy float64 `json:"accuracy"`
	SD       float64 `json:"sd"`
}

// Run divides the data, starts a coordinator, a helper and agents with mutual TLS over loopback,
// runs all studies from draft to release, and stops everything.
func Run(ctx context.Context, o Options) (Report, error) {
	start := time.Now()
	if err := o.Validate(); err != nil {
		return Report{}, err
	}
	data, err := o.data()
	if err != nil {
		return Report{}, err
	}
	dir, err := os.MkdirTemp("", "caucus-demo-")
	if err != nil {
		return Report{}, err
	}
	defer os.RemoveAll(dir)
	r := Report{
		Data: data.name, Real: data.real, Parties: o.Parties, Devices: o.Devices, Epsilon: o.Epsilon,
		Records: data.records, Pool: data.pool.Rows(), TestRecords: data.test.Len(), Version: o.Software,
		Command: fmt.Sprintf("caucus demo --parties %d --devices %d --records %d --epsilon %g --seed %d", o.Parties, o.Devices, o.Records, o.Epsilon, o.Seed),
		Files:   map[string][]byte{},
	}
	o.Note("starting a coordinator, a helper and the agents of %d clinics and %d devices on %s", o.Parties, o.Devices, data.name)
	f, err := o.found(ctx, dir, data)
	if err != nil {
		return r, err
	}
	var releases []study.Release
	working, both := errgroup.WithContext(ctx)
	working.Go(func() (err error) { releases, err = o.studies(both, f, data, &r); return err })
	// while parties prepare
	working.Go(func() (err error) { r.Curves, err = o.curves(both, data); return err })
	if err := errors.Join(working.Wait(), f.close()); err != nil {
		return r, err
	}
	if err := f.ledgers(ctx, &r); err != nil {
		return r, err
	}
	if err := o.alone(data, &r, releases); err != nil {
		return r, err
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

func (f *federation) ledgers(ctx context.Context, r *Report) error {
	central, err := journal.SumSpending(ctx, filepath.Join(f.dir, "coordinator", folder.LedgerFile),
		nil,
		ledgerDelta)
	if err != nil {
		return err
	}
	first := f.agents[0]
	one, err := journal.SumSpending(ctx, site.LedgerFile(first), first.Policy.TotalLimit,
		ledgerDelta)
	if err != nil {
		return err
	}
	r.Ledgers = []Ledger{{"coordinator", central},
		{string(f.roster[0]) + " (all agents alike)", one}}
	return nil
}

const ledgerDelta = 1e-6

func (o Options) curves(ctx context.Context, data dealt) ([]Curve, error) {
	var out []Curve
	for _, p := range []study.Proposal{fleetVotes(o.Epsilon), clinicSums(o.Epsilon)} {
		c := Curve{Study: p.Name}
		parties, rows := o.Parties, data.pool.Rows()+rowsOf(data.clinics)
		if p.Unit == privacy.Party {
			parties, rows = o.Devices, data.pool.Rows()+rowsOf(data.devices)
		}
		for _, epsilon := range []float64{0.5, 2, 8} {
			delta := 1e-6
			s, err := simulate.Classify{
				Split: simulate.Split{Schema: data.schema, Train: data.learn.Select(dataset.RowRange(0, rows)).AsTable(), Test: data.test.AsTable(), PoolFraction: float64(data.pool.Rows()) / float64(rows), Parties: parties, Seed: o.Seed},
				Proposal: study.Proposal{
					Name: p.Name, Kind: "classify", Unit: p.Unit, Epsilon: epsilon, Delta: &delta, Mechanism: p.Mechanism, Map: p.Map,
				},
				Repeats: 2,
			}.Run(ctx)
			if err != nil {
				return nil, err
			}
			c.Points = append(c.Points, Point{epsilon, s.Accuracy.Released, s.Accuracy.ReleasedSD})
			c.Unperturbed, c.Majority, c.Pooled, c.Alone = s.Accuracy.Unperturbed,
				s.Accuracy.MajorityClass, s.Accuracy.Pooled, s.Accuracy.LocalMean
		}
		out = append(out, c)
	}
	return out, nil
}
