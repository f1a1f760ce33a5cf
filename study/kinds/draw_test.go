package kinds_test

import (
	"context"
	"testing"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/simulate"
)

// TestDrawIsARepeat: a draw makes the release that Simulation.Run makes, for
// every place of noise and kind of statistic, and parties' answers are reused
// without changing it.
func TestDrawIsARepeat(t *testing.T) {
	c := dataset.DefaultHospitalConfig()
	c.Records = 1500
	table, schema := dataset.Hospitals(c)
	records, _, err := schema.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	s := simulate.Simulation{
		Plan:  study.Plan{Name: "s", Kind: "classify", Schema: schema, Minimum: 1},
		Train: records, PoolFraction: .25, Parties: 20, Map: dataset.Components{Project: 8}, Repeats: 1, Seed: 4,
	}
	draw, err := s.Draw(0, simulate.Skew{})
	if err != nil {
		t.Fatal(err)
	}
	for _, terms := range []study.Plan{
		{Mechanism: "tally", Unit: privacy.Party, Noise: study.NoiseCoordinator, Epsilon: 3, Delta: 1e-6, Shards: 1},
		{Mechanism: "tally", Unit: privacy.Party, Noise: study.NoiseCoordinator, Epsilon: 30, Delta: 1e-6, Shards: 1},
		{Mechanism: "moment", Unit: privacy.Party, Noise: study.NoiseCoordinator, Epsilon: 10, Shards: 1},
		{Mechanism: "output-paper", Unit: privacy.Party, Noise: study.NoiseCoordinator, Epsilon: 10, Shards: 1, Lambda: .1},
		{Mechanism: "average", Unit: privacy.Party, Noise: study.NoiseCoordinator, Epsilon: 10, Shards: 1},
		{Mechanism: "cross", Unit: privacy.Record, Noise: study.NoiseSite, Epsilon: 3, Delta: 1e-6, Shards: 1},
		{Mechanism: "tally", Unit: privacy.Record, Noise: study.NoiseSite, Epsilon: 3, Delta: 1e-6, Shards: 2},
	} {
		t.Run(terms.Mechanism+" "+terms.Noise, func(t *testing.T) {
			got, err := draw.Release(context.Background(), terms)
			if err != nil {
				t.Fatal(err)
			}
			score, err := draw.Score(got.Release.Result)
			if err != nil {
				t.Fatal(err)
			}
			run := s
			run.Plan = terms
			run.Plan.Name, run.Plan.Kind, run.Plan.Schema, run.Plan.Minimum = "s", "classify", schema, 1
			want, err := run.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if score != want.Accuracy.Released || got.UploadBytes != want.UploadBytes {
				t.Errorf("a draw's release scores %v with %v bytes, the simulation's %v with %v", score, got.UploadBytes, want.Accuracy.Released, want.UploadBytes)
			}
		})
	}
}

// TestDealSkewed: every record goes to exactly one party, and a small
// concentration makes parties of different classes.
func TestDealSkewed(t *testing.T) {
	c := dataset.DefaultHospitalConfig()
	c.Records = 1200
	table, schema := dataset.Hospitals(c)
	records, _, err := schema.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	s := simulate.Simulation{
		Plan:  study.Plan{Name: "s", Kind: "classify", Schema: schema, Minimum: 1},
		Train: records, PoolFraction: .25, Parties: 6, Map: dataset.Components{Project: 5}, Repeats: 1, Seed: 2,
	}
	spread := func(k simulate.Skew) (gap float64) {
		d, err := s.Draw(0, k)
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]int, d.Private.Len())
		low, high := 1., 0.
		for _, rows := range d.Parties {
			ones := 0.
			for _, i := range rows {
				seen[i]++
				if d.Private.Y[i] == 1 {
					ones++
				}
			}
			if len(rows) > 20 {
				share := ones / float64(len(rows))
				low, high = min(low, share), max(high, share)
			}
		}
		for i, n := range seen {
			if n != 1 {
				t.Fatalf("record %d was dealt %d times", i, n)
			}
		}
		return high - low
	}
	if even, uneven := spread(simulate.Skew{}), spread(simulate.Skew{Concentration: .5}); uneven < 2*even {
		t.Errorf("class shares of the parties span %.2f dealt evenly and %.2f skewed", even, uneven)
	}
}
