package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/validation"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classifier"
	"caucus/study/evaluate"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
)

// Evaluate runs an evaluate proposal among virtual parties. It then repeatedly draws noise and
// records, and measures the errors of released numbers and the coverage of their intervals.
type Evaluate struct {
	Split
	// Proposal is a proposal as for "caucus study create". Split sets parties, sizes and seed.
	Proposal study.Proposal
	// Terms are the kind's terms. If they name no scores, the simulation evaluates a softmax
	// classifier that was fitted without privacy to half of the test records.
	Terms    evaluate.Terms
	Repeats  int
	Progress func(done, total int)
}

// EvaluateSummary says how far released measures of a model are from the truth, over all repeats,
// and how often their intervals cover it.
type EvaluateSummary struct {
	Summary
	Records  int             `json:"records"`
	Bins     int             `json:"bins"`
	Forecast string          `json:"forecast"`
	Classes  []EvaluateClass `json:"classes"`
	// Recalibrated applies the calibration line of the first release, for the first class, to
	// scores of test records that no model was fitted to.
	Recalibrated *RecalibrationSummary `json:"recalibrated,omitempty"`
	Released     judged.Evaluation     `json:"released"`
}

// EvaluateClass holds the errors for one class against all others: first all records, then each
// level.
type EvaluateClass struct {
	Class     string             `json:"class"`
	Subgroups []EvaluateSubgroup `json:"subgroups"`
}

// EvaluateSubgroup holds the results for all records, or for the records of one level.
type EvaluateSubgroup struct {
	Name    string         `json:"name"`
	Records int            `json:"records"`
	Numbers []NumberErrors `json:"numbers"`
}

// NumberErrors describes the errors of one number over all repeats.
type NumberErrors struct {
	Number string `json:"number"`
	// Truth is the number for the parties' records, from exact scores without bins or noise.
	Truth float64 `json:"truth"`
	// FirstRelease is the first release's number, with its 95 % interval for noise and sampling.
	FirstRelease validation.Number `json:"first"`
	// Error is the mean distance of the released number from the truth, Bias the mean difference,
	// and SD the mean standard deviation that the release states for the noise.
	Error float64 `json:"error"`
	Bias  float64 `json:"bias"`
	SD    float64 `json:"sd"`
	// KnownShare is the share of repeats in which noise left the number known. Error, Bias, SD and
	// CoveredShare are over these repeats.
	KnownShare float64 `json:"known"`
	// CoveredShare is the share of these repeats in which the interval for noise alone contains the
	// truth. KnownPopulationShare and CoveredPopulationShare are like KnownShare and CoveredShare,
	// for the interval for noise and sampling, and for records that each repeat draws from the
	// parties' records with replacement.
	CoveredShare           float64 `json:"covered"`
	KnownPopulationShare   float64 `json:"known_population"`
	CoveredPopulationShare float64 `json:"covered_population"`
}

// RecalibrationSummary compares scores before and after recalibration.
type RecalibrationSummary struct {
	Records int                         `json:"records"`
	Before  validation.ExactPerformance `json:"before"`
	After   validation.ExactPerformance `json:"after"`
}

const publicRows = 2000

// Run simulates. The result depends on the seed alone.
func (e Evaluate) Run(ctx context.Context) (EvaluateSummary, error) {
	fail := func(err error) (EvaluateSummary, error) { return EvaluateSummary{}, err }
	if err := checkRepeats(e.Repeats); err != nil {
		return fail(err)
	}
	d, err := e.Deal(0)
	if err != nil {
		return fail(err)
	}
	d.Private = d.Private.MarkMissing() // as kinds.RecordSchema says
	size := d.Size()
	half := d.Test.Len() / 2
	fitted, kept := d.Test.Select(dataset.RowRange(0, half)), d.Test.Select(dataset.RowRange(half,
		d.Test.Len()))
	if e.Terms.Model == nil && e.Terms.Score == "" {
		if e.Terms.Model, err = publicModel(ctx, d.Schema, fitted, d.rng); err != nil {
			return fail(err)
		}
	}
	task, err := e.task(d, size)
	if err != nil {
		return fail(err)
	}
	judge, ok := judged.RecordEvaluatorOf(task)
	if !ok {
		return fail(errors.New("simulate: the proposal is of another kind than evaluate"))
	}
	p := task.Plan()
	release, err := rehearse(ctx, p, task.Pool(), size.Parties, d.Inputs)
	if err != nil {
		return fail(err)
	}
	out := EvaluateSummary{Summary: summaryOf(p, e.Repeats, &release, d.Short),
		Records: size.Records}
	out.Totals = release.Totals
	if out.Forecast, err = out.forecast(task, size); err != nil {
		return fail(err)
	}
	if out.Released, err = judged.ResultOf(release); err != nil {
		return fail(err)
	}
	out.Bins = len(out.Released.Classes[0].Edges) + 1
	population := d.Private.Select(slices.Concat(d.Parties...))
	if err := e.measure(ctx, task, judge, population, &out); err != nil {
		return fail(err)
	}
	out.Recalibrated = recalibrated(judge, kept, out.Released.Classes[0].Overall)
	return out, nil
}

func (e Evaluate) task(d *DealtData, size study.Size) (study.Finisher, error) {
	of := e.Proposal
	of.Seed = d.seed
	var err error
	if of.KindTerms, err = study.EncodeTerms(e.Terms); err != nil {
		return nil, err
	}
	p, err := complete(of, d.Schema, size)
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	p.Records = cmp.Or(p.Records, max(1, size.Records/max(size.Parties, 1)))
	pool := auxdata.NewSimulated(d.Pool, p.Map)
	if d.PoolWeight != nil {
		if pool, err = pool.WithWeights(d.PoolWeight); err != nil {
			return nil, fmt.Errorf("simulate: %w", err)
		}
	}
	if err := planning.SetPool(&p, pool); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	return results.NewTask(p, pool)
}

func publicModel(ctx context.Context, schema dataset.Schema, r *dataset.Records,
	rng *rand.Rand) (*evaluate.Model, error) {
	var rows []int
	for i, y := range r.Y {
		if y >= 0 && len(rows) < publicRows {
			rows = append(rows, i)
		}
	}
	by := dataset.Identity(schema)
	r = r.Select(rows)
	made, err := learners.Softmax().Fit(ctx, by.Apply(r.X), r.Y, len(schema.Classes()), rng)
	linear, ok := made.(learners.Linear)
	if err != nil || !ok {
		return nil, fmt.Errorf("simulate: no model can be fitted to the test records (%d of them have a label): name one (evaluate.model), or a column of scores (evaluate.score)", len(rows))
	}
	m := &evaluate.Model{Map: by, Output: classifier.Probability}
	for i := range by.Dim() {
		m.Weights = append(m.Weights, mat.Row(nil, i, linear.W))
	}
	return m, nil
}

func (e Evaluate) measure(ctx context.Context, t study.Finisher, judge judged.RecordEvaluator,
	population *dataset.Records, out *EvaluateSummary) error {
	of, _ := bodies.Of(t)
	cells := judge.CellsOf(population)
	exact := make([]float64, judge.Cells())
	for _, all := range cells {
		for _, c := range all {
			exact[c]++
		}
	}
	draws := t.Plan().Noise.Draws(out.Parties)
	requests, err := bodies.Requests(of.Statistic, make([]int64, judge.Cells()), 1)
	if err != nil {
		return err
	}
	truth := judge.Exact(population)
	errs := newErrors(out, truth)
	rng := rand.New(rand.NewPCG(e.Seed, 0x64726177))
	for repeat := range e.Repeats {
		noise := make([]float64, len(exact))
		for i := range draws {
			if err := ctx.Err(); err != nil {
				return err
			}
			ledger := privacy.NewSimulation(e.Seed ^ 0x6e6f697365 + uint64(repeat*draws+i))
			released, err := study.ReleaseRequests(ctx, ledger, t.Hash(), requests)
			if err != nil {
				return err
			}
			for c, v := range released[0].Values {
				noise[c] += float64(v)
			}
		}
		here, drawn := make([]float64, len(exact)), make([]float64, len(exact))
		for range cells {
			for _, c := range cells[rng.IntN(len(cells))] {
				drawn[c]++
			}
		}
		for c, v := range noise {
			here[c], drawn[c] = exact[c]+v, drawn[c]+v
		}
		same, err := judge.Evaluate(here, draws, false)
		if err != nil {
			return err
		}
		anew, err := judge.Evaluate(drawn, draws, true)
		if err != nil {
			return err
		}
		errs.add(same, anew)
		if e.Progress != nil {
			e.Progress(repeat+1, e.Repeats)
		}
	}
	errs.finish(e.Repeats)
	return nil
}

type errorsOf struct {
	out   *EvaluateSummary
	truth []judged.ExactEvaluation
}

func newErrors(out *EvaluateSummary, truth []judged.ExactEvaluation) *errorsOf {
	e := &errorsOf{out, truth}
	for at, c := range out.Released.Classes {
		made := EvaluateClass{Class: c.Class}
		e.each(c, truth[at], func(name string, of judged.Subgroup,
			exact validation.ExactPerformance) {
			g := EvaluateSubgroup{Name: name, Records: exact.Records}
			for _, n := range numbersOf(of, exact) {
				if !math.IsNaN(n.truth) {
					g.Numbers = append(g.Numbers,
						NumberErrors{Number: n.name, Truth: n.truth, FirstRelease: n.number})
				}
			}
			made.Subgroups = append(made.Subgroups, g)
		})
		out.Classes = append(out.Classes, made)
	}
	return e
}

func (e *errorsOf) each(c judged.ClassResult, truth judged.ExactEvaluation,
	call func(name string, of judged.Subgroup, exact validation.ExactPerformance)) {
	call("everybody", c.Overall, truth.Overall)
	for g, by := range c.Groupings {
		for l, level := range by.Levels {
			call(by.Column+" "+level.Level, level, truth.Groupings[g][l])
		}
	}
}

type namedNumber struct {
	name   string
	number validation.Number
	truth  float64
}

func numbersOf(of judged.Subgroup, exact validation.ExactPerformance) []namedNumber {
	all := []namedNumber{{"AUC", of.AUC, exact.AUC}, {"slope", of.Slope, exact.Slope},
		{"intercept", of.Intercept, exact.Intercept}, {"Brier", of.Brier, exact.Brier},
		{"share of the class", of.Prevalence, exact.Prevalence}}
	for k, at := range of.Thresholds {
		if k < len(exact.Thresholds) {
			all = append(all, namedNumber{fmt.Sprintf("sensitivity at %g", at.Cutoff),
				at.Sensitivity,
				exact.Thresholds[k].Sensitivity},
				namedNumber{fmt.Sprintf("specificity at %g", at.Cutoff), at.Specificity,
					exact.Thresholds[k].Specificity})
		}
	}
	return all
}

func (e *errorsOf) add(same, anew judged.Evaluation) {
	e.eachNumber(same, func(into *NumberErrors, n namedNumber) {
		if !n.number.Known() {
			return
		}
		into.KnownShare++
		into.Error += math.Abs(n.number.Value - n.truth)
		into.Bias += n.number.Value - n.truth
		into.SD += n.number.NoiseSD
		if n.number.Covers(n.truth) {
			into.CoveredShare++
		}
	})
	e.eachNumber(anew, func(into *NumberErrors, n namedNumber) {
		if n.number.Known() {
			into.KnownPopulationShare++
		}
		if n.number.Covers(n.truth) {
			into.CoveredPopulationShare++
		}
	})
}

// eachNumber calls for each number with a truth, with the errors that belong to the number.
func (e *errorsOf) eachNumber(of judged.Evaluation,
	call func(into *NumberErrors, n namedNumber)) {
	for at, c := range of.Classes {
		k := 0
		e.each(c, e.truth[at], func(_ string, of judged.Subgroup,
			exact validation.ExactPerformance) {
			i := 0
			for _, n := range numbersOf(of, exact) {
				if !math.IsNaN(n.truth) {
					call(&e.out.Classes[at].Subgroups[k].Numbers[i], n)
					i++
				}
			}
			k++
		})
	}
}

func (e *errorsOf) finish(repeats int) {
	e.eachNumber(e.out.Released, func(n *NumberErrors, _ namedNumber) {
		if n.KnownShare > 0 {
			n.Error, n.Bias, n.SD, n.CoveredShare = n.Error/n.KnownShare, n.Bias/n.KnownShare,
				n.SD/n.KnownShare, n.CoveredShare/n.KnownShare
		}
		if n.KnownPopulationShare > 0 {
			n.CoveredPopulationShare /= n.KnownPopulationShare
		}
		n.KnownShare, n.KnownPopulationShare = n.KnownShare/float64(repeats),
			n.KnownPopulationShare/float64(repeats)
	})
}

// recalibrated applies the released calibration line to test records. It returns nil if there is no
// line.
func recalibrated(judge judged.RecordEvaluator, test *dataset.Records,
	of judged.Subgroup) *RecalibrationSummary {
	z, yes := judge.Scores(test)
	before := validation.MeasureExactly(z, yes, true)
	if !of.Slope.Bounded() || !of.Intercept.Known() || math.IsNaN(before.Slope) {
		return nil
	}
	after := make([]float64, len(z))
	for i, v := range z {
		after[i] = of.Intercept.Value + of.Slope.Value*v
	}
	return &RecalibrationSummary{Records: len(z), Before: before,
		After: validation.MeasureExactly(after, yes, true)}
}
