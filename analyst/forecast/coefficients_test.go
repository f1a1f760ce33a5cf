package forecast_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"caucus/analyst/forecast"
	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/internal/testlevel"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier/fitted"
	"caucus/study/classify"
	"caucus/study/classify/trained"
)

// TestCoefficientsForeseen, for a study of five sites: from pool, sizes, class shares and AUC
// alone, a forecast says which coefficients get an interval in most of three releases. It is always
// right where map and pool decide, and mostly right elsewhere. The forecast width is within a
// factor of 1.5 in the median. The seeds are fixed, so the test fails always or never.
func TestCoefficientsForeseen(t *testing.T) {
	auto, every := dataset.Components{Project: dataset.AutoComponents},
		dataset.Components{Project: 1000}
	all := []struct {
		set     string
		rows    int
		epsilon float64
		keep    dataset.Components
		told    int // fewest coefficients that get an interval in most releases
		// fewest coefficients for which the forecast is right: adult's classes are not linear
		agree int
		draws int
	}{
		{"hospitals", 10_000, 2, every, 18, 20, 4},
		{"heart_disease", 920, 8, auto, 0, 29, 4}, {"heart_disease", 920, 8, every, 0, 29, 4},
		{"hospitals", 20_000, 1, auto, 15, 20, 4}, {"adult", 32_000, 1, auto, 5, 75, 20},
	}
	for _, c := range all[:testlevel.N(t, 3, len(all))] {
		t.Run(fmt.Sprint(c.set, " ", c.keep.Project), func(t *testing.T) {
			schema, table := foreseenSet(t, c.set, c.rows)
			records, _, err := schema.EncodeLabelled(table)
			if err != nil {
				t.Fatal(err)
			}
			rows := make([]int, min(c.rows, records.Len()))
			for i := range rows {
				rows[i] = i * records.Len() / len(rows)
			}
			d := must(simulate.Split{Schema: schema.WithoutFormat(),
				Train:        records.Select(rows).AsTable(),
				PoolFraction: .1, Parties: 5, Seed: 3}.Deal(0))
			ill := 0
			for _, y := range d.Private.Y {
				ill += y
			}
			share := float64(ill) / float64(d.Private.Len())
			terms := fmt.Sprintf(`{"class_shares":[%v,%v]}`, 1-share, share)
			task := must(d.Task(study.Proposal{Name: "foreseen", Unit: privacy.Record,
				Epsilon: c.epsilon, Map: c.keep, KindTerms: []byte(terms)}))
			m, _ := classify.TrainLocal(t.Context(), task.Plan(), learners.DefaultLearner,
				d.Private.All(),
				rand.New(rand.NewPCG(1, 1)), false)
			auc := learners.MeasureScores(m.(learners.Linear), d.TestX(task), d.Test.Y,
				learners.LabelChannel{Classes: 2, Keep: 1}).AUC
			f := must(forecast.DrawForecast(t.Context(), task.Plan(), task.Pool(),
				forecast.PublicInputs{Size: d.Size(), AUC: auc}, forecast.Options{Draws: c.draws,
					Coefficients: true})).Coefficients
			var parties []study.Inputs
			for i := range d.Parties {
				parties = append(parties, d.Inputs(i))
			}
			const releases = 3
			p, has, told := task.Plan(), 0, make([]int, len(f.Of))
			var ratios []float64
			for seed := range uint64(releases) {
				p.Seed = seed
				of := trained.CoefficientsOf(must(simulate.RunPlan(t.Context(), p, task.Pool(),
					parties)))
				if of == nil {
					continue
				}
				has++
				for i, e := range of.Of {
					foreseen := f.Of[i]
					byMap := e.UnknownReason == fitted.MapLosesContrast ||
						strings.HasPrefix(e.UnknownReason, "fewer than")
					foreseenByMap := foreseen.NoIntervalReason == fitted.MapLosesContrast ||
						strings.HasPrefix(foreseen.NoIntervalReason, "fewer than")
					if e.Contrast != foreseen.Contrast || byMap != foreseenByMap || byMap &&
						e.UnknownReason != foreseen.NoIntervalReason {
						t.Errorf("%s: untold %q, foreseen %+v", e.Words(), e.UnknownReason,
							foreseen)
					}
					if e.LogOdds == nil {
						continue
					}
					told[i]++
					if foreseen.HalfWidth > 0 {
						ratios = append(ratios, (e.LogOdds.High-e.LogOdds.Low)/2/foreseen.HalfWidth)
					}
				}
			}
			agree, lost, yes := 0, 0, 0
			for i, foreseen := range f.Of {
				if foreseen.NoIntervalReason == fitted.MapLosesContrast {
					lost++
				}
				interval := 2*told[i] >= releases
				if interval {
					yes++
				}
				if interval == foreseen.Interval {
					agree++
				}
			}
			median := 1.0
			if slices.Sort(ratios); len(ratios) > 0 {
				median = ratios[len(ratios)/2]
			}
			t.Logf("AUC %.2f, share %.2f: %d of %d releases have coefficients, foreseen in %.2f; %d of %d have an interval, %d agree; real over foreseen width %.2f\n%s",
				auc, share, has, releases, f.ProbabilityShare, yes, len(f.Of), agree, median,
				f.Words())
			if (2*has >= releases) != (f.ProbabilityShare >= .5) || agree < c.agree ||
				yes < c.told ||
				math.Abs(math.Log(median)) > math.Log(1.5) {
				t.Error("the forecast is not what the releases are")
			}
			if c.keep == every && lost > 0 {
				t.Errorf("a map that keeps every direction loses %d", lost)
			}
		})
	}
}

func foreseenSet(t *testing.T, set string, rows int) (dataset.Schema, *dataset.Table) {
	if set == "hospitals" {
		c := public.DefaultHospitalConfig()
		c.Records = rows
		table, schema := public.Hospitals(c)
		return schema, table
	}
	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Skip("CAUCUS_DATA is not set: it names the folder of real data")
	}
	known := must(public.LoadKnownDataset(set))
	return known.Schema, must(known.Load(os.DirFS(dir), "train"))
}
