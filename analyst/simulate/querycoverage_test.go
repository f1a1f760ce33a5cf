package simulate

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/internal/testlevel"
	"caucus/study"
	"caucus/study/reweigh/weighed"
)

// TestQueryCoverage asks 19 queries of releases of adult in which groups are mostly private, and
// counts the intervals printed and those that hold the truth. Threshold and form were chosen on the
// first set of groups, nothing on the second. A short run asks about one group per set, with fewer
// records.
func TestQueryCoverage(t *testing.T) {
	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Skip("CAUCUS_DATA is not set: it names the folder of real data")
	}
	known, err := public.LoadKnownDataset("adult")
	if err != nil {
		t.Fatal(err)
	}
	table, err := known.Load(os.DirFS(dir), "train")
	if err != nil {
		t.Fatal(err)
	}
	rows := testlevel.N(t, 3000, 12_000)
	table = table.Select(rand.New(rand.NewPCG(1, 1)).Perm(table.Rows())[:rows])
	queries := []string{
		`income == ">50K"`, `education-num >= 13`, `education-num <= 8`, `occupation == Exec-managerial`,
		`occupation == Craft-repair`, `occupation == Adm-clerical`, `age >= 45`, `age < 25`, `hours-per-week >= 45`,
		`hours-per-week < 35`, `age < 30 and marital-status == Never-married`, `capital-gain > 0`, `fnlwgt > 200000`,
		`income == ">50K" and age < 45`, `education-num >= 13 and hours-per-week >= 45`,
		`native-country == United-States and race != White`, `marital-status == Divorced and age >= 45`,
		`capital-loss > 0 or capital-gain > 0`, `race == Black and education-num >= 10`,
	}
	holds := func(text string) []bool {
		c, err := dataset.ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		h, err := c.Rows(table)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for _, set := range []struct {
		name     string
		groups   map[string]string // by their column
		without  []string
		share    float64
		epsilons []float64
	}{
		{"chosen", map[string]string{
			"sex": "sex == Male", "marital-status": "marital-status == Married-civ-spouse", "race": "race == White", "age": "age >= 40",
			"hours-per-week": "hours-per-week >= 45", "workclass": "workclass == Private", "education-num": "education-num >= 11",
		}, []string{"occupation"}, 0.9, []float64{0.1, 1}},
		{"fresh", map[string]string{
			"occupation": "occupation == Exec-managerial", "relationship": "relationship == Husband", "native-country": "native-country == United-States",
			"age": "age < 30", "capital-gain": "capital-gain > 0",
		}, []string{"relationship", "education-num"}, 0.75, []float64{0.3, 3}},
	} {
		t.Run(set.name, func(t *testing.T) {
			asked, printed, right, width := 0, 0, 0, 0.0
			for _, column := range testlevel.Of(t, slices.Sorted(maps.Keys(set.groups)), 1) {
				group := set.groups[column]
				schema := known.Schema.WithoutFormat().WithoutColumns(column)
				for _, c := range set.without {
					if c != column {
						schema = schema.WithoutColumns(c)
					}
				}
				schema.Party = ""
				records, _, err := schema.Encode(table)
				if err != nil {
					t.Fatal(err)
				}
				for _, epsilon := range testlevel.Of(t, set.epsilons, 1) {
					s := Reweigh{
						Schema: schema, Proposal: study.Proposal{Name: "coverage", Kind: "reweigh", Epsilon: epsilon}, Records: records.AsTable(),
						Group: holds(group), PrivateShare: set.share, Query: make([]float64, rows), Parties: 5, Repeats: 1, Seed: 3,
					}
					for repeat := range testlevel.N(t, 1, 2) {
						d, err := s.deal(repeat)
						if err != nil {
							t.Fatal(err)
						}
						task, err := d.Task(s.Proposal)
						if err != nil {
							t.Fatal(err)
						}
						run, err := d.Run(context.Background(), task,
							Options{SkipUnperturbed: true})
						if err != nil {
							t.Fatal(err)
						}
						for _, q := range queries {
							of := func(h []bool, places []int) []float64 {
								b := make([]float64, len(places))
								for i, row := range places {
									if h[row] {
										b[i] = 1
									}
								}
								return b
							}
							h, truth := holds(q), 0.0
							for _, v := range of(h, d.private) {
								truth += v / float64(len(d.private))
							}
							a, err := weighed.EstimateQuery(run.Release, task.Pool(), of(h, d.pool))
							if err != nil {
								t.Fatal(err)
							}
							if asked++; a.Low == nil {
								continue
							}
							printed++
							width += *a.High - *a.Low
							if *a.Low <= truth && truth <= *a.High {
								right++
							} else {
								t.Logf("%s, ε = %g: %s is %.4f, the interval %.4f to %.4f", group, epsilon, q, truth, *a.Low, *a.High)
							}
						}
					}
				}
			}
			held := float64(right) / float64(printed)
			t.Logf("%s: %d answers, %d with an interval, %.4f wide on average, %.3f of them hold the truth", set.name, asked, printed, width/float64(printed), held)
			if held < 0.9 {
				t.Errorf("%s: %.3f of the intervals hold the truth", set.name, held)
			}
		})
	}
}
