package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
)

// comparison measures all methods on one draw of one set at one unit.
type comparison struct {
	l        *lab
	set      hammSet
	unit     privacy.Unit
	parties  int // sites at record level; 0: the natural parties
	skew     float64
	draw     int
	epsilons []float64
	distant  bool // measure far too
	out      *results

	ctx    context.Context
	d      *mappedDeal
	shards int
	rng    *rand.Rand
}

// deal makes the draw that all methods meet.
func (c *comparison) deal(ctx context.Context) error {
	var err error
	c.ctx = ctx
	c.d, err = c.set.deal(c.l, c.parties, c.draw, c.skew)
	return err
}

func (c *comparison) run(ctx context.Context) error {
	err := c.deal(ctx)
	if err != nil {
		return err
	}
	c.rng = c.l.rng(fmt.Sprintf("hamm rivals %s %v %d %g %d", c.set.Name, c.unit, c.parties, c.skew,
		c.draw))
	c.shards = 1
	if c.unit == privacy.Record {
		sites := len(c.d.Parties)
		c.shards = max(1, min(shardsInAll/sites, c.d.Private.Len()/(sites*shardSize)))
	}
	if err := c.references(); err != nil {
		return err
	}
	if c.unit == privacy.Party {
		err = c.party()
	} else {
		err = c.record()
	}
	return err
}

// add writes a line. ε = 0 is a reference without a budget.
func (c *comparison) add(method string, epsilon, accuracy, bytes float64) {
	natural := "random"
	if c.parties == 0 {
		natural = "natural"
	} else if c.unit == privacy.Record {
		natural = partition(c.skew)
	}
	pairs := []any{"set", c.set.Name, "unit", c.unit, "parties", len(c.d.Parties), "partition",
		natural, "draw", c.draw, "method", method}
	if epsilon > 0 {
		pairs = append(pairs, "epsilon", epsilon)
	} else {
		pairs = append(pairs, "epsilon", "")
	}
	pairs = append(pairs, "accuracy", accuracy)
	if bytes > 0 {
		pairs = append(pairs, "bytes", math.Round(bytes))
	} else {
		pairs = append(pairs, "bytes", "")
	}
	c.out.add(pairs...)
}

// accuracy of a linear model on the test records.
func (c *comparison) accuracy(m learners.Linear) float64 { return c.right(m.Predict(c.d.TestX)) }

func (c *comparison) right(predicted []int) float64 { return rightShare(predicted, c.d.TestY) }

// references: the vote without noise, pooled, one party alone, majority class.
func (c *comparison) references() error {
	vote, err := c.unperturbed(1)
	if err != nil {
		return err
	}
	c.add("unperturbed", 0, vote, 0)
	if c.shards > 1 {
		if vote, err = c.unperturbed(c.shards); err != nil {
			return err
		}
		c.add("unperturbed shards", 0, vote, 0)
	}
	pooled := pooledOf(c.d)
	c.add("pooled", 0, c.accuracy(learners.NewLinear(pooled.ridgeSolution(nil, 1e-5, nil),
		pooled.Classes)), 0)
	alone, err := c.d.alone(maxAlone)
	if err != nil {
		return err
	}
	c.add("one party alone", 0, alone, 0)
	c.add("majority class", 0, c.d.Majority(), 0)
	return nil
}

// unperturbedLambda is the last of the search that auto makes: without noise it ends there.
const unperturbedLambda = 1e-6

func (c *comparison) unperturbed(shards int) (float64, error) {
	_, accuracy, err := c.d.release(c.ctx, study.Proposal{
		Mechanism: "none", Unit: c.unit, Noise: study.NoiseCoordinator, Epsilon: 1, KindTerms: classifyTerms(classify.Terms{Shards: shards}), Lambda: unperturbedLambda,
	})
	return accuracy, err
}

// release measures one of Caucus's mechanisms at every ε.
func (c *comparison) release(method string, s study.Proposal) error {
	s.Unit = c.unit
	for _, e := range c.epsilons {
		score, bytes, err := c.at(s, e)
		if err != nil {
			return fmt.Errorf("%s at ε=%g: %w", method, e, err)
		}
		c.add(method, e, score, bytes)
	}
	return nil
}

func (c *comparison) at(s study.Proposal, epsilon float64) (score, bytes float64, err error) {
	s.Epsilon = epsilon
	run, score, err := c.d.release(c.ctx, s)
	return score, run.UploadBytes, err
}

// oracle measures a mechanism that fixes λ beforehand at its best λ on the test
// records. gain multiplies ε: noise of the same shape under a tighter bound.
func (c *comparison) oracle(method string, s study.Proposal, gain float64) error {
	s.Unit = c.unit
	for _, e := range c.epsilons {
		top, sent := 0., 0.
		for _, lambda := range oracleLambdas {
			s.Lambda = lambda
			score, bytes, err := c.at(s, e*gain)
			if err != nil {
				return fmt.Errorf("%s at ε=%g: %w", method, e, err)
			}
			top, sent = max(top, score), bytes
		}
		c.add(method, e, top, sent)
	}
	return nil
}

// party measures everything at party level.
func (c *comparison) party() error {
	central := study.Proposal{Noise: study.NoiseCoordinator}
	tally, means, pure, moment, output, paper, majority := central, central, central, central,
		central, central, central
	tally.Mechanism, tally.Delta = "tally", atHammDelta()
	means.Mechanism, means.Delta = "means", atHammDelta()
	pure.Mechanism = "means"
	moment.Mechanism, output.Mechanism, paper.Mechanism = "moment", "output", "output-paper"
	majority.Mechanism = "majority"
	loose := output
	loose.KindTerms = classifyTerms(classify.Terms{Bound: "paper"})
	for _, m := range []struct {
		name string
		of   study.Proposal
	}{
		{"tally", tally}, {"means", means}, {"means, pure ε", pure}, {"moment", moment}, {"output", output}, {"output, paper's bound", loose},
		{"output-paper", paper}, {"majority", majority},
	} {
		if err := c.release(m.name, m.of); err != nil {
			return err
		}
	}
	if err := c.oracle("output-paper, oracle λ", paper, 1); err != nil {
		return err
	}
	// The tight bound allows 2/r times less noise; see study's output.
	tight := 2 / aggregation.BallotReach(c.d.Pool.X, nil)
	if err := c.oracle("output-paper, tight bound, oracle λ", paper, tight); err != nil {
		return err
	}
	if err := c.pate(); err != nil {
		return err
	}
	if err := c.fedAvg(); err != nil {
		return err
	}
	if c.distant {
		return c.far()
	}
	return nil
}

// pate trains a student on the answered rows of the pool, as parties train.
func (c *comparison) pate() error {
	votes, err := c.d.tally(c.unit)
	if err != nil {
		return err
	}
	for _, e := range c.epsilons {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		labels, _ := pateLabels(votes, privacy.Budget{Epsilon: e, Delta: hammDelta}, c.rng)
		m, err := learners.Softmax().Fit(c.ctx, c.d.Pool.X, labels, votes.Classes(), c.rng)
		if err != nil {
			return err
		}
		c.add("PATE", e, c.right(m.Predict(c.d.TestX)),
			float64(votes.Rows())*math.Ceil(math.Log2(float64(votes.Classes())))/8)
	}
	return nil
}

func (c *comparison) fedAvg() error {
	pooled := pooledOf(c.d)
	space := coordinatesOf(c.d.Pool.X, rivalRidge, pooled.Classes)
	records := space.records(pooled)
	for _, e := range c.epsilons {
		top, once, sent := 0., 0., 0.
		grid := fedAvgGrid(space, c.l.Quick)
		for i, f := range grid {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			m := f.train(records, c.d.Parties, privacy.Budget{Epsilon: e, Delta: hammDelta}, c.rng)
			score := c.accuracy(space.back(m))
			if score > top {
				top, sent = score, float64(f.Rounds*pooled.weights()*4) // single precision
			}
			if f.Rounds == 1 {
				once = max(once, score)
			}
			if i == len(grid)/2 {
				c.add("DP-FedAvg", e, score, float64(f.Rounds*pooled.weights()*4))
			}
		}
		c.add("DP-FedAvg, one round, oracle clip", e, once, float64(pooled.weights()*4))
		c.add("DP-FedAvg, oracle rounds and clip", e, top, sent)
	}
	return nil
}

// far measures the published mechanism and tally beyond the useful budgets, to
// learn how many times tally's ε the former needs.
func (c *comparison) far() error {
	c.epsilons = farEpsilons[:1]
	central := study.Proposal{Noise: study.NoiseCoordinator, Delta: atHammDelta(),
		Mechanism: "tally"}
	if err := c.release("tally", central); err != nil {
		return err
	}
	c.epsilons = farEpsilons
	central.Mechanism, central.Delta = "output-paper", nil
	return c.oracle("output-paper, oracle λ", central, 1)
}

// rivalRidge evens out directions of the pool with a curvature above it.
const rivalRidge = 1e-3

// record measures everything at record level.
func (c *comparison) record() error {
	site, central := study.Proposal{Noise: study.NoiseSite},
		study.Proposal{Noise: study.NoiseCoordinator}
	cross, crossCentral, pure := site, central, site
	cross.Mechanism, cross.Delta = "cross", atHammDelta()
	crossCentral.Mechanism, crossCentral.Delta = "cross", atHammDelta()
	pure.Mechanism = "cross"
	shards, shardsSite, moment, paper := central, site, central, central
	dealt := classifyTerms(classify.Terms{Shards: c.shards})
	shards.Mechanism, shards.Delta, shards.KindTerms = "tally", atHammDelta(), dealt
	shardsSite.Mechanism, shardsSite.Delta, shardsSite.KindTerms = "tally", atHammDelta(), dealt
	moment.Mechanism, moment.KindTerms = "moment", dealt
	paper.Mechanism, paper.KindTerms = "output-paper", dealt
	for _, m := range []struct {
		name string
		of   study.Proposal
	}{
		{"cross", cross}, {"cross, noise added once", crossCentral}, {"cross, pure ε", pure},
		{"tally on shards", shardsSite}, {"tally on shards, noise added once", shards},
		{"moment on shards, noise added once", moment},
	} {
		if err := c.release(m.name, m.of); err != nil {
			return err
		}
	}
	if err := c.oracle("output-paper on shards, oracle λ", paper, 1); err != nil {
		return err
	}
	return c.recordRivals()
}

// recordRivals: gradient descent and perturbed solutions on the records.
func (c *comparison) recordRivals() error {
	pooled := pooledOf(c.d)
	n := len(pooled.Y)
	rounds, epochs, lambdas := []int{5, 25}, []int{1, 5}, []float64{1e-4, 1e-3, 1e-2, 1e-1}
	ridges := []float64{math.Inf(1), 1e-2, rivalRidge}
	if c.l.Quick {
		rounds, epochs, lambdas, ridges = []int{10}, []int{3}, []float64{1e-3,
			1e-2}, []float64{rivalRidge}
	}
	var spaces []coordinates
	var records []labelled
	for _, ridge := range ridges {
		s := coordinatesOf(c.d.Pool.X, ridge, pooled.Classes)
		spaces, records = append(spaces, s), append(records, s.records(pooled))
	}
	solutions := map[float64][]float64{}
	bySite := map[float64][][]float64{}
	smallest := n
	for _, lambda := range lambdas {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		solutions[lambda] = pooled.ridgeSolution(nil, lambda, nil)
		for _, rows := range c.d.Parties {
			smallest = min(smallest, len(rows))
			w := make([]float64, pooled.weights())
			if len(rows) > 0 {
				w = pooled.ridgeSolution(rows, lambda, nil)
			}
			bySite[lambda] = append(bySite[lambda], w)
		}
	}
	bytes := float64(pooled.weights() * 4)
	for _, e := range c.epsilons {
		b := privacy.Budget{Epsilon: e, Delta: hammDelta}
		var models []learners.Linear
		for _, sites := range []int{1, len(c.d.Parties)} {
			name := "DP-FedAvg at sites, oracle rounds"
			if sites == 1 {
				name = "DP-FedAvg, noise added once, oracle rounds"
			}
			models = nil
			for i, s := range spaces {
				for _, r := range rounds {
					if err := c.ctx.Err(); err != nil {
						return err
					}
					models = append(models,
						s.back(fedSGD{Rounds: r, Rate: s.rate, Sites: sites}.train(records[i], b,
							c.rng)))
				}
			}
			c.add(name, e, best(c.accuracy, models...), bytes*float64(rounds[len(rounds)-1]))
		}
		models = nil
		for i, s := range spaces {
			for _, k := range epochs {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				models = append(models,
					s.back(dpSGD{Batch: 512, Epochs: k, Rate: s.rate / 2}.train(records[i], b,
						c.rng)))
			}
		}
		c.add("DP-SGD pooled, oracle epochs", e, best(c.accuracy, models...), 0)
		models = nil
		for _, lambda := range lambdas {
			models = append(models,
				pooled.outputPerturbation(solutions[lambda], n, lambda, e, c.rng))
		}
		c.add("output perturbation pooled, oracle λ", e, best(c.accuracy, models...), 0)
		if pooled.Classes == 2 {
			models = nil
			for _, lambda := range lambdas {
				models = append(models, pooled.objectivePerturbation(lambda, e, c.rng))
			}
			c.add("objective perturbation pooled, oracle λ", e, best(c.accuracy, models...), 0)
		}
		models = nil
		for _, lambda := range lambdas {
			models = append(models, pooled.pathak(bySite[lambda], smallest, lambda, e, c.rng))
		}
		c.add("Pathak et al., oracle λ", e, best(c.accuracy, models...), bytes)
	}
	return nil
}

// risk is the pool's risk of a model at vote moments, without ridge.
func riskAt(x *mat.Dense, classes int, mu *mat.Dense, w []float64, ridge float64) float64 {
	r := &learners.SoftmaxRisk{X: x, Mu: mu, Ridge: ridge, Classes: classes}
	return r.Evaluate(w, make([]float64, r.Dim()))
}
