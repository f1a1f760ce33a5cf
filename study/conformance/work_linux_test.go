package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"caucus/internal/testlevel"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/ratio"
)

// TestWorkBoundsDrafts: for every kind, Work at the speed of learners.RunReference exceeds the time
// of a draft, on an ordinary file and on a file from which nothing can be learned. Times are
// processor time of this thread, the least of a few tries.
func TestWorkBoundsDrafts(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	timed := func(f func()) time.Duration {
		least := time.Hour
		for range 3 {
			start := testlevel.ThreadTime()
			f()
			least = min(least, testlevel.ThreadTime()-start)
		}
		return least
	}
	steps := 0.0
	step := timed(func() { steps = learners.RunReference() }).Seconds() / steps
	c, plans := fuzzPlans(t)
	for _, l := range learners.Names() {
		p := c.classify("tally", privacy.Record, study.NoiseSite, 3)
		conformance.SetLearner(&p, l)
		plans = append(plans, p)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 600
	files := map[string][]visit{"ordinary": nil, "coins": nil}
	for i := range n {
		v := visit{label: "no", a: fmt.Sprint(rng.Float64()), b: fmt.Sprint(rng.Float64()),
			ward: "x", patient: fmt.Sprint(i), set: fmt.Sprint(i % 7)}
		if i%3 == 0 {
			v.label = "yes"
		}
		files["ordinary"] = append(files["ordinary"], v)
		v.label = []string{"no", "yes"}[rng.IntN(2)]
		files["coins"] = append(files["coins"], v)
	}
	for _, p := range plans {
		task := conformance.TaskOf(t, p, c.pool)
		w, err := task.Work(n)
		if err != nil {
			t.Fatal(err)
		}
		most := time.Duration((w.OtherSteps + float64(w.Shards)*w.ShardSteps) * step * float64(
			time.Second))
		if trains := p.Kind == "classify" && p.Mechanism != "cross" &&
			p.Mechanism != "means"; trains != (w.Shards == max(task.Words().Shards, 1)) {
			t.Errorf("%s %s: %d shards of %d", p.Kind, p.Mechanism, w.Shards, task.Words().Shards)
		}
		for what, rows := range files {
			in := c.inputs(c.records(t, rows), 0)
			took := timed(func() {
				if _, err := task.Contribute(in); err != nil {
					t.Fatal(err)
				}
			})
			t.Logf("%s %s %s, noise %s, %s: %v, bound %v, %.1f times", p.Kind, p.Mechanism, task.Words().Learner, p.Noise, what, took, most, float64(most)/float64(took))
			if took > 2*most {
				t.Errorf("%s %s %s, %s: took %v, at most %v was to be expected", p.Kind, p.Mechanism, task.Words().Learner, what, took, most)
			}
		}
	}
}

// TestDealingIsCounted: with many classes and expected shares, a party computes for seconds before
// it deals a record; Work includes that time.
func TestDealingIsCounted(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	processorTime := func(f func()) time.Duration {
		start := testlevel.ThreadTime()
		f()
		return testlevel.ThreadTime() - start
	}
	steps := 0.0
	step := processorTime(func() { steps = learners.RunReference() }).Seconds() / steps
	const classes = 400
	expected := make([]float64, classes)
	for k := range expected {
		expected[k] = 1. / classes
	}
	took := processorTime(func() { ratio.DealProbabilities(0.5, expected, classes) }).Seconds()
	c := newClinic(t, []string{"no", "yes", "maybe"}, 5)
	p := c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsMade, "gaussian-zcdp")
	work := func(expected []float64) float64 {
		terms := conformance.TermsIn[ratio.Terms](p)
		terms.Expected = expected
		p.KindTerms = conformance.EncodeTerms(terms)
		w, err := conformance.TaskOf(t, p, c.pool).Work(100)
		if err != nil {
			t.Fatal(err)
		}
		return w.OtherSteps
	}
	third := 1. / 3
	if counted := (work([]float64{third, third,
		third}) - work(nil)) / 9 * classes * classes; took > 2*counted*step {
		t.Errorf("dealing to %d classes took %.2f s, it is counted as %.2f s", classes, took, counted*step)
	}
}
