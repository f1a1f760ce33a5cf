package fitting

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/dataset"
)

// smallPool returns n rows of norm at most 1 with an intercept.
func smallPool(n, d int, rng *rand.Rand) *mat.Dense {
	x := mat.NewDense(n, d, nil)
	for i := range n {
		row := x.RawRowView(i)
		for j := range d - 1 {
			row[j] = rng.NormFloat64()
		}
		norm := mat.Norm(x.RowView(i), 2)
		for j := range d - 1 {
			row[j] *= rng.Float64() / (norm * math.Sqrt2)
		}
		row[d-1] = math.Sqrt(0.5)
	}
	return x
}

func tiltSchema() dataset.Schema {
	return dataset.Schema{
		Label: dataset.Label{Column: "y", Classes: []string{"a", "b"}},
		Features: []dataset.Feature{
			{Column: "ward", Kind: dataset.Categorical, Levels: []string{"one", "two", "three"}},
			{Column: "age", Kind: dataset.Numeric, Min: 0, Max: 1},
			{Column: "sex", Kind: dataset.Categorical, Levels: []string{"f", "m", "other"}},
			{Column: "dose", Kind: dataset.Numeric, Min: 0, Max: 1, FlagMissing: true},
		},
	}
}

// people returns n encoded rows; tilt moves wards and ages.
func people(n int, tilt float64, rng *rand.Rand) *mat.Dense {
	x := mat.NewDense(n, tiltSchema().Dim(), nil)
	for i := range n {
		ward := 0
		for ward < 3 && rng.Float64() < 0.5+tilt/4 {
			ward++
		}
		x.Set(i, ward, 1)
		x.Set(i, 4, math.Pow(rng.Float64(), 1-tilt/2))
		x.Set(i, 5+rng.IntN(3), 1)
		x.Set(i, 8, rng.Float64())
		if rng.Float64() < 0.1 {
			x.Set(i, 8, 0.5)
			x.Set(i, 9, 1)
		}
	}
	return x
}

func designs(t testing.TB) map[string]*aggregation.FeatureDesign {
	out := map[string]*aggregation.FeatureDesign{"mapped": aggregation.MappedDesign(6)}
	for name, terms := range map[string]aggregation.FeatureTerms{
		"blocks": {}, "bins": {Bins: 4},
		"pairs": {Pairs: [][2]string{{"ward", "sex"}, {"age", "dose"}, {"dose", "ward"}}},
	} {
		d, err := aggregation.NewFeatureDesign(tiltSchema(), terms)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = d
	}
	return out
}

func directionOf(m *aggregation.MeansDesign) func(*mat.Dense, []int) []int64 {
	return func(x *mat.Dense, y []int) []int64 {
		sum := m.NewSum()
		m.Add(sum, x, y)
		return m.PartyVector(sum)
	}
}
