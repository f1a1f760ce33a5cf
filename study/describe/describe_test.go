package describe

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
)

// small is a schema with every form of column: numbers (plain, possibly missing, on a log scale),
// and texts (plain, with a level other, with that level alone).
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

func tableOf(t testing.TB, rows ...string) *dataset.Table {
	t.Helper()
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, strings.Split(r, ","))
	}
	table, err := dataset.NewTable([]string{"age", "stay", "chol", "cost", "ward", "sex", "site",
		"outcome"}, cells)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func encode(t testing.TB, s dataset.Schema, rows ...string) *dataset.Records {
	t.Helper()
	r, _, err := s.Encode(tableOf(t, rows...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// leastMost is what a record adds to a within-bin sum in plans of before study.FormCommitted.
const leastMost = leastStep / sumShare

// committed makes a plan one of study.FormCommitted.
func committed(change func(*study.Plan)) func(*study.Plan) {
	return func(p *study.Plan) {
		if p.Form = study.FormCommitted; change != nil {
			change(p)
		}
	}
}

// TestCells: every cell of a file counts in the named cell of its column. In new plans a missing
// value has a cell of its own in each; in plans of before, only a number that the schema expects to
// be missing has one.
func TestCells(t *testing.T) {
	countsIn(t, statistic(t, committed(nil)), map[string]string{
		"0,100,5,0,east,f,x,yes":         "age 0 to 10|stay 90 to 100|chol 4 to 5|cost 0 to 1.512|ward east|sex f|site other|outcome yes",
		"50,50,0,99,west,m,other,no":     "age 50 to 60|stay 50 to 60|chol 0 to 1|cost 99 to 250.2|ward west|sex other|site other|outcome no",
		"-3,1e9,-9,1e9,north,other,,yes": "age 0 to 10|stay 90 to 100|chol -5 to -4|cost 3980 to 9999|ward other|sex other|site missing|outcome yes",
		",x,,NaN,,,,maybe":               "age missing|stay missing|chol missing|cost missing|ward missing|sex missing|site missing|outcome no label",
	})
	countsIn(t, statistic(t, nil), map[string]string{
		"0,100,5,0,east,f,x,yes":         "age 0 to 10|stay 90 to 100|chol 4 to 5|cost 0 to 1.512|ward east|sex f|site other or missing|outcome yes",
		"30,70,0,9,west,m,other,no":      "age 30 to 40|stay 70 to 80|chol 0 to 1|cost 5.31 to 14.85|ward west|sex other or missing|site other or missing|outcome no",
		"-3,1e9,-9,1e9,north,other,,yes": "age 0 to 10|stay 90 to 100|chol -5 to -4|cost 3980 to 9999|ward other or missing|sex other or missing|site other or missing|outcome yes",
		",x,,NaN,,,,maybe":               "age 50 to 60, or missing|stay 50 to 60, or missing|chol missing|cost 99 to 250.2, or missing|ward other or missing|sex other or missing|site other or missing|outcome no label",
	})
}

func countsIn(t *testing.T, q *counts, rows map[string]string) {
	t.Helper()
	for row, want := range rows {
		var got []string
		v := q.count(encodeFor(t, q.plan, row))
		for _, col := range q.Columns {
			for k, name := range col.cellNames() {
				if v[col.At(0)+k] != 0 {
					got = append(got, col.Name+" "+name)
				}
			}
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%s\ncounts in %s\nwant      %s", row, s, want)
		}
	}
}

// TestEdgesCountAbove: for every number of bins, a number on an edge is in the bin above, and a
// number just below in the bin below.
func TestEdgesCountAbove(t *testing.T) {
	s := small(t)
	for bins := 2; bins <= maxBins; bins++ {
		columns := columnsOf(s, Terms{Bins: bins}, true)
		for _, at := range []int{0, 2, 3} { // age, chol, cost
			c := columns[at]
			for k, edge := range c.Edges {
				for _, off := range []float64{0, -1e-4} {
					v := edge + off*(c.Edges[1]-c.Edges[0])
					cells := []string{"1", "1", "1", "1", "east", "f", "x", "no"}
					cells[at] = strconv.FormatFloat(v, 'g', -1, 64)
					r := encode(t, s, strings.Join(cells, ","))
					want := k
					if off < 0 {
						want--
					}
					want = max(0, min(want, bins-1))
					if got := c.of(r.X.RawRowView(0), 0); got != want {
						t.Fatalf("%s of %d bins: %v is in bin %d, want %d (edge %v)", c.Name, bins, v, got, want, edge)
					}
				}
			}
		}
	}
}

type boundedPlan struct {
	change func(*study.Plan)
	bound  [3]int64 // L1, L2², cells
	tight  [3]bool  // some pair reaches the bound
}

// plansOf lists the plans whose bound is searched.
var plansOf = map[string]boundedPlan{
	// Seven columns move, four of them numbers: 7·2·1024 + 4·4·128 in L1, and so on.
	"all":          {nil, [3]int64{14*leastStep + 16*leastMost, 14*leastStep*leastStep + 32*leastMost*leastMost, 14 + 8}, [3]bool{true, true, true}},
	"laplace":      {func(p *study.Plan) { p.Mechanism = "laplace" }, [3]int64{14*leastStep + 16*leastMost, 14*leastStep*leastStep + 32*leastMost*leastMost, 22}, [3]bool{true, true, true}},
	"by ward":      {func(p *study.Plan) { _ = p.SetTerms(Terms{Bins: 10, By: "ward"}) }, [3]int64{16*leastStep + 16*leastMost, 16*leastStep*leastStep + 32*leastMost*leastMost, 16 + 16}, [3]bool{true, false, true}},
	"by label":     {func(p *study.Plan) { _ = p.SetTerms(Terms{Bins: 3, By: "outcome"}) }, [3]int64{16*leastStep + 16*leastMost, 16*leastStep*leastStep + 32*leastMost*leastMost, 32}, [3]bool{true, false, true}},
	"where":        {func(p *study.Plan) { p.Where = "age >= 50 or ward == west" }, [3]int64{14*leastStep + 16*leastMost, 14*leastStep*leastStep + 32*leastMost*leastMost, 22}, [3]bool{true, true, true}},
	"where and by": {func(p *study.Plan) { p.Where = "outcome == yes"; _ = p.SetTerms(Terms{Bins: 2, By: "sex"}) }, [3]int64{16*leastStep + 16*leastMost, 16*leastStep*leastStep + 32*leastMost*leastMost, 32}, [3]bool{false, false, false}},
	"count":        {func(p *study.Plan) { p.Where = "age >= 50"; _ = p.SetTerms(Terms{Count: true}) }, [3]int64{1, 1, 1}, [3]bool{true, true, true}},
	// Bins of single values, in the middle and at both bounds, and narrow bins have the same bound.
	"edges": {func(p *study.Plan) {
		_ = p.SetTerms(Terms{Bins: 10, Edges: map[string][]float64{
			"age": {0, 1e-5, 10, 10, 49.99, 50, 99}, "stay": {50, 50, 100}, "chol": {-5, -4, -4, 0}, "cost": {50, 9999},
		}})
	}, [3]int64{14*leastStep + 16*leastMost, 14*leastStep*leastStep + 32*leastMost*leastMost,
		22}, [3]bool{false, false, true}},
	"one cell a column": {func(p *study.Plan) {
		// Columns of one cell move only if a record is added or removed: then all move.
		p.Schema.Features =
			[]dataset.Feature{{Columns: []string{"age", "stay", "site"}, Kind: dataset.Categorical,
				Levels: []string{"other"}}}
		p.Map, p.Where = dataset.Identity(p.Schema), "outcome == yes"
	}, [3]int64{5, 5, 5}, [3]bool{true, true, true}},
}

// proven is the bound of a plan of study.FormCommitted, by its proof.
func (q *counts) proven() [3]int64 {
	d, k, groups := int64(len(q.whole())), int64(0), int64(1)
	for _, c := range q.Columns {
		if c.Levels == nil {
			k++
		}
	}
	if q.Group != nil {
		groups = 2
	}
	if q.terms.Count {
		return [3]int64{1, 1, 1}
	}
	return [3]int64{2*q.Step*d + 4*q.Most*k, 2*q.Step*q.Step*d + 8*q.Most*q.Most*k,
		2*d + 2*groups*k}
}

// TestBoundHolds: of all pairs of records that can differ in a cell, no pair moves the counts by
// more than the bound; for plans marked tight, some pair reaches it, so a smaller bound would be
// false. Rows that no schema makes and records outside the condition are included.
func TestBoundHolds(t *testing.T) {
	for name, plan := range plansOf {
		plan.holds(t, name, statistic(t, plan.change))
		q := statistic(t, committed(plan.change))
		if plan.bound = q.proven(); name == "one cell a column" {
			plan.tight[2] = true // with missing values there are two
		}
		plan.holds(t, name+", missing apart", q)
	}
}

func (bp boundedPlan) holds(t *testing.T, name string, q *counts) {
	t.Helper()
	terms, err := q.Terms(1)
	if err != nil {
		t.Fatal(err)
	}
	b := terms.Bound
	bound := [3]int64{b.L1, b.L2sq, int64(b.Cells)}
	if bound != bp.bound {
		t.Fatalf("%s: bound %v, want %v", name, bound, bp.bound)
	}
	rows := []string{}
	for _, number := range []string{"0", "100", "", "9.999999", "49.99", "50"} {
		for _, ward := range []string{"east", "west", "north"} {
			for _, sex := range []string{"f", "x"} {
				for _, outcome := range []string{"no", "yes", "?"} {
					rows = append(rows,
						strings.Join([]string{number, "50", number, number, ward, sex, ward,
							outcome}, ","))
				}
			}
		}
	}
	rows = append(rows, "0,0,-5,0,east,f,x,no", "100,100,5,9999,west,x,x,yes",
		"100,100,,9999,west,x,x,yes", "9.9999,9.9999,-4.0001,1.511,east,f,x,no",
		"90,90,4,3982,west,x,x,yes")
	r := encodeFor(t, q.plan, rows...)
	rng := rand.New(rand.NewPCG(1, 2))
	dim := q.plan.Schema.Dim()
	senseless := mat.NewDense(40, dim, nil)
	senseless.Apply(func(_, _ int, _ float64) float64 {
		return []float64{0, 1, .5, -7, 1e308, math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(8)]
	}, senseless)
	var each [][]int64
	for i := range r.Len() {
		each = append(each, q.count(r.Select([]int{i})))
	}
	for i := range 40 {
		each = append(each, q.count(&dataset.Records{X: mat.NewDense(1, dim,
			senseless.RawRowView(i)), Y: []int{rng.IntN(9) - 3}}))
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
	for k, what := range []string{"L1", "L2²", "cells"} {
		// Both sums of a number cannot be at their largest at once: a tenth of the second is
		// missing.
		if least := bound[k] - bound[k]/20; most[k] > bound[k] || bp.tight[k] && most[k] < least {
			t.Errorf("%s: a replaced record moves %s by %d at most, the bound says %d", name, what, most[k], bound[k])
		}
	}
}

func encodeFor(t testing.TB, p study.Plan, rows ...string) *dataset.Records {
	t.Helper()
	s := p.Schema
	s.MarkMissing = (Kind{}).Words(p).CountsMissing
	r, _, err := p.Encode(s, tableOf(t, rows...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWithin: both within-bin sums of any number in [0,1] are within ±½, and with the bin's middle
// they give the number and its square. Edges are equal steps or random: some as close as a plan
// allows, some equal.
func TestWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		bins := 2 + rng.IntN(99)
		c := Column{Edges: []float64{0, 1}}.Cut(nil, bins)
		if rng.IntN(2) == 0 {
			c = oddColumn(rng)
		}
		v := rng.Float64()
		if rng.IntN(3) == 0 {
			v = c.places[rng.IntN(len(c.places))]
		}
		k := c.BinOf(v)
		if lo, hi := c.places[k], c.places[k+1]; v < lo-nudge || v > hi+nudge || v > hi-nudge &&
			hi > lo && hi < 1 {
			t.Fatalf("%v is in bin %d, from %v to %v", v, k, lo, hi)
		}
		first, second := c.BinCorrections(v, k)
		if slack := nudge / c.WidestBin; math.Abs(first) > 0.5+slack ||
			math.Abs(second) > 0.5+slack {
			t.Fatalf("%v of %v: %v and %v", v, c.places, first, second)
		}
		middle := c.BinMiddles[k]
		if off := middle + c.WidestBin*first - v; math.Abs(off) > 1e-12 {
			t.Fatalf("%v of %v: off by %v", v, c.places, off)
		}
		if off := (middle-.5)*(middle-.5) + c.WidestBin*second - (v-.5)*(v-.5); math.Abs(
			off) > 1e-12 {
			t.Fatalf("%v of %v: its square is off by %v", v, c.places, off)
		}
	}
}

// oddColumn is a number from 0 to 1 with random valid edges.
func oddColumn(rng *rand.Rand) Column {
	edges := []float64{}
	for last := 0.; len(edges) < 40 && rng.IntN(20) > 0; {
		if rng.IntN(4) > 0 {
			last += (1 - last) * rng.Float64() * rng.Float64()
		}
		edges = append(edges, last)
	}
	return Column{Edges: []float64{0, 1}}.Cut(edges, 0)
}

// TestPoolEdges: for every pool the edges increase, no bin is wider than widest, a value heavier
// than a part has its own bin, and every other bin weighs less than two parts.
func TestPoolEdges(t *testing.T) {
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: outcome, classes: ["no", "yes"]}
features: [{column: dose, kind: numeric, min: -3, max: 7, missing: true}]
`))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(21, 22))
	for range 2000 {
		rows, parts := 20+rng.IntN(300), 2+rng.IntN(30)
		x, digits := mat.NewDense(rows, 2, nil), []float64{1, 10, 1e12}[rng.IntN(3)]
		weight, total, known := map[float64]float64{}, 0., 0
		pool := &auxdata.Pool{Encoded: x, X: x}
		for i := range rows {
			v := math.Round(10*math.Pow(rng.Float64(), 6)*digits) / digits
			if rng.IntN(3) == 0 {
				v = []float64{0, 1.4, 3, 10}[rng.IntN(4)]
			}
			x.Set(i, 0, v/10)
			w := 1.
			if parts%2 == 0 {
				w = .5 + rng.Float64()
				pool.Weight = append(pool.Weight, w)
			}
			if rng.IntN(10) == 0 {
				x.Set(i, 1, 1)
				continue
			}
			weight[v/10] += w
			total, known = total+w, known+1
		}
		edges, cut := poolEdges(s, pool, parts)["dose"]
		if n := min(parts, known/rowsOfAPart); cut != (n > 1 && len(weight) > 1) {
			t.Fatalf("%d rows of %d values in %d parts: %v", known, len(weight), parts, edges)
		} else if parts = n; !cut {
			continue
		}
		c := columnsOf(s, Terms{Bins: 2}, true)[0]
		c = Column{Edges: []float64{c.Edges[0], c.Edges[2]}}.Cut(edges, 0)
		in := make([]float64, c.Bins())
		for v, w := range weight {
			in[c.BinOf(v)] += w
			if w > 1.0001*total/float64(parts) &&
				math.Abs(c.places[c.BinOf(v)+1]-c.places[c.BinOf(v)]) > nudge {
				t.Fatalf("%v weighs %v of %v in %d parts, and is in bin %d of %v", v, w, total, parts, c.BinOf(v), c.Edges)
			}
		}
		for k, w := range in {
			wide := c.places[k+1] - c.places[k]
			if wide < 0 || wide > 1.02*widest || wide > 0 && w > 2.0001*total/float64(parts) {
				t.Fatalf("bin %d of %v is %v wide and weighs %v of %v in %d parts", k, c.Edges, wide, w, total, parts)
			}
		}
	}
}

// TestClearBodies: the coordinator adds only counts that records can have.
func TestClearBodies(t *testing.T) {
	for _, plan := range []string{"all", "by ward", "where", "where and by", "count"} {
		q := statistic(t, func(p *study.Plan) {
			if change := plansOf[plan].change; change != nil {
				change(p)
			}
			p.Noise = study.NoiseCoordinator
		})
		r := encodeFor(t, q.plan, "1,2,3,4,east,f,x,no", "50,,,4,west,f,x,yes",
			"60,,,4,west,f,x,yes")
		vector, weight := q.Local(study.NewInputs(r, []byte("key")))
		last := len(vector) - 1
		for name, c := range map[string]struct {
			change func(v []int64) int64
			taken  bool
		}{
			"as counted":           {func([]int64) int64 { return weight }, true},
			"a count below 0":      {func(v []int64) int64 { v[last] -= 9 * q.Step; return weight }, false},
			"many more":            {func(v []int64) int64 { v[last] += 4 * q.Step; return weight }, false},
			"a weight below 0":     {func(v []int64) int64 { clear(v); return -1 }, false},
			"a weight beyond":      {func(v []int64) int64 { return 1 << 41 }, false},
			"a count that wraps":   {func(v []int64) int64 { v[0] = math.MinInt64; v[last] = math.MaxInt64; return weight }, false},
			"none":                 {func(v []int64) int64 { clear(v); return 0 }, true},
			"none, and a weight":   {func(v []int64) int64 { clear(v); return 2 }, q.CountsCondition && q.Group == nil || q.CountsCondition},
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
				t.Errorf("%s: %s: %v", plan, name, err)
			}
			if c.taken && (!slices.Equal(got, v) || n != weight) {
				t.Errorf("%s: %s: read back as %v, %d", plan, name, got, n)
			}
			if _, _, err := q.ParseClear(body[:len(body)-1]); err == nil {
				t.Errorf("%s: %s: a torn body is taken", plan, name)
			}
		}
		if plan == "count" {
			continue
		}
		// Half a record, a record in two cells, and a within-bin sum beyond that of the bin's
		// records.
		c := q.Columns[0]
		for name, change := range map[string]func(v []int64){
			"half a record":     func(v []int64) { v[c.First] += q.Step / 2; v[c.First+1] -= q.Step / 2 },
			"in two cells":      func(v []int64) { v[c.First] += q.Step; v[c.First+1] += q.Step },
			"too far in a bin":  func(v []int64) { v[c.First+c.Cells()] = 4*q.Most + 1 },
			"too far, the next": func(v []int64) { v[c.First+c.Cells()+1] = -4*q.Most - 1 },
		} {
			v := slices.Clone(vector)
			change(v)
			body, _ := q.AppendClear(v, weight)
			if _, _, err := q.ParseClear(body); err == nil {
				t.Errorf("%s: %s is taken", plan, name)
			}
		}
	}
	q := statistic(t, nil)
	if _, _, err := q.ParseClear(nil); err == nil {
		t.Error("an empty body is taken")
	}
}

// TestPerParty: at most the plan's number of a party's records count. Key and content choose them,
// not the order of the file.
func TestPerParty(t *testing.T) {
	q := statistic(t, func(p *study.Plan) { _ = p.SetTerms(Terms{Bins: 10, PerParty: 3}) })
	rows := []string{"1,2,3,4,east,f,x,no", "11,2,3,4,west,f,x,yes", "21,2,3,4,east,x,x,no",
		"31,2,3,4,,f,x,", "41,2,3,4,west,f,x,no"}
	for n := range len(rows) + 1 {
		v, weight := q.Local(study.NewInputs(encode(t, q.plan.Schema, rows[:n]...), []byte{1}))
		if want := int64(min(n, 3)); weight != want {
			t.Errorf("%d records weigh %d, want %d", n, weight, want)
		}
		for _, c := range q.Columns {
			if !q.areCounts(v[c.First:c.First+c.Cells()], weight) {
				t.Errorf("%d records: column %s counts others than %d", n, c.Name, weight)
			}
		}
		slices.Reverse(rows[:n])
		again, _ := q.Local(study.NewInputs(encode(t, q.plan.Schema, rows[:n]...), []byte{1}))
		if slices.Reverse(rows[:n]); !slices.Equal(v, again) {
			t.Errorf("%d records in the opposite order count otherwise", n)
		}
	}
}
