package conformance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
)

// TestPropose: a proposal takes the documented defaults, and the same proposal gives the same plan.
func TestPropose(t *testing.T) {
	schema, table := conformance.ProposalData(t)
	s := study.Proposal{Name: "x", Map: dataset.Components{Project: 5},
		Deadline: time.Date(2040, 1, 2, 3, 4, 5, 6, time.UTC)}
	for i := range 7 {
		s.Roster = append(s.Roster, study.PartyID(fmt.Sprint("p", i)))
	}
	made, err := planning.ProposePlan(s, schema, table)
	if err != nil {
		t.Fatal(err)
	}
	p := made.Plan
	if p.Unit != privacy.Record || p.Epsilon != 1 || p.Delta != 1e-6 || p.Mechanism != "cross" ||
		p.Noise != study.NoiseSite || p.Minimum != 6 || p.Map.Dim() != 6 {
		t.Errorf("plan %+v", p)
	}
	again, err := planning.ProposePlan(s, schema, table)
	if err != nil || again.Hash != made.Hash {
		t.Errorf("the same proposal gives %s, then %s (%v)", made.Hash, again.Hash, err)
	}
	if back, err := kinds.ParsePlan(made.Canonical); err != nil || back.Deadline.Nanosecond() != 0 {
		t.Errorf("plan read back: %v %v", back.Deadline, err)
	}
	// The proposed δ suits the largest site.
	for _, kind := range []string{"classify", "describe", "ratio"} {
		large := s
		large.Kind, large.Largest = kind, 400_000
		if kind == "describe" {
			large.Map, large.Mechanism, large.KindTerms = dataset.Components{}, study.MechanismGaussian, []byte(`{"bins":4}`)
		}
		if made, err := planning.ProposePlan(large, schema, table); err != nil ||
			made.Plan.Delta != study.MaxDelta(large.Largest) && made.Plan.Delta != 0 {
			t.Errorf("%s: a δ of %g is proposed where the largest site has %d records, %v", kind, made.Plan.Delta, large.Largest, err)
		}
	}
	s.Unit = privacy.Party
	if made, err = planning.ProposePlan(s, schema, table); err != nil ||
		made.Plan.Mechanism != "tally" {
		t.Errorf("a party-level plan of seven: %v, %s", err, made.Plan.Mechanism)
	}
	s.Minimum = 9
	if _, err = planning.ProposePlan(s, schema, table); err == nil ||
		!strings.Contains(err.Error(), "minimum") {
		t.Errorf("minimum above the roster: %v", err)
	}
}

// TestDeclaredCosts: a party is charged at least the cost of a release that a server makes.
func TestDeclaredCosts(t *testing.T) {
	schema, table := conformance.ProposalData(t)
	for mechanism, unit := range map[string]privacy.Unit{
		"tally": privacy.Record, "moment": privacy.Record, "cross": privacy.Record, "output": privacy.Record, "means": privacy.Party,
	} {
		made, _, err := planning.DraftPlan(study.Proposal{
			Name: "x", Unit: unit, Roster: []study.PartyID{"a", "b", "c"}, Mechanism: mechanism, Noise: study.NoiseCoordinator,
		}, schema, table)
		if err != nil {
			t.Fatal(err)
		}
		declared, err := conformance.TaskOf(t, made.Plan, made.Pool).Charges(0)
		if err != nil || len(declared) != 1 {
			t.Fatalf("%s: %v, %d charges", mechanism, err, len(declared))
		}
		q := conformance.StatisticOf(t, made.Plan, made.Pool)
		for _, weight := range []int64{1, 2, 3, 100} {
			terms, err := q.Terms(weight)
			if err != nil {
				t.Fatal(err)
			}
			real, err := privacy.CostOf(terms.Mechanism, terms.Bound)
			if err != nil {
				t.Fatal(err)
			}
			if declared[0].Cost.Rho.Cmp(real.Rho) < 0 ||
				(real.Pure != nil) != (declared[0].Cost.Pure != nil) || real.Pure != nil &&
				declared[0].Cost.Pure.Cmp(real.Pure) < 0 {
				t.Errorf("%s over %d: declared ρ %s, the release costs %s", mechanism, weight,
					declared[0].Cost.Rho.FloatString(9), real.Rho.FloatString(9))
			}
		}
	}
}
