package privacy

import (
	"encoding/json"
	"errors"
	"math/big"
	"testing"
)

func TestCostAtUnits(t *testing.T) {
	pure := func(u Unit, k int64) Cost { return PureCost(u, k, big.NewRat(1, 2)) }
	rho := func(u Unit, k int64) Cost { return ConcentratedCost(u, k, big.NewRat(1, 10)) }
	approximate := func(k int64) Cost {
		c := rho(Record, k)
		c.Delta = big.NewRat(1, 1000)
		return c
	}
	for _, c := range []struct {
		name      string
		cost      Cost
		at        Unit
		pure, rho *big.Rat // rho nil: nothing is guaranteed
	}{
		{"own", pure(Record, 0), Record, big.NewRat(1, 2), big.NewRat(1, 8)},
		{"finer", pure(Record, 0), Label, big.NewRat(1, 2), big.NewRat(1, 8)},
		{"party to record", rho(Party, 0), Record, nil, big.NewRat(1, 10)},
		{"party to label", rho(Party, 0), Label, nil, big.NewRat(1, 10)},
		{"record to party, k = 1", pure(Record, 1), Party, big.NewRat(1, 2), big.NewRat(1, 8)},
		{"record to party, k = 3", pure(Record, 3), Party, big.NewRat(3, 2), big.NewRat(9, 8)},
		{"ρ record to party, k = 3", rho(Record, 3), Party, nil, big.NewRat(9, 10)},
		{"record to party, k unknown", pure(Record, 0), Party, nil, nil},
		{"label to record", pure(Label, 1), Record, nil, nil},
		{"label to party", pure(Label, 1), Party, nil, nil},
		{"patient to record", rho(Patient, 0), Record, nil, big.NewRat(1, 10)},
		{"party to patient", pure(Party, 0), Patient, big.NewRat(1, 2), big.NewRat(1, 8)},
		{"record to patient, k = 3", pure(Record, 3), Patient, big.NewRat(3, 2), big.NewRat(9, 8)},
		{"record to patient, k unknown", rho(Record, 0), Patient, nil, nil},
		{"patient to party, k = 3", rho(Patient, 3), Party, nil, big.NewRat(9, 10)},
		{"patient to party, k unknown", pure(Patient, 0), Party, nil, nil},
		{"label to patient", pure(Label, 1), Patient, nil, nil},
		{"approximate, k = 1", approximate(1), Party, nil, big.NewRat(1, 10)},
		{"approximate, k = 2", approximate(2), Party, nil, nil},
	} {
		got, ok := c.cost.At(c.at)
		if ok != (c.rho != nil) {
			t.Errorf("%s: guaranteed is %t", c.name, ok)
			continue
		}
		if !ok {
			continue
		}
		if got.Rho.Cmp(c.rho) != 0 || (got.Pure == nil) != (c.pure == nil) ||
			(c.pure != nil && got.Pure.Cmp(c.pure) != 0) {
			t.Errorf("%s: %+v", c.name, got)
		}
		if got.Unit != c.at || got.Validate() != nil {
			t.Errorf("%s: unit %v, %v", c.name, got.Unit, got.Validate())
		}
	}
}

func TestCostValidate(t *testing.T) {
	half := big.NewRat(1, 2)
	for name, c := range map[string]Cost{
		"no unit":        {Rho: half},
		"no rho":         {Unit: Record},
		"negative rho":   {Unit: Record, Rho: big.NewRat(-1, 2)},
		"delta one":      {Unit: Record, Rho: half, Delta: power(0)},
		"negative delta": {Unit: Record, Rho: half, Delta: big.NewRat(-1, 2)},
		"pure too dear":  {Unit: Record, Pure: power(0), Rho: big.NewRat(2, 3)},
		"pure for free":  {Unit: Record, Pure: power(0), Rho: new(big.Rat)},
		"pure and delta": {Unit: Record, Pure: power(0), Rho: half, Delta: half},
		"negative k":     {Unit: Record, PerParty: -1, Rho: half},
		"endless":        {Unit: Record, Rho: new(big.Rat).SetFrac(big.NewInt(1), power(600).Num())},
	} {
		if c.Validate() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	c := PureCost(Record, 4, half)
	text, err := json.Marshal(c)
	if err != nil || c.Validate() != nil {
		t.Fatal(err, c.Validate())
	}
	var back Cost
	if err := json.Unmarshal(text, &back); err != nil || !back.equal(c) {
		t.Errorf("%s becomes %+v, %v", text, back, err)
	}
	if _, err := CostOf(Unperturbed{}, Bound{Unit: Record, L1: 1}); !errors.Is(err,
		ErrSimulationOnly) {
		t.Errorf("cost of unperturbed: %v", err)
	}
}
