package judged_test

import (
	"math"
	"strings"
	"testing"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/conformance"
	"caucus/study/evaluate"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
)

// TestEvaluateProposed: a proposal gets the quieter noise, the second of two classes, 20 bins or
// 10, and a forecast close to the release.
func TestEvaluateProposed(t *testing.T) {
	schema, table, _, records := conformance.HospitalWithPool(t, 12000)
	zero, some := 0., 1e-6
	for name, c := range map[string]struct {
		proposal  study.Proposal
		terms     evaluate.Terms
		mechanism string
		delta     float64
		least     int // number of edges
		most      int
	}{
		"nothing said": {study.Proposal{}, evaluate.Terms{}, "laplace", 0, 17, 19},
		"δ = 0":        {study.Proposal{Delta: &zero}, evaluate.Terms{}, "laplace", 0, 17, 19},
		"δ allowed":    {study.Proposal{Delta: &some}, evaluate.Terms{}, "laplace", 1e-6, 17, 19},
		"gaussian":     {study.Proposal{Mechanism: "gaussian"}, evaluate.Terms{}, "gaussian", 1e-6, 5, 19},
		"few records":  {study.Proposal{Records: 200}, evaluate.Terms{}, "laplace", 0, 7, 9},
		"subgroups":    {study.Proposal{}, evaluate.Terms{By: []evaluate.Grouping{{Column: "sex"}}}, "laplace", 0, 7, 9},
		"bins":         {study.Proposal{}, evaluate.Terms{Bins: 5, Thresholds: []float64{.123}}, "laplace", 0, 4, 5},
	} {
		s := c.proposal
		s.Name, s.Kind, s.Roster, s.Epsilon, s.Seed = "x", "evaluate", []study.PartyID{"a", "b",
			"c"}, 1, 1
		if s.Records == 0 {
			s.Records = 3000
		}
		c.terms.Model = conformance.AgeModel(t, schema)
		s.KindTerms = conformance.EncodeTerms(c.terms)
		s.Map.Project = dataset.AutoComponents
		made, err := planning.ProposePlan(s, schema, table)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p, terms := made.Plan, conformance.TermsIn[evaluate.Terms](made.Plan)
		if n := len(terms.Edges[0]); p.Mechanism != c.mechanism || p.Delta != c.delta ||
			n < c.least || n > c.most || p.Unit != privacy.Record || p.Noise != study.NoiseSite ||
			terms.Classes[0] != schema.Classes()[1] {
			t.Errorf("%s: %s, δ = %g, %d edges, unit %s, noise %s, class %v", name, p.Mechanism, p.Delta, n, p.Unit, p.Noise, terms.Classes)
		}
		var inputs []study.Inputs
		for i, part := range conformance.Deal(records, 3) {
			inputs = append(inputs, study.NewInputs(part, []byte{byte(i)}))
		}
		release, err := simulate.RunPlan(t.Context(), p, made.Pool, inputs)
		if err != nil {
			t.Fatal(err)
		}
		e, err := judged.ResultOf(release)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(made.Noise, "AUC ± ") ||
			!strings.Contains(made.Noise, "laplace noise: ") {
			t.Errorf("%s: forecast %q", name, made.Noise)
		}
		if name != "nothing said" {
			continue
		}
		task, err := results.NewTask(p, made.Pool)
		if err != nil {
			t.Fatal(err)
		}
		judge, _ := judged.RecordEvaluatorOf(task)
		truth := judge.Exact(records)[0].Overall
		// Seeded, so the test fails always or never; 6 deviations are beyond chance.
		of := e.Classes[0].Overall
		if off := math.Abs(of.AUC.Value-truth.AUC) / of.AUC.SD; off > 6 {
			t.Errorf("AUC %v ± %v, of the same records %v", of.AUC.Value, of.AUC.SD, truth.AUC)
		}
		if off := math.Abs(of.Slope.Value-truth.Slope) / of.Slope.SD; off > 6 {
			t.Errorf("slope %v ± %v, of the same records %v", of.Slope.Value, of.Slope.SD,
				truth.Slope)
		}
	}
	s := study.Proposal{Name: "x", Kind: "evaluate", Roster: []study.PartyID{"a", "b", "c"},
		Records: 20, KindTerms: conformance.EncodeTerms(evaluate.Terms{Model: conformance.AgeModel(t,
			schema)})}
	made, err := planning.ProposePlan(s, schema, table)
	if err != nil || !strings.Contains(made.Warning, "not expected to be shown") {
		t.Errorf("three sites of 20 records: warning %q, %v", made.Warning, err)
	}
	s.Map.Project = 5
	if _, err := planning.ProposePlan(s, schema, table); err == nil ||
		!strings.Contains(err.Error(), "do not project") {
		t.Errorf("projected: %v", err)
	}
	flat := conformance.AgeModel(t, schema)
	for j := range flat.Weights {
		flat.Weights[j][0] = 0
	}
	s.Map.Project, s.KindTerms = 0, conformance.EncodeTerms(evaluate.Terms{Model: flat})
	if _, err := planning.ProposePlan(s, schema, table); err == nil ||
		!strings.Contains(err.Error(), "same score") {
		t.Errorf("a model that tells nothing: %v", err)
	}
}

// TestRecalibrated: an evaluation's line calibrates only the release that it judged, and gives the
// stated probabilities.
func TestRecalibrated(t *testing.T) {
	schema, _, pool, records := conformance.HospitalWithPool(t, 12000)
	trained := conformance.ClassifyPlan(schema, pool, dataset.Identity(schema))
	trained.Mechanism, trained.Unit, trained.Noise, trained.Lambda, trained.Epsilon = "cross",
		privacy.Record, study.NoiseSite, .3, 8
	of := conformance.Deal(records, 3)
	var inputs []study.Inputs
	for i := range trained.Roster {
		inputs = append(inputs, study.NewInputs(of[i], []byte{byte(i)}))
	}
	release, err := simulate.RunPlan(t.Context(), trained, pool, inputs)
	if err != nil {
		t.Fatal(err)
	}
	model, err := judged.ModelOf(release, schema)
	if err != nil {
		t.Fatal(err)
	}
	evaluated := func(m *evaluate.Model, class string) study.Release {
		p := conformance.EvaluatePlan(t, schema, pool, func(t *evaluate.Terms) {
			t.Model, t.Classes = m, []string{class}
		})
		p.Epsilon = 8
		r, err := simulate.RunPlan(t.Context(), p, pool, inputs)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, class := range schema.Classes() {
		by := evaluated(model, class)
		c, err := judged.RecalibrateRelease(release, by)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := classifier.Of(release.Result)
		e, _ := judged.ResultOf(by)
		line := e.Classes[0].Overall
		x := model.Map.Apply(pool.Encoded)
		a, _ := before.Linear()
		b, _ := c.Linear()
		sign := 1.0
		if class == schema.Classes()[0] {
			sign = -1
		}
		for i := range 50 {
			z := sign * a.Scores(x).At(i, 0)
			if got, want := sign*b.Scores(x).At(i,
				0), line.Intercept.Value+line.Slope.Value*z; math.Abs(got-want) > 1e-9 {
				t.Fatalf("class %s: score %v became %v, the line says %v", class, z, got, want)
			}
		}
		if c.Output != classifier.Probability || c.Calibration == nil {
			t.Errorf("class %s: its numbers are a %s", class, c.Output)
		}
	}
	other := *model
	other.Weights = append([][]float64{{model.Weights[0][0] + .1}}, model.Weights[1:]...)
	own := *model
	own.Release = nil
	for name, c := range map[string]struct {
		r, by study.Release
		says  string
	}{
		"other weights under its name": {release, evaluated(&other, schema.Classes()[1]), "another model"},
		"a model of no release":        {release, evaluated(&own, schema.Classes()[1]), "another model"},
		"not an evaluation":            {release, release, "judges no model"},
		"nothing to calibrate":         {evaluated(&own, schema.Classes()[1]), evaluated(&own, schema.Classes()[1]), "no classifier"},
	} {
		if _, err := judged.RecalibrateRelease(c.r, c.by); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
	narrow := schema
	narrow.Features = append([]dataset.Feature(nil), schema.Features...)
	narrow.Features[0].Max++
	if _, err := judged.ModelOf(release, narrow); err == nil ||
		!strings.Contains(err.Error(), "another schema") {
		t.Errorf("a release of another schema: %v", err)
	}
}
