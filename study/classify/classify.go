package classify

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// Kind is the study kind classify: a classifier from votes on a pool, or from sums of label ×
// features (see doc.go).
type Kind struct{}

type mechanism struct {
	// units are the units that the mechanism can hide.
	units []privacy.Unit
	// site reports whether each party may add the noise itself.
	site bool
	// shared reports whether two servers can hold shares of a contribution, with a proof that it is
	// valid.
	shared bool
	// needsDelta reports whether the guarantee is (ε,δ) with δ > 0.
	needsDelta bool
	// simulation reports that the code has no proof, so only simulated plans may name the
	// mechanism.
	simulation bool
	// solved reports whether the mechanism adds noise to a fitted classifier. Its bound then
	// depends on the solver's accuracy.
	solved       bool
	newStatistic func(study.Plan, *auxdata.Pool) (bodies.Statistic, error)
	words        statisticWords
}

// statisticWords describe a contribution. leaves says what the party sends. received says what the
// contribution shows without noise. trained reports whether the party trains a classifier.
type statisticWords struct {
	leaves, received string
	trained          bool
}

var (
	votesWords = statisticWords{"one vote for a class on each row of the public pool", "votes on the rows of the public pool, from which a model like its own can be made", true}
	crossWords = statisticWords{"the declared number of records, without noise; and sums over this site's records of label × mapped features", "sums over its records", false}
	meansWords = statisticWords{"the direction of the mean over this site's records of label × mapped features", "direction, that of its mean of label × features", false}
)

var mechanisms = map[string]mechanism{
	"tally":        {units: allUnits, site: true, shared: true, needsDelta: true, newStatistic: newVotes("tally"), words: votesWords},
	"moment":       {units: allUnits, site: true, shared: true, newStatistic: newVotes("moment"), words: votesWords},
	"cross":        {units: []privacy.Unit{privacy.Patient, privacy.Record, privacy.Label}, site: true, shared: true, newStatistic: newCross, words: crossWords},
	"means":        {units: []privacy.Unit{privacy.Party}, site: true, shared: true, newStatistic: newMeans, words: meansWords},
	"output":       {units: allUnits, solved: true, newStatistic: newOutput("output"), words: votesWords},
	"output-paper": {units: allUnits, simulation: true, newStatistic: newOutput("output-paper"), words: votesWords},
	"majority":     {units: allUnits, simulation: true, newStatistic: newOutput("majority"), words: votesWords},
	"none":         {units: allUnits, simulation: true, newStatistic: newVotes("none"), words: votesWords},
}

var allUnits = []privacy.Unit{privacy.Party, privacy.Record, privacy.Label}

// PartyComputation describes what a party computes for a mechanism. A party computes the same for
// two mechanisms with equal texts.
func PartyComputation(mechanism string) string { return mechanisms[mechanism].words.leaves }

// DefaultMechanism returns the mechanism of a plan that names none: tally for unit party, else
// cross.
func DefaultMechanism(u privacy.Unit) string {
	if u == privacy.Party {
		return "tally"
	}
	return "cross"
}

// Mechanisms lists all, sorted, also output-paper, majority and none, which only simulations may
// use.
func Mechanisms() []string { return slices.Sorted(maps.Keys(mechanisms)) }

// Mechanisms includes output-paper, majority and none, which only a simulation may use.
func (Kind) Mechanisms() []string { return Mechanisms() }

// Shared lists tally, moment, cross and means: of what they send, a server can check a share's
// proof.
func (Kind) Shared() []string {
	return slices.DeleteFunc(Mechanisms(), func(name string) bool {
		return !mechanisms[name].shared
	})
}

// maxBallots bounds a study's ballots. More ballots would not help, and a site trains a classifier
// for each.
const maxBallots = 1 << 20

// Check refuses units, noise and δ that the mechanism's proof does not cover, and conditions on the
// label where parties train, whose time would reveal a class's size.
func (Kind) Check(p study.Plan) error {
	m, ok := mechanisms[p.Mechanism]
	if !ok {
		return study.PlanError("mechanism", "%q is not one of classify's: %v", p.Mechanism,
			Mechanisms())
	}
	if m.simulation && !p.Simulated {
		return study.PlanError("mechanism", "no proof covers %q as implemented, so it can only be simulated: use tally, means, moment, cross or output", p.Mechanism)
	}
	if !slices.Contains(m.units, p.Unit) && p.Mechanism == "means" {
		return study.PlanError("unit", "mechanism \"means\" hides whole parties: cross hides a %s with less noise", p.Unit)
	}
	if !slices.Contains(m.units, p.Unit) {
		return study.PlanError("unit", "mechanism %q cannot hide a %s: it hides %v; a bound proved for one record says nothing about a whole party", p.Mechanism, p.Unit, m.units)
	}
	if p.Noise.Shared() && !m.shared {
		return study.PlanError("noise", "nothing is proved of a share of what mechanism %q sends: use tally, means, moment or cross with aggregators", p.Mechanism)
	}
	if p.Noise.AddedAtSite() && !m.site {
		return study.PlanError("noise", "mechanism %q is made from the votes of all parties together, so only the coordinator can add its noise: use tally, means, moment or cross for noise at the site", p.Mechanism)
	}
	if m.needsDelta && p.Delta == 0 {
		return study.PlanError("delta", "mechanism %q gives (ε,δ) with δ > 0: give a δ far below 1/units, or use moment (at unit party also means) for pure ε", p.Mechanism)
	}
	if k := len(p.Schema.Classes()); k > aggregation.MaxClasses {
		return study.PlanError("schema", "%d classes, at most %d are supported", k,
			aggregation.MaxClasses)
	}
	if m.solved {
		if err := bodies.CheckSolvedRidge(p); err != nil {
			return err
		}
	}
	if m.words.trained && p.Unit != privacy.Party && p.WhereReadsLabel() {
		// A condition on the label could select one class, and training time would reveal its size.
		return study.PlanError("where", "%q reads the label: a site would train on records chosen by their labels, which unit %s hides: use the features alone, or mechanism cross", p.Where, p.Unit)
	}
	var t Terms
	if err := p.DecodeTerms(&t); err != nil {
		return err
	}
	return t.check(p, m)
}

// Terms returns a zero *Terms, into which a study file or plan is read.
func (Kind) Terms() any { return new(Terms) }

// Complete chooses unit record, cross or (for a party) tally, noise where that unit has it, and one
// shard.
func (Kind) Complete(p *study.Plan, s study.Proposal) error {
	p.Unit = cmp.Or(p.Unit, privacy.Record)
	p.Mechanism, p.Noise = cmp.Or(p.Mechanism, DefaultMechanism(p.Unit)), cmp.Or(p.Noise,
		study.DefaultNoise(p.Unit))
	p.Delta = s.DefaultDelta(*p)
	var t Terms
	if err := s.DecodeTerms(&t); err != nil {
		return err
	}
	switch {
	case t.Tilt && p.Mechanism != "cross":
		return termsError("tilt", "it is for mechanism cross, whose release shows how the features lie, and this is %s: leave it out", p.Mechanism)
	case t.Bound == "paper" && p.Mechanism != "output":
		return termsError("bound", "it is for mechanism output, and this is %s: leave it out", p.Mechanism)
	}
	t.Shards = cmp.Or(t.Shards, 1)
	return p.SetTerms(t)
}

// Words tell what each mechanism sends and trains; several shards of whole patients widen the
// neighbours to a patient.
func (Kind) Words(p study.Plan) study.Words {
	of, t := mechanisms[p.Mechanism].words, TermsOf(p)
	w := study.Words{
		DataSent: of.leaves, ExactDataReceived: of.received, Trained: study.NothingTrained, Neighbours: study.NeighbourText(p), LiarText: p.Noise.Trust().LiarInBallots,
		Learner: cmp.Or(t.Learner, learners.DefaultLearner), Shards: t.Shards, WholePatients: t.Shards > 1 && p.Schema.Patient != "",
	}
	switch {
	case p.Noise.AddedAtSite() && p.Mechanism == "moment":
		w.DataSent = "public linear combinations of this site's votes on the public pool"
	case t.Shards > 1:
		w.DataSent = fmt.Sprintf("how many of %d classifiers, trained on disjoint shards of the patients, vote for each class on each row of the public pool", t.Shards)
	}
	w.DataSent += p.Noise.Trust().LeavingText
	if of.trained {
		w.Trained = cmp.Or(t.Learner, learners.DefaultLearner+", as the plan names none")
	}
	if t.Learner == learners.AnyClassifier {
		w.Trained = ownWords
	}
	if p.Unit == privacy.Record && w.WholePatients {
		w.Neighbours = fmt.Sprintf("two collections of records, the same but for one patient (column %s) of one party, all of whose records are replaced by another patient's; who takes part and how many ballots each casts is the same", p.Schema.Patient)
	}
	if p.Unit == privacy.Label {
		w.NotProtected = []string{"features: the guarantee is for labels"}
	}
	switch p.Mechanism {
	case "cross":
		w.LiarText = p.Noise.Trust().LiarInRecords
	case "means":
		w.LiarText = p.Noise.Trust().LiarInVectors
	}
	return w
}

// Task is a classify plan with its pool: how a site makes ballots, moments or means of records.
type Task struct{ bodies.Task }

// New makes a Task. It prepares the pool for mechanisms on votes: the noise weights of its rows for
// tally, the matrix that multiplies votes for moment. For cross it only reads sizes.
func (Kind) New(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	m, ok := mechanisms[p.Mechanism]
	if !ok {
		return nil, study.PlanError("mechanism", "%q is not one of classify's: %v", p.Mechanism,
			Mechanisms())
	}
	q, err := m.newStatistic(p, pool)
	return Task{bodies.Task{TaskBase: study.NewTaskBase(Kind{}, p, pool), Statistic: q,
		SearchSeed: 0x6c616d626461}}, err
}

// Work counts the training of a classifier on each shard, or the sums over records.
func (t Task) Work(records int) (study.Work, error) {
	p, n := t.Plan(), float64(records)
	dim, rows, classes := float64(p.Map.Dim()), float64(t.Pool().Rows()),
		float64(len(p.Schema.Classes()))
	w := study.Work{OtherSteps: t.CommonWork(records)}
	if !trains(p) {
		w.OtherSteps += n * dim * classes * 8
		return w, nil
	}
	w.Shards = t.Words().Shards
	var err error
	// with learners.AnyClassifier, the party bounds the time of its own program
	if learner := t.Words().Learner; learner != learners.AnyClassifier {
		w.ShardSteps, err = learners.TrainingSteps(learner, learners.TrainingSize{
			Rows: shardRows(records, w.Shards), MappedColumns: p.Map.Dim(), EncodedColumns: p.Schema.Dim(), Classes: len(p.Schema.Classes()), PredictedRows: t.Pool().Rows(),
		})
	}
	w.ShardSteps += float64(shardRows(records, w.Shards)) * study.MapSteps(p.Map)
	w.OtherSteps += float64(w.Shards) * rows * 8 // adding up the votes
	if p.Mechanism == "moment" {
		w.OtherSteps += rows * dim * classes * float64(w.Shards+8)
	}
	return w, err
}

func trains(p study.Plan) bool { return p.Mechanism != "cross" && p.Mechanism != "means" }

// shardRows bounds a shard's records. Unless a patient has many, a shard exceeds it with
// probability at most 1e-12.
func shardRows(records, shards int) int {
	if shards == 1 {
		return records
	}
	mean := float64(records) / float64(shards)
	return min(records, int(math.Ceil(2*mean+8*math.Sqrt(mean)+16)))
}
