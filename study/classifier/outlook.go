package classifier

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/study"
)

// Offer is what a study that ends in a classifier tells of its parties' records.
type Offer struct {
	Telling aggregation.Telling
	// Noise is what one draw at the plan's ε leaves on the moments of a weight of 1.
	Noise aggregation.Noise
	// Ballots is how many a party casts, by votes.
	Ballots int
	// Variance is that of the mechanism calibrated for an ε, in any unit.
	Variance func(epsilon float64) (float64, error)
	// MostRecords of a party count; 0 for all. EachRecord has noise of its own.
	MostRecords int
	EachRecord  bool
}

// Outlook forecasts a study that ends in a classifier: see study.Outlook.
type Outlook struct {
	plan     study.Plan
	offer    Offer
	law      *aggregation.Outlook
	own      float64 // Variance at the plan's ε
	shares   []float64
	levels   []float64
	variance map[float64]float64
}

// bandOfSeparations is what is looked at where a plan does not say how far features
// separate its classes: risk models in medicine mostly lie between (Wessler et al. 2015).
var bandOfSeparations = []float64{.65, .70, .75, .80, .85}

// assumedShare is that of the larger of two classes where a plan has none.
const assumedShare = 0.75

// NewOutlook works out a plan's outlook on its pool.
func NewOutlook(p study.Plan, pool *auxdata.Pool, o Offer) (*Outlook, error) {
	k := len(p.Schema.Classes())
	out := &Outlook{plan: p, offer: o, levels: bandOfSeparations, shares: p.Shares, variance: map[float64]float64{}}
	if p.AUC > 0 {
		out.levels = []float64{p.AUC}
	}
	switch {
	case p.Shares != nil:
		out.shares = slices.Clone(p.Shares)
		floats.Scale(1/floats.Sum(out.shares), out.shares)
	case k == 2:
		out.shares = []float64{assumedShare, 1 - assumedShare}
	default:
		for range k {
			out.shares = append(out.shares, 1/float64(k))
		}
	}
	var err error
	if out.own, err = o.Variance(p.Epsilon); err != nil {
		return nil, err
	}
	out.law = aggregation.NewOutlook(pool, aggregation.Agreement{
		Shares: out.shares, Separations: out.levels, Telling: o.Telling, Noise: o.Noise, Ballots: max(o.Ballots, 1), Lambda: p.Lambda,
	})
	return out, nil
}

// gathered is what a study of a size gathers at an ε.
func (o *Outlook) gathered(epsilon float64, parties int, records float64) (aggregation.Gathered, error) {
	variance, ok := o.variance[epsilon]
	if !ok {
		var err error
		if variance, err = o.offer.Variance(epsilon); err != nil {
			return aggregation.Gathered{}, err
		}
		o.variance[epsilon] = variance
	}
	g := aggregation.Gathered{Parties: parties, Records: records, Draws: float64(o.plan.Draws(parties))}
	if o.own > 0 { // without noise there is nothing to scale
		g.Scale = variance / o.own
	}
	if most := float64(o.offer.MostRecords); most > 0 {
		g.Records = math.Min(g.Records, most)
	}
	if o.offer.EachRecord {
		g.Draws = float64(parties) * g.Records
	}
	return g, nil
}

// At: see study.Outlook.
func (o *Outlook) At(epsilon float64, s study.Size) (*study.Forecast, error) {
	records := math.Max(s.Each(), 1)
	g, err := o.gathered(epsilon, s.Parties, records)
	if err != nil {
		return nil, err
	}
	clear := g
	clear.Scale = 0
	f := &study.Forecast{
		Separation: study.Range{Low: o.levels[0], Mid: o.levels[len(o.levels)/2], High: o.levels[len(o.levels)-1]},
		Shares:     o.shares, SharesAssumed: o.plan.Shares == nil, Majority: floats.Max(o.shares),
	}
	pooled := records * float64(s.Parties)
	f.Released = o.line(func(i int) aggregation.Worths { return o.law.Released(i, g) })
	f.Unperturbed = o.line(func(i int) aggregation.Worths { return o.law.Released(i, clear) })
	f.Pooled = o.line(func(i int) aggregation.Worths { return o.law.Trained(i, pooled) })
	f.Alone = o.line(func(i int) aggregation.Worths { return o.law.Trained(i, records) })
	helps := 0
	for i, level := range o.levels {
		if !o.helps(i, g) {
			continue
		}
		if helps++; helps == 1 {
			f.HelpsFrom = level
		}
	}
	switch helps {
	case 0:
		f.Helps = study.HelpsNo
	case len(o.levels):
		f.Helps = study.HelpsYes
	default:
		f.Helps = study.HelpsDepends
	}
	return f, nil
}

// line is what all separations and teachers say of a classifier.
func (o *Outlook) line(of func(i int) aggregation.Worths) (l study.Line) {
	accuracy, auc := make([][]float64, len(o.levels)), make([][]float64, len(o.levels))
	for i := range o.levels {
		for _, w := range of(i) {
			accuracy[i], auc[i] = append(accuracy[i], w.Accuracy), append(auc[i], w.AUC)
		}
	}
	return study.Line{Accuracy: rangeOf(accuracy), AUC: rangeOf(auc)}
}

// lawError is how far the law behind a forecast may be off where everything it is told
// is true: truth is not linear, nor normal. On three quarters of the plans of the sets
// that it was made on it was not off by more (docs/forecast.md).
const lawError = 0.02

// rangeOf is from the least to the most, and the law's own error; its middle is the mean
// at the middle separation.
func rangeOf(v [][]float64) study.Range {
	all := slices.Concat(v...)
	mid := v[len(v)/2]
	return study.Range{
		Low: math.Max(0, slices.Min(all)-lawError), Mid: floats.Sum(mid) / float64(len(mid)), High: math.Min(1, slices.Max(all)+lawError),
	}
}

// helps: see study.Helps.
func (o *Outlook) helps(i int, g aggregation.Gathered) bool {
	clear := g
	clear.Scale = 0
	majority := floats.Max(o.shares)
	mean := func(w aggregation.Worths) (m aggregation.Worth) {
		for _, one := range w {
			m.Accuracy += one.Accuracy / float64(len(w))
			m.AUC += one.AUC / float64(len(w))
		}
		return m
	}
	judge := func(w aggregation.Worth) float64 { return w.Accuracy - majority }
	if mean(o.law.Truth(i)).Accuracy-majority < study.LeastGap {
		judge = func(w aggregation.Worth) float64 { return w.AUC - .5 }
	}
	had := judge(mean(o.law.Released(i, clear)))
	has := judge(mean(o.law.Released(i, g)))
	alone := judge(mean(o.law.Trained(i, g.Records)))
	return had >= study.LeastGap && has >= had/4 && has >= alone+study.LeastGain
}

// Need: see study.Outlook. Each search is over the same steps whatever the plan asks
// for, so plans that differ in what is searched for get one answer.
func (o *Outlook) Need(f *study.Forecast, epsilon float64, s study.Size) error {
	middle, most := len(o.levels)/2, study.MostNeeded
	records := math.Max(s.Each(), 1)
	var failed error
	helps := func(epsilon float64, parties int, records float64) bool {
		g, err := o.gathered(epsilon, parties, records)
		if err != nil {
			failed = err
			return false
		}
		return o.helps(middle, g)
	}
	f.NeedEpsilon = leastOnwards(leastEpsilon, most.Epsilon, func(v float64) bool { return helps(v, s.Parties, records) })
	f.NeedParties = int(least(1, float64(most.Parties), func(v float64) bool { return helps(epsilon, int(v), records) }))
	f.NeedRecords = int(least(1, float64(most.Records), func(v float64) bool { return helps(epsilon, s.Parties, math.Floor(v)) }))
	return failed
}

// leastEpsilon is the least that a search looks at.
const leastEpsilon = 0.01

// needSteps are steps a decade of what is searched for: 12 % apart.
const needSteps = 20

// steps are those of a search from low to high.
func steps(low, high float64) (all []float64) {
	for i := 0; ; i++ {
		v := low * math.Pow(10, float64(i)/needSteps)
		if v >= 100 {
			v = math.Round(v)
		} else if low >= 1 {
			v = math.Ceil(v - 1e-9)
		}
		if v > high*(1+1e-9) {
			return all
		}
		all = append(all, v)
	}
}

// least is the first step up from low at which something holds, 0 where it holds at
// none up to high. It need not hold from there on: with many records of its own each
// party does better alone.
func least(low, high float64, holds func(float64) bool) float64 {
	for _, v := range steps(low, high) {
		if holds(v) {
			return v
		}
	}
	return 0
}

// leastOnwards is least of what holds from some step on, as with ε, where more is less
// noise and changes nothing else. It looks at few steps, since each calibrates noise.
func leastOnwards(low, high float64, holds func(float64) bool) float64 {
	all := steps(low, high)
	i := sort.Search(len(all), func(i int) bool { return holds(all[i]) })
	if i == len(all) {
		return 0
	}
	return all[i]
}
