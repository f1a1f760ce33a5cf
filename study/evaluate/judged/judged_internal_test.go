package judged

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/evaluate"
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

func ageModel(t testing.TB, s dataset.Schema) *evaluate.Model {
	t.Helper()
	m, err := Coefficients{Intercept: -6,
		Coefficients: map[string]float64{"age": .1, "ward=west": .5}}.Model(s)
	if err != nil {
		t.Fatal(err)
	}
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

func made(t testing.TB, s dataset.Schema, terms evaluate.Terms, change func(*study.Plan)) *histograms {
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
	if err := p.SetTerms(terms); err != nil {
		t.Fatal(err)
	}
	from := pool(t, s)
	if err := (Results{}).Tune(&p, from); err != nil {
		t.Fatal(err)
	}
	if err := (evaluate.Kind{}).Check(p); err != nil {
		t.Fatal(err)
	}
	return newHistograms(p, study.TermsOf[evaluate.Terms](p), from)
}

// counts returns the counts of all records without noise.
func counts(h *histograms, r *dataset.Records) []float64 {
	out := make([]float64, h.Cells())
	for _, cells := range (RecordEvaluator{h}).CellsOf(r) {
		for _, c := range cells {
			out[c]++
		}
	}
	return out
}

// TestCoefficients: a linear model in the columns' units scores by its formula.
func TestCoefficients(t *testing.T) {
	s := small(t)
	for _, class := range []string{"", "yes", "no"} {
		m, err := Coefficients{Class: class, Intercept: -2,
			Coefficients: map[string]float64{"age": .05, "chol": -.01, "chol?": .7, "ward=west": .5,
				"ward=other": -.25}}.Model(s)
		if err != nil {
			t.Fatal(err)
		}
		h := made(t, s, evaluate.Terms{Model: m}, nil)
		for row, want := range map[string]float64{
			"20,0,,east,no":      -2 + 1,
			"70,200,.5,west,yes": -2 + 3.5 - 2 + .5,
			"70,,.5,x,yes":       -2 + 3.5 - 1.5 + .7 - .25,
			"900,0,,east,no":     -2 + 5, // beyond the bounds
		} {
			if class == "no" {
				want = -want
			}
			z := make([]float64, 1)
			h.Scorer.Of(encode(t, s, row).X.RawRowView(0), z)
			if math.Abs(z[0]-want) > 1e-9 {
				t.Errorf("class %q: %s scores %v, want %v", class, row, z[0], want)
			}
		}
	}
	for says, c := range map[string]Coefficients{
		"there is no":          {Coefficients: map[string]float64{"weight": 1}},
		"is none of":           {Class: "perhaps"},
		"larger than any":      {Coefficients: map[string]float64{"age": 1e300}},
		"a coefficient is no ": {Coefficients: map[string]float64{"age": math.NaN()}},
	} {
		if _, err := c.Model(s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
	if _, err := (Coefficients{}).Model(small(t, "a", "b", "c")); err == nil {
		t.Error("coefficients for three classes")
	}
}

// TestOverall: the overall counts average several groupings by their noise; without noise they
// equal the counts without groupings.
func TestOverall(t *testing.T) {
	s := small(t)
	from := pool(t, s)
	rng := rand.New(rand.NewPCG(7, 8))
	y := make([]int, from.Rows())
	for i := range y {
		y[i] = rng.IntN(3) - 1
	}
	r := &dataset.Records{X: from.Encoded, Y: y}
	plain := made(t, s, evaluate.Terms{Model: ageModel(t, s), Bins: 8}, nil)
	by := made(t, s, evaluate.Terms{Model: ageModel(t, s), Bins: 8,
		By: []evaluate.Grouping{{Column: "ward"}, {Column: "chol", Edges: []float64{50, 150}}}}, nil)
	values := func(h *histograms) Evaluation {
		return h.evaluate(counts(h, r), 0, false)
	}
	a, b := values(plain).Classes[0].Overall, values(by).Classes[0].Overall
	if math.Abs(a.AUC.Value-b.AUC.Value) > 1e-12 ||
		math.Abs(a.Records.Value-b.Records.Value) > 1e-9 ||
		math.Abs(a.Unlabelled-b.Unlabelled) > 1e-9 {
		t.Errorf("overall %v of %v records, with groupings %v of %v", a.AUC.Value, a.Records.Value, b.AUC.Value, b.Records.Value)
	}
	if got, want := by.overallNoise(), 1/(1./3+1./4); math.Abs(got-want) > 1e-12 {
		t.Errorf("overall counts have %v times a count's variance, want %v", got, want)
	}
	one, _ := by.deviation(1)
	total, err := finisher{h: by}.FinishTotal(bodies.Total{Values: make([]float64,
		by.Cells()), Draws: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var e Evaluation
	if err := total.DecodeBody(&e); err != nil || math.Abs(e.NoiseSD-2*one) > 1e-9 ||
		e.Classes[0].Overall.AUC.Known() {
		t.Errorf("no records at all: %+v, %v", e.Classes[0].Overall.AUC, err)
	}
}

// TestROC: without noise the area under the curve is the AUC. With negative noisy counts the curve
// still rises and stays within the square. Counts smaller than the noise give no curve.
func TestROC(t *testing.T) {
	s := small(t)
	from := pool(t, s)
	rng := rand.New(rand.NewPCG(9, 8))
	y := make([]int, from.Rows())
	for i := range y {
		y[i] = rng.IntN(2)
	}
	h := made(t, s, evaluate.Terms{Model: ageModel(t, s), Bins: 8, By: []evaluate.Grouping{{Column: "ward"}}}, nil)
	v := counts(h, &dataset.Records{X: from.Encoded, Y: y})
	e := h.evaluate(v, 0, false)
	curves := e.ROC()
	if len(curves) < 3 || curves[0].Of != "everybody" || curves[1].Of != "ward east" ||
		curves[0].Class != "yes" {
		t.Fatalf("curves %+v", curves)
	}
	area := 0.0
	for i, p := range curves[0].Points[1:] {
		before := curves[0].Points[i]
		area += (p[0] - before[0]) * (p[1] + before[1]) / 2
	}
	if auc := e.Classes[0].Overall.AUC.Value; math.Abs(area-auc) > 1e-9 ||
		len(curves[0].Points) != 9 {
		t.Errorf("%d points have area %v, the AUC is %v", len(curves[0].Points), area, auc)
	}
	for i := range v {
		v[i] += 20 * rng.NormFloat64()
	}
	for _, c := range h.evaluate(v, 20, false).ROC() {
		if !slices.IsSortedFunc(c.Points, func(a, b [2]float64) int {
			return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
		}) {
			t.Errorf("%s falls: %v", c.Of, c.Points)
		}
		if last := c.Points[len(c.Points)-1]; last[0] > 1 || last[1] > 1 {
			t.Errorf("%s ends at %v", c.Of, last)
		}
	}
	if got := h.evaluate(make([]float64, len(v)), 20, false).ROC(); got != nil {
		t.Errorf("of no records: %v", got)
	}
}

// TestSpread: bins without a pool have the plan's number, are finer towards 0 and 1, and hold
// invented scores, the same number in each tenth from 0 to 1.
func TestSpread(t *testing.T) {
	h := made(t, small(t), evaluate.Terms{Program: true, PerParty: 9, Bins: 20}, func(p *study.Plan) {
		p.Unit = privacy.Party
	})
	edges := h.terms.Edges[0]
	if len(edges) != 19 || h.Scorer.Cut(.5) != 0 {
		t.Fatalf("edges %v", edges)
	}
	total := 0.0
	for b := range h.scales[0].Bins() {
		share := h.scales[0].PoolShare(b)
		low, high := 0.0, 1.0
		if b > 0 {
			low = 1 / (1 + math.Exp(-edges[b-1]))
		}
		if b < len(edges) {
			high = 1 / (1 + math.Exp(-edges[b]))
		}
		if math.Abs(share-(high-low)) > .02 ||
			!(h.scales[0].PoolMean(b) > low && h.scales[0].PoolMean(b) < high) {
			t.Errorf("bin %.3f to %.3f: a share of %.3f, mean %.3f", low, high, share,
				h.scales[0].PoolMean(b))
		}
		total += share
	}
	if math.Abs(total-1) > 1e-9 {
		t.Errorf("shares add up to %v", total)
	}
}
