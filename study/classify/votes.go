package classify

import (
	"fmt"

	"caucus/aggregation"
	"caucus/aggregation/shares"
	"caucus/auxdata"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// votes is the statistic of mechanisms tally and moment. Parties send ballots; the counts (tally)
// or public linear combinations of the counts (moment) are released; a classifier is fitted to the
// vote shares.
//
// Proof note.
//   - Neighbours: replace one unit of the plan. Public: plan, pool, the number of ballots, and the
//     rows' weights or the matrix A, which follow from plan and pool.
//   - Lemma: one unit moves m = ballotsMoved ballots, each by at most one vote per row. For tally,
//     with public noise weight wᵢ of row i, one ballot moves the counts by at most Σᵢ 2wᵢ in
//     weighted squared L2 (one count by −1 and another by +1; Σᵢ wᵢ for two classes, which have one
//     count per row). m ballots move them by m² times as much. For moment,
//     aggregation.NewMomentDesign gives the L1 and L2 of one ballot, each times m.
//   - Numeric model: votes are integers; A is rounded to integers, in public, before any vote is
//     seen; sums are exact. A learner's floating point decides which vote the learner casts, not
//     how far a vote moves the sum.
//   - The caller guarantees that a party casts one ballot per shard, each with one vote per row
//     (ParseClear refuses others); that a shard's ballot is made from the shard's own records alone
//     (localTally); and that a replaced record, or patient, leaves one shard and enters another and
//     moves no other record (keyed).
type votes struct {
	plan         study.Plan
	terms        Terms
	pool         *auxdata.Pool
	classes      int
	noiseWeights []int64                   // only for tally and none
	design       *aggregation.MomentDesign // only for moment
}

func newVotes(mechanism string) func(study.Plan, *auxdata.Pool) (bodies.Statistic, error) {
	return func(p study.Plan, pool *auxdata.Pool) (bodies.Statistic, error) {
		v := &votes{plan: p, terms: TermsOf(p), pool: pool, classes: len(p.Schema.Classes())}
		if mechanism == "moment" {
			v.design = aggregation.NewMomentDesign(pool.X, pool.Weight, v.classes)
		} else {
			v.noiseWeights = aggregation.TallyWeights(pool.X, pool.Weight, v.classes)
		}
		return v, nil
	}
}

// ballotsMoved returns how many ballots one unit of the plan can change. A party has one ballot,
// because Terms.check refuses shards at unit party. A label belongs to one ballot, as does a record
// without shards. With shards, a record and its replacement may be in different shards, which
// changes two ballots.
func (v *votes) ballotsMoved() int64 {
	if v.plan.Unit == privacy.Record && v.terms.Shards > 1 {
		return 2
	}
	return 1
}

func (v *votes) Cells() int { return v.pool.Rows() * learners.WeightColumns(v.classes) }

func (v *votes) ReleasedCells() int {
	if v.design != nil {
		return v.design.Cells()
	}
	return v.Cells()
}

func (v *votes) Weights() (least, most int64) {
	return int64(v.terms.Shards), int64(v.terms.Shards)
}

func (v *votes) Local(in study.Inputs) ([]int64, int64) {
	t := localTally(v.plan, v.terms, v.pool, in)
	return t.Vector(), t.Ballots()
}

func (v *votes) tally(vector []int64, ballots int64) *aggregation.Tally {
	return aggregation.TallyOf(vector, v.pool.Rows(), v.classes, ballots)
}

func (v *votes) AppendClear(vector []int64, ballots int64) ([]byte, error) {
	t := v.tally(vector, ballots)
	if ballots == 1 {
		return t.OnlyBallot().MarshalBinary()
	}
	return t.MarshalBinary()
}

func (v *votes) ParseClear(body []byte) ([]int64, int64, error) {
	t := aggregation.NewTally(v.pool.Rows(), v.classes)
	if v.terms.Shards == 1 {
		b, err := aggregation.ParseBallot(body, v.pool.Rows(), v.classes)
		if err != nil {
			return nil, 0, err
		}
		if err := t.Add(b); err != nil {
			return nil, 0, err
		}
	} else {
		var err error
		if t, err = aggregation.ParseTally(body, v.pool.Rows(), v.classes,
			int64(v.terms.Shards)); err != nil {
			return nil, 0, err
		}
		if t.Ballots() != int64(v.terms.Shards) {
			return nil, 0, fmt.Errorf("%w: it counts %d ballots, the plan says %d shards", aggregation.ErrTally, t.Ballots(), v.terms.Shards)
		}
	}
	return t.Vector(), t.Ballots(), nil
}

// Form requires one ballot for each shard, with one vote for each row.
func (v *votes) Form(ballots int64) shares.VectorForm {
	return shares.BallotForm(v.pool.Rows(), v.classes, int(ballots))
}

// Matrix returns the public matrix by which mechanism moment multiplies sums; nil for other
// mechanisms.
func (v *votes) Matrix() *shares.Matrix {
	if v.design == nil {
		return nil
	}
	columns := learners.WeightColumns(v.classes)
	return &shares.Matrix{Rows: v.design.Rows(), Width: v.design.Cells() / columns,
		Columns: columns, Row: v.design.Row}
}

func (v *votes) Terms(int64) (study.ReleaseTerms, error) {
	moved := v.ballotsMoved()
	if v.design != nil {
		bound := privacy.Bound{Unit: v.plan.Unit, L1: moved * v.design.L1,
			L2sq: study.SquareL2(moved * v.design.L2)}
		m, err := v.plan.CalibratePure(bound, v.ReleasedCells())
		return study.ReleaseTerms{Output: "moment", Bound: bound, Mechanism: m,
			MatrixDigest: v.design.Digest}, err
	}
	var l2sq int64
	for _, w := range v.noiseWeights {
		l2sq += w
	}
	// Over K columns the weights add up to K·Σwᵢ, and one ballot moves two of the columns.
	if k := int64(learners.WeightColumns(v.classes)); k > 1 {
		l2sq = 2 * (l2sq / k)
	}
	bound := privacy.Bound{Unit: v.plan.Unit, L2sq: moved * moved * l2sq, Weight: v.noiseWeights}
	if v.plan.Mechanism == "none" {
		return study.ReleaseTerms{Output: "none", Bound: bound,
			Mechanism: privacy.Unperturbed{}}, nil
	}
	m, err := privacy.CalibrateGaussian(bound, v.plan.Budget())
	return study.ReleaseTerms{Output: "tally", Bound: bound, Mechanism: m}, err
}

func (v *votes) Sensitive(vector []int64, ballots int64, t study.ReleaseTerms) (privacy.Sensitive,
	error) {
	if v.design != nil {
		vector = v.design.Sums(v.tally(vector, ballots))
	}
	return privacy.NewSensitive(vector, t.Bound)
}

// Moments returns the design of mechanism moment, nil for other mechanisms.
func (t Task) Moments() *aggregation.MomentDesign {
	if v, ok := t.Statistic.(*votes); ok {
		return v.design
	}
	return nil
}
