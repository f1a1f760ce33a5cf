package simulate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"caucus/dataset"
	"caucus/study"
	"caucus/study/describe/described"
)

// Describe runs a describe proposal among virtual parties, and compares the release with the truth.
type Describe struct {
	// Split may have records without labels. Without Pool and PoolFraction, a twentieth is the
	// pool.
	Split
	Proposal study.Proposal // see Classify
	// Repeats is the number of draws for Coverage.
	Repeats int
}

// DescribeSummary compares one release with the same table without noise. Its numbers are exact
// truths about the records: right for public or made-up ones only.
type DescribeSummary struct {
	Summary // its Repeats are the draws of Coverage
	// Forecast is the forecast of the noise that study create would show.
	Forecast string `json:"forecast"`
	// RMSE is the root mean square error of the displayed counts, over all cells. NoisyRMSE is of
	// released counts.
	RMSE      float64 `json:"rmse"`
	NoisyRMSE float64 `json:"noisy_rmse"`
	// Released is the release's table. True is the table of the same records without noise.
	Released described.Table `json:"released"`
	True     described.Table `json:"true"`
	Coverage []Coverage      `json:"coverage,omitempty"`
}

// Check refuses more parties than records, a split without parties, and proposals that cannot run.
// 0 repeats are fine: one release and no coverage.
func (s Describe) Check() error {
	switch {
	case s.Parties > s.Train.Len():
		return fmt.Errorf("simulate: %d parties for %d records: give at most as many parties as records", s.Parties, s.Train.Len())
	case s.Parties == 0 && !s.Train.HasParty():
		return fmt.Errorf("simulate: give the number of parties, or name a party column")
	case s.Repeats < 0:
		return fmt.Errorf("simulate: %d repeats: give how often to draw noise and records, or 0", s.Repeats)
	}
	return s.CheckProposal(s.Proposal)
}

// Run simulates. The result depends on the seed alone.
func (s Describe) Run(ctx context.Context) (out DescribeSummary, err error) {
	if err := s.Check(); err != nil {
		return out, err
	}
	d, task, release, err := s.countAll(ctx, s.Proposal)
	if err != nil {
		return out, err
	}
	p, size := task.Plan(), d.Size()
	right := newTruth(p)
	for _, block := range d.Private.Subset(slices.Concat(d.Parties...)).Blocks() {
		right.add(block)
	}
	out = DescribeSummary{Summary: summaryOf(p, s.Repeats, &release, d.Short), True: right.table()}
	out.Totals = release.Totals
	if out.Released, err = described.TableOf(release); err != nil {
		return out, err
	}
	out.RMSE, out.NoisyRMSE = countErrors(out.Released, out.True)
	if out.Forecast, err = out.forecast(task, size); err != nil || s.Repeats == 0 {
		return out, err
	}
	var records []*dataset.Records
	for _, rows := range d.Parties {
		records = append(records, d.Private.Select(rows))
	}
	out.Coverage, err = DescribeCoverage(ctx, p, task.Pool(), records, s.Repeats, s.Seed)
	return out, err
}

func countErrors(released, truth described.Table) (shown, noisy float64) {
	cells := 0.0
	for i, col := range released.Columns {
		for g, s := range col.Groups {
			for k, v := range s.Counts {
				n := truth.Columns[i].Groups[g].Noisy[k]
				shown += (v - n) * (v - n)
				noisy += (s.Noisy[k] - n) * (s.Noisy[k] - n)
				cells++
			}
		}
	}
	return math.Sqrt(shown / max(cells, 1)), math.Sqrt(noisy / max(cells, 1))
}
