package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/survival"
)

// TestSimulatedSurvivalSays: the text and the JSON of a rehearsal name what was measured only where
// something was, and hold no infinity, whoever has the event and whatever is shown.
func TestSimulatedSurvivalSays(t *testing.T) {
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: days, kind: numeric, min: 0, max: 10}
  - {column: arm, kind: categorical, levels: [a, b]}
`))
	if err != nil {
		t.Fatal(err)
	}
	const curves, width, ratio = "held the population's survival in", "times as wide as", "ratio in"
	for _, c := range []struct {
		name        string
		records     int
		dies        bool
		by          string
		unit        privacy.Unit
		says, lacks []string
	}{
		{"two groups", 800, true, "arm", privacy.Record, []string{curves, width, ratio,
			"760 records of 4 parties"}, nil},
		{"no groups", 800, true, "", privacy.Record, []string{curves, width}, []string{"ratio"}},
		{"nobody has the event", 800, false, "arm", privacy.Record, []string{curves},
			[]string{width, "ratio in"}},
		{"no curve", 40, true, "arm", privacy.Record, []string{"records: no curve was shown\n"},
			[]string{"ratio in"}},
		{"unit party", 40, true, "", privacy.Party, []string{"4 parties; noise"},
			[]string{"records of"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var rows [][]string
			for i := range c.records {
				died := "no"
				if c.dies && i/2%2 == 1 {
					died = "yes"
				}
				rows = append(rows, []string{fmt.Sprint(i % 13), []string{"a", "b"}[i%2], died})
			}
			table, err := dataset.NewTable([]string{"days", "arm", "died"}, rows)
			if err != nil {
				t.Fatal(err)
			}
			records, _, err := s.EncodeLabelled(table)
			if err != nil {
				t.Fatal(err)
			}
			terms := survival.Terms{Time: "days", By: c.by, Bins: 4}
			repeats := 5
			if c.unit == privacy.Party {
				terms.PerParty, repeats = 10, 0
			}
			p := study.Proposal{Name: "relapse", Kind: "survival", Unit: c.unit, Epsilon: 5}
			if c.name == "no curve" {
				p.Epsilon = 0.1
			}
			if p.KindTerms, err = study.EncodeTerms(terms); err != nil {
				t.Fatal(err)
			}
			out, err := simulate.Survival{Split: simulate.Split{Schema: s, Parties: 4, Seed: 1,
				Train: records.AsTable()}, Proposal: p, Repeats: repeats}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := json.Marshal(out); err != nil {
				t.Error(err)
			}
			var text strings.Builder
			printSurvival(&text, out)
			for _, want := range c.says {
				if !strings.Contains(text.String(), want) {
					t.Errorf("the text lacks %q", want)
				}
			}
			for _, not := range append(c.lacks, "Inf", "NaN", " 0 records") {
				if strings.Contains(text.String(), not) {
					t.Errorf("the text says %q", not)
				}
			}
			if t.Failed() {
				t.Log(text.String())
			}
		})
	}
}
