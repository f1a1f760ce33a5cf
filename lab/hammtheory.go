package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/aggregation"
	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classify"
)

// Checks of Hamm, Cao & Belkin 2016, Theorem 4: with λ fixed, the excess risk of a perturbed
// solution falls like (εM)⁻², that of the majority vote does not fall with M, and what the pool's
// size adds falls like 1/N.

// theoryLambda is the plain ridge of all these fits: small enough to fit adult,
// large enough that output-paper's noise reaches the quadratic range.
const theoryLambda = 1e-2

func theoryTasks(l *lab, s hammSet, draw int) []task {
	parties, epsilons, rows := []int{50, 100, 200, 400, 800}, []float64{.5, 1, 2, 4, 8, 16,
		32}, []int{50, 100, 200, 400, 800, 1600}
	if l.Quick {
		parties, epsilons, rows = []int{50, 200}, []float64{2, 8, 32}, []int{50, 200}
	}
	var tasks []task
	for _, m := range parties {
		tasks = append(tasks, task{
			Key: fmt.Sprintf("theory-noise-M%d-draw%d", m, draw),
			Run: func(ctx context.Context, out *results) error {
				return noiseTheory(ctx, l, s, m, draw, epsilons, out)
			},
		})
	}
	tasks = append(tasks, task{
		Key: fmt.Sprintf("theory-pool-draw%d", draw),
		Run: func(ctx context.Context, out *results) error { return poolTheory(ctx, l, s, draw, rows, out) },
	}, task{
		Key: fmt.Sprintf("skew-draw%d", draw),
		Run: func(ctx context.Context, out *results) error { return skewedParties(ctx, l, s, draw, out) },
	})
	if !l.Quick {
		tasks = append(tasks, task{
			Key: fmt.Sprintf("shift-draw%d", draw),
			Run: func(ctx context.Context, out *results) error { return shiftedPool(ctx, l, draw, out) },
		})
	}
	return tasks
}

// voteProblem is the vote risk with a plain ridge.
type voteProblem struct {
	x       *mat.Dense
	classes int
	mu      *mat.Dense
}

func problemOf(x *mat.Dense, counts []float64, classes int, ballots float64) voteProblem {
	n, _ := x.Dims()
	shares := aggregation.SharesOf(counts, n, classes, ballots)
	return voteProblem{x, classes, learners.TargetMoments(x, shares, nil)}
}

func (v voteProblem) solve(lambda float64) ([]float64, error) {
	w, err := aggregation.MinimiseVoteRisk(v.x, nil, v.classes, v.mu, lambda, 1e-8)
	if err != nil {
		return nil, err
	}
	return w.RawMatrix().Data, nil
}

// excess is the risk of w above that of the minimum w0.
func (v voteProblem) excess(w, w0 []float64, lambda float64) float64 {
	return riskAt(v.x, v.classes, v.mu, w, lambda) - riskAt(v.x, v.classes, v.mu, w0, lambda)
}

func floatsOf(v []int64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// winners gives each row's largest class all votes, as majority does.
func winners(t *aggregation.Tally) []float64 {
	w := aggregation.NewTally(t.Rows(), t.Classes())
	votes := make([]int, t.Rows())
	for i := range votes {
		for k := range t.Classes() {
			if t.Count(i, k) > t.Count(i, votes[i]) {
				votes[i] = k
			}
		}
	}
	b, err := aggregation.NewBallot(votes, t.Classes())
	if err == nil {
		err = w.Add(b)
	}
	if err != nil {
		panic(err) // the votes were just made in range
	}
	return floatsOf(w.Vector())
}

func weightsOf(r study.Result) ([]float64, error) {
	c, ok := classifier.Of(r)
	if !ok {
		return nil, errors.New("the release holds no classifier")
	}
	m, err := c.Linear()
	if err != nil {
		return nil, err
	}
	return m.W.RawMatrix().Data, nil
}

func noiseTheory(ctx context.Context, l *lab, s hammSet, parties, draw int, epsilons []float64,
	out *results) error {
	d, err := s.deal(l, parties, draw, 0)
	if err != nil {
		return err
	}
	votes, err := d.tally(privacy.Party)
	if err != nil {
		return err
	}
	classes := votes.Classes()
	soft := problemOf(d.Pool.X, floatsOf(votes.Vector()), classes, float64(votes.Ballots()))
	hard := problemOf(d.Pool.X, winners(votes), classes, 1)
	softBest, err := soft.solve(theoryLambda)
	if err != nil {
		return err
	}
	hardBest, err := hard.solve(theoryLambda)
	if err != nil {
		return err
	}
	for _, e := range epsilons {
		for _, mechanism := range []string{"tally", "output-paper", "majority"} {
			o, score, err := d.release(ctx, study.Proposal{
				Mechanism: mechanism, Unit: privacy.Party, Noise: study.NoiseCoordinator, Epsilon: e, Delta: atHammDelta(), Lambda: theoryLambda,
			})
			if err != nil {
				return err
			}
			p, best := soft, softBest
			if mechanism == "majority" {
				p, best = hard, hardBest
			}
			var w []float64
			if mechanism == "tally" {
				w, err = problemOf(d.Pool.X, floatsOf(o.Published[0].Values), classes,
					float64(votes.Ballots())).solve(theoryLambda)
			} else {
				w, err = weightsOf(o.Release.Result)
			}
			if err != nil {
				return err
			}
			out.add("part", "noise", "set", s.Name, "parties", parties, "epsilon", e, "product",
				e*float64(parties), "draw", draw,
				"method", mechanism, "excess", p.excess(w, best, theoryLambda), "accuracy", score)
		}
	}
	return nil
}

// poolTheory fits the noise-free votes on N rows of the pool and takes the risk on rows that no fit
// saw.
func poolTheory(ctx context.Context, l *lab, s hammSet, draw int, sizes []int, out *results) error {
	large := s
	large.PoolRows = 0
	if l.Quick {
		large.PoolRows = 1000
	}
	d, err := large.deal(l, 100, draw, 0)
	if err != nil {
		return err
	}
	votes, err := d.tally(privacy.Party)
	if err != nil {
		return err
	}
	rows, dims := d.Pool.X.Dims()
	columns := learners.WeightColumns(votes.Classes())
	counts := floatsOf(votes.Vector())
	part := func(from, to int) voteProblem {
		return problemOf(d.Pool.X.Slice(from, to, 0, dims).(*mat.Dense),
			counts[from*columns:to*columns], votes.Classes(), float64(votes.Ballots()))
	}
	unseen := part(rows/2, rows)
	best, err := unseen.solve(theoryLambda)
	if err != nil {
		return err
	}
	for _, n := range sizes {
		if n > rows/2 {
			continue
		}
		// As many disjoint pools as there are, to lower the spread.
		total, pools := 0., 0
		for from := 0; from+n <= rows/2 && pools < 8; from += n {
			if err := ctx.Err(); err != nil {
				return err
			}
			w, err := part(from, from+n).solve(theoryLambda)
			if err != nil {
				return err
			}
			total += unseen.excess(w, best, theoryLambda)
			pools++
		}
		out.add("part", "pool", "set", s.Name, "parties", 100, "draw", draw, "rows", n, "method",
			"unperturbed", "excess", total/float64(pools))
	}
	return nil
}

// skewedParties deals classes unevenly to parties.
func skewedParties(ctx context.Context, l *lab, s hammSet, draw int, out *results) error {
	for _, concentration := range []float64{0, skewed, .1} {
		d, err := s.deal(l, 100, draw, concentration)
		if err != nil {
			return err
		}
		for _, m := range []string{"none", "tally"} {
			_, score, err := d.release(ctx,
				study.Proposal{Mechanism: m, Unit: privacy.Party, Noise: study.NoiseCoordinator,
					Epsilon: 3, Delta: atHammDelta()})
			if err != nil {
				return err
			}
			out.add("part", "skew", "set", s.Name, "parties", 100, "concentration", concentration,
				"epsilon", 3., "draw", draw, "method", m, "accuracy", score)
		}
	}
	return nil
}

// shiftedPool makes a pool of women for parties and tests of men.
func shiftedPool(ctx context.Context, l *lab, draw int, out *results) error {
	data, err := l.records("adult")
	if err != nil {
		return err
	}
	column := slices.IndexFunc(data.Schema.FeatureNames(), func(n string) bool {
		return strings.HasPrefix(n, "sex") && strings.HasSuffix(n, "Female")
	})
	if column < 0 {
		return fmt.Errorf("adult has no feature for women among %v", data.Schema.FeatureNames())
	}
	var women, men, testMen []int
	for i := range data.Train.Len() {
		if data.Train.X.At(i, column) == 1 {
			women = append(women, i)
		} else {
			men = append(men, i)
		}
	}
	for i := range data.Test.Len() {
		if data.Test.X.At(i, column) != 1 {
			testMen = append(testMen, i)
		}
	}
	rng := l.rng(fmt.Sprintf("hamm shift %d", draw))
	rng.Shuffle(len(women), func(i, j int) { women[i], women[j] = women[j], women[i] })
	pool := data.Train.Select(women[:2000])
	for _, n := range []int{12, 200} {
		d, err := newMappedDeal(simulate.Split{
			Schema: data.Schema, Train: data.Train.Select(men).AsTable(), Test: data.Test.Select(testMen).AsTable(), Pool: pool.AsTable(), Parties: n, Seed: rng.Uint64(),
		}, dataset.Components{Project: 40, Analysis: dataset.PCA})
		if err != nil {
			return err
		}
		plans := map[string]study.Proposal{
			"none":  {Mechanism: "none", Unit: privacy.Party, Noise: study.NoiseCoordinator, Lambda: unperturbedLambda},
			"tally": {Mechanism: "tally", Unit: privacy.Party, Noise: study.NoiseCoordinator, Delta: atHammDelta()},
		}
		if n == 12 {
			plans = map[string]study.Proposal{
				"none":             plans["none"],
				"cross":            {Mechanism: "cross", Unit: privacy.Record, Noise: study.NoiseSite, Delta: atHammDelta()},
				"cross and a tilt": {Mechanism: "cross", Unit: privacy.Record, Noise: study.NoiseSite, Delta: atHammDelta(), KindTerms: classifyTerms(classify.Terms{Tilt: true})},
			}
		}
		for _, name := range []string{"none", "tally", "cross", "cross and a tilt"} {
			p, ok := plans[name]
			if !ok {
				continue
			}
			p.Epsilon = 1
			_, score, err := d.release(ctx, p)
			if err != nil {
				return err
			}
			out.add("part", "shift", "set", "adult", "parties", n, "epsilon", 1., "draw", draw,
				"method", name, "accuracy", score)
		}
		pooled := pooledOf(d)
		c := comparison{d: d}
		out.add("part", "shift", "set", "adult", "parties", n, "epsilon", 1., "draw", draw,
			"method", "pooled",
			"accuracy", c.accuracy(learners.NewLinear(pooled.ridgeSolution(nil, 1e-5, nil),
				pooled.Classes)))
	}
	return nil
}

// slope is the least-squares slope of log y on log x over points with 0 < y < ceiling, and how many
// those are.
func slope(points []point, ceiling float64) (float64, int) {
	var x, y []float64
	for _, p := range points {
		if p.Y > 0 && p.Y < ceiling {
			x, y = append(x, math.Log(p.X)), append(y, math.Log(p.Y))
		}
	}
	if len(x) < 2 {
		return math.NaN(), len(x)
	}
	_, b := stat.LinearRegression(x, y, nil, false)
	return b, len(x)
}

// quadratic is the excess risk below which the second order rules; the largest possible is of order
// log 2.
const quadratic = 0.1

func theoryReport(p *page, r *results) error {
	noise := r.where("part", "noise")
	if len(noise.rows) > 0 {
		p.section("Theorem 4: how excess risk falls")
		p.paragraph("Plain ridge %g, fixed; excess of the ridge-penalised vote risk on the pool over its minimum (`majority`: over its own minimum). Slopes of log excess by least squares where it is below %g.", theoryLambda, quadratic)
		f := figure{Title: "excess risk against εM", X: "ε·M", Y: "excess risk", LogX: true,
			LogY: true}
		var rows [][]string
		for _, m := range noise.distinct("method") {
			of := noise.where("method", m)
			c := curveOf(m, of, "product", "excess")
			f.Curves = append(f.Curves, c)
			both, n := slope(c.Points, quadratic)
			ratio, pairs := doubling(of)
			alone, _ := slope(centred(of), math.Inf(1))
			rows = append(rows, []string{m, slopeText(both, n), slopeText(alone, 2),
				fmt.Sprintf("%.2f (%d pairs)", ratio, pairs)})
		}
		p.table([]string{"mechanism", "slope in εM (theorem: −2; majority: none)", "slope in M at equal ε", "excess with more parties over excess with more ε, at equal εM"}, rows)
		if err := p.figure("theorem4", f); err != nil {
			return err
		}
	}
	if pool := r.where("part", "pool"); len(pool.rows) > 0 {
		c := curveOf("vote without noise", pool, "rows", "excess")
		s, n := slope(c.Points, math.Inf(1))
		p.paragraph("The pool's size: excess risk on rows that no fit saw, against N, has slope %.2f (%d sizes; the theorem's term is 1/N).", s, n)
		if err := p.figure("theorem4-pool",
			figure{Title: "excess risk against the pool's rows", X: "N", Y: "excess risk",
				LogX: true, LogY: true, Curves: []curve{c}}); err != nil {
			return err
		}
	}
	if skew := r.where("part", "skew"); len(skew.rows) > 0 {
		p.section("Skewed classes")
		p.paragraph("%s, 100 parties, classes dealt by a Dirichlet law; `tally` at ε = 3.", skew.distinct("set")[0])
		var rows [][]string
		for _, k := range skew.distinct("concentration") {
			at := skew.where("concentration", k)
			name := k
			if k == "0" {
				name = "evenly"
			}
			rows = append(rows, []string{name, at.where("method", "none").over("accuracy").String(),
				at.where("method", "tally").over("accuracy").String()})
		}
		p.table([]string{"concentration", "vote without noise", "tally"}, rows)
	}
	if shift := r.where("part", "shift"); len(shift.rows) > 0 {
		p.section("A shifted pool")
		p.paragraph("adult: the pool holds women only, parties and test records are men; ε = 1; `tally` at party level, `cross` at record level with noise at each site.")
		var rows [][]string
		for _, m := range shift.numbers("parties") {
			for _, method := range shift.where("parties", m).distinct("method") {
				rows = append(rows,
					[]string{cell(m), method,
						shift.where("parties", m, "method", method).over("accuracy").String()})
			}
		}
		p.table([]string{"parties", "method", "accuracy"}, rows)
	}
	return nil
}

// slopeText shows a slope, or that there was too little to fit.
func slopeText(slope float64, points int) string {
	if points < 2 || math.IsNaN(slope) {
		return "too few points"
	}
	return fmt.Sprintf("%.2f", slope)
}

// centred pools the curves in M of all ε: log excess less its mean at that ε, so that one slope
// describes all.
func centred(r *results) []point {
	var out []point
	for _, e := range r.numbers("epsilon") {
		c := curveOf("", r.where("epsilon", e), "parties", "excess").Points
		mean := 0.0
		for _, q := range c {
			mean += math.Log(q.Y) / float64(len(c))
		}
		for _, q := range c {
			out = append(out, point{X: q.X, Y: q.Y / math.Exp(mean)})
		}
	}
	return out
}

// doubling is the geometric mean of excess(kM, ε)/excess(M, kε) over all that was measured, with
// the number of such pairs: 1 where more parties are like more ε.
func doubling(r *results) (float64, int) {
	total, n := 0.0, 0
	parties, epsilons := r.numbers("parties"), r.numbers("epsilon")
	for _, m := range parties {
		for _, e := range epsilons {
			for _, m2 := range parties {
				for _, e2 := range epsilons {
					if m2 <= m || math.Abs(m2*e2/(m*e)-1) > 1e-9 {
						continue
					}
					a := r.where("parties", m2, "epsilon", e2).over("excess")
					b := r.where("parties", m, "epsilon", e).over("excess")
					if a.Mean > 0 && b.Mean > 0 {
						total += math.Log(a.Mean / b.Mean)
						n++
					}
				}
			}
		}
	}
	return math.Exp(total / math.Max(float64(n), 1)), n
}
