package desk

import (
	"fmt"
	"strings"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// protects says who learns what.
func protects(p study.Plan) string {
	budget := fmt.Sprintf("ε = %g", p.Epsilon)
	if p.Delta > 0 {
		budget += fmt.Sprintf(", δ = %g", p.Delta)
	}
	hides := map[privacy.Unit]string{
		privacy.Label:  "each label is hidden",
		privacy.Record: "each record is hidden",
		privacy.Party:  "everything this site holds is hidden",
	}[p.Unit]
	beside := ""
	if p.Unit == privacy.Label && !p.Noise.InClear() {
		beside = "; the features beside it are not"
	}
	return fmt.Sprintf("%s at %s %s%s", hides, budget, p.Noise.Trust().Hidden, beside)
}

// whoSees says what each of two servers learns, and both together; nothing of a plan without
// a helper.
func whoSees(p study.Plan) []string {
	sees := p.Noise.Trust().Sees
	if sees == "" {
		return nil
	}
	budget := fmt.Sprintf("ε = %g", p.Epsilon)
	if p.Delta > 0 {
		budget += fmt.Sprintf(", δ = %g", p.Delta)
	}
	return strings.Split(fmt.Sprintf(sees, kinds.WordsOf(p).Received, budget), "\n")
}

// labelWords says what is to be predicted, or estimated.
func labelWords(l dataset.Label) string {
	return fmt.Sprintf("%s: %s", l.Column, strings.Join(l.Classes, ", "))
}

// poolWords says which public rows the study asks about.
func poolWords(t study.Task) string {
	p, pool := t.Plan(), t.Pool()
	weights := "all of one weight"
	switch {
	case p.Weights != nil:
		weights = fmt.Sprintf("made or weighted by the release of study %s", p.Weights.Plan.String()[:16])
	case pool.Weight != nil:
		weights = "each with a weight of its own"
	}
	return fmt.Sprintf("%d public rows of %d columns, %s", pool.Rows(), len(p.Schema.FeatureColumns()), weights)
}
