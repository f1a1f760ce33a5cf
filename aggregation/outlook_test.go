package aggregation

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/auxdata"
	"caucus/internal/testlevel"
	"caucus/learners"
)

// reference draws records of a reference problem.
type reference struct {
	shares []float64
	auc    float64
	// flat is how flat scores are among directions that are independent within a class:
	// those of the pool are others, as classes differ along them too.
	flat   float64
	far    []float64
	areas  areas
	width  []float64
	scores *mat.Dense // columns' scores × directions, of unit length
	rng    *rand.Rand
}

const referenceDirections = 16

// even are shares of so many classes.
func even(classes int) (shares []float64) {
	for range classes {
		shares = append(shares, 1/float64(classes))
	}
	return shares
}

func newReference(shares []float64, auc, flat float64) *reference {
	k := len(shares)
	r := &reference{shares: shares, auc: auc, flat: flat, far: farOf(shares, 0), rng: rand.New(rand.NewPCG(4, 1))}
	if k > 2 {
		r.areas = areasOf(shares, r.far)
	}
	var variance []float64
	for j := range referenceDirections {
		r.width = append(r.width, .3*math.Pow(.85, float64(j)))
		variance = append(variance, r.width[j]*r.width[j])
	}
	r.scores = mat.NewDense(learners.Columns(k), referenceDirections, nil)
	for c := range learners.Columns(k) {
		for j, share := range (geometry{variance: variance}).spread(flat, k) {
			switch {
			case k == 2:
				r.scores.Set(c, j, math.Sqrt(share))
			case flat == 1: // rows of Hadamard's matrix
				sign := 1.
				for v := c & j; v > 0; v >>= 1 {
					sign *= float64(1 - 2*(v&1))
				}
				r.scores.Set(c, j, sign*math.Sqrt(share))
			case j == c:
				r.scores.Set(c, j, 1)
			}
		}
	}
	return r
}

func (r *reference) teacher(shares []float64) *teacher {
	return newTeacher(shares, r.auc, r.far, r.areas, false)
}

// draw draws so many records.
func (r *reference) draw(n int) (x *mat.Dense, y []int) {
	k, apart := len(r.shares), r.teacher(r.shares).apart
	x, y = mat.NewDense(n, len(r.width)+1, nil), make([]int, n)
	for i := range n {
		class := 0
		for u := r.rng.Float64(); class < k-1 && u >= r.shares[class]; class++ {
			u -= r.shares[class]
		}
		y[i] = class
		for j, w := range r.width {
			mean := 0.
			switch {
			case k > 2:
				mean = r.scores.At(class, j)
			case class == 1:
				mean = r.scores.At(0, j)
			}
			x.Set(i, j, w*(r.rng.NormFloat64()+apart*mean))
		}
		x.Set(i, len(r.width), .7)
	}
	return x, y
}

// outlook is on a pool of those records, and knows where truth lies along its directions.
func (r *reference) outlook(x *mat.Dense, shares []float64, noise Noise) *Outlook {
	o := NewOutlook(&auxdata.Pool{X: x}, Agreement{Shares: shares, Reached: []Reached{{AUC: r.auc}}, Noise: noise})
	p := o.problem(r.teacher(shares), r.flat)
	n, _ := x.Dims()
	features := x.Slice(0, n, 0, len(r.width))
	var along mat.Dense
	along.Mul(features, o.geometry.vectors)
	clear(p.share)
	columns, _ := r.scores.Dims()
	for c := range columns {
		weights := mat.NewVecDense(len(r.width), nil)
		for j, w := range r.width {
			weights.SetVec(j, r.scores.At(c, j)/w)
		}
		var score mat.VecDense
		score.MulVec(features, weights)
		for a := range p.share {
			correlation := stat.Correlation(score.RawVector().Data, mat.Col(nil, a, &along), nil)
			p.share[a] += correlation * correlation / float64(columns)
		}
	}
	floats.Scale(1/floats.Sum(p.share), p.share)
	o.problems[0] = []*problem{p}
	return o
}

// measured are what classifiers came to.
type measured struct{ accuracy, auc []float64 }

func (m *measured) add(model learners.Linear, x *mat.Dense, y []int, classes int) {
	r := learners.Measure(model, x, y, learners.Channel{Classes: classes, Keep: 1})
	m.accuracy, m.auc = append(m.accuracy, r.Accuracy), append(m.auc, r.AUC)
}

// off is how far a number is from a mean, beyond 6 standard errors of it.
func off(said float64, measured []float64) float64 {
	return math.Max(0, math.Abs(said-stat.Mean(measured, nil))-6*stat.StdErr(stat.StdDev(measured, nil), float64(len(measured))))
}

// A forecast is what FitVotes makes of moments under drawn noise, where classes are as the
// reference problem has them: on average within .03, from noise that leaves nothing to
// noise that takes nothing; and eight in ten draws or more lie within .05 of the range,
// which is made for nine. The seed is fixed: it never fails by chance, or always.
func TestReleasedIsWhatFitVotesMakes(t *testing.T) {
	const n, draws, within, around = 2000, 10, .03, .05
	for _, r := range testlevel.Of(t, []*reference{
		newReference([]float64{.5, .5}, .9, 1), newReference([]float64{.5, .5}, .9, -1), newReference([]float64{.8, .2}, .97, -1), newReference([]float64{.75, .25}, .8, -3),
		newReference([]float64{.25, .25, .25, .25}, .9, 1), newReference([]float64{.25, .25, .25, .25}, .9, -3), newReference([]float64{.6, .3, .1}, .9, 1),
		newReference([]float64{.8, .2}, .99, -1), newReference(even(10), .98, 1),
	}, 2) {
		k := len(r.shares)
		x, y := r.draw(n)
		testX, testY := r.draw(n)
		shares := make([]float64, k)
		for _, class := range y {
			shares[class] += 1. / n
		}
		mu := learners.Moments(x, learners.OneHot(y, k), nil)
		for _, sd := range testlevel.Of(t, []float64{.1, .03, .01, .003, .0003}, 2) {
			noise := Isotropic(len(r.width)+1, sd)
			noise.Centred = k > 2
			// So many records leave nothing to sampling.
			got := r.outlook(x, shares, noise).Released(0, Gathered{Parties: 1000, Records: 1000, Scale: 1e12, Draws: 1})[0]
			var m measured
			in := 0.
			for range draws {
				var noisy mat.Dense
				noisy.Add(mu, noise.Draw(learners.Columns(k), r.rng))
				m.add(FitVotes(x, nil, &noisy, noise, FitTerms{Classes: k}, r.rng).Model, testX, testY, k)
				if a := m.accuracy[len(m.accuracy)-1]; got.Low.Accuracy-around <= a && a <= got.High.Accuracy+around {
					in++
				}
			}
			t.Logf("shares %.3g, AUC %.2f, flat %g, noise %g: accuracy %.3f (%.3f to %.3f), drawn %.3f, %.0f of %d in the range; AUC %.3f, drawn %.3f", r.shares, r.auc, r.flat, sd, got.Mid.Accuracy, got.Low.Accuracy, got.High.Accuracy, stat.Mean(m.accuracy, nil), in, draws, got.Mid.AUC, stat.Mean(m.auc, nil))
			if off(got.Mid.Accuracy, m.accuracy) > within || off(got.Mid.AUC, m.auc) > within || in < draws*8/10 {
				t.Errorf("shares %.3g, AUC %.2f, flat %g, noise %g: it is not what was forecast", r.shares, r.auc, r.flat, sd)
			}
		}
	}
}

// A classifier of few records is worth what Trained says, where classes are as the
// reference problem has them: within .04, and .03 of 200 records or more. The seed is fixed.
func TestTrainedIsWhatRecordsTeach(t *testing.T) {
	const draws = 30
	for _, r := range testlevel.Of(t, []*reference{
		newReference([]float64{.5, .5}, .9, 1), newReference([]float64{.75, .25}, .75, 1), newReference([]float64{.5, .5}, .9, -2), newReference([]float64{.75, .25}, .9, -.5),
		newReference([]float64{.25, .25, .25, .25}, .9, 1), newReference([]float64{.8, .15, .05}, .95, 1), newReference([]float64{.7, .2, .1}, .85, 1), newReference(even(8), .95, 1), newReference(even(10), .98, 1),
		newReference([]float64{.8, .2}, .99, -.5), newReference([]float64{.5, .5}, .99, 1),
	}, 2) {
		k := len(r.shares)
		pool, _ := r.draw(2000)
		testX, testY := r.draw(3000)
		o := r.outlook(pool, r.shares, Noise{})
		for _, n := range testlevel.Of(t, []int{24, 60, 200, 1000}, 2) {
			var m measured
			for range draws {
				x, y := r.draw(n)
				model, err := learners.Softmax().Fit(context.Background(), x, y, k, r.rng)
				if err != nil {
					t.Fatal(err)
				}
				m.add(model.(learners.Linear), testX, testY, k)
			}
			got, within := o.Trained(0, float64(n))[0].Mid, .04
			if n >= 200 {
				within = .03
			}
			t.Logf("shares %.3g, AUC %.2f, flat %g, %d records: accuracy %.3f, drawn %.3f; AUC %.3f, drawn %.3f", r.shares, r.auc, r.flat, n, got.Accuracy, stat.Mean(m.accuracy, nil), got.AUC, stat.Mean(m.auc, nil))
			if off(got.Accuracy, m.accuracy) > within || off(got.AUC, m.auc) > within {
				t.Errorf("shares %.3g, AUC %.2f, flat %g, %d records: it is not what was forecast", r.shares, r.auc, r.flat, n)
			}
		}
	}
}

// Who says how many records a classifier had that reached an AUC is told that such a
// classifier reaches it, and, of more than two classes, the accuracy too.
func TestReachedIsReached(t *testing.T) {
	pool, _ := newReference([]float64{.5, .5}, .8, -1).draw(500)
	for _, shares := range [][]float64{{.7, .3}, {.5, .3, .1, .1}} {
		r := Reached{AUC: .82, Records: 150}
		if len(shares) > 2 {
			r.Accuracy = .71
		}
		o := NewOutlook(&auxdata.Pool{X: pool}, Agreement{Shares: shares, Reached: []Reached{r, {AUC: r.AUC}}})
		mean := 0.
		all := o.Trained(0, r.Records)
		for i, got := range all {
			mean += got.Mid.Accuracy / float64(len(all))
			if math.Abs(got.Mid.AUC-r.AUC) > .01 {
				t.Errorf("shares %.3g, place %d: %d records reach AUC %.3f; told %+v", shares, i, int(r.Records), got.Mid.AUC, r)
			}
		}
		if r.Accuracy > 0 && math.Abs(mean-r.Accuracy) > .01 {
			t.Errorf("shares %.3g: %d records reach an accuracy of %.3f; told %+v", shares, int(r.Records), mean, r)
		}
		for _, c := range []struct {
			accuracy float64
			bad      bool
		}{{0, false}, {.71, false}, {.45, true}, {.99, true}} {
			o := NewOutlook(&auxdata.Pool{X: pool}, Agreement{Shares: shares, Reached: []Reached{{AUC: r.AUC, Accuracy: c.accuracy}}})
			if (o.Contradicts() != Consistent) != (c.bad && len(shares) > 2) {
				t.Errorf("shares %.3g, AUC %.3f and accuracy %.2f: contradict %v", shares, r.AUC, c.accuracy, !c.bad)
			}
		}
		for i, got := range o.Trained(0, 1e6) {
			if all := o.Trained(1, 1e6)[i]; got.Mid.AUC <= all.Mid.AUC {
				t.Errorf("shares %.3g, place %d: AUC %.3f of all records where 150 reached it, %.3f where all do", shares, i, got.Mid.AUC, all.Mid.AUC)
			}
		}
	}
}

// Forecasts are numbers, in order, whatever is said of classes, and more parties or records
// are never forecast to be worth less, to a hundredth of a point; nor, of two classes, is
// either end of the range.
func TestOutlookIsOfNumbers(t *testing.T) {
	type told struct {
		features int
		shares   []float64
		said     Reached
		telling  Telling
	}
	var all []told
	for _, features := range []int{1, referenceDirections} {
		for _, shares := range [][]float64{{.7, .3}, {.999, .001}, {.66, .24, .09, .01}, {.9, .09999, 1e-5}} {
			for _, said := range []Reached{{AUC: .5001}, {AUC: .9999}, {AUC: .97, Records: 30}, {AUC: .8, Records: 1e9}} {
				for _, telling := range []Telling{ByRecords, ByVotes, ByDirections} {
					all = append(all, told{features, shares, said, telling})
				}
			}
		}
	}
	r := newReference([]float64{.5, .5}, .8, -1)
	wide, _ := r.draw(300)
	for _, c := range testlevel.Of(t, all, 11) {
		pool := mat.NewDense(300, c.features+1, nil)
		for j := range c.features {
			pool.SetCol(j, mat.Col(nil, j, wide))
		}
		pool.SetCol(c.features, mat.Col(nil, referenceDirections, wide))
		o := NewOutlook(&auxdata.Pool{X: pool}, Agreement{Shares: c.shares, Reached: []Reached{c.said}, Telling: c.telling, Ballots: 1, Noise: Isotropic(c.features+1, 1)})
		if o.Contradicts() != Consistent {
			continue
		}
		check := func(what string, of func(step int) []Range) {
			var last []Range
			for step := range 6 {
				got := of(step)
				for k, v := range got {
					low, mid, high := v.Low, v.Mid, v.High
					for _, x := range [][3]float64{{low.Accuracy, mid.Accuracy, high.Accuracy}, {low.AUC, mid.AUC, high.AUC}} {
						if !(-1e-9 <= x[0] && x[0] <= x[1]+1e-9 && x[1] <= x[2]+1e-9 && x[2] <= 1+1e-9) {
							t.Fatalf("%+v, %s at step %d: %v", c, what, step, x)
						}
					}
					if last == nil {
						continue
					}
					was := last[k]
					falls := func(now, was Worth) bool { return now.Accuracy < was.Accuracy-1e-4 || now.AUC < was.AUC-1e-4 }
					if falls(mid, was.Mid) || len(c.shares) == 2 && (falls(low, was.Low) || falls(high, was.High)) {
						t.Errorf("%+v, %s: at step %d %+v, before %+v", c, what, step, v, was)
					}
				}
				last = got
			}
		}
		check("parties", func(step int) []Range {
			return o.Released(0, Gathered{Parties: 1 << (2 * step), Records: 50, Scale: 1, Draws: 1})
		})
		check("records", func(step int) []Range {
			return o.Released(0, Gathered{Parties: 50, Records: float64(int(1) << (2 * step)), Scale: 1, Draws: 1})
		})
		check("own records", func(step int) []Range { return o.Trained(0, float64(int(1)<<(2*step))) })
	}
}

// Of all there is to know a classifier is as good as the truth, also where a class is rare or
// some are further from the others.
func TestAllRecordsTeachTheTruth(t *testing.T) {
	pool, _ := newReference([]float64{.5, .5}, .8, 1).draw(200)
	for _, shares := range [][]float64{even(2), even(3), even(10), {.9, .1}, {.8, .15, .05}, {.9, .09, .009, .001}} {
		for _, auc := range []float64{.7, .98} {
			o := NewOutlook(&auxdata.Pool{X: pool}, Agreement{Shares: shares, Reached: []Reached{{AUC: auc}}})
			truth := o.Truth(0)
			for i, got := range o.Trained(0, everyRecord) {
				if want := truth[i].Mid; math.Abs(got.Mid.Accuracy-want.Accuracy) > .005 || math.Abs(got.Mid.AUC-want.AUC) > .005 {
					t.Errorf("shares %.3g, AUC %v, place %d: %+v of all records, the truth %+v", shares, auc, i, got.Mid, want)
				}
			}
		}
	}
}

// Noise without end leaves nothing, also where features are nearly the same: no direction of
// the pool is so thin that the others' noise is not looked at.
func TestNoiseWithoutEndLeavesNothing(t *testing.T) {
	wide, _ := newReference([]float64{.5, .5}, .8, -1).draw(300)
	for _, thin := range []float64{1, .01, .0001} {
		pool := mat.NewDense(300, 3, nil)
		for i := range 300 {
			pool.SetRow(i, []float64{wide.At(i, 0), wide.At(i, 0) + thin*wide.At(i, 1), .7})
		}
		o := NewOutlook(&auxdata.Pool{X: pool}, Agreement{Shares: []float64{.5, .5}, Reached: []Reached{{AUC: .9}}, Noise: Isotropic(3, 1)})
		for i, got := range o.Released(0, Gathered{Parties: 10, Records: 100, Scale: 1e12, Draws: 1}) {
			if got.Mid.Accuracy > .51 || got.Mid.AUC > .51 {
				t.Errorf("features that differ by %g, place %d: %+v is left", thin, i, got.Mid)
			}
		}
	}
}
