package embedding

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

func TestHadamard(t *testing.T) {
	const n = 16
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i*i%7 - 3)
	}
	want := make([]float64, n)
	for i := range want {
		for j, x := range v {
			want[i] += x * float64(1-2*(bits.OnesCount(uint(i&j))%2))
		}
	}
	hadamard(v)
	if !floats.Equal(v, want) {
		t.Errorf("transform %v, want %v", v, want)
	}
}

// frequenciesOf recovers the frequencies from products with unit vectors.
func frequenciesOf(dim, count int, gamma float64, seed uint64) [][]float64 {
	f := drawFrequencies(dim, count, gamma, seed)
	omega := make([][]float64, count)
	for j := range omega {
		omega[j] = make([]float64, dim)
	}
	phases, unit := make([]float64, count), make([]float64, dim)
	for i := range dim {
		clear(unit)
		unit[i] = 1
		f.project(phases, unit)
		for j, p := range phases {
			omega[j][i] = p
		}
	}
	return omega
}

// TestFrequenciesStay: plans and releases identify a map by dim, count, gamma and seed, so the map
// that they determine must not change. A new construction needs a new name.
func TestFrequenciesStay(t *testing.T) {
	phases := make([]float64, 3)
	drawFrequencies(2, 3, .5, 7).project(phases, []float64{1, -2})
	for j, want := range []float64{-3.14694548637901, .511455974294164, -1.99963345261585} {
		if math.Abs(phases[j]-want) > 1e-12 {
			t.Errorf("phases %.15g: no longer those of the seed", phases)
			break
		}
	}
}

// TestFrequenciesAreOrthogonal: if dim is p, the frequencies of a block are orthogonal and have the
// lengths of normal vectors: the mean of ‖ω‖²/(2·gamma) is p, with standard error √(2p/count); 6.2
// standard errors are exceeded once in 10⁹ fresh seeds.
func TestFrequenciesAreOrthogonal(t *testing.T) {
	const p, gamma = 128, 0.3
	omega := frequenciesOf(p, 3*p-5, gamma, 4)
	squares := 0.0
	for i, a := range omega {
		squares += floats.Dot(a, a) / (2 * gamma)
		for j, b := range omega[:i] {
			cosine := floats.Dot(a, b) / (floats.Norm(a, 2) * floats.Norm(b, 2))
			if i/p == j/p && math.Abs(cosine) > 1e-12 {
				t.Fatalf("frequencies %d and %d have cosine %g", i, j, cosine)
			}
		}
	}
	n := float64(len(omega))
	if mean, tol := squares/n, 6.2*math.Sqrt(2*p/n); math.Abs(mean-p) > tol {
		t.Errorf("mean squared length %.2f, want %d ± %.2f", mean, p, tol)
	}
}

// TestFrequenciesGiveTheKernel: for rows along an axis, in a few and in many dimensions, the mean
// of cosines over all seeds is within 7 standard errors of exp(−gamma‖x−y‖²). The variance between
// seeds is at most 1.5 times that of independent normal frequencies, (1−k²)²/(2·count); the mean of
// 400 squares has a relative standard error of √(2/400). Fresh seeds would fail one of the 48
// wrongly less than once in 10⁹. -v shows the variance: .15 to .95 of the normal one.
func TestFrequenciesGiveTheKernel(t *testing.T) {
	const count, seeds = 256, 400
	rng := rand.New(rand.NewPCG(2, 2))
	for _, dim := range []int{1, 5, 50, 100} {
		for _, axis := range []bool{true, false} {
			for _, distance := range []float64{.3, 1, 2} {
				difference := make([]float64, dim)
				if difference[0] = 1; !axis {
					for i := range difference {
						difference[i] = rng.NormFloat64()
					}
				}
				floats.Scale(distance/floats.Norm(difference, 2), difference)
				k := math.Exp(-distance * distance / 2) // gamma = ½
				sum, squares := 0.0, 0.0
				phases := make([]float64, count)
				for seed := range seeds {
					drawFrequencies(dim, count, .5, uint64(seed)).project(phases, difference)
					mean := 0.0
					for _, p := range phases {
						mean += math.Cos(p) / count
					}
					sum += mean / seeds
					squares += (mean - k) * (mean - k) / seeds
				}
				normal := (1 - k*k) / math.Sqrt(2*count)
				if bias := sum - k; math.Abs(bias) > 7*normal/math.Sqrt(seeds) {
					t.Errorf("dim %d, axis %v, distance %g: mean kernel %.4f, want %.4f", dim, axis, distance, sum, k)
				}
				if squares > 1.5*normal*normal {
					t.Errorf("dim %d, axis %v, distance %g: spread %.4f, of normal frequencies %.4f", dim, axis, distance, math.Sqrt(squares), normal)
				}
				t.Logf("dim %3d axis %5v distance %.1f: bias %+.5f, spread %.2f of normal", dim, axis, distance, sum-k, math.Sqrt(squares)/normal)
			}
		}
	}
}
