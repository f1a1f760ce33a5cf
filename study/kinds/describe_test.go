package kinds_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/describe"
	"caucus/study/kinds"
	"caucus/study/simulate"
)

func describePlan(schema dataset.Schema, pool *auxdata.Pool) study.Plan {
	return study.Plan{
		Name: "test", Kind: "describe", Schema: schema, Map: dataset.Identity(schema), Pool: pool.Digest,
		Roster: []study.PartyID{"a", "b", "c"}, Records: 200, Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Mechanism: "gaussian",
		Noise: study.NoiseSite, Shards: 1, Minimum: 2, Seed: 1, KindTerms: encoded(describe.DefaultTerms()),
	}
}

func TestDescribeRefusals(t *testing.T) {
	schema, _, pool, _ := wards(t, 400)
	for name, c := range map[string]struct {
		change func(*study.Plan)
		says   string
	}{
		"unknown mechanism":     {func(p *study.Plan) { p.Mechanism = "entropy" }, "[gaussian laplace]"},
		"unit label":            {func(p *study.Plan) { p.Unit = privacy.Label }, "use unit record"},
		"unit party":            {func(p *study.Plan) { p.Unit = privacy.Party }, "describe.per_party"},
		"gaussian of δ 0":       {func(p *study.Plan) { p.Delta = 0 }, "use laplace"},
		"auto":                  {func(p *study.Plan) { p.Mechanism = "auto" }, "name laplace or gaussian"},
		"shards":                {func(p *study.Plan) { p.Shards = 2 }, "set shards to 1"},
		"a map":                 {func(p *study.Plan) { p.Map.Kind = dataset.PCAMap }, "map"},
		"one bin":               {func(p *study.Plan) { p.KindTerms = encoded(describe.Terms{Bins: 1}) }, "2 to 100"},
		"no bins":               {func(p *study.Plan) { p.KindTerms = encoded(describe.Terms{}) }, "2 to 100"},
		"bins beyond":           {func(p *study.Plan) { p.KindTerms = encoded(describe.Terms{Bins: 101}) }, "2 to 100"},
		"bins negative":         {func(p *study.Plan) { p.KindTerms = encoded(describe.Terms{Bins: -3}) }, "2 to 100"},
		"per_party negative":    {func(p *study.Plan) { p.KindTerms = encoded(describe.Terms{Bins: 2, PerParty: -1}) }, "per_party"},
		"per_party beyond":      {func(p *study.Plan) { p.KindTerms = encoded(describe.Terms{Bins: 2, PerParty: 1 << 50}) }, "per_party"},
		"terms of another kind": {func(p *study.Plan) { p.KindTerms = []byte(`{"keep":0.1}`) }, "keep"},
		"a count of all":        {func(p *study.Plan) { p.KindTerms = encoded(describe.Terms{Count: true}) }, "where: age >= 65"},
		"a count in bins": {func(p *study.Plan) {
			p.Where = "outcome == x"
			p.KindTerms = encoded(describe.Terms{Count: true, Bins: 4})
		}, ""},
		"by a number":          {func(p *study.Plan) { p.KindTerms = encoded(describe.Terms{Bins: 4, By: "age"}) }, "neither the label nor a text"},
		"by what is not there": {func(p *study.Plan) { p.KindTerms = encoded(describe.Terms{Bins: 4, By: "height"}) }, "neither the label nor a text"},
		"bins left out":        {func(p *study.Plan) { p.KindTerms = []byte(`{}`) }, "canonical"},
		"too many counts": {func(p *study.Plan) {
			p.Schema.Features = []dataset.Feature{{Columns: []string{"x0..x9999"}, Kind: dataset.Numeric, Max: 1}}
			p.Map = dataset.Identity(p.Schema)
		}, "fewer bins"},
	} {
		p := describePlan(schema, pool)
		c.change(&p)
		if err := kinds.Check(p); !errors.Is(err, study.ErrPlan) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
	p := describePlan(schema, pool)
	p.KindTerms = nil // ten bins
	if err := kinds.Check(p); err != nil {
		t.Error(err)
	}
}

// TestDescribeProposed: the quieter noise unless the proposal names one, ten bins, and a
// forecast whose number is the release's.
func TestDescribeProposed(t *testing.T) {
	schema, table, _, records := wards(t, 4000)
	zero := 0.
	for name, c := range map[string]struct {
		proposal  study.Proposal
		mechanism string
		delta     float64
		bins      int
	}{
		"nothing said": {study.Proposal{}, "gaussian", 1e-6, 10},
		"δ = 0":        {study.Proposal{Delta: &zero}, "laplace", 0, 10},
		"laplace":      {study.Proposal{Mechanism: "laplace"}, "laplace", 0, 10},
		"terms":        {study.Proposal{KindTerms: encoded(describe.Terms{PerParty: 900})}, "gaussian", 1e-6, 10},
		"bins":         {study.Proposal{KindTerms: encoded(describe.Terms{Bins: 4})}, "gaussian", 1e-6, 4},
	} {
		s := c.proposal
		s.Name, s.Kind, s.Roster, s.Records, s.Epsilon, s.Seed = "x", "describe", []study.PartyID{"a", "b", "c"}, 1000, 2, 1
		s.Map.Project = dataset.Auto
		made, err := kinds.Propose(s, schema, table)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := made.Plan
		if terms := termsIn[describe.Terms](p); p.Mechanism != c.mechanism || p.Delta != c.delta || terms.Bins != c.bins || p.Unit != privacy.Record || p.Noise != study.NoiseSite {
			t.Errorf("%s: %s, δ = %g, %d bins, unit %s, noise %s", name, p.Mechanism, p.Delta, terms.Bins, p.Unit, p.Noise)
		}
		var inputs []study.Inputs
		for i, part := range deal(records, 3) {
			inputs = append(inputs, study.Inputs{Records: part, ShardKey: []byte{byte(i)}})
		}
		release, err := simulate.Rehearse(t.Context(), p, made.Pool, inputs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := describe.TableOf(release)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("± %.3g records a count", got.NoiseSD); !strings.HasPrefix(made.Noise, want) || made.Warning != "" {
			t.Errorf("%s: forecast %q (warning %q), the release says %s", name, made.Noise, made.Warning, want)
		}
		if name == "terms" {
			if got.Records != 2700 {
				t.Errorf("%d records counted, per_party allows 3 × 900", got.Records)
			}
			continue
		}
		// The noise is as large as the release says. It is simulated from a fixed seed, so
		// that this fails always or never; a factor of √3, the parties', or 2 would.
		truth := describe.Exact(p, records)
		sum, cells := 0., 0.
		for i, col := range got.Columns {
			for k, v := range col.Groups[0].Noisy {
				d := (v - truth.Columns[i].Groups[0].Noisy[k]) / got.NoiseSD
				sum, cells = sum+d*d, cells+1
			}
		}
		if ratio := math.Sqrt(sum / cells); ratio < .6 || ratio > 1.5 {
			t.Errorf("%s: noise over %.0f cells has %.2f of the deviation that is stated", name, cells, ratio)
		}
	}
	s := study.Proposal{Name: "x", Kind: "describe", Roster: []study.PartyID{"a", "b", "c"}, Records: 50}
	made, err := kinds.Propose(s, schema, table)
	if err != nil || !strings.Contains(made.Warning, "use more records") {
		t.Errorf("three sites of 50 records: warning %q, %v", made.Warning, err)
	}
	s.Map.Project = 5
	if _, err := kinds.Propose(s, schema, table); err == nil || !strings.Contains(err.Error(), "do not project") {
		t.Errorf("projected: %v", err)
	}
}
