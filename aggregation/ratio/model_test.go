package ratio

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
)

// world draws sets whose classes are spherical normals, the same in all sets.
type world struct {
	means *mat.Dense // c×d
	rng   *rand.Rand
}

func newWorld(c, d int, separation float64, seed uint64) world {
	w := world{mat.NewDense(c, d, nil), rand.New(rand.NewPCG(seed, 77))}
	for k := range c {
		for j := range d {
			w.means.Set(k, j, separation*w.rng.NormFloat64())
		}
	}
	return w
}

func (w world) set(n int, shares ...float64) Set {
	c, d := w.means.Dims()
	s := Set{Rows: mat.NewDense(n, d, nil), Shares: make([]float64, c)}
	i := 0
	for k, count := range roundCounts(shares, n) {
		s.Shares[k] = float64(count) / float64(n)
		for range count {
			for j := range d {
				s.Rows.Set(i, j, w.means.At(k, j)+w.rng.NormFloat64())
			}
			i++
		}
	}
	return s
}

func (w world) sets(m, n int) []Set {
	c, _ := w.means.Dims()
	var out []Set
	for range m {
		out = append(out, w.set(n, UniformShares(c, w.rng)...))
	}
	return out
}

// embedded returns the sets as a site would send them.
func embedded(t testing.TB, f embedding.Fourier, sets []Set) []Set {
	e := embedderOf(t, f)
	out := make([]Set, len(sets))
	for i, s := range sets {
		n, _ := s.Rows.Dims()
		out[i] = Set{Embedding: e.Mean(s.Rows), EmbeddedRows: n, Shares: s.Shares,
			ShareCov: s.ShareCov}
	}
	return out
}

var testFourier = embedding.Fourier{Dim: 4, Features: 400, Gamma: 0.15, Seed: 5}

func ratioForms(t testing.TB, sets []Set) map[string]func(estimator string) (*Model, error) {
	return map[string]func(string) (*Model, error){
		"kernel": func(e string) (*Model, error) {
			return Fit(sets, Options{Estimator: e, Kernel: RBF(0.15)})
		},
		"fourier": func(e string) (*Model, error) {
			return Fit(sets, Options{Estimator: e, Fourier: &testFourier})
		},
		"embedding": func(e string) (*Model, error) {
			return Fit(embedded(t, testFourier, sets), Options{Estimator: e, Fourier: &testFourier})
		},
	}
}

func TestRecovers(t *testing.T) {
	w := newWorld(3, 4, 2, 1)
	sets := w.sets(8, 400)
	target := w.set(400, .7, .1, .2)
	for form, fit := range ratioForms(t, sets) {
		for _, estimator := range embedding.Estimators() {
			m, err := fit(estimator)
			if err != nil {
				t.Fatal(err)
			}
			e, err := m.Estimate(target)
			if err != nil {
				t.Fatal(err)
			}
			l1 := Measure(target.Shares, e.Shares, 400).L1
			base := Measure(target.Shares, m.TrainingShares(), 400).L1
			if l1 > 0.15 || l1 > base/3 {
				t.Errorf("%s %s: L1 %.3f, baseline %.3f", form, estimator, l1, base)
			}
			if e.OptimalityGap > 1e-8 || !e.GoodnessOfFit.Tested ||
				e.GoodnessOfFit.Statistic > e.GoodnessOfFit.Threshold {
				t.Errorf("%s %s: gap %g, fit %+v", form, estimator, e.OptimalityGap,
					e.GoodnessOfFit)
			}
			for k, s := range e.Shares {
				if e.Low[k] > s || e.High[k] < s || e.Low[k] < 0 || e.High[k] > 1 {
					t.Errorf("%s %s: [%g, %g] does not hold %g", form, estimator, e.Low[k],
						e.High[k], s)
				}
			}
		}
	}
}

// A model read back gives the same answers. With embeddings it holds no rows, and for class-means
// at most c embeddings.
func TestJSON(t *testing.T) {
	w := newWorld(2, 4, 1.5, 2)
	sets := w.sets(5, 60)
	cov := mat.NewSymDense(2, []float64{1e-4, -1e-4, -1e-4, 1e-4})
	for i := range sets {
		sets[i].ShareCov = cov
	}
	target := w.set(50, .5, .5)
	for form, fit := range ratioForms(t, sets) {
		for _, estimator := range embedding.Estimators() {
			m, err := fit(estimator)
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var back Model
			if err := json.Unmarshal(data, &back); err != nil {
				t.Fatalf("%s %s: %v", form, estimator, err)
			}
			a, err := m.Estimate(target)
			if err != nil {
				t.Fatal(err)
			}
			b, err := back.Estimate(target)
			if err != nil {
				t.Fatal(err)
			}
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if string(x) != string(y) {
				t.Errorf("%s %s: %s\nthen %s", form, estimator, x, y)
			}
			if form != "kernel" && estimator == embedding.EstimatorClassMeans {
				if r, _ := back.anchors.Dims(); r != 2 || back.rows != nil {
					t.Errorf("%s: %d anchors and rows %v, want the 2 class means alone", form, r, back.rows != nil)
				}
			}
		}
	}
}

func FuzzModelJSON(f *testing.F) {
	w := newWorld(2, 4, 1.5, 2)
	sets := w.sets(3, 5)
	small := testFourier
	small.Features = 4
	target := w.set(4, .5, .5)
	for _, o := range []Options{{Kernel: RBF(1)},
		{Kernel: Kernel{Name: "linear"}, Estimator: embedding.EstimatorMixture},
		{Fourier: &small, Estimator: embedding.EstimatorMixture}} {
		m, err := Fit(sets, o)
		if err != nil {
			f.Fatal(err)
		}
		data, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Model
		if json.Unmarshal(data, &m) == nil {
			m.Estimate(target) // may be an error, never a panic
		}
	})
}

func TestRefusals(t *testing.T) {
	w := newWorld(3, 4, 2, 3)
	good := w.sets(5, 30)
	with := func(change func(s []Set) []Set) []Set {
		return change(append([]Set(nil), good...))
	}
	for _, c := range []struct {
		name   string
		sets   []Set
		reason Reason
	}{
		{"none", nil, TooFewSets},
		{"one", good[:1], TooFewSets},
		{"two for three classes", good[:2], TooFewSets},
		{"alike", []Set{w.set(30, .5, .3, .2), w.set(30, .5, .3, .2), w.set(30, .5, .3, .2)}, IllPosed},
		{"absent", []Set{w.set(30, .5, .5, 0), w.set(30, .2, .8, 0), w.set(30, .9, .1, 0)}, ClassAbsent},
		{"tiny", with(func(s []Set) []Set { s[1] = w.set(1, 1, 0, 0); return s }), SetTooSmall},
		{"no rows", with(func(s []Set) []Set { s[1].Rows = nil; return s }), SetTooSmall},
		{"columns", with(func(s []Set) []Set { s[2].Rows = mat.NewDense(5, 3, nil); return s }), ShapeMismatch},
		{"classes", with(func(s []Set) []Set { s[2].Shares = []float64{.5, .5}; return s }), ShapeMismatch},
		{"sum", with(func(s []Set) []Set { s[2].Shares = []float64{.5, .4, .3}; return s }), ShapeMismatch},
		{"not a number", with(func(s []Set) []Set { s[2].Shares = []float64{.5, math.NaN(), .3}; return s }), ShapeMismatch},
		{"covariance", with(func(s []Set) []Set { s[2].ShareCov = mat.NewSymDense(2, nil); return s }), ShapeMismatch},
		{"embedding for a kernel", with(func(s []Set) []Set {
			s[2] = Set{Embedding: []float64{1}, EmbeddedRows: 9, Shares: s[2].Shares}
			return s
		}), ShapeMismatch},
	} {
		_, err := Fit(c.sets, Options{Kernel: RBF(0.2)})
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Reason != c.reason {
			t.Errorf("%s: got %v, want %s", c.name, err, c.reason)
		}
	}
	m, err := Fit(good, Options{Kernel: RBF(0.2)})
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]Set{"empty": {},
		"columns": {Rows: mat.NewDense(5, 3, nil)}, "embedding": {Embedding: []float64{1}, EmbeddedRows: 5},
		"noise of one row": {Rows: mat.NewDense(1, 2, nil), Noise: -1}} {
		var refusal *Refusal
		if _, err := m.Estimate(target); !errors.As(err, &refusal) {
			t.Errorf("target %s: got %v", name, err)
		}
	}
	if e, err := m.Estimate(w.set(1, 1, 0, 0)); err != nil || e.GoodnessOfFit.Tested {
		t.Errorf("target of one row: %+v, %v; want an untested estimate", e.GoodnessOfFit, err)
	}
	// A class seen only through noise gets a warning with its largest share; a class above the
	// noise gets none.
	for share, want := range map[float64]bool{.02: true, .04: false} {
		sets := w.sets(4, 30)
		for i := range sets {
			last := share * float64(i%2)
			sets[i].Shares = []float64{.2 + .15*float64(i), .8 - last - .15*float64(i), last}
			sets[i].ShareCov = mat.NewSymDense(3, []float64{1e-4, 0, 0, 0, 1e-4, 0, 0, 0, 1e-4})
		}
		m, err := Fit(sets, Options{Kernel: RBF(0.2)})
		if err != nil {
			t.Fatal(err)
		}
		if got := hasWarning(m.Warnings(), ClassAbsent); got != want {
			t.Errorf("a share of %g with noise of .01: %v", share, m.Warnings())
		}
	}
	// The published estimator estimates the classes that it has seen.
	if m, err := Fit(w.sets(2, 30),
		Options{Kernel: RBF(0.2), Estimator: embedding.EstimatorMixture}); err != nil ||
		len(m.Warnings()) == 0 {
		t.Errorf("mixture of two sets: %v; want a warning and no error", err)
	}
	for _, o := range []Options{{}, {Kernel: RBF(1), Fourier: &testFourier},
		{Kernel: RBF(1), Confidence: 1}, {Kernel: RBF(1), Estimator: "best"}, {Kernel: RBF(-1)},
		{Kernel: RBF(1), EffectiveRank: 0.5}} {
		if _, err := Fit(good, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func hasWarning(warnings []Warning, r Reason) bool {
	for _, w := range warnings {
		if w.Reason == r {
			return true
		}
	}
	return false
}

// A target with an unseen class must be doubted, in every form.
func TestWarnsOfMisfit(t *testing.T) {
	w := newWorld(2, 4, 1.5, 4)
	sets := w.sets(10, 200)
	foreign := w.set(300, .5, .5)
	for i := range 150 {
		for j := range 4 {
			foreign.Rows.Set(i, j, foreign.Rows.At(i, j)+3)
		}
	}
	for form, fit := range ratioForms(t, sets) {
		for _, estimator := range embedding.Estimators() {
			m, err := fit(estimator)
			if err != nil {
				t.Fatal(err)
			}
			e, err := m.Estimate(foreign)
			if err != nil {
				t.Fatal(err)
			}
			if !hasWarning(e.Warnings, PoorFit) {
				t.Errorf("%s %s: no warning, fit %+v", form, estimator, e.GoodnessOfFit)
			}
		}
	}
}

// Identical classes cannot be separated: the model must warn, and the interval must be all of
// [0,1].
func TestWarnsOfFaintClasses(t *testing.T) {
	w := newWorld(2, 4, 0, 5)
	m, err := Fit([]Set{w.set(50, .4, .6), w.set(50, .5, .5), w.set(50, .6, .4)},
		Options{Kernel: RBF(0.15)})
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.Estimate(w.set(50, .1, .9))
	if err != nil {
		t.Fatal(err)
	}
	if !hasWarning(e.Warnings, GramNotPositive) && !hasWarning(e.Warnings, ClassesTooSimilar) {
		t.Errorf("no warning: %+v", e)
	}
	if e.High[0]-e.Low[0] < 0.8 {
		t.Errorf("interval [%.2f, %.2f] is too sure of itself", e.Low[0], e.High[0])
	}
}

func TestMeasures(t *testing.T) {
	e := Measure([]float64{.5, .5}, []float64{.3, .7}, 100)
	if math.Abs(e.AE-.2) > 1e-12 || math.Abs(e.L1-.4) > 1e-12 || math.Abs(e.Bias[0]+.2) > 1e-12 ||
		!(e.NKLD > 0 && e.NKLD < 1) {
		t.Errorf("%+v", e)
	}
	// (.3+.005)/(1.01) against .5: |.30198−.5|/.5 = .39604, both classes alike.
	if math.Abs(e.RAE-.396039603) > 1e-6 {
		t.Errorf("RAE = %.9f", e.RAE)
	}
	if z := Measure([]float64{0, 1}, []float64{0, 1}, 10); z.NKLD != 0 || z.RAE != 0 {
		t.Errorf("equal shares: %+v", z)
	}
}
