package conformance_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/kinds"
)

// hostile lists files of the same size, each with another peculiarity. With labelsOnly, files
// differ in labels only, as neighbours at unit label do.
func hostile(labelsOnly bool) map[string][]visit {
	const n = 6
	base := append(alike(3, well), alike(3, ill)...)
	change := func(f func(i int, v *visit)) []visit {
		out := make([]visit, n)
		for i := range out {
			out[i] = base[i]
			out[i].patient = fmt.Sprint("p", i)
			f(i, &out[i])
		}
		return out
	}
	all := map[string][]visit{
		"ordinary":         change(func(int, *visit) {}),
		"a class missing":  change(func(_ int, v *visit) { v.label = "no" }),
		"the other class":  change(func(_ int, v *visit) { v.label = "maybe" }),
		"no labels":        change(func(_ int, v *visit) { v.label = "" }),
		"senseless labels": change(func(i int, v *visit) { v.label = strings.Repeat("x", i) }),
		"one record known": change(func(i int, v *visit) { v.label = []string{"yes", "?", "?", "?", "?", "?"}[i] }),
	}
	if labelsOnly {
		return all
	}
	maps.Copy(all, map[string][]visit{
		"all alike":      change(func(_ int, v *visit) { *v = visit{well.label, well.a, well.b, well.ward, v.patient, v.set} }),
		"no numbers":     change(func(_ int, v *visit) { v.a, v.b = "NaN", "?" }),
		"huge numbers":   change(func(i int, v *visit) { v.a, v.b = "1e308", []string{"-1e308", "Inf"}[i%2] }),
		"tiny numbers":   change(func(_ int, v *visit) { v.a, v.b = "5e-324", "-5e-324" }),
		"unknown levels": change(func(i int, v *visit) { v.ward = fmt.Sprint("elsewhere ", i) }),
		"one patient":    change(func(_ int, v *visit) { v.patient = "one" }),
		"empty cells":    change(func(_ int, v *visit) { v.a, v.b, v.ward, v.patient = "", "", "", "" }),
	})
	return all
}

// TestNothingTellsOfTheData: for every kind, mechanism and place of noise, a contribution is made
// and accepted for all records. Requests, their terms, the ledger's refusals (word for word) and
// the body's length are equal.
func TestNothingTellsOfTheData(t *testing.T) {
	c, plans := fuzzPlans(t)
	for _, p := range plans {
		name := fmt.Sprintf("%s %s, noise %s, %d shards", p.Kind, p.Mechanism, p.Noise,
			kinds.Explain(p).Shards)
		task := conformance.TaskOf(t, p, c.pool)
		checker, err := study.NewChecker(task)
		if err != nil {
			t.Fatal(err)
		}
		canonical, _ := p.Canonical()
		hash := study.HashOf(canonical)
		type look struct {
			asks, refusal string
			length        int
		}
		var first *look
		var published []privacy.Published
		for _, what := range append([]string{"ordinary"},
			slices.Sorted(maps.Keys(hostile(p.Unit == privacy.Label)))...) {
			in := c.inputs(c.records(t, hostile(p.Unit == privacy.Label)[what]), 0)
			d, err := task.Contribute(in)
			if err != nil {
				t.Errorf("%s, %s: no draft: %v", name, what, err)
				continue
			}
			var l look
			for _, a := range d.Requests {
				l.asks += fmt.Sprint(a.Output, a.Mechanism.Name(),
					privacy.ParametersOf(a.Mechanism), a.Sensitive.Bound(), a.Sensitive.Len())
			}
			ledger, _ := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
			r, err := study.ReleaseRequests(context.Background(), ledger, hash, d.Requests)
			if err != nil {
				t.Errorf("%s, %s: not released: %v", name, what, err)
				continue
			}
			body, err := d.Body(r)
			if err != nil {
				t.Fatalf("%s, %s: no body: %v", name, what, err)
			}
			if err := checker.Check(body); err != nil {
				t.Errorf("%s, %s: not taken: %v", name, what, err)
			}
			if max := task.MaxBody(); len(body) > max {
				t.Errorf("%s, %s: %d bytes, at most %d are announced", name, what, len(body), max)
			}
			if published == nil {
				published = r
			}
			// Encoded noise differs in length, and is public: measure every body with the same
			// publication.
			if body, err = d.Body(published); err != nil {
				t.Fatal(err)
			}
			l.length = len(body)
			spent, err := privacy.Open(privacy.NewMemoryJournal(),
				privacy.Config{Limits: map[privacy.Unit]privacy.Budget{p.Unit: {Epsilon: 1e-9}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := study.ReleaseRequests(context.Background(), spent, hash,
				d.Requests); err != nil {
				l.refusal = err.Error()
			} else if len(d.Requests) > 0 {
				t.Errorf("%s, %s: a ledger without budget releases", name, what)
			}
			if first == nil {
				first = &l
			} else if l != *first {
				t.Errorf("%s: %q and ordinary records can be told apart before any noise:\n%+v\n%+v", name, what, l, *first)
			}
		}
		// Sizes are public; zero records and one record are accepted too.
		for n := range 2 {
			body := contributionTo(t, c, p, alike(n, ill))
			if err := checker.Check(body); err != nil {
				t.Errorf("%s, %d records: not taken: %v", name, n, err)
			}
		}
	}
}

// TestFailedLearnersVote: every learner gives a valid ballot of the same length, whatever the
// records.
func TestFailedLearnersVote(t *testing.T) {
	c := newClinic(t, []string{"no", "yes", "maybe"}, 5)
	for _, learner := range append([]string{"no such learner"}, learners.Names()...) {
		p := c.classify("tally", privacy.Party, study.NoiseCoordinator, 1)
		conformance.SetLearner(&p, learner)
		sum, err := conformance.TaskOf(t, p, c.pool).NewSum()
		if err != nil {
			t.Fatal(err)
		}
		for what, rows := range hostile(false) {
			d, err := conformance.TaskOf(t, p, c.pool).Contribute(c.inputs(c.records(t, rows), 0))
			if err != nil {
				t.Fatalf("%s, %s: %v", learner, what, err)
			}
			body, err := d.Body(nil)
			if err != nil || sum.Check(body) != nil ||
				len(body) != aggregation.BallotBytes(c.pool.Rows(), 3) {
				t.Errorf("%s, %s: a ballot of %d bytes, %v, %v", learner, what, len(body), err,
					sum.Check(body))
			}
		}
	}
}

// TestSolversStopAtPublicBounds: searches inside a party and before noise end within a number of
// steps that is independent of the data, tested on hard data: opposite labels on equal rows, and
// rows of zeros.
func TestSolversStopAtPublicBounds(t *testing.T) {
	rows := map[string]*mat.Dense{"zeros": mat.NewDense(8, 3, nil),
		"equal": mat.NewDense(8, 3, nil), "separable": mat.NewDense(8, 3, nil)}
	for i := range 8 {
		rows["equal"].SetRow(i, []float64{0.5, 0.5, math.Sqrt(0.5)})
		rows["separable"].SetRow(i, []float64{0.7 * float64(1-2*(i%2)), 0, math.Sqrt(0.5)})
	}
	for name, x := range rows {
		for labels, y := range map[string][]float64{"one class": {1, 1, 1, 1, 1, 1, 1, 1},
			"two": {0, 1, 0, 1, 0, 1, 0, 1}} {
			mu := learners.TargetMoments(x, mat.NewDense(8, 1, y), nil)
			for _, lambda := range []float64{1e-5, 1e-2, 10} {
				risk := &learners.SoftmaxRisk{X: x, Mu: mu, Ridge: lambda, Classes: 2}
				_, report := learners.Minimize(risk, nil,
					learners.MinimiseSettings{GradientNorm: 1e-300, MaxIterations: 60})
				if report.Iterations > 60 {
					t.Errorf("%s, %s, λ = %g: %d iterations, at most 60 were allowed", name, labels, lambda, report.Iterations)
				}
				if _, err := aggregation.MinimiseVoteRisk(x, nil, 2, mu, lambda, 1e-7); err != nil {
					t.Errorf("%s, %s, λ = %g: %v", name, labels, lambda, err)
				}
			}
		}
	}
}
