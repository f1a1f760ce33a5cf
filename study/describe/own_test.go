package describe

import (
	"slices"
	"strings"
	"testing"

	"caucus/study"
)

// TestCounts: a site's numbers are named by column, group and cell, in records; others are not
// named.
func TestCounts(t *testing.T) {
	q := statistic(t, func(p *study.Plan) { p.KindTerms = []byte(`{"bins":2,"by":"ward"}`) })
	one := Task{Counted: q}
	v := q.count(encode(t, q.plan.Schema, "30,70,0,9,west,m,other,no", "30,90,,9,west,f,other,yes"))
	lines, record := one.Counts(v)
	if record != leastStep {
		t.Errorf("a record adds %d, want %d", record, leastStep)
	}
	for _, want := range []string{
		"ward east: 0", "ward west: 2",
		"age, west | 0 to 50: 2, 50 to 100, or missing: 0, sum for mean: 0.2031, sum for sd: -0.09375",
		"chol, west | -5 to 0: 0, 0 to 5: 1, missing: 1, sum for mean: -0.5, sum for sd: -0.125",
		"sex, west | other or missing: 1, f: 1", "outcome, west | no: 1, yes: 1, no label: 0", "outcome, east | no: 0, yes: 0, no label: 0",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	if lines, _ := one.Counts(v[1:]); lines != nil {
		t.Errorf("numbers of another plan are named: %q", lines)
	}
}
