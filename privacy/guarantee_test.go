package privacy

import (
	"math"
	"math/big"
	"testing"
)

func TestTogether(t *testing.T) {
	type g = Guarantee
	given := func(u Unit, epsilon, delta float64, k int64) g {
		return g{Unit: u, Budget: Budget{epsilon, delta}, PerParty: k}
	}
	infinite, none := math.Inf(1), math.NaN()
	for name, c := range map[string]struct {
		at   Unit
		all  []g
		want Budget // Epsilon 0: nothing is guaranteed
	}{
		"nothing released":              {Record, nil, Budget{}},
		"its own unit":                  {Record, []g{given(Record, .1, 1e-6, 0)}, Budget{.1, 1e-6}},
		"a finer unit":                  {Label, []g{given(Party, .1, 1e-6, 0)}, Budget{.1, 1e-6}},
		"two of a record":               {Record, []g{given(Record, .5, 1e-6, 0), given(Party, .25, 0, 0)}, Budget{.75, 1e-6}},
		"rounded up":                    {Record, []g{given(Record, 1, .5, 0), given(Record, 0x1p-80, 0x1p-80, 0)}, Budget{math.Nextafter(1, 2), math.Nextafter(.5, 1)}},
		"rounded up no further":         {Record, []g{given(Record, .1, 0, 0), given(Record, .2, 0, 0)}, Budget{.30000000000000004, 0}},
		"three records a party":         {Party, []g{given(Record, .5, 0, 3), given(Party, 1, 0, 0)}, Budget{2.5, 0}},
		"very many records a party":     {Party, []g{given(Record, .5, 0, 10_000)}, Budget{5000, 0}},
		"one record a party":            {Party, []g{given(Record, .1, 1e-6, 1)}, Budget{.1, 1e-6}},
		"records without a number":      {Party, []g{given(Record, .5, 0, 0)}, Budget{none, 0}},
		"a negative number":             {Party, []g{given(Record, .5, 0, -1)}, Budget{none, 0}},
		"a patient's record":            {Record, []g{given(Patient, .5, 1e-6, 0), given(Record, .5, 0, 0)}, Budget{1, 1e-6}},
		"a record's patient":            {Patient, []g{given(Patient, 1, 0, 0), given(Record, .5, 0, 0)}, Budget{none, 0}},
		"three patients a party":        {Party, []g{given(Patient, .5, 0, 3)}, Budget{1.5, 0}},
		"label upwards":                 {Record, []g{given(Label, .5, 0, 1)}, Budget{none, 0}},
		"one of two guarantees nothing": {Party, []g{given(Party, 1, 0, 0), given(Label, .5, 0, 1)}, Budget{none, 0}},
		"δ of 1 together":               {Record, []g{given(Record, 1, .5, 0), given(Record, 1, .5, 0)}, Budget{none, 0}},
		"δ that grows beyond 1":         {Party, []g{given(Record, .5, 1e-6, 10_000)}, Budget{none, 0}},
		"ε that grows beyond a number":  {Party, []g{given(Record, 1e308, 0, 10)}, Budget{none, 0}},
		"an infinite ε":                 {Record, []g{given(Record, infinite, 0, 0)}, Budget{none, 0}},
		"no number":                     {Record, []g{given(Record, none, 0, 0)}, Budget{none, 0}},
		"a negative ε":                  {Record, []g{given(Record, -1, 0, 0)}, Budget{none, 0}},
		"δ is no number":                {Record, []g{given(Record, 1, none, 0)}, Budget{none, 0}},
		"no unit":                       {Record, []g{given(0, 1, 0, 0)}, Budget{none, 0}},
		"at no unit":                    {0, []g{given(Record, 1, 0, 0)}, Budget{none, 0}},
	} {
		got, ok := Compose(c.at, c.all...)
		if guaranteed := !math.IsNaN(c.want.Epsilon); ok != guaranteed || ok && got != c.want {
			t.Errorf("%s: have %v, %t, want %v", name, got, ok, c.want)
		}
	}
}

// TestGroupDelta: δ for k records is at least δ·Σ_{i<k} e^{iε}, summed term by term at 200 bits,
// and exceeds the sum by groupSlack and one rounding at most.
func TestGroupDelta(t *testing.T) {
	const delta = 1e-200
	for _, epsilon := range []float64{0, 1e-300, 1e-9, .01, .5, 1, 3, 23} {
		for _, k := range []int64{2, 3, 10, 20} {
			got, ok := Guarantee{Unit: Record, Budget: Budget{epsilon, delta},
				PerParty: k}.At(Party)
			// e^ε by its series, 200 terms of at most 23^n/n!.
			e, term := big.NewFloat(1).SetPrec(200), big.NewFloat(1).SetPrec(200)
			for n := 1.; n < 200; n++ {
				term.Mul(term, big.NewFloat(epsilon)).Quo(term, big.NewFloat(n))
				e.Add(e, term)
			}
			want, power := new(big.Float).SetPrec(200), big.NewFloat(delta).SetPrec(200)
			for range k {
				want.Add(want, power)
				power.Mul(power, e)
			}
			over := new(big.Float).SetPrec(200).Quo(big.NewFloat(got.Delta), want)
			if ratio, _ := over.Sub(over, big.NewFloat(1)).Float64(); !ok || ratio < 0 ||
				ratio > 2*groupSlack {
				t.Errorf("ε = %v, k = %d: δ = %v is above the exact one by %v of it", epsilon, k, got.Delta, ratio)
			}
		}
	}
}
