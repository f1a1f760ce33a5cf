package study

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
)

// ErrContribution is wrapped by every refusal of a contribution's body.
var ErrContribution = errors.New("invalid contribution")

// Request asks for the release of a private integer vector through a mechanism. Output is the
// vector's name within the plan, a constant of the kind, so a ledger gives one answer for each
// output of a plan.
type Request struct {
	Output       string
	Sensitive    privacy.Sensitive
	Mechanism    privacy.Mechanism
	SourceDigest privacy.Digest // digest of the vector's source (privacy.Sensitive.SourceDigest)
}

// Blockwise is a Task that can add this number of records in parts (Inputs.Blocks).
type Blockwise interface{ Blockwise(records int) bool }

// TakesBlocks reports whether a task takes this number of records in parts.
func TakesBlocks(t Task, records int) bool {
	b, ok := t.(Blockwise)
	return ok && b.Blockwise(records)
}

// Contribution holds the requests to a party's ledger, and the function that makes the body from
// the ledger's answers. If servers add the noise, Requests is empty and the body holds exact votes
// or sums. The party's ledger is then charged the cost of the servers' release (Task.Charges).
type Contribution struct {
	Requests []Request
	Body     func(released []privacy.Published) ([]byte, error)
}

// Sum adds contributions. Its bytes do not depend on their order or grouping, nor its memory on
// their number.
type Sum interface {
	Checker
	Add(body []byte) error // an error leaves the sum unchanged
	Merge(Sum) error
	// Requests are the releases that an aggregator makes of m contributions. None if parties added
	// their own noise.
	Requests(m int) ([]Request, error)
	MarshalBinary() ([]byte, error)
	UnmarshalBinary([]byte) error
	// ReadersMaySee reports whether every reader may see the sum, because all of it passed parties'
	// ledgers.
	ReadersMaySee() bool
	// Contributions returns the number of added contributions, −1 if the sum does not know. Weight
	// returns their total of ballots or records, 0 if contributions have no weight.
	Contributions() int
	Weight() int64
}

// Kind is one kind of study. It is stateless, safe for concurrent use, and deterministic in plan
// and pool. A new plan is completed, then checked (package planning). For a received plan call
// Check first, and the others only if Check passes. Refusals wrap ErrPlan (PlanError). A kind sees
// no private value, so no error depends on one.
type Kind interface {
	// Complete fills in the defaults of a plan that lacks only map, pool and the kind's part: the
	// kind's terms, and unit, mechanism, noise and δ if the proposal leaves them open. Check
	// refuses whatever stays open.
	Complete(*Plan, Proposal) error
	Mechanisms() []string // all mechanisms of the kind, also those for simulation only
	// Shared lists the mechanisms for which secret shares for two servers have a proof.
	Shared() []string
	// Terms returns a pointer to a zero value of the kind's part of a study file; nil if there is
	// none.
	Terms() any
	// Check refuses a plan whose guarantee has no proof. It runs after CheckCommon. New trusts a
	// plan that passed, so Check covers sizes, the kind's terms, and combinations of unit and
	// mechanism.
	Check(Plan) error
	Words(Plan) Words // describes a checked plan to approvers and readers
	// New makes the task of a checked plan. Slow steps, such as factoring the pool's moments,
	// belong here.
	New(Plan, *auxdata.Pool) (Task, error)
}

// MapChooser is a half of a kind (Results) that chooses a plan's map of the public pool.
type MapChooser interface {
	// ChooseMap turns dataset.AutoComponents into a number of components. It gets the completed
	// plan, the public size and x, the N×Dim encoded rows of the public pool.
	ChooseMap(p Plan, size Size, c dataset.Components, x *mat.Dense) (dataset.Components, error)
}

// PoolTermsSetter is a kind that computes terms from the pool if a proposal leaves them open.
type PoolTermsSetter interface {
	Tune(*Plan, *auxdata.Pool) error
}

// ReleaseRequests makes the requested releases through a ledger, in order. No other code calls
// Ledger.Release. A repeated call gives the same answers at no further cost. Sums of contributions
// go through life.Conclude, which names the contributions.
func ReleaseRequests(ctx context.Context, l *privacy.Ledger, plan Hash,
	requests []Request) ([]privacy.Published, error) {
	out := make([]privacy.Published, 0, len(requests))
	for _, r := range requests {
		published, err := l.Release(ctx, ReleaseID(plan, r.Output),
			r.Sensitive.WithSource(r.SourceDigest),
			r.Mechanism)
		if err != nil {
			return nil, fmt.Errorf("release %s of study %s: %w", r.Output, plan, err)
		}
		out = append(out, published)
	}
	return out, nil
}
