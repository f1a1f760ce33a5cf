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
	// Variance is that of the mechanism calibrated for the plan at another ε and δ, in any
	// unit.
	Variance func(study.Plan) (float64, error)
	// MostRecords of a party count; 0 for all. EachRecord has noise of its own.
	MostRecords int
	EachRecord  bool
}

// Outlook forecasts a study that ends in a classifier: see study.Outlook.
type Outlook struct {
	plan     study.Plan
	offer    Offer
	law      *aggregation.Outlook
	own      float64 // Variance at the plan's budget
	shares   []float64
	levels   []float64
	variance map[budget]float64
}

// bandOfSeparations is what is looked at where a plan does not say how far features
// separate its classes: risk models in medicine mostly lie between (Wessler et al. 2015).
var bandOfSeparations = []float64{.65, .70, .75, .80, .85}

// assumedShare is that of the larger of two classes where a plan has none.
const assumedShare = 0.75

// NewOutlook works out a plan's outlook on its pool.
func NewOutlook(p study.Plan, pool *auxdata.Pool, o Offer) (*Outlook, error) {
	k := len(p.Schema.Classes())
	out := &Outlook{plan: p, offer: o, levels: bandOfSeparations, shares: p.Shares, variance: map[budget]float64{}}
	if p.AUC > 0 {
		out.levels = []float64{p.AUC}
	}
	var reached []aggregation.Reached
	for _, auc := range out.levels {
		reached = append(reached, aggregation.Reached{AUC: auc, Accuracy: p.Accuracy, Records: float64(p.TrainedOn)})
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
	if out.own, err = o.Variance(p); err != nil {
		return nil, err
	}
	out.law = aggregation.NewOutlook(pool, aggregation.Agreement{
		Shares: out.shares, Public: p.Shares != nil, Reached: reached, Telling: o.Telling, Noise: o.Noise, Ballots: max(o.Ballots, 1), Lambda: p.Lambda,
	})
	switch out.law.Contradicts() {
	case aggregation.BadAccuracy:
		return nil, study.PlanError("accuracy", "%v does not go with an auc of %v and the classes' shares: check which classifier each is of, and class_shares", p.Accuracy, p.AUC)
	case aggregation.BadRecords:
		return nil, study.PlanError("trained_on", "no classifier of %d records and these features reaches an auc of %v: check of how many it is, or leave it out", p.TrainedOn, p.AUC)
	}
	return out, nil
}

// budget is what a study's noise is calibrated for.
type budget struct{ epsilon, delta float64 }

// gathered is what a study of a size gathers at a budget.
func (o *Outlook) gathered(b budget, parties int, records float64) (aggregation.Gathered, error) {
	variance, ok := o.variance[b]
	if !ok {
		p := o.plan
		p.Epsilon, p.Delta = b.epsilon, b.delta
		var err error
		if variance, err = o.offer.Variance(p); err != nil {
			return aggregation.Gathered{}, err
		}
		o.variance[b] = variance
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
	// A larger study may allow less δ; the plan's own holds with whoever contributes.
	g, err := o.gathered(budget{epsilon, math.Min(o.plan.Delta, o.plan.DeltaAt(s))}, s.Parties, records)
	if err != nil {
		return nil, err
	}
	clear := g
	clear.Scale = 0
	f := &study.Forecast{
		Separation: study.Range{Low: o.levels[0], Mid: o.levels[len(o.levels)/2], High: o.levels[len(o.levels)-1]},
		TrainedOn:  o.plan.TrainedOn, ItsAccuracy: o.plan.Accuracy, LawError: LawError,
		Shares: o.shares, SharesAssumed: o.plan.Shares == nil, Majority: floats.Max(o.shares),
	}
	pooled := records * float64(s.Parties)
	released, unperturbed, alone := o.all(func(i int) []aggregation.Range { return o.law.Released(i, g) }),
		o.all(func(i int) []aggregation.Range { return o.law.Released(i, clear) }),
		o.all(func(i int) []aggregation.Range { return o.law.Trained(i, records) })
	f.Released, f.Unperturbed, f.Alone = o.line(released), o.line(unperturbed), o.line(alone)
	f.Pooled = o.line(o.all(func(i int) []aggregation.Range { return o.law.Trained(i, pooled) }))
	surely, perhaps := 0, 0
	for i, level := range o.levels {
		switch gain := o.gain(i, released[i], unperturbed[i], alone[i]); {
		case gain >= study.LeastGain:
			if surely++; surely == 1 {
				f.HelpsFrom = level
			}
		case gain >= 0:
			perhaps++
		}
	}
	switch {
	case surely == 1 && len(o.levels) == 1:
		f.Helps = study.HelpsYes
	case surely+perhaps == 0:
		f.Helps = study.HelpsNo
	default:
		f.Helps = study.HelpsDepends
	}
	return f, nil
}

// all asks at every separation.
func (o *Outlook) all(of func(i int) []aggregation.Range) (out [][]aggregation.Range) {
	for i := range o.levels {
		out = append(out, of(i))
	}
	return out
}

// line is what all separations and teachers say of a classifier.
func (o *Outlook) line(at [][]aggregation.Range) (l study.Line) {
	middle := mean(at[len(at)/2])
	of := func(pick func(aggregation.Worth) float64) study.Range {
		r := study.Range{Low: math.Inf(1), Mid: pick(middle), High: math.Inf(-1)}
		for _, w := range slices.Concat(at...) {
			r.Low, r.High = math.Min(r.Low, pick(w.Low)), math.Max(r.High, pick(w.High))
		}
		r.Low, r.High = math.Max(0, r.Low-LawError), math.Min(1, r.High+LawError)
		return r
	}
	return study.Line{
		Accuracy: of(func(w aggregation.Worth) float64 { return w.Accuracy }),
		AUC:      of(func(w aggregation.Worth) float64 { return w.AUC }),
	}
}

// mean is over places of truth.
func mean(all []aggregation.Range) (m aggregation.Worth) {
	for _, one := range all {
		m.Accuracy += one.Mid.Accuracy / float64(len(all))
		m.AUC += one.Mid.AUC / float64(len(all))
	}
	return m
}

// LawError is how far off the law behind a forecast may be where everything it is told is
// true: classes are not normal, sites not alike. With so much either side, nine of ten
// simulated releases lay inside; for each data set it was chosen on the others
// (docs/forecast.md).
const LawError = 0.02

// gain is by how much a release is worth more than what it takes to help (study.Helps),
// below 0 where it is worth less, at the i-th separation.
func (o *Outlook) gain(i int, released, unperturbed, lone []aggregation.Range) float64 {
	majority := floats.Max(o.shares)
	judge := func(w aggregation.Worth) float64 { return w.Accuracy - majority }
	if mean(o.law.Truth(i)).Accuracy-majority < study.LeastGap {
		judge = func(w aggregation.Worth) float64 { return w.AUC - .5 }
	}
	had, has, alone := judge(mean(unperturbed)), judge(mean(released)), judge(mean(lone))
	if had < study.LeastGap {
		return had - study.LeastGap
	}
	return math.Min(has-had/4, has-alone)
}

// Need: see study.Outlook. Each search is over the same steps whatever the plan asks
// for, each at the δ of a study of that size, so plans that differ in what is searched for
// get one answer.
func (o *Outlook) Need(f *study.Forecast, epsilon float64, s study.Size) error {
	middle, most := len(o.levels)/2, study.MostNeeded
	records := math.Max(s.Each(), 1)
	var failed error
	helps := func(epsilon float64, parties int, records float64) bool {
		size := study.Size{Parties: parties, Records: int(records * float64(parties))}
		g, err := o.gathered(budget{epsilon, o.plan.DeltaAt(size)}, parties, records)
		if err != nil {
			failed = err
			return false
		}
		clear := g
		clear.Scale = 0
		return o.gain(middle, o.law.Released(middle, g), o.law.Released(middle, clear), o.law.Trained(middle, records)) >= study.LeastGain
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
// So it is looked for at every fourth step, and then between that and the last.
func least(low, high float64, holds func(float64) bool) float64 {
	const stride = 4
	all := steps(low, high)
	for i := 0; ; i += stride {
		if i = min(i, len(all)-1); holds(all[i]) {
			for _, v := range all[max(0, i-stride+1):i] {
				if holds(v) {
					return v
				}
			}
			return all[i]
		}
		if i == len(all)-1 {
			return 0
		}
	}
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
