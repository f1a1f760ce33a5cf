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
	// Shares of the classes, each above 0, sum 1. Separations are the AUCs of
	// the reference problems.
	Shares, Separations []float64
	Telling             Telling
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
// uncertain by c, keeps f = s/(s+ridge) of both, the ridge in the metric of the
// noise (FitVotes). Over all directions, of which each has a share g of the teacher,
// the fit's scores agree with the teacher's to
//
//	kept² = a²(Σ f·g)² / (a² Σ f²·g + Σ f²·c/s),
//
// which falls as c grows, so more noise is never worth more; nor, with the best
// ridge, which is taken. Nothing is drawn and nothing is solved. It leaves out that
// parties differ from each other and from the pool, and that truth is not linear.
type Outlook struct {
	of       Agreement
	geometry geometry
	noise    []float64   // along each direction
	metric   []float64   // of the ridge in each: that of the noise, whatever its size
	teachers []*teacher  // one a separation
	along    [][]float64 // g, for each of outlookFlats
}

// outlookFlats are where truth may lie among the pool's directions: see
// geometry.spread.
var outlookFlats = []float64{-0.5, 0, 0.5}

// NewOutlook works out the reference problems on a pool.
func NewOutlook(pool *auxdata.Pool, a Agreement) *Outlook {
	o := &Outlook{of: a, geometry: geometryOf(pool)}
	if len(o.geometry.variance) == 0 {
		return o
	}
	o.noise = o.geometry.along(a.Noise)
	if a.Noise.Centred {
		floats.Scale(1-1/float64(len(a.Shares)), o.noise)
	}
	for j, s := range o.geometry.variance {
		if total := floats.Sum(o.noise); total > 0 {
			s = o.noise[j] * o.geometry.energy / total
		}
		o.metric = append(o.metric, math.Sqrt(s+1e-5*o.geometry.energy))
	}
	for _, auc := range a.Separations {
		o.teachers = append(o.teachers, newTeacher(a.Shares, auc, a.Telling == ByVotes))
	}
	for _, flat := range outlookFlats {
		o.along = append(o.along, o.geometry.spread(flat))
	}
	return o
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

// Worths are what something is worth at a separation, one for each place of truth.
type Worths []Worth

// each asks what a classifier is worth at the i-th separation, wherever truth lies.
func (o *Outlook) each(i int, kept func(problem) float64) (out Worths) {
	if o.teachers == nil { // features that do not vary tell nothing
		return Worths{{Accuracy: floats.Max(o.of.Shares), AUC: .5}}
	}
	for _, share := range o.along {
		t := problem{o.teachers[i], share}
		out = append(out, t.worth(kept(t)))
	}
	return out
}

// problem is a teacher and where it lies: share of its variance along each direction.
type problem struct {
	*teacher
	share []float64
}

// Truth is the best there is: what the reference problem's own scores are worth.
func (o *Outlook) Truth(i int) Worths {
	return o.each(i, func(problem) float64 { return 1 })
}

// Trained is a classifier of so many labelled records.
func (o *Outlook) Trained(i int, records float64) Worths {
	return o.each(i, func(t problem) float64 { return o.trained(t, records) })
}

// Released is the classifier of a release.
func (o *Outlook) Released(i int, g Gathered) Worths {
	return o.each(i, func(t problem) float64 { return o.released(t, g) })
}

// trained is what a classifier of so many records keeps of a teacher; its intercept is
// one direction more that they have to tell.
func (o *Outlook) trained(t problem, records float64) float64 {
	g := o.geometry
	c, flat := make([]float64, len(g.variance)), make([]float64, len(g.variance))
	for j, s := range g.variance {
		c[j], flat[j] = s*t.curvature/records, 1
	}
	best := 0.
	for _, lambda := range ridges(0) {
		best = math.Max(best, o.kept(t, t.told, c, flat, lambda, t.curvature/records))
	}
	return best
}

// released is what the classifier of a release keeps.
func (o *Outlook) released(t problem, size Gathered) float64 {
	g, parties := o.geometry, float64(size.Parties)
	told, sampled, weight := t.told, 0., parties
	unit := size.Scale * size.Draws
	switch o.of.Telling {
	case ByRecords:
		weight = parties * size.Records
		// Of labels given features the records alone are uncertain; the pool, of
		// what features say of labels.
		sampled = o.doubt()/weight + (o.doubt()-t.curvature)/g.rows
	case ByVotes:
		weight = parties * float64(o.of.Ballots)
		voter := o.trained(t, size.Records/float64(o.of.Ballots))
		told = interpolate(t.voted, voter)
		if voter > 0 {
			sampled = told * told * (1/(voter*voter) - 1) / (float64(len(g.variance)) * weight)
		}
	case ByDirections:
		whole, wide := o.white()
		length := told * told * float64(len(t.columns)) * floats.Dot(t.share, wide)
		for k, share := range o.of.Shares {
			if len(o.of.Shares) > 2 || k == 1 {
				length += math.Pow(share-1/float64(len(o.of.Shares)), 2)
			}
		}
		loose := math.Max(o.square()*whole-length, 0) / size.Records
		shrink := meansLength / math.Sqrt(length+loose)
		told *= shrink
		sampled = shrink * shrink * loose / (whole * float64(len(t.columns)) * parties)
	}
	unit /= weight * weight
	c := make([]float64, len(g.variance))
	for j, s := range g.variance {
		c[j] = unit*o.noise[j] + s*sampled
	}
	best := 0.
	for _, lambda := range ridges(o.of.Lambda) {
		best = math.Max(best, o.kept(t, told, c, o.metric, lambda, 0))
	}
	return best
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

// kept is the formula of Outlook; blur is a variance that no ridge takes away.
func (o *Outlook) kept(t problem, told float64, c, metric []float64, lambda, blur float64) float64 {
	along, own, noise := 0., 0., blur
	for j, s := range o.geometry.variance {
		f := t.curvature * s / (t.curvature*s + lambda*metric[j])
		along += f * t.share[j]
		own += f * f * t.share[j]
		noise += f * f * c[j] / s
	}
	if !(along > 0) || told == 0 {
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
