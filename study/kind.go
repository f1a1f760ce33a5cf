package study

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
)

// ErrContribution is wrapped by every refusal of a contribution's body.
var ErrContribution = errors.New("invalid contribution")

// Request is one thing to release: a private integer vector with its bound, and
// the mechanism that may publish it. Output names it within the plan: the name
// is a constant of the kind, so that a plan has one answer of each.
type Request struct {
	Output    string
	Sensitive privacy.Sensitive
	Mechanism privacy.Mechanism
	// From digests what the vector was made from: see privacy.Sensitive.From.
	From privacy.Digest
}

// Inputs are what a party brings to a task.
type Inputs struct {
	Records *dataset.Records // private
	// ShardKey is the party's secret, from which follows where its records go:
	// to a shard, a cut, a set (keyed). It stays the same across its studies.
	ShardKey []byte
	// Rng drives learners. It must not be used for noise.
	Rng *rand.Rand
	// Within makes the context that one classifier's training, or one program, has, and
	// what is called at its end, late or not; nil lets each take as long as it does. See
	// InTime.
	Within func() (ctx context.Context, end func(late bool))
	// Voter is what the party votes with where the plan leaves that to it.
	Voter Voter
	// Scorer is what scores the party's records where the plan leaves that to it; nil
	// scores none. Of encoded rows (N×Dim) it answers N numbers in [0,1]. What it answers
	// is checked; with an error, or another answer, no record has a score.
	Scorer func(ctx context.Context, s dataset.Schema, rows *mat.Dense) ([]float64, error)
	// Study is the plan's hash, which goes into the keys; the task fills it in.
	Study Hash
}

// InTime runs what works on a party's records, which may be anything, within its time. It
// says whether the work was done: not where it panicked, nor where it was late.
//
// After it comes fill, nil for none, where the time has an end: as much work again as the
// records left out, on nothing of theirs. Whatever comes of it is dropped.
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

// Voter is a party's own choice of a classifier: a built-in learner by its name, "" for
// the default; or, where Vote is not nil, anything that votes.
type Voter struct {
	Learner string
	// Vote answers one class in 0..K-1 for each of the rows (N×Dim encoded, as the
	// schema says) from labelled records. What it answers is checked; an error, or
	// an answer that is no ballot, counts as a constant ballot.
	Vote func(ctx context.Context, s dataset.Schema, labelled *dataset.Records, rows *mat.Dense) ([]int, error)
}

// Contribution is what a party is ready to contribute: what must be released through
// its own ledger first, and how the body is made of what was released. Where
// nothing is released at the party, Requests is empty and Body carries clear votes
// or sums; Task.Charges then says what the coordinator's release will cost
// this party's units, for its own ledger to charge.
type Contribution struct {
	Requests []Request
	Body     func(released []privacy.Published) ([]byte, error)
}

// Sum adds the bodies of contributions; neither order nor sharding changes its
// bytes, and its memory does not depend on how many were added. A kind whose result
// takes every contribution has none: see Keeper.
type Sum interface {
	Checker
	// Add checks a body, then adds it. An error leaves the sum as it was.
	Add(body []byte) error
	// Merge adds another sum of the same plan.
	Merge(Sum) error
	// Requests are what the aggregator must release, now that m contributions are
	// sealed; empty where every party released its own part.
	Requests(m int) ([]Request, error)
	// MarshalBinary is the sum, for the store and for Merge elsewhere.
	MarshalBinary() ([]byte, error)
	UnmarshalBinary([]byte) error
	// Public says whether any reader of the release may see MarshalBinary's
	// bytes: all in them passed a party's own ledger.
	Public() bool
	// Contributions is how many were added, −1 where the bytes of the sum do not
	// tell; Weight is their ballots or records together, 0 where nothing is weighed.
	Contributions() int
	Weight() int64
}

// Kind is one kind of study: a folder below this one and a row in study/kinds. It has
// no state, and its methods are safe for concurrent use. Of a plan that is made,
// Complete is called first, then MapChooser's ChooseMap and Tuner's Tune where the kind
// has them, then Check, Words and New. Of a plan that arrives, Check is the first, and
// nothing else is called before it has passed. All of them follow from their arguments:
// whoever has the same plan and pool gets the same. What they refuse of a plan wraps
// ErrPlan (PlanError names the field, and says what to write); no error depends on a
// private value, as none is known here.
type Kind interface {
	// Complete fills in the defaults of a plan whose common part is there, but for map
	// and pool: the kind's own terms, of unit, mechanism and noise what the proposal
	// leaves out, and the δ of a proposal that names none. What it cannot complete it
	// leaves for Check to refuse.
	Complete(*Plan, Proposal) error
	// Mechanisms are the names that a plan of the kind may give its mechanism, those for
	// simulation only included.
	Mechanisms() []string
	// Shared are those of them whose contributions may be split between two servers,
	// because a proof covers a share; nil for none.
	Shared() []string
	// Terms points to empty terms of the kind, as a study file gives them under the
	// kind's name; nil where it has none.
	Terms() any
	// Body points to an empty body of a result: what Finish hands to NewResult. Readers
	// of a release decode it strictly.
	Body() any
	// Check refuses what no proof covers, of a plan that CheckCommon has passed. It is
	// all that stands between a plan from outside and New: sizes, terms of the kind's own,
	// units and mechanisms that do not go together.
	Check(Plan) error
	// Words say what a plan means, which Check has passed: every text, since a signed
	// release and whoever approves a plan repeat them.
	Words(Plan) Words
	// New makes the task of a plan, which Check has passed, on the plan's pool. What takes
	// long (a factor of the pool's second moment takes seconds) belongs here, so that
	// it is done once.
	New(Plan, *auxdata.Pool) (Task, error)
}

// MapChooser is a kind that says which map of the public pool serves a plan best.
type MapChooser interface {
	// ChooseMap makes dataset.Auto a number of components. It looks at the completed
	// plan, the public size and x, the N×Dim encoded rows of the public pool.
	ChooseMap(p Plan, size Size, c dataset.Components, x *mat.Dense) (dataset.Components, error)
}

// Tuner is a kind whose terms follow from the pool where a proposal leaves them open.
type Tuner interface {
	// Tune fills them in.
	Tune(*Plan, *auxdata.Pool) error
}

// Settle releases what is requested through a ledger, in order. It is the only caller of
// Ledger.Release. Calling it again with the same plan gives the same answers
// and spends nothing more. What contributions add up to goes through Conclude,
// which names them.
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
