package simulate_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"caucus/aggregation"
	"caucus/aggregation/fitting"
	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/internal/testlevel"
	"caucus/study"
	"caucus/study/reweigh"
)

// TestReweighAdult checks the figures for adult split by sex: 90 % of the men and 10 % of the women
// are private. Seeded, so the test is stable. A short run has fewer cases, with a quarter of the
// records at four times the ε: the same noise.
func TestReweighAdult(t *testing.T) {
	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Skip("CAUCUS_DATA is not set: it names the folder of real data")
	}
	k, err := public.LoadKnownDataset("adult")
	if err != nil {
		t.Fatal(err)
	}
	table, err := k.Load(os.DirFS(dir), "train")
	if err != nil {
		t.Fatal(err)
	}
	schema := k.Schema.WithoutFormat().WithoutColumns("sex")
	noise, within := 1., .003 // times ε; of the shares
	if rows := testlevel.N(t, table.Rows()/4, table.Rows()); rows < table.Rows() {
		table, noise, within = table.Select(rand.New(rand.NewPCG(1, 1)).Perm(table.Rows())[:rows]),
			4, .006
	}
	records, _, err := schema.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	men := holds(t, table, "sex == Male")
	query := make([]float64, len(men))
	for i, h := range holds(t, table, `income == ">50K"`) {
		if h {
			query[i] = 1
		}
	}
	pairs := reweigh.Terms{Pairs: [][2]string{{"relationship", "occupation"},
		{"relationship", "education-num"}}}
	type one struct {
		name, mechanism  string
		epsilon, lambda  float64
		parties, repeats int
		terms            reweigh.Terms
		low, high        float64 // bounds on the RMSE
	}
	all := []one{
		{"entropy, .01", "entropy", .01, 0, 1, 2, reweigh.Terms{}, 0, .12},
		{"entropy with pairs, .1", "entropy", .1, 0, 1, 2, pairs, 0, .02},
		{"entropy, .1", "entropy", .1, 0, 1, 10, reweigh.Terms{}, 0, .03},
		{"entropy with pairs, .1, ten", "entropy", .1, 0, 1, 10, pairs, 0, .02},
		{"twelve sites, .1", "entropy", .1, 0, 12, 10, pairs, 0, .06},
	}
	for _, c := range all[:testlevel.N(t, 1, len(all))] {
		t.Run(c.name, func(t *testing.T) {
			terms, err := study.EncodeTerms(c.terms)
			if err != nil {
				t.Fatal(err)
			}
			r, err := simulate.Reweigh{
				Schema: schema, Proposal: study.Proposal{Name: "adult", Kind: "reweigh", Epsilon: c.epsilon * noise, Mechanism: c.mechanism, Lambda: c.lambda, KindTerms: terms},
				Records: records.AsTable(), Group: men, PrivateShare: .9, Query: query, Parties: c.parties, Repeats: c.repeats, Seed: 1,
			}.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("rmse %.4f (bias %.4f, without noise %.4f, without weights %.4f)", r.RMSE, r.Bias, r.UnperturbedRMSE, r.UnweightedRMSE)
			if r.RMSE < c.low || r.RMSE > c.high*max(1, within/.004) ||
				math.Abs(r.Truth-.296) > within || math.Abs(r.Unweighted-.145) > within {
				t.Errorf("rmse %.4f, want %.2f to %.2f; truth %.4f, unweighted %.4f", r.RMSE, c.low, c.high, r.Truth, r.Unweighted)
			}
		})
	}
	// The density ratio's error should be the error that its noise, drawn afresh from the formula,
	// adds to the model without noise. The standard error of a root mean square of 10 normal errors
	// is .22 of it, so a factor of 2 is 4.5 standard errors; twice or half the noise would differ
	// by more.
	for _, mechanism := range []string{"logistic", "logistic-paper"} {
		s := simulate.Reweigh{
			Schema: schema, Proposal: study.Proposal{Name: "adult", Kind: "reweigh", Epsilon: .1 * noise, Mechanism: mechanism, Lambda: .1},
			Records: records.AsTable(), Group: men, PrivateShare: .9, Query: query, Parties: 1, Repeats: 10, Seed: 1, SkipUnperturbed: true,
		}
		r, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		want := densityRatioError(t, s)
		t.Logf("%s: rmse %.4f, from its noise %.4f", mechanism, r.RMSE, want)
		if r.RMSE > 2*want || r.RMSE < want/2 {
			t.Errorf("%s: rmse %.4f, the law of its noise gives %.4f", mechanism, r.RMSE, want)
		}
	}
	// Without noise: the larger λ, the nearer to the pool's mean.
	last := 1.0
	for _, lambda := range []float64{.001, .1, 10} {
		r, err := simulate.Reweigh{
			Schema: schema, Proposal: study.Proposal{Name: "adult", Kind: "reweigh", Epsilon: 1, Mechanism: "entropy", Lambda: lambda},
			Records: records.AsTable(), Group: men, PrivateShare: .9, Query: query, Parties: 1, Repeats: 1, Seed: 1,
		}.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if r.Unperturbed >= last || r.Unperturbed < r.Unweighted {
			t.Errorf("λ = %g: %.4f, after %.4f and towards %.4f", lambda, r.Unperturbed, last,
				r.Unweighted)
		}
		last = r.Unperturbed
	}
}

// densityRatioError returns the root mean square error of a simulation's first split over 200 fresh
// noises on its density ratio: with n records, d coefficients and S² of DensityRatio's bound, the
// published density ∝ exp(−(nλε/√d)‖δ‖), and for logistic, in B runs of at most twelve coefficients
// each, ∝ exp(−(nλε/(√B·S))‖δ‖).
func densityRatioError(t *testing.T, s simulate.Reweigh) float64 {
	rng := rand.New(rand.NewPCG(s.Seed, 0))
	private, rows := s.Split(rng)
	p := s.Proposal
	design, err := aggregation.NewFeatureDesign(s.Schema, aggregation.FeatureTerms{})
	if err != nil {
		t.Fatal(err)
	}
	pool := s.Records.Select(rows).X
	n, d := float64(len(private)), float64(design.Cells()+1)
	beta := aggregation.DensityRatio{Design: design, Lambda: p.Lambda,
		Pool: pool}.Fit(s.Records.Select(private).X)[:design.Cells()]
	blocks := 1.0 // the intercept
	for _, b := range s.Schema.Blocks() {
		blocks += 1 + min(float64(b.Width-1), 1)
	}
	x, truth := design.Rows(pool), 0.0
	for _, i := range private {
		truth += s.Query[i] / n
	}
	b := make([]float64, len(rows))
	for i, row := range rows {
		b[i] = s.Query[row]
	}
	const draws = 200
	sum := 0.0
	for range draws {
		noise := make([]float64, len(beta)+1)
		width, scale := len(noise), math.Sqrt(d)
		if p.Mechanism == "logistic" {
			runs := (len(noise) + 11) / 12
			width, scale = (len(noise)+runs-1)/runs, math.Sqrt(float64(runs)*blocks)
		}
		for run := range slices.Chunk(noise, width) {
			radius, norm := 0.0, 0.0
			for j := range run {
				radius += rng.ExpFloat64()
				run[j] = rng.NormFloat64()
				norm += run[j] * run[j]
			}
			for j := range run {
				run[j] *= scale * radius / math.Sqrt(norm)
			}
		}
		tilt := make([]float64, len(beta))
		for j, v := range beta {
			tilt[j] = (v + noise[j]/(p.Lambda*p.Epsilon)) / n * design.MaxRowNorm()
		}
		e := stat.Mean(b, fitting.WeightsOfTilt(x, tilt).Weight) - truth
		sum += e * e / draws
	}
	return math.Sqrt(sum)
}

func holds(t *testing.T, table *dataset.Table, text string) []bool {
	t.Helper()
	c, err := dataset.ParseCondition(text)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.Rows(table)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
