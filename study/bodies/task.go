package bodies

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"caucus/privacy"
	"caucus/study"
)

// Task is the task of a kind whose contributions are integer vectors that are added up (Statistic).
// The parties or the servers release the total, and the result follows from the total.
type Task struct {
	study.TaskBase
	Statistic  Statistic
	SearchSeed uint64 // seeds the public randomness in the search for λ
}

// Addend is what a record adds to one number of a Statistic's vector.
type Addend struct {
	Cell int
	Adds int64
}

// Statistic describes the vector that each party contributes, the release of their sum, and the
// result of that.
type Statistic interface {
	// Local returns a party's vector, whose integers add up over parties, and its weight (ballots
	// or records).
	Local(study.Inputs) (vector []int64, weight int64)
	// AppendClear and ParseClear encode and decode a contribution without noise. ParseClear refuses
	// contributions that no honest party could send.
	AppendClear(vector []int64, weight int64) ([]byte, error)
	ParseClear(body []byte) (vector []int64, weight int64, err error)
	// Cells returns the length of Local's vector. ReleasedCells returns the length of the released
	// vector.
	Cells() int
	ReleasedCells() int
	Weights() (least, most int64) // bound the weight of one contribution
	// Terms are the terms of the release. They follow from plan, pool and the public weight. If
	// sites add the noise, the terms must be the same for every weight.
	Terms(weight int64) (study.ReleaseTerms, error)
	// wraps a private vector: one party's, or the sum
	Sensitive(vector []int64, weight int64, t study.ReleaseTerms) (privacy.Sensitive, error)
}

// Finisher is a Task with the half of who releases, verifies or reads.
type Finisher interface {
	study.Finisher
	// FinishTotal makes the result of a published total (Task.Total). rng is public randomness.
	FinishTotal(total Total, rng *rand.Rand) (study.Result, error)
}

// FinishBy makes the result of what was released: of this task, by its own Finisher.
func (s Task) FinishBy(
	f Finisher, of study.Contributions, released []privacy.Published,
) (study.Result, error) {
	total, rng, err := s.Total(of, released)
	if err != nil {
		return study.Result{}, err
	}
	return f.FinishTotal(total, rng)
}

// ClearFinisher is a Finisher whose released vector is not the sum but a function of it.
// FinishClear makes the result without noise, from the sum.
type ClearFinisher interface {
	FinishClear(total Total, rng *rand.Rand) (study.Result, error)
}

// Unperturbed returns the result without noise, for comparison in simulations.
func (s Task) Unperturbed(sum *ClearSum, f Finisher) (study.Result, error) {
	total := Total{Values: make([]float64, len(sum.vector)), Weight: float64(sum.weight)}
	for i, v := range sum.vector {
		total.Values[i] = float64(v)
	}
	rng := rand.New(rand.NewPCG(s.Plan().Seed, 0))
	if q, ok := f.(ClearFinisher); ok {
		return q.FinishClear(total, rng)
	}
	return f.FinishTotal(total, rng)
}

// Total is the published sum, or the sum of the parties' releases.
type Total struct {
	Values []float64
	Weight float64
	Draws  int // number of independent noises: 1, or one for each party or server
}

// Requests makes the request to release a private vector.
func Requests(q Statistic, vector []int64, weight int64) ([]study.Request, error) {
	t, err := q.Terms(weight)
	if err != nil {
		return nil, err
	}
	s, err := q.Sensitive(vector, weight, t)
	if err != nil {
		return nil, err
	}
	return []study.Request{{Output: t.Output, Sensitive: s, Mechanism: t.Mechanism,
		SourceDigest: t.MatrixDigest}}, nil
}

func (s Task) task() Task { return s }

// Of returns the Task that a kind's task embeds, and false if the kind's task embeds none.
func Of(t study.Task) (Task, bool) {
	a, ok := t.(interface{ task() Task })
	if !ok {
		return Task{}, false
	}
	return a.task(), true
}

// Additive reports whether Local of all records is the sum of Local over any parts of them.
type Additive interface{ Additive(records int64) bool }

// Blockwise reports whether the statistic takes this number of records in parts, because its Local
// reads blocks (study.Blockwise) or is Additive.
func (s Task) Blockwise(records int) bool {
	if b, ok := s.Statistic.(study.Blockwise); ok {
		return b.Blockwise(records)
	}
	a, ok := s.Statistic.(Additive)
	return ok && a.Additive(int64(records))
}

// Local computes the party's exact vector from its records, in blocks if there are blocks and the
// statistic adds up over them: memory then does not grow with records.
func (s Task) Local(in study.Inputs) (vector []int64, weight int64) {
	in.Study = s.Hash()
	if _, itself := s.Statistic.(study.Blockwise); itself || in.Blocks == nil {
		return s.Statistic.Local(in)
	}
	vector = make([]int64, s.Statistic.Cells())
	for in.Records = range in.Blocks {
		of, records := s.Statistic.Local(in)
		for i, v := range of {
			vector[i] += v
		}
		weight += records
	}
	return vector, weight
}

// Contribute computes the vector once. Its Body holds exact numbers only where the coordinator adds
// the noise; at a site only what the ledger released. For two servers use Split.
func (s Task) Contribute(in study.Inputs) (study.Contribution, error) {
	if s.Plan().Noise.Shared() {
		return study.Contribution{}, errShares // only Split makes what such a party sends
	}
	vector, weight := s.Local(in)
	if s.Plan().Noise.SumsInClear() {
		return study.Contribution{Body: func([]privacy.Published) ([]byte, error) {
			return s.ClearBody(vector, weight, in.ShardKey())
		}}, nil
	}
	return s.ContributeWithNoise(vector, weight)
}

// ContributeWithNoise is the contribution of a party that adds noise to its own vector.
func (s Task) ContributeWithNoise(vector []int64, weight int64) (study.Contribution, error) {
	requests, err := Requests(s.Statistic, vector, weight)
	if err != nil {
		return study.Contribution{}, err
	}
	at, err := releasedOf(s.Plan(), s.Statistic)
	return study.Contribution{Requests: requests,
		Body: func(r []privacy.Published) ([]byte, error) {
			return at.Append(binary.BigEndian.AppendUint64(nil, uint64(weight)), r[0])
		}}, err
}

// Reservations is one release with noise at the site, none elsewhere. It does not depend on the
// number of records.
func (s Task) Reservations(int) ([]study.Reservation, error) {
	if !s.Plan().Noise.AddedAtSite() {
		return nil, nil
	}
	t, err := s.Statistic.Terms(1)
	if err != nil {
		return nil, err
	}
	return t.Reserve(s.Statistic.ReleasedCells()), nil
}

// Charges implements study.Task. If the weight is not known, it takes the smallest possible weight.
// The noise of mechanism output depends on the weight, but its cost does not.
func (s Task) Charges(weight int64) ([]study.Charge, error) {
	if weight < 1 {
		weight = int64(max(s.Plan().LeastParties(), 1) * max(s.Words().Shards, 1))
	}
	t, err := s.Statistic.Terms(weight)
	if err != nil {
		return nil, err
	}
	cost, err := privacy.CostOf(t.Mechanism, t.Bound)
	if err != nil {
		return nil, err
	}
	return []study.Charge{t.Charge(cost, study.CostAtEpsilon(s.Plan(), cost))}, nil
}

// MaxBody implements study.Task. A release has a fixed size, and a number without noise has at most
// 10 bytes.
func (s Task) MaxBody() int {
	switch noise := s.Plan().Noise; {
	case noise.AddedAtSite():
		return weightSize + PublishedSize(s.Statistic.ReleasedCells())
	case noise.Shared():
		return s.shareSize() + 4096 // for the header and the encryption
	}
	return 10*s.Statistic.Cells() + 4096
}

// NewSum adds exact vectors, or, with noise at the site, the parties' releases, whose noise adds
// up.
func (s Task) NewSum() (study.Sum, error) {
	if s.Plan().Noise.AddedAtSite() {
		at, err := releasedOf(s.Plan(), s.Statistic)
		return &releasedSum{q: s.Statistic, at: at,
			vector: make([]int64, s.Statistic.ReleasedCells())}, err
	}
	sum := NewClearSum(s.Statistic)
	sum.committed = committed(s.Plan())
	return sum, nil
}

// Total is what a result is made of, with public randomness for that: the sum if the parties added
// the noise, else the servers' releases r.
func (s Task) Total(of study.Contributions, r []privacy.Published) (Total, *rand.Rand, error) {
	fail := func(format string, args ...any) (Total, *rand.Rand, error) {
		return Total{}, nil, fmt.Errorf("finish %s: "+format,
			append([]any{s.Plan().Kind}, args...)...)
	}
	least, most := s.Statistic.Weights()
	if m := int64(of.Contributions); of.Weight < m*least || of.Weight > m*most {
		return fail("the sum is over %d ballots or records, %d contributions of %d to %d cannot have so many", of.Weight, m, least, most)
	}
	rng := rand.New(rand.NewPCG(s.Plan().Seed, s.SearchSeed))
	if sum, ok := of.Sum.(*releasedSum); ok {
		return sum.released(), rng, nil
	}
	if s.Plan().Noise.Shared() {
		total, err := s.joined(of.Weight, r)
		if err != nil {
			return fail("%w", err)
		}
		return total, rng, nil
	}
	if len(r) != 1 {
		return fail("have %d releases, want 1", len(r))
	}
	if r[0].Residues != nil {
		return fail("the release is one server's share, which says nothing alone")
	}
	// Extra numbers could hide data in a release.
	if have, want := r[0].Len(), s.Statistic.ReleasedCells(); have != want {
		return fail("the release has %d numbers, want %d", have, want)
	}
	total := Total{Weight: float64(of.Weight), Draws: 1, Values: r[0].Reals}
	if total.Values == nil {
		total.Values = make([]float64, len(r[0].Values))
		for i, v := range r[0].Values {
			total.Values[i] = float64(v)
		}
	}
	return total, rng, nil
}
