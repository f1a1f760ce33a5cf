package study

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/learners"
)

// errNoForecast: a mechanism that perturbs solutions has no moments to
// forecast from.
var errNoForecast = errors.New("there is no forecast for this mechanism")

// Forecast is what a plan can be expected to reach, from public inputs alone.
//
// The pool has no labels, so the forecast is made on a reference problem: a
// linear teacher on the plan's own pool, in a random direction, whose scores
// have standard deviation 2 and whose larger class has a share of .75 (two
// classes), or standard deviation 4 with balanced classes (more). Votes follow
// the teacher exactly; the plan's own noise is added; the plan's own fit is
// made, several times. It leaves out what parties lose by learning from few
// records.
type Forecast struct {
	// Accuracy is expected of the release, Unperturbed without noise, Majority
	// of always naming the largest class; all on the reference problem.
	Accuracy    float64 `json:"accuracy"`
	Unperturbed float64 `json:"unperturbed"`
	Majority    float64 `json:"majority"`
	// Useful: the release is expected to keep at least a quarter of what the
	// unperturbed classifier has over the majority class.
	Useful bool `json:"useful"`
	// NeedEpsilon and NeedParties are about what it would take to be useful,
	// one or the other; 0 where nothing within reach does.
	NeedEpsilon float64 `json:"need_epsilon,omitempty"`
	NeedParties int     `json:"need_parties,omitempty"`
}

// Size is what is publicly expected of a study's data.
type Size struct {
	Parties int
	// Records is how many records all parties have together.
	Records int
}

// Constants of the reference problem.
const (
	forecastRows   = 1500 // pool rows used: enough for a point of accuracy
	forecastDraws  = 3
	forecastSpread = 2.0 // standard deviation of the teacher's scores, two classes
	forecastMany   = 4.0 // the same, more classes
	forecastShare  = 0.75
	forecastGap    = 0.01    // least the features must tell, without noise
	forecastFactor = 1 << 10 // the most noise reduction that is searched
)

// ForecastOf forecasts a study that ends in a classifier.
func ForecastOf(t Task, size Size) (*Forecast, error) {
	if size.Parties < 1 || size.Records < 0 {
		return nil, fmt.Errorf("forecast study: %d parties with %d records in all: give at least one party", size.Parties, size.Records)
	}
	f, ok := t.(forecaster)
	if !ok {
		return nil, errNoForecast
	}
	noise, told, err := f.forecastNoise(size)
	if err != nil {
		return nil, err
	}
	return forecast(t.Plan(), t.Pool(), size, noise, told), nil
}

// forecast: told is what a release tells of moments without noise, nil where that
// is the moments themselves.
func forecast(p Plan, pool *auxdata.Pool, size Size, noise aggregation.Noise, told func(*mat.Dense) *mat.Dense) *Forecast {
	r := newReference(pool, len(p.Schema.Classes()), p.Lambda)
	f := &Forecast{Unperturbed: r.accuracyOf(r.mu, noise, 1e-4), Majority: r.majority}
	if told != nil {
		r.mu = told(r.mu)
	}
	f.Accuracy = r.released(noise, 1)
	gap := f.Unperturbed - f.Majority
	goal := f.Majority + gap/4
	if f.Useful = gap >= forecastGap && f.Accuracy >= goal; f.Useful || gap < forecastGap {
		return f
	}
	for factor := 2; factor <= forecastFactor; factor *= 2 {
		if r.released(noise, 1/float64(factor)) < goal {
			continue
		}
		// Noise falls like 1/ε; like 1/M where it is added once, like 1/√M
		// where every party adds its own.
		f.NeedEpsilon, f.NeedParties = p.Epsilon*float64(factor), size.Parties*factor
		if p.Noise == NoiseSite {
			f.NeedParties *= factor
		}
		break
	}
	return f
}

// Warning says in words what a forecast that is not useful means, "" if it is.
func (f *Forecast) Warning(p Plan, size Size) string {
	if f == nil || f.Useful {
		return ""
	}
	if f.Unperturbed-f.Majority < forecastGap {
		return "this pool under this map tells the classes apart no better than naming the largest: give a pool of more varied rows, or keep more features"
	}
	s := fmt.Sprintf("at unit %s, ε = %g and %d parties this plan is expected to do little better than naming the largest class (%.2f on a reference problem, where the largest class has %.2f and the unperturbed classifier %.2f)",
		p.Unit, p.Epsilon, size.Parties, f.Accuracy, f.Majority, f.Unperturbed)
	if f.NeedParties > 0 {
		s += fmt.Sprintf("; it would take about ε = %.2g, or %d parties, or a finer unit", f.NeedEpsilon, f.NeedParties)
	}
	return s
}

// reference is the reference problem on a sample of a pool.
type reference struct {
	x        *mat.Dense
	p        *mat.Dense // n×K, the teacher's class probabilities
	mu       *mat.Dense
	weight   []float64 // the plan's weights of those rows
	lambda   float64   // the plan's
	classes  int
	majority float64
}

func newReference(pool *auxdata.Pool, classes int, lambda float64) *reference {
	rng := rand.New(rand.NewPCG(1, 2)) // public and fixed: same plan, same forecast
	n, d := min(pool.Rows(), forecastRows), pool.Dim()
	r := &reference{x: mat.NewDense(n, d, nil), classes: classes, lambda: lambda}
	for i, row := range rng.Perm(pool.Rows())[:n] {
		r.x.SetRow(i, pool.X.RawRowView(row))
		if pool.Weight != nil {
			r.weight = append(r.weight, pool.Weight[row])
		}
	}
	r.p = teach(r.x, classes, rng)
	r.mu = learners.Moments(r.x, freeShares(r.p), r.weight)
	for k := range classes {
		r.majority = math.Max(r.majority, mat.Sum(r.p.ColView(k))/float64(n))
	}
	return r
}

// teach is the class probabilities (N×classes) that a random linear teacher gives
// rows x, whose last column is the intercept.
func teach(x *mat.Dense, classes int, rng *rand.Rand) *mat.Dense {
	n, d := x.Dims()
	columns := learners.Columns(classes)
	w := mat.NewDense(d, columns, nil)
	for j := range d - 1 {
		for k := range columns {
			w.Set(j, k, rng.NormFloat64())
		}
	}
	teacher := learners.Linear{W: w, Classes: classes}
	var scores mat.Dense
	scores.Mul(x, w)
	spread := stat.PopStdDev(scores.RawMatrix().Data, nil)
	want := forecastSpread
	if classes > 2 {
		want = forecastMany
	}
	w.Scale(want/math.Max(spread, 1e-12), w)
	if classes == 2 {
		// Find the intercept that gives class 0 its share.
		low, high := -100.0, 100.0
		for range 60 {
			mid := (low + high) / 2
			w.Set(d-1, 0, mid)
			if mat.Sum(teacher.Probabilities(x).ColView(0))/float64(n) > forecastShare {
				low = mid
			} else {
				high = mid
			}
		}
	}
	return teacher.Probabilities(x)
}

// freeShares is the shares that moments are made of: with two classes one column
// stands for both.
func freeShares(p *mat.Dense) *mat.Dense {
	n, classes := p.Dims()
	if classes > 2 {
		return p
	}
	return mat.DenseCopyOf(p.Slice(0, n, 1, 2))
}

// expected scores a model by its expected accuracy on rows x of class
// probabilities p.
func expected(x, p *mat.Dense) func(learners.Linear) float64 {
	return func(m learners.Linear) float64 {
		total := 0.0
		for i, k := range m.Predict(x) {
			total += p.At(i, k)
		}
		return total / float64(x.RawMatrix().Rows)
	}
}

// accuracyOf is the expected accuracy of the fit to moments.
func (r *reference) accuracyOf(mu *mat.Dense, noise aggregation.Noise, lambda float64) float64 {
	return expected(r.x, r.p)(r.fit(mu, noise, lambda))
}

func (r *reference) fit(mu *mat.Dense, noise aggregation.Noise, lambda float64) learners.Linear {
	rng := rand.New(rand.NewPCG(3, 4))
	return aggregation.FitVotes(r.x, r.weight, r.classes, mu, noise, lambda, rng).Model
}

// released is the mean accuracy under fresh noise, scaled.
func (r *reference) released(noise aggregation.Noise, scale float64) float64 {
	return r.underNoise(noise, scale, forecastDraws, expected(r.x, r.p))
}

// underNoise is the mean score of some fits, each under fresh noise, scaled.
func (r *reference) underNoise(noise aggregation.Noise, scale float64, draws int, score func(learners.Linear) float64) float64 {
	rng := rand.New(rand.NewPCG(5, 6))
	scaled := noise
	scaled.Factor = mat.DenseCopyOf(noise.Factor)
	scaled.Factor.Scale(scale, scaled.Factor)
	total := 0.0
	for range draws {
		var mu mat.Dense
		mu.Add(r.mu, scaled.Draw(learners.Columns(r.classes), rng))
		total += score(r.fit(&mu, scaled, r.lambda))
	}
	return total / float64(draws)
}
