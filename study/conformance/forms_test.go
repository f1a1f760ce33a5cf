package conformance_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
	"caucus/study/classify/trained"
	"caucus/study/conformance"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
	"caucus/study/labels"
	"caucus/study/labels/learned"
	"caucus/study/verify"
)

// TestForm: a stored release of the current form stays valid, because a change of what releases say
// needs a new form. A release of another form is refused, and the error names the version that
// reads it.
func TestForm(t *testing.T) {
	folder := fmt.Sprintf("testdata/form%d/", study.ManifestForm)
	f, err := os.Open(folder + "pool.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := dataset.ReadCSV(f, dataset.Format{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(folder + "cross.json")
	if err != nil {
		t.Fatal(err)
	}
	read := func() (r study.Release) {
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	p, err := kinds.PlanOf(read())
	if err != nil {
		t.Fatal(err)
	}
	pool, err := study.PoolOf(p, table)
	if err != nil {
		t.Fatal(err)
	}
	if bad := conformance.FalseClaims(verify.CheckClaims(read(), pool)); len(bad) > 0 {
		t.Error(strings.Join(bad, "\n"))
	}
	changed := read()
	edit(t, &changed, func(b map[string]any) { weight(b, 0, .5) })
	if len(conformance.FalseClaims(verify.CheckClaims(changed, pool))) == 0 {
		t.Error("a change is not found")
	}
	for form := range study.ManifestForm + 2 {
		r := read()
		r.Form, r.Software = form, "v0.7.1"
		_, err := results.CheckedPlan(r)
		want := fmt.Sprintf("it has form %d, and this program reads form %d alone: use the version that made it, v0.7.1", form, study.ManifestForm)
		bad := strings.Join(conformance.FalseClaims(verify.CheckClaims(r, pool)), "\n")
		if form == study.ManifestForm {
			if bad != "" || err != nil {
				t.Errorf("form %d: %v, %s", form, err, bad)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(bad, want) {
			t.Errorf("form %d: %v, %s", form, err, bad)
		}
	}
}

// telling gives records classes that the map's first feature predicts well.
func telling(m dataset.Map, records *dataset.Records) {
	r := rand.New(rand.NewPCG(2, 2))
	mapped := m.Apply(records.X)
	for i := range records.Y {
		records.Y[i] = 0
		if mapped.At(i, 0) > .4*r.NormFloat64() {
			records.Y[i] = 1
		}
	}
}

// TestCoefficientsCannotBeLeftOut: coefficients can neither be left out of a release nor changed.
func TestCoefficientsCannotBeLeftOut(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 8000)
	telling(m, records)
	p := conformance.ClassifyPlan(schema, pool, m)
	p.Unit, p.Mechanism, p.Noise, p.Epsilon, p.Records = privacy.Record, "cross", study.NoiseSite,
		8, 3000
	genuine := conformance.RunRelease(t, p, pool, records)
	if trained.CoefficientsOf(genuine) == nil {
		t.Fatal("there are none")
	}
	without := func(b map[string]any) { delete(b, "coefficients") }
	other := func(b map[string]any) { b["coefficients"].(map[string]any)["class"] = "none" }
	for name, c := range map[string]struct {
		change func(map[string]any)
		holds  bool
	}{
		"as it is": {func(map[string]any) {}, true}, "left out": {without, false}, "changed": {other, false},
	} {
		r := conformance.Reread(t, genuine)
		edit(t, &r, c.change)
		if bad := conformance.FalseClaims(verify.CheckClaims(r, pool)); (len(bad) == 0) != c.holds {
			t.Errorf("%s: %q", name, bad)
		}
	}
}

// TestLabelsCalibrated: a release with enough privatised labels says that its numbers are
// probabilities, and names the slope of the calibration. verify refuses any other slope, although
// it cannot fit one.
func TestLabelsCalibrated(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 3000)
	telling(m, records)
	p := conformance.LabelsPlan(schema, pool, m)
	p.Epsilon, p.Records = 5, 1000
	calibrated := conformance.RunRelease(t, p, pool, records)
	said, err := learned.ResultOf(calibrated.Result)
	if err != nil {
		t.Fatal(err)
	}
	of := said.Classifier.Calibration
	if said.Classifier.Output != classifier.Probability || of == nil ||
		said.SlopeError != of.SlopeSD/of.Slope {
		t.Fatalf("%s, %+v, slope known to %g", said.Classifier.Output, of, said.SlopeError)
	}
	p.KindTerms = conformance.EncodeTerms(labels.Terms{Loss: "logistic", Risk: "ber",
		Correction: "backward", MaxRecords: 20_000})
	balanced := conformance.RunRelease(t, p, pool, records)
	p.KindTerms, p.Epsilon = conformance.EncodeTerms(labels.DefaultTerms()), .6
	noisy := conformance.RunRelease(t, p, pool, records)
	for name, r := range map[string]study.Release{"risk ber": balanced, "of itself only": noisy} {
		c, ok := classifier.Of(r.Result)
		if all := strings.Join(r.Result.Warnings, "\n"); !ok || c.Output != classifier.Score ||
			!strings.Contains(all, fitted.NotProbabilities) || !strings.Contains(all, name) {
			t.Errorf("%s: %s, %q", name, c.Output, r.Result.Warnings)
		}
	}
	inside := func(b map[string]any) map[string]any { return b["classifier"].(map[string]any) }
	line := func(b map[string]any) map[string]any {
		return inside(b)["calibration"].(map[string]any)
	}
	for name, c := range map[string]struct {
		of     study.Release
		change func(map[string]any)
	}{
		"another slope":            {calibrated, func(b map[string]any) { line(b)["slope"] = 1.5 * of.Slope }},
		"surer":                    {calibrated, func(b map[string]any) { line(b)["slope_sd"] = of.SlopeSD / 2 }},
		"a narrower interval":      {calibrated, func(b map[string]any) { line(b)["slope_low"] = of.Slope }},
		"no intercept":             {calibrated, func(b map[string]any) { line(b)["intercept"] = []any{} }},
		"called scores":            {calibrated, func(b map[string]any) { inside(b)["output"] = "score"; delete(inside(b), "calibration") }},
		"called shares":            {calibrated, func(b map[string]any) { inside(b)["output"] = "vote_share" }},
		"called probabilities":     {noisy, func(b map[string]any) { inside(b)["output"] = "probability" }},
		"a slope without a number": {noisy, func(b map[string]any) { b["slope_error"] = 0. }},
	} {
		r := conformance.Reread(t, c.of)
		edit(t, &r, c.change)
		if len(conformance.FalseClaims(verify.CheckClaims(r, pool))) == 0 {
			t.Errorf("%s: verify finds nothing", name)
		}
	}
}

// TestLabelsLeaveOutEmpty: records outside the plan's condition arrive as empty records with
// uniform labels and count in nothing, so class shares are those of the records inside.
func TestLabelsLeaveOutEmpty(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 2000)
	p := conformance.LabelsPlan(schema, pool, m)
	p.Epsilon = 60 // keeps every label
	outside := records.Select(conformance.Seq(0, records.Len()))
	empty := schema.Empty()
	want := 0
	for i := range outside.Y {
		if i%3 > 0 {
			outside.X.SetRow(i, empty.X.RawRowView(0))
			outside.Y[i] = -1
		} else {
			outside.Y[i], want = 1, want+1
		}
	}
	said, err := learned.ResultOf(conformance.RunRelease(t, p, pool, outside).Result)
	if err != nil {
		t.Fatal(err)
	}
	if said.Records != want || said.Shares.Share[1] < 1-1e-6 {
		t.Errorf("%d records, shares %v; want %d, all of the second class", said.Records, said.Shares.Share, want)
	}
}
