package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"caucus/analyst/demo"
	"caucus/cmd/internal/console"
)

func newDemo(c *console.Console) *cobra.Command {
	o := demo.Options{Software: console.Version(), Note: c.Note}
	var out, dataDir string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run real studies between a coordinator and agents on this machine",
		Long: `Start a coordinator, a helper and agents that talk mutual TLS over loopback, enrol the
agents by invitation, run studies from draft to release, and report their accuracy,
their privacy cost and their guarantees.

A fleet of small devices votes (unit: a device). Clinics take part in one study of each
other kind: sums (unit: a record); sums split between coordinator and helper, so that
neither sees what an agent sent; labels; ratio; reweigh; describe; evaluate, which
judges the classifier from sums; regress; and survival, of made-up patients. One study
does not help, as its forecast says: the clinics are too few for votes. The demo uses the adult data set if --data-dir (or
CAUCUS_DATA) has it, else generated hospital data. It stops everything that it started;
only the report and the releases stay.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return console.Usagef("%w", err)
			}
			if dataDir != "" {
				o.DataSets = c.InputFolder(dataDir)
			}
			o.Log = slog.New(slog.NewTextHandler(c.Err,
				&slog.HandlerOptions{Level: slog.LevelError}))
			bar := console.NewProgress(c)
			defer bar.Stop()
			bar.Things, o.Progress = "contributions", bar.Set
			if err := os.MkdirAll(out, 0o755); err != nil {
				return err
			}
			r, err := demo.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			for name, content := range r.Files {
				if err := c.WriteText(filepath.Join(out, name), content); err != nil {
					return err
				}
			}
			b, err := json.MarshalIndent(r, "", "  ")
			if err != nil {
				return err
			}
			if err := c.WriteText(filepath.Join(out, "report.json"), append(b, '\n')); err != nil {
				return err
			}
			if err := c.Write(filepath.Join(out, "report.html"), func(w io.Writer) error {
				return demo.WritePage(w, r)
			}); err != nil {
				return err
			}
			return c.Print(r, func(w io.Writer) { printDemo(w, r, out) })
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Parties, "parties", 24, "number of clinics, each with an agent of its own")
	f.IntVar(&o.Devices, "devices", 100, "number of devices of a fleet, each with an agent of its own")
	f.Float64Var(&o.Epsilon, "epsilon", 2, "privacy budget ε of each study")
	f.IntVar(&o.Records, "records", 16_800, "how many records of the data to use: two sevenths each for tests, the clinics and the devices, one for the pool")
	f.StringVar(&out, "out", "caucus-demo", "folder for report.html and report.json")
	console.MarkOutput(f, "out", console.AcceptsFolder)
	console.EnvironmentFlag(f, &dataDir, "data-dir", "CAUCUS_DATA", "folder of the known data sets")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the split and of generated data; never of a release")
	return cmd
}

func printDemo(w io.Writer, r demo.Report, out string) {
	fmt.Fprintf(w, "\n%d clinics and %d devices with %d records of %s; a pool of %d rows; %d test records\n\n", r.Parties, r.Devices, r.Records, r.Data, r.Pool, r.TestRecords)
	t := console.NewTable(w, "study", "kind", "hides", "noise by", "measure", "released",
		"one party alone",
		"no study", "verdict")
	for _, s := range r.SortedStudies() {
		t.Add(s.Name, s.Kind, "a "+s.Unit.String(), string(s.Noise), s.Measure.Name,
			fmt.Sprintf("%.3f", s.Measure.Released), fmt.Sprintf("%.3f",
				s.Measure.SiteAlone()), fmt.Sprintf("%.3f",
				s.Measure.Baseline), s.Measure.Comparison().String())
	}
	t.Render()
	fmt.Fprintf(w, "\nEach study at ε = %g. Better and worse mean: by more than chance moves a figure on %d test records.\n", r.Epsilon, r.TestRecords)
	for _, s := range r.SortedStudies() {
		if s.Forecast != "" {
			fmt.Fprintf(w, "Before %s was opened, its forecast said: %s.\n", s.Name, s.Forecast)
		}
	}
	best := r.Best()
	fmt.Fprintf(w, "\n%.0f s. Read %s. The best classifier is that of %s; check it, see what it holds, and use it:\n  caucus release verify %[4]s --pool %[5]s\n  caucus release show %[4]s\n  caucus release predict %[4]s --data FILE\n",
		r.Seconds, filepath.Join(out, "report.html"), best.Name, filepath.Join(out,
			best.Release), filepath.Join(out, demo.PoolFile))
}
