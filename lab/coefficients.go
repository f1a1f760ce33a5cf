package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/fitting"
	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier/fitted"
)

// coefficientsExperiment measures how often the intervals of a cross release's coefficients hold
// what they are of.
//
// A set's records, at most populationMost of them, are the population. Pool and records are drawn
// from it with replacement, so that the truth is known: the coefficients that logistic regression
// has on the whole population, without ridge, in the schema's columns ("columns"), and on the
// plan's map ("map").
func coefficientsExperiment() experiment {
	return experiment{
		Name:   "coefficients",
		About:  "the intervals of a cross release's coefficients against those of the whole population",
		Tasks:  coefficientsTasks,
		Report: coefficientsReport,
	}
}

// coefficientSet is a set of two classes. The rule for showing an interval was chosen on
// those with chosen; the others only judge it.
type coefficientSet struct {
	name   string
	chosen bool
}

var (
	coefficientSets = []coefficientSet{{"adult", true}, {"hospitals", true}, {"phishing", false},
		{"higgs_sample", false}, {"kddcup99", false}}
	// coefficientPlans are sites with so many records each.
	coefficientPlans    = [][2]int{{3, 1000}, {12, 1000}, {12, 2500}}
	coefficientEpsilons = []float64{.3, 1, 3}
)

const (
	coefficientDraws = 4
	coefficientPool  = 4000
	populationMost   = 10_000
	// tooLarge a true coefficient says that a level's records are all of one class, or
	// nearly: logistic regression has no value then.
	tooLarge = 12.0
)

func coefficientsTasks(l *lab) (tasks []task, err error) {
	sets, plans := coefficientSets, coefficientPlans
	if l.Quick {
		sets, plans = []coefficientSet{{"hospitals", true}}, plans[1:2]
	}
	for _, s := range sets {
		population := sync.OnceValues(func() (*population, error) { return newPopulation(l, s) })
		for _, plan := range plans {
			for number := range l.draws(coefficientDraws) {
				c := coefficientDraw{set: s, population: population, sites: plan[0],
					records: plan[1], number: number}
				tasks = append(tasks,
					task{Key: c.key(), Run: func(ctx context.Context, out *results) error {
						return c.run(ctx, l, out)
					}})
			}
		}
	}
	return tasks, nil
}

// population is the set of records from which samples are drawn.
type population struct {
	schema dataset.Schema
	*dataset.Records
	weights *mat.VecDense // of logistic regression on its encoded columns and 1
}

func newPopulation(l *lab, s coefficientSet) (*population, error) {
	data, err := l.records(s.name)
	if err != nil {
		return nil, err
	}
	rows := l.rng("coefficients population " + s.name).Perm(data.Train.Len())
	rows = rows[:min(len(rows), populationMost)]
	p := &population{schema: data.Schema, Records: data.Train.Select(rows)}
	if k := len(p.schema.Classes()); k != 2 {
		return nil, fmt.Errorf("%s has %d classes: give a set of two", s.name, k)
	}
	n, d := p.X.Dims()
	x := mat.NewDense(n, d+1, nil)
	x.Slice(0, n, 0, d).(*mat.Dense).Copy(p.X)
	for i := range n {
		x.Set(i, d, 1)
	}
	p.weights = logistic(x, p.Y)
	return p, nil
}

// logistic is the minimiser of the logistic risk of rows x with classes 0 and 1, by Newton's method
// with halved steps; of directions that no row has it has nothing. Its ridge of 1e-9 holds what
// separates.
func logistic(x *mat.Dense, y []int) *mat.VecDense {
	const ridge, steps = 1e-9, 60
	n, d := x.Dims()
	w := mat.NewVecDense(d, nil)
	risk := func(w *mat.VecDense) (v float64) {
		var s mat.VecDense
		s.MulVec(x, w)
		for i := range n {
			z := s.AtVec(i) * float64(1-2*y[i])
			v += (math.Max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))) / float64(n)
		}
		return v + ridge/2*mat.Dot(w, w)
	}
	at := risk(w)
	for range steps {
		p := learners.Linear{W: mat.NewDense(d, 1, mat.Col(nil, 0, w)), Classes: 2}.Probabilities(x)
		scaled, g := mat.NewDense(n, d, nil), mat.NewVecDense(d, nil)
		for i := range n {
			q := p.At(i, 1)
			g.AddScaledVec(g, (float64(y[i])-q)/float64(n), x.RowView(i))
			floats.AddScaled(scaled.RawRowView(i), math.Sqrt(q*(1-q)/float64(n)), x.RawRowView(i))
		}
		g.AddScaledVec(g, -ridge, w)
		h := mat.NewSymDense(d, nil)
		h.SymOuterK(1, scaled.T())
		for j := range d {
			h.SetSym(j, j, h.At(j, j)+ridge)
		}
		var factor mat.Cholesky
		step := mat.NewVecDense(d, nil)
		if !factor.Factorize(h) || factor.SolveVecTo(step, g) != nil &&
			step.AtVec(0) != step.AtVec(0) {
			break
		}
		next, f := mat.NewVecDense(d, nil), 1.0
		for ; f > 1e-6; f /= 2 {
			next.AddScaledVec(w, f, step)
			if v := risk(next); v <= at {
				break
			}
		}
		after := risk(next)
		if !(after < at-1e-13) {
			break
		}
		w, at = next, after
	}
	return w
}

type coefficientDraw struct {
	set            coefficientSet
	population     func() (*population, error)
	sites, records int
	number         int
}

func (c coefficientDraw) key() string {
	return fmt.Sprintf("%s-%dx%d-%02d", c.set.name, c.sites, c.records, c.number)
}

// drawn are so many rows, with replacement.
func drawn(n, of int, rng *rand.Rand) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = rng.IntN(of)
	}
	return rows
}

func (c coefficientDraw) run(ctx context.Context, l *lab, out *results) error {
	p, err := c.population()
	if err != nil {
		return err
	}
	rng := l.rng("coefficients " + c.key())
	n := c.sites * c.records
	d, err := simulate.Split{
		Schema: p.schema, Pool: p.Select(drawn(coefficientPool, p.Len(), rng)).AsTable(), Train: p.Select(drawn(n, p.Len(), rng)).AsTable(),
		Test: p.Select([]int{0, 1}).AsTable(), Parties: c.sites, Seed: rng.Uint64(),
	}.Deal(0)
	if err != nil {
		return err
	}
	for _, epsilon := range coefficientEpsilons {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := d.Task(study.Proposal{Name: "coefficients", Unit: privacy.Record,
			Epsilon: epsilon, Delta: atHammDelta(), Mechanism: "cross",
			Map: dataset.Components{Project: dataset.AutoComponents}})
		if err != nil {
			return err
		}
		if err := c.one(p, d, t, rng, out); err != nil {
			return err
		}
	}
	return nil
}

// one release, by the same steps as a real one but for normal noise of the same variance in place
// of integers.
func (c coefficientDraw) one(p *population, d *simulate.DealtData, t study.Finisher, rng *rand.Rand,
	out *results) error {
	plan, pool := t.Plan(), t.Pool()
	dim := pool.Dim()
	bound := privacy.Bound{Unit: plan.Unit, L1: aggregation.CrossMomentL1(dim),
		L2sq: aggregation.CrossMomentL2sq, Cells: 2 * dim}
	mechanism, err := plan.Calibrate(bound, 2*dim)
	if err != nil {
		return err
	}
	variance := privacy.VarianceOf(mechanism, bound, 0, 2*dim)
	n := float64(d.Private.Len())
	sums := make([]float64, 2*dim)
	for j, v := range aggregation.CrossMomentSums(plan.MapRecords(d.Private.All()), d.Private.Y, 2) {
		sums[j] = float64(v) + math.Sqrt(variance*float64(c.sites))*rng.NormFloat64()
	}
	fit, err := fitting.FitCross(pool, sums,
		fitting.CrossFitTerms{FitTerms: fitting.FitTerms{Classes: 2},
			NoiseSD: fitting.MeanNoiseSD(variance, c.sites,
				n), Records: n, Tilt: true, MinEffectiveShare: .1}, rng)
	if err != nil {
		return err
	}
	slope := math.Inf(1)
	if fit.Calibration != nil {
		slope = fit.Calibration.SlopeSD / fit.Calibration.Slope
	}
	best := logistic(plan.MapRecords(p.Records), p.Y)
	for i, e := range fitted.DiagnoseContrasts(p.schema, plan.Map, pool, fit) {
		onMap := mat.Dot(best, mat.NewVecDense(dim, e.By))
		onColumns := p.difference(e.Coefficient.Contrast, pool.Encoded)
		if !(math.Abs(onColumns) < tooLarge) {
			continue
		}
		out.add("set", c.set.name, "chosen", c.set.chosen, "sites", c.sites, "records", c.records,
			"epsilon", plan.Epsilon, "draw", c.number,
			"contrast", e.Coefficient.Words(), "place", i, "value", e.Value, "sd", e.SD, "again",
			e.SecondStepChange, "seen", e.VariesInPool, "kept", e.Kept, "rows", e.Rows,
			"told", e.LogOdds != nil, "slope_sd", slope, "drift", fit.RemainingDrift.Significant(), "tilted",
			fit.PoolReweighted, "features", dim-1, "map", onMap, "columns", onColumns)
	}
	return nil
}

// difference is a contrast under logistic regression on the population's columns.
func (p *population) difference(c fitted.Contrast, pool *mat.Dense) float64 {
	for _, code := range p.schema.ColumnCodes() {
		if code.Column != c.Column {
			continue
		}
		f, at := code.Feature, code.FirstColumn
		level := func(name string) float64 {
			for k, l := range f.Levels {
				if l == name {
					return p.weights.AtVec(at + k)
				}
			}
			return p.weights.AtVec(code.OtherColumn)
		}
		switch {
		case f.Kind == dataset.Categorical:
			return level(c.Level) - level(c.ReferenceLevel)
		case c.Level != "":
			mean, known := 0.0, 0.0
			for i := range pool.RawMatrix().Rows {
				if pool.At(i, at+1) == 0 {
					mean += pool.At(i, at)
					known++
				}
			}
			return p.weights.AtVec(at+1) + p.weights.AtVec(at)*(0.5-mean/math.Max(known, 1))
		case c.Factor > 0:
			return p.weights.AtVec(at) * math.Log(c.Factor) / (math.Log1p(f.Max) - math.Log1p(f.Min))
		}
		return p.weights.AtVec(at) * c.Increment / (f.Max - f.Min)
	}
	return math.NaN()
}

// shownCoefficients are the rows of a release whose numbers are probabilities that have
// an interval, by the rule as it is now.
func shownCoefficients(r *results) (out []coefficientRow, all int) {
	for _, row := range r.rows {
		number := func(column string) float64 {
			v, err := strconv.ParseFloat(row[column], 64)
			if err != nil {
				return math.NaN()
			}
			return v
		}
		if !(number("slope_sd") <= mostSlopeOff) || row["drift"] == "true" ||
			row["tilted"] == "true" {
			continue
		}
		all++
		c := fitting.Contrast{Value: number("value"), SD: number("sd"), SecondStepChange: number("again"),
			VariesInPool: row["seen"] == "true"}
		if fitted.ReasonWithoutInterval(c, number("kept"), int(number("rows"))) == "" {
			out = append(out, coefficientRow{c, number("map"), number("columns")})
		}
	}
	return out, all
}

// mostSlopeOff is cross's, for calling numbers probabilities.
const mostSlopeOff = 0.15

type coefficientRow struct {
	fitting.Contrast
	onMap, onColumns float64
}

// held is the share of intervals that hold the truth, as text.
func held(rows []coefficientRow, truth func(coefficientRow) float64) string {
	if len(rows) == 0 {
		return "-"
	}
	n := 0.0
	for _, r := range rows {
		if math.Abs(r.Value-truth(r)) <= 1.96*r.SD {
			n++
		}
	}
	return fmt.Sprintf("%.1f %%", 100*n/float64(len(rows)))
}

// coefficientsReport says how often intervals held.
func coefficientsReport(l *lab, r *results, p *page) error {
	p.section("Intervals that held")
	p.paragraph("Of the coefficients of releases whose numbers are probabilities: how many have a 95 %% interval, and how many of these hold the coefficient of logistic regression on the whole population, in the schema's columns and on the plan's map.")
	row := func(name string, of *results) []string {
		shown, all := shownCoefficients(of)
		return []string{
			name, fmt.Sprintf("%d of %d", len(shown), all),
			held(shown, func(r coefficientRow) float64 { return r.onColumns }), held(shown, func(r coefficientRow) float64 { return r.onMap }),
		}
	}
	head := []string{"set, sites × records, ε", "with an interval", "held, columns", "held, map"}
	var cells, sets [][]string
	for _, s := range coefficientSets {
		of := r.where("set", s.name)
		if len(of.distinct("set")) == 0 {
			continue
		}
		name := s.name
		if s.chosen {
			name += " \\*"
		}
		sets = append(sets, row(name, of))
		for _, plan := range coefficientPlans {
			for _, epsilon := range coefficientEpsilons {
				at := of.where("sites", plan[0], "records", plan[1], "epsilon", epsilon)
				if _, all := shownCoefficients(at); all > 0 {
					cells = append(cells,
						row(fmt.Sprintf("%s, %d × %d, %g", s.name, plan[0], plan[1], epsilon), at))
				}
			}
		}
	}
	p.table(head, sets)
	p.table(head, cells)
	return nil
}
