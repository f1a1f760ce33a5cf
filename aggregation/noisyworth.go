package aggregation

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
)

// Range is what something is worth, over draws of the noise: its mean, and that which
// one draw in twenty is below, or above.
type Range struct{ Low, Mid, High Worth }

func exactly(w Worth) Range { return Range{w, w, w} }

// fitKey names the fits to what is told at every step of what parties know and at every
// size of noise.
type fitKey struct {
	noising *noising
	problem *problem
}

// worthKey names what those fits are worth, of a weight.
type worthKey struct {
	fitKey
	weight float64
}

// Sizes of noise that are looked at, from none: what is unitLeast of the moments over all
// directions, and unitSteps of unitStep times more, or as many as it takes to unitMost of
// them along the direction with the least noise, as far as unitsMost.
const (
	unitSteps, unitsMost = 19, 40
	unitStep             = 4.0
	unitLeast, unitMost  = 1e-6, 1e3
)

// worthOf is what a fit is worth to moments that tell what they do so many steps up all,
// under noise of a size, and whose scores keep what kept says of that weight.
//
// A fit to noise alone names the largest class by luck or as the constant model, and one
// with a little signal less than that; so what is likely does not always rise with what
// is gathered. A forecast does: Low is the least, and High the most, that it comes to on
// the way from less to more, and Mid half way between the least of what is reached with
// more, and the most with less.
func (o *Outlook) worthOf(n *noising, t *problem, all []telling, at, weight, unit float64, kept func(m telling, f noisyFit, unit float64) float64) Range {
	whole, least := 0., math.Inf(1)
	for j, s := range o.geometry.variance {
		if n.along[j] > 0 {
			whole += n.along[j] / s
			least = math.Min(least, n.along[j]/s)
		}
	}
	units := []float64{0}
	for k := 0; whole > 0 && (k < unitSteps || k < unitsMost && units[k] < t.told*t.told/least*unitMost); k++ {
		units = append(units, t.told*t.told/whole*unitLeast*math.Pow(unitStep, float64(k)))
	}
	key := fitKey{n, t}
	if o.fits[key] == nil {
		o.fits[key] = make([][]noisyFit, len(all))
	}
	fits := o.fits[key]
	worth := o.worths[worthKey{key, weight}]
	for a, m := range all {
		if len(worth) == len(all) {
			break // looked at before, by another size of noise
		}
		worth = append(worth, nil)
		if fits[a] == nil {
			for _, unit := range units {
				fits[a] = append(fits[a], o.fitUnder(n, t, m.told, unit))
			}
		}
		for k, f := range fits[a] {
			worth[a] = append(worth[a], t.made(f, kept(m, f, units[k])))
		}
	}
	if o.worths[worthKey{key, weight}] == nil {
		worth = rising(worth)
		o.worths[worthKey{key, weight}] = worth
	}
	low := min(int(at), max(len(all)-2, 0))
	high := min(low+1, len(all)-1)
	return mix(between(units, worth[low], unit), between(units, worth[high], unit), at-float64(low))
}

// rising makes worths, what is told × noise, rise with the first and fall with the second.
func rising(w [][]Range) [][]Range {
	rows, columns := len(w), len(w[0])
	above, below := make([][]Range, rows), make([][]Range, rows) // the least with more, the most with less
	for a := range w {
		above[a], below[a] = slices.Clone(w[a]), slices.Clone(w[a])
	}
	for a := range rows {
		for k := range columns {
			if a > 0 {
				below[a][k] = join(math.Max, below[a][k], below[a-1][k])
				b := rows - 1 - a
				above[b][k] = join(math.Min, above[b][k], above[b+1][k])
			}
		}
	}
	for a := range rows {
		for k := 1; k < columns; k++ {
			above[a][k] = join(math.Min, above[a][k], above[a][k-1])
			b := columns - 1 - k
			below[a][b] = join(math.Max, below[a][b], below[a][b+1])
		}
		for k := range columns {
			mid := mix(above[a][k], below[a][k], .5).Mid
			above[a][k] = Range{joinWorth(math.Min, above[a][k].Low, mid), mid, joinWorth(math.Max, below[a][k].High, mid)}
		}
	}
	return above
}

// between reads worths at the sizes of noise off at one.
func between(units []float64, w []Range, unit float64) Range {
	if len(w) == 1 || unit <= 0 {
		return w[0]
	}
	k := min(max(sort.SearchFloat64s(units, unit)-1, 0), len(w)-2)
	part := math.Min((unit-units[k])/(units[k+1]-units[k]), 1)
	if k > 0 {
		part = math.Min(math.Log(unit/units[k])/math.Log(unitStep), 1)
	}
	return mix(w[k], w[k+1], part)
}

// mix is so far from a to b.
func mix(a, b Range, part float64) Range {
	return join(func(a, b float64) float64 { return a + part*(b-a) }, a, b)
}

func join(f func(a, b float64) float64, a, b Range) Range {
	return Range{joinWorth(f, a.Low, b.Low), joinWorth(f, a.Mid, b.Mid), joinWorth(f, a.High, b.High)}
}

func joinWorth(f func(a, b float64) float64, a, b Worth) Worth {
	return Worth{f(a.Accuracy, b.Accuracy), f(a.AUC, b.AUC)}
}

// made is what a noisy fit is worth of whose scores so much is kept.
func (t *teacher) made(f noisyFit, kept float64) Range {
	// agreed is the correlation with the teacher's scores where the noise along them is x.
	clear := kept / math.Sqrt(math.Max(1-kept*kept, 1e-12))
	rest := math.Sqrt(math.Max(1-f.along*f.along, 1e-12))
	agreed := func(x float64) float64 {
		u := (clear + f.along*x) / rest
		return u / math.Sqrt(1+u*u)
	}
	var accuracy, auc law
	none := 0.
	for i, weight := range bell {
		x := normalPoint(i)
		p := weight * f.chosen(x)
		apart, deviation := t.within(agreed(x))
		auc.add(p, t.area(apart/deviation))
		none += weight - p
	}
	for a, x := range normalNodes {
		p := normalWeights[a] * f.chosen(x)
		switch {
		case p == 0:
		case len(t.shares) > 2:
			if math.Abs(x) < 3 { // the outermost weigh nothing
				accuracy.add(p, t.ruledMany(agreed(x), f))
			}
		default:
			for b := range f.starts {
				accuracy.add(p*normalWeights[b], t.ruled(agreed(x), -f.starts[b]/math.Sqrt(f.spread)))
			}
		}
	}
	for k, p := range f.constant {
		accuracy.add(none*p, t.shares[k])
	}
	auc.add(none, .5)
	a, b := accuracy.ends(), auc.ends()
	return Range{Worth{a[0], b[0]}, Worth{accuracy.mean(), auc.mean()}, Worth{a[1], b[1]}}
}

// law is a discrete law.
type law []struct{ weight, value float64 }

func (l *law) add(weight, value float64) {
	*l = append(*l, struct{ weight, value float64 }{weight, value})
}

func (l law) mean() float64 {
	sum, total := 0., 0.
	for _, at := range l {
		sum, total = sum+at.weight*at.value, total+at.weight
	}
	return sum / total
}

// ends are what one in twenty is below, and above, each value standing for those half way to
// its neighbours.
func (l law) ends() (out [2]float64) {
	slices.SortFunc(l, func(a, b struct{ weight, value float64 }) int { return cmp.Compare(a.value, b.value) })
	total := 0.
	for _, at := range l {
		total += at.weight
	}
	for i, part := range []float64{.05, .95} {
		sum, last, value := 0., 0., l[0].value // last: the sum at the middle of the one before
		for k, at := range l {
			middle := sum + at.weight/2
			if middle > part*total {
				if k > 0 {
					value += (at.value - value) * (part*total - last) / (middle - last)
				}
				break
			}
			sum, last, value = sum+at.weight, middle, at.value
		}
		out[i] = value
	}
	return out
}

// within is how far the classes' means are apart in a score that is correlated with the
// teacher's, of variance 1 over all records, and its deviation within a class.
func (t *teacher) within(correlation float64) (apart, deviation float64) {
	n := float64(len(t.columns))
	apart = correlation * t.apart / math.Sqrt(t.total)
	between := 0.
	for _, s := range t.columns {
		between += apart * apart * s * (1 - s) / n
	}
	return apart, math.Sqrt(math.Max(1-between, 1e-9))
}

// ruled is the accuracy of a rule: a score of variance 1, above a threshold.
func (t *teacher) ruled(correlation, threshold float64) float64 {
	apart, deviation := t.within(correlation)
	q := t.shares[1]
	return q*phi((apart*(1-q)-threshold)/deviation) + (1-q)*phi((threshold+apart*q)/deviation)
}

// ruledMany is the same of more classes: the largest of scores and their intercepts.
func (t *teacher) ruledMany(correlation float64, f noisyFit) float64 {
	apart, deviation := t.within(correlation)
	scale := math.Sqrt(f.spread) * deviation
	blur := math.Sqrt(1 + math.Pow(f.loose/scale, 2))
	apart /= deviation * blur
	right := 0.
	for k, share := range t.shares {
		own := t.far[k] * apart * t.far[k] * (1 - share) // its score's mean, the pool's being 0
		right += share * normalBy(2, func(x float64) float64 {
			all := 1.
			for j, other := range t.shares {
				if j != k {
					all *= quickPhi((own+t.far[k]*x+(f.starts[k]-f.starts[j])/(scale*blur))/t.far[j] + apart*t.far[j]*other)
				}
			}
			return all
		})
	}
	return right
}

// named are the shares of the columns' classes among those that a classifier names which
// keeps so much.
func (t *teacher) named(kept float64) (out []float64) {
	apart := t.blurred(kept)
	if apart < 1e-6 {
		most := floats.MaxIdx(t.shares)
		for k := range t.shares {
			if len(t.shares) > 2 || k == 1 {
				v := 0.
				if k == most {
					v = 1
				}
				out = append(out, v)
			}
		}
		return out
	}
	if len(t.shares) == 2 {
		odds := math.Log(t.shares[1]/t.shares[0]) / apart
		return []float64{t.shares[1]*phi(odds+apart/2) + t.shares[0]*phi(odds-apart/2)}
	}
	for k := range t.shares {
		out = append(out, normal(func(x float64) float64 {
			wins := 1.
			for j, other := range t.shares {
				if j != k {
					wins *= phi(apart + x + math.Log(t.shares[k]/other)/apart)
				}
			}
			sum := t.shares[k] * wins
			loses := 1.
			for j, other := range t.shares {
				if j != k {
					loses *= phi(x + math.Log(t.shares[k]/other)/apart)
				}
			}
			for c, other := range t.shares {
				if c != k {
					at := x + math.Log(t.shares[k]/other)/apart
					sum += other * loses * phi(at-apart) / math.Max(phi(at), 1e-300)
				}
			}
			return sum
		}))
	}
	return out
}

// phis is phi at steps of 1/phiSteps from −phiSpan.
var phis = func() (v [2*phiSpan*phiSteps + 2]float64) {
	for i := range v {
		v[i] = phi(-phiSpan + float64(i)/phiSteps)
	}
	return v
}()

const phiSpan, phiSteps = 7, 64

// quickPhi is phi to 1e-5.
func quickPhi(x float64) float64 {
	at := (x + phiSpan) * phiSteps
	switch {
	case at <= 0:
		return 0
	case at >= 2*phiSpan*phiSteps:
		return 1
	}
	i := int(at)
	return phis[i] + (at-float64(i))*(phis[i+1]-phis[i])
}
