package classify

import (
	"fmt"

	"caucus/aggregation"
	"caucus/aggregation/shares"
	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// cross is the statistic of mechanism cross. Sites release the sum of features over their records
// of each class. The risk that is minimised depends on labels only through these sums; its other
// part comes from the unlabelled pool. Added over classes, the sums give the mean features of the
// records. Its difference from the pool's mean shows drift, and the pool can be reweighted
// ("tilted") to the records' mean at no further privacy cost.
//
// Proof note.
//   - Neighbours: replace one record, or only its label. Public: plan, pool, and each site's number
//     of records.
//   - Lemma: aggregation.CrossMomentL2sq and aggregation.CrossMomentL1.
//   - Numeric model: each record's row is truncated to integers by arithmetic that reads no other
//     record, and the sums are exact.
//   - The caller guarantees that the map is the plan's, fitted on public rows, and that records are
//     clamped to the schema. The bound holds even if this fails, because a row of norm above 1
//     counts as zeros.
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
	return aggregation.CrossMomentSums(c.plan.MapRecords(in.Records), in.Records.Y,
		c.classes), int64(in.Records.Len())
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
		if !aggregation.CrossMomentInRange(x, records) {
			return nil, 0, fmt.Errorf("read cross sums: sum %d is larger than its records allow", j)
		}
	}
	return v, records, nil
}

// Form returns the range of a sum over this public number of records. The party proves that its
// sums are in it.
func (c *cross) Form(records int64) shares.VectorForm {
	return shares.IntegerForm(c.Cells(), aggregation.MaxCrossMoment(max(records, 1)))
}

func (c *cross) Terms(int64) (study.ReleaseTerms, error) {
	d := c.pool.Dim()
	t := study.ReleaseTerms{Output: "cross", Bound: privacy.Bound{
		Unit: c.plan.Unit, L1: aggregation.CrossMomentL1(d), L2sq: aggregation.CrossMomentL2sq, Cells: 2 * d,
		PerPatient: c.plan.PerPatient,
	}}
	var err error
	t.Mechanism, err = c.plan.Calibrate(t.Bound, c.Cells())
	return t, err
}

func (c *cross) Sensitive(vector []int64, _ int64, t study.ReleaseTerms) (privacy.Sensitive,
	error) {
	return privacy.NewSensitive(vector, t.Bound)
}
