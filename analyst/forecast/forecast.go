package forecast

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"caucus/analyst/simulate"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
	"caucus/study/classify"
	"caucus/study/classify/trained"
	"caucus/study/stated"
)

// PublicInputs holds the public inputs of a forecast, except the plan and its pool.
type PublicInputs struct {
	study.Size // every party has an equal number of the records
	// AUC is the AUC of a classifier trained on very many records, as a mean over classes. If it is
	// not known, AUC is 0, and DrawForecast tries several values.
	AUC float64
}

// Options say how many draws a forecast makes. More draws narrow its standard error, and cost time.
type Options struct {
	Draws        int  // number of draws; 0 means DefaultDraws
	Coefficients bool // also forecast coefficients
	// Progress, if not nil, is called after each draw.
	Progress func(done, all int)
}

// DefaultDraws returns the default number of draws: 20 for two classes, which mostly gives the mean
// accuracy a standard error of .005. It returns fewer, but at least 6, for many classes, or if
// parties × pool rows exceeds 2 million.
func DefaultDraws(classes, parties, rows int) int {
	return max(6, min(40/classes, 40_000_000/(parties*rows)))
}

// Forecast is a forecast with what operators do not publish of it.
type Forecast struct {
	stated.Forecast
	Coefficients *Coefficients `json:"coefficients,omitempty"` // nil unless Options asks for them
}

// band holds the AUCs to try if the AUC is unknown. Most medical risk models are in it (Wessler et
// al. 2015).
var band = []float64{.65, .75, .85}

// assumedShare is the default share of the larger class of two.
const assumedShare = 0.75

const (
	testRecords = 3000 // test records of each draw
	// most training records of the pooled classifier, unless a party has more; more would change
	// little
	MaxPooledRecords = 3000
	mostAlone        = 2 // parties for which each draw trains a classifier alone
)

type drawn struct {
	released, alone, pooled quality
	coefficients            *fitted.Coefficients // nil if the release has none
}

type quality struct{ accuracy, auc float64 }

// DrawForecast forecasts a classify plan. It ignores the plan's name, texts, roster, ending,
// condition and seed. The error wraps study.ErrPlan if the plan does not allow this number of
// parties, or is ctx's error.
func DrawForecast(ctx context.Context, p study.Plan, pool *auxdata.Pool, of PublicInputs,
	o Options) (*Forecast,
	error) {
	if of.Parties < 1 || of.Records < of.Parties {
		return nil, fmt.Errorf("forecast: %d parties with %d records in all: give at least one party, and a record of each", of.Parties, of.Records)
	}
	if of.AUC != 0 && !(of.AUC > .5 && of.AUC < 1) {
		return nil, study.PlanError("auc", "%v: an area under the curve that separates classes is above .5 and below 1", of.AUC)
	}
	k, t := len(p.Schema.Classes()), classify.TermsOf(p)
	f := &Forecast{Forecast: stated.Forecast{AUCsTried: []float64{of.AUC},
		Shares: slices.Clone(t.ClassShares), Parties: of.Parties, Records: of.Records,
		Draws: cmp.Or(o.Draws, DefaultDraws(k, of.Parties, pool.Rows()))}}
	if of.AUC == 0 {
		f.AUCsTried = band
	}
	if f.Shares == nil {
		f.Shares, f.SharesAssumed = assumed(k), true
	}
	floats.Scale(1/floats.Sum(f.Shares), f.Shares)
	f.Majority = floats.Max(f.Shares)
	p.Roster, p.Minimum, p.Floor, p.Records, p.Where = nil, of.Parties, 0,
		max(of.Records/of.Parties, 1), ""
	// the plan's hash seeds the simulated noise, so it must not depend on these
	p.Name, p.SourceName, p.Purpose, p.Contact = "forecast", "", "", ""
	p.Deadline, p.Seal, p.Readers = time.Unix(1, 0), nil, nil
	for i := range of.Parties {
		p.Roster = append(p.Roster, study.PartyID(fmt.Sprintf("party-%d", i+1)))
	}
	t.ClassShares, t.Learner = f.Shares, classify.ChosenLearner(t.Learner, study.Voter{})
	if err := p.SetTerms(t); err != nil {
		return nil, err
	}
	f.Draws = max(f.Draws, len(f.AUCsTried))
	at := make([][]drawn, len(f.AUCsTried))
	var all []drawn
	for i := range f.Draws {
		made, err := draw(ctx, p, pool, of, f.Shares, f.AUCsTried[i%len(f.AUCsTried)], i)
		if err != nil {
			return nil, fmt.Errorf("forecast: %w", err)
		}
		at[i%len(at)], all = append(at[i%len(at)], made), append(all, made)
		if o.Progress != nil {
			o.Progress(i+1, f.Draws)
		}
	}
	for _, here := range at {
		f.Gain = append(f.Gain, gainOf(here, f.Majority))
	}
	f.Released, f.Alone, f.Pooled = line(all, func(d drawn) quality {
		return d.released
	}), line(all, func(d drawn) quality {
		return d.alone
	}), line(all, func(d drawn) quality { return d.pooled })
	if o.Coefficients {
		f.Coefficients = newCoefficients(p, pool, all)
	}
	switch {
	case slices.Max(f.Gain) < 0:
		f.Helps = stated.No
	case of.AUC > 0 && f.Gain[0] >= stated.MinGain:
		f.Helps = stated.Yes
	default:
		f.Helps = stated.Perhaps
	}
	return f, nil
}

func assumed(classes int) (shares []float64) {
	if classes == 2 {
		return []float64{assumedShare, 1 - assumedShare}
	}
	for range classes {
		shares = append(shares, 1/float64(classes))
	}
	return shares
}

func draw(ctx context.Context, p study.Plan, pool *auxdata.Pool, of PublicInputs, shares []float64,
	auc float64, number int) (d drawn, err error) {
	rng := rand.New(rand.NewPCG(uint64(number), 1))
	t := newProblem(pool, shares, auc, number, rng)
	each := max(of.Records/of.Parties, 1)
	var parties []study.Inputs
	// further parties get the records of others
	for i := range min(of.Parties, max(20, 6000/each)) {
		parties = append(parties,
			study.NewInputs(t.draw(t.train, each), binary.BigEndian.AppendUint64(nil, uint64(i))))
	}
	p.Seed = uint64(number)
	release, err := simulate.RunPlan(ctx, p, pool, parties)
	if err != nil {
		return d, err
	}
	c, ok := classifier.Of(release.Result)
	if !ok {
		return d, fmt.Errorf("kind %s releases no classifier", p.Kind)
	}
	model, err := c.Linear()
	if err != nil {
		return d, err
	}
	test := t.draw(t.test, testRecords)
	measure := func(m learners.Model) quality { return measured(p, m, test) }
	d.released, d.coefficients = measure(model), trained.CoefficientsOf(release)
	learner, some := classify.TermsOf(p).Learner, parties[:min(len(parties), mostAlone)]
	for _, in := range some {
		m, _ := classify.TrainLocal(ctx, p, learner, in.Records, rng, false)
		w := measure(m)
		d.alone.accuracy += w.accuracy / float64(len(some))
		d.alone.auc += w.auc / float64(len(some))
	}
	m, _ := classify.TrainLocal(ctx, p, learners.DefaultLearner,
		t.draw(t.train, min(of.Records, max(each, MaxPooledRecords))), rng, false)
	d.pooled = measure(m)
	return d, ctx.Err()
}

func measured(p study.Plan, m learners.Model, test *dataset.Records) quality {
	w := quality{auc: .5}
	if m == nil {
		return w
	}
	x := p.MapRecords(test)
	if l, ok := m.(learners.Linear); ok {
		r := learners.MeasureScores(l, x, test.Y,
			learners.LabelChannel{Classes: len(p.Schema.Classes()), Keep: 1})
		return quality{r.Accuracy, r.AUC}
	}
	right, all := classifier.CountCorrect(m.Predict(x), test.Y)
	w.accuracy = float64(right) / float64(all)
	return w
}

func gainOf(all []drawn, majority float64) float64 {
	judge := func(w quality) float64 { return w.accuracy - majority }
	pooled := 0.0
	for _, d := range all {
		pooled += judge(d.pooled) / float64(len(all))
	}
	if pooled < stated.MinGain {
		judge = func(w quality) float64 { return w.auc - .5 }
	}
	var keeps, beats []float64
	for _, d := range all {
		keeps = append(keeps, judge(d.released)-judge(d.pooled)/4)
		beats = append(beats, judge(d.released)-judge(d.alone))
	}
	return math.Min(stat.Mean(keeps, nil), stat.Mean(beats, nil))
}

func line(all []drawn, of func(drawn) quality) stated.Performance {
	over := func(of func(quality) float64, get func(drawn) quality) stated.DrawSummary {
		var v []float64
		for _, d := range all {
			v = append(v, of(get(d)))
		}
		slices.Sort(v)
		mean, sd := stat.MeanStdDev(v, nil)
		if len(v) == 1 {
			sd = 0
		}
		return stated.DrawSummary{Mean: mean, Error: sd / math.Sqrt(float64(len(v))),
			Low: stat.Quantile(.05, stat.LinInterp, v, nil), High: stat.Quantile(.95,
				stat.LinInterp, v, nil)}
	}
	return stated.Performance{Accuracy: over(func(w quality) float64 {
		return w.accuracy
	}, of), AUC: over(func(w quality) float64 { return w.auc }, of)}
}
