package simulate_test

import (
	"context"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
)

func hospital(t testing.TB, records int) (dataset.Schema, *dataset.Records) {
	t.Helper()
	schema, _, _, all := conformance.Hospital(t, records)
	return schema, all
}

func deal(t testing.TB, s simulate.Split) *simulate.DealtData {
	t.Helper()
	d, err := s.Deal(0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestKeptChangesNothing: for every place of noise and kind of statistic, a deal with Keep makes
// the release that Classify makes.
func TestKeptChangesNothing(t *testing.T) {
	schema, records := hospital(t, 2000)
	split := simulate.Split{Schema: schema, Train: records.AsTable(), PoolFraction: .25,
		Parties: 20,
		Seed:    4}
	d := deal(t, split)
	d.KeepComputations = true
	party, delta := privacy.Party, 1e-6
	for _, of := range []study.Proposal{
		{Mechanism: "tally", Unit: party, Epsilon: 3, Delta: &delta},
		{Mechanism: "tally", Unit: party, Epsilon: 30, Delta: &delta},
		{Mechanism: "moment", Unit: party, Epsilon: 10},
		{Mechanism: "output-paper", Unit: party, Epsilon: 10, Lambda: .1},
		{Mechanism: "cross", Epsilon: 3, Delta: &delta},
		{Mechanism: "tally", Epsilon: 3, Delta: &delta, KindTerms: []byte(`{"shards":2}`)},
	} {
		t.Run(of.Mechanism+" "+of.Unit.String(), func(t *testing.T) {
			of.Name, of.Map = "s", dataset.Components{Project: 8}
			task, err := d.Task(of)
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Run(context.Background(), task, simulate.Options{SkipUnperturbed: true})
			if err != nil {
				t.Fatal(err)
			}
			score, err := d.Score(task, got.Release.Result)
			if err != nil {
				t.Fatal(err)
			}
			want, err := simulate.Classify{Split: split, Proposal: of,
				Repeats: 1}.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if score != want.Accuracy.Released || got.UploadBytes != want.UploadBytes {
				t.Errorf("the deal's release scores %v with %v bytes, the simulation's %v with %v", score, got.UploadBytes, want.Accuracy.Released, want.UploadBytes)
			}
		})
	}
}

// TestSimulationRepeats: the same seed gives the same result in any scheduling; another seed gives
// another result.
func TestSimulationRepeats(t *testing.T) {
	schema, records := hospital(t, 2000)
	run := func(seed uint64) simulate.ClassifySummary {
		s, err := simulate.Classify{
			Split:    simulate.Split{Schema: schema, Train: records.AsTable(), PoolFraction: .25, Parties: 60, Seed: seed},
			Proposal: study.Proposal{Name: "s", Unit: privacy.Party, Epsilon: 3, Map: dataset.Components{Project: 10}}, Repeats: 2,
		}.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b, other := run(1), run(1), run(2)
	if a.Accuracy != b.Accuracy {
		t.Errorf("the same seed gave %+v and %+v", a.Accuracy, b.Accuracy)
	}
	if a.Accuracy == other.Accuracy {
		t.Error("another seed gave the same")
	}
}

// TestDealUnevenly: every record goes to exactly one party, and a small concentration gives parties
// with different classes.
func TestDealUnevenly(t *testing.T) {
	schema, records := hospital(t, 1600)
	spread := func(concentration float64) (gap float64) {
		d := deal(t, simulate.Split{Schema: schema, Train: records.AsTable(), PoolFraction: .25,
			Parties: 6, Concentration: concentration, Seed: 2})
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
	if even, uneven := spread(0), spread(.5); uneven < 2*even {
		t.Errorf("class shares of the parties span %.2f dealt evenly and %.2f skewed", even, uneven)
	}
}

// TestPoolWeightsCount: the pool's weights reach plan and release, kept or not; an invalid weight
// is refused.
func TestPoolWeightsCount(t *testing.T) {
	schema, records := hospital(t, 1600)
	split := simulate.Split{Schema: schema, Train: records.AsTable(),
		Pool: records.Select(conformance.Seq(0, 200)).AsTable(), Parties: 10, Seed: 1}
	of := study.Proposal{Name: "s", Unit: privacy.Party, Epsilon: 30,
		Map: dataset.Components{Project: 5}}
	run := func(weight []float64) (study.Plan, string) {
		s := split
		s.PoolWeight = weight
		d := deal(t, s)
		d.KeepComputations = true
		task, err := d.Task(of)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Run(context.Background(), task, simulate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return task.Plan(), string(got.Unperturbed.Body)
	}
	weight := make([]float64, 200)
	for i := range weight {
		weight[i] = 1 + float64(i%5)
	}
	even, without := run(nil)
	weighted, with := run(weight)
	if even.Pool == weighted.Pool {
		t.Error("the plan's pool has the same digest with other weights")
	}
	if with == without {
		t.Error("weights do not change the fit")
	}
	split.PoolWeight = make([]float64, 200)
	if _, err := deal(t, split).Task(of); err == nil {
		t.Error("weights of 0 are taken")
	}
}

// TestHeldOutParties: no party of the test set has a record in the pool or at a party; an
// impossible hold-out is refused.
func TestHeldOutParties(t *testing.T) {
	schema, records := hospital(t, 2000)
	split := simulate.Split{Schema: schema, Train: records.AsTable(), TestParties: true,
		PoolFraction: .25, Parties: 5, Seed: 3}
	if records.Party == nil {
		records.Party = make([]string, records.Len())
	}
	for i := range records.Party { // the first feature shows whose record it is
		records.Party[i] = string(rune('a' + i%12))
		records.X.Set(i, 0, float64(i%12))
	}
	d := deal(t, split)
	test := map[float64]bool{}
	for i := range d.Test.Len() {
		test[d.Test.All().X.At(i, 0)] = true
	}
	if len(test) != 3 {
		t.Errorf("%d of 12 parties are tested on, want 3", len(test))
	}
	for name, x := range map[string]*mat.Dense{"pool": d.Pool, "parties": d.Private.All().X} {
		n, _ := x.Dims()
		for i := range n {
			if test[x.At(i, 0)] {
				t.Fatalf("the %s have a record of a party that is tested on", name)
			}
		}
	}
	for i := range records.Party {
		records.Party[i] = "one"
	}
	if _, err := split.Deal(0); err == nil {
		t.Error("a quarter of one party was held out")
	}
}

// TestVirtualPartiesHaveKeys: each virtual party has a key of its own, so that its shards and what
// its learners draw are not those of another.
func TestVirtualPartiesHaveKeys(t *testing.T) {
	schema, records := hospital(t, 400)
	d := deal(t, simulate.Split{Schema: schema, Train: records.AsTable(), PoolFraction: .25,
		Parties: 20})
	seen := map[string]bool{}
	for i := range d.Parties {
		seen[string(d.Inputs(i).ShardKey())] = true
	}
	if len(seen) != len(d.Parties) || len(seen) < 2 {
		t.Errorf("%d parties have %d keys", len(d.Parties), len(seen))
	}
}
