package fitted_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
	"caucus/study/kinds/planning"
)

// seq returns 0, 1, … n−1.
func seq(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestCompareNeedsTwoClasses: Compare refuses records of one class, and too few records.
func TestCompareNeedsTwoClasses(t *testing.T) {
	table, schema := public.Hospitals(public.HospitalConfig{Sites: 1, Records: 700, Seed: 1})
	encoded := func(from, to int) *dataset.Records {
		r, _, err := schema.EncodeLabelled(table.Select(seq(to)[from:]))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	proposed, err := planning.ProposePlan(study.Proposal{
		Name: "s", Mechanism: "cross", Epsilon: 8, Records: 100, Minimum: 3, Roster: []study.PartyID{"a", "b", "c"},
	}, schema.WithoutFormat(), table.Select(seq(400)))
	if err != nil {
		t.Fatal(err)
	}
	var in []study.Inputs
	for i := range 3 {
		in = append(in, study.NewInputs(encoded(400+100*i, 500+100*i), []byte{byte(i)}))
	}
	release, err := simulate.RunPlan(context.Background(), proposed.Plan, proposed.Pool, in)
	if err != nil {
		t.Fatal(err)
	}
	own := in[0].Records
	if _, err := fitted.Compare(release, own.Select(seq(19))); err == nil || !strings.Contains(err.Error(), "at least 20 records with a label are needed, there are 19") {
		t.Errorf("of 19 records: %v", err)
	}
	for i := range own.Y {
		own.Y[i] = 1
	}
	if _, err := fitted.Compare(release, own); err == nil || !strings.Contains(err.Error(), `all 100 records with a label are of class "yes"`) {
		t.Errorf("of one class: %v", err)
	}
}

// TestFlattered: with next to no noise, a release is more often right on the records of a party, to
// which it was fitted, than on new records from the same source. A party's comparison must not
// understate this difference. The mean over draws is off by more than 6.1 standard errors in one
// run of 10⁹.
func TestFlattered(t *testing.T) {
	const parties, each, fresh, draws = 3, 60, 2000, 40
	var gaps, said, sure, rest []float64
	for seed := range uint64(draws) {
		table, schema := public.Hospitals(public.HospitalConfig{Sites: 1,
			Records: 400 + parties*each + fresh, Seed: seed + 1})
		next := 0
		take := func(n int) *dataset.Table {
			rows := make([]int, n)
			for i := range rows {
				rows[i] = next + i
			}
			next += n
			return table.Select(rows)
		}
		encoded := func(n int) *dataset.Records {
			r, _, err := schema.EncodeLabelled(take(n))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		proposed, err := planning.ProposePlan(study.Proposal{
			Name: "s", Mechanism: "cross", Epsilon: 64, Records: each, Minimum: parties, Lambda: 1e-4, Roster: []study.PartyID{"a", "b", "c"},
		}, schema.WithoutFormat(), take(400))
		if err != nil {
			t.Fatal(err)
		}
		var in []study.Inputs
		for i := range parties {
			in = append(in, study.NewInputs(encoded(each), []byte{byte(i)}))
		}
		release, err := simulate.RunPlan(context.Background(), proposed.Plan, proposed.Pool, in)
		if err != nil {
			t.Fatal(err)
		}
		others := encoded(fresh)
		predicted, _, err := classifier.Predict(release, others)
		if err != nil {
			t.Fatal(err)
		}
		right, labelled := classifier.CountCorrect(predicted, others.Y)
		for _, party := range in {
			c, err := fitted.Compare(release, party.Records)
			if err != nil {
				t.Fatal(err)
			}
			gap := c.Released.Accuracy - float64(right)/float64(labelled)
			gaps, said, sure = append(gaps, gap), append(said, c.OverfitBound),
				append(sure, c.GainMargin)
			rest = append(rest, gap-c.OverfitBound)
		}
	}
	se := func(v []float64) float64 { return stat.StdDev(v, nil) / math.Sqrt(float64(len(v))) }
	t.Logf("right more often by %.4f ± %.4f, said %.4f ± %.4f, where so many records tell %.4f", stat.Mean(gaps, nil), se(gaps), stat.Mean(said, nil), se(said), stat.Mean(sure, nil))
	if over := stat.Mean(rest, nil); over > 6.1*se(rest) {
		t.Errorf("the release is right more often on records it was fitted to by %.4f, and %.4f of that is not said", stat.Mean(gaps, nil), over)
	}
	if stat.Mean(said, nil) <= 0 {
		t.Error("nothing is said of it")
	}
}
