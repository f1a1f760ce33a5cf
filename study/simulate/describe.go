package simulate

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/describe"
	"caucus/study/kinds"
)

// Describe runs a describe proposal among virtual parties, and compares what is released
// with the truth.
type Describe struct {
	Schema   dataset.Schema
	Records  *dataset.Records
	Proposal study.Proposal   // as in Classify
	Pool     *dataset.Records // public; nil: a twentieth of the records
	// PoolWeight is a weight per row of Pool; nil: equal weights.
	PoolWeight []float64
	// Parties share the records in random equal parts; 0 takes the natural parties of the
	// records' party column. PerParty is the most records that one is dealt; 0: no limit.
	Parties, PerParty int
	// Repeats draw noise and records anew, and count how often intervals hold the truth.
	Repeats int
	Seed    uint64
}

// DescribeSummary is what a simulation found.
type DescribeSummary struct {
	Study     string       `json:"study"`
	Mechanism string       `json:"mechanism"`
	Where     string       `json:"where,omitempty"`
	Unit      privacy.Unit `json:"unit"`
	Noise     study.Noise  `json:"noise"`
	Epsilon   float64      `json:"epsilon"`
	Delta     float64      `json:"delta"`
	Parties   int          `json:"parties"`
	// Forecast is what study create would say of the plan.
	Forecast string `json:"forecast"`
	// RMSE is the root mean square of released counts as shown less true ones, over
	// all cells; NoisyRMSE that of the counts as released.
	RMSE      float64 `json:"rmse"`
	NoisyRMSE float64 `json:"noisy_rmse"`
	// Released is the release's table, True that of the same records.
	Released describe.Table `json:"released"`
	True     describe.Table `json:"true"`
	// Coverage is how often the intervals held the truth in Repeats draws.
	Repeats  int               `json:"repeats,omitempty"`
	Coverage []Coverage        `json:"coverage,omitempty"`
	Totals   []study.UnitTotal `json:"totals"`
	// Release is the first draw's.
	Release *study.Release `json:"-"`
}

// Check says what is wrong with a simulation before it starts.
func (s Describe) Check() error {
	switch {
	case max(s.Parties, 1) >= s.Records.Len():
		return fmt.Errorf("simulate: %d parties for %d records: give more records than parties", s.Parties, s.Records.Len())
	case s.Parties == 0 && s.Records.Party == nil:
		return fmt.Errorf("simulate: give the number of parties, or name a party column")
	case s.Repeats < 0:
		return fmt.Errorf("simulate: %d repeats: give how often to draw noise and records, or 0", s.Repeats)
	}
	parties := cmp.Or(s.Parties, len(partiesOf(s.Records)))
	return checkProposal(s.Proposal, s.Schema, study.Size{Parties: parties, Records: s.Records.Len()})
}

// Run simulates. The answer depends on the seed alone.
func (s Describe) Run(ctx context.Context) (out DescribeSummary, err error) {
	if err := s.Check(); err != nil {
		return out, err
	}
	parties, dealt, public := s.deal()
	size := study.Size{Parties: len(parties), Records: dealt.Len()}
	of := s.Proposal
	of.Seed = s.Seed
	p, err := complete(of, s.Schema, size)
	if err != nil {
		return out, err
	}
	p.Records = cmp.Or(p.Records, size.Records/size.Parties)
	pool := auxdata.Virtual(public.X, p.Map)
	if s.PoolWeight != nil {
		if pool, err = pool.Weighted(s.PoolWeight); err != nil {
			return out, err
		}
	}
	if err := kinds.SetPool(&p, pool); err != nil {
		return out, err
	}
	release, err := Rehearse(ctx, p, pool, parties)
	if err != nil {
		return out, err
	}
	out = DescribeSummary{
		Study: p.Kind, Mechanism: p.Mechanism, Where: p.Where, Unit: p.Unit, Noise: p.Noise, Epsilon: p.Epsilon, Delta: p.Delta,
		Parties: len(parties), True: describe.Exact(p, dealt), Totals: release.Totals, Repeats: s.Repeats, Release: &release,
	}
	if out.Released, err = describe.TableOf(release); err != nil {
		return out, err
	}
	out.RMSE, out.NoisyRMSE = countErrors(out.Released, out.True)
	if out.Forecast, err = forecastNoise(p, pool, size); err != nil || s.Repeats == 0 {
		return out, err
	}
	var records []*dataset.Records
	for _, in := range parties {
		records = append(records, in.Records)
	}
	out.Coverage, err = DescribeCoverage(ctx, p, pool, records, s.Repeats, s.Seed)
	return out, err
}

// deal gives each virtual party its records; dealt are those of all, public those of the pool.
func (s Describe) deal() (out []study.Inputs, dealt, public *dataset.Records) {
	var all []int
	rows := map[string][]int{}
	deck := rand.New(rand.NewPCG(s.Seed, 0)).Perm(s.Records.Len())
	if public = s.Pool; public == nil {
		n := max(1, min(len(deck)/20, len(deck)-s.Parties))
		public, deck = s.Records.Select(deck[:n]), deck[n:]
	}
	for at, i := range deck {
		name := fmt.Sprint(at % max(s.Parties, 1))
		if s.Parties == 0 {
			name = s.Records.Party[i]
		}
		if s.PerParty == 0 || len(rows[name]) < s.PerParty {
			rows[name] = append(rows[name], i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		all = append(all, rows[name]...)
		out = append(out, study.Inputs{Records: s.Records.Select(rows[name]), ShardKey: binary.BigEndian.AppendUint64(nil, s.Seed+uint64(len(out)))})
	}
	return out, s.Records.Select(all), public
}

// forecastNoise is what study create says of a plan.
func forecastNoise(p study.Plan, pool *auxdata.Pool, size study.Size) (string, error) {
	task, err := kinds.NewTask(p, pool)
	if err != nil {
		return "", err
	}
	words, _, err := task.(study.NoiseForecaster).ForecastNoise(size)
	return words, err
}

// countErrors are root mean squares over all cells; 0 where nothing but a count is
// released.
func countErrors(released, truth describe.Table) (shown, noisy float64) {
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
