package study

import (
	"cmp"
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
	// statistic says what each party adds to it.
	statistic statisticWords
}

// statisticWords are a party's share of a statistic: as its own person reads it,
// as it reaches who may see it exactly, and whether a classifier is trained for it.
type statisticWords struct {
	leaves, received string
	trained          bool
}

var (
	votesWords   = statisticWords{"one vote for a class on each row of the public pool", "votes on the rows of the public pool, from which a model like its own can be made", true}
	crossWords   = statisticWords{"sums over this site's records of label × mapped features, and the declared number of records", "sums over its records", false}
	meansWords   = statisticWords{"the direction of the mean over this site's records of label × mapped features", "direction, that of its mean of label × features", false}
	averageWords = statisticWords{"the weights of a linear classifier trained on this site's records", "classifier", true}
)

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

// classifyMechanisms is the table of the kind's mechanisms.
var classifyMechanisms = map[string]classifyMechanism{
	"tally":        {units: allUnits, site: true, needsDelta: true, question: newVotes("tally"), statistic: votesWords},
	"moment":       {units: allUnits, site: true, question: newVotes("moment"), statistic: votesWords},
	"cross":        {units: []privacy.Unit{privacy.Record, privacy.Label}, site: true, question: newCross, statistic: crossWords},
	"means":        {units: []privacy.Unit{privacy.Party}, site: true, question: newMeans, statistic: meansWords},
	"output":       {units: allUnits, solved: true, question: newOutput("output"), statistic: votesWords},
	"output-paper": {units: allUnits, simulation: true, question: newOutput("output-paper"), statistic: votesWords},
	"majority":     {units: allUnits, simulation: true, question: newOutput("majority"), statistic: votesWords},
	"average":      {units: []privacy.Unit{privacy.Party}, simulation: true, question: newAverage, statistic: averageWords},
	"none":         {units: allUnits, simulation: true, question: newVotes("none"), statistic: votesWords},
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

func (classify) Words(p Plan) Words {
	of := classifyMechanisms[p.Mechanism].statistic
	w := Words{Leaves: of.leaves, Received: of.received, Trained: nothingTrained, Neighbours: oneUnit(p), Liar: liesAsOne}
	switch {
	case p.Noise == NoiseSite && p.Mechanism == "moment":
		w.Leaves = "public linear combinations of this site's votes on the public pool"
	case p.Shards > 1:
		w.Leaves = fmt.Sprintf("how many of %d classifiers, trained on disjoint shards of the patients, vote for each class on each row of the public pool", p.Shards)
	}
	w.Leaves += p.addedNoise()
	if of.trained {
		w.Trained = cmp.Or(p.Learner, DefaultLearner+", as the plan names none")
	}
	if p.Unit == privacy.Record && p.shardsKeepPatients() {
		w.Neighbours = fmt.Sprintf("two collections of records, the same but for one patient (column %s) of one party, all of whose records are replaced by another patient's; who takes part and how many ballots each casts is the same", p.Schema.Patient)
	}
	if p.Unit == privacy.Label {
		w.NotProtected = []string{"features: the guarantee is for labels"}
	}
	if p.Noise == NoiseSite {
		w.Liar = liesInNoise
	} else if p.Mechanism == "cross" {
		w.Liar = liesInRecords
	}
	return w
}

// classifyTask asks a mechanism's question.
type classifyTask struct{ summed }

func (classify) New(p Plan, pool *auxdata.Pool) (Task, error) { return newClassify(p, pool) }

func newClassify(p Plan, pool *auxdata.Pool) (classifyTask, error) {
	m, ok := classifyMechanisms[p.Mechanism]
	if !ok {
		return classifyTask{}, planError("mechanism", "%q is not one of classify's: %v", p.Mechanism, Mechanisms())
	}
	q, err := m.question(p, pool)
	return classifyTask{summed{agree(p, pool), q, 0x6c616d626461}}, err
}

func (t classifyTask) forecastNoise(size Size) (aggregation.Noise, func(*mat.Dense) *mat.Dense, error) {
	weight, draws := float64(size.Parties*t.plan.Shards), 1
	if t.plan.Noise == NoiseSite {
		draws = size.Parties
	}
	var told func(*mat.Dense) *mat.Dense
	switch q := t.question.(type) {
	case *cross:
		if weight = float64(size.Records); size.Records == 0 {
			return aggregation.Noise{}, nil, fmt.Errorf("forecast study: no records: give how many all parties hold together")
		}
	case *means:
		told = q.design.Told
	}
	noise, err := t.question.noise(weight, draws)
	return noise, told, err
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
