package main

import (
	"fmt"
	"math"
)

// sharperReport compares, draw by draw, because both maps meet the same split.
func sharperReport(_ *lab, r *results, p *page) error {
	p.paragraph("Accuracy on test records, mean over the draws measured (column n), unit record, δ = %g; the map's part is the mean of the differences in the same draw ± its standard error. Both maps have as many components. Sets marked ° were not run with bins before the map was final.", hammDelta)
	held := map[string]string{}
	for _, s := range sharperSets {
		if s.Held {
			held[s.Name] = "°"
		}
	}
	var rows [][]string
	for _, set := range r.distinct("set") {
		for _, noise := range sharperNoises {
			for _, epsilon := range sharperEpsilons {
				at := r.where("set", set, "noise", noise, "epsilon", epsilon)
				today, bins := at.where("map", "today"), at.where("map", "bins")
				if len(today.rows) == 0 {
					continue
				}
				var by, over results
				for _, row := range today.rows {
					a, l := parsed(row["accuracy"]), parsed(row["largest"])
					over.add("difference", a-l)
					for _, other := range bins.where("draw", row["draw"]).rows {
						by.add("difference", parsed(other["accuracy"])-a)
					}
				}
				rows = append(rows, []string{
					set + held[set], string(noise), fmt.Sprint(epsilon), fmt.Sprint(len(today.rows)), short(today.over("largest")), short(today.over("accuracy")), short(bins.over("accuracy")),
					withError(by.over("difference")), withError(over.over("difference")),
				})
			}
		}
	}
	p.table([]string{"data", "noise", "ε", "n", "largest class", "today's map", "with bins",
		"bins − today", "today − largest class"}, rows)
	rows = nil
	methods := r.distinct("method")
	for _, set := range r.distinct("set") {
		for _, epsilon := range append([]float64{0}, sharperEpsilons...) {
			of, name, some := any(epsilon), fmt.Sprint(epsilon), false
			if epsilon == 0 {
				of, name = "", "none"
			}
			row := []string{set + held[set], name}
			for _, m := range methods {
				v := r.where("set", set, "method", m, "epsilon", of).over("accuracy")
				row, some = append(row, short(v)), some || v.N > 0
			}
			if some {
				rows = append(rows, row)
			}
		}
	}
	p.section("Who has no release of ours")
	p.paragraph("\\* is the best of two settings on the test records. One site is the largest. At most %d records are pooled for training without a budget. Boosted trees are scikit-learn's HistGradientBoosting, where CAUCUS_PYTHON names a Python that has it.", sharperPooled)
	if len(rows) > 0 {
		p.table(append([]string{"data", "ε"}, methods...), rows)
	}
	return nil
}

func parsed(text string) (v float64) {
	_, _ = fmt.Sscan(text, &v)
	return v
}

func short(m moments) string {
	if m.N == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", m.Mean)
}

// withError writes a mean with its standard error over the draws.
func withError(m moments) string {
	switch {
	case m.N == 0:
		return ""
	case m.N == 1:
		return fmt.Sprintf("%+.3f", m.Mean)
	}
	return fmt.Sprintf("%+.3f ± %.3f", m.Mean, m.SD/math.Sqrt(float64(m.N)))
}
