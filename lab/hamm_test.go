package main

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/learners"
	"caucus/privacy"
)

// TestHammQuick runs the quick version on generated data and holds the order of
// the methods: no digits. It is seeded, so it does not flicker.
func TestHammQuick(t *testing.T) {
	start := time.Now()
	out := t.TempDir()
	r := &runner{lab: &lab{Quick: true, Seed: 1, Workers: 2}, out: out, now: time.Now, note: t.Logf,
		command: "test"}
	if err := r.run(context.Background(), []experiment{hammExperiment()}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("the quick version took %v, want at most two minutes", took)
	}
	f, err := os.Open(filepath.Join(out, "hamm", "results.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := readResults(f)
	if err != nil {
		t.Fatal(err)
	}
	party := all.where("unit", privacy.Party, "parties", 200)
	record := all.where("unit", privacy.Record, "partition", "even")
	mean := func(r *results, method string, epsilon any) float64 {
		m := r.where("method", method, "epsilon", epsilon).over("accuracy")
		if m.N == 0 {
			t.Fatalf("nothing measured for %s at ε = %v", method, epsilon)
		}
		return m.Mean
	}
	ordered := func(what string, better, worse, margin float64) {
		t.Helper()
		if better < worse+margin {
			t.Errorf("%s: %.3f against %.3f, want at least %.3f more", what, better, worse, margin)
		}
	}
	ordered("tally over the published mechanism at its oracle λ", mean(party, "tally", 1.), mean(party, "output-paper, oracle λ", 1.), .03)
	ordered("means over tally, where parties have few records", mean(party, "means", 1.), mean(party, "tally", 1.), 0)
	ordered("tally over majority", mean(party, "tally", 1.), mean(party, "majority", 1.), .1)
	// They are near to each other here, and so few draws scatter by a point.
	ordered("tally no worse than a pure ε moment", mean(party, "tally", 1.),
		mean(party, "moment", 1.), -.02)
	ordered("tally at ε = 1 over ε = 0.1", mean(party, "tally", 1.), mean(party, "tally", .1), .03)
	ordered("tally near the vote without noise", mean(party, "tally", 10.),
		mean(party, "unperturbed", ""), -.01)
	ordered("cross over shards", mean(record, "cross", 1.), mean(record, "tally on shards", 1.),
		.05)
	ordered("cross over Pathak et al.", mean(record, "cross", 1.), mean(record, pathakMethod, 1.),
		.02)
	ordered("noise added once over noise at every site",
		mean(record, "cross, noise added once", .1), mean(record, "cross", .1), .02)
	noise := all.where("part", "noise")
	for _, m := range []struct {
		name      string
		low, high float64
	}{{"tally", -3, -1}, {"output-paper", -3, -1}} {
		of := noise.where("method", m.name)
		if s, n := slope(curveOf(m.name, of, "product", "excess").Points, math.Inf(1)); s < m.low ||
			s > m.high {
			t.Errorf("excess risk of %s falls with slope %.2f in εM over %d points, want %v to %v", m.name, s, n, m.low, m.high)
		}
	}
	if s, _ := slope(centred(noise.where("method", "majority")), math.Inf(1)); s < -1 {
		t.Errorf("majority improves with M: slope %.2f", s)
	}
}

// TestRivalsLearn: with a huge budget the gradient rivals and perturbed
// solutions reach what the records allow, so that comparisons are fair.
func TestRivalsLearn(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, d = 3000, 6
	l := labelled{X: mat.NewDense(n, d, nil), Y: make([]int, n), Classes: 2}
	var parties [][]int
	for i := range n {
		row, score := l.X.RawRowView(i), 0.0
		for j := range d - 1 {
			row[j] = .3 * rng.NormFloat64() / float64(1+3*j) // ill-conditioned
			score += row[j] * float64(4*(1+3*j))
		}
		row[d-1] = math.Sqrt(.5)
		if norm := floats.Norm(row, 2); norm > 1 {
			floats.Scale(1/norm, row)
		}
		if score > 0 {
			l.Y[i] = 1
		}
		if i%30 == 0 {
			parties = append(parties, nil)
		}
		parties[i/30] = append(parties[i/30], i)
	}
	accuracy := func(m learners.Linear) float64 {
		right := 0.0
		for i, k := range m.Predict(l.X) {
			if k == l.Y[i] {
				right++
			}
		}
		return right / n
	}
	b := privacy.Budget{Epsilon: 1e4, Delta: 1e-6}
	space := coordinatesOf(l.X, 1e-4, 2)
	whitened := space.records(l)
	solved := l.ridgeSolution(nil, 1e-5, nil)
	for name, got := range map[string]float64{
		"DP-FedAvg":              accuracy(space.back(fedAvg{Rounds: 5, Clip: space.radius, Local: 3, Rate: space.rate}.train(whitened, parties, b, rng))),
		"gradient descent":       accuracy(space.back(fedSGD{Rounds: 20, Rate: space.rate, Sites: 10}.train(whitened, b, rng))),
		"DP-SGD":                 accuracy(space.back(dpSGD{Batch: 300, Epochs: 3, Rate: space.rate / 2}.train(whitened, b, rng))),
		"output perturbation":    accuracy(l.outputPerturbation(solved, n, 1e-5, 1e4, rng)),
		"objective perturbation": accuracy(l.objectivePerturbation(1e-5, 1e4, rng)),
		"Pathak et al.":          accuracy(l.pathak([][]float64{solved}, n, 1e-5, 1e4, rng)),
	} {
		if got < .93 {
			t.Errorf("%s reaches %.3f without noise to speak of, want .93", name, got)
		}
	}
}

// TestSensitivities: replacing one record or party moves what each rival
// perturbs by no more than it says.
func TestSensitivities(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const n, d = 40, 4
	for _, classes := range []int{2, 3} {
		l := labelled{X: mat.NewDense(n, d, nil), Y: make([]int, n), Classes: classes}
		for i := range n {
			v := mat.NewVecDense(d, l.X.RawRowView(i))
			for j := range d {
				v.SetVec(j, rng.NormFloat64())
			}
			v.ScaleVec(1/mat.Norm(v, 2), v)
			l.Y[i] = rng.IntN(classes)
		}
		const lambda = .05
		before := l.ridgeSolution(nil, lambda, nil)
		moved, gradient := 0.0, 0.0
		w := make([]float64, l.weights())
		for j := range w {
			w[j] = 5 * rng.NormFloat64()
		}
		for range 30 {
			other := labelled{X: mat.DenseCopyOf(l.X),
				Y: append([]int{rng.IntN(classes)}, l.Y[1:]...), Classes: classes}
			v := mat.NewVecDense(d, other.X.RawRowView(0))
			for j := range d {
				v.SetVec(j, rng.NormFloat64())
			}
			v.ScaleVec(1/mat.Norm(v, 2), v)
			after := other.ridgeSolution(nil, lambda, nil)
			moved = math.Max(moved, distance(before, after))
			a, b := make([]float64, len(w)), make([]float64, len(w))
			l.addGradient(a, w, []int{0})
			other.addGradient(b, w, []int{0})
			gradient = math.Max(gradient, distance(a, b))
		}
		if bound := 2 * l.reach() / (n * lambda); moved > bound || moved < bound/100 {
			t.Errorf("%d classes: a record moves the solution by %v, the bound is %v", classes, moved, bound)
		}
		if bound := 2 * l.reach(); gradient > bound || gradient < bound/10 {
			t.Errorf("%d classes: a record moves a gradient by %v, the bound is %v", classes, gradient, bound)
		}
	}
}

func distance(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s = math.Hypot(s, a[i]-b[i])
	}
	return s
}
