package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"caucus/analyst/report"
	"caucus/analyst/simulate"
	"caucus/analyst/terms"
	"caucus/cmd/internal/console"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
)

type rehearsal struct {
	*console.Console
	terms.Study
	recordsFrom
	out, report string
	kinds       map[string]func(*rehearsal, context.Context) (rehearsed, error)
	start       time.Time
	bar         *console.Progress
}

// rehearsed is a rehearsal's JSON document with its text.
type rehearsed struct {
	document any
	print    func(io.Writer)
	release  *study.Release
	measured *report.Measurement
	units    int // records that the parties got
}

// usualParties is the number of parties of a rehearsal if neither --parties nor the records give
// one.
var usualParties = map[string]int{"classify": 100, "describe": 10, "evaluate": 10, "labels": 10,
	"ratio": 10, "regress": 5, "reweigh": 1, "survival": 5}

func (r *rehearsal) run(ctx context.Context) error {
	common := r.Simulate.Common()
	for _, of := range []struct {
		key               string
		have, least, most int
	}{
		{"parties", r.Parties, 1, mostVirtual}, {"records", r.Records, 1, mostVirtual}, {"simulate.repeats", common.Repeats, 0, mostVirtual},
		{"simulate.generate", common.GeneratedRecords, 100, mostGenerated}, {"simulate.pool_rows", common.PoolRows, 0, mostGenerated}, {"simulate.train_rows", common.TrainRows, 0, mostGenerated},
	} {
		if r.HasTerm(of.key) && (of.have < of.least || of.have > of.most) {
			return study.PlanError(of.key, "%d: give at least %d, at most %d", of.have, of.least,
				of.most)
		}
	}
	if err := r.passedOver(); err != nil {
		return err
	}
	r.Name = cmp.Or(r.Name, simulationName)
	if r.Parties == 0 && common.PartyColumn == "" {
		r.Parties = len(r.Roster)
	}
	r.Seed = cmp.Or(r.Seed, 1)
	r.recordsFrom.of(r.Study)
	r.bar = console.NewProgress(r.Console)
	found, err := r.kinds[r.Kind](r, ctx)
	r.bar.Stop()
	if err != nil {
		return err
	}
	if r.out != "" {
		if err := writeRelease(r.Console, r.out, found.release); err != nil {
			return err
		}
		use := ""
		if _, ok := classifier.Of(found.release.Result); ok || r.Kind == "ratio" {
			use = fmt.Sprintf("; use it with: caucus release predict %s --data FILE (caucus release verify accepts no simulated release)", r.out)
		}
		r.Note("wrote %s%s", r.out, use)
	}
	if err := r.warnDelta(found); err != nil {
		return err
	}
	if err := reportSimulated(r.Console, r.report, found.release, found.measured); err != nil {
		return err
	}
	return r.Print(found.document, func(w io.Writer) {
		if m := found.measured; m != nil {
			fmt.Fprintf(w, "verdict: %s\n", m.Conclusion)
		}
		found.print(w)
	})
}

// passedOver refuses terms that have no effect, because of another term or of the kind.
func (r *rehearsal) passedOver() error {
	common := r.Simulate.Common()
	counts := slices.Contains([]string{"describe", "evaluate", "regress", "survival"}, r.Kind)
	pool := r.Pool != "" || common.PoolWhere != ""
	const asTheyAre = "the study takes columns as they are"
	for _, of := range []struct {
		key  string
		over bool
		why  string
	}{
		{"map.project", counts && r.Map.Project > 0, asTheyAre}, {"map.whiten", counts, asTheyAre}, {"map.analysis", counts, asTheyAre}, {"map.bins", counts, asTheyAre}, {"lambda", counts, "the study has no ridge"},
		{"simulate.generate", common.Dataset != "" || common.Train != "", "the records are given, so none are made up"},
		{"simulate.hold_out", common.Dataset == "", "no known data set is named, so no test file comes with one"},
		{"simulate.pool_fraction", pool, "the pool is given"}, {"simulate.pool_rows", pool, "the pool is given"},
		{"simulate.party_column", r.HasTerm("parties") && !r.HasTerm("simulate.hold_out_parties"), "with parties, records are dealt at random and not by the column"},
		{"simulate.voter_timeout", !r.HasTerm("simulate.voters"), "no command votes"},
		{"simulate.main_class_share", r.HasTerm("simulate.set_shares"), "set_shares say it for each class"},
		{"simulate.width", r.HasTerm("ratio.gamma"), "gamma says how wide the kernel is"},
	} {
		if of.over && r.HasTerm(of.key) {
			return study.PlanError(of.key, "%s: leave it out", of.why)
		}
	}
	return nil
}

// mostVirtual bounds parties, each party's records, and repeats; mostGenerated bounds made-up
// records.
const mostVirtual, mostGenerated = 1_000_000, 100_000_000

// warnDelta warns of a δ that daemons would refuse for the plan's units or, if unknown, for the
// records dealt.
func (r *rehearsal) warnDelta(found rehearsed) error {
	p, err := found.release.DecodedPlan()
	if err != nil {
		return err
	}
	units := found.units
	if p.Unit == privacy.Party || r.Records > 0 && r.HasTerm("records") {
		units = p.MinUnits()
	}
	warnDelta(r.Console, p.Delta, units)
	return nil
}

func (r *rehearsal) records() (loaded, error) {
	data, err := r.load(r.Console)
	if err == nil {
		err = readNamed(&r.Study, data.schema, data.poolTable, true)
	}
	return data, err
}

func ran[S any](ctx context.Context, r *rehearsal, sim simulation[S]) (S, error) {
	var out S
	if err := sim.Check(); err != nil {
		return out, console.Usagef("%w", err)
	}
	out, err := sim.Run(ctx)
	if s, ok := any(&out).(interface{ Common() *simulate.Summary }); ok {
		s.Common().Seconds = time.Since(r.start).Seconds()
	}
	return out, err
}

// simulation is a kind's simulation, with a summary S.
type simulation[S any] interface {
	Check() error
	Run(context.Context) (S, error)
}

// ranWhole rehearses a study that is compared with the records themselves, and needs no test
// records. of makes the simulation from the records and the number of repeats.
func ranWhole[S any, P interface {
	*S
	Common() *simulate.Summary
}](ctx context.Context, r *rehearsal, of func(simulate.Split, int) simulation[S],
	print func(io.Writer, S)) (rehearsed, error) {
	r.recordsFrom.holdOut = true
	data, err := r.records()
	if err != nil {
		return rehearsed{}, err
	}
	summary, err := ran(ctx, r, of(r.split(data), r.Simulate.Common().Repeats))
	if err != nil {
		return rehearsed{}, err
	}
	return rehearsed{summary, func(w io.Writer) {
		print(w, summary)
	}, P(&summary).Common().Release, nil, data.train.Len()}, nil
}

// virtual returns the number of parties, by default the kind's usual one; 0 if a column names the
// parties.
func (r *rehearsal) virtual(train *dataset.EncodedTable) int {
	if r.Parties == 0 && !train.HasParty() {
		return usualParties[r.Kind]
	}
	return r.Parties
}

func (r *rehearsal) split(data loaded) simulate.Split {
	common := r.Simulate.Common()
	if n := common.TrainRows; n > data.train.Len() {
		r.Note("warning: simulate.train_rows: %d records were asked for, and there are %d", n,
			data.train.Len())
	} else if n > 0 && n < data.train.Len() {
		data.train = data.train.Subset(rand.New(rand.NewPCG(r.Seed, 0)).Perm(data.train.Len())[:n])
	}
	return simulate.Split{
		Schema: data.schema, Train: data.train, Test: data.test, Pool: data.pool, PoolWeight: data.poolWeight,
		PoolFraction: common.PoolFraction, PoolRows: common.PoolRows, Parties: r.virtual(data.train), Records: r.Records, Seed: r.Seed,
	}
}

// generate returns the number of records to make up: enough for the parties, the test records and
// the pool.
func generate(s terms.Study) int {
	common := s.Simulate.Common()
	const usual, test = 24_000, .25
	if common.GeneratedRecords > 0 || s.Parties == 0 || s.Records == 0 {
		return cmp.Or(common.GeneratedRecords, usual)
	}
	return int(math.Ceil(float64(s.Parties*s.Records)/(1-test)/(1-common.PoolFraction))) + 2
}

// startRehearsal writes the first lines of a rehearsal's text: which plan was simulated.
func startRehearsal(w io.Writer, s simulate.Summary) {
	fmt.Fprintf(w, "%s, mechanism %s, unit %s, noise added by %s, ε = %g, δ = %g\n", s.Study,
		s.Mechanism, s.Unit, s.Noise.Trust().By, s.Epsilon, s.Delta)
	if s.Where != "" {
		fmt.Fprintf(w, "of the records for which %s\n", s.Where)
	}
}

// endRehearsal writes the end of a rehearsal's text: the guarantee at each unit, then the warnings.
func endRehearsal(w io.Writer, s simulate.Summary) {
	printTotals(w, s.Totals)
	for _, m := range s.Warnings {
		fmt.Fprintf(w, "warning: %s\n", m)
	}
	fmt.Fprintln(w, "simulated: this protects nobody, because anyone can repeat its noise; real studies run between a coordinator and agents")
}

func forecastLines(words string) string {
	return "forecast: " + strings.ReplaceAll(words, "\n", "\nforecast: ")
}

// recordsOf says how many records the parties declared, 0 where that is hidden.
func recordsOf(records int64, parties int) string {
	if records == 0 {
		return console.Counted(parties, "parties")
	}
	return console.Counted(int(records), "records") + " of " + console.Counted(parties, "parties")
}

// wider says how wide intervals were, "" where those without noise had no width.
func wider(ratio *float64) string {
	if ratio == nil {
		return ""
	}
	return fmt.Sprintf(", and were %.2f times as wide as without noise", *ratio)
}

func printTotals(w io.Writer, totals []study.UnitTotal) {
	for _, t := range totals {
		fmt.Fprintf(w, "%s (%s)\n", t, t.Reason)
	}
}

func warnDelta(c *console.Console, delta float64, units int) {
	if most := study.MaxDelta(units); delta > most {
		c.Note("warning: δ = %g is above %.3g, one over ten times the %d units: such a δ allows a mechanism that reveals a whole unit; daemons refuse it", delta, most, units)
	}
}

const simulationName = "simulation"

func deviation(sd float64, repeats int) string {
	if repeats < 2 {
		return ""
	}
	return fmt.Sprintf("%.3f", sd)
}

func plusMinus(sd float64, repeats int, behind string) string {
	if d := deviation(sd, repeats); d != "" {
		return "± " + d + behind
	}
	return ""
}
