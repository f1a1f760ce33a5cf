package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"caucus/demo"
)

func newDemo(c *console) *cobra.Command {
	o := demo.Options{Software: version(), Note: c.note}
	var out, dataDir string
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return usageError{err}
			}
			if dataDir != "" {
				o.Known = c.folder(dataDir)
			}
			o.Log = slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: slog.LevelError}))
			bar := newProgress(c)
			defer bar.stop()
			o.Progress = func(study string, contributed, parties int) {
				if bar.what = study; contributed == parties {
					bar.stop()
				} else {
					bar.set(contributed, parties)
				}
			}
			if err := os.MkdirAll(out, 0o755); err != nil {
				return err
			}
			r, err := demo.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			for name, content := range r.Files {
				if err := c.writeText(filepath.Join(out, name), content); err != nil {
					return err
				}
			}
			b, err := json.MarshalIndent(r, "", "  ")
			if err != nil {
				return err
			}
			if err := c.writeText(filepath.Join(out, "report.json"), append(b, '\n')); err != nil {
				return err
			}
			if err := c.write(filepath.Join(out, "report.html"), func(w io.Writer) error { return demo.WritePage(w, r) }); err != nil {
				return err
			}
			return c.print(r, func(w io.Writer) error { return printDemo(w, r, out) })
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Parties, "parties", 50, "number of parties, each with an agent of its own")
	f.Float64Var(&o.Epsilon, "epsilon", 1, "privacy budget ε of each study")
	f.IntVar(&o.Records, "records", 24_000, "how many records of the data to use: a quarter each for tests and the pool, half are the parties'")
	f.StringVar(&out, "out", "caucus-demo", "folder for report.html and report.json")
	writes(f, "out", asFolder)
	f.StringVar(&dataDir, "data-dir", os.Getenv("CAUCUS_DATA"), "folder of the known data sets (default $CAUCUS_DATA)")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the split and of generated data; never of a release")
	return cmd
}

func printDemo(w io.Writer, r demo.Report, out string) error {
	fmt.Fprintf(w, "\n%d parties with %d records of %s; a pool of %d rows; %d test records\n\n", r.Parties, r.Records, r.Data, r.Pool, r.Test)
	t := newTable(w, "study", "kind", "hides", "ε", "δ", "noise by", "parties", "measure", "released", "one party alone", fmt.Sprintf("ε = %g", demo.NearlyClear), "without a study")
	for _, s := range r.Studies {
		t.add(s.Name, s.Kind, "a "+s.Unit.String(), fmt.Sprint(s.Epsilon), fmt.Sprintf("%.0e", s.Delta), string(s.Noise),
			fmt.Sprintf("%d of %d", len(s.Contributed), len(s.Contributed)+len(s.Missing)), s.Measure.Name, fmt.Sprintf("%.3f", s.Measure.Released), s.Measure.AloneText(),
			fmt.Sprintf("%.3f", s.Measure.Unperturbed), fmt.Sprintf("%.3f (%s)", s.Measure.Baseline, s.Measure.BaselineName))
	}
	if err := t.render(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%.0f s. Read %s; check a release and use it with:\n  caucus release verify %[3]s --pool %[4]s\n  caucus release predict %[3]s --data FILE\n",
		r.Seconds, filepath.Join(out, "report.html"), filepath.Join(out, r.Studies[0].Release), filepath.Join(out, demo.PoolFile))
	return err
}
