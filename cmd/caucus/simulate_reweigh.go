package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"caucus/analyst/simulate"
	"caucus/auxdata"
	"caucus/cmd/internal/console"
	"caucus/dataset"
	"caucus/study/reweigh/weighed"
)

func (r *rehearsal) reweigh(ctx context.Context) (found rehearsed, err error) {
	own := r.Simulate.(*simulate.ReweighTerms)
	for _, name := range reweighFiles { // fail before the work begins
		if err := r.CheckOverwrite(filepath.Join(own.Folder, name)); own.Folder != "" &&
			err != nil {
			return found, err
		}
	}
	if r.Where != "" || r.PoolRelease != "" || r.Pool != "" {
		return found, console.Usagef("a simulation of reweigh splits the records into private ones and a pool: leave where, pool and pool_release out")
	}
	if own.Split == "" || own.Query == "" {
		return found, console.Usagef("a simulation of reweigh needs --set split=COLUMN=VALUE and --set query=CONDITION")
	}
	condition, err := dataset.ParseCondition(own.Query)
	if err != nil {
		return found, console.Usagef("%w", err)
	}
	schema, table, _, err := r.tables(r.Console)
	if err != nil {
		return found, err
	}
	column, value, group, err := groupOf(own.Split, table)
	if err != nil {
		return found, err
	}
	holds, err := condition.Rows(table)
	if err != nil {
		return found, console.Usagef("%w", err)
	}
	query := make([]float64, len(holds))
	for i, h := range holds {
		if h {
			query[i] = 1
		}
	}
	schema = schema.WithoutColumns(column)
	schema.Party = "" // the schema is the same as in the files that writeFiles writes
	records, _, err := schema.EncodeLazily(table)
	if err != nil {
		return found, err
	}
	sim := simulate.Reweigh{
		Schema: schema, Proposal: r.Proposal, Records: records, Group: group, PrivateShare: own.Share, HoldOutShare: own.HoldOutShare,
		Query: query, Parties: cmp.Or(r.Parties, usualParties[r.Kind]), PerParty: r.Records, Repeats: own.Repeats, Seed: r.Seed,
		Progress: r.bar.Set,
	}
	summary, err := ran(ctx, r, sim)
	if err != nil {
		return found, err
	}
	if own.Folder != "" {
		if err := r.writeFiles(own.Folder, schema, table, summary); err != nil {
			return found, err
		}
	}
	return rehearsed{summary, func(w io.Writer) {
		printReweigh(w, summary, own.Query, column+"="+value)
	}, summary.Release, measuredReweigh(summary), table.Rows()}, nil
}

// groupOf marks the rows of a table that a split COLUMN=VALUE selects.
func groupOf(split string, t *dataset.Table) (column, value string, marks []bool, err error) {
	column, value, given := strings.Cut(split, "=")
	if !t.Has(column) {
		return "", "", nil, console.Usagef("split %q: there is no column %q; the columns are %s", split, column, strings.Join(t.Columns(), ", "))
	}
	counts := map[string]int{}
	cells := make([]string, t.Rows())
	for i := range cells {
		cell, _ := t.Cell(i, column)
		cells[i] = strings.TrimSpace(cell)
		counts[cells[i]]++
	}
	if !given {
		for v, n := range counts {
			if n > counts[value] || (n == counts[value] && v < value) || value == "" {
				value = v
			}
		}
	}
	if counts[value] == 0 {
		return "", "", nil, console.Usagef("split %q: no record has %q in column %s", split, value,
			column)
	}
	marks = make([]bool, len(cells))
	for i, cell := range cells {
		marks[i] = cell == value
	}
	return column, value, marks, nil
}

var reweighFiles = []string{"release.json", "schema.yaml", "pool.csv", "weighted.csv",
	"private.csv", "test.csv"}

// writeFiles writes the first repeat's files, for caucus release query and for a study on the
// weighted pool.
func (r *rehearsal) writeFiles(dir string, schema dataset.Schema, t *dataset.Table,
	summary simulate.ReweighSummary) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pool := t.Select(summary.PoolRecords)
	text, err := schema.YAML()
	if err != nil {
		return err
	}
	weights, err := weighed.WeightsOf(*summary.Release)
	if err != nil {
		return err
	}
	if err := writeRelease(r.Console, filepath.Join(dir, "release.json"),
		summary.Release); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"schema.yaml": func(w io.Writer) error { _, err := w.Write(text); return err },
		"pool.csv":    pool.WriteCSV,
		"weighted.csv": func(w io.Writer) error {
			return auxdata.WriteWeighted(w, pool, weights.Weight)
		},
	} {
		if err := r.Write(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	for name, rows := range map[string][]int{
		"private.csv": summary.PrivateRecords, "test.csv": summary.TestRecords,
	} {
		write := t.Select(rows).WriteCSV
		if err := r.WriteRecords(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	r.Note("wrote release.json, schema.yaml, pool.csv, weighted.csv, private.csv and test.csv to %s", dir)
	return nil
}

func printReweigh(w io.Writer, d simulate.ReweighSummary, query, split string) {
	startRehearsal(w, d.Summary)
	fmt.Fprintf(w, "%s (mostly %s) of %s; pool of %s (mostly the others); %s\n\n",
		console.Counted(d.PrivateRows, "private records"), split, console.Counted(d.Parties,
			"parties"), console.Counted(d.PoolRows, "rows"), console.Counted(d.Features,
			"features"))
	fmt.Fprintf(w, "share of %s\n", query)
	for _, r := range []struct {
		name        string
		value, rmse float64
		about       string
	}{
		{"truth", d.Truth, 0, "among the private records"},
		{"estimate", d.Estimate, d.RMSE, fmt.Sprintf("on the weighted pool; ridge λ = %.3g", d.Lambda)},
		{"without noise", d.Unperturbed, d.UnperturbedRMSE, "the same study"},
		{"unweighted", d.Unweighted, d.UnweightedRMSE, "on the pool as it is"},
	} {
		fmt.Fprintf(w, "  %-13s %.3f  root mean square error %.3f  %s\n", r.name, r.value, r.rmse,
			r.about)
	}
	if d.IntervalShare == 0 {
		fmt.Fprintf(w, "  no answer has an interval; features explain a share %.2f of the query's variance in the pool (R²)\n", d.R2)
	} else {
		fmt.Fprintf(w, "  %.0f %% of the answers have a 95 %% interval, %.3f wide on average; %.0f %% of these hold the truth; features explain a share %.2f of the query's variance in the pool (R²)\n", 100*d.IntervalShare, d.Width, 100*d.Coverage, d.R2)
	}
	fmt.Fprintf(w, "\nover %s; the pool's effective sample size is %.0f rows on average; %.0f bytes a party; %.1f s\nof the first repeat:\n",
		console.Counted(d.Repeats, "repeats"), d.EffectiveRows, d.UploadBytes, d.Seconds)
	printWeights(w, *d.Release)
	endRehearsal(w, d.Summary)
}
