package aggregation

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestZZFloor(t *testing.T) {
	for _, cfg := range []struct {
		c, m, n  int
		sep, dir float64
	}{{2, 4, 50, .5, 5}, {2, 4, 50, 1, 5}, {2, 4, 50, 2, 5}, {2, 20, 50, 1, 5}, {3, 6, 100, 1, 2}, {3, 6, 100, 2, 2}, {5, 12, 80, 1.5, 2}} {
		out := fmt.Sprintf("%+v", cfg)
		res := map[float64]float64{}
		for range 1 {
			rng := rand.New(rand.NewPCG(1, 1))
			var l1, mx, co, base float64
			reps := 40
			for range reps {
				d := 6
				means := mat.NewDense(cfg.c, d, nil)
				for k := range cfg.c {
					for j := range d {
						means.Set(k, j, cfg.sep*rng.NormFloat64()/2)
					}
				}
				draw := func(n int, share []float64) (*mat.Dense, []float64) {
					x := mat.NewDense(n, d, nil)
					p := make([]float64, cfg.c)
					counts := roundCounts(share, n)
					i := 0
					for k, cnt := range counts {
						p[k] = float64(cnt) / float64(n)
						for range cnt {
							for j := range d {
								x.Set(i, j, means.At(k, j)+rng.NormFloat64())
							}
							i++
						}
					}
					return x, p
				}
				skew := func() []float64 { // dirichlet(dir) crude: gamma by sum of exp
					p := make([]float64, cfg.c)
					var s float64
					for k := range p {
						for range int(cfg.dir) {
							p[k] += rng.ExpFloat64()
						}
						s += p[k]
					}
					for k := range p {
						p[k] /= s
					}
					return p
				}
				var sets []RatioSet
				for range cfg.m {
					x, p := draw(cfg.n, skew())
					sets = append(sets, RatioSet{Rows: x, Shares: p})
				}
				x, p := draw(200, UniformShares(cfg.c, rng))
				mm := &RatioModel{options: RatioOptions{Kernel: RBF(1. / 12)}}
				if err := mm.describe(sets); err != nil {
					continue
				}
				g := make([]float64, len(sets))
				for j, s := range sets {
					row := make([]float64, 200)
					RBF(1./12).Sums(x, s.Rows, row, nil)
					for _, v := range row {
						g[j] += v / 200 / float64(cfg.n)
					}
				}
				l := func(est string) float64 {
					s, _, err := mm.problem.solve(est)
					if err != nil {
						return 0
					}
					return MeasureRatio(p, s.estimate(g).shares, 200).L1 / float64(reps)
				}
				for _, floor := range []float64{0.02, .1, .25, .5, 1} {
					classMeanSignal = floor
					res[floor] += l(ClassMeans)
				}
				mx += l(Mixture)
				co += l(Constrained)
				base += MeasureRatio(p, mm.TrainingShares(), 200).L1 / float64(reps)
				_ = l1
			}
			out += fmt.Sprintf(" %.3v mix %.3f con %.3f base %.3f", res, mx, co, base)
		}
		fmt.Println(out)
	}
}
