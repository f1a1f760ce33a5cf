package ratio

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestConstrainedWithNoiseEigenvalue: sets at the same shares leave the
// u-statistic Gram an eigenvalue that is sampling noise. Where chance makes it
// small but positive, its inverse must not rule the estimate.
func TestConstrainedWithNoiseEigenvalue(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	draw := func(n int, share float64) Set {
		x, ones := mat.NewDense(n, 5, nil), 0.
		for i := range n {
			shift := 0.
			if float64(i) < share*float64(n) {
				shift, ones = 1, ones+1
			}
			for j := range 5 {
				x.Set(i, j, shift+rng.NormFloat64())
			}
		}
		return Set{Rows: x, Shares: []float64{1 - ones/float64(n), ones / float64(n)}}
	}
	for i := range 10 {
		m := &Model{options: Options{Estimator: Constrained, Kernel: RBF(.1)}}
		if err := m.describe([]Set{draw(200, .1), draw(200, .12), draw(200, .88), draw(200, .9)}); err != nil {
			t.Fatal(err)
		}
		// The same Gram with its least eigenvalue at one part in 10⁵ of the
		// largest, which is within the diagonal's own sampling error.
		u := m.problem.gram.U
		values, _ := symmetricEigen(mat.DenseCopyOf(u))
		for k := range 4 {
			u.SetSym(k, k, u.At(k, k)-values[0]+1e-5*values[3])
		}
		system, _, err := m.problem.solve(Constrained)
		if err != nil {
			t.Fatal(err)
		}
		view, err := m.look(draw(200, .3))
		if err != nil {
			t.Fatal(err)
		}
		// The error of a sound estimate has a deviation of about .05.
		if got := system.estimate(view.g).shares[1]; math.Abs(got-.3) > .25 {
			t.Errorf("draw %d: share %.3f, truth .3", i, got)
		}
	}
}
