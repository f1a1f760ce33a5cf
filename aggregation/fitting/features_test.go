package fitting

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
)

// TestFeatureMeans: without noise the means are those of the records; noise is projected to
// possible means.
func TestFeatureMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	x := people(500, 0.5, rng)
	for name, d := range designs(t) {
		if len(d.Groups) == 0 {
			continue
		}
		sums := d.Sums(x)
		raw := make([]float64, len(sums))
		for j, v := range sums {
			raw[j] = float64(v)
		}
		means, err := FeatureMeans(d, raw, 500)
		if err != nil {
			t.Fatal(err)
		}
		rows := d.Rows(x)
		for j, m := range means {
			want := mat.Sum(rows.ColView(j)) / 500 * d.MaxRowNorm()
			if math.Abs(m-want) > 1e-5 { // truncation to 2⁻²⁰
				t.Errorf("%s, %s: mean %v, want %v", name, d.Names()[j], m, want)
			}
		}
		for i := range 500 {
			if norm := floats.Norm(rows.RawRowView(i), 2); norm > 1+1e-12 {
				t.Fatalf("%s: row %d has norm %v", name, i, norm)
			}
		}
		for j := range raw {
			raw[j] += 500 * aggregation.SumScale * 0.3 * rng.NormFloat64()
		}
		means, _ = FeatureMeans(d, raw, 500)
		for _, g := range d.Groups {
			sum := 0.0
			for _, v := range means[g.FirstCell : g.FirstCell+g.Width] {
				if v < 0 || v > 1 {
					t.Errorf("%s: a mean of %v", name, v)
				}
				sum += v
			}
			if g.SumsToOne && math.Abs(sum-1) > 1e-9 {
				t.Errorf("%s: a total of %v", name, sum)
			}
		}
	}
	if _, err := FeatureMeans(designs(t)["blocks"], make([]float64, 3), 1); err == nil {
		t.Error("sums of another length were read")
	}
}

// TestFeatureNoise compares the stated law of the noise on means with the law of means of noisy
// sums, estimated from 64 and 4,000 draws. A variance of Laplace noise from 64 draws has a relative
// standard error of about .28, so a cell is off by 8 of these with probability below 1e-10, heavier
// tails included. Forgetting the projection would give factors of 4 and more.
func TestFeatureNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	d := designs(t)["pairs"]
	x := people(2000, 0.5, rng)
	clean := make([]float64, d.Cells())
	for j, v := range d.Sums(x) {
		clean[j] = float64(v)
	}
	at, _ := FeatureMeans(d, clean, 2000)
	const sd = 0.05
	cov := FeatureNoise(d, at, sd, true, rng).Covariance()
	got := make([]float64, d.Cells())
	const draws = 4000
	noise := IsotropicNoise(d.Cells(), sd*2000*aggregation.SumScale)
	noise.Laplace = true
	for range draws {
		noisy := noise.Draw(1, rng).RawMatrix().Data
		floats.Add(noisy, clean)
		m, _ := FeatureMeans(d, noisy, 2000)
		for j := range m {
			got[j] += (m[j] - at[j]) * (m[j] - at[j]) / draws
		}
	}
	for j, v := range got {
		want := cov.At(j, j) * d.MaxRowNorm() * d.MaxRowNorm()
		if v > 3.3*want+1e-7 || want > 3.3*v+1e-7 {
			t.Errorf("%s: variance %.3g, stated %.3g", d.Names()[j], v, want)
		}
	}
}
