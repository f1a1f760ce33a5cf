package simulate_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/regress"
)

// simulated runs a regress study of records whose stay is constant, and whose weight is twice the
// age.
func simulated(t *testing.T, epsilon float64, terms regress.Terms) simulate.RegressSummary {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: stay, kind: numeric, min: 0, max: 60}
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: weight, kind: numeric, min: 0, max: 200}
  - {column: bed, kind: numeric, min: 0, max: 20}
`))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for i := range 1200 {
		age := i * 37 % 91
		rows = append(rows, []string{"5", strconv.Itoa(age), strconv.Itoa(2 * age),
			strconv.Itoa(i % 17), []string{"no", "yes"}[i%2]})
	}
	table, err := dataset.NewTable([]string{"stay", "age", "weight", "bed", "died"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := s.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	p := study.Proposal{Name: "x", Kind: "regress", Unit: privacy.Record, Epsilon: epsilon}
	if p.KindTerms, err = study.EncodeTerms(terms); err != nil {
		t.Fatal(err)
	}
	out, err := simulate.Regress{Split: simulate.Split{Schema: s, Train: records.AsTable(),
		PoolFraction: .2, Parties: 4, Seed: 1}, Proposal: p, Repeats: 3}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRegressConstantOutcome: intervals without noise have no width then, and the summary can still
// be written.
func TestRegressConstantOutcome(t *testing.T) {
	out := simulated(t, 5, regress.Terms{Outcome: "stay", Columns: []string{"age"}})
	if _, err := json.Marshal(out); err != nil {
		t.Error(err)
	}
	if m := out.Measured; m == nil || m.Unknown != 0 {
		t.Errorf("measured is %+v, want a known coefficient", m)
	}
}

// TestRegressTellsWarning: a simulation tells what study create would refuse.
func TestRegressTellsWarning(t *testing.T) {
	out := simulated(t, .01, regress.Terms{Outcome: "bed", Columns: []string{"age"}})
	if all := strings.Join(out.Warnings, "\n"); !strings.Contains(all, "no coefficient will be known") {
		t.Errorf("the warnings are %q, want one that nothing will be known", all)
	}
}
