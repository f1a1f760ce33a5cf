package aggregation

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Reached is what a classifier is known to reach.
type Reached struct {
	AUC float64
	// Accuracy, of more than two classes, 0 where it is not known; of two it follows
	// from AUC and shares.
	Accuracy float64
	// Records that it was trained on; 0 for so many that more would not change it.
	Records float64
}

// Contradiction is what of a Reached cannot be true with the rest.
type Contradiction int

const (
	Consistent Contradiction = iota
	// BadRecords: so few records reach that AUC nowhere.
	BadRecords
	// BadAccuracy: a classifier of that AUC has less than half, or more than twice, as much
	// accuracy over the largest class, and by more than looseAccuracy.
	BadAccuracy
)

// looseAccuracy is how far an accuracy may be off that of classes which are normal, however
// little they tell.
const looseAccuracy = 0.05

// Contradicts says what is wrong with what was said to be reached.
func (o *Outlook) Contradicts() Contradiction { return o.contradiction }

// reach are the problems, of each place of truth where there is one, at which a classifier
// reaches what it is known to.
func (o *Outlook) reach(r Reached) (all []*problem) {
	many := len(o.of.Shares) > 2
	accuracy := 0.
	for _, place := range outlookPlaces {
		if place.tilt != 0 && !many {
			continue
		}
		auc := r.AUC
		if r.Records > 0 {
			found := false
			if auc, found = o.separation(r, func(auc float64) *problem {
				return o.problem(o.newTeacher(auc, place.tilt, false), place.flat)
			}); !found {
				continue
			}
		}
		t := o.problem(o.teacher(auc, place.tilt), place.flat)
		all = append(all, t)
		if many && r.Accuracy > 0 {
			records := r.Records
			if records == 0 {
				records = everyRecord
			}
			accuracy += o.trainedOn(t, records).Mid.Accuracy
		}
	}
	if len(all) == 0 {
		o.contradiction = BadRecords
	} else if accuracy > 0 {
		o.lift(all, r.Accuracy, accuracy/float64(len(all)))
	}
	return all
}

// teacher is that of a separation and a tilt, one for all flats: what its votes tell is
// worked out once.
func (o *Outlook) teacher(auc, tilt float64) *teacher {
	key := [2]float64{auc, tilt}
	if o.teachers[key] == nil {
		o.teachers[key] = o.newTeacher(auc, tilt, o.of.Telling == ByVotes)
	}
	return o.teachers[key]
}

func (o *Outlook) newTeacher(auc, tilt float64, votes bool) *teacher {
	far := farOf(o.of.Shares, tilt)
	if len(o.of.Shares) > 2 && o.areas[tilt] == nil {
		o.areas[tilt] = areasOf(o.of.Shares, far)
	}
	return newTeacher(o.of.Shares, auc, far, o.areas[tilt], votes)
}

// everyRecord is as good as all there is to know.
const everyRecord = 1e9

// separation is the AUC of the truth at which a classifier of so many records reaches its
// own: first by its fit alone, then as far off as Trained, which reads between steps, is.
func (o *Outlook) separation(r Reached, at func(auc float64) *problem) (auc float64, found bool) {
	target := r.AUC
	for range 2 {
		if auc, found = crossing(r.AUC, mostSeparated, func(auc float64) bool { return o.fitted(at(auc), r.Records).AUC >= target }); !found {
			return auc, false
		}
		target += r.AUC - o.trainedOn(at(auc), r.Records).Mid.AUC
	}
	auc, _ = crossing(r.AUC, mostSeparated, func(auc float64) bool { return o.fitted(at(auc), r.Records).AUC >= target })
	return auc, true
}

// lift has classifiers be as accurate as one is known to be, over the largest class, where
// the law has another accuracy for it.
func (o *Outlook) lift(all []*problem, known, law float64) {
	most := floats.Max(o.of.Shares)
	lift := (known - most) / math.Max(law-most, 1e-9)
	if (lift < .5 || lift > 2) && math.Abs(known-law) > looseAccuracy {
		o.contradiction = BadAccuracy
	}
	for _, t := range all {
		t.lift = math.Max(.5, math.Min(lift, 2))
	}
}

// mostSeparated is the largest AUC of a problem that is looked for.
const mostSeparated = 0.99995

// crossing is where something comes to hold between low and high, and whether it does: low
// where it holds there.
func crossing(low, high float64, holds func(float64) bool) (at float64, found bool) {
	if holds(low) {
		return low, true
	}
	if !holds(high) {
		return high, false
	}
	for range 16 {
		if mid := (low + high) / 2; holds(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return (low + high) / 2, true
}

// problem is that of a teacher whose scores are so flat.
func (o *Outlook) problem(t *teacher, flat float64) *problem {
	p := &problem{teacher: t, share: o.geometry.spread(flat, len(o.of.Shares)), lift: 1}
	p.alone = &noising{constant: t.curvature, pull: 1, lambdas: ridges(0)}
	for _, s := range o.geometry.variance {
		p.alone.along, p.alone.metric = append(p.alone.along, s*t.curvature), append(p.alone.metric, 1)
	}
	return p
}

// fitted is what one fit to so many records is worth.
func (o *Outlook) fitted(t *problem, records float64) Worth {
	fit := o.fitUnder(t.alone, t, told{t.told, t.columns}, 1/records)
	return t.made(fit, o.trained(t, records)).Mid
}

// lifted is what a classifier is worth that is worth so much by the law.
func (t *problem) lifted(r Range) Range {
	most := floats.Max(t.shares)
	lift := func(w Worth) Worth {
		w.Accuracy = min(1, w.Accuracy+(t.lift-1)*max(w.Accuracy-most, 0))
		return w
	}
	return Range{lift(r.Low), lift(r.Mid), lift(r.High)}
}
