package conformance_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/conformance"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
	"caucus/study/ratio/estimated"
	"caucus/study/reweigh/weighed"
	"caucus/study/verify"
)

// TestPublicationsOfOtherLengths: if a coordinator publishes more or fewer values than the plan
// gives, through a real ledger and under the plan's terms, verification fails.
func TestPublicationsOfOtherLengths(t *testing.T) {
	c, plans := fuzzPlans(t)
	ctx := context.Background()
	records := c.records(t, append(alike(9, well), alike(9, ill)...))
	for _, p := range plans {
		if p.Noise != study.NoiseCoordinator {
			continue
		}
		r := conformance.RunRelease(t, p, c.pool, records)
		plan, err := kinds.PlanOf(r)
		if err != nil {
			t.Fatal(err)
		}
		task := conformance.TaskOf(t, plan, c.pool)
		charges, err := task.Charges(r.Weight)
		if err != nil {
			t.Fatal(err)
		}
		cells := conformance.StatisticOf(t, plan, c.pool).ReleasedCells()
		for _, length := range []int{cells - 1, cells + 1} {
			vector, err := privacy.NewSensitive(make([]int64, length), charges[0].Bound)
			if err != nil { // a bound with weights fixes the number of values
				continue
			}
			t.Run(fmt.Sprintf("%s %s, %d numbers of %d", p.Kind, p.Mechanism, length, cells),
				func(t *testing.T) {
					genuine, err := privacy.ParsePublished(r.Published[0])
					must(t, err)
					ledger, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
					must(t, err)
					x, err := ledger.Release(ctx, genuine.ID, vector, mechanismOf(t, task, r))
					must(t, err)
					forged := r
					line, _, err := ledger.FindLine(ctx, x.ID)
					must(t, err)
					b, err := x.MarshalBinary()
					must(t, err)
					forged.Published, forged.Ledger = [][]byte{b}, []privacy.Line{line}
					// The result uses exactly the plan's number of values.
					x.Values = append(x.Values, 0)[:cells]
					forged.Result, err = task.Finish(study.Contributions{Contributions: r.Parties,
						Weight: r.Weight}, []privacy.Published{x})
					must(t, err)
					forged.Result.Warnings = append(forged.Result.Warnings,
						study.ConcludingWarnings(plan, c.pool, r.Missing)...)
					if len(conformance.FalseClaims(verify.CheckClaims(conformance.Reread(t, forged),
						c.pool))) == 0 {
						t.Error("it holds")
					}
				})
		}
	}
}

// TestPlansWrittenOtherwise: bytes that encode the same plan differently, or two plans, are refused
// by every reader.
func TestPlansWrittenOtherwise(t *testing.T) {
	c, plans := fuzzPlans(t)
	for _, p := range plans {
		b, err := p.Canonical()
		must(t, err)
		for name, text := range map[string][]byte{
			"a brace after it":          append(bytes.Clone(b), '}'),
			"a bracket and more":        append(bytes.Clone(b), "] and more"...),
			"a name twice":              bytes.Replace(b, []byte(`"epsilon":1,`), []byte(`"epsilon":9,"epsilon":1,`), 1),
			"a name in other letters":   bytes.Replace(b, []byte(`"epsilon":`), []byte(`"Epsilon":`), 1),
			"another order":             bytes.Replace(b, []byte(`"name":"audit","kind":"`+p.Kind+`"`), []byte(`"kind":"`+p.Kind+`","name":"audit"`), 1),
			"a term in other letters":   bytes.Replace(b, []byte(`"kind_terms":{"`), []byte(`"kind_terms":{"X`), 1),
			"a number in another form":  bytes.Replace(b, []byte(`"epsilon":1,`), []byte(`"epsilon":1.0,`), 1),
			"space":                     append([]byte(" "), b...),
			"a control character in it": bytes.Replace(b, []byte(`"audit"`), []byte("\"au\\u001bdit\""), 1),
		} {
			if bytes.Equal(text, b) { // a kind without terms
				continue
			}
			if _, err := kinds.ParsePlan(text); !errors.Is(err, study.ErrPlan) {
				t.Errorf("%s, %s: %v, want it refused", p.Kind, name, err)
			}
			r := study.Release{Manifest: study.Claim(conformance.TaskOf(t, p, c.pool)), Plan: text}
			r.PlanHash = study.HashOf(text)
			if _, err := kinds.PlanOf(r); err == nil && !bytes.Equal(bytes.TrimSpace(text), b) {
				t.Errorf("%s, %s: a release of it is read", p.Kind, name)
			}
		}
	}
}

func mechanismOf(t testing.TB, task study.Task, r study.Release) privacy.Mechanism {
	t.Helper()
	terms, err := conformance.StatisticOf(t, task.Plan(), task.Pool()).Terms(r.Weight)
	if err != nil {
		t.Fatal(err)
	}
	return terms.Mechanism
}

// TestDamagedBodies: every reader uses or refuses a release's body in which one thing is missing or
// has another size; none panics.
func TestDamagedBodies(t *testing.T) {
	c, plans := fuzzPlans(t)
	records := c.records(t, append(alike(9, well), alike(9, ill)...))
	table := c.table(t, alike(5, ill))
	seen := map[string]bool{}
	for _, p := range plans {
		if p.Kind == "classify" && seen[p.Kind] { // classify's mechanisms write the same body
			continue
		}
		seen[p.Kind] = true
		r := conformance.RunRelease(t, p, c.pool, records)
		plan, _ := kinds.PlanOf(r)
		for _, damaged := range testlevel.Of(t, damages(t, r.Result.Body), 25) {
			kind, _ := results.FindResults(p.Kind)
			into := kind.Body()
			if json.Unmarshal(damaged, into) != nil {
				damaged = append([]byte{}, damaged...)
			} else if b, err := json.Marshal(into); err == nil {
				damaged = b
			}
			d := r
			d.Result.Body = damaged
			use := func(by string, f func()) {
				defer func() {
					if x := recover(); x != nil {
						t.Errorf("%s %s: %s: %v: %.200s", p.Kind, p.Mechanism, by, x, damaged)
					}
				}()
				f()
			}
			use("claims", func() { _ = verify.CheckClaims(d, c.pool) })
			use("report", func() { _, _ = results.Report(d) })
			use("predict", func() { _, _, _ = classifier.Predict(d, records) })
			use("answer", func() {
				_, _ = weighed.EstimateQuery(d, c.pool, make([]float64, c.pool.Rows()))
			})
			use("margins", func() { _, _ = weighed.MarginsOf(d) })
			use("weigh", func() { _, _ = weighed.AttachWeights(d, table) })
			use("source", func() { _, _ = weighed.PoolSourceOf(d, table) })
			use("ratio", func() {
				e, err := estimated.Estimate(d, records)
				if err != nil {
					return
				}
				result, err := estimated.ResultOf(d)
				if err != nil {
					return
				}
				for k := range plan.Schema.Classes() {
					_, _, _, _, _ = e.Shares[k], e.Low[k], e.High[k], e.Sd[k],
						result.TrainingShares[k]
				}
			})
		}
	}
}

// damages lists copies of a JSON document, each with one thing removed, emptied, shortened, doubled
// or zeroed.
func damages(t testing.TB, text []byte) (all [][]byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	again := func() {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b, text) {
			all = append(all, b)
		}
	}
	var walk func(v any, set func(any))
	walk = func(v any, set func(any)) {
		try := func(with ...any) {
			for _, x := range with {
				set(x)
				again()
			}
			set(v)
		}
		switch x := v.(type) {
		case map[string]any:
			try(nil, map[string]any{})
			for k, was := range x {
				delete(x, k)
				again()
				x[k] = was
				walk(was, func(to any) { x[k] = to })
			}
		case []any:
			try(nil, []any{}, append(x[:len(x):len(x)], x...))
			if len(x) > 1 {
				try(x[:len(x)-1])
			}
			for i := range min(len(x), 1) {
				walk(x[i], func(to any) { x[i] = to })
			}
		case float64:
			try(-1, 1e14, 1e300)
		case string:
			try("")
		}
	}
	walk(v, func(to any) { v = to })
	return all
}

// TestUsable: a release is refused if it has a second classifier under a name in other case, an
// additional field, or another kind.
func TestUsable(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 240)
	r := conformance.RunRelease(t, conformance.ClassifyPlan(schema, pool, m), pool, records)
	if _, err := results.CheckedPlan(r); err != nil {
		t.Fatalf("as it was made: %v", err)
	}
	body := bytes.TrimSuffix(r.Result.Body, []byte("}"))
	for name, change := range map[string]func(*study.Release){
		"a second classifier": func(r *study.Release) {
			r.Result.Body = append(append(bytes.Clone(body), `,"CLASSIFIER":`...), append(bytes.TrimPrefix(bytes.Clone(r.Result.Body), []byte(`{"classifier":`)), byte(' '))...)
		},
		"a field more": func(r *study.Release) { r.Result.Body = append(bytes.Clone(body), `,"note":"x"}`...) },
		"no body":      func(r *study.Release) { r.Result.Body = nil },
		"another kind": func(r *study.Release) { r.Kind = "labels" },
	} {
		changed := r
		change(&changed)
		if _, err := results.CheckedPlan(changed); err == nil {
			t.Errorf("%s: it is used", name)
		}
	}
}

// TestPlansSayNothingIdle: a plan has no term that its kind ignores. Terms of classify are refused
// in plans of other kinds, so a study has one encoding and one hash.
func TestPlansSayNothingIdle(t *testing.T) {
	_, plans := fuzzPlans(t)
	for _, p := range plans {
		if err := kinds.Check(p); err != nil || p.Kind == kinds.Default {
			continue
		}
		canonical, err := p.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		terms := cmp.Or(string(p.KindTerms), "{}")
		for _, term := range []string{`"learner":"softmax"`, `"bound":"tight"`, `"tilt":true`, `"shards":0`, `"shards":1`, `"shards":-7`, `"class_shares":[0.5,0.5]`} {
			q := p
			q.KindTerms = json.RawMessage(strings.Replace(strings.TrimSuffix(terms,
				"}")+","+term+"}", "{,", "{", 1))
			if err := kinds.Check(q); !errors.Is(err, study.ErrPlan) ||
				!strings.Contains(err.Error(), "unknown field") {
				t.Errorf("%s with %s among its terms: have %v, want ErrPlan", p.Kind, term, err)
			}
			beside := bytes.Replace(canonical, []byte(`"lambda":`), []byte(term+`,"lambda":`), 1)
			if _, err := kinds.ParsePlan(beside); !errors.Is(err, study.ErrPlan) {
				t.Errorf("%s with %s beside its terms: have %v, want ErrPlan", p.Kind, term, err)
			}
		}
	}
}
