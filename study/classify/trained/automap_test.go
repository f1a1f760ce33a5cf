package trained_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/conformance"
	"caucus/study/kinds/planning"
)

// autoPlan returns a plan for this number of sites, and the encoded rows of a wide table of
// generated hospitals.
func autoPlan(t *testing.T, sites int, epsilon float64) (study.Plan, *mat.Dense) {
	t.Helper()
	table, schema := public.Hospitals(public.HospitalConfig{Sites: 2, Records: 800, Seed: 3,
		Missing: 0.05})
	r, _, err := schema.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	return study.Plan{
		Name: "auto", Kind: "classify", Schema: schema, Roster: roster(sites), Minimum: sites, KindTerms: conformance.EncodeTerms(classify.Terms{Shards: 1}),
		Unit: privacy.Record, Epsilon: epsilon, Delta: 1e-6, Mechanism: "cross", Noise: study.NoiseSite, Simulated: true,
	}, r.X
}

// Much noise keeps few components, little noise keeps more. The choice uses public numbers alone.
func TestAutoKeepsWhatTheNoiseAllows(t *testing.T) {
	auto := dataset.Components{Project: dataset.AutoComponents}
	kept := map[float64]dataset.ComponentCount{}
	for _, epsilon := range []float64{0.02, 10} {
		p, x := autoPlan(t, 12, epsilon)
		c, err := planning.ChooseMap(p, study.Size{Parties: 12, Records: 4000}, auto, x)
		if err != nil {
			t.Fatal(err)
		}
		if c.Analysis != dataset.FAMD || c.Whiten < 0 || c.Whiten > 1 {
			t.Errorf("ε = %g: %+v, want an analysis of mixed data", epsilon, c)
		}
		if epsilon == 10 {
			again, err := planning.ChooseMap(p, study.Size{Parties: 12, Records: 4000}, auto, x)
			if err != nil || again != c {
				t.Errorf("ε = %g: chose %+v, then %+v: %v", epsilon, c, again, err)
			}
		}
		kept[epsilon] = c.Project
	}
	if kept[0.02] >= kept[10] {
		t.Errorf("%d components at ε = .02, %d at 10: want fewer", kept[0.02], kept[10])
	}
}

// ChooseMap leaves a given number of components, and a given whitening, as they are.
func TestAutoLeavesAlone(t *testing.T) {
	p, x := autoPlan(t, 4, 1)
	size := study.Size{Parties: 4, Records: 2000}
	pixels := p
	pixels.Schema = dataset.Schema{Label: p.Schema.Label,
		Features: []dataset.Feature{{Columns: []string{"p0..p63"}, Kind: dataset.Numeric,
			Max: 255}}}
	ratio, output := p, p
	ratio.Kind = "ratio"
	output.Mechanism, output.Unit, output.Noise, output.Lambda, output.Delta = "output",
		privacy.Party, study.NoiseCoordinator, 0.1, 0
	few := x.Slice(0, 20-1, 0, x.RawMatrix().Cols).(*mat.Dense)
	for _, c := range []struct {
		name        string
		plan        study.Plan
		x           *mat.Dense
		asked, want dataset.Components
	}{
		{"a number", p, x, dataset.Components{Project: 7, Whiten: 0.3}, dataset.Components{Project: 7, Whiten: 0.3}},
		{"all features", p, x, dataset.Components{}, dataset.Components{}},
		{"pictures", pixels, mat.NewDense(50, 64, nil), dataset.Components{Project: dataset.AutoComponents}, dataset.Components{Project: 30, Analysis: dataset.PCA}},
		{"no forecast", output, x, dataset.Components{Project: dataset.AutoComponents}, dataset.Components{Project: 30, Analysis: dataset.FAMD}},
		{"another kind", ratio, x, dataset.Components{Project: dataset.AutoComponents}, dataset.Components{}},
		{"a pool of few rows", p, few, dataset.Components{Project: dataset.AutoComponents}, dataset.Components{Analysis: dataset.FAMD}},
	} {
		got, err := planning.ChooseMap(c.plan, size, c.asked, c.x)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v (%v), want %+v", c.name, got, err, c.want)
		}
	}
	got, err := planning.ChooseMap(p, size,
		dataset.Components{Project: dataset.AutoComponents, Whiten: 0.25}, x)
	if err != nil || got.Whiten != 0.25 || got.Project < 1 {
		t.Errorf("a given whiten: %+v, %v", got, err)
	}
	if _, err := planning.ChooseMap(p, size, dataset.Components{Project: dataset.AutoComponents,
		Analysis: "mca"}, x); err == nil || !strings.Contains(err.Error(), `no analysis "mca"`) {
		t.Errorf("error %v, want one that names the analysis", err)
	}
}

// The column dose looks small next to its bounds, and alone tells the classes apart. The default
// map keeps it; principal components of columns scaled by their bounds would lose it.
func TestDefaultMapKeepsSmallColumns(t *testing.T) {
	schema := dataset.Schema{
		Label: dataset.Label{Column: "y", Classes: []string{"no", "yes"}},
		Features: []dataset.Feature{
			{Column: "dose", Kind: dataset.Numeric, Max: 1000}, // all values are 0 to 10
			{Columns: []string{"l0..l11"}, Kind: dataset.Categorical, Levels: []string{"a", "b", "c"}},
		},
	}
	columns := append([]string{"dose"}, schema.FeatureColumns()[1:]...)
	rng := rand.New(rand.NewPCG(4, 4))
	var rows [][]string
	for range 700 {
		row := []string{fmt.Sprint(10 * rng.Float64())}
		for range columns[1:] {
			row = append(row, string("abc"[rng.IntN(3)]))
		}
		rows = append(rows, row)
	}
	table, err := dataset.NewTable(columns, rows)
	if err != nil {
		t.Fatal(err)
	}
	share := func(c dataset.Components) float64 {
		made, err := planning.ProposePlan(study.Proposal{Name: "small", Roster: roster(4),
			Records: 2000,
			Epsilon: 10, Map: c}, schema, table)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range made.Plan.Map.KeptShares(schema, made.Pool.Encoded) {
			if k.Column == "dose" {
				return k.Share
			}
		}
		return 1
	}
	if got := share(dataset.Components{Project: dataset.AutoComponents}); got < 0.5 {
		t.Errorf("auto keeps %.3f of the column", got)
	}
	if got := share(dataset.Components{Project: 20, Analysis: dataset.PCA}); got > 0.1 {
		t.Errorf("principal components keep %.3f of the column: this test cannot fail", got)
	}
}

func roster(parties int) (out []study.PartyID) {
	for i := range parties {
		out = append(out, study.PartyID(fmt.Sprint("p", i)))
	}
	return out
}
