package lifetable_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/survival"
	"caucus/study/survival/lifetable"
)

// exact makes the table of records, without noise, with the edges 10, 20 and 30.
func exact(t *testing.T, rows ...string) lifetable.Table {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: days, kind: numeric, min: -10, max: 100}
  - {column: arm, kind: categorical, levels: [a, b]}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := study.Plan{Name: "x", Kind: "survival", Form: study.FormCommitted, Schema: s,
		Map: dataset.Identity(s), Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Records: 100,
		Mechanism: "laplace", Noise: study.NoiseSite, Minimum: 2, Roster: []study.PartyID{"x", "y"}}
	if err := p.SetTerms(survival.Terms{Time: "days", Event: survival.Event{Column: "died",
		Is: "yes"}, By: "arm", Until: 30, Edges: []float64{10, 20, 30},
		Expected: 0.25}); err != nil {
		t.Fatal(err)
	}
	if err := (survival.Kind{}).Check(p); err != nil {
		t.Fatal(err)
	}
	task, err := survival.Kind{}.New(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	var cells [][]string
	for _, row := range rows {
		cells = append(cells, strings.Split(row, ","))
	}
	table, err := dataset.NewTable([]string{"days", "died", "arm"}, cells)
	if err != nil {
		t.Fatal(err)
	}
	s.MarkMissing = true // as kinds.RecordSchema says
	records, _, err := p.Encode(s, table)
	if err != nil {
		t.Fatal(err)
	}
	counted := task.(survival.Task).Counted
	vector, weight := counted.Local(study.NewInputs(records, []byte("key")))
	values := make([]float64, len(vector))
	for j, n := range vector {
		values[j] = float64(n)
	}
	out, err := lifetable.Of(p, values, weight, 0)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// times repeats a record.
func times(n int, row string) []string { return slices.Repeat([]string{row}, n) }

// TestEdges makes tables of few records, whose right answers are found by hand.
func TestEdges(t *testing.T) {
	five := times(5, "40,no,a")
	for _, c := range []struct {
		name   string
		rows   []string
		a, b   []float64 // the curves of both arms
		events []float64 // of arm a
		rest   float64
		median string // of arm a
		tested bool   // by log-rank; a hazard ratio is of none of these
	}{
		{"nobody has the event", append(times(5, "40,no,b"), five...), []float64{1, 1, 1},
			[]float64{1, 1, 1}, []float64{0, 0, 0}, 0, "not reached", false},
		{"all have the event at once", append(times(4, "5,yes,a"), times(5, "40,no,b")...),
			[]float64{0}, []float64{1, 1, 1}, []float64{4}, 0, "before 10", true},
		{"one group is empty", append(times(5, "5,yes,a"), five...), []float64{.5, .5, .5}, nil,
			[]float64{5, 0, 0}, 0, "10.0 (0 to not reached)", false},
		{"one person in a group", append([]string{"25,no,b"}, five...), []float64{1, 1, 1},
			[]float64{1, 1, 1}, []float64{0, 0, 0}, 0, "not reached", false},
		{"one person, who has the event", append([]string{"15,yes,b"}, five...),
			[]float64{1, 1, 1}, []float64{1, 0}, []float64{0, 0, 0}, 0, "not reached", true},
		{"times beyond the end", append([]string{"30,yes,a", "99,yes,a", "1e9,yes,a"}, five...),
			[]float64{1, 1, 1}, nil, []float64{0, 0, 0}, 0, "not reached", false},
		{"negative and missing times", append([]string{"-1,yes,a", ",yes,a", "x,yes,a",
			"NaN,no,a"}, five...), []float64{1, 1, 1}, nil, []float64{0, 0, 0}, 4, "not reached",
			false},
		{"a time without an event, and without a group", append([]string{"5,,a", "5,moved,a",
			"5,yes,", "5,yes,c"}, five...), []float64{1, 1, 1}, nil, []float64{0, 0, 0}, 4,
			"not reached", false},
		{"events on edges and at 0", append([]string{"0,yes,a", "10,yes,a", "20,yes,a"}, five...),
			[]float64{7. / 8, 6. / 8, 5. / 8}, nil, []float64{1, 1, 1}, 0,
			"not reached (20 to not reached)", false},
		{"ties of events and of those last seen", append([]string{"5,yes,a", "5,yes,a", "5,no,a",
			"5,no,a"}, times(4, "40,no,a")...), []float64{5. / 7, 5. / 7, 5. / 7}, nil,
			[]float64{2, 0, 0}, 0, "not reached", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := exact(t, c.rows...)
			for g, want := range [][]float64{c.a, c.b} {
				group := table.Groups[g]
				if len(group.Points) != len(want) || (group.EndsReason == "") != (len(want) == 3 &&
					want[2] > 0) {
					t.Fatalf("arm %s: %d points of %d, ends %q", group.Level, len(group.Points),
						len(want), group.EndsReason)
				}
				for j, p := range group.Points {
					if math.Abs(p.Survival.Value-want[j]) > 1e-12 || g == 0 &&
						p.Events != c.events[j] {
						t.Errorf("arm %s at %g: %+v, want %g", group.Level, p.Time, p, want[j])
					}
				}
			}
			if table.UncountedRecords != c.rest || table.Records != int64(len(c.rows)) {
				t.Errorf("%g of %d records in no curve, want %g of %d", table.UncountedRecords,
					table.Records,
					c.rest, len(c.rows))
			}
			if got := table.MedianText(table.Groups[0]); got != c.median {
				t.Errorf("median %q, want %q", got, c.median)
			}
			if of := table.Compared[0]; of.Ratio.Known() || (of.P != nil) != c.tested {
				t.Errorf("comparison %+v, want a p value: %v", of, c.tested)
			}
		})
	}
}

// TestAt reads curves at times of the reader's choice: on edges, between them, and where no curve
// is.
func TestAt(t *testing.T) {
	table := exact(t, slices.Concat(times(25, "5,yes,a"), times(75, "40,no,a"),
		times(3, "5,no,b"), times(2, "15,yes,b"))...)
	first := table.Groups[0].Points[0].Survival
	for _, c := range []struct {
		time    float64
		arm     int
		s, low  float64
		unknown string
	}{
		{0, 0, 1, 1, ""},
		{5, 0, math.Sqrt(.75), first.Low, ""},
		{10, 0, .75, first.Low, ""},
		{20, 0, .75, first.Low, ""},
		{25, 0, .75, first.Low, ""},
		{30, 0, .75, first.Low, ""},
		{30.5, 0, 0, 0, "the curve ends at 30"},
		{-1, 0, 0, 0, "a curve begins at time 0"},
		{math.NaN(), 0, 0, 0, "a curve begins at time 0"},
		{10, 1, 1, 1, ""},
		{15, 1, 0, 0, "all who reach 10 have the event before 20, at times that are not known"},
		{20, 1, 0, 0, ""},
	} {
		r := table.At(c.time)[c.arm]
		if n := r.Survival; r.Level != []string{"a", "b"}[c.arm] || n.Unknown != c.unknown ||
			math.Abs(n.Value-c.s) > 1e-12 || math.Abs(n.Low-c.low) > 1e-12 {
			t.Errorf("at %g: %+v, want %g from %g, unknown %q", c.time, r, c.s, c.low, c.unknown)
		}
	}
	if n := table.At(5)[0].Survival; n.High != 1 {
		t.Errorf("at 5: %+v, want an interval to 1, where the curve begins", n)
	}
}
