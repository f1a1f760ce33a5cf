package simulate_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
)

// knownRecords loads a known data set, and skips the test if CAUCUS_DATA lacks it.
func knownRecords(t *testing.T, name string, holdOut bool) (dataset.Schema, *dataset.Records,
	*dataset.Records) {
	t.Helper()
	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Skip("CAUCUS_DATA is not set: it names the folder of real data")
	}
	k, err := public.LoadKnownDataset(name)
	if err != nil {
		t.Fatal(err)
	}
	read := func(part string) *dataset.Records {
		table, err := k.Load(os.DirFS(dir), part)
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := k.Schema.EncodeLabelled(table)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	train := read("train")
	if !k.HasTest() || holdOut {
		return k.Schema.WithoutFormat(), train, nil
	}
	return k.Schema.WithoutFormat(), train, read("test")
}

// TestRealData checks figures on real data sets. Splits are seeded and simulated noise follows from
// the plan's bytes, so the test is stable. One draw of wisdm's noise moves an accuracy by about
// .07, so its figure is a mean over ten. A short run checks a few.
func TestRealData(t *testing.T) {
	party, record := privacy.Party, privacy.Record
	type figure struct {
		name, set, mechanism         string
		noise                        study.Noise
		unit                         privacy.Unit
		parties, shards              int
		epsilon                      float64
		released, atMost, withoutAny float64 // bounds on the accuracies
		holdOut                      bool
		repeats                      int // 0: 1
	}
	figures := []figure{
		{name: "adult tally", set: "adult", mechanism: "tally", noise: study.NoiseCoordinator, unit: party, parties: 200, shards: 1, epsilon: 1, released: .80, atMost: 1, withoutAny: .83},
		{name: "adult cross", set: "adult", mechanism: "cross", noise: study.NoiseSite, unit: record, parties: 12, shards: 1, epsilon: 1, released: .825, atMost: 1, withoutAny: .83},
		{name: "adult means", set: "adult", mechanism: "means", noise: study.NoiseCoordinator, unit: party, parties: 200, shards: 1, epsilon: 1, released: .80, atMost: 1, withoutAny: .83},
		{name: "adult output as published", set: "adult", mechanism: "output-paper", noise: study.NoiseCoordinator, unit: party, parties: 200, shards: 1, epsilon: 1, atMost: .78, withoutAny: .83},
		{name: "adult majority", set: "adult", mechanism: "majority", noise: study.NoiseCoordinator, unit: party, parties: 200, shards: 1, epsilon: 1, atMost: .78, withoutAny: .83},
		{name: "adult cross, small budget", set: "adult", mechanism: "cross", noise: study.NoiseSite, unit: record, parties: 12, shards: 1, epsilon: .1, released: .77, atMost: 1, withoutAny: .83},
		{name: "adult shards", set: "adult", mechanism: "tally", noise: study.NoiseCoordinator, unit: record, parties: 12, shards: 50, epsilon: 1, released: .80, atMost: 1, withoutAny: .82},
		{name: "wisdm", set: "wisdm_har", mechanism: "tally", noise: study.NoiseCoordinator, unit: party, parties: 100, shards: 1, epsilon: 1, released: .50, atMost: 1, withoutAny: .63, repeats: 10},
		{name: "mnist", set: "mnist", mechanism: "tally", noise: study.NoiseCoordinator, unit: party, parties: 400, shards: 1, epsilon: 1, released: .70, atMost: 1, withoutAny: .85},
		{name: "kddcup99", set: "kddcup99", mechanism: "tally", noise: study.NoiseCoordinator, unit: party, parties: 1000, shards: 1, epsilon: .1, released: .96, atMost: 1, withoutAny: .97, holdOut: true},
	}
	for _, c := range figures[:testlevel.N(t, 2, len(figures))] {
		t.Run(c.name, func(t *testing.T) {
			schema, train, test := knownRecords(t, c.set, c.holdOut)
			delta := 1e-6
			s, err := simulate.Classify{
				Split: simulate.Split{Schema: schema, Train: train.AsTable(), Test: test.AsTable(), PoolFraction: .25, PoolRows: testlevel.N(t, 2500, 10_000), Parties: c.parties, Seed: 1},
				Proposal: study.Proposal{
					Name: "real data", Unit: c.unit, Epsilon: c.epsilon, Delta: &delta, Mechanism: c.mechanism, Noise: c.noise, KindTerms: fmt.Appendf(nil, `{"shards":%d}`, c.shards),
					Map: dataset.Components{Project: 30},
				},
				Repeats: max(c.repeats, 1),
			}.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			a := s.Accuracy
			t.Logf("released %.4f, unperturbed %.4f, pooled %.4f, one party %.4f, majority class %.4f", a.Released, a.Unperturbed, a.Pooled, a.LocalMean, a.MajorityClass)
			if a.Released < c.released || a.Released > c.atMost {
				t.Errorf("released %.4f, want %.2f to %.2f", a.Released, c.released, c.atMost)
			}
			if a.Unperturbed < c.withoutAny {
				t.Errorf("unperturbed %.4f, want at least %.2f", a.Unperturbed, c.withoutAny)
			}
		})
	}
}
