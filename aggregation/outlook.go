package aggregation

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
)

// Telling is what parties tell the moments by.
type Telling int

const (
	// ByRecords: each record's label × features.
	ByRecords Telling = iota
	// ByVotes: the votes on the pool of classifiers trained at the parties.
	ByVotes
	// ByDirections: the direction of each party's mean of label × features.
	ByDirections
)

// Agreement is what an outlook is about: public terms alone.
type Agreement struct {
	// Shares of the classes, each above 0, sum 1; Public where the fit is told them too
	// (FitTerms).
	Shares []float64
	Public bool
	// Reached says how far features separate the classes, each for reference problems of
	// its own.
	Reached []Reached
	Telling Telling
	// Noise is what one draw leaves on the moments of a weight of 1: of one
	// record, ballot or party. Ballots is how many a party casts.
	Noise   Noise
	Ballots int
	// Lambda is the ridge of the fit, 0 where it is chosen after the release.
	Lambda float64
}

// Outlook is what classifiers are worth that are made of parties' records: of all
// records in one place, of one party's alone, and of a release.
//
// A fit in a direction of variance s of the pool, where the moments tell a and are
// uncertain by c, keeps f = s/(κs+ridge) of what they tell and h = s/(ηs+ridge) of the
// rest, the ridge in the metric of the noise (FitVotes), κ and η what moments move by for
// each unit of a weight along the teacher's scores and across them. Over all directions,
// of which each has a share g of the teacher, the fit's scores agree with the teacher's to
//
//	kept² = a²(Σ f·g)² / (a² Σ f²·g + Σ h²·c/s)
//
// with the best ridge of those that the fit may choose. What is right is less than so good
// scores allow, since the intercept is noisy too, the fit does not know how noisy its scores
// are, and may give way to the constant model: see fitUnder and made. Nothing is drawn. It
// leaves out that parties differ from each other and from the pool, and that truth is not
// linear.
type Outlook struct {
	of       Agreement
	geometry geometry
	noising  *noising
	problems [][]*problem // of each Reached
	// contradiction is what of the Reached cannot be true.
	contradiction Contradiction
	teachers      map[[2]float64]*teacher // by separation and tilt
	areas         map[float64]areas       // of more than two classes, by tilt
	fits          map[fitKey][][]noisyFit
	worths        map[worthKey][][]Range
}

// problem is a teacher, where it lies (share of its variance along each direction), and
// what sampling does to a classifier of a party's own.
type problem struct {
	*teacher
	share []float64
	alone *noising
	// lift is by how much more than the law's a classifier's accuracy is, over the largest
	// class: more than two classes may be more, or less, than an AUC of each says.
	lift float64
}

// outlookPlaces are where truth may lie: flat among the pool's directions
// (geometry.spread), from nearly all in the widest to less in each than in a wider one, and,
// of more than two classes, tilt towards frequent classes (farOf).
var outlookPlaces = []struct{ flat, tilt float64 }{{-4, 0}, {-2, 0}, {-0.5, 0}, {-2, -0.5}, {-2, 0.5}}

// NewOutlook works out the reference problems on a pool.
func NewOutlook(pool *auxdata.Pool, a Agreement) *Outlook {
	o := &Outlook{of: a, geometry: geometryOf(pool), teachers: map[[2]float64]*teacher{}, areas: map[float64]areas{}, fits: map[fitKey][][]noisyFit{}, worths: map[worthKey][][]Range{}}
	if len(o.geometry.variance) == 0 {
		return o
	}
	along, constant := o.geometry.along(a.Noise), o.geometry.atConstant(a.Noise)
	if a.Noise.Centred {
		rest := 1 - 1/float64(len(a.Shares))
		floats.Scale(rest, along)
		constant *= rest
	}
	o.setNoise(along, constant)
	for _, r := range a.Reached {
		o.problems = append(o.problems, o.reach(r))
	}
	return o
}

// setNoise is the noise of the Agreement, and the fit's ridge in the metric of it,
// whatever its size (sphere).
func (o *Outlook) setNoise(along []float64, constant float64) {
	g, total := o.geometry, floats.Sum(along)+constant
	metric := func(variance, noise float64) float64 {
		if total > 0 {
			variance = noise * g.energy / total
		}
		return math.Sqrt(variance + 1e-5*g.energy)
	}
	square := g.constant * g.constant
	n := &noising{along: along, constant: constant / square, pull: metric(square, constant) / square, lambdas: ridges(o.of.Lambda), mayGiveUp: o.of.Lambda == 0}
	for j, s := range g.variance {
		n.metric = append(n.metric, metric(s, along[j]))
	}
	o.noising = n
}

// Gathered is what a study gathers.
type Gathered struct {
	Parties int
	Records float64 // of each party
	// Scale is the noise's variance over that of the Agreement's; 0 is none. Draws
	// is how many of them are in the sum.
	Scale float64
	Draws float64
}

// each asks what a classifier is worth at the i-th separation, wherever truth lies.
func (o *Outlook) each(i int, worth func(*problem) Range) (out []Range) {
	if o.problems == nil { // features that do not vary tell nothing
		return []Range{exactly(Worth{Accuracy: floats.Max(o.of.Shares), AUC: .5})}
	}
	for _, t := range o.problems[i] {
		out = append(out, t.lifted(worth(t)))
	}
	return out
}

// Truth is the best there is: what the reference problem's own scores are worth.
func (o *Outlook) Truth(i int) []Range {
	return o.each(i, func(t *problem) Range { return exactly(t.worth(1)) })
}

// Trained is a classifier of so many labelled records: a fit to moments that are
// uncertain by sampling alone, each record by the variance that is left in its label.
func (o *Outlook) Trained(i int, records float64) []Range {
	return o.each(i, func(t *problem) Range { return o.trainedOn(t, records) })
}

func (o *Outlook) trainedOn(t *problem, records float64) Range {
	all := []telling{{told: told{t.told, t.columns}}}
	return o.worthOf(t.alone, t, all, 0, 0, 1/records, func(_ telling, _ noisyFit, unit float64) float64 {
		if unit == 0 {
			return 1
		}
		return o.trained(t, 1/unit)
	})
}

// Released is the classifier of a release.
func (o *Outlook) Released(i int, g Gathered) []Range {
	return o.each(i, func(t *problem) Range { return o.released(t, g) })
}

// trained is what a classifier of so many records keeps of a teacher, with the best ridge.
//
// Features are drawn too: what is not learned of a label is noise to what is, and a fit
// to n records of which it uses df = Σ f² degrees of freedom errs by 1/(1−df/n) more
// (ridge regression by deterministic equivalents: Hastie, Montanari, Rosset & Tibshirani
// 2022, theorem 5; Bordelon, Canatar & Pehlevan 2020). The intercept is one more, which moves
// no record past another.
//
// That is regression on labels, which tells as much as the normal law of classes does. A fit
// by log loss does not know that law, and the further classes are apart the more it errs
// (Efron 1975, §3), as far as the ridge lets it: loss is what its noise has besides.
func (o *Outlook) trained(t *problem, records float64) float64 {
	best, learned, loss := 0., t.told*t.told, 0.
	if t.apart > 0 {
		loss = math.Max(0, learned/(t.curvature*t.apart*t.apart*t.total)-(o.doubt()-learned))
	}
	for _, ridge := range ridges(0) {
		along, own, free := 0., 0., 0.
		for j, s := range o.geometry.variance {
			f := t.curvature * s / (t.curvature*s + ridge)
			along += f * t.share[j]
			own += f * f * t.share[j]
			free += f * f
		}
		if free+1 >= records {
			continue
		}
		left := o.doubt() - learned*(2*along-own) + loss*own
		best = math.Max(best, t.told*along/math.Sqrt(learned*own+left*free/(records-1-free)))
	}
	return math.Min(1, best)
}

// telling is what moments tell where parties know so much: see qualities.
type telling struct {
	told
	// sampled is how uncertain they are without noise, of a weight of 1, for each unit
	// of variance along a direction; apart from it, the pool's rows leave fixed.
	sampled, fixed float64
}

// qualitySteps are steps from parties that know nothing to such that know all there is.
const qualitySteps = 12

// qualities are what moments tell at each step of what parties know, and, of parties of so
// many records, at how many steps they are.
func (o *Outlook) qualities(t *problem, records float64) (all []telling, at float64) {
	switch o.of.Telling {
	case ByVotes:
		if t.voters == nil {
			t.voters = o.votersOf(t.teacher)
		}
		return t.voters, qualitySteps * o.trained(t, records/float64(o.of.Ballots))
	case ByDirections:
		whole, wide := o.white()
		even := 1 / float64(len(o.of.Shares))
		length := t.told * t.told * float64(len(t.columns)) * floats.Dot(t.share, wide)
		for _, share := range t.columns {
			length += math.Pow(share-even, 2)
		}
		loose := math.Max(o.square()*whole-length, 0) / records
		for k := range qualitySteps + 1 {
			clear := float64(k) / qualitySteps // of a direction's length, what all share
			shrink := meansLength * clear / math.Sqrt(length)
			v := telling{told: told{covariance: t.told * shrink}, sampled: meansLength * meansLength * (1 - clear*clear) / (whole * float64(len(t.columns)))}
			for _, share := range t.columns {
				v.shares = append(v.shares, even+shrink*(share-even))
			}
			all = append(all, v)
		}
		return all, qualitySteps * math.Sqrt(length/(length+loose))
	}
	// Of labels given features the records alone are uncertain; the pool, of what
	// features say of labels.
	return []telling{{told{t.told, t.columns}, o.doubt(), math.Max(o.doubt()-t.curvature, 0) / o.geometry.rows}}, 0
}

// votersOf are what votes tell of voters who know so much.
func (o *Outlook) votersOf(t *teacher) (all []telling) {
	for k := range qualitySteps + 1 {
		voter := float64(k) / qualitySteps
		v := telling{told: told{interpolate(t.voted, voter), t.named(voter)}}
		if voter > 0 {
			v.sampled = v.covariance * v.covariance * (1/(voter*voter) - 1) / float64(len(o.geometry.variance))
		}
		all = append(all, v)
	}
	return all
}

// released is what a release is worth.
func (o *Outlook) released(t *problem, size Gathered) Range {
	g, n, weight := o.geometry, o.noising, float64(size.Parties)
	switch o.of.Telling {
	case ByRecords:
		weight *= size.Records
	case ByVotes:
		weight *= float64(o.of.Ballots)
	}
	all, at := o.qualities(t, size.Records)
	return o.worthOf(n, t, all, at, weight, size.Scale*size.Draws/(weight*weight), func(m telling, f noisyFit, unit float64) float64 {
		c, best := make([]float64, len(g.variance)), 0.
		for j, s := range g.variance {
			c[j] = unit*n.along[j] + s*(m.sampled/weight+m.fixed)
		}
		for _, at := range f.tried {
			best = math.Max(best, o.kept(t, m.covariance, c, n.metric, at))
		}
		return best
	})
}

// ridges are those that a fit chooses among.
func ridges(given float64) []float64 {
	if given > 0 {
		return []float64{given}
	}
	out := make([]float64, lambdaSteps)
	for i := range out {
		out[i] = lambdaTop * math.Pow(lambdaStep, float64(i))
	}
	return out
}

// kept is the formula of Outlook.
func (o *Outlook) kept(t *problem, told float64, c, metric []float64, at attempt) float64 {
	along, own, noise := 0., 0., 0.
	for j, s := range o.geometry.variance {
		f, lost := s/(at.along*s+at.lambda*metric[j]), s/(at.across*s+at.lambda*metric[j])
		along += f * t.share[j]
		own += f * f * t.share[j]
		noise += lost * lost * c[j] / s
	}
	if !(along > 0) || told < 1e-100 { // its square is 0, as votes for a rare class may tell
		return 0
	}
	return math.Min(1, told*along/math.Sqrt(told*told*own+noise))
}

// doubt is the variance of a record's label, mean over columns.
func (o *Outlook) doubt() float64 {
	total := 0.
	for _, s := range o.of.Shares {
		total += s * (1 - s)
	}
	return total / float64(len(o.of.Shares))
}

// square is the expected square of a record's (onehot − 1/K), as MeansDesign has it.
func (o *Outlook) square() float64 {
	if k := float64(len(o.of.Shares)); k > 2 {
		return 1 - 1/k
	}
	return .25
}

// white is how much of each direction is left in the coordinates of MeansDesign, and
// all of it with the intercept.
func (o *Outlook) white() (whole float64, wide []float64) {
	for _, s := range o.geometry.variance {
		wide = append(wide, s/(s+meansRidge))
	}
	return floats.Sum(wide) + 1, wide
}

// CrossPrivacyNoise is the part of CrossNoise that is due to privacy.
func CrossPrivacyNoise(classes, d int, sd float64) Noise {
	if classes == 2 {
		sd *= math.Sqrt(0.5)
	}
	f := mat.NewDense(d, d, nil)
	for j := range d {
		f.Set(j, j, sd)
	}
	return Noise{Factor: f, Centred: classes > 2}
}
