package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/kinds/results"
	"caucus/study/ratio"
	"caucus/study/verify"
	"caucus/study/verify/evidence"
)

type change struct {
	at string
	do func()
}

// changesOf lists ways to change a single thing inside a JSON value: every number, text and
// boolean, and one entry more or less in every list and object. In long lists it takes the ends and
// the middle. set writes a value.
func changesOf(at string, v any, set func(any)) (all []change) {
	add := func(at string, to any) { all = append(all, change{at, func() { set(to) }}) }
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			add(at, json.Number(strconv.FormatInt(n+1, 10)))
		}
		if x, err := v.Float64(); err == nil {
			add(at, json.Number(strconv.FormatFloat(2*x+.25, 'g', -1, 64)))
		}
	case string:
		add(at, v+" and more")
		if v != "" {
			last := byte('0')
			if v[len(v)-1] == last {
				last = '1'
			}
			add(at, v[:len(v)-1]+string(last))
		}
	case bool:
		add(at, !v)
	case []any:
		add(at+"[+]", append(slices.Clone(v), v...))
		if len(v) == 0 {
			add(at+"[+]", []any{json.Number("1")})
		} else {
			add(at+"[-]", v[:len(v)-1])
		}
		for i := range v {
			if i < 2 || i == len(v)/2 || i == len(v)-1 {
				all = append(all, changesOf(fmt.Sprintf("%s[%d]", at, i), v[i], func(to any) {
					v[i] = to
				})...)
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = append(all, change{at + "." + k, func() { delete(v, k) }})
			all = append(all, changesOf(at+"."+k, v[k], func(to any) { v[k] = to })...)
		}
	}
	return all
}

// read parses a document for changesOf. The plan stays raw, because the manifest names the hash of
// its bytes.
func read(t *testing.T, text []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var whole struct{ Plan json.RawMessage }
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	v["plan"] = whole.Plan
	return v
}

// lacking lists the fields that from has and v leaves empty.
func lacking(v, from map[string]any) (all []string) {
	for k, x := range from {
		if have, ok := v[k]; !ok || have == nil {
			all = append(all, k)
		} else if a, ok := have.(map[string]any); ok {
			if b, ok := x.(map[string]any); ok {
				for _, at := range lacking(a, b) {
					all = append(all, k+"."+at)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestVerifyEveryLeaf: verify fails after any single change, addition or omission in a release of
// any kind. The exceptions are listed: the program's version, and numbers fitted to features that
// readers do not get.
func TestVerifyEveryLeaf(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 240)
	_, _, wardPool, wardRecords := conformance.HospitalWithPool(t, 240)
	of := func(change func(*study.Plan)) study.Plan {
		p := conformance.ClassifyPlan(schema, pool, m)
		change(&p)
		return p
	}
	labelled := conformance.LabelsPlan(schema, pool, m)
	fixed := conformance.LabelsPlan(schema, pool, m)
	fixed.Lambda = .01
	central := conformance.ReweighPlan(schema, wardPool)
	central.Noise, central.Delta = study.NoiseCoordinator, 1e-6
	counted := conformance.DescribePlan(schema, wardPool)
	counted.Noise, counted.Mechanism, counted.Delta = study.NoiseCoordinator, "laplace", 0
	type one struct {
		plan study.Plan
		// word holds prefixes of the places that are the coordinator's word.
		word []string
	}
	fitted := []string{".result.body.classifier.weights[", ".result.body.records",
		".result.body.shares.share["}
	cases := map[string]one{
		"tally":       {plan: of(func(p *study.Plan) { p.Roster = append(p.Roster, "d") })},
		"tally, site": {plan: of(func(p *study.Plan) { p.Unit, p.Noise = privacy.Record, study.NoiseSite; conformance.SetShards(p, 3) })},
		"moment":      {plan: of(func(p *study.Plan) { p.Mechanism, p.Delta = "moment", 0 })},
		"means":       {plan: of(func(p *study.Plan) { p.Mechanism = "means" })},
		"cross, site": {plan: of(func(p *study.Plan) {
			p.Mechanism, p.Unit, p.Noise = "cross", privacy.Record, study.NoiseSite
			conformance.ClassifyTerms(p, func(t *classify.Terms) { t.Tilt = true })
		})},
		"cross":             {plan: of(func(p *study.Plan) { p.Mechanism, p.Unit = "cross", privacy.Record })},
		"output":            {plan: of(func(p *study.Plan) { p.Mechanism, p.Delta = "output", 0 })},
		"labels":            {labelled, append(fitted, ".result.body.classifier.lambda", ".result.body.path[")},
		"labels, λ":         {fixed, fitted},
		"ratio":             {conformance.RatioPlan(schema, pool, m, ratio.FeaturesClear), []string{".result.body.model.", ".result.body.widths"}},
		"ratio, embeddings": {conformance.RatioPlan(schema, pool, m, ratio.FeaturesEmbedding), []string{".result.body.model."}},
		"reweigh":           {plan: conformance.ReweighPlan(schema, wardPool)},
		"reweigh, central":  {plan: central},
		"describe":          {plan: conformance.DescribePlan(schema, wardPool)},
		"describe, central": {plan: counted},
		"describe, each site": {plan: func() study.Plan {
			p := conformance.DescribePlan(schema, wardPool)
			p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 2, Sites: true})
			return p
		}()},
		"evaluate": {plan: conformance.EvaluatePlan(t, schema, wardPool, nil)},
		// One unit of the sum's lattice may move the result by less than the tolerance.
		"ratio, noisy": {conformance.RatioPlan(schema, pool, m, ratio.FeaturesNoisyEmbedding), []string{".sum"}},
		"logistic":     {func() study.Plan { p := conformance.ReweighPlan(schema, wardPool); p.Mechanism = "logistic"; return p }(), []string{".sum"}},
	}
	documents, releases := map[string][]byte{}, map[string]study.Release{}
	for name, c := range cases {
		with, from := pool, records
		if c.plan.Pool == wardPool.Digest {
			with, from = wardPool, wardRecords
		}
		r := conformance.RunRelease(t, c.plan, with, from)
		if bad := conformance.FalseClaims(verify.CheckClaims(r, with)); len(bad) > 0 {
			t.Fatalf("%s: a genuine release: %s", name, bad)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		documents[name], releases[name] = text, r
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := pool
			if c.plan.Pool == wardPool.Digest {
				with = wardPool
			}
			tried, passed := 0, map[string]bool{}
			try := func(at string, make func(v map[string]any)) {
				v := read(t, documents[name])
				make(v)
				text, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				var changed study.Release
				if json.Unmarshal(text, &changed) != nil {
					return // no reader accepts it
				}
				kind, err := results.FindResults(c.plan.Kind)
				if err != nil {
					t.Fatal(err)
				}
				body := kind.Body()
				if study.DecodeStrictJSON(changed.Result.Body, body) != nil {
					return
				}
				changed.Result.Body = conformance.EncodeTerms(body)
				if again, err := json.Marshal(changed); err != nil ||
					string(again) == string(documents[name]) {
					return // protocol.ReadRelease refuses a non-canonical release file
				}
				tried++
				if evidence.AnyFails(verify.CheckClaims(changed, with)) {
					return
				}
				passed[at] = true
				if at == ".manifest.software" {
					return
				}
				for _, w := range c.word {
					if strings.HasPrefix(at, w) && !strings.HasSuffix(at, "[+]") {
						return
					}
				}
				t.Errorf("%s was changed and nothing fails", at)
			}
			all := changesOf("", read(t, documents[name]), nil)
			places := []int{slices.IndexFunc(all, func(ch change) bool {
				return ch.at == ".manifest.software"
			})}
			for i := range all {
				places = append(places, i)
			}
			for _, i := range append(testlevel.Of(t, places[1:], 15), places[0]) {
				try(all[i].at, func(v map[string]any) { changesOf("", v, nil)[i].do() })
			}
			// fields that this kind leaves empty, from kinds that have them
			for from, other := range documents {
				for _, at := range testlevel.Of(t,
					lacking(read(t, documents[name]), read(t, other)), 1) {
					try("."+at+" of "+from, func(v map[string]any) {
						path := strings.Split(at, ".")
						source := read(t, other)
						for _, k := range path[:len(path)-1] {
							v, source = v[k].(map[string]any), source[k].(map[string]any)
						}
						v[path[len(path)-1]] = source[path[len(path)-1]]
					})
				}
			}
			if tried < testlevel.N(t, 10, 80) {
				t.Errorf("only %d changes were tried", tried)
			}
			if !passed[".manifest.software"] {
				t.Error("the version of the program is checked: take it out of the exceptions")
			}
		})
	}
}

// TestVerifyCarriesNothingElse: the coordinator's private data, its sum of exact votes or all
// features, fails verification in every place of a release that has room.
func TestVerifyCarriesNothingElse(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 240)
	_, _, wardPool, wardRecords := conformance.HospitalWithPool(t, 240)
	of := func(change func(*study.Plan)) study.Plan {
		p := conformance.ClassifyPlan(schema, pool, m)
		change(&p)
		return p
	}
	central := conformance.ReweighPlan(schema, wardPool)
	central.Noise = study.NoiseCoordinator
	counted := conformance.DescribePlan(schema, wardPool)
	counted.Noise = study.NoiseCoordinator
	judged := conformance.EvaluatePlan(t, schema, wardPool, nil)
	judged.Noise = study.NoiseCoordinator
	for name, c := range map[string]struct {
		plan study.Plan
		pool *auxdata.Pool
		from *dataset.Records
	}{
		"tally":             {of(func(*study.Plan) {}), pool, records},
		"tally, shards":     {of(func(p *study.Plan) { p.Unit = privacy.Record; conformance.SetShards(p, 4) }), pool, records},
		"moment":            {of(func(p *study.Plan) { p.Mechanism, p.Delta = "moment", 0 }), pool, records},
		"output":            {of(func(p *study.Plan) { p.Mechanism, p.Delta = "output", 0 }), pool, records},
		"means":             {of(func(p *study.Plan) { p.Mechanism = "means" }), pool, records},
		"cross":             {of(func(p *study.Plan) { p.Mechanism, p.Unit = "cross", privacy.Record }), pool, records},
		"entropy":           {central, wardPool, wardRecords},
		"describe":          {counted, wardPool, wardRecords},
		"evaluate":          {judged, wardPool, wardRecords},
		"labels":            {conformance.LabelsPlan(schema, pool, m), pool, records},
		"ratio":             {conformance.RatioPlan(schema, pool, m, ratio.FeaturesClear), pool, records},
		"ratio, embeddings": {conformance.RatioPlan(schema, pool, m, ratio.FeaturesEmbedding), pool, records},
	} {
		_, sum := conformance.RunUntilSummed(t, c.plan, c.pool, c.from)
		secret, err := sum.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		genuine := conformance.RunRelease(t, c.plan, c.pool, c.from)
		for at, put := range map[string]func(*study.Release){
			"the sum":            func(r *study.Release) { r.Sum = secret },
			"an empty sum":       func(r *study.Release) { r.Sum = []byte{0} },
			"one more published": func(r *study.Release) { r.Published = append(r.Published, secret) },
			"a warning":          func(r *study.Release) { r.Result.Warnings = append(r.Result.Warnings, string(secret)) },
			"a path": func(r *study.Release) {
				edit(t, r, func(body map[string]any) {
					if c, ok := body["classifier"].(map[string]any); ok {
						path, _ := c["path"].([]any)
						c["path"] = append(append(path, path...), map[string]any{"lambda": 1})
					} else {
						body["effective_rows"] = 1
					}
				})
			},
			"weights": func(r *study.Release) {
				edit(t, r, func(body map[string]any) {
					if _, ok := body["weight"]; !ok {
						body["weight"] = []float64{1, 2, 3}
					} else {
						delete(body, "weight")
					}
				})
			},
		} {
			r := conformance.Reread(t, genuine)
			put(&r)
			if bad := conformance.FalseClaims(verify.CheckClaims(r, c.pool)); len(bad) == 0 {
				t.Errorf("%s: %s is taken", name, at)
			}
		}
	}
}
