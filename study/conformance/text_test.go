package conformance_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/labels"
	"caucus/study/ratio"
	"caucus/study/reweigh"
)

// fullPlan fills every field that can hold text, so that the walk below meets every field.
func fullPlan(t *testing.T) study.Plan {
	t.Helper()
	p := study.Plan{
		Name: "n", Kind: "classify", Form: study.FormCommitted, Purpose: "p", Contact: "c", SourceName: "d",
		Schema: dataset.Schema{
			Name:     "s",
			Label:    dataset.Label{Column: "ill", Classes: []string{"no", "yes"}, Aliases: map[string]string{"1": "yes"}, OtherClass: "no"},
			Features: []dataset.Feature{{Column: "age", Kind: dataset.Numeric, Max: 1}, {Columns: []string{"a", "b"}, Kind: dataset.Categorical, Levels: []string{"x", "y"}}},
			Missing:  "?", Party: "site", Patient: "patient", PatientDate: "admitted", Date: "2020-01-31", Delimiter: ";", Columns: []string{"age"}, Comment: "#",
		},
		Map:  dataset.Map{Kind: dataset.IdentityMap, Standard: &dataset.StandardParameters{}, Inner: &dataset.Map{Kind: dataset.IdentityMap}},
		Pool: auxdata.Digest{1}, Roster: []study.PartyID{"a", "b"},
		Unit: privacy.Patient, Choose: study.First, Epsilon: 1, Delta: 1e-6, Mechanism: "cross", Noise: study.NoiseSite,
		Weights: &study.WeightSource{}, Where: "age > 0", Seal: &study.SealRule{},
		Minimum: 2, Records: 200, Deadline: time.Unix(0, 0), Readers: []string{"r"}, TermsDigest: "t",
	}
	empty(t, "plan", reflect.ValueOf(p))
	return p
}

// empty fails for a field without text.
func empty(t *testing.T, at string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Len() == 0 {
			t.Errorf("%s is empty here: give it a text, so that the test sees it", at)
		}
	case reflect.Pointer:
		if v.IsNil() {
			if !strings.Contains(at, "Map.Inner.") { // tested already
				t.Errorf("%s is nil here", at)
			}
			return
		}
		empty(t, at, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return // has no text
		}
		for i := range v.NumField() {
			// a feature has one of these, by its kind
			if f := v.Type().Field(i); f.Name != "Column" && f.Name != "Columns" &&
				f.Name != "Levels" {
				empty(t, at+"."+f.Name, v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			empty(t, fmt.Sprintf("%s[%d]", at, i), v.Index(i))
		}
	}
}

// eachText calls visit for every string inside a value, with a function that changes the string
// during the call.
func eachText(at string, v reflect.Value,
	visit func(at string, set func(string) (restore func()))) {
	switch v.Kind() {
	case reflect.String:
		visit(at, func(s string) func() {
			was := v.String()
			v.SetString(s)
			return func() { v.SetString(was) }
		})
	case reflect.Pointer:
		eachText(at, v.Elem(), visit)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				eachText(at+"."+f.Name, v.Field(i), visit)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			eachText(fmt.Sprintf("%s[%d]", at, i), v.Index(i), visit)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := v.MapIndex(key)
			visit(at+" key", func(s string) func() {
				v.SetMapIndex(key, reflect.Value{})
				v.SetMapIndex(reflect.ValueOf(s).Convert(key.Type()), value)
				return func() {
					v.SetMapIndex(reflect.ValueOf(s).Convert(key.Type()), reflect.Value{})
					v.SetMapIndex(key, value)
				}
			})
			visit(at+" value", func(s string) func() {
				v.SetMapIndex(key, reflect.ValueOf(s).Convert(value.Type()))
				return func() { v.SetMapIndex(key, value) }
			})
		}
	}
}

// TestEveryTextOfAPlan: deceptive text is refused in every string of a plan.
func TestEveryTextOfAPlan(t *testing.T) {
	p := fullPlan(t)
	texts := 0
	eachText("plan", reflect.ValueOf(&p).Elem(), func(at string, set func(string) func()) {
		texts++
		for _, bad := range []string{
			"two\nlines", "over\rwritten", "\x1b[2Jcleared", "a\u202ereversed", "zero\u200bwidth", "tag\U000e0041", "\u2028", "\x00", "not \xff UTF-8", "\ufeff", strings.Repeat("x", study.MaxText+1),
		} {
			restore := set(bad)
			if err := kinds.Check(p); !errors.Is(err, study.ErrPlan) {
				t.Errorf("%s = %q is taken: %v", at, bad, err)
			} else if at != "plan.Kind" && !strings.Contains(err.Error(), "control character") &&
				!strings.Contains(err.Error(), "UTF-8") &&
				!strings.Contains(err.Error(), "shorten it") {
				t.Errorf("%s = %q: %v", at, bad, err)
			} else if strings.ContainsAny(err.Error(), "\n\r\x1b\x00") {
				t.Errorf("%s = %q: the refusal repeats it: %q", at, bad, err)
			}
			restore()
		}
	})
	if texts < 36 {
		t.Errorf("only %d texts were found", texts)
	}
	for kind, terms := range map[string]any{
		"labels": labels.Terms{Loss: "two\nlines"}, "ratio": ratio.Terms{Estimator: "\x1b[2Jcleared"}, "reweigh": reweigh.Terms{Pairs: [][2]string{{"age", "a\u202ereversed"}}},
	} {
		p := p
		p.KindTerms = conformance.EncodeTerms(terms)
		if err := p.DecodeTerms(reflect.New(reflect.TypeOf(terms)).Interface()); !errors.Is(err,
			study.ErrPlan) || !strings.Contains(err.Error(), "kind_terms.") {
			t.Errorf("text in the terms of %s: %v", kind, err)
		}
	}
	for _, good := range []string{"", "Prüfung der Wiederaufnahme, ε = 1", "再入院\u3000予測", "نص",
		strings.Repeat("x", study.MaxText)} {
		if err := study.CheckText(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// TestPlanCarriesNoFormat: a plan cannot say which lines of a site's file are records. A comment
// character could count the records that begin with a text.
func TestPlanCarriesNoFormat(t *testing.T) {
	schema, pool, m, _ := conformance.Hospital(t, 400)
	for name, change := range map[string]func(*dataset.Schema){
		"comment":   func(s *dataset.Schema) { s.Comment = "F" },
		"delimiter": func(s *dataset.Schema) { s.Delimiter = ";" },
		"columns": func(s *dataset.Schema) {
			s.Columns = append(s.FeatureColumns(), s.Label.Column, s.Patient, s.PatientDate)
		},
	} {
		for _, simulated := range []bool{false, true} {
			p := conformance.ClassifyPlan(schema, pool, m)
			p.Simulated = simulated
			change(&p.Schema)
			if err := kinds.Check(p); !errors.Is(err, study.ErrPlan) ||
				!strings.Contains(err.Error(), "how a file is read is the site's to say") {
				t.Errorf("%s: %v", name, err)
			}
			if p.Schema = p.Schema.WithoutFormat(); kinds.Check(p) != nil {
				t.Errorf("%s: without it: %v", name, kinds.Check(p))
			}
		}
	}
	full := fullPlan(t).Schema
	if s := full.WithoutFormat(); !reflect.DeepEqual(s.Format(), dataset.Format{}) ||
		len(s.Features) != len(full.Features) || s.Missing != full.Missing {
		t.Errorf("the meaning of a schema is %+v", s)
	}
	table, _ := public.Hospitals(public.DefaultHospitalConfig())
	schema.Delimiter, schema.Comment = ";", "#"
	made, err := planning.ProposePlan(study.Proposal{Name: "x", Roster: []study.PartyID{"a", "b"}},
		schema,
		table)
	if err != nil || made.Plan.Schema.Delimiter != "" || made.Plan.Schema.Comment != "" {
		t.Errorf("a proposal with a file's schema: %v, %+v", err, made.Plan.Schema)
	}
}

// TestDeltaByUnits: δ is checked against the number of units that the guarantee hides, not the
// roster.
func TestDeltaByUnits(t *testing.T) {
	schema, pool, m, _ := conformance.Hospital(t, 400)
	for _, c := range []struct {
		unit      privacy.Unit
		parties   int
		minimum   int
		records   int
		delta     float64
		simulated bool
		says      string
	}{
		{privacy.Record, 3, 2, 200, .1, false, "delta"},
		{privacy.Record, 3, 2, 200, 1. / 4000, false, ""},
		{privacy.Record, 3, 2, 200, 1.001 / 4000, false, "400 units"},
		{privacy.Record, 3, 2, 0, 1e-9, false, "how many records"},
		{privacy.Record, 3, 2, -1, 1e-9, false, "how many records"},
		{privacy.Record, 3, 2, 1 << 40, 1e-9, false, "how many records"},
		{privacy.Label, 3, 3, 100, 1. / 3000, false, ""},
		{privacy.Label, 3, 3, 100, 1. / 2999, false, "300 units"},
		{privacy.Party, 30, 2, 0, 1. / 300, false, ""},
		{privacy.Party, 30, 2, 0, 1. / 299, false, "30 units"},
		{privacy.Party, 0, 50, 0, 1. / 499, false, "50 units"},
		{privacy.Record, 3, 2, 0, .1, true, ""}, // a simulation protects nobody and only warns
	} {
		p := conformance.ClassifyPlan(schema, pool, m)
		p.Unit, p.Minimum, p.Records, p.Delta, p.Simulated = c.unit, c.minimum, c.records, c.delta,
			c.simulated
		p.Roster = nil
		for i := range c.parties {
			p.Roster = append(p.Roster, study.PartyID(fmt.Sprint("p", i)))
		}
		if err := kinds.Check(p); (err == nil) != (c.says == "") ||
			(err != nil && !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v", c, err)
		}
		if c.says != "" {
			continue
		}
		p.Delta = study.DefaultDelta(p.MinUnits())
		if err := kinds.Check(p); err != nil {
			t.Errorf("%+v: the default: %v", c, err)
		}
	}
}
