package regress

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
)

// everyRow returns all rows of a lattice: 0, and One with all numbers within the radius.
func everyRow(l Lattice) [][]int64 {
	all := [][]int64{make([]int64, l.dim)}
	w := make([]int64, l.dim)
	w[0] = l.One
	var fill func(j int, left int64)
	fill = func(j int, left int64) {
		if j == l.dim {
			all = append(all, slices.Clone(w))
			return
		}
		for v := int64(0); v*v <= left; v++ {
			w[j] = v
			fill(j+1, left-v*v)
			if v > 0 {
				w[j] = -v
				fill(j+1, left-v*v)
			}
		}
	}
	fill(1, l.Longest)
	return all
}

// summed adds up the rows' products.
func summed(l Lattice, rows ...[]int64) []int64 {
	out := make([]int64, l.Cells())
	for _, w := range rows {
		l.Add(out, w)
	}
	return out
}

func distance(x, y []int64) (l1, l2sq int64) {
	for k := range x {
		d := x[k] - y[k]
		l1, l2sq = l1+max(d, -d), l2sq+d*d
	}
	return l1, l2sq
}

// small returns a lattice whose rows can be enumerated.
func small(dim int, one, longest int64) Lattice {
	return Lattice{One: one, Longest: longest, Records: 1, dim: dim}
}

// TestBoundBySearch: of all pairs of rows of small lattices, and of all rows that are removed, none
// moves the sums by more than the bound, and in each number of dimensions some pair reaches 95 % of
// it in L2² and, from 3 on, 80 % in L1.
func TestBoundBySearch(t *testing.T) {
	reached := map[int][2]float64{}
	for _, l := range []Lattice{
		small(2, 1, 1), small(2, 2, 4), small(2, 3, 20), small(2, 8, 64), small(2, 4, 100),
		small(3, 1, 1), small(3, 1, 5), small(3, 2, 20), small(3, 4, 32), small(3, 3, 50),
		small(4, 1, 3), small(4, 1, 9), small(4, 2, 12), small(5, 1, 3), small(5, 1, 4),
		small(5, 1, 6), small(6, 1, 5),
	} {
		replaced, removed := l.bounds()
		var sums [][]int64
		for _, w := range everyRow(l) {
			sums = append(sums, summed(l, w))
		}
		most := reached[l.dim]
		for i, x := range sums {
			for k, y := range sums[:i] {
				b := replaced
				if k == 0 { // the row of a record that drops out
					b = removed
				}
				l1, l2 := distance(x, y)
				if l1 > b.L1 || l2 > b.L2sq {
					t.Fatalf("%+v: rows differ by %d and %d, the bound is %+v", l, l1, l2, b)
				}
				most[0] = max(most[0], float64(l1)/float64(replaced.L1))
				most[1] = max(most[1], float64(l2)/float64(replaced.L2sq))
			}
		}
		reached[l.dim] = most
	}
	for dim, share := range reached {
		t.Logf("%d numbers: %.3f of the bound in L1, %.3f in L2²", dim, share[0], share[1])
		if share[0] < .8 && dim > 2 || share[1] < .95 {
			t.Errorf("%d numbers: rows reach %.3f of the bound in L1, %.3f in L2²", dim, share[0],
				share[1])
		}
	}
}

// TestPartyBoundBySearch: of all parties of up to 2 records on a small lattice, no two have sums
// farther apart than the bound, and some pair reaches 95 % of it in L2².
func TestPartyBoundBySearch(t *testing.T) {
	l := small(3, 1, 1)
	l.Records = 2
	b, _ := l.bounds()
	var parties [][]int64
	rows := everyRow(l)
	for i, x := range rows {
		for _, y := range rows[:i+1] {
			parties = append(parties, summed(l, x, y))
		}
	}
	most := int64(0)
	for _, x := range parties {
		for _, y := range parties {
			l1, l2 := distance(x, y)
			if l1 > b.L1 || l2 > b.L2sq {
				t.Fatalf("parties differ by %d and %d, the bound is %+v", l1, l2, b)
			}
			most = max(most, l2)
		}
	}
	if float64(most) < .95*float64(b.L2sq) {
		t.Errorf("parties differ by up to %d in L2², the bound is %d", most, b.L2sq)
	}
}

func ward(t testing.TB) dataset.Schema {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: days, kind: numeric, min: 0, max: 100}
  - {column: age, kind: numeric, min: 0, max: 100, missing: true}
  - {column: cost, kind: numeric, min: 0, max: 1e6, log: true}
  - {column: arm, kind: categorical, levels: [a, b, c]}
  - {column: sex, kind: categorical, levels: [female, male, other]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wardPool has the arms a, b, c in 6, 3 and 1 of 10 rows, and numbers of a public spread.
func wardPool(t testing.TB, s dataset.Schema) *auxdata.Pool {
	t.Helper()
	var rows [][]string
	for i := range 200 {
		days, age := 20+i%41, 30+(i*7)%50
		rows = append(rows, []string{strconv.Itoa(days), strconv.Itoa(age),
			strconv.Itoa(100 * (1 + i%97)), []string{"a", "a", "b", "a", "b", "a", "c", "a", "b", "a"}[i%10],
			[]string{"female", "male"}[i/3%2]})
	}
	table, err := dataset.NewTable([]string{"days", "age", "cost", "arm", "sex"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	pool, _, err := auxdata.New(s, dataset.Identity(s), table)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func planOf(t testing.TB, terms Terms, change func(*study.Plan)) (study.Plan, *auxdata.Pool) {
	t.Helper()
	s := ward(t)
	pool := wardPool(t, s)
	p := study.Plan{
		Name: "x", Kind: "regress", Form: study.FormCommitted, Schema: s, Pool: pool.Digest,
		Map: dataset.Identity(s), Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Records: 100,
		Mechanism: "gaussian", Noise: study.NoiseSite, Minimum: 2,
		Roster: []study.PartyID{"a", "b"},
	}
	if err := p.SetTerms(terms); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&p)
	}
	return p, pool
}

var byDays = Terms{Outcome: "days", Columns: []string{"age", "cost", "arm", "sex"}, Radius: 4}

// oddRecords are all combinations of odd cells, in the order days, age, cost, arm, sex, died.
func oddRecords() (rows [][]string) {
	for _, days := range []string{"", "NaN", "x", "-1e9", "0", "50.5", "1e300"} {
		for _, age := range []string{"", "-3", "40", "1e9", "Inf"} {
			for _, cost := range []string{"", "0", "1e6", "31"} {
				for _, arm := range []string{"", "a", "b", "c", "other", "d"} {
					for _, sex := range []string{"", "female", "other", "unheard"} {
						rows = append(rows, []string{days, age, cost, arm, sex,
							[]string{"", "no", "yes", "?"}[len(rows)%4]})
					}
				}
			}
		}
	}
	return rows
}

func encode(t testing.TB, p study.Plan, rows [][]string) *dataset.Records {
	t.Helper()
	table, err := dataset.NewTable([]string{"days", "age", "cost", "arm", "sex", "died"}, rows)
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

// number reads a cell as its text says, and reports whether it holds a number.
func number(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && v-v == 0
}

// standardInWords is the standardised row of a record by its text alone, nil if it drops out.
func standardInWords(d *Design, row []string, label bool) []float64 {
	days, okDays := number(row[0])
	age, okAge := number(row[1])
	cost, okCost := number(row[2])
	of := d.Outcome
	y := (min(max(days, 0), 100)/100 - of.Mean) / of.Scale
	if label {
		okDays = row[5] == "yes" || row[5] == "no"
		y = (map[bool]float64{true: 1}[row[5] == "yes"] - of.Mean) / of.Scale
	}
	if !okDays || !okAge || !okCost || !slices.Contains([]string{"a", "b", "c"}, row[3]) ||
		row[4] == "" {
		return nil
	}
	is := func(yes bool) float64 { return map[bool]float64{true: 1}[yes] }
	v := []float64{min(max(age, 0), 100) / 100,
		math.Log1p(min(max(cost, 0), 1e6)) / math.Log1p(1e6),
		is(row[3] == "b"), is(row[3] == "c"), is(row[4] == "male"),
		is(row[4] == "other" || row[4] == "unheard")}
	for j, c := range d.Columns {
		v[j] = (v[j] - c.Mean) / c.Scale
	}
	return append(v, y)
}

// TestEveryRecordHasItsRow: the row of each of all odd records is 0 if its text lacks the outcome
// or a column, or fails the condition; else it is the text's standardised row, shortened as one ray to
// the radius, within a step. No row is longer than the bound says.
func TestEveryRecordHasItsRow(t *testing.T) {
	label := byDays
	label.Outcome, label.Is, label.Expected = "died", "yes", .25
	for name, terms := range map[string]Terms{"days": byDays, "died": label} {
		for _, where := range []string{"", "arm != b"} {
			for _, radius := range []float64{4, 1} {
				terms.Radius = radius
				p, pool := planOf(t, terms, func(p *study.Plan) { p.Where = where })
				if err := (Kind{}).Check(p); err != nil {
					t.Fatal(err)
				}
				m, err := newMoments(p, pool)
				if err != nil {
					t.Fatal(err)
				}
				rows := oddRecords()
				r := encode(t, p, rows)
				w, u := make([]int64, m.Dim()), make([]float64, m.Dim()-1)
				counted, shortened := 0, 0
				for i, row := range rows {
					m.Row(w, u, r, i)
					want := standardInWords(m.Design, row, name == "died")
					if where != "" && row[3] == "b" {
						want = nil
					}
					if want == nil {
						if slices.ContainsFunc(w, func(v int64) bool { return v != 0 }) {
							t.Fatalf("%q drops out, and has the row %v", row, w)
						}
						continue
					}
					counted++
					norm := math.Sqrt(dot(want, want))
					share := min(1, m.Radius/norm)
					if share < 1 {
						shortened++
					}
					sum := w[0] * w[0]
					for j, v := range want {
						sum += w[j+1] * w[j+1]
						off := v*share*float64(m.One) - float64(w[j+1])
						if math.Abs(off) >= 1+1e-6 {
							t.Errorf("%q: number %d of the row is %d, off by %g", row, j, w[j+1], off)
						}
					}
					if w[0] != m.One || sum > m.Squared() {
						t.Errorf("%q has the row %v of squared length %d, at most %d are possible",
							row, w, sum, m.Squared())
					}
				}
				if counted == 0 || radius == 1 && shortened == 0 {
					t.Errorf("%s where %q: %d records count, %d are shortened", name, where, counted,
						shortened)
				}
			}
		}
	}
}

func dot(x, y []float64) (sum float64) {
	for j := range x {
		sum += x[j] * y[j]
	}
	return sum
}

// TestHostileTerms: terms whose bound would not fit an integer are refused, and so are those that
// mean nothing.
func TestHostileTerms(t *testing.T) {
	for says, change := range map[string]func(*study.Plan, *Terms){
		"which unit label does not hide":     func(p *study.Plan, _ *Terms) { p.Unit = privacy.Label },
		"give the most that one adds":        func(_ *study.Plan, t *Terms) { t.PerParty = 0 },
		"at most 1048576 are possible":       func(_ *study.Plan, t *Terms) { t.PerParty = 1 << 39 },
		"too large for an integer":           func(_ *study.Plan, t *Terms) { t.PerParty = maxPerParty },
		"in steps of 1/16":                   func(_ *study.Plan, t *Terms) { t.Radius = 1.01 },
		"give 0.5 to 100":                    func(_ *study.Plan, t *Terms) { t.Radius = 1e9 },
		"neither the label nor a feature":    func(_ *study.Plan, t *Terms) { t.Outcome = "nothing" },
		"is no level that the schema names":  func(_ *study.Plan, t *Terms) { t.Outcome, t.Is = "arm", "d" },
		"is no class of the label":           func(_ *study.Plan, t *Terms) { t.Outcome, t.Is, t.Expected = "died", "maybe", .5 },
		"is a number: leave is out":          func(_ *study.Plan, t *Terms) { t.Is = "yes" },
		"is no feature of the schema":        func(_ *study.Plan, t *Terms) { t.Columns = []string{"died"} },
		"stands there twice":                 func(_ *study.Plan, t *Terms) { t.Columns = []string{"age", "age"} },
		"name the columns":                   func(_ *study.Plan, t *Terms) { t.Columns = nil },
		"of an outcome that is the label":    func(_ *study.Plan, t *Terms) { t.Expected = .5 },
		"of the records above 0 and below 1": func(_ *study.Plan, t *Terms) { t.Outcome, t.Is, t.Expected = "died", "yes", 1 },
		"do not fit an integer; use fewer":   func(p *study.Plan, t *Terms) { p.Unit, p.Records, t.PerParty = privacy.Record, 1<<30, 0 },
		"regress plans have form 3":          func(p *study.Plan, _ *Terms) { p.Form = 0 },
	} {
		terms := byDays
		terms.PerParty, terms.Radius = 100, 5
		p, _ := planOf(t, terms, func(p *study.Plan) { p.Unit = privacy.Party })
		if err := (Kind{}).Check(p); err != nil {
			t.Fatal(err)
		}
		change(&p, &terms)
		if err := p.SetTerms(terms); err != nil {
			t.Fatal(err)
		}
		if err := (Kind{}).Check(p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
}

// TestNoOverflow: with the most records of a party, the largest radius and the most columns that
// Check takes, no bound is negative, and no sum over all sites can leave an int64.
func TestNoOverflow(t *testing.T) {
	for dim := 3; dim <= mostDim; dim++ {
		for _, radius := range []float64{leastRadius, 5, 33, mostRadius} {
			for k := int64(1); k <= maxPerParty; k = k*3 + 1 {
				terms := Terms{Radius: radius, PerParty: k}
				p := study.Plan{Unit: privacy.Party, Roster: make([]study.PartyID, 7)}
				l, err := terms.lattice(p, dim)
				if err != nil {
					continue
				}
				b, removed := l.bounds()
				exact := 50 * math.Pow(float64(k)*float64(l.Squared()), 2)
				if math.Abs(float64(b.L2sq)/exact-1) > 1e-9 || removed.L2sq*2 != b.L2sq ||
					b.L1 <= 0 || removed.L1 <= 0 || removed.L1 > 2*b.L1 {
					t.Errorf("%d numbers, radius %g, %d records: bound %+v, removed %+v", dim, radius,
						k, b, removed)
				}
				most := float64(mostRecords(p, terms, l)) * 7 * OfSquare * float64(l.Squared())
				if most > 1<<60 {
					t.Errorf("%d numbers, radius %g: a sum can reach %g", dim, radius, most)
				}
			}
		}
	}
}
