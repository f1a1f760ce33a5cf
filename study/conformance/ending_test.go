package conformance_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/kinds"
	"caucus/study/ratio"
	"caucus/study/reweigh"
)

// TestEndingsMoveNoTerms: under every chain of amendments that a plan allows, δ, charges and noise
// suit any number of parties at which the study may then seal. Random chains, plans of every kind.
// A mutant that counts units at the floor is found.
func TestEndingsMoveNoTerms(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 6)
	c.plan.Roster = nil
	for i := range 10 {
		c.plan.Roster = append(c.plan.Roster, study.PartyID(fmt.Sprint("p", i)))
	}
	c.plan.Minimum, c.plan.Floor, c.plan.Records, c.plan.Delta = 8, 3, 10, 1e-4
	c.plan.Deadline = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	rng := rand.New(rand.NewPCG(1, 2))
	for name, p := range map[string]study.Plan{
		"tally, a party":    c.classify("tally", privacy.Party, study.NoiseCoordinator, 1),
		"moment, a party":   c.classify("moment", privacy.Party, study.NoiseCoordinator, 1),
		"output, a party":   c.classify("output", privacy.Party, study.NoiseCoordinator, 1),
		"means, a party":    c.classify("means", privacy.Party, study.NoiseCoordinator, 1),
		"cross, a record":   c.classify("cross", privacy.Record, study.NoiseSite, 1),
		"tally, a record":   c.classify("tally", privacy.Record, study.NoiseSite, 4),
		"ratio, a label":    c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace"),
		"reweigh, a record": c.reweigh("entropy", reweigh.Terms{}),
		"describe":          c.describe("gaussian", study.NoiseSite, describe.DefaultTerms()),
		"labels":            c.labels("rr"),
	} {
		if err := kinds.Check(p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		task := conformance.TaskOf(t, p, c.pool)
		chain := study.NewAmendmentChain(p, task.Hash())
		for range 20 {
			e := study.Ending{Deadline: p.Deadline.Add(time.Duration(rng.IntN(1000)) * time.Hour),
				Minimum: 1 + rng.IntN(10)}
			if rng.IntN(2) == 0 {
				e.Seal = &study.SealRule{Share: rng.Float64(), QuietSeconds: rng.IntN(100)}
			}
			document, err := chain.Next(e, false, p.Deadline, privacy.Head{})
			if err == nil {
				_, err = chain.Add(document)
			}
			if allowed := e.Minimum >= 3 && e.Minimum <= 8; allowed != (err == nil) || err != nil &&
				!errors.Is(err, study.ErrAmendment) {
				t.Fatalf("%s: minimum %d: %v", name, e.Minimum, err)
			}
			least := chain.Ending().Minimum
			units := least * p.Records
			if p.Unit == privacy.Party {
				units = len(p.Roster)
			}
			if p.Delta > study.MaxDelta(units) {
				t.Errorf("%s: δ = %g is too large for %d units, which may seal it now", name, p.Delta, units)
			}
			charged, err := task.Charges(0)
			if err != nil {
				t.Fatal(err)
			}
			for m := least; m <= len(p.Roster); m++ {
				costs, err := task.Charges(int64(m * max(task.Words().Shards, 1)))
				if err != nil {
					t.Fatal(err)
				}
				for i, cost := range costs {
					at, _ := cost.CalibratedCost.At(p.Unit)
					declared, _ := charged[i].Cost.At(p.Unit)
					if have, most := privacy.NewTotals().Plus(at)[p.Unit].Epsilon(p.Delta),
						privacy.NewTotals().Plus(declared)[p.Unit].Epsilon(p.Delta); have > most*(1+1e-9) {
						t.Errorf("%s: with %d parties it costs ε = %v, %v was charged", name, m, have, most)
					}
				}
			}
		}
		// The largest δ follows from the minimum of contributions, also if the plan has a floor.
		p.Unit, p.Delta = privacy.Record, study.MaxDelta(p.Floor*p.Records)
		if err := p.CheckCommon(); !errors.Is(err, study.ErrPlan) {
			t.Errorf("%s: δ = %g is taken, too large for the minimum: %v", name, p.Delta, err)
		}
	}
}
