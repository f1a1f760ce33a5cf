package described

import (
	"testing"

	"caucus/dataset"
)

// TestFinding: without groups the first columns lead; by groups, the clearest difference of each
// column. An unknown number and a level that collects other values lead nothing.
func TestFinding(t *testing.T) {
	near := func(v float64) *Estimate { return &Estimate{Value: v, Low: v - .01, High: v + .01} }
	far := func(v float64) *Estimate { return &Estimate{Value: v, Low: v - 20, High: v + 20} }
	columns := func(groups int) []Column {
		unit := Column{Column: "unit", Levels: []string{"a", "b", dataset.OtherOrMissing}}
		age, stay := Column{Column: "age", Edges: []float64{0, 50, 100}}, Column{Column: "stay",
			Edges: []float64{0, 1}, Log: true}
		for g := range groups {
			unit.Groups = append(unit.Groups,
				Summary{Counts: []float64{3, 6, 1},
					Shares: []*Estimate{near(.2 + .1*float64(g)), near(.7 - .2*float64(g)),
						near(.1 + .5*float64(g))}})
			age.Groups = append(age.Groups, Summary{Mean: far(41 + 5*float64(g))})
			stay.Groups = append(stay.Groups, Summary{})
		}
		return []Column{unit, age, stay}
	}
	if got, want := (Table{Columns: columns(1)}).finding(), "unit b: 70.00 % (69.00 % to 71.00 %); age mean: 41 (21 to 61)"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	by := Table{By: "sex", Groups: []Group{{Level: "f"}, {Level: "m"}}, Columns: columns(2)}
	if got, want := by.finding(), "unit b: 50.00 % (49.00 % to 51.00 %) where sex is m, 70.00 % (69.00 % to 71.00 %) where f; age mean: 41 (21 to 61) where sex is f, 46 (26 to 66) where m"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}
