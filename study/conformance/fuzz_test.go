package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classify/trained"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/describe/described"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
	"caucus/study/reweigh/weighed"
	"caucus/study/verify"
)

func contributionTo(t testing.TB, c clinic, p study.Plan, rows []visit) []byte {
	t.Helper()
	body, _, _ := conformance.SettleBody(t, p, c.pool, c.inputs(c.records(t, rows), 0),
		privacy.Config{})
	return body
}

// FuzzBody: for any bytes sent to any kind, Check and Add agree, a refusal wraps ErrContribution
// and changes nothing, and after an accepted body the sum or kept bodies can be encoded and
// decoded.
func FuzzBody(f *testing.F) {
	c, plans := fuzzPlans(f)
	for i, p := range plans {
		f.Add(uint8(i), contributionTo(f, c, p, append(alike(3, well), alike(3, ill)...)))
		f.Add(uint8(i), contributionTo(f, c, p, nil))
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		p := plans[int(which)%len(plans)]
		task := conformance.TaskOf(t, p, c.pool)
		all, err := study.NewAccumulator(task)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := all.Contributions().MarshalBinary()
		checked, added := all.Check(body), all.Add(body)
		if (checked == nil) != (added == nil) {
			t.Fatalf("%s %s: Check says %v, Add says %v", p.Kind, p.Mechanism, checked, added)
		}
		after, err := all.Contributions().MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if added != nil {
			if !errors.Is(added, study.ErrContribution) || !bytes.Equal(before, after) {
				t.Fatalf("%s %s: %v, and the sum changed: %v", p.Kind, p.Mechanism, added,
					!bytes.Equal(before, after))
			}
			return
		}
		if all.Sum == nil {
			if _, n, err := study.ParseBodies(after); err != nil || n != 1 {
				t.Fatalf("%s %s: %d bodies read back: %v", p.Kind, p.Mechanism, n, err)
			}
			return
		}
		again, _ := task.NewSum()
		if err := again.UnmarshalBinary(after); err != nil {
			t.Fatalf("%s %s: a sum does not read back: %v", p.Kind, p.Mechanism, err)
		}
		if _, err := again.Requests(1); err != nil {
			t.Fatalf("%s %s: %v", p.Kind, p.Mechanism, err)
		}
	})
}

// FuzzSum: invalid bytes are refused; valid ones decode to a sum with the same encoding.
func FuzzSum(f *testing.F) {
	c, plans := fuzzPlans(f)
	for i, p := range plans {
		all, err := study.NewAccumulator(conformance.TaskOf(f, p, c.pool))
		if err != nil {
			f.Fatal(err)
		}
		if err := all.Add(contributionTo(f, c, p,
			append(alike(3, well), alike(3, ill)...))); err != nil {
			f.Fatal(err)
		}
		b, _ := all.Contributions().MarshalBinary()
		f.Add(uint8(i), b)
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		p := plans[int(which)%len(plans)]
		task := conformance.TaskOf(t, p, c.pool)
		if _, keeps := task.(study.BodyKeeper); keeps {
			if all, _, err := study.ParseBodies(data); err == nil {
				if again, _ := all.MarshalBinary(); !bytes.Equal(again, data) {
					t.Fatal("bodies change on their way through bytes")
				}
			}
			return
		}
		sum, _ := task.NewSum()
		if sum.UnmarshalBinary(data) != nil {
			return
		}
		once, err := sum.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		again, _ := task.NewSum()
		if err := again.UnmarshalBinary(once); err != nil {
			t.Fatal(err)
		}
		if twice, _ := again.MarshalBinary(); !bytes.Equal(once, twice) {
			t.Fatalf("%s %s: a sum changes on its way through bytes", p.Kind, p.Mechanism)
		}
	})
}

// FuzzPlan: bytes are refused, or decode to a plan that encodes to the same bytes and states its
// costs.
func FuzzPlan(f *testing.F) {
	c, plans := fuzzPlans(f)
	for _, p := range plans {
		b, err := p.Canonical()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	projected, err := dataset.FitPCA(c.pool.Encoded, 2, 0)
	if err != nil {
		f.Fatal(err)
	}
	p := c.classify("cross", privacy.Record, study.NoiseSite, 1)
	p.Map, p.Pool = projected, auxdata.NewSimulated(c.pool.Encoded, projected).Digest
	b, _ := p.Canonical()
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := kinds.ParsePlan(data)
		if err != nil {
			if !errors.Is(err, study.ErrPlan) {
				t.Fatal(err)
			}
			return
		}
		once, err := p.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		again, err := kinds.ParsePlan(once)
		if err != nil {
			t.Fatalf("a plan does not read back: %v", err)
		}
		if twice, _ := again.Canonical(); !bytes.Equal(once, twice) {
			t.Fatal("a plan changes on its way through bytes")
		}
		study.Totals(p, kinds.Explain(p))
		if p.Schema.Dim() > 64 || p.Map.Dim() > 64 || kinds.Explain(p).Shards > 64 {
			return
		}
		pool := auxdata.NewSimulated(c.pool.Encoded, p.Map)
		if p.Map.Columns() != c.schema.Dim() {
			return
		}
		p.Pool = pool.Digest
		_, _ = conformance.TaskOf(t, p, pool).Charges(0)
	})
}

// FuzzRelease: any bytes as a release are used or refused without a panic.
func FuzzRelease(f *testing.F) {
	c, plans := fuzzPlans(f)
	for _, p := range plans[:5] {
		canonical, _ := p.Canonical()
		r := study.Release{Manifest: study.Claim(conformance.TaskOf(f, p, c.pool)), Plan: canonical}
		r.Parties, r.Contributed, r.Missing = 2, []study.PartyID{"a", "b"}, []study.PartyID{"c"}
		r.Result.Body =
			conformance.EncodeTerms(trained.Result{Classifier: classifier.Classifier{
				Classes: p.Schema.Classes(), Output: classifier.VoteShare,
				Weights: [][]float64{{1, 2, 3}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0},
					{0, 0, 0}}}})
		b, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		// a model without classes
		f.Add(bytes.Replace(b, []byte(`"classes":["no","yes","maybe"],"weights"`), []byte(`"weights"`), 1))
	}
	counted := c.describe("gaussian", study.NoiseSite, describe.DefaultTerms())
	for _, body := range []described.Table{{Columns: []described.Column{{Edges: []float64{0, 1},
		Groups: []described.Summary{{Noisy: []float64{3}, Counts: []float64{3},
			Shares: []*described.Estimate{nil}}}}}}, {}} {
		r := study.Release{Manifest: study.Claim(conformance.TaskOf(f, counted, c.pool))}
		r.Plan, _ = counted.Canonical()
		r.Result.Body = conformance.EncodeTerms(body)
		b, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	records := c.records(f, alike(2, ill))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r study.Release
		if json.Unmarshal(data, &r) != nil {
			return
		}
		_, _, _ = classifier.Predict(r, records)
		_, _ = weighed.MarginsOf(r)
		_, _ = weighed.WeightSourceOf(r)
		_ = verify.CheckClaims(r, c.pool)
		_, _ = results.Report(r)
		_, _ = weighed.EstimateQuery(r, c.pool, make([]float64, c.pool.Rows()))
	})
}
