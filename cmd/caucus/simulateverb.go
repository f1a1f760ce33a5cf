package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
)

// rehearsals has the simulation of each kind.
var rehearsals = map[string]func(*rehearsal, context.Context) (rehearsed, error){
	"classify": (*rehearsal).classify,
	"describe": (*rehearsal).describe,
	"evaluate": (*rehearsal).evaluate,
	"labels":   (*rehearsal).labels,
	"ratio":    (*rehearsal).ratio,
	"regress":  (*rehearsal).regress,
	"reweigh":  (*rehearsal).reweigh,
	"survival": (*rehearsal).survival,
}

func newSimulate(c *console.Console) *cobra.Command {
	var t termFlags
	r := rehearsal{Console: c, kinds: rehearsals}
	cmd := &cobra.Command{
		Use:   "simulate [KIND] [STUDY.yaml]",
		Short: "Simulate a study among virtual parties, and measure its accuracy",
		Long: `Deal records to virtual parties, run a study with the code of real studies and simulated
ledgers, and compare the result with the truth. The study comes from a study file, as
for caucus study create, from flags and --set, or from both (flags win). Its kind is
classify unless named.

The records come from --dataset or --train. A study with a schema needs --train;
without schema and records, the records are made-up hospital records. --set
simulate.NAME=VALUE sets the terms that only a simulation has.`,
		Example: `  caucus simulate readmission.yaml --train records.csv
  caucus simulate classify --dataset adult --parties 12 --out release.json
  caucus simulate classify --parties 200 --unit party
  caucus simulate describe --dataset adult --parties 12 --set by=sex --repeats 500
  caucus simulate evaluate --dataset adult --parties 12 --set model=release.json
  caucus simulate labels --epsilon 0.5 --set loss=barrier-hinge
  caucus simulate ratio --parties 8 --records 500 --set main_class_share=.7
  caucus simulate survival --train records.csv --schema schema.yaml --set time=days --set by=arm --repeats 400
  caucus simulate regress --train records.csv --schema schema.yaml --set outcome=days --set 'columns=[age, sex]' --repeats 400
  caucus simulate reweigh --set split=sex=male --set 'query=readmitted == yes' --epsilon 0.5`,
	}
	cmd.RunE = console.EndOnCancel(c, func(cmd *cobra.Command, args []string) (err error) {
		r.start = time.Now()
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(50) // a million records of classify then take 263 MB in place of 343
		}
		if r.Study, err = t.read(c, cmd, args); err != nil {
			return err
		}
		return refused(cmd, r.run(cmd.Context()))
	})
	t.add(cmd, "parties", "records", "unit", "epsilon", "delta", "noise", "mechanism", "learner",
		"where", "dataset", "train", "test", "schema", "pool", "repeats", "seed")
	f := cmd.Flags()
	r.reading.Flags(f)
	f.StringVar(&r.poolMapping, "pool-mapping", "", "mapping of the pool's file (--mapping and the format flags are for --train and --test)")
	console.MarkInputs(f, "pool-mapping")
	console.EnvironmentFlag(f, &r.dataDir, "data-dir", "CAUCUS_DATA",
		"folder of the known data sets")
	f.StringVar(&r.out, "out", "", "write the first repeat's release here")
	console.MarkOutput(f, "out", ".json")
	f.StringVar(&r.report, "report", "", reportFlagHelp)
	console.MarkOutput(f, "report", ".html", ".htm")
	return cmd
}
