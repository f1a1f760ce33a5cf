package study

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/learners"
	"caucus/privacy"
)

// classify is the kind of study that trains a classifier from votes on a public
// pool, or from sums of label × features (Hamm, Cao & Belkin 2016).
type classify struct{}

// classifyMechanism is one way to make a classify release.
type classifyMechanism struct {
	// units it can give.
	units []privacy.Unit
	// site says whether each party may add the noise itself.
	site bool
	// needsDelta: the guarantee is (ε,δ) with δ > 0.
	needsDelta bool
	// simulation: no proof covers it as implemented; simulated plans only.
	simulation bool
	// solved: what is released is a minimiser, and its bound rests on solving.
	solved bool
	// question makes the mechanism's statistic for a plan and pool.
	question func(Plan, *auxdata.Pool) (question, error)
}

// question is a statistic of the contributions: what each adds, what the sum
// releases, and what follows from the answer.
type question interface {
	// local is this party's share of the statistic, the clear integers that
	// add up over parties, with its weight in the denominator (ballots cast,
	// or records).
	local(Inputs) (vector []int64, weight int64)
	// appendClear and parseClear are the body of a contribution in clear.
	// parseClear checks everything that a valid contribution promises.
	appendClear(vector []int64, weight int64) ([]byte, error)
	parseClear(body []byte) (vector []int64, weight int64, err error)
	// cells is the length of local's vector, releasedCells that of the
	// released one.
	cells() int
	releasedCells() int
	// maxWeight is the most weight one contribution may have.
	maxWeight() int64
	// terms are what a release is made under; they follow from plan, pool and
	// the public weight of what is released.
	terms(weight int64) (terms, error)
	// sensitive makes the private vector to release of a clear one (one
	// party's, or the sum).
	sensitive(vector []int64, weight int64, t terms) (privacy.Sensitive, error)
	// noise is what a release over a weight, with a number of independent
	// draws, leaves on the moments.
	noise(weight float64, draws int) (aggregation.Noise, error)
	// finish fits to the total released by a number of independent draws.
	finish(total released, rng *rand.Rand) (Result, error)
}

// terms are the public terms of a release.
type terms struct {
	Output    string
	Bound     privacy.Bound
	Mechanism privacy.Mechanism
	// Matrix is the digest of the public integers that contributions are
	// multiplied by before noise, zero where there are none. It is no part of the
	// output's name: made of floating-point numbers, it may come out otherwise on
	// another processor, and must then be a conflict and not a second draw.
	Matrix privacy.Digest
}

// squared is the square of an L2 bound, or 0, which proves nothing, where int64
// cannot hold it. L2 is an integer here because the last digits of its square
// would differ between processors, and with them a plan's terms.
func squared(l2 int64) int64 {
	if l2 < 0 || l2 >= 1<<31 {
		return 0
	}
	return l2 * l2
}

// laplace says that the noise is discrete Laplace; all other is near to normal.
func (t terms) laplace() bool {
	_, ok := t.Mechanism.(privacy.DiscreteLaplace)
	return ok
}

// ask makes the release of a clear vector.
func ask(q question, vector []int64, weight int64) ([]Ask, error) {
	t, err := q.terms(weight)
	if err != nil {
		return nil, err
	}
	s, err := q.sensitive(vector, weight, t)
	if err != nil {
		return nil, err
	}
	return []Ask{{Output: t.Output, Sensitive: s, Mechanism: t.Mechanism, From: t.Matrix}}, nil
}

// released is what was published, added over the parties where each released
// its own part.
type released struct {
	Values []float64
	Weight float64
	// Draws is how many independent noises are in it: 1, or one a party.
	Draws int
}

// classifyMechanisms is the table of the kind's mechanisms.
var classifyMechanisms = map[string]classifyMechanism{
	"tally":        {units: allUnits, site: true, needsDelta: true, question: newVotes("tally")},
	"moment":       {units: allUnits, site: true, question: newVotes("moment")},
	"cross":        {units: []privacy.Unit{privacy.Record, privacy.Label}, site: true, question: newCross},
	"means":        {units: []privacy.Unit{privacy.Party}, site: true, question: newMeans},
	"output":       {units: allUnits, solved: true, question: newOutput("output")},
	"output-paper": {units: allUnits, simulation: true, question: newOutput("output-paper")},
	"majority":     {units: allUnits, simulation: true, question: newOutput("majority")},
	"average":      {units: []privacy.Unit{privacy.Party}, simulation: true, question: newAverage},
	"none":         {units: allUnits, simulation: true, question: newVotes("none")},
}

var allUnits = []privacy.Unit{privacy.Party, privacy.Record, privacy.Label}

// DefaultMechanism is what classify uses at a unit where a plan names none.
func DefaultMechanism(u privacy.Unit) string {
	if u == privacy.Party {
		return "tally"
	}
	return "cross"
}

// DefaultNoise is who adds the noise at a unit where a plan does not say.
func DefaultNoise(u privacy.Unit) string {
	if u == privacy.Party {
		return NoiseCoordinator
	}
	return NoiseSite
}

// Mechanisms are the names of classify's mechanisms.
func Mechanisms() []string { return slices.Sorted(maps.Keys(classifyMechanisms)) }

// maxBallots bounds the ballots of a study: more would say nothing new, and a
// site trains that many classifiers.
const maxBallots = 1 << 20

func (classify) Check(p Plan) error {
	m, ok := classifyMechanisms[p.Mechanism]
	if !ok {
		return planError("mechanism", "%q is not one of classify's: %v", p.Mechanism, Mechanisms())
	}
	if m.simulation && !p.Simulated {
		return planError("mechanism", "no proof covers %q as implemented, so it can only be simulated: use tally, means, moment, cross or output", p.Mechanism)
	}
	if !slices.Contains(m.units, p.Unit) && p.Mechanism == "means" {
		return planError("unit", "mechanism \"means\" hides whole parties: cross hides a %s with less noise", p.Unit)
	}
	if !slices.Contains(m.units, p.Unit) {
		return planError("unit", "mechanism %q cannot hide a %s: it hides %v; a bound proved for one record says nothing about a whole party", p.Mechanism, p.Unit, m.units)
	}
	if p.Noise == NoiseSite && !m.site {
		return planError("noise", "mechanism %q is made from the votes of all parties together, so only the coordinator can add its noise: use tally, means, moment or cross for noise at the site", p.Mechanism)
	}
	if m.needsDelta && p.Delta == 0 {
		return planError("delta", "mechanism %q gives (ε,δ) with δ > 0: give a δ far below 1/units, or use moment (at unit party also means) for pure ε", p.Mechanism)
	}
	if p.Shards < 1 {
		return planError("shards", "%d: 1 is one classifier a party", p.Shards)
	}
	if most := maxBallots / p.sites(); int64(p.Shards) > most {
		return planError("shards", "%d: at most %d are possible with this roster", p.Shards, most)
	}
	if p.Shards > 1 && p.Unit == privacy.Party {
		return planError("shards", "a whole party moves all of its %d shards, so shards buy nothing at party level: use unit record, or shards 1", p.Shards)
	}
	if p.Shards > 1 && (p.Mechanism == "cross" || p.Mechanism == "average") {
		return planError("shards", "mechanism %q trains no classifiers on shards: use shards 1", p.Mechanism)
	}
	switch p.Bound {
	case "", "tight", "paper":
	default:
		return planError("bound", "%q: want tight or paper", p.Bound)
	}
	if k := len(p.Schema.Classes()); k > aggregation.MaxClasses {
		return planError("schema", "%d classes, at most %d are supported", k, aggregation.MaxClasses)
	}
	if m.solved {
		if err := checkSolved(p); err != nil {
			return err
		}
	}
	if p.Learner != "" {
		if _, err := learners.Assign(p.Learner, rand.New(rand.NewPCG(0, 0))); err != nil {
			return planError("learner", "%v", err)
		}
	}
	return nil
}

func questionOf(p Plan, pool *auxdata.Pool) (question, error) {
	m, ok := classifyMechanisms[p.Mechanism]
	if !ok {
		return nil, planError("mechanism", "%q is not one of classify's: %v", p.Mechanism, Mechanisms())
	}
	if pool.Digest != p.Pool {
		return nil, fmt.Errorf("%w: the plan is about pool %s, this is pool %s", ErrContribution, p.Pool, pool.Digest)
	}
	return m.question(p, pool)
}

func (classify) Draft(p Plan, in Inputs) (Draft, error) {
	q, err := questionOf(p, in.Pool)
	if err != nil {
		return Draft{}, err
	}
	vector, weight := q.local(in)
	if p.Noise == NoiseCoordinator {
		return Draft{Body: func([]privacy.Published) ([]byte, error) {
			return q.appendClear(vector, weight)
		}}, nil
	}
	return siteDraft(q, vector, weight)
}

// siteDraft is the draft of a party that adds noise of its own to its share of
// the statistic.
func siteDraft(q question, vector []int64, weight int64) (Draft, error) {
	asks, err := ask(q, vector, weight)
	if err != nil {
		return Draft{}, err
	}
	return Draft{Asks: asks, Body: func(r []privacy.Published) ([]byte, error) {
		return appendPublished(weight, r[0])
	}}, nil
}

func (classify) NewSum(p Plan, pool *auxdata.Pool) (Sum, error) {
	q, err := questionOf(p, pool)
	if err != nil {
		return nil, err
	}
	if p.Noise == NoiseSite {
		return newReleasedSum(p, q)
	}
	return &clearSum{q: q, vector: make([]int64, q.cells())}, nil
}

func (classify) MaxBody(p Plan, pool *auxdata.Pool) int {
	// A varint of a count or sum is at most 10 bytes; the rest is the header
	// of a publication.
	q, err := questionOf(p, pool)
	if err != nil {
		return 0
	}
	return 10*max(q.cells(), q.releasedCells()) + 4096
}

func (classify) Finish(p Plan, pool *auxdata.Pool, m int, sum Sum, r []privacy.Published) (Result, error) {
	q, err := questionOf(p, pool)
	if err != nil {
		return Result{}, err
	}
	rng := rand.New(rand.NewPCG(p.Seed, 0x6c616d626461)) // public: fresh noise for λ
	switch s := sum.(type) {
	case *releasedSum:
		return q.finish(s.released(), rng)
	case *clearSum:
		if len(r) != 1 {
			return Result{}, fmt.Errorf("finish classify: have %d releases, want 1", len(r))
		}
		total := released{Weight: float64(s.weight), Draws: 1, Values: r[0].Reals}
		if total.Values == nil {
			total.Values = make([]float64, len(r[0].Values))
			for i, v := range r[0].Values {
				total.Values[i] = float64(v)
			}
		}
		return q.finish(total, rng)
	}
	return Result{}, fmt.Errorf("finish classify: unknown sum %T", sum)
}

// classifier makes a result of a fit.
func classifierResult(p Plan, fit aggregation.Fit) Result {
	d, c := fit.Model.W.Dims()
	w := make([][]float64, d)
	for i := range w {
		w[i] = mat.Row(nil, i, fit.Model.W)[:c]
	}
	r := Result{Classifier: &Classifier{Weights: w, Classes: p.Schema.Classes(), Lambda: fit.Lambda, Path: fit.Path}}
	if fit.Lambda == 0 {
		r.Warnings = append(r.Warnings, "the noise leaves nothing better than no model at all: every class scores the same. Use more parties, a larger ε or a finer unit")
	}
	return r
}
