package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"caucus/auxdata"
	"caucus/dataset"
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
	// MinPopulation is the smallest Population of a single estimate, and MinEstimate names the
	// estimate.
	MinPopulation float64 `json:"least"`
	MinEstimate   string  `json:"least_of"`
	// UnknownShare is the share of draws without an estimate.
	UnknownShare float64 `json:"unknown"`
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
	again, right := redraw{of: of}, newTruth(p)
	for _, r := range parties {
		right.add(r)
		again.add(describe.AddendsOf(p, r))
	}
	truth, rng := right.table(), rand.New(rand.NewPCG(seed, 0x636f766572))
	for draw := range repeats {
		whole, sample, draws, err := again.draw(ctx, rng)
		if err != nil {
			return fail(err)
		}
		tables := make([]described.Table, 2)
		for i, vector := range [][]int64{sample, whole} {
			if tables[i], err = finished(t, vector, again.weight, draws); err != nil {
				return fail(err)
			}
		}
		tally.add(draw == 0, truth, tables[0], tables[1])
	}
	return tally.all(), nil
}

func finished(t study.Finisher, vector []int64, weight int64, draws int) (described.Table,
	error) {
	made, err := finishVector(t, vector, weight, draws)
	if err != nil {
		return described.Table{}, err
	}
	return described.TableOf(study.Release{Result: made})
}

type heldTally struct{ of []held }

type held struct {
	named               described.NamedEstimate
	draws, told         float64
	population, records float64
	squares, measured   float64
}

func (ht *heldTally) add(first bool, truth, sample, whole described.Table) {
	a, b, d := truth.Estimates(), sample.Estimates(), whole.Estimates()
	if first {
		ht.of = make([]held, len(a))
	}
	for i := range a {
		h := &ht.of[i]
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

func (ht *heldTally) all() []Coverage {
	var out []Coverage
	for _, form := range []described.Measure{described.Share, described.Mean, described.SD,
		described.QuantileMeasure} {
		of, sum := Coverage{Measure: form, MinPopulation: 1}, held{}
		for _, h := range ht.of {
			if h.named.Measure != form || h.draws == 0 {
				continue
			}
			of.Estimates++
			sum.draws, sum.told, sum.population, sum.records = sum.draws+h.draws, sum.told+h.told,
				sum.population+h.population, sum.records+h.records
			sum.squares, sum.measured = sum.squares+h.squares, sum.measured+h.measured
			if h.told > 0 && h.population/h.told < of.MinPopulation {
				of.MinPopulation, of.MinEstimate = h.population/h.told,
					h.named.Column+" "+h.named.What
			}
		}
		if sum.told == 0 {
			continue
		}
		of.Population, of.Records, of.UnknownShare = sum.population/sum.told, sum.records/sum.told,
			1-sum.told/sum.draws
		if sum.measured > 0 {
			of.Error = math.Sqrt(sum.squares / sum.measured)
		}
		out = append(out, of)
	}
	return out
}
