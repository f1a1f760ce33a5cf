package describe

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// small is a schema with a column of every form: a number, one that may be missing,
// one on a log scale, a text, one with a level other, one with nothing but that.
func small(t testing.TB) dataset.Schema {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: outcome, classes: ["no", "yes"]}
features:
  - {columns: [age, stay], kind: numeric, min: 0, max: 100}
  - {column: chol, kind: numeric, min: -5, max: 5, missing: true}
  - {column: cost, kind: numeric, min: 0, max: 9999, log: true}
  - {column: ward, kind: categorical, levels: [east, west]}
  - {column: sex, kind: categorical, levels: [other, f]}
  - {column: site, kind: categorical, levels: [other]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func statistic(t testing.TB, change func(*study.Plan)) *counts {
	t.Helper()
	s := small(t)
	p := study.Plan{
		Name: "x", Kind: "describe", Schema: s, Map: dataset.Identity(s), Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Records: 100,
		Mechanism: "gaussian", Noise: study.NoiseSite, Minimum: 2, Roster: []study.PartyID{"a", "b"},
	}
	if change != nil {
		change(&p)
	}
	if err := (Kind{}).Check(p); err != nil {
		t.Fatal(err)
	}
	return newCounts(p)
}

func encode(t testing.TB, s dataset.Schema, rows ...string) *dataset.Records {
	t.Helper()
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, strings.Split(r, ","))
	}
	table, err := dataset.NewTable([]string{"age", "stay", "chol", "cost", "ward", "sex", "site", "outcome"}, cells)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := s.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCells: what each cell of a file counts in, by name.
func TestCells(t *testing.T) {
	q := statistic(t, nil)
	for row, want := range map[string]string{
		"0,100,5,0,east,f,x,yes":         "age 0 to 10|stay 90 to 100|chol 4 to 5|cost 0 to 1.512|ward east|sex f|site other or missing|outcome yes",
		"30,70,0,9,west,m,other,no":      "age 30 to 40|stay 70 to 80|chol 0 to 1|cost 5.31 to 14.85|ward west|sex other or missing|site other or missing|outcome no",
		"-3,1e9,-9,1e9,north,other,,yes": "age 0 to 10|stay 90 to 100|chol -5 to -4|cost 3980 to 9999|ward other or missing|sex other or missing|site other or missing|outcome yes",
		",x,,NaN,,,,maybe":               "age 50 to 60, or missing|stay 50 to 60, or missing|chol missing|cost 99 to 250.2, or missing|ward other or missing|sex other or missing|site other or missing|outcome no label",
	} {
		var got []string
		c := countsOf(q.columns, count(q.columns, encode(t, q.plan.Schema, row)), 1, 0)
		for _, col := range c.Columns {
			names := col.Cells()
			if len(names) != len(col.Noisy) {
				t.Fatalf("%s: %d names for %d cells", col.Column, len(names), len(col.Noisy))
			}
			for k, n := range col.Noisy {
				if n != 0 {
					got = append(got, col.Column+" "+names[k])
				}
			}
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%s\ncounts in %s\nwant      %s", row, s, want)
		}
	}
}

// TestEdgesCountAbove: a number that is an edge is in the bin above, in every number
// of bins, and one just below it is not.
func TestEdgesCountAbove(t *testing.T) {
	s := small(t)
	for bins := 2; bins <= maxBins; bins++ {
		columns := columnsOf(s, bins)
		for _, at := range []int{0, 2, 3} { // age, chol, cost
			c := columns[at]
			for k, edge := range c.edges {
				for _, off := range []float64{0, -1e-4} {
					v := edge + off*(c.edges[1]-c.edges[0])
					cells := []string{"1", "1", "1", "1", "east", "f", "x", "no"}
					cells[at] = strconv.FormatFloat(v, 'g', -1, 64)
					r := encode(t, s, strings.Join(cells, ","))
					want := k
					if off < 0 {
						want--
					}
					want = max(0, min(want, bins-1))
					if got := c.of(r.X.RawRowView(0), 0); got != want {
						t.Fatalf("%s of %d bins: %v is in bin %d, want %d (edge %v)", c.name, bins, v, got, want, edge)
					}
				}
			}
		}
	}
}

// TestBoundHolds: of all pairs of records that differ in what any cell can be, none
// moves the counts by more than the bound, and some pair moves all of it: a smaller
// one would be false. Rows that no schema makes are among them.
func TestBoundHolds(t *testing.T) {
	q := statistic(t, nil)
	terms, err := q.Terms(1)
	if err != nil {
		t.Fatal(err)
	}
	if b := terms.Bound; b.L1 != 14 || b.L2sq != 14 || b.Cells != 14 { // the site has one cell
		t.Fatalf("bound %+v of 8 columns, one of which has a single cell", b)
	}
	rows := []string{}
	for _, number := range []string{"0", "100", ""} {
		for _, ward := range []string{"east", "west", "north"} {
			for _, sex := range []string{"f", "x"} {
				for _, outcome := range []string{"no", "yes", "?"} {
					rows = append(rows, strings.Join([]string{number, "50", number, number, ward, sex, ward, outcome}, ","))
				}
			}
		}
	}
	rows = append(rows, "0,0,-5,0,east,f,x,no", "100,100,,9999,west,x,x,yes")
	r := encode(t, q.plan.Schema, rows...)
	rng := rand.New(rand.NewPCG(1, 2))
	senseless := mat.NewDense(40, q.plan.Schema.Dim(), nil)
	senseless.Apply(func(_, _ int, _ float64) float64 {
		return []float64{0, 1, .5, -7, 1e308, math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(8)]
	}, senseless)
	var each [][]int64
	for i := range r.Len() {
		each = append(each, count(q.columns, r.Select([]int{i})))
	}
	for i := range 40 {
		each = append(each, count(q.columns, &dataset.Records{X: mat.NewDense(1, q.plan.Schema.Dim(), senseless.RawRowView(i)), Y: []int{rng.IntN(9) - 3}}))
	}
	var most [3]int64
	for _, a := range each {
		for _, b := range each {
			var moved [3]int64
			for j := range a {
				d := a[j] - b[j]
				moved[0] += max(d, -d)
				moved[1] += d * d
				if d != 0 {
					moved[2]++
				}
			}
			for k := range most {
				most[k] = max(most[k], moved[k])
			}
		}
	}
	if want := [3]int64{terms.Bound.L1, terms.Bound.L2sq, int64(terms.Bound.Cells)}; most != want {
		t.Errorf("a replaced record moves L1, L2² and cells by %v at most, the bound says %v", most, want)
	}
}

// TestClearBodies: what the coordinator adds is what records can have.
func TestClearBodies(t *testing.T) {
	q := statistic(t, func(p *study.Plan) { p.Noise = study.NoiseCoordinator })
	r := encode(t, q.plan.Schema, "1,2,3,4,east,f,x,no", "50,,,4,west,f,x,yes")
	vector, weight := q.Local(study.Inputs{Records: r})
	for name, c := range map[string]struct {
		change func(v []int64) int64
		taken  bool
	}{
		"as counted":           {func([]int64) int64 { return weight }, true},
		"a count below 0":      {func(v []int64) int64 { v[0], v[1] = -1, 2; return weight }, false},
		"a record more":        {func(v []int64) int64 { v[0]++; return weight }, false},
		"a record less":        {func(v []int64) int64 { v[len(v)-3]--; return weight }, false},
		"another weight":       {func([]int64) int64 { return weight + 1 }, false},
		"a weight below 0":     {func(v []int64) int64 { clear(v); return -1 }, false},
		"a weight beyond":      {func(v []int64) int64 { return 1 << 41 }, false},
		"a count that wraps":   {func(v []int64) int64 { v[0], v[1] = math.MaxInt64, math.MinInt64; return weight }, false},
		"none":                 {func(v []int64) int64 { clear(v); return 0 }, true},
		"none, and a weight":   {func(v []int64) int64 { clear(v); return 2 }, false},
		"counted, and no more": {func(v []int64) int64 { return 0 }, false},
	} {
		v := slices.Clone(vector)
		weight := c.change(v)
		body, err := q.AppendClear(v, weight)
		if err != nil {
			t.Fatal(err)
		}
		got, n, err := q.ParseClear(body)
		if (err == nil) != c.taken {
			t.Errorf("%s: %v", name, err)
		}
		if c.taken && (!slices.Equal(got, v) || n != weight) {
			t.Errorf("%s: read back as %v, %d", name, got, n)
		}
		if _, _, err := q.ParseClear(body[:len(body)-1]); err == nil {
			t.Errorf("%s: a torn body is taken", name)
		}
	}
	if _, _, err := q.ParseClear(nil); err == nil {
		t.Error("an empty body is taken")
	}
}

// TestCountsShown: what is shown is what records can have, and near what was
// released, which is kept; nothing fails without records.
func TestCountsShown(t *testing.T) {
	q := statistic(t, nil)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, records := range []int64{0, 1, 500} {
		total := bodies.Total{Weight: float64(records), Draws: 4, Values: make([]float64, q.Cells())}
		for j := range total.Values {
			total.Values[j] = float64(rng.IntN(200) - 40)
		}
		made, err := q.Finish(total, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out Counts
		if err := made.DecodeBody(&out); err != nil {
			t.Fatal(err)
		}
		one, _ := q.deviation(1)
		if out.Records != records || math.Abs(out.NoiseSD-2*one) > 1e-9 || math.Abs(out.ShareSD*float64(records)-out.NoiseSD) > 1e-9 && records > 0 {
			t.Errorf("%d records: %d, ± %v, share ± %v; one draw has %v", records, out.Records, out.NoiseSD, out.ShareSD, one)
		}
		at := 0
		for _, c := range out.Columns {
			sum, shares := 0., 0.
			for k, v := range c.Counts {
				if float64(c.Noisy[k]) != total.Values[at] || v < 0 {
					t.Errorf("%s: released %v is kept as %d and shown as %v", c.Column, total.Values[at], c.Noisy[k], v)
				}
				sum, shares, at = sum+v, shares+c.Shares[k], at+1
			}
			if math.Abs(sum-float64(records)) > 1e-6 || records > 0 && math.Abs(shares-1) > 1e-9 {
				t.Errorf("%s: counts add up to %v and shares to %v of %d records", c.Column, sum, shares, records)
			}
		}
	}
}

// TestPerParty: no more records of a party are counted than the plan says; which,
// follows from its key and from what they hold, not from the order of the file.
func TestPerParty(t *testing.T) {
	q := statistic(t, func(p *study.Plan) { _ = p.SetTerms(Terms{Bins: 10, PerParty: 3}) })
	rows := []string{"1,2,3,4,east,f,x,no", "11,2,3,4,west,f,x,yes", "21,2,3,4,east,x,x,no", "31,2,3,4,,f,x,", "41,2,3,4,west,f,x,no"}
	for n := range len(rows) + 1 {
		v, weight := q.Local(study.Inputs{Records: encode(t, q.plan.Schema, rows[:n]...), ShardKey: []byte{1}})
		if want := int64(min(n, 3)); weight != want {
			t.Errorf("%d records weigh %d, want %d", n, weight, want)
		}
		for _, c := range q.columns {
			sum := int64(0)
			for _, k := range v[c.cell : c.cell+c.cells()] {
				sum += k
			}
			if sum != weight {
				t.Errorf("%d records: column %s counts %d of %d", n, c.name, sum, weight)
			}
		}
		slices.Reverse(rows[:n])
		again, _ := q.Local(study.Inputs{Records: encode(t, q.plan.Schema, rows[:n]...), ShardKey: []byte{1}})
		if slices.Reverse(rows[:n]); !slices.Equal(v, again) {
			t.Errorf("%d records in the opposite order count otherwise", n)
		}
	}
}
