package kinds_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// forecastTask is the task of a plan of each mechanism that has a forecast, on the
// generated hospitals.
func forecastTask(t *testing.T, mechanism string, change func(*study.Plan)) study.Task {
	t.Helper()
	schema, pool, m, _ := hospital(t, 600)
	p := testPlan(schema, pool, m)
	p.Mechanism, p.Epsilon, p.Delta, p.Simulated = mechanism, 1, 1e-6, true
	switch mechanism {
	case "cross":
		p.Unit, p.Noise = privacy.Record, study.NoiseSite
	case "moment":
		p.Delta = 0
	}
	p.Shares, p.AUC = []float64{.7, .3}, .8
	if change != nil {
		change(&p)
	}
	if err := kinds.Check(p); err != nil {
		t.Fatal(err)
	}
	return taskOf(t, p, pool)
}

// More ε, more parties and more records are never forecast to be worth less, whatever
// the mechanism (aggregation.Outlook): worths are made to rise at the sizes that are
// looked at. At one of them what is kept may still fall short of a fixed threshold by a
// hundredth of a point.
func TestForecastIsMonotone(t *testing.T) {
	const tolerance = 1e-4
	for _, mechanism := range []string{"cross", "tally", "means", "moment"} {
		o, err := study.OutlookOf(forecastTask(t, mechanism, nil))
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for range 8 {
			epsilon := .01 * math.Pow(800, rng.Float64())
			parties, records := 1+int(math.Pow(2000, rng.Float64())), 1+int(math.Pow(3000, rng.Float64()))
			at := func(epsilon float64, parties, records int) *study.Forecast {
				f, err := o.At(epsilon, study.Size{Parties: parties, Records: parties * records})
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			less := at(epsilon, parties, records)
			more := 1 + 3*rng.Float64()
			for name, f := range map[string]*study.Forecast{
				"ε": at(epsilon*more, parties, records), "parties": at(epsilon, int(float64(parties)*more), records), "records": at(epsilon, parties, int(float64(records)*more)),
			} {
				for line, v := range map[string][2]study.Line{"released": {less.Released, f.Released}, "unperturbed": {less.Unperturbed, f.Unperturbed}, "pooled": {less.Pooled, f.Pooled}, "alone": {less.Alone, f.Alone}} {
					for _, r := range [][2]study.Range{{v[0].Accuracy, v[1].Accuracy}, {v[0].AUC, v[1].AUC}} {
						if r[1].Mid < r[0].Mid-tolerance || r[1].Low < r[0].Low-tolerance || r[1].High < r[0].High-tolerance {
							t.Errorf("%s: %g times the %s: %s falls from %+v to %+v", mechanism, more, name, line, r[0], r[1])
						}
					}
				}
			}
		}
	}
}

// What it would take does not hang on what was asked for.
func TestForecastNeedsOneAnswer(t *testing.T) {
	need := func(mechanism string, epsilon float64, size study.Size) *study.Forecast {
		f, err := study.ForecastOf(forecastTask(t, mechanism, func(p *study.Plan) { p.Epsilon = epsilon }), size)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	size := study.Size{Parties: 40, Records: 40 * 24}
	first := need("means", .1, size).NeedEpsilon
	if first == 0 {
		t.Fatal("no ε within reach helps: this test cannot fail")
	}
	for _, epsilon := range []float64{.3, 1, 3} {
		if got := need("means", epsilon, size).NeedEpsilon; got != first {
			t.Errorf("asked at ε = %g it takes %g, at .1 %g", epsilon, got, first)
		}
	}
	// What it is said to take does help, and a step less does not.
	if f := need("means", first, size); f.Helps != study.HelpsYes {
		t.Errorf("at the ε that it takes it %s helps", f.Helps)
	}
	if f := need("means", first*.85, size); f.Helps == study.HelpsYes {
		t.Errorf("below the ε that it takes: helps %s", f.Helps)
	}
	f := need("means", .3, size)
	if f.NeedParties == 0 {
		t.Fatal("no number of parties helps")
	}
	if g := need("means", .3, study.Size{Parties: f.NeedParties, Records: 24 * f.NeedParties}); g.Helps != study.HelpsYes {
		t.Errorf("with the %d parties that it takes: helps %s", f.NeedParties, g.Helps)
	}
	// A study of more than 10⁵ units has another δ.
	small := study.Size{Parties: 20, Records: 20 * 100}
	asked := func(size study.Size) *study.Forecast {
		f, err := study.ForecastOf(forecastTask(t, "cross", func(p *study.Plan) {
			p.Epsilon, p.Roster, p.Minimum, p.Records = .1, nil, size.Parties, int(size.Each())
			for i := range size.Parties {
				p.Roster = append(p.Roster, study.PartyID(fmt.Sprintf("p%06d", i)))
			}
			p.Delta = study.DefaultDelta(p.Units())
		}), size)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if f = asked(small); f.NeedParties*100 < 200_000 {
		t.Fatalf("it takes %d parties: δ is the same", f.NeedParties)
	}
	large := study.Size{Parties: f.NeedParties, Records: 100 * f.NeedParties}
	if g := asked(large); g.Helps != study.HelpsYes || g.NeedParties != f.NeedParties {
		t.Errorf("with the %d parties that it takes: helps %s, it takes %d", f.NeedParties, g.Helps, g.NeedParties)
	}
	// Sites that have all that they need take nothing.
	if f := need("cross", .05, study.Size{Parties: 3, Records: 3 * 100_000}); f.Helps != study.HelpsNo || f.Alone.Accuracy.Mid < f.Released.Accuracy.Mid {
		t.Errorf("three large sites at ε = .05: %+v", f)
	}
}

// A forecast is of numbers, whatever classes are rare and however little is told: one that is
// none could not be written into a release, whose parties have paid.
func TestForecastIsOfNumbers(t *testing.T) {
	for _, mechanism := range []string{"cross", "tally", "moment"} {
		for _, share := range testlevel.Of(t, []float64{.5, .03, .02, 1e-5}, 2) {
			for _, auc := range testlevel.Of(t, []float64{0, .6, .9999}, 1) {
				o, err := study.OutlookOf(forecastTask(t, mechanism, func(p *study.Plan) { p.Shares, p.AUC = []float64{1 - share, share}, auc }))
				if err != nil {
					t.Fatal(err)
				}
				for _, records := range []int{1, 500} {
					f, err := o.At(1, study.Size{Parties: 20, Records: 20 * records})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := json.Marshal(f); err != nil {
						t.Errorf("%s, share %g, AUC %g, %d records: %v", mechanism, share, auc, records, err)
					}
				}
			}
		}
	}
}

// One party alone learns from its own records; pooled is at most what can be known.
func TestForecastLines(t *testing.T) {
	o, err := study.OutlookOf(forecastTask(t, "cross", nil))
	if err != nil {
		t.Fatal(err)
	}
	f, err := o.At(1, study.Size{Parties: 20, Records: 20 * 100})
	if err != nil {
		t.Fatal(err)
	}
	same, err := o.At(1, study.Size{Parties: 1, Records: 100})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case f.Alone != same.Pooled:
		t.Errorf("alone %+v, the pooled records of one party %+v", f.Alone, same.Pooled)
	case !(f.Majority < f.Alone.Accuracy.Mid && f.Alone.Accuracy.Mid < f.Pooled.Accuracy.Mid):
		t.Errorf("largest class %.3f, alone %.3f, pooled %.3f: want them in this order", f.Majority, f.Alone.Accuracy.Mid, f.Pooled.Accuracy.Mid)
	case f.Pooled.AUC.Mid > .8:
		t.Errorf("pooled AUC %.3f of features that tell .8", f.Pooled.AUC.Mid)
	case f.Released.Accuracy.Mid > f.Unperturbed.Accuracy.Mid:
		t.Errorf("noise helps: %.3f above %.3f", f.Released.Accuracy.Mid, f.Unperturbed.Accuracy.Mid)
	}
}

// A rare class is judged by the area under the curve: no classifier beats the largest
// class there by accuracy.
func TestForecastOfARareClass(t *testing.T) {
	task := forecastTask(t, "cross", func(p *study.Plan) {
		p.Noise, p.Shares, p.AUC = study.NoiseCoordinator, []float64{.98, .02}, .75
	})
	f, err := study.ForecastOf(task, study.Size{Parties: 100, Records: 100 * 200})
	if err != nil {
		t.Fatal(err)
	}
	if f.Helps != study.HelpsYes || f.Released.Accuracy.Mid > .985 || f.Released.AUC.Mid < f.Alone.AUC.Mid+.05 {
		t.Errorf("forecast %+v", f)
	}
}

// Without shares and AUC a forecast says what it assumes, and answers for a band.
func TestForecastOfABand(t *testing.T) {
	f, err := study.ForecastOf(forecastTask(t, "cross", func(p *study.Plan) { p.Shares, p.AUC = nil, 0 }), study.Size{Parties: 12, Records: 12 * 200})
	if err != nil {
		t.Fatal(err)
	}
	if !f.SharesAssumed || f.Separation.Low != .65 || f.Separation.High != .85 || !(f.Released.Accuracy.Low < f.Released.Accuracy.High) {
		t.Errorf("forecast %+v", f)
	}
}

// Kinds of studies that end in no classifier refuse what only its forecast reads, and
// all refuse what no forecast can be made from.
func TestForecastTerms(t *testing.T) {
	for _, c := range []struct {
		kind  string
		terms study.Proposal
		says  string
	}{
		{"classify", study.Proposal{Shares: []float64{.5, .3, .2}}, "have 3, want 2"},
		{"classify", study.Proposal{Shares: []float64{1, 0}}, "above 0 and below 1"},
		{"classify", study.Proposal{Shares: []float64{.5, .3}}, "add up to 0.8"},
		{"classify", study.Proposal{AUC: .4}, "auc"},
		{"classify", study.Proposal{AUC: 1}, "auc"},
		{"classify", study.Proposal{AUC: .8, Accuracy: .8}, "of two classes it follows"},
		{"classify", study.Proposal{AUC: .8, TrainedOn: -1}, "trained_on"},
		{"classify", study.Proposal{TrainedOn: 300}, "auc: it is left out"},
		{"describe", study.Proposal{Shares: []float64{.5, .5}}, "are for forecasts"},
		{"ratio", study.Proposal{AUC: .7}, "are for forecasts"},
		{"ratio", study.Proposal{AUC: .7, TrainedOn: 300}, "are for forecasts"},
	} {
		table, schema := dataset.Hospitals(dataset.DefaultHospitalConfig())
		p := c.terms
		p.Name, p.Kind, p.Roster, p.Records = "x", c.kind, roster(4), 2000
		_, err := kinds.Propose(p, schema, table)
		if !errors.Is(err, study.ErrPlan) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s with %+v: error %v, want one that says %q", c.kind, c.terms, err, c.says)
		}
	}
}
