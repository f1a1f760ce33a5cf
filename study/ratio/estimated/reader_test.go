package estimated

import (
	"math"
	"slices"
	"testing"

	"caucus/aggregation/ratio"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
	studyratio "caucus/study/ratio"
)

func hospital(t *testing.T, records int) (dataset.Schema, *auxdata.Pool, dataset.Map,
	*dataset.Records) {
	t.Helper()
	c := public.DefaultHospitalConfig()
	c.Records = records
	table, schema := public.Hospitals(c)
	all, _, err := schema.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	quarter := all.Select(places(all.Len() / 4))
	m, err := dataset.FitPCA(quarter.X, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	return schema, auxdata.NewSimulated(quarter.X, m), m,
		all.Select(places(all.Len())[all.Len()/4:])
}

func places(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func ratioPlan(schema dataset.Schema, pool *auxdata.Pool, m dataset.Map, features string,
	change func(*studyratio.Terms)) study.Plan {
	terms := studyratio.DefaultTerms()
	terms.Features, terms.Fourier, terms.SetSize = features, 40, 100
	p := study.Plan{
		Name: "test", Kind: kindName, Schema: schema, Map: m, Pool: pool.Digest,
		Roster: []study.PartyID{"a", "b", "c", "d", "e", "f"}, Records: 200, Unit: privacy.Label, Epsilon: 1, Delta: 1e-6,
		Mechanism: "laplace", Noise: study.NoiseSite, Minimum: 2, Seed: 1,
	}
	if features == studyratio.FeaturesNoisyEmbedding {
		p.Unit, p.Mechanism = privacy.Record, "gaussian-zcdp"
	}
	if change != nil {
		change(&terms)
	}
	if err := terms.ChooseWidth(pool); err != nil {
		panic(err)
	}
	if err := p.SetTerms(terms); err != nil {
		panic(err)
	}
	return p
}

// contribute makes a body through a real ledger, and a reader for it.
func contribute(t *testing.T, p study.Plan, pool *auxdata.Pool, in study.Inputs) ([]byte,
	studyratio.ContributionReader) {
	t.Helper()
	of, err := studyratio.Kind{}.New(p, pool)
	if err != nil {
		t.Fatal(err)
	}
	task := of.(studyratio.Task)
	made, err := task.Contribute(in)
	if err != nil {
		t.Fatal(err)
	}
	l, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	released, err := study.ReleaseRequests(t.Context(), l, task.Hash(), made.Requests)
	if err != nil {
		t.Fatal(err)
	}
	body, err := made.Body(released)
	if err != nil {
		t.Fatal(err)
	}
	return body, task.Reader
}

// TestRatioMadeSets: sets made from labels differ in class shares by the skew, and their noisy
// sizes add up to about the number of records.
func TestRatioMadeSets(t *testing.T) {
	schema, pool, m, records := hospital(t, 6000)
	p := ratioPlan(schema, pool, m, studyratio.FeaturesNoisyEmbedding, func(t *studyratio.Terms) {
		t.Sets, t.Skew = studyratio.SetsMade, .7
	})
	body, got := contribute(t, p, pool, study.NewInputs(records, []byte("k")))
	sets, small, err := estimator{got}.sets(study.BodiesOf([][]byte{body}))
	if err != nil || small > 0 || len(sets) != 2 {
		t.Fatalf("%d sets, %d small, %v", len(sets), small, err)
	}
	n := sets[0].EmbeddedRows + sets[1].EmbeddedRows
	// four counts of deviation 21: 7 deviations of their sum
	if math.Abs(float64(n-records.Len())) > 300 {
		t.Errorf("the noisy sizes sum to %d for %d records", n, records.Len())
	}
	truth := ratio.SharesOfLabels(records.Y, nil, 2)
	for k, s := range sets {
		want := .7 * truth[k] / (.7*truth[k] + .3*truth[1-k])
		if math.Abs(s.Shares[k]-want) > .1 {
			t.Errorf("set %d has share %.3f of its class, want about %.3f", k, s.Shares[k], want)
		}
	}
}

// TestRatioImpossibleNumbers: numbers that no ledger can have released are refused on receipt, so
// that a party with invented numbers cannot spoil the estimate.
func TestRatioImpossibleNumbers(t *testing.T) {
	schema, pool, m, records := hospital(t, 400)
	in := study.NewInputs(records.Select(places(30)), []byte("k"))
	for _, mechanism := range []string{"laplace", "gaussian", "gaussian-zcdp", "dirichlet",
		"laplace-prior", "noisy", "made"} {
		p := ratioPlan(schema, pool, m, studyratio.FeaturesEmbedding, nil)
		switch mechanism {
		case "noisy":
			p = ratioPlan(schema, pool, m, studyratio.FeaturesNoisyEmbedding, nil)
		case "made":
			p = ratioPlan(schema, pool, m, studyratio.FeaturesNoisyEmbedding,
				func(t *studyratio.Terms) {
					t.Sets, t.Skew = studyratio.SetsMade, .6
				})
		default:
			p.Mechanism = mechanism
		}
		body, got := contribute(t, p, pool, in) // an honest body passes
		b, err := got.Parse(body)
		if err != nil {
			t.Fatalf("%s: %v", mechanism, err)
		}
		for name, forge := range map[string]func(v []int64){
			"as low as can be": func(v []int64) {
				for i := range v {
					v[i] = -1 << 61
				}
			},
			"one huge count": func(v []int64) { v[0] = 1 << 50 },
			"one huge sum":   func(v []int64) { v[len(v)-1] = 1 << 55 },
			"opposite":       func(v []int64) { v[0], v[1] = v[0]+1e12, v[1]-1e12 },
		} {
			forged := b
			forged.Released.Values = slices.Clone(b.Released.Values)
			forge(forged.Released.Values)
			if got.CheckPossible(forged) == nil {
				t.Errorf("%s: %s is accepted", mechanism, name)
			}
		}
	}
	p := ratioPlan(schema, pool, m, studyratio.FeaturesEmbedding, nil)
	body, got := contribute(t, p, pool, in)
	b, _ := got.Parse(body)
	b.Released.Values = make([]int64, len(b.Released.Values))
	if got.CheckPossible(b) == nil {
		t.Error("laplace keeps a set's sum, and counts of another sum are accepted")
	}
}

// TestWhereSets: under a condition a set's shares count the records inside alone, in every form of
// features and sets that allows a condition. Empty places and sets with hardly any records inside
// are left out.
func TestWhereSets(t *testing.T) {
	const inside = 4000
	for name, s := range map[string]struct {
		features, where string
		sets            int
		change          func(*studyratio.Terms)
	}{
		"noisy":     {studyratio.FeaturesNoisyEmbedding, "age >= 65", 1, nil},
		"columns":   {studyratio.FeaturesNoisyEmbedding, "age >= 65", 2, func(t *studyratio.Terms) { t.Sets, t.MaxSets = studyratio.SetsColumn, 6 }},
		"made":      {studyratio.FeaturesNoisyEmbedding, "age >= 65", 2, func(t *studyratio.Terms) { t.Sets, t.Skew = studyratio.SetsMade, .7 }},
		"clear":     {studyratio.FeaturesClear, "age >= 65", 1, nil},
		"clear too": {studyratio.FeaturesClear, "age >= 65", 2, func(t *studyratio.Terms) { t.Sets, t.MaxSets = studyratio.SetsColumn, 6 }},
		"nobody":    {studyratio.FeaturesNoisyEmbedding, "age > 99.99", 0, nil},
	} {
		schema, pool, m, records := hospital(t, 12000)
		schema.Party = "set"
		p := ratioPlan(schema, pool, m, s.features, s.change)
		p.Where = s.where
		if err := (studyratio.Kind{}).Check(p); err != nil {
			t.Fatal(name, err)
		}
		// More than half of the records are marked as outside.
		records.FailsCondition, records.Party = make([]bool, records.Len()),
			make([]string, records.Len())
		var within []int
		for i := range records.FailsCondition {
			records.Party[i] = []string{"a", "b"}[i%2]
			if records.FailsCondition[i] = i >= inside || s.sets == 0; records.FailsCondition[i] {
				records.Y[i] = -1
			} else {
				within = append(within, records.Y[i])
			}
		}
		body, got := contribute(t, p, pool, study.NewInputs(records, []byte("k")))
		sets, _, err := estimator{got}.sets(study.BodiesOf([][]byte{body}))
		if err != nil || len(sets) != s.sets {
			t.Errorf("%s: %d sets, want %d: %v", name, len(sets), s.sets, err)
			continue
		}
		if s.sets == 0 {
			continue
		}
		truth := ratio.SharesOfLabels(within, nil, 2)
		n, first := 0.0, 0.0
		for _, set := range sets {
			n, first = n+float64(set.EmbeddedRows), first+float64(set.EmbeddedRows)*set.Shares[0]
		}
		// Two to four counts of deviation 21: 7 deviations of their sum.
		if math.Abs(n-inside) > 300 || math.Abs(first/n-truth[0]) > .06 {
			t.Errorf("%s: %.0f records of which %.3f are of the first class, want %d and %.3f", name, n, first/n, inside, truth[0])
		}
	}
}
