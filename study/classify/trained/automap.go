package trained

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/aggregation/fitting"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
	"caucus/study/classify"
)

var (
	autoProject = []dataset.ComponentCount{5, 10, 20, 40, 80}
)

var (
	autoWhiten = []float64{0.5, 1}
) // degrees of whitening, tried after 0

const (
	autoTeachers = 4
	autoDraws    = 2 // draws of noise for each teacher (ChooseMap)
	// autoHarm is the loss of mean accuracy that ends the search for components. Chance loses less.
	autoHarm = 0.01
	// autoPlain is the number of components for images, and for mechanisms without a forecast.
	autoPlain = 30
	// autoRows is the fewest pool rows for a forecast; a smaller pool keeps all features.
	autoRows = 20
	// autoPoolRows is the most pool rows that the forecast uses.
	autoPoolRows = 1500
)

// ChooseMap handles plans with "map.project: auto". It returns the number of principal components
// with the best forecast of accuracy under the plan's noise, and, unless c gives it, the best
// degree of whitening.
//
// The forecast (fitting.ReferenceProblem) assumes that the classes of the public pool's rows follow
// random linear models ("teachers") of the encoded columns (for FAMD, each column divided by its
// standard deviation). Half of the rows are for fitting a classifier and half for its accuracy.
// ChooseMap reads only the plan's terms, the public size and x, the N×Dim encoded rows of the
// PUBLIC pool.
func (Results) ChooseMap(p study.Plan, size study.Size, c dataset.Components,
	x *mat.Dense) (dataset.Components, error) {
	c.Analysis = cmp.Or(c.Analysis, dataset.DefaultAnalysis(p.Schema))
	if n, _ := x.Dims(); n < autoRows {
		c.Project = 0
		return c, nil
	}
	plain := c
	plain.Project = autoPlain
	if len(p.Schema.Features) == 1 {
		return plain, nil
	}
	a, err := newAutoMap(p, size, c, x)
	if err != nil {
		return c, err
	}
	best, err := a.best()
	if errors.Is(err, study.ErrNoForecast) {
		return plain, nil
	}
	return best, err
}

type autoMap struct {
	plan      study.Plan
	size      study.Size
	asked     dataset.Components
	fit, test *mat.Dense   // the two halves of the encoded rows
	fitP      []*mat.Dense // each teacher's class probabilities on fit
	testP     []*mat.Dense // class probabilities on test
}

func newAutoMap(p study.Plan, size study.Size, c dataset.Components, x *mat.Dense) (*autoMap,
	error) {
	whole, err := dataset.Components{Analysis: c.Analysis}.Columns(p.Schema, x)
	if err != nil {
		return nil, fmt.Errorf("choose the map: %w", err)
	}
	// a public and fixed seed, so that the same plan gets the same map
	rng := rand.New(rand.NewPCG(7, 8))
	n, d := x.Dims()
	rows := rng.Perm(n)[:min(n, autoPoolRows)]
	half := len(rows) / 2
	sample := mat.NewDense(len(rows), d, nil)
	for i, row := range rows {
		sample.SetRow(i, x.RawRowView(row))
	}
	a := &autoMap{plan: p, size: size, asked: c, fit: part(sample, 0, half),
		test: part(sample, half, len(rows))}
	columns := whole.Features(sample)
	_, width := columns.Dims()
	z := mat.NewDense(len(rows), width+1, nil) // the last column is the intercept
	z.Slice(0, len(rows), 0, width).(*mat.Dense).Copy(columns)
	for i := range rows {
		z.Set(i, width, 1)
	}
	for range autoTeachers {
		t := fitting.TeacherProbabilities(z, len(p.Schema.Classes()), rng)
		a.fitP, a.testP = append(a.fitP, part(t, 0, half)), append(a.testP,
			part(t, half, len(rows)))
	}
	return a, nil
}

func part(x *mat.Dense, from, to int) *mat.Dense {
	_, d := x.Dims()
	return x.Slice(from, to, 0, d).(*mat.Dense)
}

// best adds components until the forecast accuracy falls. Then it tries whitening with the best
// number of components.
func (a *autoMap) best() (dataset.Components, error) {
	var all []candidate
	for _, project := range autoProject {
		c, err := a.candidate(project, a.asked.Whiten)
		if err != nil {
			return a.asked, err
		}
		all = append(all, c)
		// no components are left, or the last ones reduced the accuracy
		if c.outputs < int(project) || c.mean() < top(all).mean()-autoHarm {
			break
		}
	}
	if a.asked.Whiten == 0 {
		project := top(all).Project
		for _, whiten := range autoWhiten {
			c, err := a.candidate(project, whiten)
			if err != nil {
				return a.asked, err
			}
			all = append(all, c)
		}
	}
	return top(all).Components, nil
}

// candidate is one map, with its expected accuracy for each teacher on the test rows.
type candidate struct {
	dataset.Components
	outputs  int // number of components that were found
	accuracy []float64
}

func (c candidate) mean() float64 { return stat.Mean(c.accuracy, nil) }

func top(all []candidate) candidate {
	return slices.MaxFunc(all, func(a, b candidate) int { return cmp.Compare(a.mean(), b.mean()) })
}

func (a *autoMap) candidate(project dataset.ComponentCount, whiten float64) (candidate, error) {
	out := candidate{Components: a.asked}
	out.Project, out.Whiten = project, whiten
	p := a.plan
	plain := out.Components
	plain.Bins = false // the teachers are linear, so the forecast cannot tell what bins are worth
	var err error
	if p.Map, err = plain.Fit(p.Schema, a.fit); err != nil {
		return out, fmt.Errorf("choose the map: %w", err)
	}
	pool := auxdata.NewSimulated(a.fit, p.Map)
	p.Pool, out.outputs = pool.Digest, p.Map.Outputs
	made, err := classify.Kind{}.New(p, pool)
	if err != nil {
		return out, fmt.Errorf("choose the map: %w", err)
	}
	noise, seen, err := finisher{made.(classify.Task)}.forecastNoise(a.size)
	if err != nil {
		return out, err
	}
	test := p.Map.Apply(a.test)
	for i, shares := range a.fitP {
		r := fitting.ReferenceProblem{X: pool.X, Lambda: p.Lambda, Classes: len(p.Schema.Classes())}
		r.Mu = learners.TargetMoments(r.X, fitting.IndependentColumns(shares), nil)
		if seen != nil {
			r.Mu = seen(r.Mu)
		}
		out.accuracy = append(out.accuracy,
			r.MeanScoreUnderNoise(noise, 1, autoDraws, fitting.ExpectedAccuracy(test, a.testP[i])))
	}
	return out, nil
}
