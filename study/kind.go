package study

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
)

// ErrContribution is wrapped by every refusal of a contribution's body.
var ErrContribution = errors.New("invalid contribution")

// Request asks to release a private integer vector with its bound through a mechanism. Output names
// it within the plan. The name is a constant of the kind, so each output of a plan has one answer.
type Request struct {
	Output    string
	Sensitive privacy.Sensitive
	Mechanism privacy.Mechanism
	From      privacy.Digest // digest of the vector's source: see privacy.Sensitive.From
}

// Inputs are a party's inputs to a task.
type Inputs struct {
	Records *dataset.Records
	// Blocks, if not nil, are the records some at a time, for a Blockwise task; Records is nil then.
	Blocks iter.Seq[*dataset.Records]
	// ShardKey is the party's secret, the same in all its studies. It assigns each record to a shard,
	// cut or set (package keyed).
	ShardKey []byte
	Rng      *rand.Rand // for learners, never for noise
	// Within makes the context for training one classifier or running one program, and a function
	// to call at its end. nil sets no time limit. See InTime.
	Within func() (ctx context.Context, end func(late bool))
	Voter  Voter // the party's choice of a classifier, if the plan leaves it to parties
	// Scorer scores the party's records, if the plan lets parties do so: N×Dim encoded rows → N
	// numbers in [0,1]. nil, an error or an invalid answer leaves every record without a score.
	Scorer func(ctx context.Context, s dataset.Schema, rows *mat.Dense) ([]float64, error)
	Study  Hash // the plan's hash, which the keys depend on; the task fills it in
}

// Parts are the records some at a time, or all at once.
func (in Inputs) Parts() iter.Seq[*dataset.Records] {
	if in.Blocks != nil {
		return in.Blocks
	}
	return func(yield func(*dataset.Records) bool) { yield(in.Records) }
}

// Blockwise is a Task whose contribution follows from a sum over records, so that it takes them some
// at a time (Inputs.Blocks) where this number of them is contributed.
type Blockwise interface{ Blockwise(records int) bool }

// InBlocks says whether a task takes this number of records some at a time.
func InBlocks(t Task, records int) bool {
	b, ok := t.(Blockwise)
	return ok && b.Blockwise(records)
}

// InTime runs work, arbitrary code on a party's records, within its time limit. It returns false if work
// panicked or was late. If there is a deadline and time is left, it then runs fill, if not nil: dummy
// work in place of the records that work left out. It reads no records, and its outcome is dropped.
func (in Inputs) InTime(work, fill func(context.Context)) (done bool) {
	ctx, end := context.Background(), func(bool) {}
	if in.Within != nil {
		ctx, end = in.Within()
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

// Voter is a party's choice of a classifier: Vote if not nil, else a built-in learner ("": default).
type Voter struct {
	Learner string
	// Vote learns from labelled records and returns a class in 0..K-1 for each of the rows (N×Dim,
	// encoded by the schema). An error or an invalid answer counts as a constant ballot.
	Vote func(ctx context.Context, s dataset.Schema, labelled *dataset.Records, rows *mat.Dense) ([]int, error)
}

// Contribution is what a party will contribute: the requests to its own ledger, and a function that
// makes the body of what was released. Requests is empty if the party releases nothing; Body then holds
// votes or sums in clear, and Task.Charges says what the coordinator's release costs, for the party's
// ledger.
type Contribution struct {
	Requests []Request
	Body     func(released []privacy.Published) ([]byte, error)
}

// Sum adds up contributions, in bytes that do not depend on their order or grouping and memory that does
// not depend on their number.
type Sum interface {
	Checker
	Add(body []byte) error // an error leaves the sum unchanged
	Merge(Sum) error
	// Requests are the aggregator's releases for m contributions; none if each party released its own.
	Requests(m int) ([]Request, error)
	MarshalBinary() ([]byte, error)
	UnmarshalBinary([]byte) error
	// Public says whether any reader may see the sum, because all of it passed parties' own ledgers.
	Public() bool
	// Contributions is the number added, −1 if the sum does not hold it. Weight is their total of
	// ballots or records, 0 if nothing is weighed.
	Contributions() int
	Weight() int64
}

// Kind is one kind of study. It has no state, and its methods are safe for concurrent use.
//
// For a new plan the calls are Complete, then ChooseMap and Tune if the kind has them, then Check, Words
// and New. For a received plan Check comes first, and nothing else is called unless it passes. Every
// result follows from the arguments: the same plan and pool give the same everywhere. Refusals of a plan
// wrap ErrPlan (use PlanError). No private value is known here, so no error depends on one.
type Kind interface {
	// Complete fills in the defaults of a plan that lacks only map, pool and the kind's part: the
	// kind's terms; unit, mechanism and noise if the proposal leaves them out; and δ if it names
	// none. Whatever it cannot complete, Check refuses later.
	Complete(*Plan, Proposal) error
	Mechanisms() []string // all of the kind's, including those for simulation only
	// Shared lists the mechanisms whose contributions may be split between two servers, because a proof
	// covers each share.
	Shared() []string
	// Terms points to empty terms of the kind, as in a study file; nil if it has none.
	Terms() any
	Body() any // points to an empty result body, which readers decode strictly
	// Check refuses a plan that no proof covers. CheckCommon has passed. It alone protects New from
	// a hostile plan: sizes, the kind's own terms, combinations of unit and mechanism.
	Check(Plan) error
	Words(Plan) Words // describes a checked plan; approvers and readers see every text
	// New makes the task of a checked plan. Slow steps belong here, to run once: factoring the
	// pool's second moment takes seconds.
	New(Plan, *auxdata.Pool) (Task, error)
}

// MapChooser is a kind that chooses a plan's map of the public pool.
type MapChooser interface {
	// ChooseMap turns dataset.Auto into a number of components, given the completed plan, the
	// public size and the N×Dim encoded rows x of the public pool.
	ChooseMap(p Plan, size Size, c dataset.Components, x *mat.Dense) (dataset.Components, error)
}

// Tuner is a kind that derives from the pool those terms that a proposal leaves open.
type Tuner interface {
	Tune(*Plan, *auxdata.Pool) error
}

// Settle makes the requested releases through a ledger, in order. It is the only caller of
// Ledger.Release. Repeating it for a plan gives the same answers and spends nothing more. Sums go
// through life.Conclude, which names their contributions.
func Settle(ctx context.Context, l *privacy.Ledger, plan Hash, requests []Request) ([]privacy.Published, error) {
	out := make([]privacy.Published, 0, len(requests))
	for _, r := range requests {
		published, err := l.Release(ctx, ReleaseID(plan, r.Output), r.Sensitive.From(r.From), r.Mechanism)
		if err != nil {
			return nil, fmt.Errorf("release %s of study %s: %w", r.Output, plan, err)
		}
		out = append(out, published)
	}
	return out, nil
}
