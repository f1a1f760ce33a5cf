package demo

import (
	"errors"
	"math"

	"caucus/aggregation/ratio"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/describe/described"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
	"caucus/study/ratio/estimated"
	"caucus/study/reweigh/weighed"
)

// This file has a function for each kind that measures its releases, except that Options.cases
// measures accuracy.

// sure is half the width of a share's 95 % interval: 1.96 binomial standard errors.
func sure(share float64, records int) float64 {
	return 1.96 * math.Sqrt(share*(1-share)/float64(max(records, 1)))
}

func judgeShares(r study.Release, data dealt) (Measure, error) {
	e, err := estimated.Estimate(r, data.even)
	if err != nil {
		return Measure{}, err
	}
	result, err := estimated.ResultOf(r)
	if err != nil {
		return Measure{}, err
	}
	truth := ratio.SharesOfLabels(data.even.Y, nil, len(data.schema.Classes()))
	off := func(shares []float64) float64 {
		return ratio.Measure(truth, shares, data.even.Len()).L1
	}
	total := 0.0
	for _, share := range truth {
		total += sure(share, data.even.Len())
	}
	return Measure{
		Margin: total, MarginText: "about: the 95 % binomial errors of the classes' shares, added up",
		Name: "error of class shares (L1)", Better: "low", Released: off(e.Shares),
		Baseline: off(result.TrainingShares), BaselineName: "the parties' own shares",
	}, nil
}

func judgeWeights(r study.Release, pool *auxdata.Pool, data dealt) (Measure, error) {
	condition, err := dataset.ParseCondition(data.outcome)
	if err != nil {
		return Measure{}, err
	}
	holds, err := condition.Rows(data.biased)
	if err != nil {
		return Measure{}, err
	}
	b, raw := make([]float64, len(holds)), 0.0
	for i, h := range holds {
		if h {
			b[i] = 1
			raw += 1 / float64(len(holds))
		}
	}
	answer, err := weighed.EstimateQuery(r, pool, b)
	if err != nil {
		return Measure{}, err
	}
	off := func(v float64) float64 { return max(v-data.truth, data.truth-v) }
	return Measure{
		Margin: sure(data.truth, rowsOf(data.clinics)), MarginText: "about: the 95 % binomial error of a share as large",
		Name: "error of a share", Better: "low", Released: off(answer.Estimate), Baseline: off(raw), BaselineName: "the raw pool",
	}, nil
}

func rowsOf(parties []*dataset.Table) (n int) {
	for _, t := range parties {
		n += t.Rows()
	}
	return n
}

func judgeCounts(r study.Release, pool *auxdata.Pool, data dealt) (Measure, error) {
	p, err := results.CheckedPlan(r)
	if err != nil {
		return Measure{}, err
	}
	released, err := described.TableOf(r)
	if err != nil {
		return Measure{}, err
	}
	truth := make([][]float64, len(released.Columns))
	for _, table := range data.clinics {
		records, _, err := p.Encode(kinds.RecordSchema(p), table)
		if err != nil {
			return Measure{}, err
		}
		for i, c := range described.ExactTable(p, records).Columns {
			if truth[i] == nil {
				truth[i] = make([]float64, len(c.Groups[0].Noisy))
			}
			for k, n := range c.Groups[0].Noisy {
				truth[i][k] += n / float64(released.Records)
			}
		}
	}
	raw := described.ExactTable(p, &dataset.Records{X: pool.Encoded, Y: make([]int, pool.Rows())})
	off := func(of described.Table) float64 {
		sum, cells := 0.0, 0.0
		for i, c := range of.Columns[:len(of.Columns)-1] { // the pool has no labels
			for k, n := range c.Groups[0].Counts {
				share := n / float64(of.Records)
				sum, cells = sum+(share-truth[i][k])*(share-truth[i][k]), cells+1
			}
		}
		return math.Sqrt(sum / cells)
	}
	sum, cells := 0.0, 0.0
	for _, column := range truth[:len(truth)-1] {
		for _, share := range column {
			s := sure(share, int(released.Records))
			sum, cells = sum+s*s, cells+1
		}
	}
	return Measure{
		Margin: math.Sqrt(sum / cells), MarginText: "about: the root mean square of the cells' 95 % binomial errors",
		Name: "error of a share (rms)", Better: "low", Released: off(released), Baseline: off(raw), BaselineName: "the raw pool",
	}, nil
}

// judgeJudged compares the released AUC of all records with their exact AUC; the baseline is its
// own claim.
func judgeJudged(r study.Release, pool *auxdata.Pool, data dealt) (Measure, error) {
	judge, err := judgeOf(r, pool)
	if err != nil {
		return Measure{}, err
	}
	released, err := judged.ResultOf(r)
	if err != nil {
		return Measure{}, err
	}
	truth, alone, err := exactAUC(judge, data)
	if err != nil {
		return Measure{}, err
	}
	claimed := 0.5 // the AUC of a model that says nothing
	if auc := judge.ClaimedPerformance()[0].AUC; auc.Known() {
		claimed = auc.Value
	}
	m := Measure{
		Name: "error of AUC", Better: "low", Baseline: math.Abs(claimed - truth), BaselineName: "the model's own claim",
		Alone: alone, Margin: sure(truth, rowsOf(data.clinics)),
		// An AUC's error depends on the smaller class and is mostly larger than a share's: J.
		// Hanley and B. McNeil, "The meaning and use of the area under a ROC curve", 1982.
		MarginText: "about: the 95 % binomial error of a share as large, mostly less than the AUC's own",
	}
	if auc := released.Classes[0].Overall.AUC; auc.Known() {
		m.Released = math.Abs(auc.Value - truth)
	} else {
		m.Name, m.Released = "error of AUC (drowned by noise, so that the model's own claim stands)", m.Baseline
	}
	return m, nil
}

func judgeOf(r study.Release, pool *auxdata.Pool) (judged.RecordEvaluator, error) {
	p, err := results.CheckedPlan(r)
	if err != nil {
		return judged.RecordEvaluator{}, err
	}
	task, err := results.NewTask(p, pool)
	if err != nil {
		return judged.RecordEvaluator{}, err
	}
	judge, ok := judged.RecordEvaluatorOf(task)
	if !ok {
		return judged.RecordEvaluator{}, errors.New("judge a model: the release is of another kind than evaluate")
	}
	return judge, nil
}

// exactAUC returns the AUC of all parties' records, and the mean distance of parties' own to it.
func exactAUC(judge judged.RecordEvaluator, data dealt) (all float64, alone *float64, err error) {
	of := func(t *dataset.Table) (float64, error) {
		records, _, err := data.schema.EncodeLabelled(t)
		if err != nil {
			return 0, err
		}
		if records.Len() == 0 {
			return math.NaN(), nil
		}
		return judge.Exact(records)[0].Overall.AUC, nil
	}
	together, err := dataset.Concat(data.clinics...)
	if err != nil {
		return 0, nil, err
	}
	if all, err = of(together); err != nil {
		return 0, nil, err
	}
	sum, sites := 0.0, 0.0
	for _, table := range data.clinics {
		own, err := of(table)
		if err != nil {
			return 0, nil, err
		}
		if !math.IsNaN(own) {
			sum, sites = sum+math.Abs(own-all), sites+1
		}
	}
	if sites > 0 {
		sum /= sites
		alone = &sum
	}
	return all, alone, nil
}
