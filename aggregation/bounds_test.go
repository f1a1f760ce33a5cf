package aggregation

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/learners"
)

// smallPool returns n rows of norm at most 1 with an intercept.
func smallPool(n, d int, rng *rand.Rand) *mat.Dense {
	x := mat.NewDense(n, d, nil)
	for i := range n {
		row := x.RawRowView(i)
		for j := range d - 1 {
			row[j] = rng.NormFloat64()
		}
		norm := mat.Norm(x.RowView(i), 2)
		for j := range d - 1 {
			row[j] *= rng.Float64() / (norm * math.Sqrt2)
		}
		row[d-1] = math.Sqrt(0.5)
	}
	return x
}

// TestMomentBound searches all ballots on small pools for the largest movement of Aᵀ·counts, which
// must not exceed the bound. It logs how close the bound is.
func TestMomentBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ rows, classes int }{{10, 2}, {6, 3}} {
		tight1, tight2 := 0.0, 0.0
		for range 5 {
			x := smallPool(c.rows, 4, rng)
			m := NewMomentDesign(x, nil, c.classes)
			ballots := allBallots(c.rows, c.classes)
			// The statistic is linear, so movements are differences between single ballots' sums.
			sums := make([][]int64, len(ballots))
			for i, b := range ballots {
				tally := NewTally(c.rows, c.classes)
				tally.Add(b)
				sums[i] = m.Sums(tally)
			}
			for i := range sums {
				for j := range i {
					var l1, l2 int64
					for k := range sums[i] {
						d := sums[i][k] - sums[j][k]
						l1 += max(d, -d)
						l2 += d * d
					}
					if l1 > m.L1 {
						t.Fatalf("%d rows, %d classes: moved by L1 %d; bound %d", c.rows, c.classes,
							l1, m.L1)
					}
					if l2 > m.L2*m.L2 {
						t.Fatalf("%d rows, %d classes: moved by L2² %d; bound %d²", c.rows,
							c.classes, l2, m.L2)
					}
					tight1 = math.Max(tight1, float64(l1)/float64(m.L1))
					tight2 = math.Max(tight2, float64(l2)/float64(m.L2*m.L2))
				}
			}
		}
		t.Logf("%d rows, %d classes: largest movement / bound: L1 %.3f, L2² %.3f", c.rows, c.classes, tight1, tight2)
		if tight2 < 0.3 {
			t.Errorf("the bound is loose: %.3f", tight2)
		}
	}
}

func allBallots(rows, classes int) []Ballot {
	total := int(math.Pow(float64(classes), float64(rows)))
	out := make([]Ballot, total)
	for n := range out {
		votes := make([]int, rows)
		for i, rest := 0, n; i < rows; i, rest = i+1, rest/classes {
			votes[i] = rest % classes
		}
		out[n], _ = NewBallot(votes, classes)
	}
	return out
}

// TestCrossBound searches replacements of a record, hostile ones included, for the largest movement
// of the class sums.
func TestCrossBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const d, classes = 5, 3
	half := math.Sqrt(0.5)
	rows := mat.NewDense(0+64, d, nil)
	for i := range 64 {
		row := rows.RawRowView(i)
		switch {
		case i < 8: // corners along one axis
			row[i%4] = half * float64(1-2*(i/4))
		case i < 12: // hostile: beyond every bound
			row[i%4] = math.Inf(1)
			row[(i+1)%4] = math.NaN()
			row[(i+2)%4] = 40
		default:
			copy(row, smallPool(1, d, rng).RawRowView(0))
		}
		row[d-1] = half
	}
	largest2, largest1 := 0.0, 0.0
	for i := range 64 {
		for j := range 64 {
			for y := -1; y < classes; y++ {
				for z := -1; z < classes; z++ {
					a := CrossMomentSums(mat.NewDense(1, d, mat.Row(nil, i, rows)), []int{y},
						classes)
					b := CrossMomentSums(mat.NewDense(1, d, mat.Row(nil, j, rows)), []int{z},
						classes)
					var l1, l2 int64
					for k := range a {
						l1 += max(a[k]-b[k], b[k]-a[k])
						l2 += (a[k] - b[k]) * (a[k] - b[k])
					}
					if l2 > CrossMomentL2sq || l1 > CrossMomentL1(d) {
						t.Fatalf("rows %d→%d, labels %d→%d: moved by L1 %d, L2² %d; bound %d, %d", i, j, y, z, l1, l2, CrossMomentL1(d), int64(CrossMomentL2sq))
					}
					largest2 = math.Max(largest2, float64(l2)/CrossMomentL2sq)
					largest1 = math.Max(largest1, float64(l1)/float64(CrossMomentL1(d)))
				}
			}
		}
	}
	t.Logf("largest movement / bound: L1 %.3f, L2² %.6f", largest1, largest2)
	if largest2 < 0.99 {
		t.Errorf("the bound is loose: %.3f", largest2)
	}
}

// TestOutputReach: over all pairs of ballots, the minimiser moves by at most √k·Reach/λ. The
// paper's bound 2√k/λ is looser.
func TestOutputReach(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const rows, lambda = 7, 0.05
	x := smallPool(rows, 4, rng)
	for _, classes := range []int{2, 3} {
		bound := BallotReach(x, nil) / lambda
		if classes > 2 {
			bound *= math.Sqrt2
		}
		ballots := allBallots(rows, classes)
		largest := 0.0
		for range 300 {
			var w [2]*mat.Dense
			for side := range w {
				tally := NewTally(rows, classes)
				tally.Add(ballots[rng.IntN(len(ballots))])
				counts := make([]float64, 0, rows*classes)
				for _, v := range tally.Vector() {
					counts = append(counts, float64(v))
				}
				mu := learners.TargetMoments(x, SharesOf(counts, rows, classes, 1), nil)
				var err error
				if w[side], err = MinimiseVoteRisk(x, nil, classes, mu, lambda, 1e-9); err != nil {
					t.Fatal(err)
				}
			}
			w[0].Sub(w[0], w[1])
			largest = math.Max(largest, mat.Norm(w[0], 2))
		}
		if largest > bound {
			t.Errorf("%d classes: the minimiser moved by %.4f, bound %.4f", classes, largest, bound)
		}
		t.Logf("%d classes: largest movement / bound %.3f", classes, largest/bound)
	}
}
