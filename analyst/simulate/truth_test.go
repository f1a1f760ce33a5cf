package simulate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/study"
	"caucus/study/describe"
	"caucus/study/describe/described"
)

// TestTruthIsOfTheNumbers: means, deviations and quartiles of the reference are those of the
// table's own numbers, in each group and on both scales, and leave missing numbers out, whether or
// not the schema expects them. The right values are computed here from the cells.
func TestTruthIsOfTheNumbers(t *testing.T) {
	const text = `
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: creatinine, kind: numeric, min: 0, max: 2000}
  - {column: glucose, kind: numeric, min: 50, max: 400, missing: true}
  - {column: stay, kind: numeric, min: 0, max: 365, log: true}
  - {column: ward, kind: categorical, levels: [east, west]}
`
	s, err := dataset.ParseSchema(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	of := map[string]map[string][]float64{}
	for i := range 3000 {
		ward, died := []string{"east", "west", "x", ""}[i%4], []string{"no", "yes", "?"}[i%3]
		row := []string{"", "", "", ward, died}
		for j, column := range []string{"creatinine", "glucose", "stay"} {
			if (i+j)%7 == 0 { // missing
				continue
			}
			v := []float64{61 + float64(i%50), 90 + .1*float64(i%111), float64(i%17) / 4}[j]
			row[j] = fmt.Sprint(v)
			if of[column] == nil {
				of[column] = map[string][]float64{}
			}
			for _, group := range []string{"all", ward, died} {
				of[column][group] = append(of[column][group], v)
			}
		}
		rows = append(rows, row)
	}
	table, err := dataset.NewTable([]string{"creatinine", "glucose", "stay", "ward", "died"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	held, _, err := s.EncodeLazily(table)
	if err != nil {
		t.Fatal(err)
	}
	records := held.MarkMissing().All()
	for _, by := range []string{"", "ward", "died"} {
		p := study.Plan{Kind: "describe", Form: study.FormCommitted, Schema: s, Epsilon: 1}
		if err := p.SetTerms(describe.Terms{Bins: 10, By: by}); err != nil {
			t.Fatal(err)
		}
		right := newTruth(p)
		right.add(records)
		out := right.table()
		for _, c := range out.Columns {
			for g, found := range c.Groups {
				group := "all"
				if by != "" {
					group = out.Groups[g].Level
					group = map[string]string{"other": "x", "missing": "", "no label": "?"}[group] +
						group
					group = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(group,
						"other"), "missing"), "no label")
				}
				if values := of[c.Column][group]; c.Edges != nil {
					checkTruth(t, by+" "+c.Column+" "+group, c.Log, values, found)
				}
			}
		}
	}
}

func checkTruth(t *testing.T, name string, log bool, values []float64, found described.Summary) {
	t.Helper()
	slices.Sort(values)
	var mean, square float64
	n := float64(len(values))
	for _, v := range values {
		if log {
			v = math.Log1p(v)
		}
		mean, square = mean+v/n, square+v*v/n
	}
	sd := math.Sqrt(square - mean*mean)
	if log {
		mean, sd = math.Expm1(mean), math.Exp(sd)
	}
	near := func(what string, got *described.Estimate, want float64) {
		if got == nil || math.Abs(got.Value-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("%s: %s is %v, want %v", name, what, got, want)
		}
	}
	near("mean", found.Mean, mean)
	near("sd", found.SD, sd)
	for _, q := range found.Quantiles {
		at := q.P * (n - 1)
		k := int(at)
		want := values[k] + (values[min(k+1, len(values)-1)]-values[k])*(at-float64(k))
		near(fmt.Sprint("quantile ", q.P), &q.Estimate, want)
	}
	if len(found.Quantiles) != 3 {
		t.Errorf("%s: %d quartiles", name, len(found.Quantiles))
	}
}
