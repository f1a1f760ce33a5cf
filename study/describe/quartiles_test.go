package describe_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/describe/described"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
)

// federation is five hospitals whose records come from a population, and a public pool from another
// distribution.
type federation struct {
	schema           dataset.Schema
	population, pool *dataset.Records
	skewed           []string // columns under test
}

const hospitals, recordsEach = 5, 1120

// federations lists the federations whose data are present: two made, two real.
func federations(t *testing.T) map[string]federation {
	read := func(s dataset.Schema, table *dataset.Table) *dataset.Records {
		t.Helper()
		r, _, err := s.Encode(table)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	split := func(table *dataset.Table, column, value string) (with, without *dataset.Table) {
		var a, b []int
		for i := range table.Rows() {
			if cell, _ := table.Cell(i, column); cell == value {
				a = append(a, i)
			} else {
				b = append(b, i)
			}
		}
		return table.Select(a), table.Select(b)
	}
	some := func(table *dataset.Table, rows int) *dataset.Table {
		return table.Select(rand.New(rand.NewPCG(3, 3)).Perm(table.Rows())[:rows])
	}
	out := map[string]federation{}

	normal, err := dataset.ParseSchema(strings.NewReader(`
label: {column: outcome, classes: ["no", "yes"]}
features:
  - {column: charge, kind: numeric, min: 0, max: 100}
  - {column: titre, kind: numeric, min: 0, max: 10000}
`))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	made := func(rows int, shift, wider float64) *dataset.Table {
		cells := make([][]string, rows)
		for i := range cells {
			of := func(mu, sigma float64) string {
				return fmt.Sprint(math.Exp(mu + shift + wider*sigma*rng.NormFloat64()))
			}
			cells[i] = []string{of(1, 1), of(3, 1.6), "no"}
		}
		table, err := dataset.NewTable([]string{"charge", "titre", "outcome"}, cells)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	out["log-normal"] = federation{normal, read(normal, made(20_000, 0, 1)),
		read(normal, made(500, .2, 1.15)), []string{"charge", "titre"}}

	wards, schema := public.Hospitals(public.HospitalConfig{Sites: hospitals + 1, Records: 12_000,
		Seed: 1})
	other, five := split(wards, "hospital", "hospital-6")
	schema = schema.WithoutFormat()
	out["wards"] = federation{schema, read(schema, five), read(schema, some(other, 500)),
		[]string{"creatinine", "admissions_before", "days"}}

	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Log("CAUCUS_DATA is not set: made data alone are tried")
		return out
	}
	for name, of := range map[string]struct {
		column, value string // rows that form the pool
		rows          int
		skewed        []string
	}{
		"adult":         {"sex", "Female", 500, []string{"capital-gain", "capital-loss", "hours-per-week"}},
		"heart_disease": {"hospital", "hungarian", 200, []string{"oldpeak"}},
	} {
		known, err := public.LoadKnownDataset(name)
		if err != nil {
			t.Fatal(err)
		}
		table, err := known.Load(os.DirFS(dir), "train")
		if err != nil {
			t.Fatal(err)
		}
		public, private := split(table, of.column, of.value)
		schema := known.Schema.WithoutFormat()
		out[name] = federation{schema, read(schema, private), read(schema, some(public, of.rows)),
			of.skewed}
	}
	return out
}

// drawn calls each with tables of a plan, each from newly drawn records and noise.
func (f federation) drawn(t *testing.T, p study.Plan, pool *auxdata.Pool, draws int,
	each func(described.Table)) {
	t.Helper()
	p.Simulated = true
	of, ok := bodies.Of(conformance.TaskOf(t, p, pool))
	if !ok {
		t.Fatal("the task asks no statistic")
	}
	parts := describe.AddendsOf(p, f.population)
	rng := rand.New(rand.NewPCG(7, 7))
	for range draws {
		total := bodies.Total{Weight: hospitals * recordsEach, Draws: hospitals,
			Values: make([]float64, of.Statistic.Cells())}
		for range hospitals {
			own := make([]int64, len(total.Values))
			for range recordsEach {
				for _, part := range parts[rng.IntN(len(parts))] {
					own[part.Cell] += part.Adds
				}
			}
			requests, err := bodies.Requests(of.Statistic, own, recordsEach)
			if err != nil {
				t.Fatal(err)
			}
			released, err := study.ReleaseRequests(context.Background(),
				privacy.NewSimulation(rng.Uint64()),
				of.Hash(), requests)
			if err != nil {
				t.Fatal(err)
			}
			for j, v := range released[0].Values {
				total.Values[j] += float64(v)
			}
		}
		result, err := results.Of(conformance.TaskOf(t, p,
			pool)).(bodies.Finisher).FinishTotal(total, nil)
		if err != nil {
			t.Fatal(err)
		}
		table, err := described.TableOf(study.Release{Result: result})
		if err != nil {
			t.Fatal(err)
		}
		each(table)
	}
}

// quantile returns the position of a quantile of a column in the population.
func (f federation) quantile(column string, p float64) float64 {
	var v []float64
	blocks := f.schema.Blocks()
	k := slices.IndexFunc(blocks, func(b dataset.Block) bool { return b.Column == column })
	flagged := k+1 < len(blocks) && blocks[k+1].Column == column
	for i := range f.population.Len() {
		if row := f.population.X.RawRowView(i)[blocks[k].Start:]; !flagged || row[1] < .5 {
			v = append(v, row[0])
		}
	}
	slices.Sort(v)
	return v[int(math.Ceil(p*float64(len(v))))-1]
}

// TestQuartiles: five hospitals with 1120 records each, ε = 1, and a pool from another
// distribution. On skewed columns the quartiles' intervals are at least four times narrower than
// with equal steps of the range at the same noise, in the mean over columns; on no column are they
// more than a tenth wider; and they cover as often as stated.
//
// Over all draws of all federations, measured coverage was .993 or more. If coverage is .99, the
// mean of n = 600 draws is below .95 with probability at most exp(−n·KL(.95, .99)) = e^(−24.8) <
// 2·10⁻¹¹ (Chernoff, for each draw's share of covering intervals). If a column's coverage is .95,
// it falls below least(n) in its draws with probability at most 10⁻¹², and there are fewer than 25
// columns.
func TestQuartiles(t *testing.T) {
	all := federations(t)
	draws := testlevel.N(t, 600, 4800) / len(all)
	type found struct{ held, width, mean float64 } // means over all draws
	var ratios, held []float64
	t.Logf("%d draws; mean width of the intervals of three quartiles, of equal steps and of the pool's quantiles; * skewed", draws)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		p, err := planning.Complete(study.Proposal{
			Name: "quartiles", Kind: "describe", Epsilon: 1, Records: recordsEach, Roster: []study.PartyID{"a", "b", "c", "d", "e"}, Minimum: hospitals,
		}, f.schema)
		if err != nil {
			t.Fatal(err)
		}
		pool := auxdata.NewSimulated(f.pool.X, dataset.Identity(f.schema))
		if err := planning.SetPool(&p, pool); err != nil {
			t.Fatal(err)
		}
		steps := p
		steps.KindTerms = conformance.EncodeTerms(describe.DefaultTerms())
		truth := map[string]float64{}
		measured := func(p study.Plan, draws int) map[string]*found {
			out := map[string]*found{}
			f.drawn(t, p, pool, draws, func(table described.Table) {
				for _, c := range table.Columns {
					if c.Edges == nil {
						continue
					}
					if out[c.Column] == nil {
						out[c.Column] = new(found)
					}
					of, s := out[c.Column], c.Groups[0]
					if s.Mean == nil || len(s.Quantiles) != 3 {
						t.Fatalf("%s: nothing is told of %s", name, c.Column)
					}
					of.mean += (s.Mean.NoiseHigh - s.Mean.NoiseLow) / float64(draws)
					for _, q := range s.Quantiles {
						key := fmt.Sprint(c.Column, q.P)
						if _, ok := truth[key]; !ok {
							truth[key] = f.quantile(c.Column, q.P)
						}
						of.width += (q.High - q.Low) / float64(3*draws)
						if c.Position(q.Low) <= truth[key]+1e-9 &&
							c.Position(q.High) >= truth[key]-1e-9 {
							of.held += 1 / float64(3*draws)
						}
					}
				}
			})
			return out
		}
		old, now := measured(steps, max(draws/6, 20)), measured(p, draws)
		for _, column := range slices.Sorted(maps.Keys(now)) {
			a, b, mark := old[column], now[column], ""
			held = append(held, b.held)
			if slices.Contains(f.skewed, column) {
				ratios, mark = append(ratios, b.width/a.width), "*"
			}
			t.Logf("%-13s %-17s %1s %8.4g %8.4g, %5.1f times narrower; held %.4f; noise of the mean × %.2f", name, column, mark, a.width, b.width, a.width/b.width, b.held, b.mean/a.mean)
			if b.width > 1.1*a.width {
				t.Errorf("%s: intervals of %s are %.3g wide, of equal steps %.3g", name, column, b.width, a.width)
			}
			if b.held < least(draws) {
				t.Errorf("%s: intervals of %s hold in %.4f of %d draws", name, column, b.held,
					draws)
			}
		}
	}
	narrower := float64(len(ratios)) / sum(ratios)
	t.Logf("of skewed columns %.1f times narrower in the mean; all held %.4f", narrower, sum(held)/float64(len(held)))
	if narrower < 4 {
		t.Errorf("intervals of skewed columns are %.2f times narrower, want 4", narrower)
	}
	if share := sum(held) / float64(len(held)); share < .95 {
		t.Errorf("intervals hold in %.4f", share)
	}
}

// least returns the share x with n·KL(x, .95) = ln 10¹².
func least(n int) float64 {
	x := .95
	for x > 0 && float64(n)*(x*math.Log(x/.95)+(1-x)*math.Log((1-x)/.05)) < 12*math.Ln10 {
		x -= .001
	}
	return x
}

func sum(v []float64) (total float64) {
	for _, x := range v {
		total += x
	}
	return total
}
