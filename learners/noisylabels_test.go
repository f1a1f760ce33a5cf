package learners

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func labelProblem(seed uint64, n, d, classes int) (*mat.Dense, []int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	x, y := mat.NewDense(n, d, nil), make([]int, n)
	for i := range n {
		y[i] = rng.IntN(classes)
		for j := range d - 1 {
			x.Set(i, j, rng.NormFloat64()/2+0.4*float64((y[i]+j)%classes))
		}
		x.Set(i, d-1, 0.7)
	}
	return x, y
}

// dumbRisk adds up the documented sums, pair by pair.
func dumbRisk(x *mat.Dense, y []int, classes int, yes, no func(float64) float64,
	costs []ClassWeights,
	w []float64, rank bool) float64 {
	n, d := x.Dims()
	columns := WeightColumns(classes)
	total := 0.0
	for k, c := range costs {
		class := k
		if classes == 2 {
			class = 1
		}
		s := make([]float64, n)
		for i := range s {
			for j := range d {
				s[i] += x.At(i, j) * w[j*columns+k]
			}
		}
		if !rank {
			for i := range s {
				cost := c.of(y[i] == class)
				total += (cost.Positive*yes(s[i]) + cost.Negative*no(s[i])) / float64(n)
			}
			continue
		}
		sum, a, b := 0.0, 0.0, 0.0
		for i := range s {
			a += c.of(y[i] == class).Positive
			b += c.of(y[i] == class).Negative
			for j := range s {
				sum += c.of(y[i] == class).Positive * c.of(y[j] == class).Negative * yes(s[i]-s[j])
			}
		}
		total += sum / (a * b)
	}
	return total
}

func checkSlopes(t *testing.T, name string, o Objective, w []float64, tol float64) {
	t.Helper()
	grad, other := make([]float64, o.Dim()), make([]float64, o.Dim())
	o.Evaluate(w, grad)
	const h = 1e-6
	for j := range w {
		up, down := append([]float64{}, w...), append([]float64{}, w...)
		up[j] += h
		down[j] -= h
		want := (o.Evaluate(up, other) - o.Evaluate(down, other)) / (2 * h)
		if math.Abs(want-grad[j]) > tol*(1+math.Abs(want)) {
			t.Errorf("%s: derivative %d is %g, difference %g", name, j, grad[j], want)
		}
	}
}

// TestLabelRisks: for every loss, risk and kind of cost, values equal the dumb sums and gradients
// equal differences. With fewer rows than shifts, all pairs i ≠ j are drawn; pairs i = j add a
// constant.
func TestLabelRisks(t *testing.T) {
	const n, d = 17, 4 // no more rows than rankShifts + 1
	for _, classes := range []int{2, 3} {
		channel := LabelChannel{Keep: 0.7, Classes: classes}
		x, y := labelProblem(3, n, d, classes)
		for _, l := range Losses() {
			if l.Name() == "barrier-hinge" {
				l = BarrierHinge(BarrierParameters{Slope: 7, Width: 1.5}) // reaches kinks
			}
			smooth := l.Smooth()
			opposite := func(z float64) float64 { return smooth.Value(-z) }
			for _, costs := range map[string]ClassWeights{"plain": PlainWeights(),
				"backward": BackwardWeights(channel),
				"balanced": BackwardWeights(channel).Balanced(0.2)} {
				all := make([]ClassWeights, WeightColumns(classes))
				for k := range all {
					all[k] = costs
				}
				rng := rand.New(rand.NewPCG(8, 8))
				w := make([]float64, d*len(all))
				for j := range w {
					w[j] = 2 * rng.NormFloat64()
				}
				margin, err := NewMarginRisk(x, y, classes, l, all, nil)
				if err != nil {
					t.Fatal(err)
				}
				margin.Ridge = 0.3
				ridge := ridged(0.3, w, make([]float64, len(w)))
				want := ridge + dumbRisk(x, y, classes, smooth.Value, opposite, all, w, false)
				if got := margin.Evaluate(w,
					make([]float64, len(w))); math.Abs(got-want) > 1e-10*(1+math.Abs(want)) {
					t.Errorf("%s, margin: %.12g, want %.12g", l.Name(), got, want)
				}
				checkSlopes(t, l.Name()+" margin", margin, w, 1e-5)

				r, err := NewRankRisk(x, y, classes, l, all, rng)
				if err != nil {
					t.Fatal(err)
				}
				r.Ridge = 0.3
				want = ridge + dumbRisk(x, y, classes, smooth.Value, nil, all, w, true)
				got := r.Evaluate(w, make([]float64, len(w)))
				if l.pieces == nil && !l.square {
					zero := make([]float64, len(w))
					want -= dumbRisk(x, y, classes, smooth.Value, nil, all, zero, true)
					got -= r.Evaluate(zero, make([]float64, len(w)))
				}
				if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
					t.Errorf("%s, rank, %d classes: %.12g, want %.12g", l.Name(), classes, got,
						want)
				}
				checkSlopes(t, l.Name()+" rank", r, w, 1e-5)
			}
			if l.CheckForward() != nil {
				continue
			}
			all := make([]ClassWeights, WeightColumns(classes))
			for k := range all {
				all[k] = PlainWeights()
			}
			risk, err := NewMarginRisk(x, y, classes, l, all, &channel)
			if err != nil {
				t.Fatal(err)
			}
			w := make([]float64, d*len(all))
			for j := range w {
				w[j] = float64(j%3) - 0.8
			}
			checkSlopes(t, l.Name()+" forward", risk, w, 1e-5)
			plain, _ := NewMarginRisk(x, y, classes, l, all, nil)
			clear, _ := NewMarginRisk(x, y, classes, l, all,
				&LabelChannel{Keep: 1, Classes: classes})
			a, b := plain.Evaluate(w, make([]float64, len(w))), clear.Evaluate(w,
				make([]float64, len(w)))
			if math.Abs(a-b) > 1e-9 {
				t.Errorf("%s: forward through no noise is %g, want %g", l.Name(), b, a)
			}
		}
	}
}

// TestForwardIsTheMixedLoss: for two and more classes the forward-corrected risk equals the dumb
// sum of losses of probabilities mixed as the channel mixes labels, each loss written as a function
// of a probability.
func TestForwardIsTheMixedLoss(t *testing.T) {
	logistic := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	for name, l := range map[string]struct {
		probability func(z float64) float64
		loss        func(p float64) float64 // of the probability of the true label
	}{
		"logistic": {logistic, func(p float64) float64 { return -math.Log(p) }},
		"squared":  {func(z float64) float64 { return (1 + z) / 2 }, func(p float64) float64 { return 4 * (1 - p) * (1 - p) }},
		"savage":   {func(z float64) float64 { return logistic(2 * z) }, func(p float64) float64 { return (1 - p) * (1 - p) }},
	} {
		for _, c := range []LabelChannel{{Keep: 0.6, Classes: 2}, {Keep: 0.45, Classes: 3},
			{Keep: 0.2, Classes: 10}} {
			x, y := labelProblem(9, 30, 3, c.Classes)
			loss, err := FindLoss(name)
			if err != nil {
				t.Fatal(err)
			}
			costs := make([]ClassWeights, WeightColumns(c.Classes))
			for k := range costs {
				costs[k] = PlainWeights()
			}
			risk, err := NewMarginRisk(x, y, c.Classes, loss, costs, &c)
			if err != nil {
				t.Fatal(err)
			}
			w := make([]float64, 3*len(costs))
			for j := range w {
				w[j] = 0.4 * float64(j%4-1)
			}
			want := 0.0
			for k := range costs {
				class := k
				if c.Classes == 2 {
					class = 1
				}
				for i := range y {
					s := 0.0
					for j := range 3 {
						s += x.At(i, j) * w[j*len(costs)+k]
					}
					p := l.probability(s)
					p = c.Keep*p + c.Flip()*(1-p) // probability that the noisy label is the class
					if y[i] != class {
						p = 1 - p
					}
					want += l.loss(p) / float64(len(y))
				}
			}
			if got := risk.Evaluate(w,
				make([]float64, len(w))); math.Abs(got-want) > 1e-9*(1+want) {
				t.Errorf("%s, %d classes: %.12g, want %.12g", name, c.Classes, got, want)
			}
		}
	}
}

// TestBackwardIsUnbiased: in expectation over the channel, the backward cost is the plain cost, for
// every loss and class.
func TestBackwardIsUnbiased(t *testing.T) {
	for _, c := range []LabelChannel{{0.6, 2}, {0.9, 2}, {0.4, 3}, {0.15, 10}} {
		cost := BackwardWeights(c)
		for _, of := range []struct {
			name    bool // the true label is the class
			in, out float64
			want    LossWeights
		}{{true, c.Keep, 1 - c.Keep, LossWeights{Positive: 1}},
			{false, c.Flip(), 1 - c.Flip(), LossWeights{Negative: 1}}} {
			got := LossWeights{of.in*cost.InClass.Positive + of.out*cost.OutOfClass.Positive,
				of.in*cost.InClass.Negative + of.out*cost.OutOfClass.Negative}
			if math.Abs(got.Positive-of.want.Positive)+math.Abs(
				got.Negative-of.want.Negative) > 1e-12 {
				t.Errorf("%+v: expected cost %+v, want %+v", c, got, of.want)
			}
		}
	}
}

// TestOneSided: for symmetric losses the cost is the same up to a constant, with positive weights
// in the stated ratio.
func TestOneSided(t *testing.T) {
	for _, c := range []LabelChannel{{0.7, 2}, {0.5, 4}} {
		both := BackwardWeights(c)
		one := both.OneSided()
		p, q := c.Keep, c.Flip()
		if got, want := one.InClass.Positive/one.OutOfClass.Negative,
			(2-p-q)/(p+q); math.Abs(got-want) > 1e-12 ||
			one.InClass.Negative != 0 || one.OutOfClass.Positive != 0 {
			t.Errorf("%+v: one-sided %+v, want Yes:No = %g", c, one, want)
		}
		l, _ := FindLoss("sigmoid")
		for _, in := range []bool{true, false} {
			at := func(c LossWeights, z float64) float64 {
				return c.Positive*l.Value(z) +
					c.Negative*l.Value(-z)
			}
			rest := at(both.of(in), 0) - at(one.of(in), 0)
			for _, z := range []float64{-3, -0.5, 2} {
				if got := at(both.of(in), z) - at(one.of(in), z); math.Abs(got-rest) > 1e-12 {
					t.Errorf("%+v: differs by %g at %g, by %g at 0", c, got, z, rest)
				}
			}
		}
	}
}

// TestSymmetricIsRobust: for a symmetric loss and two classes the risk of noisy labels, in
// expectation over the channel, is (2p−1) times the true risk plus a constant, so it has the same
// minimiser. For logistic this fails.
func TestSymmetricIsRobust(t *testing.T) {
	const p = 0.65
	for _, l := range Losses() {
		s := l.Smooth()
		var rest []float64
		for _, z := range []float64{-0.9, -0.2, 0, 0.4, 0.95} {
			noisy := p*s.Value(z) + (1-p)*s.Value(-z)
			rest = append(rest, noisy-(2*p-1)*s.Value(z))
		}
		flat := true
		for _, v := range rest {
			flat = flat && math.Abs(v-rest[0]) < 1e-9*(1+math.Abs(v))
		}
		if flat != l.Symmetric() {
			t.Errorf("%s: what the noise leaves is %v", l.Name(), rest)
		}
	}
}

func TestSmoothLosses(t *testing.T) {
	for _, l := range Losses() {
		s := l.Smooth()
		if l.pieces == nil {
			continue
		}
		for z := -120.0; z <= 120; z += 0.37 {
			if p := l.pieces; true {
				v := p.level + p.slope*z
				for _, k := range p.kinks {
					v += k.turn * math.Max(0, z-k.at)
				}
				if math.Abs(v-l.Value(z)) > 1e-9*(1+math.Abs(v)) {
					t.Fatalf("%s: pieces give %g at %g, value %g", l.Name(), v, z, l.Value(z))
				}
			}
			// The mean over a window of width τ, by Simpson's rule on 400 steps.
			const steps = 400
			mean := 0.0
			for i := range steps {
				mean += l.Value(z + l.pieces.width*((float64(i)+0.5)/steps-0.5))
			}
			if mean /= steps; math.Abs(mean-s.Value(z)) > 2e-3*(1+math.Abs(mean)) {
				t.Errorf("%s at %g: smooth %g, mean %g", l.Name(), z, s.Value(z), mean)
			}
			if s.Symmetric() && math.Abs(z) <= s.SymmetricReach() &&
				math.Abs(s.Value(z)+s.Value(-z)-2*s.Value(0)) > 1e-9*s.Value(0) {
				t.Errorf("%s is not symmetric at %g once smooth", l.Name(), z)
			}
		}
	}
}

// TestMeasures compares with counting by hand. Through a channel the mean of 200 noisy measures is
// within 5 standard errors of the true ones (false alarms 1e-6, at a fixed seed).
func TestMeasures(t *testing.T) {
	x, y := labelProblem(5, 400, 4, 3)
	rng := rand.New(rand.NewPCG(2, 2))
	w := make([]float64, 12)
	for j := range w {
		w[j] = rng.NormFloat64()
	}
	m := NewLinear(w, 3)
	clear := MeasureScores(m, x, y, LabelChannel{Keep: 1, Classes: 3})
	right, recall := 0.0, [3]float64{}
	counts := [3]float64{}
	for i, k := range m.Predict(x) {
		counts[y[i]]++
		if k == y[i] {
			right++
			recall[k]++
		}
	}
	if math.Abs(clear.Accuracy-right/400) > 1e-12 {
		t.Errorf("accuracy %g, want %g", clear.Accuracy, right/400)
	}
	if want := 1 - (recall[0]/counts[0]+recall[1]/counts[1]+recall[2]/counts[2])/3; math.Abs(clear.BER-want) > 1e-12 {
		t.Errorf("BER %g, want %g", clear.BER, want)
	}
	area := 0.0
	s := m.Probabilities(x)
	for k := range 3 {
		pairs, won := 0.0, 0.0
		for i := range y {
			for j := range y {
				if y[i] != k || y[j] == k {
					continue
				}
				pairs++
				switch a, b := s.At(i, k), s.At(j, k); {
				case a > b:
					won++
				case a == b:
					won += 0.5
				}
			}
		}
		area += won / pairs / 3
	}
	if math.Abs(clear.AUC-area) > 1e-12 {
		t.Errorf("AUC %g, want %g", clear.AUC, area)
	}
	c := LabelChannel{Keep: 0.6, Classes: 3}
	var sum, squares float64
	for range 200 {
		noisy := make([]int, len(y))
		for i, k := range y {
			noisy[i] = k
			if rng.Float64() > c.Keep {
				noisy[i] = (k + 1 + rng.IntN(2)) % 3
			}
		}
		a := MeasureScores(m, x, noisy, c).Accuracy
		sum += a
		squares += a * a
	}
	mean := sum / 200
	se := math.Sqrt((squares/200 - mean*mean) / 200)
	if math.Abs(mean-clear.Accuracy) > 5*se {
		t.Errorf("mean unmixed accuracy %g ± %g, true %g", mean, se, clear.Accuracy)
	}
	if got, ok := areaUnder([]float64{1, 1, 1}, []int{0, 1, 1}, 1, 2); got != 0.5 || !ok {
		t.Errorf("AUC of ties is %g", got)
	}
	if _, ok := areaUnder([]float64{1, 2}, []int{1, 1}, 1, 2); ok {
		t.Error("AUC of one class")
	}
	// A class without rows does not change the others' measures.
	few, none := slices.Clone(y), slices.Clone(y)
	for i, k := range y {
		if k == 2 {
			few[i] = -1
		}
		none[i] = 1
	}
	two := MeasureScores(m, x, few, LabelChannel{Keep: 1, Classes: 3})
	a, _ := areaUnder(mat.Col(nil, 0, s), few, 0, 3)
	b, _ := areaUnder(mat.Col(nil, 1, s), few, 1, 3)
	if math.Abs(two.AUC-(a+b)/2) > 1e-12 {
		t.Errorf("AUC of two classes of three %g, want %g", two.AUC, (a+b)/2)
	}
	if one := MeasureScores(m, x, none, LabelChannel{Keep: 1, Classes: 3}); one.AUC != 0.5 ||
		math.IsNaN(one.BER) {
		t.Errorf("measures of one class: %+v", one)
	}
}

func TestLabelRiskErrors(t *testing.T) {
	x, y := labelProblem(1, 10, 3, 2)
	hinge, _ := FindLoss("hinge")
	if _, err := NewMarginRisk(x, y[1:], 2, hinge, []ClassWeights{PlainWeights()},
		nil); err == nil {
		t.Error("labels that do not fit were accepted")
	}
	if _, err := NewRankRisk(x, y, 3, hinge, []ClassWeights{PlainWeights()}, nil); err == nil {
		t.Error("costs that do not fit were accepted")
	}
	if _, err := NewMarginRisk(x, y, 2, hinge, []ClassWeights{PlainWeights()},
		&LabelChannel{0.6, 2}); err == nil ||
		!strings.Contains(err.Error(), "logistic, squared or savage") {
		t.Errorf("forward hinge: %v", err)
	}
	for _, c := range []LabelChannel{{0.5, 2}, {1.1, 2}, {0.9, 1}, {math.NaN(), 2}} {
		if c.Validate() == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	// With one class there are no pairs, and no slope.
	one := make([]int, 10)
	r, err := NewRankRisk(x, one, 2, hinge, []ClassWeights{PlainWeights()},
		rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	grad := make([]float64, 3)
	if v := r.Evaluate([]float64{1, 2, 3}, grad); v != 0 || grad[0] != 0 {
		t.Errorf("risk of no pairs %g, %v", v, grad)
	}
}

// All pairs of 10,000 rows are 10⁸; the piecewise linear and squared losses visit none of them.
func BenchmarkRankRisk(b *testing.B) {
	x, y := labelProblem(1, 10000, 41, 2)
	for _, name := range []string{"squared", "hinge", "barrier-hinge", "logistic"} {
		l, _ := FindLoss(name)
		r, err := NewRankRisk(x, y, 2, l, []ClassWeights{PlainWeights()},
			rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			b.Fatal(err)
		}
		w, grad := make([]float64, 41), make([]float64, 41)
		for j := range w {
			w[j] = 1
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.Evaluate(w, grad)
			}
		})
	}
}

// A class without rows must not decide the balanced error of noisy labels: its total is noise about
// zero, and so is the numerator.
func TestBalancedErrorOfAnAbsentClass(t *testing.T) {
	c := LabelChannel{Keep: 0.576, Classes: 3} // rr at ε = 1
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 800
	x, y := mat.NewDense(n, 3, nil), make([]int, n)
	m := NewLinear([]float64{-1, 1, 0, 0, 0, 1, 0, 0, 0}, 3) // predicts class 2 at random
	for range 200 {
		for i := range n {
			truth := i % 2
			x.SetRow(i, []float64{float64(2*truth-1) * rng.Float64(), rng.Float64(), 1})
			y[i] = truth
			if rng.Float64() > c.Keep {
				y[i] = (truth + 1 + rng.IntN(2)) % 3
			}
		}
		// One error in two, within two tenths.
		if got := MeasureScores(m, x, y, c).BER; got < -0.5 || got > 1.5 {
			t.Fatalf("the balanced error is estimated as %.2f", got)
		}
	}
}
