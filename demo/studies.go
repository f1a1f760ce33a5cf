package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"caucus/agent/source"
	"caucus/aggregation/ratio"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/evaluate"
	"caucus/study/kinds"
	"caucus/study/simulate"
)

// NearlyClear is a budget of negligible noise: a rehearsal at it shows the loss to noise.
const NearlyClear = 50.0

// demoCase is a study with the judge of its release.
type demoCase struct {
	study.Proposal
	pool *dataset.Table
	// poolFile keeps the pool for caucus release verify.
	poolFile string
	own      []*dataset.Table
	// judges names an earlier study of the demo whose model this one judges.
	judges string
	// judge measures a release made on a pool; the caller fills in Unperturbed.
	judge func(study.Release, *auxdata.Pool) (Measure, error)
}

const (
	recordsSource = "records"
	wardsSource   = "wards" // the same records, dealt unevenly
)

// PoolFile is the pool's file of all studies but one.
const PoolFile = "pool.csv"

// classifyProposals are the two ways of classify.
func classifyProposals(epsilon float64) []study.Proposal {
	return []study.Proposal{
		{
			Name: "votes", Purpose: "hide every party whole: each agent trains a classifier and sends one vote a pool row; the coordinator adds noise once, on the sum",
			Unit: privacy.Party, Epsilon: epsilon, Mechanism: "tally", Map: dataset.Components{Project: components},
		},
		{
			Name: "sums", Purpose: "hide every record: each agent sends noisy sums of label × features; its noise is added before anything leaves, so nobody else needs to be trusted",
			Unit: privacy.Record, Epsilon: epsilon, Mechanism: "cross", Map: dataset.Components{Project: components},
		},
	}
}

// components is the number of principal components: few parties at a small budget want few.
const components = 20

// cases returns the studies of a demo, at least one of each kind.
func (o Options) cases(data dealt) []demoCase {
	accuracy := func(r study.Release, _ *auxdata.Pool) (Measure, error) {
		predicted, _, err := classifier.Predict(r, data.test)
		if err != nil {
			return Measure{}, err
		}
		right, largest := shareRight(predicted, data.test.Y), 0.0
		for _, share := range ratio.SharesOfLabels(data.test.Y, nil, len(data.schema.Classes())) {
			largest = max(largest, share)
		}
		return Measure{Name: "accuracy", Better: "high", Released: right, Sure: sure(right, data.test.Len()), SureIs: "the 95 % binomial error of so many records", Baseline: largest, BaselineName: "largest class"}, nil
	}
	var out []demoCase
	for _, p := range classifyProposals(o.Epsilon) {
		p.Data = recordsSource
		out = append(out, demoCase{Proposal: p, pool: data.pool, poolFile: PoolFile, own: data.parties, judge: accuracy})
	}
	unseen := demoCase{
		Proposal: study.Proposal{
			Name: "unseen", Data: recordsSource, Noise: study.NoiseAggregators, Unit: privacy.Record, Epsilon: o.Epsilon, Mechanism: "cross", Map: dataset.Components{Project: components},
			Purpose: "hide every record as sums does, with less noise: each agent splits its exact sums between the coordinator and a helper, neither of which sees them, and each of the two adds noise in full to what it holds of all",
		},
		pool: data.pool, poolFile: PoolFile, own: data.parties, judge: accuracy,
	}
	return append(out,
		demoCase{
			Proposal: study.Proposal{
				Name: "robust", Kind: "labels", Data: recordsSource, Epsilon: o.Epsilon, Map: dataset.Components{Project: components},
				Purpose: "hide every label, where features may be shown: each agent sends its records with randomised labels, and the loss allows for that",
			},
			pool: data.pool, poolFile: PoolFile, own: data.parties, judge: accuracy,
		},
		demoCase{
			Proposal: study.Proposal{
				Name: "shares", Kind: "ratio", Data: wardsSource, Epsilon: o.Epsilon,
				Purpose: "learn the class shares of any unlabelled set: each agent sends noisy label counts and the mean embedding of its records. The parties' shares differ; the set asked about has as many records of each class",
			},
			pool: data.pool, poolFile: PoolFile, own: data.wards, judge: func(r study.Release, _ *auxdata.Pool) (Measure, error) { return judgeShares(r, data) },
		},
		demoCase{
			Proposal: study.Proposal{
				Name: "weights", Kind: "reweigh", Data: recordsSource, Epsilon: o.Epsilon,
				Purpose: fmt.Sprintf("make a biased public pool stand for the private records: each agent sends noisy feature sums. The pool lacks nine of ten rows with %s; the question is which share of the private records has %s (truth %.3f)", data.group, data.outcome, data.truth),
			},
			pool: data.biased, poolFile: "biased-pool.csv", own: data.parties, judge: func(r study.Release, pool *auxdata.Pool) (Measure, error) { return judgeWeights(r, pool, data) },
		},
		demoCase{
			Proposal: study.Proposal{
				Name: "counts", Kind: "describe", Data: recordsSource, Epsilon: o.Epsilon,
				Purpose: fmt.Sprintf("know what the private records look like before anything is learned: each agent sends noisy counts of them, a table one. The raw pool lacks nine of ten rows with %s", data.group),
			},
			pool: data.biased, poolFile: "biased-pool.csv", own: data.parties, judge: func(r study.Release, pool *auxdata.Pool) (Measure, error) { return judgeCounts(r, pool, data) },
		},
		demoCase{
			Proposal: study.Proposal{
				Name: "judged", Kind: "evaluate", Data: recordsSource, Epsilon: o.Epsilon,
				Purpose: fmt.Sprintf("ask whether a model holds here, and for whom it fails: each agent counts its records by score of %s's classifier, label and %s, with noise", judgedStudy, judgedBy),
			},
			judges: judgedStudy, pool: data.pool, poolFile: PoolFile, own: data.parties,
			judge: func(r study.Release, pool *auxdata.Pool) (Measure, error) { return judgeJudged(r, pool, data) },
		},
		unseen,
	)
}

// judgedStudy is the study whose classifier evaluate judges, by column judgedBy, which both data
// sets have.
const judgedStudy, judgedBy = "sums", "sex"

func (o Options) studies(ctx context.Context, f *federation, data dealt, r *Report) ([]study.Release, error) {
	var releases []study.Release
	for i, c := range o.cases(data) {
		if c.judges != "" {
			at := slices.IndexFunc(r.Studies, func(s Study) bool { return s.Name == c.judges })
			model, err := evaluate.ModelOf(releases[at], data.schema)
			if err != nil {
				return releases, err
			}
			if c.KindTerms, err = study.EncodeTerms(evaluate.Terms{
				// An edge at .5 makes two bins where noise leaves a model with one score for all.
				Model: model, Thresholds: []float64{0.5}, By: []evaluate.Grouping{{Column: judgedBy}},
			}); err != nil {
				return releases, err
			}
		}
		s, release, err := o.study(ctx, f, data, c, r)
		if err != nil {
			return releases, err
		}
		s.Release = fmt.Sprintf("release-%d-%s.json", i+1, c.Name)
		if r.Files[s.Release], err = release.File(); err != nil {
			return releases, err
		}
		r.Studies, releases = append(r.Studies, s), append(releases, release.Release)
	}
	return releases, nil
}

func (o Options) study(ctx context.Context, f *federation, data dealt, c demoCase, r *Report) (Study, protocol.SignedRelease, error) {
	fail := func(err error) (Study, protocol.SignedRelease, error) {
		return Study{}, protocol.SignedRelease{}, fmt.Errorf("study %s: %w", c.Name, err)
	}
	began := time.Now()
	c.Roster, c.Minimum, c.Seed, c.Records = f.roster, o.Parties, o.Seed, fewest(c.own)
	c.Deadline = time.Now().Add(time.Hour)
	proposed, err := kinds.Propose(c.Proposal, data.schema, c.pool)
	if err != nil {
		return fail(err)
	}
	if proposed.Warning != "" {
		o.Note("warning: study %s: %s", c.Name, proposed.Warning)
	}
	r.Files[c.poolFile] = proposed.PoolBytes
	signed, err := f.run(ctx, proposed, func(have, of int) { o.Progress(c.Name, have, of) })
	if err != nil {
		return fail(err)
	}
	release := signed.Release
	measure, err := c.judge(release, proposed.Pool)
	if err != nil {
		return fail(err)
	}
	p := proposed.Plan
	s := Study{
		Name: c.Name, About: c.Purpose, Kind: p.Kind, Mechanism: p.Mechanism, Unit: p.Unit, Noise: p.Noise,
		Epsilon: p.Epsilon, Delta: p.Delta,
		Contributed: release.Contributed, Missing: release.Missing, Plan: proposed.Hash,
		Warnings: release.Result.Warnings, Costs: release.Costs, Seconds: time.Since(began).Seconds(),
	}
	clear, err := o.unperturbed(ctx, data, c, proposed)
	if err != nil {
		return fail(err)
	}
	compared, err := c.judge(clear, proposed.Pool)
	if err != nil {
		return fail(err)
	}
	s.Measure = measure
	s.Measure.Unperturbed = compared.Released
	return s, signed, nil
}

// fewest is the least number of records of a party.
func fewest(own []*dataset.Table) int {
	rows := make([]int, len(own))
	for i, t := range own {
		rows[i] = source.RoundDown(t.Rows(), 3)
	}
	return slices.Min(rows)
}

// unperturbed runs the same study at NearlyClear in this process.
func (o Options) unperturbed(ctx context.Context, data dealt, c demoCase, proposed kinds.Proposed) (study.Release, error) {
	p := proposed.Plan
	p.Epsilon = NearlyClear
	inputs := make([]study.Inputs, len(c.own))
	for i, table := range c.own {
		records, _, err := p.Encode(p.Schema, table)
		if err != nil {
			return study.Release{}, err
		}
		inputs[i] = study.Inputs{Records: records, ShardKey: []byte(p.Roster[i]), Rng: rand.New(rand.NewPCG(o.Seed, uint64(i)))}
	}
	return simulate.Rehearse(ctx, p, proposed.Pool, inputs)
}
