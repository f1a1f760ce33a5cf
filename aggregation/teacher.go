package aggregation

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// Worth is what a classifier is worth on records like the pool's.
type Worth struct {
	// Accuracy is the share of records it labels correctly; AUC the area under the
	// curve, for more than two classes the mean over classes of each against the rest.
	Accuracy, AUC float64
}

// teacher is a reference problem: scores that tell as much of a record's class as
// anything can. Given the class they are independent and normal of variance 1, with
// mean apart for the score of the class and 0 for all others; two classes have one
// score. The area under the curve of a score is then Φ(apart/√2), for any shares.
//
// A classifier's scores are the teacher's with noise that tells nothing. It is
// described by one number, kept: their correlation with the teacher's. The variance
// between classes counts in it: over all records a score has 1 + apart²·(mean over
// columns of share·(1−share)).
type teacher struct {
	shares  []float64
	columns []float64 // shares of the classes that have a score
	apart   float64
	// total is the variance of a score; told the root mean square over columns of
	// the covariance of a class with its score in standard deviations of it: what
	// label × features tell. curvature is the mean of p(1−p).
	total, told, curvature float64
	// voted, at each kept in steps of 1/keptSteps, is as told, of the class that a
	// classifier names: what votes tell. Only for forecasts of votes.
	voted []float64
	// voters is what an Outlook works out of voted, once asked for.
	voters []telling
	areas  areas // of more than two classes, and how far each is, over apart
	far    []float64
}

const (
	keptSteps = 24
	// Integrals over a normal are sums at so many points in ±normalSpan deviations.
	normalPoints = 65
	normalSpan   = 8.0
)

// newTeacher has classes of those shares separated to an AUC; more than two so far from
// each other, and with those areas.
func newTeacher(shares []float64, auc float64, far []float64, areas areas, votes bool) *teacher {
	t := &teacher{shares: shares, columns: shares, far: far, areas: areas}
	if len(shares) == 2 {
		t.columns, t.apart = shares[1:], math.Sqrt2*distuv.UnitNormal.Quantile(auc)
	} else {
		t.apart = t.areas.apart(auc)
	}
	n := float64(len(t.columns))
	t.total = 1
	for _, s := range t.columns {
		t.total += t.apart * t.apart * s * (1 - s) / n
	}
	for _, s := range t.columns {
		t.told += math.Pow(t.apart*s*(1-s), 2) / t.total / n
		t.curvature += t.curve(s) / n
	}
	t.told = math.Sqrt(t.told)
	for i := 0; votes && i <= keptSteps; i++ {
		v := t.votes(float64(i) / keptSteps)
		if i > 0 { // more kept never tells less
			v = math.Max(v, t.voted[i-1])
		}
		t.voted = append(t.voted, v)
	}
	return t
}

// bell is the weight of each of the points of normal.
var bell = func() (w [normalPoints]float64) {
	for i := range w {
		x := normalPoint(i)
		w[i] = normalStep * math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
	}
	return w
}()

const normalStep = 2 * normalSpan / (normalPoints - 1)

// normalPoint is the i-th of the points of normal.
func normalPoint(i int) float64 { return -normalSpan + float64(i)*normalStep }

// normal sums a function over the standard normal.
func normal(f func(x float64) float64) (sum float64) { return normalBy(1, f) }

// normalBy is normal at every so many points.
func normalBy(every int, f func(x float64) float64) (sum float64) {
	for i := 0; i < normalPoints; i += every {
		sum += bell[i] * f(normalPoint(i))
	}
	return sum * float64(every)
}

func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// curve is the mean of p(1−p) of a class of that share against the rest.
func (t *teacher) curve(share float64) float64 {
	odds := math.Log(share / (1 - share))
	at := func(score float64) float64 {
		p := 1 / (1 + math.Exp(-odds-t.apart*(score-t.apart/2)))
		return p * (1 - p)
	}
	return normal(func(x float64) float64 { return share*at(x+t.apart) + (1-share)*at(x) })
}

// blurred is apart where the scores' noise has taken all but kept.
func (t *teacher) blurred(kept float64) float64 {
	if !(kept > 0) {
		return 0
	}
	return t.apart / math.Sqrt(1+t.total*(1/(kept*kept)-1))
}

// area is the area under the curve of scores whose classes are so far apart.
func (t *teacher) area(apart float64) float64 {
	if t.areas != nil {
		return t.areas.at(apart)
	}
	return phi(apart / math.Sqrt2)
}

// worth is that of the best rule on scores of which so much is kept.
func (t *teacher) worth(kept float64) Worth {
	apart, most := t.blurred(kept), floats.Max(t.shares)
	w := Worth{Accuracy: most, AUC: t.area(apart)}
	if apart < 1e-6 {
		return w
	}
	if len(t.shares) == 2 {
		odds := math.Log(t.shares[1]/t.shares[0]) / apart
		w.Accuracy = math.Max(most, t.shares[1]*phi(apart/2+odds)+t.shares[0]*phi(apart/2-odds))
		return w
	}
	odds := make([]float64, len(t.shares)) // of each class where all scores are 0
	for k, share := range t.shares {
		own := apart * t.far[k]
		odds[k] = math.Log(share) - own*own/2
	}
	right := 0.
	for k, share := range t.shares {
		own := apart * t.far[k]
		right += share * normal(func(x float64) float64 {
			all := 1.
			for j := range t.shares {
				if j != k {
					all *= phi((own*(own+x) + odds[k] - odds[j]) / (apart * t.far[j]))
				}
			}
			return all
		})
	}
	w.Accuracy = math.Max(most, right)
	return w
}

// votes is voted at one kept. With noise of variance v in a score, the teacher's part
// of it is expected to move 1/(1+v) as far as it does.
func (t *teacher) votes(kept float64) float64 {
	apart := t.blurred(kept)
	if apart < 1e-6 {
		return 0
	}
	shrink := apart / t.apart // 1/√(1+v); scores below have variance 1 in it
	if len(t.shares) == 2 {
		odds := math.Log(t.shares[1]/t.shares[0]) / apart
		covariance := 0.
		for k, share := range t.shares {
			// From the threshold the class's mean is distance deviations up.
			distance := odds - apart/2 + apart*float64(k)
			mean := t.apart * (float64(k) - t.shares[1])
			covariance += share * (mean*phi(distance) + shrink*math.Exp(-distance*distance/2)/math.Sqrt(2*math.Pi))
		}
		return covariance / math.Sqrt(t.total)
	}
	total := 0.
	for k, share := range t.shares {
		covariance := normal(func(x float64) float64 {
			// A record of class k whose own score is x above its mean, then one of
			// another class c with score x: whether k wins, times k's score of the
			// teacher.
			wins, loses := 1., 1.
			for j, other := range t.shares {
				if j != k {
					wins *= phi(apart + x + math.Log(share/other)/apart)
					loses *= phi(x + math.Log(share/other)/apart)
				}
			}
			sum := share * wins * (t.apart*(1-share) + shrink*x)
			for c, other := range t.shares {
				if c != k {
					at := x + math.Log(share/other)/apart
					sum += other * loses * phi(at-apart) / math.Max(phi(at), 1e-300) * (shrink*x - t.apart*share)
				}
			}
			return sum
		})
		total += covariance * covariance / float64(len(t.shares))
	}
	return math.Sqrt(total / t.total)
}

// interpolate reads a table of equal steps from 0 to 1.
func interpolate(table []float64, at float64) float64 {
	steps := float64(len(table) - 1)
	at = math.Max(0, math.Min(1, at)) * steps
	i := min(int(at), len(table)-2)
	return table[i] + (at-float64(i))*(table[i+1]-table[i])
}
