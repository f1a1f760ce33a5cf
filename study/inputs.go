package study

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
)

// Inputs are what a party's contribution is made of. NewInputs makes them, for sites, simulations
// and tests alike, so that a test calls a task as a site does.
type Inputs struct {
	Records *dataset.Records
	// Blocks, if not nil, gives the records in parts, to a Blockwise task; Records is then nil.
	Blocks iter.Seq[*dataset.Records]
	// TimeLimit makes the context for training one classifier or running one program, and a
	// function to call at the end of the work. If TimeLimit is nil, there is no time limit. See
	// RunInTime.
	TimeLimit func() (ctx context.Context, end func(late bool))
	Voter     Voter // the party's classifier, if the plan leaves the choice to parties
	// Scorer scores the party's records, if the plan allows: N×Dim encoded rows give N numbers in
	// [0,1]. If it is nil, fails or gives an invalid answer, every record stays without a score.
	Scorer func(ctx context.Context, s dataset.Schema, rows *mat.Dense) ([]float64, error)
	Study  Hash // the plan's hash, which keys depend on; the task fills it in

	shardKey []byte
}

// NewInputs makes the inputs of a party from its records and its secret for all its studies. Where
// a study assigns records to shards or sets, limits their number or orders them, all of that
// follows from this key (package keyed), as does what learners draw. By an empty key all of it
// would be public, so NewInputs panics.
func NewInputs(records *dataset.Records, shardKey []byte) Inputs {
	if len(shardKey) == 0 {
		panic("study: a party has no shard key")
	}
	return Inputs{Records: records, shardKey: shardKey}
}

// ShardKey returns the party's secret for all its studies.
func (in Inputs) ShardKey() []byte { return in.shardKey }

// Rng returns the randomness of one shard's learner, never for noise.
//
// Proof note. The generator follows from the party's key and the shard's number. No record enters,
// and no other shard draws from it. So for every key a shard's ballot is a function of the shard's
// own records, and a replaced record moves only the ballots of the shard that it leaves and of the
// shard that its replacement enters. By one generator for all shards, the draws of one shard would
// move the ballots of those after it.
func (in Inputs) Rng(shard int) *rand.Rand {
	mac := hmac.New(sha256.New, in.shardKey)
	mac.Write([]byte("learner\x00"))
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(shard)))
	return rand.New(rand.NewChaCha8([sha256.Size]byte(mac.Sum(nil))))
}

// RecordBlocks returns the records in blocks, or all in one part.
func (in Inputs) RecordBlocks() iter.Seq[*dataset.Records] {
	if in.Blocks != nil {
		return in.Blocks
	}
	return func(yield func(*dataset.Records) bool) { yield(in.Records) }
}

// RunInTime runs work, which may be any code that reads a party's records, within a time limit. It
// returns false if work panicked or was late. If time is left and fill is not nil, it then runs
// fill: dummy work that reads no record and takes the time of the records that work left out.
func (in Inputs) RunInTime(work, fill func(context.Context)) (done bool) {
	ctx, end := context.Background(), func(bool) {}
	if in.TimeLimit != nil {
		ctx, end = in.TimeLimit()
	}
	whole := func(do func(context.Context)) bool {
		defer func() { _ = recover() }()
		do(ctx)
		return true
	}
	done = whole(work)
	late := ctx.Err() != nil
	if _, ends := ctx.Deadline(); ends && fill != nil && !late {
		whole(fill)
	}
	end(late)
	return done && !late
}

// Voter is the classifier that a party chose: the function Vote or, if Vote is nil, the built-in
// learner that Learner names ("" names the default).
type Voter struct {
	Learner string
	// Vote learns from labelled records and returns a class in 0..K-1 for each of the rows (N×Dim,
	// encoded by the schema). An error or an invalid answer counts as a constant ballot.
	Vote func(
		ctx context.Context, s dataset.Schema, labelled *dataset.Records, rows *mat.Dense,
	) ([]int, error)
}
