package simulate

import (
	"context"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/aggregation"
	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classifier"
	"caucus/study/classify"
)

// Classify runs a classify proposal among virtual parties and measures the release.
type Classify struct {
	Split
	// Proposal is a proposal as for "caucus study create". Split sets parties, sizes and seed.
	Proposal     study.Proposal
	Repeats      int
	SecretShares bool
	// Progress, if not nil, is called as contributions arrive.
	Progress func(done, total int)
}

// ClassifySummary is the result of a simulation. Its numbers are means over the repeats.
type ClassifySummary struct {
	Summary
	Shards   int        `json:"shards"`
	PoolRows int        `json:"pool_rows"`
	Features int        `json:"features"`
	Classes  int        `json:"classes"`
	Lambda   float64    `json:"lambda"`
	Accuracy Accuracies `json:"accuracy"`
	// Output is the meaning of the classifier's numbers. Brier and Slope measure them as
	// probabilities, even if they are scores (learners.ProbabilityFit).
	Output classifier.Output `json:"output"`
	Brier  NoisyAndExact     `json:"brier"`
	Slope  NoisyAndExact     `json:"slope"`
	// Map describes the first repeat's map. Kept is each column's share that the map keeps, absent
	// if all is kept.
	Map  string              `json:"map"`
	Kept []dataset.KeptShare `json:"kept,omitempty"`
	// Voters describes the parties' own classifiers, if each party chose one.
	Voters []VoterSummary `json:"voters,omitempty"`
	// UploadBytes is the mean size of a contribution's body.
	UploadBytes float64 `json:"upload_bytes_per_party"`
}

// Accuracies are shares of the test records labelled correctly.
type Accuracies struct {
	Released   float64 `json:"released"`
	ReleasedSD float64 `json:"released_sd"`
	// Unperturbed is the accuracy of a classifier fitted in the same way to the sums without noise.
	// Pooled is that of a softmax classifier fitted to at most maxPooled records of all parties.
	// LocalMean is the mean accuracy of classifiers that each of at most maxLocal parties fits to
	// its own records.
	Unperturbed   float64 `json:"unperturbed"`
	Pooled        float64 `json:"pooled"`
	LocalMean     float64 `json:"local_mean"`
	MajorityClass float64 `json:"majority_class"`
}

// VoterSummary describes one of Split.Voters: the number of its parties, and their
// Accuracies.LocalMean (Alone).
type VoterSummary struct {
	Voter   string  `json:"voter"`
	Parties int     `json:"parties"`
	Alone   float64 `json:"alone"`
}

// NoisyAndExact is a measure of the releases, and the same measure without noise.
type NoisyAndExact struct {
	Released    float64 `json:"released"`
	ReleasedSD  float64 `json:"released_sd"`
	Unperturbed float64 `json:"unperturbed"`
}

// comparedFits compares the probabilities of the releases with those without noise, by the means
// and standard deviations of both.
func comparedFits(released, sd, clear learners.ProbabilityFit) (brier, slope NoisyAndExact) {
	return NoisyAndExact{released.Brier, sd.Brier, clear.Brier},
		NoisyAndExact{released.Slope, sd.Slope, clear.Slope}
}

const (
	maxPooled = 50_000
	maxLocal  = 40
)

// Check refuses splits, repeats and proposals that cannot run, before anything is drawn or trained.
// Its errors name the study file's term.
func (s Classify) Check() error {
	if err := s.Split.Check(); err != nil {
		return err
	}
	if err := checkRepeats(s.Repeats); err != nil {
		return err
	}
	return s.CheckProposal(s.Proposal)
}

func checkRepeats(repeats int) error {
	if repeats < 1 {
		return fmt.Errorf("simulate: %d repeats: give at least 1", repeats)
	}
	return nil
}

// classifyRepeat is what one repeat measures. meanOf sees its exported numbers.
type classifyRepeat struct {
	Accuracy            Accuracies
	Released, Clear     learners.ProbabilityFit
	Lambda, UploadBytes float64
	Alone               []float64 // accuracies by voter

	release            study.Release
	output             classifier.Output
	plan               study.Plan
	poolRows, features int
	kept               []dataset.KeptShare
	short              []string
}

// Run simulates. The result depends only on the seed.
func (s Classify) Run(ctx context.Context) (ClassifySummary, error) {
	if err := s.Check(); err != nil {
		return ClassifySummary{}, err
	}
	done, err := repeated(s.Repeats, func(i int) (classifyRepeat, error) { return s.once(ctx, i) })
	if err != nil {
		return ClassifySummary{}, err
	}
	first := done[0]
	mean, sd := meanOf(done)
	p := first.plan
	out := ClassifySummary{
		Summary: summaryOf(p, s.Repeats, &first.release, first.short), Shards: classify.TermsOf(p).Shards,
		PoolRows: first.poolRows, Features: first.features, Classes: len(p.Schema.Classes()),
		Map: p.Map.Describe(), Kept: first.kept, Output: first.output, Accuracy: mean.Accuracy,
		Lambda: mean.Lambda, UploadBytes: mean.UploadBytes,
	}
	out.Accuracy.ReleasedSD = sd.Accuracy.Released
	for v, voter := range s.Voters {
		out.Voters = append(out.Voters,
			VoterSummary{voter.Name, (len(p.Roster) - v + len(s.Voters) - 1) / len(s.Voters),
				mean.Alone[v]})
	}
	out.Brier, out.Slope = comparedFits(mean.Released, sd.Released, mean.Clear)
	if p.Weights != nil {
		out.Totals = first.release.Totals
	}
	return out, nil
}

func progressOf(progress func(done, total int), repeat, repeats, parties int) func(done int) {
	if progress == nil {
		return nil
	}
	return func(done int) { progress(repeat*parties+done, repeats*parties) }
}

func (s Classify) once(ctx context.Context, index int) (classifyRepeat, error) {
	d, err := s.Deal(index)
	if err != nil {
		return classifyRepeat{}, err
	}
	task, err := d.Task(s.Proposal)
	if err != nil {
		return classifyRepeat{}, err
	}
	p := task.Plan()
	run, err := d.Run(ctx, task,
		Options{SecretShares: s.SecretShares,
			Progress: progressOf(s.Progress, index, s.Repeats, len(d.Parties))})
	if err != nil {
		return classifyRepeat{}, err
	}
	out := classifyRepeat{release: run.Release, plan: p, poolRows: task.Pool().Rows(),
		features: task.Pool().Dim(), kept: p.Map.KeptShares(p.Schema, d.Pool),
		UploadBytes: run.UploadBytes, short: d.Short}
	if c, ok := classifier.Of(run.Release.Result); ok {
		out.Lambda, out.output = c.Lambda, c.Output
	}
	x := d.TestX(task)
	for _, of := range []struct {
		result study.Result
		to     *learners.ProbabilityFit
	}{{run.Release.Result, &out.Released}, {run.Unperturbed, &out.Clear}} {
		model, err := modelOf(of.result)
		if err != nil {
			return classifyRepeat{}, err
		}
		*of.to = learners.MeasureProbabilities(model, x, d.Test.Y)
	}
	if out.Accuracy, err = d.accuracies(ctx, task, run); err != nil {
		return classifyRepeat{}, err
	}
	local, err := d.locally(ctx, task)
	if err != nil {
		return classifyRepeat{}, err
	}
	out.Accuracy.LocalMean = stat.Mean(local, nil)
	for v := range d.Voters {
		var of []float64
		for i := v; i < len(local); i += len(d.Voters) {
			of = append(of, local[i])
		}
		if len(of) == 0 { // there are more voters than parties
			of = []float64{0}
		}
		out.Alone = append(out.Alone, stat.Mean(of, nil))
	}
	return out, nil
}

// locally returns the accuracies of the first parties (at most maxLocal), each with a classifier
// fitted to its own records. The error is ctx's.
func (d *DealtData) locally(ctx context.Context, t study.Finisher) ([]float64, error) {
	p, learner, x := t.Plan(), t.Words().Learner, d.TestX(t)
	encoded := sync.OnceValue(func() *mat.Dense { return d.Test.All().X })
	out := make([]float64, min(len(d.Parties), maxLocal))
	for i := range out {
		in := d.Inputs(i)
		if learner == learners.AnyClassifier && in.Voter.Vote != nil {
			labelled := in.Records.Select(labelledOf(in.Records))
			if votes, err := in.Voter.Vote(ctx, p.Schema, labelled, encoded()); err == nil {
				out[i] = classifier.Accuracy(votes, d.Test.Y)
			}
			continue
		}
		model, features := classify.TrainLocal(ctx, p, classify.ChosenLearner(learner, in.Voter),
			in.Records, d.rng, false)
		on := x
		if features == learners.EncodedFeatures {
			on = encoded()
		}
		if model != nil {
			out[i] = classifier.Accuracy(model.Predict(on), d.Test.Y)
		}
	}
	return out, ctx.Err()
}

func labelledOf(r *dataset.Records) (rows []int) {
	for i, y := range r.Y {
		if y >= 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// accuracies measures a run, and what it is compared with, on the test records. The error is ctx's.
func (d *DealtData) accuracies(ctx context.Context, t study.Finisher, run Run) (a Accuracies,
	err error) {
	p, x := t.Plan(), d.TestX(t)
	if a.Released, err = score(run.Release.Result, x, d.Test.Y); err != nil {
		return a, err
	}
	if a.Unperturbed, err = score(run.Unperturbed, x, d.Test.Y); err != nil {
		return a, err
	}
	all := dataset.RowRange(0, d.Private.Len())
	if len(all) > maxPooled {
		all = d.rng.Perm(len(all))[:maxPooled]
	}
	if model, _ := classify.TrainLocal(ctx, p, learners.DefaultLearner, d.Private.Select(all),
		d.rng,
		false); model != nil {
		a.Pooled = classifier.Accuracy(model.Predict(x), d.Test.Y)
	}
	a.MajorityClass = d.Majority()
	return a, ctx.Err()
}

// Majority returns the share of the largest class among the labelled test records.
func (d *DealtData) Majority() (share float64) {
	counts := make([]int, len(d.Schema.Classes()))
	labelled := 0
	for _, y := range d.Test.Y {
		if y >= 0 {
			labelled++
			counts[y]++
			share = math.Max(share, float64(counts[y]))
		}
	}
	return share / float64(max(labelled, 1))
}

// Score returns the share of labelled test records that a task's classifier labels correctly.
func (d *DealtData) Score(t study.Finisher, r study.Result) (float64, error) {
	return score(r, d.TestX(t), d.Test.Y)
}

func modelOf(r study.Result) (learners.Linear, error) {
	c, ok := classifier.Of(r)
	if !ok {
		return learners.Linear{}, fmt.Errorf("score a release: it holds no classifier")
	}
	return c.Linear()
}

func score(r study.Result, x *mat.Dense, y []int) (float64, error) {
	model, err := modelOf(r)
	if err != nil {
		return 0, err
	}
	return classifier.Accuracy(model.Predict(x), y), nil
}

// Votes returns the tally of the parties' exact votes on the pool, for code that counts votes in
// another way. The task must be of kind classify and have parties that vote.
func (d *DealtData) Votes(t study.Finisher) (*aggregation.Tally, error) {
	of, ok := bodies.Of(t)
	if !ok || of.Statistic.Cells() != t.Pool().Rows()*learners.WeightColumns(
		len(d.Schema.Classes())) {
		return nil, fmt.Errorf("simulate: mechanism %q of %s studies is not made of votes: use none", t.Plan().Mechanism, t.Plan().Kind)
	}
	sum, ballots := make([]int64, of.Statistic.Cells()), int64(0)
	for i := range d.Parties {
		vector, weight := d.localSum(context.Background(), of, i)
		for j, v := range vector {
			sum[j] += v
		}
		ballots += weight
	}
	return aggregation.TallyOf(sum, t.Pool().Rows(), len(d.Schema.Classes()), ballots), nil
}
