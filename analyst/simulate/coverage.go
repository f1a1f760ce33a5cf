package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/describe"
	"caucus/study/describe/described"
)

// Coverage says how often, in many draws, the intervals of estimates with one measure contained the
// truth.
type Coverage struct {
	Measure described.Measure `json:"form"`
	// Estimates is the number of estimates with this measure in a table.
	Estimates int `json:"estimates"`
	// Population is the share of 95 % intervals for the population that contained the population's
	// number. Records is the share of intervals for the records that contained the records' number.
	// An interval of a quantile must contain the quantile's whole bin.
	Population float64 `json:"population"`
	Records    float64 `json:"records"`
	// Least is the smallest Population of a single estimate, and LeastOf names the estimate.
	Least   float64 `json:"least"`
	LeastOf string  `json:"least_of"`
	// Unknown is the share of draws without an estimate.
	Unknown float64 `json:"unknown"`
	// Error is the root mean square change of an estimate by noise. For means and deviations the
	// unit is the column's range, on the logarithmic scale if the column has one. Error is absent
	// for quantiles, and for deviations on a logarithmic scale.
	Error float64 `json:"error,omitempty"`
}

// DescribeCoverage compares intervals with the truth in many draws. Each draw takes new noise and
// resamples each party's records with replacement. The result depends only on inputs and seed.
func DescribeCoverage(ctx context.Context, p study.Plan, pool *auxdata.Pool,
	parties []*dataset.Records, repeats int, seed uint64) ([]Coverage, error) {
	fail := func(err error) ([]Coverage, error) {
		return nil, fmt.Errorf("simulate coverage: %w", err)
	}
	p.Simulated = true
	t, err := checkedTask(p, pool)
	if err != nil {
		return fail(err)
	}
	of, ok := bodies.Of(t)
	if !ok {
		return fail(fmt.Errorf("study kind %q has no table", p.Kind))
	}
	var tally heldTally
	var parts [][][]describe.Part
	var weight int64
	exact, right := make([]int64, of.Statistic.Cells()), newTruth(p)
	for _, r := range parties {
		right.add(r)
		parts = append(parts, describe.Parts(p, r))
		weight += int64(r.Len())
		add(exact, parts[len(parts)-1], nil)
	}
	truth, rng := right.table(), rand.New(rand.NewPCG(seed, 0x636f766572))
	for draw := range repeats {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		sample, noise := make([]int64, len(exact)), make([]int64, len(exact))
		whole := make([]int64, len(exact))
		draws := 0
		release := func(vector []int64, weight int64) error {
			requests, err := bodies.Requests(of.Statistic, vector, weight)
			if err != nil {
				return err
			}
			out, err := study.Settle(ctx, privacy.Simulation(rng.Uint64()), of.Hash(), requests)
			if err != nil {
				return err
			}
			for j, v := range out[0].Values {
				noise[j] += v - vector[j]
			}
			draws++
			return nil
		}
		for _, records := range parts {
			own := make([]int64, len(exact))
			add(own, records, rng)
			for j, v := range own {
				sample[j] += v
			}
			if p.Noise.AtSite() {
				if err := release(own, int64(len(records))); err != nil {
					return fail(err)
				}
			}
		}
		for !p.Noise.AtSite() && draws < p.Noise.Draws(len(parties)) {
			if err := release(sample, weight); err != nil {
				return fail(err)
			}
		}
		for j, v := range noise {
			sample[j] += v
			whole[j] = exact[j] + v
		}
		tables := make([]described.Table, 2)
		for i, vector := range [][]int64{sample, whole} {
			if tables[i], err = finished(t, vector, weight, draws); err != nil {
				return fail(err)
			}
		}
		tally.add(draw == 0, truth, tables[0], tables[1])
	}
	return tally.all(), nil
}

// add adds the parts of all records to out or, with an rng, those of a resample of the records.
func add(out []int64, records [][]describe.Part, rng *rand.Rand) {
	for i := range records {
		if rng != nil {
			i = rng.IntN(len(records))
		}
		for _, p := range records[i] {
			out[p.Cell] += p.Adds
		}
	}
}

func finished(t study.Finisher, vector []int64, weight int64, draws int) (out described.Table,
	err error) {
	total := bodies.Total{Weight: float64(weight), Draws: draws}
	for _, v := range vector {
		total.Values = append(total.Values, float64(v))
	}
	made, err := t.(bodies.Finisher).FinishTotal(total, nil)
	if err != nil {
		return out, err
	}
	return described.TableOf(study.Release{Result: made})
}

type heldTally struct{ of []held }

type held struct {
	named               described.Named
	draws, told         float64
	population, records float64
	squares, measured   float64
}

func (c *heldTally) add(first bool, truth, sample, whole described.Table) {
	a, b, d := truth.Estimates(), sample.Estimates(), whole.Estimates()
	if first {
		c.of = make([]held, len(a))
	}
	for i := range a {
		h := &c.of[i]
		h.named = a[i]
		if a[i].Estimate == nil { // for example the deviation of a constant number
			continue
		}
		h.draws++
		if b[i].Estimate == nil || d[i].Estimate == nil {
			continue
		}
		h.told++
		low, high := a[i].Value, a[i].Value
		if a[i].Measure == described.QuantileMeasure {
			low, high = a[i].NoiseLow, a[i].NoiseHigh
		}
		const rounding = 1e-9
		slack := rounding * math.Max(1, math.Abs(high))
		if b[i].Low <= low+slack && b[i].High >= high-slack {
			h.population++
		}
		if d[i].NoiseLow <= low+slack && d[i].NoiseHigh >= high-slack {
			h.records++
		}
		if of := a[i].Of; a[i].Measure != described.QuantileMeasure &&
			!(a[i].Measure == described.SD && of.Log) {
			off := of.Position(d[i].Value) - of.Position(a[i].Value)
			h.squares, h.measured = h.squares+off*off, h.measured+1
		}
	}
}

func (c *heldTally) all() []Coverage {
	var out []Coverage
	for _, form := range []described.Measure{described.Share, described.Mean, described.SD,
		described.QuantileMeasure} {
		of, sum := Coverage{Measure: form, Least: 1}, held{}
		for _, h := range c.of {
			if h.named.Measure != form || h.draws == 0 {
				continue
			}
			of.Estimates++
			sum.draws, sum.told, sum.population, sum.records = sum.draws+h.draws, sum.told+h.told,
				sum.population+h.population, sum.records+h.records
			sum.squares, sum.measured = sum.squares+h.squares, sum.measured+h.measured
			if h.told > 0 && h.population/h.told < of.Least {
				of.Least, of.LeastOf = h.population/h.told, h.named.Column+" "+h.named.What
			}
		}
		if sum.told == 0 {
			continue
		}
		of.Population, of.Records, of.Unknown = sum.population/sum.told, sum.records/sum.told,
			1-sum.told/sum.draws
		if sum.measured > 0 {
			of.Error = math.Sqrt(sum.squares / sum.measured)
		}
		out = append(out, of)
	}
	return out
}
