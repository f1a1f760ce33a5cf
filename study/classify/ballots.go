package classify

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/keyed"
)

// localTally trains one classifier on each of the party's shards and counts their votes on the
// pool. A shard's ballot does not depend on other shards' records: preprocessing is public, and
// tuning and learner state stay inside the shard. Nor does it depend on how long other shards took,
// because each shard gets its own time limit, which begins after the previous shard has ended. A
// late shard casts a constant ballot. So being late follows from a shard's own records and changes
// only that shard's ballot, which the bound for shards covers.
func localTally(p study.Plan, terms Terms, pool *auxdata.Pool, in study.Inputs) *aggregation.Tally {
	classes := len(p.Schema.Classes())
	t := aggregation.NewTally(pool.Rows(), classes)
	shards := shardsOf(p.Unit, terms.Shards, in)
	each := (in.Records.Len() + len(shards) - 1) / len(shards)
	for s, rows := range shards {
		votes := voteOn(p, terms.Learner, pool, in, in.Records.Select(rows), each, in.Rng(s))
		b, err := aggregation.NewBallot(votes, classes)
		if err != nil {
			b = aggregation.ConstantBallot(pool.Rows(), classes)
		}
		if err := t.Add(b); err != nil { // all have the same shape
			panic(err)
		}
	}
	return t
}

// voteOn trains on records and votes on every pool row. It always returns votes: a learner that
// fails or is late votes for class 0 everywhere. If the learner used fewer records than usual,
// voteOn also trains on made-up records and drops the result, so that the time depends less on how
// many records meet the plan's condition. The caller must still hide the time: an agent sends at a
// moment fixed beforehand.
func voteOn(p study.Plan, learner string, pool *auxdata.Pool, in study.Inputs,
	records *dataset.Records, usual int, rng *rand.Rand) (votes []int) {
	left := usual
	done := in.RunInTime(func(ctx context.Context) {
		var learned int
		votes, learned = votesOf(ctx, p, learner, pool, in.Voter, records, rng)
		left -= learned
	}, func(ctx context.Context) {
		if left >= learners.MinTrainingRows {
			votesOf(ctx, p, learner, pool, study.Voter{Learner: in.Voter.Learner},
				madeUp(p.Schema, left, rng), rng)
		}
	})
	if !done {
		return make([]int, pool.Rows())
	}
	return votes
}

// votesOf trains on records. It returns the votes, and the number of records that the learner used.
func votesOf(ctx context.Context, p study.Plan, learner string, pool *auxdata.Pool,
	voter study.Voter, records *dataset.Records, rng *rand.Rand) (votes []int, learned int) {
	if learner == learners.AnyClassifier && voter.Vote != nil {
		votes, err := voter.Vote(ctx, p.Schema, records, pool.Encoded)
		if err != nil || len(votes) != pool.Rows() {
			votes = make([]int, pool.Rows())
		}
		// so that voteOn does no work on made-up records: the site bounds its program's time
		return votes, math.MaxInt
	}
	model, features := TrainLocal(ctx, p, ChosenLearner(learner, voter), records, rng, true)
	if model == nil {
		return make([]int, pool.Rows()), 0
	}
	if _, constant := model.(learners.ConstantModel); !constant {
		learned = records.Len()
	}
	if features == learners.EncodedFeatures {
		return predict(ctx, model, pool.Encoded), learned
	}
	return predict(ctx, model, pool.X), learned
}

// madeUp returns n records with random features, and random labels that are independent of the
// features.
func madeUp(s dataset.Schema, n int, rng *rand.Rand) *dataset.Records {
	r := &dataset.Records{X: mat.NewDense(n, s.Dim(), nil), Y: make([]int, n)}
	for i := range n {
		r.Y[i] = i % len(s.Classes())
		for j := range s.Dim() {
			r.X.Set(i, j, rng.Float64())
		}
	}
	return r
}

// predictRows is the number of rows between two checks of the deadline.
const predictRows = 128

// predict returns fewer predictions than rows if the context ends.
func predict(ctx context.Context, model learners.Model, x *mat.Dense) (votes []int) {
	n, d := x.Dims()
	for from := 0; from < n && ctx.Err() == nil; from += predictRows {
		part := x.Slice(from, min(n, from+predictRows), 0, d).(*mat.Dense)
		votes = append(votes, model.Predict(part)...)
	}
	return votes
}

// TrainLocal trains the named learner ("" for the default) with a plan's map and classes. It
// returns nil if training fails. With voting, the learner has its settings for one voter among many
// (learners.VotingLearner).
func TrainLocal(ctx context.Context, p study.Plan, name string, records *dataset.Records,
	rng *rand.Rand, voting bool) (learners.Model, learners.Features) {
	learner, err := learners.NewOrRandom(cmp.Or(name, learners.DefaultLearner), rng)
	if err != nil {
		return nil, learners.MappedFeatures
	}
	if v, ok := learner.(learners.VotingLearner); ok && voting {
		learner = v.ForVoting()
	}
	x := records.X
	if learner.Features() == learners.MappedFeatures {
		x = p.MapRecords(records)
	}
	model, err := learner.Fit(ctx, x, records.Y, len(p.Schema.Classes()), rng)
	if err != nil {
		return nil, learners.MappedFeatures
	}
	return model, learner.Features()
}

// shardsOf returns the rows from which each shard's classifier learns (keyed.Records.Shards). It
// leaves out records without a label, because nothing can be learned from them. The empty records
// of keyed.ExactlyN, which have no label, may all be in one shard and could make that shard late.
func shardsOf(u privacy.Unit, n int, in study.Inputs) [][]int {
	shards := [][]int{dataset.RowRange(0, in.Records.Len())}
	if n > 1 {
		shards = keyed.NewRecords(keyed.SelectionRule{Study: in.Study, Unit: u, Shards: n},
			in.Records,
			in.ShardKey()).Shards(in.Records)
	}
	for s, rows := range shards {
		shards[s] = slices.DeleteFunc(rows, func(i int) bool { return in.Records.Y[i] < 0 })
	}
	return shards
}
