package conformance_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
)

// TestAggregators: noise by aggregators is allowed only for studies whose contributions can be
// split with a proof, and no task of theirs makes a contribution in clear. A party is charged the
// guarantee of one honest server, and the words for people say so.
func TestAggregators(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 400)
	plan := func(mechanism string) study.Plan {
		p := conformance.ClassifyPlan(schema, pool, m)
		p.Unit, p.Mechanism, p.Noise, p.Simulated = privacy.Record, mechanism,
			study.NoiseAggregators, true
		return p
	}
	mechanisms := []string{"tally", "cross", "moment", "means"}
	for _, mechanism := range mechanisms {
		p := plan(mechanism)
		if mechanism == "means" {
			p.Unit = privacy.Party
		}
		for _, p.Simulated = range []bool{true, false} {
			if err := kinds.Check(p); err != nil {
				t.Fatalf("%s: %v", mechanism, err)
			}
		}
		task, err := results.NewTask(p, pool)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := task.Contribute(study.NewInputs(records, []byte("key"))); err == nil ||
			!strings.Contains(err.Error(), "never the contribution itself") {
			t.Errorf("%s: a party contributes in clear: %v", mechanism, err)
		}
		central := p
		central.Noise = study.NoiseCoordinator
		once, err := results.NewTask(central, pool)
		if err != nil {
			t.Fatal(err)
		}
		have, err := task.Charges(0)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := once.Charges(0); err != nil || !reflect.DeepEqual(have, want) {
			t.Errorf("%s: a party is charged %v, by one server's noise %v (%v)", mechanism, have, want, err)
		}
		if r, err := task.Reservations(10); err != nil || r != nil {
			t.Errorf("%s: a party reserves %v, %v: it releases nothing itself", mechanism, r, err)
		}
		w := task.Words()
		if !strings.Contains(w.DataSent, "two secret shares") ||
			!strings.Contains(strings.Join(study.NotProtected(p, w), "\n"), "work together") ||
			!strings.Contains(w.LiarText, "proof") && !strings.Contains(w.LiarText, "proved") {
			t.Errorf("%s: it is not said who learns what: %q, %q, %q", mechanism, w.DataSent,
				study.NotProtected(p, w), w.LiarText)
		}
	}
	for _, mechanism := range []string{"output", "output-paper", "none", "majority"} {
		if err := kinds.Check(plan(mechanism)); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), "share") {
			t.Errorf("%s: %v, want a refusal: nothing is proved of its shares", mechanism, err)
		}
	}
	for _, kind := range []string{"describe", "evaluate", "reweigh"} {
		of := study.Proposal{Name: "s", Kind: kind, Epsilon: 1, Noise: study.NoiseAggregators,
			Minimum: 3, Records: 100}
		if kind == "evaluate" {
			of.KindTerms = json.RawMessage(`{"score":"creatinine"}`)
		}
		p, err := planning.Complete(of, schema)
		if err != nil {
			t.Fatal(err)
		}
		p.Simulated = true
		if err := planning.SetPool(&p, auxdata.NewSimulated(pool.Encoded, p.Map)); err != nil {
			t.Fatal(err)
		}
		if err := kinds.Check(p); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if w := kinds.Explain(p); w.LiarText != p.Noise.Trust().LiarInRecords ||
			!strings.Contains(w.DataSent, "two secret shares") {
			t.Errorf("%s: it is not said what a liar can do, or what leaves: %q, %q", kind, w.LiarText, w.DataSent)
		}
		if p.Simulated = false; kinds.Check(p) != nil {
			t.Errorf("%s: a real plan: %v", kind, kinds.Check(p))
		}
	}
	for _, kind := range []string{"labels", "ratio"} {
		p := plan("gaussian")
		p.Kind = kind
		if err := kinds.Check(p); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), "noise") {
			t.Errorf("%s: %v, want a refusal of its noise", kind, err)
		}
	}
}
