package desk

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"caucus/privacy"
	"caucus/study"
)

// TestForPatients: with k records of a patient, a pure mechanism costs the patient k·ε, or ε if
// shards keep the records together. Any other mechanism costs what is proved for ρ.
func TestForPatients(t *testing.T) {
	p := study.Plan{Kind: "classify", Unit: privacy.Record, Epsilon: 1}
	pure := privacy.PureCost(privacy.Record, 0, exactly(1))
	concentrated := privacy.ConcentratedCost(privacy.Record, 0, exactly(0.5))
	for _, test := range []struct {
		name    string
		plan    func(*study.Plan)
		charges []study.Charge
		want    float64 // NaN: no guarantee
	}{
		{"pure", nil, []study.Charge{{Cost: pure}}, 3},
		{"two pure outputs", nil, []study.Charge{{Cost: pure}, {Cost: pure}}, 6},
		{"label", func(p *study.Plan) { p.Unit = privacy.Label }, []study.Charge{{Cost: privacy.PureCost(privacy.Label, 0, exactly(1))}}, 3},
		{"party", func(p *study.Plan) { p.Unit = privacy.Party }, []study.Charge{{Cost: privacy.PureCost(privacy.Party, 0, exactly(1))}}, 1},
		{"shards keep patients", func(p *study.Plan) { p.KindTerms, p.Schema.Patient = []byte(`{"shards":2}`), "patient" }, []study.Charge{{Cost: pure}}, 1},
		{"rho", func(p *study.Plan) { p.Delta = 1e-6 }, []study.Charge{{Cost: concentrated}}, privacy.EpsilonOf(4.5, 1e-6)},
		{"rho without delta", nil, []study.Charge{{Cost: concentrated}}, math.NaN()},
		{"nothing is charged", nil, nil, math.NaN()},
	} {
		plan := p
		if test.plan != nil {
			test.plan(&plan)
		}
		several := []PatientCount{{Patients: 1, Records: 3}}
		forPatients(plan, test.charges, several)
		got := several[0].Epsilon
		if math.IsNaN(test.want) != (got == nil) || got != nil &&
			math.Abs(*got-test.want) > 1e-3*test.want {
			t.Errorf("%s: ε = %s, want %g", test.name, show(got), test.want)
		}
	}
}

// TestCountsUnits: if a number counts records, its noise is stated in records.
func TestCountsUnits(t *testing.T) {
	counts := study.Reservation{Output: "counts",
		Terms: privacy.Terms{Bound: privacy.CountBound(privacy.Label, 3), Length: 3}}
	m, err := privacy.CalibrateLaplace(counts.Terms.Bound, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	counts.Terms.Mechanism = m
	got := noiseOf(nil, []study.Reservation{counts})[0]
	if !got.CountsUnits || got.UnitsWithinSD != got.SD ||
		!strings.HasPrefix(got.words(), "standard deviation 5.6") ||
		!strings.HasSuffix(got.words(), " labels on each of this site's counts") {
		t.Errorf("%+v: %s", got, got.words())
	}
}

func exactly(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
