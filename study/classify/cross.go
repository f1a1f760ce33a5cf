package classify

import (
	"fmt"
	"math"
	"math/rand/v2"

	"caucus/aggregation"
	"caucus/aggregation/shares"
	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classifier"
)

// keepRows is the least effective sample size of a tilted pool (see cross), as a share of the pool's rows.
const keepRows = 0.1

// cross is the statistic of mechanism cross. Sites release the sum of features over their records of each class.
// The risk that is minimised depends on labels only through these sums; its other part comes from the unlabelled
// pool. Added over classes, the sums give the mean features of the records. Its difference from the pool's mean
// shows drift, and the pool can be reweighted ("tilted") to the records' mean at no further privacy cost.
//
// Proof note.
//   - Neighbours: replace one record, or only its label. Public: plan, pool, and each site's number of records.
//   - Lemma: aggregation.CrossL2sq and aggregation.CrossL1.
//   - Numeric model: each record's row is truncated to integers by arithmetic that reads no other record, and
//     the sums are exact.
//   - The caller guarantees that the map is the plan's, fitted on public rows, and that records are clamped to
//     the schema. The bound holds even if this fails, because a row of norm above 1 counts as zeros.
type cross struct {
	plan    study.Plan
	pool    *auxdata.Pool
	classes int
}

func newCross(p study.Plan, pool *auxdata.Pool) (bodies.Statistic, error) {
	return &cross{plan: p, pool: pool, classes: len(p.Schema.Classes())}, nil
}

func (c *cross) Cells() int         { return c.classes * c.pool.Dim() }
func (c *cross) ReleasedCells() int { return c.Cells() }

// Weights bound a site's number of records so that the total cannot overflow: a record adds at most
// 2²⁰ to each sum, and all sites together stay below 2⁶⁰.
func (c *cross) Weights() (least, most int64) { return 0, 1 << 40 / c.plan.MostParties() }

func (c *cross) Additive(int64) bool { return true }

func (c *cross) Local(in study.Inputs) ([]int64, int64) {
	if in.Records.Len() == 0 {
		return make([]int64, c.Cells()), 0
	}
	return aggregation.CrossSums(c.plan.Mapped(in.Records), in.Records.Y, c.classes), int64(in.Records.Len())
}

func (c *cross) AppendClear(vector []int64, records int64) ([]byte, error) {
	return bodies.AppendSums(vector, records), nil
}

// ParseClear refuses a sum that is larger than its number of records allows.
func (c *cross) ParseClear(body []byte) ([]int64, int64, error) {
	v, records, err := bodies.ParseSums("cross sums", body, c)
	if err != nil {
		return nil, 0, err
	}
	for j, x := range v {
		if !aggregation.CrossInRange(x, records) {
			return nil, 0, fmt.Errorf("read cross sums: sum %d is larger than its records allow", j)
		}
	}
	return v, records, nil
}

// Form returns the range of a sum over this public number of records. The party proves that its sums are in it.
func (c *cross) Form(records int64) shares.Form {
	return shares.Integers(c.Cells(), aggregation.CrossMost(max(records, 1)))
}

func (c *cross) Terms(int64) (study.ReleaseTerms, error) {
	d := c.pool.Dim()
	t := study.ReleaseTerms{Output: "cross", Bound: privacy.Bound{
		Unit: c.plan.Unit, L1: aggregation.CrossL1(d), L2sq: aggregation.CrossL2sq, Cells: 2 * d,
	}}
	var err error
	t.Mechanism, err = c.plan.Calibrate(t.Bound, c.Cells())
	return t, err
}

func (c *cross) Sensitive(vector []int64, _ int64, t study.ReleaseTerms) (privacy.Sensitive, error) {
	return privacy.NewSensitive(vector, t.Bound)
}

func (c *cross) Finish(total bodies.Total, rng *rand.Rand) (study.Result, error) {
	if total.Weight <= 0 {
		return study.Result{}, fmt.Errorf("fit cross sums: no records were contributed")
	}
	records, unsure, err := c.records(total)
	if err != nil {
		return study.Result{}, err
	}
	sd, err := c.deviation(records, total.Draws)
	if err != nil {
		return study.Result{}, err
	}
	fit, err := aggregation.FitCross(c.pool, total.Values, aggregation.CrossTerms{
		FitTerms: fitTerms(c.plan), Deviation: sd, Records: records, Tilt: TermsOf(c.plan).Tilt, Keep: keepRows, Nested: c.plan.Map.Nested,
	}, rng)
	if err != nil {
		return study.Result{}, err
	}
	model, warnings := c.classifier(fit)
	if unsure {
		model, warnings = classifier.New(c.plan, fit.Fit, classifier.Score)
		warnings = append(warnings, "noise does not let anyone tell how many records the study is about: the classifier was fitted as if it were all, so its scores are too near to 0")
	}
	switch drift := fit.Drift; {
	case fit.Tilted:
		warnings = append(warnings, fmt.Sprintf("the pool differs from the private records (statistic %.0f where %d is expected): it was tilted to their released feature mean and now counts as %.0f of %d rows. What a tilt of the features cannot mend stays biased", drift.Statistic, drift.Directions, fit.EffectiveRows, c.pool.Rows()))
	case drift.Found():
		warnings = append(warnings, fmt.Sprintf("the pool differs from the private records (statistic %.0f where %d is expected) and the plan does not tilt it: expect a biased classifier", drift.Statistic, drift.Directions))
	}
	out := Result{Classifier: model, Drift: &fit.Drift, EffectiveRows: fit.EffectiveRows}
	if model.Output == classifier.Probability && !fit.Tilted && NoCoefficients(c.plan) == "" { // how tilting affects intervals was not measured
		out.Coefficients = classifier.NewCoefficients(c.plan, c.pool, fit)
	}
	return study.NewResult(out, warnings)
}

// classifier returns the fit's classifier. Its numbers are probabilities if the sums determine a
// calibration, else scores.
func (c *cross) classifier(fit aggregation.CrossFit) (classifier.Classifier, []string) {
	if fit.Calibration != nil && fit.Remains.Found() {
		return classifier.NewScores(c.plan, fit.Fit, "the pool differs from the private records, so it cannot say how its numbers are to be read")
	}
	return classifier.NewCalibrated(c.plan, fit.Fit, fit.Calibration, "the released sums", c.pool.X.At(0, c.pool.Dim()-1))
}

// records returns the number of summed records. If the plan has no condition, that is the declared number. Else
// records estimates from the released sums how many labelled records meet the condition. An estimate below four
// of its standard deviations is unsure, and records returns the declared number instead.
func (c *cross) records(total bodies.Total) (n float64, unsure bool, err error) {
	if c.plan.Where == "" {
		return total.Weight, false, nil
	}
	t, err := c.Terms(int64(total.Weight))
	if err != nil {
		return 0, false, err
	}
	sd := math.Sqrt(float64(total.Draws) * privacy.VarianceOf(t.Mechanism, t.Bound, 0, c.Cells()))
	n, off := aggregation.CrossLabelled(total.Values, c.classes, c.pool.Dim(), sd)
	if n < max(1, 4*off) {
		return total.Weight, true, nil
	}
	return n, false, nil
}

// deviation returns the standard deviation of the noise on each entry of a class sum divided by records.
func (c *cross) deviation(records float64, draws int) (float64, error) {
	t, err := c.Terms(int64(records))
	if err != nil {
		return 0, err
	}
	return aggregation.CrossDeviation(privacy.VarianceOf(t.Mechanism, t.Bound, 0, c.Cells()), draws, records), nil
}

func (c *cross) Noise(records float64, draws int) (aggregation.Noise, error) {
	sd, err := c.deviation(records, draws)
	if err != nil {
		return aggregation.Noise{}, err
	}
	return aggregation.CrossNoise(c.classes, sd, c.pool.X, c.pool.Weight, c.pool.EffectiveRows(), records, make([]float64, c.pool.Dim())), nil
}
