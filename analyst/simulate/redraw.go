package simulate

import (
	"context"
	"math/rand/v2"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// redraw draws, again and again, the noise of a study and records in place of the parties' own, for
// statistics that add up over records.
type redraw struct {
	of      bodies.Task
	parties []redrawn
	weight  int64 // number of all records
}

// redrawn is a party of this number of records, of which add adds one to a sum.
type redrawn struct {
	records int
	add     func(sum []int64, record int)
}

func (r *redraw) party(records int, add func(sum []int64, record int)) {
	r.parties, r.weight = append(r.parties, redrawn{records, add}), r.weight+int64(records)
}

// add adds a party by the parts of each of its records.
func (r *redraw) add(records [][]bodies.Addend) {
	r.party(len(records), func(sum []int64, i int) {
		for _, p := range records[i] {
			sum[p.Cell] += p.Adds
		}
	})
}

// draw returns the released vector of the records as they are, that of each party's records
// resampled with replacement, and the number of noises in both, which are the same.
func (r *redraw) draw(ctx context.Context, rng *rand.Rand) ([]int64, []int64, int, error) {
	cells, p, draws := r.of.Statistic.Cells(), r.of.Plan(), 0
	noise := make([]int64, cells)
	whole, sample := make([]int64, cells), make([]int64, cells)
	release := func(vector []int64, weight int64) error {
		requests, err := bodies.Requests(r.of.Statistic, vector, weight)
		if err != nil {
			return err
		}
		out, err := study.ReleaseRequests(ctx, privacy.NewSimulation(rng.Uint64()), r.of.Hash(),
			requests)
		if err != nil {
			return err
		}
		for j, v := range out[0].Values {
			noise[j] += v - vector[j]
		}
		draws++
		return nil
	}
	for _, of := range r.parties {
		own := make([]int64, cells)
		for i := range of.records {
			of.add(whole, i)
			of.add(own, rng.IntN(of.records))
		}
		for j, v := range own {
			sample[j] += v
		}
		if p.Noise.AddedAtSite() {
			if err := release(own, int64(of.records)); err != nil {
				return nil, nil, 0, err
			}
		}
	}
	for !p.Noise.AddedAtSite() && draws < p.Noise.Draws(len(r.parties)) {
		if err := release(sample, r.weight); err != nil {
			return nil, nil, 0, err
		}
	}
	for j, v := range noise {
		whole[j], sample[j] = whole[j]+v, sample[j]+v
	}
	return whole, sample, draws, ctx.Err()
}

// finishVector makes the result of a released vector, which has so many noises.
func finishVector(t study.Finisher, vector []int64, weight int64, draws int) (study.Result, error) {
	total := bodies.Total{Weight: float64(weight), Draws: draws}
	for _, v := range vector {
		total.Values = append(total.Values, float64(v))
	}
	return t.(bodies.Finisher).FinishTotal(total, nil)
}
