package trained_test

import (
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify/trained"
	"caucus/study/conformance"
	"caucus/study/verify"
)

// A plan with bins has the bound of any other, its release verifies, and its coefficients are left
// out.
func TestBins(t *testing.T) {
	schema, pool, _, records := conformance.Hospital(t, 1200)
	m, err := dataset.Components{Project: 8, Bins: true}.Fit(schema, pool.Encoded)
	if err != nil {
		t.Fatal(err)
	}
	pool = auxdata.NewSimulated(pool.Encoded, m)
	p := conformance.ClassifyPlan(schema, pool, m)
	p.Unit, p.Mechanism, p.Noise, p.Epsilon = privacy.Record, "cross", study.NoiseSite, 10
	if p.TermsDigest, err = study.TermsDigest(conformance.TaskOf(t, p, pool)); err != nil {
		t.Fatal(err)
	}
	release := conformance.RunOnRecords(t, p, pool, conformance.Deal(records, 3))
	if b := release.Costs[0].Bound; b.L2sq != 1<<41 || b.Cells != 2*m.Dim() {
		t.Errorf("bound %+v", b)
	}
	if trained.NoCoefficients(p) == "" {
		t.Error("a plan with bins promises coefficients")
	}
	if body := conformance.BodyOf[trained.Result](t, release.Result); body.Coefficients != nil ||
		len(body.Classifier.Weights) != m.Dim() {
		t.Errorf("coefficients %v, %d weights", body.Coefficients, len(body.Classifier.Weights))
	}
	if bad := conformance.FalseClaims(verify.CheckClaims(release, pool)); len(bad) > 0 {
		t.Error(bad)
	}
}
