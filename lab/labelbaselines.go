package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/fitting"
	"caucus/aggregation/ratio"
	"caucus/learners"
)

// labelCounter estimates class shares from a classifier trained on every
// record's label: more than sets with counts give, so it is a reference only.
type labelCounter struct {
	model   learners.Linear
	rates   *mat.Dense // c×c: P(predicted i | class j), by cross-validation
	prior   []float64  // training shares
	classes int
}

// counterFolds of cross-validation for the rates.
const counterFolds = 5

// newLabelCounter trains softmax regression on all records with their labels.
func newLabelCounter(x *mat.Dense, y []int, classes int, rng *rand.Rand) (*labelCounter, error) {
	fit := func(rows []int) (learners.Linear, error) {
		learner, err := learners.New("softmax")
		if err != nil {
			return learners.Linear{}, err
		}
		labels := make([]int, len(rows))
		for i, r := range rows {
			labels[i] = y[r]
		}
		m, err := learner.Fit(context.Background(), withIntercept(rowsOf(x, rows)), labels, classes,
			rng)
		if err != nil {
			return learners.Linear{}, fmt.Errorf("label baselines: %w", err)
		}
		linear, ok := m.(learners.Linear)
		if !ok {
			return learners.Linear{}, fmt.Errorf("label baselines: softmax is a %T, not linear", m)
		}
		return linear, nil
	}
	n := len(y)
	order := rng.Perm(n)
	c := &labelCounter{classes: classes, prior: ratio.SharesOfLabels(y, nil, classes),
		rates: mat.NewDense(classes, classes, nil)}
	totals := make([]float64, classes)
	for f := range counterFolds {
		var train, held []int
		for i, r := range order {
			if i%counterFolds == f {
				held = append(held, r)
			} else {
				train = append(train, r)
			}
		}
		m, err := fit(train)
		if err != nil {
			return nil, err
		}
		for i, k := range m.Predict(withIntercept(rowsOf(x, held))) {
			c.rates.Set(k, y[held[i]], c.rates.At(k, y[held[i]])+1)
			totals[y[held[i]]]++
		}
	}
	for j, total := range totals {
		for i := range classes {
			c.rates.Set(i, j, c.rates.At(i, j)/max(total, 1))
		}
	}
	var err error
	c.model, err = fit(order)
	return c, err
}

// withIntercept adds a column of ones.
func withIntercept(x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n, d+1, nil)
	for i := range n {
		copy(out.RawRowView(i), x.RawRowView(i))
		out.Set(i, d, 1)
	}
	return out
}

func rowsOf(x *mat.Dense, rows []int) *mat.Dense {
	_, d := x.Dims()
	out := mat.NewDense(len(rows), d, nil)
	for i, r := range rows {
		copy(out.RawRowView(i), x.RawRowView(r))
	}
	return out
}

func (c *labelCounter) count(x *mat.Dense) []float64 {
	return ratio.SharesOfLabels(c.model.Predict(withIntercept(x)), nil, c.classes)
}

// adjusted is adjusted count (Forman 2008; Hopkins & King 2010 for many
// classes): the shares that the classifier's rates turn into its counts.
func (c *labelCounter) adjusted(x *mat.Dense) []float64 {
	var shares mat.VecDense
	if err := shares.SolveVec(c.rates, mat.NewVecDense(c.classes, c.count(x))); err != nil {
		return c.count(x) // the rates tell classes not apart
	}
	raw := shares.RawVector().Data
	for _, v := range raw {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return c.count(x)
		}
	}
	return fitting.ProjectSimplex(raw, 1)
}

// emq is the expectation maximisation of Saerens, Latinne & Decaestecker 2002.
func (c *labelCounter) emq(x *mat.Dense) []float64 {
	posterior := c.model.Probabilities(withIntercept(x))
	n, _ := posterior.Dims()
	shares := append([]float64{}, c.prior...)
	for range 1000 {
		next := make([]float64, c.classes)
		for i := range n {
			sum := 0.
			for k := range c.classes {
				sum += posterior.At(i, k) * shares[k] / max(c.prior[k], 1e-12)
			}
			for k := range c.classes {
				next[k] += posterior.At(i, k) * shares[k] / max(c.prior[k],
					1e-12) / sum / float64(n)
			}
		}
		moved := 0.
		for k := range next {
			moved += math.Abs(next[k] - shares[k])
		}
		if shares = next; moved < 1e-8 {
			break
		}
	}
	return shares
}
