package conformance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/evaluate"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
)

// TestYear: a year of ten mixed studies at unit record, ε = 1 each, noise at the sites, against a
// site's ledger limited to (3, 10⁻⁵): how many it takes if pure noise is charged ε²/2, and how many
// by L2. With CAUCUS_YEAR=FILE it writes the charges, which lab/yearpeer.py adds up with Google's
// dp-accounting.
func TestYear(t *testing.T) {
	schema, pool, scored := yearOfData(t)
	limit := privacy.Budget{Epsilon: 3, Delta: 1e-5}
	studies := []struct{ kind, mechanism, terms string }{
		{"describe", "", `{"bins":8}`}, {"classify", "", ""}, {"reweigh", "", ""}, {"evaluate", "", string(scored)}, {"describe", "laplace", `{"bins":4}`},
		{"classify", "moment", ""}, {"reweigh", "", ""}, {"classify", "", ""}, {"evaluate", "", string(scored)}, {"describe", "", `{"bins":8}`},
	}
	taken := map[bool]int{}
	var rows []string
	var charges []map[string]any
	for _, by := range []bool{false, true} {
		ledger, err := privacy.Open(privacy.NewMemoryJournal(),
			privacy.Config{Limits: map[privacy.Unit]privacy.Budget{privacy.Record: limit}})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range studies {
			proposal := study.Proposal{Name: "x", Kind: s.kind, Mechanism: s.mechanism,
				Unit: privacy.Record, Roster: []study.PartyID{"a", "b", "c",
					"d"}, Noise: study.NoiseSite, Records: 2500}
			if s.terms != "" {
				proposal.KindTerms = json.RawMessage(s.terms)
			}
			made, _, err := planning.DraftPlan(proposal, schema, pool)
			if err != nil {
				t.Fatalf("%s: %v", s.kind, err)
			}
			p := made.Plan
			p.ChargeByL2 = p.ChargeByL2 && by
			task, err := results.NewTask(p, made.Pool)
			if err != nil {
				t.Fatal(err)
			}
			declared, err := task.Charges(0)
			if err != nil {
				t.Fatal(err)
			}
			reserved, err := task.Reservations(2500)
			if err != nil {
				t.Fatal(err)
			}
			fits := study.Reserve(t.Context(), ledger, study.Hash{byte(i)}, reserved,
				declared) == nil
			if fits {
				taken[by]++
			}
			c := declared[0].CalibratedCost
			rows = append(rows, fmt.Sprintf("by L2 %-5t %2d %-9s %-8s %-17s %-40v taken %t", by,
				i+1, p.Kind, p.Mechanism, declared[0].Mechanism, c, fits))
			if by && fits {
				charges = append(charges,
					map[string]any{"mechanism": declared[0].Mechanism,
						"parameters": declared[0].Parameters, "bound": declared[0].Bound})
			}
		}
		totals, err := ledger.Totals(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		spent := totals[privacy.Record].Epsilon(limit.Delta)
		rows = append(rows, fmt.Sprintf("by L2 %-5t: %d of %d studies, ε = %.4f at δ = %g", by, taken[by], len(studies), spent, limit.Delta))
		if path := os.Getenv("CAUCUS_YEAR"); path != "" && by {
			text := conformance.EncodeTerms(map[string]any{"charges": charges, "epsilon": spent,
				"delta": limit.Delta})
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Log("\n" + strings.Join(rows, "\n"))
	if taken[false] != 4 || taken[true] != 7 {
		t.Errorf("the ledger takes %d studies and, by L2, %d", taken[false], taken[true])
	}
}

// TestByL2OfPlans: a new plan with pure, independent noise is charged by L2; no other may ask for
// that. A plan of an earlier version keeps its bytes.
func TestByL2OfPlans(t *testing.T) {
	schema, pool := conformance.ProposalData(t)
	zero, some := 0., 1e-7
	for _, c := range []struct {
		kind, mechanism string
		delta           *float64
		noise           study.Noise
		by              bool
	}{
		{"classify", "cross", nil, study.NoiseSite, false}, {"classify", "cross", &zero, study.NoiseSite, true},
		{"classify", "moment", nil, study.NoiseAggregators, true}, {"classify", "output", &zero, study.NoiseCoordinator, false},
		{"describe", "laplace", &some, study.NoiseSite, true}, {"describe", "gaussian", nil, study.NoiseSite, false},
		{"reweigh", "logistic", nil, study.NoiseSite, true}, {"labels", "rr", nil, study.NoiseSite, false},
	} {
		made, task, err := planning.DraftPlan(study.Proposal{
			Name: "x", Kind: c.kind, Mechanism: c.mechanism, Delta: c.delta, Noise: c.noise, Roster: []study.PartyID{"a", "b", "c"},
		}, schema, pool)
		if err != nil {
			t.Fatalf("%s: %v", c.mechanism, err)
		}
		p := made.Plan
		charges, err := task.Charges(0)
		if err != nil || len(charges) != 1 {
			t.Fatalf("%s: %v, %d charges", c.mechanism, err, len(charges))
		}
		_, asks := charges[0].Parameters["rho"]
		if p.ChargeByL2 != c.by || asks != c.by ||
			strings.Contains(string(made.Canonical), "rho_by_l2") != c.by {
			t.Errorf("%s by %s at δ = %g: charged by L2 %t, its noise %t", c.kind, c.mechanism, p.Delta, p.ChargeByL2, asks)
		}
		p.ChargeByL2 = !p.ChargeByL2
		if c.kind == "describe" && c.by { // its terms as an earlier version computed them
			p.Form = 0
			const before = "1769b67d24e775078d0a36fc267eddc2ff0052454dcd4f11585e9a09cb7bf67f"
			if now, err := study.TermsDigest(conformance.TaskOf(t, p, made.Pool)); err != nil ||
				now != before {
				t.Errorf("%s by %s: terms %s, %v; want %s", c.kind, c.mechanism, now, err, before)
			}
		}
		if err := kinds.Check(p); (err == nil) != c.by {
			t.Errorf("%s by %s, charged by L2 %t: %v", c.kind, c.mechanism, p.ChargeByL2, err)
		}
	}
}

// yearOfData is a schema of fourteen categorical columns, a public pool, and a model to judge.
func yearOfData(t *testing.T) (schema dataset.Schema, pool *dataset.Table, scored json.RawMessage) {
	t.Helper()
	schema = dataset.Schema{Name: "year",
		Label: dataset.Label{Column: "ill", Classes: []string{"no", "yes"}}}
	levels := []string{"a", "b", "c", "d", "e"}
	var names []string
	rows := make([][]string, 400)
	for j := range 14 {
		names = append(names, fmt.Sprintf("c%d", j))
		schema.Features = append(schema.Features,
			dataset.Feature{Column: names[j], Kind: dataset.Categorical, Levels: levels})
		for i := range rows {
			rows[i] = append(rows[i], levels[(i*(2*j+3)+i/7)%len(levels)])
		}
	}
	pool, err := dataset.NewTable(names, rows)
	if err != nil {
		t.Fatal(err)
	}
	model, err := judged.Coefficients{Intercept: -1,
		Coefficients: map[string]float64{"c0=a": 1, "c1=b": .5}}.Model(schema)
	if err != nil {
		t.Fatal(err)
	}
	return schema, pool, conformance.EncodeTerms(evaluate.Terms{Model: model,
		Classes: schema.Classes()[1:2]})
}
