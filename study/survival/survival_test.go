package survival

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
)

func clinic(t testing.TB) dataset.Schema {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: days, kind: numeric, min: -10, max: 100}
  - {column: status, kind: categorical, levels: [alive, relapse, dead, other]}
  - {column: arm, kind: categorical, levels: [a, b]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func planOf(t testing.TB, terms Terms, change func(*study.Plan)) study.Plan {
	t.Helper()
	s := clinic(t)
	p := study.Plan{
		Name: "x", Kind: "survival", Form: study.FormCommitted, Schema: s,
		Map: dataset.Identity(s), Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Records: 100,
		Mechanism: "gaussian", Noise: study.NoiseSite, Minimum: 2,
		Roster: []study.PartyID{"a", "b"},
	}
	terms.Expected = 0.25
	if err := p.SetTerms(terms); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&p)
	}
	return p
}

var relapse = Terms{Time: "days", Event: Event{"status", "relapse"}, Causes: []string{"dead"},
	By: "arm", Until: 50, Edges: []float64{10, 25, 50}}

// inWords says where a record belongs, from its text alone.
func inWords(days, status, arm string) string {
	v, err := strconv.ParseFloat(days, 64)
	kind, ok := map[string]string{"relapse": "event", "dead": "cause", "alive": "censored"}[status]
	if err != nil || v != v || v-v != 0 || v < 0 || !ok || arm != "a" && arm != "b" {
		return "rest"
	}
	for _, e := range []float64{10, 25, 50} {
		if v < e {
			return fmt.Sprintf("%s %g %s", arm, e, kind)
		}
	}
	return arm + " beyond"
}

// names of the cells of the plan relapse, in the order of the vector.
func names() (all []string) {
	all = append(all, "rest")
	for _, arm := range []string{"a", "b"} {
		for _, e := range []string{"10", "25", "50"} {
			for _, kind := range []string{"event", "cause", "censored"} {
				all = append(all, arm+" "+e+" "+kind)
			}
		}
		all = append(all, arm+" beyond")
	}
	return all
}

// oddRecords are all combinations of odd cells.
func oddRecords() (rows [][]string) {
	for _, days := range []string{"", "x", "NaN", "-10", "-1e9", "-0.001", "0", "-0", "9.999999",
		"10", "10.0", "24.9", "25", "49.9999", "50", "1e2", "1e9", "100", "Inf"} {
		for _, status := range []string{"", "alive", "relapse", "dead", "other", "moved"} {
			for _, arm := range []string{"", "a", "b", "other", "c"} {
				rows = append(rows, []string{days, status, arm, "yes"})
			}
		}
	}
	return rows
}

func encode(t testing.TB, p study.Plan, rows [][]string) *dataset.Records {
	t.Helper()
	table, err := dataset.NewTable([]string{"days", "status", "arm", "died"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Schema
	s.MarkMissing = true // as kinds.RecordSchema says
	r, _, err := p.Encode(s, table)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEveryRecordHasOneCell: each of all odd records, alone, adds 1 to the cell that its text says
// and to no other. So two neighbours differ by 1 in two cells at most, whatever their records are.
func TestEveryRecordHasOneCell(t *testing.T) {
	p := planOf(t, relapse, nil)
	if err := (Kind{}).Check(p); err != nil {
		t.Fatal(err)
	}
	c, err := newCounts(p)
	if err != nil {
		t.Fatal(err)
	}
	all := names()
	if c.Cells() != len(all) {
		t.Fatalf("%d cells, want %d", c.Cells(), len(all))
	}
	for _, row := range oddRecords() {
		want := inWords(row[0], row[1], row[2])
		v := c.count(encode(t, p, [][]string{row}))
		for k, n := range v {
			if is := all[k] == want; is && n != 1 || !is && n != 0 {
				t.Errorf("%q: %d in cell %q, belongs to %q", row, n, all[k], want)
			}
		}
	}
}

// TestNeighbours: for all pairs of odd records, also under a condition that one of them fails, and
// for records that drop out of the study, the vectors differ by no more than the bound, and some
// pair reaches it.
func TestNeighbours(t *testing.T) {
	for _, where := range []string{"", "days >= 10", "status == dead"} {
		p := planOf(t, relapse, func(p *study.Plan) { p.Where = where })
		c, err := newCounts(p)
		if err != nil {
			t.Fatal(err)
		}
		r := encode(t, p, oddRecords())
		var vectors [][]int64
		for i := range r.Len() {
			v, sum := c.count(r.Select([]int{i})), int64(0)
			for _, n := range v {
				sum += n
			}
			if sum != 1 {
				t.Errorf("where %q: record %d adds %d to the sum, which a replacement moves", where,
					i, sum)
			}
			vectors = append(vectors, v)
		}
		b := c.Bound()
		var most privacy.Bound
		for _, x := range vectors {
			for _, y := range vectors {
				var l1, l2 int64
				cells := 0
				for k := range x {
					d := x[k] - y[k]
					l1, l2 = l1+max(d, -d), l2+d*d
					if d != 0 {
						cells++
					}
				}
				most.L1, most.L2sq, most.Cells = max(most.L1, l1), max(most.L2sq, l2),
					max(most.Cells, cells)
			}
		}
		if most.L1 != b.L1 || most.L2sq != b.L2sq || most.Cells != b.Cells {
			t.Errorf("where %q: neighbours differ by up to %+v, the bound is %+v", where, most, b)
		}
	}
}

// TestHostileTerms: terms whose bound would not fit an integer, or whose intervals would not fit in
// memory, are refused, and so are those that mean nothing.
func TestHostileTerms(t *testing.T) {
	for says, change := range map[string]func(*Terms){
		"at most 16777216 are possible": func(t *Terms) { t.PerParty = 733006353748 },
		"give 1 to 200":                 func(t *Terms) { t.Edges, t.Bins = nil, 1<<62 },
		"above 0 and below 1":           func(t *Terms) { t.Expected = 1 },
		"give a time above 0":           func(t *Terms) { t.Edges, t.Until = nil, -5 },
		"too short beside the range":    func(t *Terms) { t.Edges = []float64{1e-9, 50} },
		"is no level that the schema":   func(t *Terms) { t.Event.Is = "other" },
		"from time 0":                   func(t *Terms) { t.Entry = "days" },
		"is the event itself":           func(t *Terms) { t.Causes = []string{"relapse"} },
		"name each cause once":          func(t *Terms) { t.Causes = []string{"dead", "dead"} },
	} {
		p := planOf(t, relapse, func(p *study.Plan) {
			p.Unit = privacy.Party
			terms := study.TermsOf[Terms](*p)
			terms.PerParty = 100
			change(&terms)
			if err := p.SetTerms(terms); err != nil {
				t.Fatal(err)
			}
		})
		if err := (Kind{}).Check(p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
}

// TestAxis: a unit that the column's name says, in whatever case, is not said twice.
func TestAxis(t *testing.T) {
	for want, terms := range map[string]Terms{
		"Days": {Time: "Days", TimeUnit: "days"}, "days": {Time: "days", TimeUnit: "days"},
		"followup (days)": {Time: "followup", TimeUnit: "days"}, "followup": {Time: "followup"},
	} {
		if got := terms.Axis(); got != want {
			t.Errorf("axis %q, want %q", got, want)
		}
	}
}

// TestPartyBound: at unit party, the vectors of two parties with as many records as the plan allows
// differ by no more than the bound, and some pair reaches it.
func TestPartyBound(t *testing.T) {
	terms := relapse
	terms.PerParty = maxPerParty
	p := planOf(t, terms, func(p *study.Plan) { p.Unit = privacy.Party })
	if err := (Kind{}).Check(p); err != nil {
		t.Fatal(err)
	}
	b, c := boundOf(p, terms), int64(maxPerParty)
	if b.L1 != 2*c || b.L2sq != 2*c*c || b.L2sq < 0 {
		t.Errorf("the bound of %d records is %+v", c, b)
	}
}

// TestPreviewNamesCounts: a preview asks the task itself to name a site's numbers, each with its
// group, interval and event. Numbers of another plan have no names.
func TestPreviewNamesCounts(t *testing.T) {
	p := planOf(t, relapse, nil)
	task, err := Kind{}.New(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	counter, ok := task.(study.Counter)
	if !ok {
		t.Fatal("a preview cannot name the numbers of a survival study")
	}
	c := task.(Task).Counted
	v := c.count(encode(t, p, [][]string{{"1", "relapse", "a", "no"}, {"12", "dead", "a", "no"},
		{"30", "alive", "b", "no"}, {"99", "alive", "b", "no"}, {"", "alive", "b", "no"}}))
	lines, record := counter.Counts(v)
	want := []string{"in no curve: 1",
		"a: 0 to 10: 1 with the event, 0 with dead, 0 last seen; 10 to 25: 0 with the event, " +
			"1 with dead, 0 last seen; 25 to 50: 0 with the event, 0 with dead, 0 last seen; 0 beyond",
		"b: 0 to 10: 0 with the event, 0 with dead, 0 last seen; 10 to 25: 0 with the event, " +
			"0 with dead, 0 last seen; 25 to 50: 0 with the event, 0 with dead, 1 last seen; 1 beyond"}
	if !slices.Equal(lines, want) || record != 1 {
		t.Errorf("a preview says %q, in steps of %d, want %q", lines, record, want)
	}
	if lines, _ := counter.Counts(v[1:]); lines != nil {
		t.Errorf("numbers of another plan are named: %q", lines)
	}
}
