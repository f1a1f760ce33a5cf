//go:build unix

package ratio_test

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
	. "caucus/aggregation/ratio"
)

// pictures returns 20 sets of rows of 784 numbers in [0,1] at random shares, from ten classes with
// different means. n = 2,500 gives the size of MNIST's training file.
func pictures(n int) []Set {
	rng := rand.New(rand.NewPCG(1, 2))
	means := mat.NewDense(10, 784, nil)
	for k := range 10 {
		for j := range 784 {
			means.Set(k, j, rng.Float64())
		}
	}
	var sets []Set
	for range 20 {
		shares := UniformShares(10, rng)
		x, counts := mat.NewDense(n, 784, nil), make([]float64, 10)
		for i := range n {
			k, u := 0, rng.Float64()
			for ; k < 9 && u > shares[k]; k++ {
				u -= shares[k]
			}
			counts[k] += 1 / float64(n)
			row := x.RawRowView(i)
			for j := range row {
				row[j] = (means.At(k, j) + rng.Float64()) / 2
			}
		}
		sets = append(sets, Set{Rows: x, Shares: counts})
	}
	return sets
}

// BenchmarkEmbedded fits 50,000 × 784 in 20 sets with 4,096 Fourier
// features. The goal is 30 s and 1 GiB on two cores; the rows alone are 299 MiB.
//
//	go test ./aggregation/ratio -run - -bench Embedded -benchtime 1x
func BenchmarkEmbedded(b *testing.B) { benchmarkRatio(b, pictures(2500), 4096) }

// BenchmarkMNIST is BenchmarkEmbedded on MNIST's first 50,000 digits, sorted into sets that
// hold mostly one digit each.
//
//	CAUCUS_DATA=… go test ./aggregation/ratio -run - -bench MNIST -benchtime 1x
func BenchmarkMNIST(b *testing.B) {
	digits := readMNIST(b, "train", 50_000)
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([][]int, 20)
	for _, i := range rng.Perm(len(digits.y)) {
		k := digits.y[i]
		if rng.Float64() > .55 {
			k = rng.IntN(10)
		}
		k += 10 * rng.IntN(2)
		rows[k] = append(rows[k], i)
	}
	var sets []Set
	for _, r := range rows {
		sets = append(sets, Set{Rows: digits.rows(r), Shares: SharesOfLabels(digits.y, r, 10)})
	}
	digits.x = nil
	benchmarkRatio(b, sets, 4096)
}

// BenchmarkExact compares 10,000 rows by kernel values; the time grows with the square of the rows.
func BenchmarkExact(b *testing.B) { benchmarkRatio(b, pictures(500), 0) }

func benchmarkRatio(b *testing.B, sets []Set, features int) {
	scale, err := embedding.MedianSquaredDistance(sets[0].Rows, rand.New(rand.NewPCG(3, 4)))
	if err != nil {
		b.Fatal(err)
	}
	o := Options{Kernel: RBF(3 / scale)}
	if features > 0 {
		o = Options{Fourier: &embedding.Fourier{Dim: 784, Features: features, Gamma: 3 / scale,
			Seed: 1}}
	}
	b.ResetTimer()
	for b.Loop() {
		m, err := Fit(sets, o)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.Estimate(Set{Rows: sets[3].Rows}); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err == nil {
		b.ReportMetric(float64(used.Maxrss)/(1<<10), "MiB-at-most")
	}
}
