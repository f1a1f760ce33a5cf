package demo

import (
	"math"
	"math/rand/v2"
	"strconv"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
	"caucus/study/survival"
	"caucus/study/survival/lifetable"
)

// The demo's data sets have no times, so patients of a trial are made up for its survival study.

func followupSchema() dataset.Schema {
	return dataset.Schema{
		Name:  "followup",
		Label: dataset.Label{Column: "relapse", Classes: []string{"no", "yes"}},
		Features: []dataset.Feature{
			{Column: "months", Kind: dataset.Numeric, Min: 0, Max: 60},
			{Column: "arm", Kind: dataset.Categorical, Levels: []string{"control", "treated"}},
		},
	}
}

var followupTerms = survival.Terms{Time: "months", By: "arm", Until: 48, Expected: .5}

// makeFollowup makes up patients whose hazard is even: half of the controls have a relapse within
// 24 months, and the treated have .6 times their hazard. Patients are seen for 6 to 60 months.
func makeFollowup(rng *rand.Rand, patients int) (*dataset.Table, error) {
	rows := make([][]string, patients)
	for i := range rows {
		arm, hazard := "control", math.Ln2/24
		if rng.IntN(2) == 1 {
			arm, hazard = "treated", .6*hazard
		}
		relapse, after, seen := "no", rng.ExpFloat64()/hazard, 6+54*rng.Float64()
		if after < seen {
			relapse, seen = "yes", after
		}
		rows[i] = []string{strconv.FormatFloat(seen, 'f', 1, 64), arm, relapse}
	}
	return dataset.NewTable([]string{"months", "arm", "relapse"}, rows)
}

// dealFollowup gives each clinic as many patients as it has records, and makes a pool.
func (o Options) dealFollowup(data *dealt) error {
	rng := rand.New(rand.NewPCG(o.Seed, 0x666f6c6c6f77)) // "follow" in ASCII
	for _, records := range data.clinics {
		t, err := makeFollowup(rng, records.Rows())
		if err != nil {
			return err
		}
		data.followup = append(data.followup, t)
	}
	var err error
	data.followupPool, err = makeFollowup(rng, 50)
	return err
}

// judgeCurves compares the released curves with the life table of all patients without noise. The
// baseline is what the plan expects; one clinic alone has the life table of its own patients.
func judgeCurves(r study.Release, pool *auxdata.Pool, data dealt) (Measure, error) {
	p, err := results.CheckedPlan(r)
	if err != nil {
		return Measure{}, err
	}
	task, err := kinds.NewTask(p, pool)
	if err != nil {
		return Measure{}, err
	}
	counted := task.(survival.Task).Counted
	released, err := lifetable.TableOf(r)
	if err != nil {
		return Measure{}, err
	}
	all, seen := make([]float64, counted.Cells()), int64(0)
	var sites []lifetable.Table
	for _, table := range data.followup {
		records, _, err := p.Encode(kinds.RecordSchema(p), table)
		if err != nil {
			return Measure{}, err
		}
		own := make([]float64, counted.Cells())
		for i := range records.Y {
			at := counted.CellOf(records, i)
			own[at]++
			all[at]++
		}
		seen += int64(records.Len())
		of, err := lifetable.Of(p, own, int64(records.Len()), 0)
		if err != nil {
			return Measure{}, err
		}
		sites = append(sites, of)
	}
	truth, err := lifetable.Of(p, all, seen, 0)
	if err != nil {
		return Measure{}, err
	}
	terms := study.TermsOf[survival.Terms](p)
	rms := func(off func(group, edge int, is lifetable.Point) float64) float64 {
		sum, n := 0., 0.
		for g, of := range truth.Groups {
			for j, is := range of.Points {
				d := off(g, j, is)
				sum, n = sum+d*d, n+1
			}
		}
		return math.Sqrt(sum / max(n, 1))
	}
	beside := func(t lifetable.Table) float64 {
		return rms(func(g, j int, is lifetable.Point) float64 {
			curve, at := t.Groups[g].Points, 1.
			if last := min(j, len(curve)-1); last >= 0 {
				at = curve[last].Survival.Value // a curve that ends says nothing else
			}
			return at - is.Survival.Value
		})
	}
	alone := 0.
	for _, t := range sites {
		alone += beside(t) / float64(len(sites))
	}
	return Measure{
		Name: "error of the curves (rms)", Better: "low", Released: beside(released), Alone: &alone,
		Margin: rms(func(_, _ int, is lifetable.Point) float64 {
			return (is.Survival.High - is.Survival.Low) / 2
		}), MarginText: "about: half a 95 % interval of all patients without noise",
		Baseline: rms(func(_, _ int, is lifetable.Point) float64 {
			return math.Pow(1-terms.Expected, is.Time/terms.Until) - is.Survival.Value
		}), BaselineName: "what the plan expects",
	}, nil
}
