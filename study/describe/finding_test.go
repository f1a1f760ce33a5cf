package describe

import "testing"

// TestFinding: without groups the first columns lead; by groups, the clearest differences, and an
// unknown number leads nothing.
func TestFinding(t *testing.T) {
	near := func(v float64) *Estimate { return &Estimate{Value: v, Low: v - .01, High: v + .01} }
	far := func(v float64) *Estimate { return &Estimate{Value: v, Low: v - 20, High: v + 20} }
	columns := func(groups int) []Column {
		unit := Column{Column: "unit", Levels: []string{"a", "b"}}
		age, stay := Column{Column: "age", Edges: []float64{0, 50, 100}}, Column{Column: "stay", Edges: []float64{0, 1}, Log: true}
		for g := range groups {
			unit.Groups = append(unit.Groups, Summary{Counts: []float64{3, 7}, Shares: []*Estimate{near(.3 + .1*float64(g)), near(.7 - .1*float64(g))}})
			age.Groups = append(age.Groups, Summary{Mean: far(41 + 5*float64(g))})
			stay.Groups = append(stay.Groups, Summary{})
		}
		return []Column{unit, age, stay}
	}
	if got, want := (Table{Columns: columns(1)}).finding(), "unit b 70.0 % (± 1.0); age mean 41 (± 20)"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	by := Table{By: "sex", Groups: []Group{{Level: "f"}, {Level: "m"}}, Columns: columns(2)}
	if got, want := by.finding(), "unit a 30.0 % (± 1.0) where sex is f, 40.0 % (± 1.0) where m; unit b 60.0 % (± 1.0) where sex is m, 70.0 % (± 1.0) where f; age mean 41 (± 20) where sex is f, 46 (± 20) where m"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}
