package ratio

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestNoiseInSharesTakenOff: embeddings are exact; the shares have noise of known covariance and
// sum zero. Over draws, class-means' squared distances between class means equal the true ones
// within a tenth of the noise's addition and 6.2 standard errors (false alarms 1e-9). A large part
// that all classes share must not matter.
func TestNoiseInSharesTakenOff(t *testing.T) {
	const c, sets, draws, sigma = 3, 9, 4000, 0.08
	for _, common := range []float64{0, 1, 100} {
		rng := rand.New(rand.NewPCG(3, 4))
		means := mat.NewDense(4, c, []float64{
			common, common, common,
			.3, 0, 0,
			0, .2, 0,
			0, 0, .1,
		})
		shares := mat.NewDense(c, sets, nil)
		for i := range sets {
			for k := range c {
				shares.Set(k, i, .15)
			}
			shares.Set(i%c, i, .7)
		}
		var phi, gram, square mat.Dense
		phi.Mul(means, shares)
		gram.Mul(phi.T(), &phi)
		square.Mul(means.T(), means)
		p := ratioProblem{
			gram: Gram{VStatistic: symmetric(&gram), UStatistic: symmetric(&gram), MeanSelfKernel: make([]float64, sets), SetSizes: make([]int, sets)},
			cov:  make([]*mat.SymDense, sets), noise: make([]float64, sets), rank: 1e9, shares: mat.NewDense(c, sets, nil),
		}
		law := mat.NewSymDense(c, nil)
		for k := range c {
			for l := range c {
				law.SetSym(k, l, -sigma*sigma/c)
			}
			law.SetSym(k, k, sigma*sigma*(1-1./c))
		}
		for i := range sets {
			p.gram.MeanSelfKernel[i], p.gram.SetSizes[i], p.cov[i] = 1, 1e9, law
		}
		between := func(q *mat.Dense, k, l int) float64 {
			return q.At(k, k) - q.At(k, l) - q.At(l, k) + q.At(l, l)
		}
		var sum, squares, raw [c][c]float64
		for range draws {
			for i := range sets {
				z := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
				floats.AddConst(-floats.Sum(z)/c, z)
				for k := range c {
					p.shares.Set(k, i, shares.At(k, i)+sigma*z[k])
				}
			}
			s, _, err := p.solveClassMeans()
			if err != nil {
				t.Fatal(err)
			}
			seen := sandwich(p.seen(), s.read)
			for k := range c {
				for l := range k {
					v := between(s.quadratic, k, l)
					sum[k][l] += v / draws
					squares[k][l] += v * v / draws
					raw[k][l] += between(seen, k, l) / draws
				}
			}
		}
		for k := range c {
			for l := range k {
				want := between(&square, k, l)
				added := raw[k][l] - want
				tol := .1*math.Abs(added) + 6.2*math.Sqrt((squares[k][l]-sum[k][l]*sum[k][l])/draws)
				t.Logf("common %g, classes %d and %d: %.5f, true %.5f, with noise %.5f", common, k, l, sum[k][l], want, raw[k][l])
				if math.Abs(sum[k][l]-want) > tol {
					t.Errorf("common %g, classes %d and %d: squared length %.5f, want %.5f ± %.5f (with noise %.5f)", common, k, l, sum[k][l], want, tol, raw[k][l])
				}
			}
		}
	}
}

// TestSwampedShares: if noise is most of the difference between sets, the model warns and corrects
// nothing, also with no more sets than classes.
func TestSwampedShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, sets := range []int{3, 4, 9} {
		p := ratioProblem{cov: make([]*mat.SymDense, sets), noise: make([]float64, sets), rank: 10,
			shares: mat.NewDense(3, sets, nil)}
		phi := mat.NewDense(5, sets, nil)
		law := mat.NewSymDense(3, nil)
		for k := range 3 {
			for l := range 3 {
				law.SetSym(k, l, -.09/3)
			}
			law.SetSym(k, k, .09*2/3)
		}
		for i := range sets {
			z := []float64{.15, .15, .15}
			z[i%3] = .7
			for k := range 3 {
				p.shares.Set(k, i, z[k])
				phi.Set(k, i, z[k])
			}
			phi.Set(4, i, 1+rng.NormFloat64()/100)
			p.cov[i] = law
			p.gram.MeanSelfKernel, p.gram.SetSizes = append(p.gram.MeanSelfKernel, 1),
				append(p.gram.SetSizes, 600)
		}
		var gram mat.Dense
		gram.Mul(phi.T(), phi)
		p.gram.VStatistic, p.gram.UStatistic = symmetric(&gram), symmetric(&gram)
		_, warnings, err := p.solveClassMeans()
		if err != nil {
			t.Fatal(err)
		}
		if len(warnings) == 0 || warnings[0].Reason != NoisyShares {
			t.Errorf("%d sets: warnings %+v, want %s", sets, warnings, NoisyShares)
		}
	}
}

// symmetric removes the rounding errors of a symmetric matrix.
func symmetric(d *mat.Dense) *mat.SymDense {
	n, _ := d.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			s.SetSym(i, j, d.At(i, j))
		}
	}
	return s
}
