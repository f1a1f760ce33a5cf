package learners

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/internal/testlevel"
)

// hardRows returns slow rows: unexplainable labels, an order in which lists of neighbours keep
// changing, columns of many values.
func hardRows(n, d, classes int, kind string) (*mat.Dense, []int) {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	x, y := mat.NewDense(n, d, nil), make([]int, n)
	for i := range n {
		for j := range d {
			v := rng.Float64()
			switch kind {
			case "far first": // each row is nearer to all later ones
				v = 1 - float64(i)/float64(n)
			case "separable":
				v = 0.1*v + 0.9*float64(i%classes)/float64(classes)
			}
			x.Set(i, j, v/math.Sqrt(float64(d)))
		}
		y[i] = rng.IntN(classes)
		if kind == "separable" {
			y[i] = i % classes
		}
	}
	return x, y
}

// TestWorkBoundsTime: TrainingSteps, at the speed of RunReference, exceeds the time of any learner
// on slow rows. Both are measured in processor time of this thread, independent of other load, as
// the least of a few tries.
func TestWorkBoundsTime(t *testing.T) {
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
	step := timed(func() { steps = RunReference() }).Seconds() / steps
	const d, votes = 12, 300
	for _, l := range catalogue() {
		for _, n := range []int{60, 600} {
			for _, classes := range []int{2, 5} {
				pool, _ := hardRows(votes, d, classes, "")
				work, err := TrainingSteps(l.Name(),
					TrainingSize{Rows: n, MappedColumns: d, EncodedColumns: d, Classes: classes,
						PredictedRows: votes})
				if err != nil {
					t.Fatal(err)
				}
				for _, kind := range []string{"random", "far first", "separable"} {
					x, y := hardRows(n, d, classes, kind)
					took := timed(func() {
						m, err := l.Fit(context.Background(), x, y, classes,
							rand.New(rand.NewPCG(1, 1)))
						if err != nil {
							t.Fatal(err)
						}
						m.Predict(pool)
					})
					most := time.Duration(work * step * float64(time.Second))
					t.Logf("%-12s %4d rows, %d classes, %-9s: %10v, bound %10v, %.1f times", l.Name(), n, classes, kind, took, most, float64(most)/float64(took))
					if took > 2*most {
						t.Errorf("%s, %d rows, %d classes, %s: took %v, at most %v was to be expected", l.Name(), n, classes, kind, took, most)
					}
				}
			}
		}
	}
	if _, err := TrainingSteps("no such learner", TrainingSize{}); err == nil {
		t.Error("an unknown learner has a bound")
	}
	mixed, err := TrainingSteps(RandomLearner,
		TrainingSize{Rows: 100, MappedColumns: 5, EncodedColumns: 5, Classes: 2, PredictedRows: 10})
	one, _ := TrainingSteps("forest", TrainingSize{Rows: 100, MappedColumns: 5, EncodedColumns: 5,
		Classes: 2, PredictedRows: 10})
	if err != nil || mixed < one {
		t.Errorf("mixed is %g, %v; a forest is %g", mixed, err, one)
	}
}

// TestFitStops: a learner whose context has ended returns its error, and a learner whose context
// ends during the work returns long before it would be done.
func TestFitStops(t *testing.T) {
	x, y := hardRows(2500, 30, 3, "random")
	for _, l := range catalogue() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if m, err := l.Fit(ended, x, y, 3, rand.New(rand.NewPCG(1, 1))); !errors.Is(err,
			context.Canceled) {
			t.Errorf("%s after the end: %v, %v, want the context's error", l.Name(), m, err)
		}
		counted := &countedContext{Context: context.Background(), left: 1 << 30}
		if _, err := l.Fit(counted, x, y, 3, rand.New(rand.NewPCG(1, 1))); err != nil {
			t.Fatal(err)
		}
		asked := 1<<30 - counted.left
		half := &countedContext{Context: context.Background(), left: asked / 2}
		if _, err := l.Fit(half, x, y, 3, rand.New(rand.NewPCG(1, 1))); !errors.Is(err,
			context.Canceled) {
			t.Errorf("%s half way: %v, want the context's error", l.Name(), err)
		}
		if over := -half.left; over > 100+asked/50 {
			t.Errorf("%s asked %d times after the end of %d in all", l.Name(), over, asked)
		}
	}
}

// countedContext ends after it was asked this many times.
type countedContext struct {
	context.Context
	left int
}

func (c *countedContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
