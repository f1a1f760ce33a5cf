package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"caucus/agent/source"
	"caucus/aggregation/ratio"
	"caucus/analyst/forecast"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/evaluate"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
	"caucus/study/regress"
)

type demoCase struct {
	study.Proposal
	schema *dataset.Schema // nil for that of the data
	pool   *dataset.Table
	// poolFile keeps the pool for "caucus release verify".
	poolFile string
	own      []*dataset.Table
	fleet    bool // devices take part; otherwise clinics
	// judges names an earlier study of the demo, whose model this study judges.
	judges string
	judge  func(study.Release, *auxdata.Pool) (Measure, error)
}

const (
	recordsSource = "records"
	wardsSource   = "wards" // the source with the same records, divided unevenly
	// followupSource has other records: how long patients were seen, and who had a relapse.
	followupSource = "followup"
)

// PoolFile is the name of the pool file that all studies but three use.
const PoolFile = "pool.csv"

// with little noise few principal components are best
var components = dataset.Components{Project: 20}

func fleetVotes(epsilon float64) study.Proposal {
	return study.Proposal{
		Name: "fleet-votes", SourceName: recordsSource, Unit: privacy.Party, Epsilon: epsilon, Mechanism: "tally", Map: components,
		Purpose: "hide every device whole: each trains a classifier on its few records and sends one vote a pool row; the coordinator adds noise once, on the sum",
	}
}

func clinicSums(epsilon float64) study.Proposal {
	return study.Proposal{
		Name: "sums", SourceName: recordsSource, Unit: privacy.Record, Epsilon: epsilon, Mechanism: "cross", Map: components,
		Purpose: "hide every record: each clinic sends noisy sums of label × features; its noise is added before anything leaves, so nobody else needs to be trusted",
	}
}

// cases returns the studies of a demo: at least one of each kind, in a setting where the kind is
// useful, and one study in a setting where the study's kind is not useful.
func (o Options) cases(data dealt) ([]demoCase, error) {
	curves, err := study.EncodeTerms(followupTerms)
	if err != nil {
		return nil, err
	}
	explained, err := study.EncodeTerms(regress.Terms{Columns: data.explaining})
	if err != nil {
		return nil, err
	}
	followup := followupSchema()
	accuracy := func(r study.Release, _ *auxdata.Pool) (Measure, error) {
		predicted, _, err := classifier.Predict(r, data.test)
		if err != nil {
			return Measure{}, err
		}
		right, largest := classifier.Accuracy(predicted, data.test.Y), 0.0
		for _, share := range ratio.SharesOfLabels(data.test.Y, nil, len(data.schema.Classes())) {
			largest = max(largest, share)
		}
		return Measure{Name: "accuracy", Better: "high", Released: right,
			Margin:     sure(right, data.test.Len()),
			MarginText: "the 95 % binomial error of the test records", Baseline: largest,
			BaselineName: "largest class"}, nil
	}
	classify := func(p study.Proposal, own []*dataset.Table) demoCase {
		return demoCase{Proposal: p, pool: data.pool, poolFile: PoolFile, own: own, judge: accuracy}
	}
	clinicVotes := fleetVotes(o.Epsilon)
	clinicVotes.Name, clinicVotes.Purpose = "clinic-votes", fmt.Sprintf("hide every clinic whole, by votes as of the fleet. %d voters are too few at this ε: the forecast said so before anybody was asked", o.Parties)
	unseen := clinicSums(o.Epsilon)
	unseen.Name, unseen.Noise = "sums-unseen", study.NoiseAggregators
	unseen.Purpose = "hide every record as sums does, with less noise: each clinic splits its exact sums between the coordinator and a helper, neither of which sees them, and each of the two adds noise in full to what it holds of all"
	robust := study.Proposal{
		Name: "labels", Kind: "labels", SourceName: recordsSource, Epsilon: o.Epsilon, Map: components,
		Purpose: "hide every label, where features may be shown: each clinic sends its records with randomised labels, and the loss allows for that",
	}
	votes := classify(fleetVotes(o.Epsilon), data.devices)
	votes.fleet = true
	return []demoCase{
		votes,
		classify(clinicSums(o.Epsilon), data.clinics),
		classify(unseen, data.clinics),
		classify(robust, data.clinics),
		{
			Proposal: study.Proposal{
				Name: "shares", Kind: "ratio", SourceName: wardsSource, Epsilon: o.Epsilon,
				Purpose: "learn the class shares of any unlabelled set: each clinic sends noisy label counts and the mean embedding of its records. The clinics' shares differ; the set asked about has as many records of each class",
			},
			pool: data.pool, poolFile: PoolFile, own: data.wards, judge: func(r study.Release, _ *auxdata.Pool) (Measure, error) { return judgeShares(r, data) },
		},
		{
			Proposal: study.Proposal{
				Name: "weights", Kind: "reweigh", SourceName: recordsSource, Epsilon: o.Epsilon, Noise: study.NoiseAggregators,
				Purpose: fmt.Sprintf("make a biased public pool stand for the private records: sums of features, with noise by coordinator and helper. The pool lacks two of three rows with %s; the question is which share of the private records has %s (truth %.3f)", data.group, data.outcome, data.truth),
			},
			pool: data.biased, poolFile: "biased-pool.csv", own: data.clinics, judge: func(r study.Release, pool *auxdata.Pool) (Measure, error) { return judgeWeights(r, pool, data) },
		},
		{
			Proposal: study.Proposal{
				Name: "table-one", Kind: "describe", SourceName: recordsSource, Epsilon: o.Epsilon, Noise: study.NoiseAggregators,
				Purpose: fmt.Sprintf("know what the private records look like before anything is learned: counts of them with noise by coordinator and helper, a table one. The raw pool lacks two of three rows with %s", data.group),
			},
			pool: data.biased, poolFile: "biased-pool.csv", own: data.clinics, judge: func(r study.Release, pool *auxdata.Pool) (Measure, error) { return judgeCounts(r, pool, data) },
		},
		{
			Proposal: study.Proposal{
				Name: "judged", Kind: "evaluate", SourceName: recordsSource, Epsilon: o.Epsilon, Noise: study.NoiseAggregators,
				Purpose: fmt.Sprintf("ask whether a model holds here, and for whom it fails: counts of records by score of %s's classifier, label and %s, with noise by coordinator and helper", judgedStudy, judgedBy),
			},
			judges: judgedStudy, pool: data.pool, poolFile: PoolFile, own: data.clinics,
			judge: func(r study.Release, pool *auxdata.Pool) (Measure, error) { return judgeJudged(r, pool, data) },
		},
		{
			Proposal: study.Proposal{
				Name: "relapse", Kind: "survival", SourceName: followupSource, Epsilon: o.Epsilon, Noise: study.NoiseAggregators, KindTerms: curves,
				Purpose: "draw how long patients stay without a relapse, by arm of a trial: counts of them by month, relapse and arm, with noise by coordinator and helper. The patients are made up",
			},
			schema: &followup, pool: data.followupPool, poolFile: "followup-pool.csv", own: data.followup, judge: func(r study.Release, pool *auxdata.Pool) (Measure, error) { return judgeCurves(r, pool, data) },
		},
		{
			Proposal: study.Proposal{
				Name: "explained", Kind: "regress", SourceName: recordsSource, Epsilon: o.Epsilon, Noise: study.NoiseAggregators, KindTerms: explained,
				Purpose: fmt.Sprintf("say how the share with %s goes with each of %s, at equal values of the others, with an interval: sums of their products with noise by coordinator and helper", data.outcome, strings.Join(data.explaining, ", ")),
			},
			pool: data.pool, poolFile: PoolFile, own: data.clinics, judge: func(r study.Release, pool *auxdata.Pool) (Measure, error) { return judgeChanges(r, pool, data) },
		},
		classify(clinicVotes, data.clinics),
	}, nil
}

// The demo's evaluate study judges the classifier of study judgedStudy, by column judgedBy, which
// both data sets have.
const judgedStudy, judgedBy = "sums", "sex"

// studies runs all cases at once. A case that judges the model of another case starts after that
// case.
func (o Options) studies(ctx context.Context, f *federation, data dealt,
	r *Report) ([]study.Release, error) {
	all, err := o.cases(data)
	if err != nil {
		return nil, err
	}
	r.Studies = make([]Study, len(all))
	signed, done := make([]protocol.SignedRelease, len(all)), make([]chan struct{}, len(all))
	for i := range all {
		done[i] = make(chan struct{})
	}
	var mu sync.Mutex // guards contributed and r.Files
	contributed, expected := make([]int, len(all)), 0
	for _, c := range all {
		expected += len(c.own)
	}
	running, ctx := errgroup.WithContext(ctx)
	for i, c := range all {
		running.Go(func() (err error) {
			if c.judges != "" {
				at := slices.IndexFunc(all, func(other demoCase) bool {
					return other.Name == c.judges
				})
				select {
				case <-done[at]:
				case <-ctx.Done():
					return ctx.Err()
				}
				model, err := judged.ModelOf(signed[at].Release, data.schema)
				if err != nil {
					return err
				}
				if c.KindTerms, err = study.EncodeTerms(evaluate.Terms{
					// An edge at .5 makes two bins if noise leaves a model with one score for all.
					Model: model, Thresholds: []float64{0.5}, By: []evaluate.Grouping{{Column: judgedBy}},
				}); err != nil {
					return err
				}
			}
			var pool []byte
			r.Studies[i], signed[i], pool, err = o.study(ctx, f, data, c, func(have int) {
				mu.Lock()
				defer mu.Unlock()
				contributed[i] = have
				have = 0
				for _, n := range contributed {
					have += n
				}
				o.Progress(have, expected)
			})
			if err != nil {
				return err
			}
			close(done[i])
			r.Studies[i].Release = fmt.Sprintf("release-%d-%s.json", i+1, c.Name)
			file, err := signed[i].File()
			mu.Lock()
			defer mu.Unlock()
			r.Files[r.Studies[i].Release], r.Files[c.poolFile] = file, pool
			return err
		})
	}
	if err := running.Wait(); err != nil {
		return nil, err
	}
	releases := make([]study.Release, len(all))
	for i := range all {
		releases[i] = signed[i].Release
	}
	return releases, nil
}

// study runs one case, and also returns its pool's bytes.
func (o Options) study(ctx context.Context, f *federation, data dealt, c demoCase,
	seen func(contributed int)) (Study, protocol.SignedRelease, []byte, error) {
	fail := func(err error) (Study, protocol.SignedRelease, []byte, error) {
		return Study{}, protocol.SignedRelease{}, nil, fmt.Errorf("study %s: %w", c.Name, err)
	}
	began := time.Now()
	c.Roster = f.roster[:o.Parties]
	if c.fleet {
		c.Roster = f.roster[o.Parties:]
	}
	c.Minimum, c.Seed, c.Records = len(c.Roster), o.Seed, fewest(c.own)
	c.Deadline = time.Now().Add(time.Hour)
	schema := data.schema
	if c.schema != nil {
		schema = *c.schema
	}
	proposed, err := planning.ProposePlan(c.Proposal, schema, c.pool)
	if err != nil {
		return fail(err)
	}
	if proposed.Warning != "" {
		o.Note("warning: study %s: %s", c.Name, proposed.Warning)
	}
	p := proposed.Plan
	s := Study{Name: c.Name, About: c.Purpose, Kind: p.Kind, Mechanism: p.Mechanism, Unit: p.Unit,
		Noise: p.Noise, Epsilon: p.Epsilon, Delta: p.Delta, Plan: proposed.Hash}
	if p.Kind == "classify" {
		drawn, err := forecast.DrawForecast(ctx, p, proposed.Pool,
			forecast.PublicInputs{Size: proposed.Size,
				AUC: knownAUC}, forecast.Options{Draws: forecastDraws})
		if err != nil {
			return fail(err)
		}
		s.Forecast = drawn.Verdict()
	}
	signed, err := f.run(ctx, proposed, seen)
	if err != nil {
		return fail(err)
	}
	release := signed.Release
	s.Contributed, s.Missing, s.Warnings, s.Costs = release.Contributed, release.Missing,
		release.Result.Warnings, release.Costs
	s.Seconds = time.Since(began).Seconds()
	if s.Measure, err = c.judge(release, proposed.Pool); err != nil {
		return fail(err)
	}
	told, err := results.Report(release)
	if err != nil {
		return fail(err)
	}
	if p.Kind == "survival" {
		s.Figure = &told.Figures[0]
		s.Figure.Caption = told.Answer + " " + s.Figure.Caption
	}
	return s, signed, proposed.PoolBytes, nil
}

// knownAUC is about the AUC of a classifier trained on many records of the demo's data; each
// forecast assumes it. forecastDraws is the number of draws of a forecast.
const knownAUC, forecastDraws = .87, 3

func fewest(own []*dataset.Table) int {
	rows := make([]int, len(own))
	for i, t := range own {
		rows[i] = source.RoundDown(t.Rows(), 3)
	}
	return slices.Min(rows)
}
