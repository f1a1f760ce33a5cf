package simulate_test

import (
	"context"
	"strings"
	"testing"

	"caucus/analyst/simulate"
	"caucus/study"
	studyratio "caucus/study/ratio"
)

// TestShortRecordsAreTold: where the records give less than was asked for, the summary says both,
// and nothing where they suffice.
func TestShortRecordsAreTold(t *testing.T) {
	schema, records := hospital(t, 1500)
	train := records.AsTable()
	split := func(per int) simulate.Split {
		return simulate.Split{Schema: schema, Train: train, PoolFraction: .2, Parties: 3,
			Records: per, Seed: 5}
	}
	of := func(kind string) study.Proposal {
		return study.Proposal{Name: "s", Kind: kind, Epsilon: 1}
	}
	terms := studyratio.DefaultTerms()
	terms.Fourier = 50
	ratio := func(size int, shares [][]float64) func() (simulate.Summary, error) {
		return func() (simulate.Summary, error) {
			s, err := simulate.Ratio{Split: split(0), Proposal: of("ratio"), Terms: terms, Sets: 4,
				SetSize: size, SetShares: shares, Targets: 1, TargetSize: 50,
				Repeats: 1}.Run(context.Background())
			return s.Summary, err
		}
	}
	var group []bool
	query := make([]float64, train.Len())
	for i := range train.Len() {
		group = append(group, i%2 == 0)
	}
	reweigh := func(per int) func() (simulate.Summary, error) {
		return func() (simulate.Summary, error) {
			s, err := simulate.Reweigh{Schema: schema, Proposal: of("reweigh"), Records: train,
				Group: group, PrivateShare: .8, Query: query, Parties: 3, PerParty: per, Repeats: 1,
				SkipUnperturbed: true}.Run(context.Background())
			return s.Summary, err
		}
	}
	labels := func(per int) func() (simulate.Summary, error) {
		return func() (simulate.Summary, error) {
			p := of("labels")
			p.Mechanism = "rr"
			s, err := simulate.Labels{Split: split(per), Proposal: p,
				Repeats: 1}.Run(context.Background())
			return s.Summary, err
		}
	}
	classify := func(per int) func() (simulate.Summary, error) {
		return func() (simulate.Summary, error) {
			s, err := simulate.Classify{Split: split(per), Proposal: of("classify"),
				Repeats: 1}.Run(context.Background())
			return s.Summary, err
		}
	}
	describe := func(per int) func() (simulate.Summary, error) {
		return func() (simulate.Summary, error) {
			s, err := simulate.Describe{Split: split(per),
				Proposal: of("describe")}.Run(context.Background())
			return s.Summary, err
		}
	}
	for name, c := range map[string]struct {
		run  func() (simulate.Summary, error)
		want string // "" if the records suffice
	}{
		"classify":  {classify(100), ""},
		"few":       {classify(5000), "5000 records were asked for each of 3 parties, and the records give 225 to 225"},
		"describe":  {describe(300), ""},
		"table":     {describe(5000), "5000 records were asked for each of 3 parties"},
		"labels":    {labels(5000), "5000 records were asked for each of 3 parties"},
		"reweigh":   {reweigh(100), ""},
		"weights":   {reweigh(5000), "5000 records were asked for each of 3 parties"},
		"sets":      {ratio(40, [][]float64{{.7, .3}, {.3, .7}}), ""},
		"shares":    {ratio(200, [][]float64{{.1, .9}}), "sets have other class shares than were asked"},
		"set sizes": {ratio(140, [][]float64{{1, 0}}), "140 records were asked for each of 4 parties"},
	} {
		s, err := c.run()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all := strings.Join(s.Warnings, "\n")
		if c.want == "" && strings.Contains(all, "asked") || !strings.Contains(all, c.want) {
			t.Errorf("%s: warnings %q, want %q", name, all, c.want)
		}
	}
}
