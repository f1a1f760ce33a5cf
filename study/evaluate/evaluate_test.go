package evaluate

import (
	"cmp"
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
	"caucus/study/classifier"
)

// small is a schema with a number, a number that may be missing, a score, a text, and by default
// two classes.
func small(t testing.TB, classes ...string) dataset.Schema {
	t.Helper()
	if len(classes) == 0 {
		classes = []string{"no", "yes"}
	}
	s := dataset.Schema{
		Label: dataset.Label{Column: "outcome", Classes: classes},
		Features: []dataset.Feature{
			{Column: "age", Kind: dataset.Numeric, Min: 20, Max: 100},
			{Column: "chol", Kind: dataset.Numeric, Max: 300, FlagMissing: true},
			{Column: "score", Kind: dataset.Numeric, Max: 1, FlagMissing: true},
			{Column: "ward", Kind: dataset.Categorical, Levels: []string{"east", "west"}},
		},
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func encode(t testing.TB, s dataset.Schema, rows ...string) *dataset.Records {
	t.Helper()
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, strings.Split(r, ","))
	}
	table, err := dataset.NewTable([]string{"age", "chol", "score", "ward", "outcome"}, cells)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := s.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ageModel has the log-odds −6 + 0.1·age + 0.5·(ward is west).
func ageModel(t testing.TB, s dataset.Schema) *Model {
	t.Helper()
	m := &Model{Map: dataset.Identity(s), Output: classifier.Probability}
	row := mat.NewDense(1, s.Dim(), nil)
	row.Set(0, 0, 1)
	mapped := m.Map.Apply(row).RawRowView(0)
	unit, one := mapped[0], mapped[s.Dim()]
	for range m.Map.Dim() {
		m.Weights = append(m.Weights, []float64{0})
	}
	m.Weights[0][0], m.Weights[6][0] = .1*80/unit, .5/unit
	m.Weights[s.Dim()][0] = (-6 + .1*20) / one
	return m
}

func pool(t testing.TB, s dataset.Schema) *auxdata.Pool {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	var rows []string
	for range 300 {
		rows = append(rows, strings.Join([]string{strconv.Itoa(20 + rng.IntN(81)), "100",
			strconv.FormatFloat(rng.Float64(), 'f', 2, 64), []string{"east", "west",
				""}[rng.IntN(3)], ""}, ","))
	}
	return auxdata.NewSimulated(encode(t, s, rows...).X, dataset.Identity(s))
}

func made(t testing.TB, s dataset.Schema, terms Terms, change func(*study.Plan)) *Histograms {
	t.Helper()
	p := study.Plan{
		Name: "test", Kind: "evaluate", Schema: s, Map: dataset.Identity(s), Roster: []study.PartyID{"a", "b"},
		Records: 50, Unit: privacy.Record, Epsilon: 1, Mechanism: "laplace", Noise: study.NoiseSite, Minimum: 2,
	}
	if change != nil {
		change(&p)
	}
	if len(terms.Classes) == 0 {
		terms.Classes = s.Classes()[1:2]
	}
	if terms.Bins = cmp.Or(terms.Bins, 20); terms.Edges == nil {
		for range terms.Classes {
			terms.Edges = append(terms.Edges, edges(p, terms))
		}
	}
	if err := p.SetTerms(terms); err != nil {
		t.Fatal(err)
	}
	if err := (Kind{}).Check(p); err != nil {
		t.Fatal(err)
	}
	return NewHistograms(p, study.TermsOf[Terms](p))
}

// edges cuts scores from -5 to 5 evenly, and at the thresholds.
func edges(p study.Plan, terms Terms) (all []float64) {
	for _, at := range terms.Thresholds {
		all = append(all, NewScorer(p, terms).Cut(at))
	}
	for k := 1; k < terms.Bins; k++ {
		all = append(all, 10*float64(k)/float64(terms.Bins)-5)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestCellOf: each record lies in the expected cell, at edges too.
func TestCellOf(t *testing.T) {
	s := small(t)
	h := made(t, s, Terms{Score: "score", Thresholds: []float64{.25, .5},
		By: []Grouping{{Column: "ward"}, {Column: "age", Edges: []float64{40, 65}}}}, nil)
	bins := h.edges[0].Bins()
	at := func(p float64) int { return h.edges[0].Bin(h.Scorer.Cut(p)) }
	run := CellsOfLevel(bins)
	if of := h.Groups[1].Levels; of[1] != "40 to 65, or missing" || len(of) != 3 {
		t.Errorf("groups of age are %q: a record that lacks it counts in one, which must say so", of)
	}
	for row, want := range map[string][2]int{
		"20,1,.25,east,yes":  {at(.25), at(.25)},
		"40,1,.25,west,no":   {run + bins + 1 + at(.25), run + bins + 1 + at(.25)},
		"39.9,1,.2499,,yes":  {2*run + at(.25) - 1, at(.25) - 1},
		"64.9,1,.5,east,yes": {at(.5), run + at(.5)},
		"65,1,1,east,yes":    {bins - 1, 2*run + bins - 1},
		"99,1,0,east,no":     {bins + 1, 2*run + bins + 1},
		"99,1,,east,yes":     {bins, 2*run + bins},
		"99,1,,east,no":      {2*bins + 1, 2*run + 2*bins + 1},
		"99,1,.5,east,?":     {2 * (bins + 1), 2*run + 2*(bins+1)},
		",,,,":               {2*run + 2*(bins+1), run + 2*(bins+1)}, // a missing age is the middle
	} {
		countsIn(t, h, s, row, want, 3)
	}
	// In new plans a missing value is a group of its own, of a text and of a number.
	h = made(t, s, h.terms, func(p *study.Plan) { p.Form = study.FormCommitted })
	if a, b := strings.Join(h.Groups[0].Levels, "|"), strings.Join(h.Groups[1].Levels,
		"|"); a != "east|west|other|missing" || b != "below 40|40 to 65|65 and above|missing" {
		t.Errorf("groups of ward are %q, of age %q", a, b)
	}
	s.MarkMissing = true
	for row, want := range map[string][2]int{
		"20,1,.25,x,yes":    {2*run + at(.25), at(.25)},
		"52.5,1,.25,,no":    {3*run + bins + 1 + at(.25), run + bins + 1 + at(.25)},
		",1,.25,east,yes":   {at(.25), 3*run + at(.25)},
		"old,1,.25,a b,yes": {2*run + at(.25), 3*run + at(.25)},
		",,,,":              {3*run + 2*(bins+1), 3*run + 2*(bins+1)},
	} {
		countsIn(t, h, s, row, want, 4)
	}
}

// countsIn checks the cells of a row in two histograms; the first has this number of levels.
func countsIn(t *testing.T, h *Histograms, s dataset.Schema, row string, want [2]int, levels int) {
	t.Helper()
	run := CellsOfLevel(h.edges[0].Bins())
	r := encode(t, s, row)
	scores := make([]float64, 1)
	h.Scorer.Of(r.X.RawRowView(0), scores)
	got := h.CellsOf(r.X.RawRowView(0), h.ClassOf(r, 0), scores, nil)
	if want[1] += levels * run; got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%s is in %v, want %v", row, got, want)
	}
}

// TestBoundHolds: of all pairs of records that can differ in a cell, including rows that no schema
// makes and scores that are NaN, no pair moves the counts by more than the bound, and some pair
// reaches it, so a smaller bound would be false.
func TestBoundHolds(t *testing.T) {
	three := small(t, "no", "yes", "maybe")
	many := &Model{Map: dataset.Identity(three), Output: classifier.VoteShare}
	for j := range many.Map.Dim() {
		many.Weights = append(many.Weights, []float64{float64(j), -float64(j % 3), 1e6})
	}
	two := small(t)
	for name, h := range map[string]*Histograms{
		"a model":                      made(t, two, Terms{Model: ageModel(t, two)}, nil),
		"a model, two groupings":       made(t, two, Terms{Model: ageModel(t, two), By: []Grouping{{Column: "ward"}, {Column: "chol", Edges: []float64{100}}}}, nil),
		"a column":                     made(t, two, Terms{Score: "score", Bins: 3}, nil),
		"three classes, each":          made(t, three, Terms{Model: many, Classes: []string{"maybe", "no", "yes"}, Thresholds: []float64{.5}}, nil),
		"missing apart":                made(t, two, Terms{Model: ageModel(t, two), By: []Grouping{{Column: "ward"}, {Column: "age", Edges: []float64{50}}}}, func(p *study.Plan) { p.Form = study.FormCommitted }),
		"three classes, two, grouping": made(t, three, Terms{Model: many, Classes: []string{"maybe", "no"}, By: []Grouping{{Column: "ward"}}, Thresholds: []float64{.5}}, nil),
	} {
		terms, err := h.Terms(1)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(len(h.edges) * len(h.Groups))
		if b := terms.Bound; b.L1 != 2*n || b.L2sq != 2*n || b.Cells != int(2*n) {
			t.Fatalf("%s: bound %+v of %d tables", name, b, n)
		}
		each := everyCount(t, h)
		var most [3]int64
		for _, a := range each {
			sum := int64(0)
			for _, v := range a {
				sum += v
			}
			if sum != n {
				t.Fatalf("%s: a record is in %d cells of %d tables", name, sum, n)
			}
			for _, b := range each {
				l1, l2, cells := moved(a, b)
				most = [3]int64{max(most[0], l1), max(most[1], l2), max(most[2], cells)}
			}
		}
		if want := [3]int64{terms.Bound.L1, terms.Bound.L2sq,
			int64(terms.Bound.Cells)}; most != want {
			t.Errorf("%s: a replaced record moves L1, L2² and cells by %v at most, the bound says %v", name, most, want)
		}
	}
}

// everyCount returns counts of one record each: ordinary records, and rows of senseless numbers.
func everyCount(t testing.TB, h *Histograms) (each [][]int64) {
	t.Helper()
	var rows []string
	for _, age := range []string{"20", "60", "100", ""} {
		for _, score := range []string{"0", ".3", "1", ""} {
			for _, ward := range []string{"east", "west", "x"} {
				for _, outcome := range append(h.plan.Schema.Classes(), "?") {
					rows = append(rows, strings.Join([]string{age, age, score, ward, outcome}, ","))
				}
			}
		}
	}
	s := h.plan.Schema
	s.MarkMissing = CountsMissing(h.plan)
	r := encode(t, s, rows...)
	for i := range r.Len() {
		each = append(each, h.count(r.Select([]int{i}), nil))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	odd := []float64{0, 1, .5, -7, 1e308, math.NaN(), math.Inf(1), math.Inf(-1)}
	for range 60 {
		x := mat.NewDense(1, h.plan.Schema.Dim(), nil)
		x.Apply(func(_, _ int, _ float64) float64 { return odd[rng.IntN(len(odd))] }, x)
		each = append(each, h.count(&dataset.Records{X: x, Y: []int{rng.IntN(9) - 3}}, nil))
	}
	return each
}

func moved(a, b []int64) (l1, l2sq, cells int64) {
	for j := range a {
		d := a[j] - b[j]
		l1 += max(d, -d)
		l2sq += d * d
		if d != 0 {
			cells++
		}
	}
	return l1, l2sq, cells
}

// TestPartyBound: of parties with any number of records, at most the plan's number count, no pair
// moves the counts by more than the bound, and one reaches it. The number of records does not leave
// the party.
func TestPartyBound(t *testing.T) {
	s := small(t)
	h := made(t, s, Terms{Score: "score", Bins: 3, PerParty: 3, By: []Grouping{{Column: "ward"}}},
		func(p *study.Plan) {
			p.Unit, p.Noise = privacy.Party, study.NoiseCoordinator
		})
	terms, err := h.Terms(1)
	if err != nil || terms.Bound.L1 != 6 || terms.Bound.L2sq != 18 {
		t.Fatalf("bound %+v of 3 records a party: %v", terms.Bound, err)
	}
	kindsOf := []string{"30,1,0,east,no", "90,1,1,west,yes", "90,1,,x,?"}
	var each [][]int64
	for n := range 6 {
		for k, row := range kindsOf {
			var rows []string
			for i := range n {
				rows = append(rows, kindsOf[(k+i*(n%2))%3], row)
			}
			r := encode(t, s, rows...)
			if n == 0 {
				r = &dataset.Records{X: &mat.Dense{}}
			}
			v, weight := h.Local(study.NewInputs(r, []byte{1}))
			if weight != 1 {
				t.Errorf("%d records weigh %d: that tells how many there are", r.Len(), weight)
			}
			body, _ := h.AppendClear(v, weight)
			if _, _, err := h.ParseClear(body); err != nil {
				t.Error(err)
			}
			each = append(each, v)
		}
	}
	var most [2]int64
	for _, a := range each {
		for _, b := range each {
			l1, l2, _ := moved(a, b)
			most = [2]int64{max(most[0], l1), max(most[1], l2)}
		}
	}
	if most != [2]int64{6, 18} {
		t.Errorf("a replaced party moves L1 and L2² by %v, the bound says 6 and 18", most)
	}
}

// TestPerParty: at most the plan's number of a party's records count. Key and content choose them,
// not the order of the file.
func TestPerParty(t *testing.T) {
	s := small(t)
	h := made(t, s, Terms{Model: ageModel(t, s), PerParty: 3}, nil)
	rows := []string{"21,2,.3,east,no", "91,2,.3,west,yes", "51,2,.3,east,no", "31,2,,,",
		"41,2,.3,west,no"}
	for n := 1; n <= len(rows); n++ {
		v, weight := h.Local(study.NewInputs(encode(t, s, rows[:n]...), []byte{1}))
		sum := int64(0)
		for _, k := range v {
			sum += k
		}
		if want := int64(min(n, 3)); weight != want || sum != want {
			t.Errorf("%d records weigh %d and count %d, want %d", n, weight, sum, want)
		}
		turned := slices.Clone(rows[:n])
		slices.Reverse(turned)
		if again, _ := h.Local(study.NewInputs(encode(t, s, turned...),
			[]byte{1})); !slices.Equal(v, again) {
			t.Errorf("%d records in the opposite order count otherwise", n)
		}
	}
}

// TestClearBodies: the coordinator adds only counts that records can have.
func TestClearBodies(t *testing.T) {
	s := small(t)
	h := made(t, s, Terms{Model: ageModel(t, s),
		By: []Grouping{{Column: "ward"},
			{Column: "chol", Edges: []float64{9}}}}, func(p *study.Plan) {
		p.Noise = study.NoiseCoordinator
	})
	vector, weight := h.Local(study.NewInputs(encode(t, s, "21,2,.3,east,no", "91,,.3,west,yes",
		"51,20,.3,x,?"), []byte("key")))
	for name, c := range map[string]struct {
		change func(v []int64) int64
		taken  bool
	}{
		"as counted":         {func([]int64) int64 { return weight }, true},
		"a count below 0":    {func(v []int64) int64 { v[0], v[1] = v[0]-9, v[1]+9; return weight }, false},
		"a record more":      {func(v []int64) int64 { v[0]++; return weight }, false},
		"one table's more":   {func(v []int64) int64 { v[len(v)-1]++; return weight + 1 }, false},
		"another weight":     {func([]int64) int64 { return weight + 1 }, false},
		"a weight below 0":   {func(v []int64) int64 { clear(v); return -1 }, false},
		"a weight beyond":    {func([]int64) int64 { return 1 << 41 }, false},
		"a count that wraps": {func(v []int64) int64 { v[0], v[1] = math.MaxInt64, math.MinInt64; return weight }, false},
		"none":               {func(v []int64) int64 { clear(v); return 0 }, true},
		"none, and a weight": {func(v []int64) int64 { clear(v); return 2 }, false},
	} {
		v := slices.Clone(vector)
		weight := c.change(v)
		body, err := h.AppendClear(v, weight)
		if err != nil {
			t.Fatal(err)
		}
		got, n, err := h.ParseClear(body)
		if (err == nil) != c.taken {
			t.Errorf("%s: %v", name, err)
		}
		if c.taken && (!slices.Equal(got, v) || n != weight) {
			t.Errorf("%s: read back as %v, %d", name, got, n)
		}
		if _, _, err := h.ParseClear(body[:len(body)-1]); err == nil {
			t.Errorf("%s: a torn body is taken", name)
		}
	}
}

// TestScoresStandAlone: a record's score is the same to the last bit beside any other records,
// under any map.
func TestScoresStandAlone(t *testing.T) {
	s := small(t, "no", "yes", "maybe")
	from := pool(t, s)
	projected, err := dataset.FitPCA(from.Encoded, 4, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []dataset.Map{dataset.Identity(s), projected} {
		m := &Model{Map: by, Output: classifier.Score}
		for j := range by.Dim() {
			m.Weights = append(m.Weights,
				[]float64{math.Sqrt(float64(j + 1)), -1 / float64(j+3), .1})
		}
		h := made(t, s, Terms{Model: m}, nil)
		together := h.count(&dataset.Records{X: from.Encoded, Y: make([]int, from.Rows())}, nil)
		alone := make([]int64, h.Cells())
		for i := range from.Rows() {
			for c, n := range h.count(&dataset.Records{X: mat.NewDense(1, s.Dim(),
				slices.Clone(from.Encoded.RawRowView(i))), Y: []int{0}}, nil) {
				alone[c] += n
			}
		}
		if !slices.Equal(together, alone) {
			t.Errorf("map %s: counts of all rows are not those of one after the other", by.Kind)
		}
	}
}

// TestWeightsNextToNothing: a plan's weights never give subnormal numbers, which some processors
// handle slowly.
func TestWeightsNextToNothing(t *testing.T) {
	s := small(t)
	m := ageModel(t, s)
	for j := range m.Weights {
		m.Weights[j][0] = 5e-324
	}
	h := made(t, s, Terms{Model: m, Thresholds: []float64{.5}}, nil)
	out := make([]float64, 1)
	h.Scorer.Of(encode(t, s, "70,1,.25,west,yes").X.RawRowView(0), out)
	if out[0] != 0 {
		t.Errorf("score %g, want 0", out[0])
	}
	// A class that is far behind adds almost nothing, and nothing subnormal.
	if z := logOdds([]float64{800, 0, 57}, 2); !(math.Abs(z+743) < 1e-9) {
		t.Errorf("log-odds %v, want -743", z)
	}
}

// TestScoresBeyond: squares of a column's scores must be finite.
func TestScoresBeyond(t *testing.T) {
	s := small(t)
	s.Features[2].Max = 1e300
	if _, err := scoreColumn(s, "score"); err == nil ||
		!strings.Contains(err.Error(), "give bounds within") {
		t.Errorf("a score of up to 1e300: %v", err)
	}
}

// TestWorkOfPool: Work includes scoring the pool's rows.
func TestWorkOfPool(t *testing.T) {
	s := small(t)
	h := made(t, s, Terms{Model: ageModel(t, s)}, nil)
	of := func(rows int) float64 {
		x := mat.NewDense(rows, s.Dim(), nil)
		made, err := Kind{}.New(h.plan, auxdata.NewSimulated(x, dataset.Identity(s)))
		if err != nil {
			t.Fatal(err)
		}
		w, err := made.Work(10)
		if err != nil {
			t.Fatal(err)
		}
		plain := made.(Task).CommonWork(10)
		return w.OtherSteps - plain
	}
	if few, many := of(10), of(1000); many < 40*few {
		t.Errorf("scoring takes %.0f steps with a pool of 10 rows and %.0f with one of 1000", few, many)
	}
}
