package kinds_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/life"
	"caucus/study/reweigh"
	"caucus/study/simulate"
)

func reweighPlan(schema dataset.Schema, pool *auxdata.Pool) study.Plan {
	return study.Plan{
		Name: "test", Kind: "reweigh", Schema: schema, Map: dataset.Identity(schema), Pool: pool.Digest,
		Roster: []study.PartyID{"a", "b", "c"}, Records: 200, Unit: privacy.Record, Epsilon: 1, Mechanism: "entropy",
		Noise: study.NoiseSite, Minimum: 2, Seed: 1,
	}
}

// wards is a small generated federation with a pool in a table.
func wards(t testing.TB, records int) (dataset.Schema, *dataset.Table, *auxdata.Pool, *dataset.Records) {
	t.Helper()
	c := dataset.DefaultHospitalConfig()
	c.Records = records
	table, schema := dataset.Hospitals(c)
	var poolRows, rest []int
	for i := range table.Rows() {
		if i%4 == 0 {
			poolRows = append(poolRows, i)
		} else {
			rest = append(rest, i)
		}
	}
	poolTable := table.Select(poolRows)
	pool, _, err := auxdata.New(schema, dataset.Identity(schema), poolTable)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := schema.Encode(table.Select(rest))
	if err != nil {
		t.Fatal(err)
	}
	return schema, poolTable, pool, r
}

func TestReweighRefusals(t *testing.T) {
	schema, _, pool, _ := wards(t, 400)
	for name, c := range map[string]struct {
		change func(*study.Plan)
		says   string
	}{
		"unknown mechanism":   {func(p *study.Plan) { p.Mechanism = "magic" }, "entropy"},
		"unproven mechanism":  {func(p *study.Plan) { p.Mechanism = "logistic-paper" }, "only be simulated"},
		"unit party":          {func(p *study.Plan) { p.Unit = privacy.Party }, "per_party"},
		"a ridge too small":   {func(p *study.Plan) { p.Mechanism, p.Lambda = "logistic", 1e-7 }, "give 1e-05 or more"},
		"logistic with delta": {func(p *study.Plan) { p.Mechanism, p.Delta = "logistic", 1e-6 }, "set delta to 0"},
		"keep":                {func(p *study.Plan) { p.KindTerms = encoded(reweigh.Terms{Keep: 1}) }, "keep"},
		"per party":           {func(p *study.Plan) { p.KindTerms = encoded(reweigh.Terms{PerParty: -1}) }, "per_party"},
		"a pair of nothing":   {func(p *study.Plan) { p.KindTerms = encoded(reweigh.Terms{Pairs: [][2]string{{"age", "no"}}}) }, "feature columns"},
		"one bin":             {func(p *study.Plan) { p.KindTerms = encoded(reweigh.Terms{Bins: 1}) }, "bins"},
		"epsilon":             {func(p *study.Plan) { p.Epsilon = 0 }, "epsilon"},
	} {
		p := reweighPlan(schema, pool)
		c.change(&p)
		if err := kinds.Check(p); !errors.Is(err, study.ErrPlan) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: have %v, want ErrPlan saying %q", name, err, c.says)
		}
	}
	p := reweighPlan(schema, pool)
	if err := kinds.Check(p); err != nil {
		t.Errorf("a good plan: %v", err)
	}
	weighted, err := pool.Weighted(make1s(pool.Rows()))
	if err != nil {
		t.Fatal(err)
	}
	p.Pool = weighted.Digest
	if _, err := kinds.NewTask(p, weighted); err == nil {
		t.Error("a weighted pool was weighed again")
	}
}

func make1s(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// realRelease runs a plan through real ledgers and real bytes.
func realRelease(t *testing.T, p study.Plan, pool *auxdata.Pool, parts []*dataset.Records) study.Release {
	t.Helper()
	ctx := context.Background()
	canonical, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = kinds.ParsePlan(canonical); err != nil {
		t.Fatal(err)
	}
	task := taskOf(t, p, pool)
	s := life.New(p, study.HashOf(canonical))
	s.Step(life.Opened{})
	sums := make([]study.Sum, 2)
	for i := range sums {
		if sums[i], err = task.NewSum(); err != nil {
			t.Fatal(err)
		}
	}
	for i, part := range parts {
		ledger, err := privacy.Open(privacy.NewMemory(), privacy.Config{Limits: map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: p.Epsilon, Delta: p.Delta}}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := task.Contribute(study.Inputs{Records: part})
		if err != nil {
			t.Fatal(err)
		}
		r, err := study.Settle(ctx, ledger, s.Hash, d.Requests)
		if err != nil {
			t.Fatalf("party %d: %v", i, err)
		}
		body, err := d.Body(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(body) > task.MaxBody() {
			t.Errorf("a body of %d bytes, at most %d were promised", len(body), task.MaxBody())
		}
		if err := simulate.Receive(s, sums[i%2], p.Roster[i], body); err != nil {
			t.Fatal(err)
		}
		// A body in clear has no place in a plan whose noise is at the site.
		if p.Noise == study.NoiseSite {
			clear := p
			clear.Noise = study.NoiseCoordinator
			plain, err := taskOf(t, clear, pool).Contribute(study.Inputs{Records: part})
			if err != nil {
				t.Fatal(err)
			}
			b, _ := plain.Body(nil)
			if err := sums[0].Check(b); !errors.Is(err, study.ErrContribution) {
				t.Errorf("clear sums: have %v, want ErrContribution", err)
			}
		}
	}
	if err := sums[0].Merge(sums[1]); err != nil {
		t.Fatal(err)
	}
	stored, _ := sums[0].MarshalBinary()
	if err := sums[1].UnmarshalBinary(stored); err != nil {
		t.Fatal(err)
	}
	if again, _ := sums[1].MarshalBinary(); !bytes.Equal(again, stored) {
		t.Error("a stored sum is another sum")
	}
	s.Step(life.FoldDone{Contributions: len(parts)})
	ledger, _ := privacy.Open(privacy.NewMemory(), privacy.Config{})
	release, err := life.Conclude(ctx, s, taskOf(t, p, pool), study.Summed{Sum: sums[1]}, ledger)
	if err != nil {
		t.Fatal(err)
	}
	release.Plan = canonical
	if _, err := json.Marshal(release); err != nil {
		t.Fatalf("a release cannot be written: %v", err)
	}
	return release
}

// TestReweighRelease runs every releasable mechanism with either noise, one
// party of three being empty.
func TestReweighRelease(t *testing.T) {
	schema, table, pool, r := wards(t, 1600)
	parts := []*dataset.Records{r.Select(firstRows(500)), r.Select(nil), r.Select(firstRows(r.Len())[500:])}
	for name, change := range map[string]func(*study.Plan){
		"entropy":              func(*study.Plan) {},
		"entropy gaussian":     func(p *study.Plan) { p.Delta = 1e-6 },
		"entropy, coordinator": func(p *study.Plan) { p.Noise = study.NoiseCoordinator },
		"entropy, pairs, bins": func(p *study.Plan) {
			p.KindTerms = encoded(reweigh.Terms{Pairs: [][2]string{{"age", "sex"}}, Bins: 4, PerParty: 2000})
		},
		"logistic":              func(p *study.Plan) { p.Mechanism, p.Lambda = "logistic", 0.1 },
		"logistic, coordinator": func(p *study.Plan) { p.Mechanism, p.Noise = "logistic", study.NoiseCoordinator },
	} {
		t.Run(name, func(t *testing.T) {
			p := reweighPlan(schema, pool)
			p.Epsilon = 20
			change(&p)
			release := realRelease(t, p, pool, parts)
			w := bodyOf[reweigh.Weights](t, release.Result)
			if w.Records != int64(r.Len()) || len(w.Weight) != pool.Rows() {
				t.Fatalf("%d records and %d weights", w.Records, len(w.Weight))
			}
			// The weighted pool's digest is that of the file of it.
			var file bytes.Buffer
			if err := auxdata.WriteWeighted(&file, table, w.Weight); err != nil {
				t.Fatal(err)
			}
			read, err := dataset.ReadCSV(&file, dataset.Format{})
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := auxdata.New(schema, p.Map, read)
			if err != nil {
				t.Fatal(err)
			}
			if again.Digest != w.WeightedPool || again.Digest == pool.Digest {
				t.Errorf("the weighted pool is %s, its file %s", w.WeightedPool, again.Digest)
			}
			b := make([]float64, pool.Rows())
			for i := range b {
				b[i] = pool.Encoded.At(i, 0)
			}
			if a, err := reweigh.Answer(release, pool, b); err != nil || !(a.Noise >= 0) || !(a.Sampling > 0) || math.Abs(a.Estimate-0.5) > 0.5 {
				t.Errorf("answer %+v, %v", a, err)
			}
			totals := release.Totals
			if *totals[0].Epsilon != p.Epsilon || (totals[1].Epsilon != nil) != (p.KindTerms != nil) {
				t.Errorf("totals %+v", totals)
			}
		})
	}
}

func firstRows(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}
	return v
}

// TestLogisticPaperStaysInside: a real ledger refuses the literal sampler, and
// says why, though a plan that is marked simulated may name it.
func TestLogisticPaperStaysInside(t *testing.T) {
	schema, _, pool, r := wards(t, 400)
	p := reweighPlan(schema, pool)
	p.Mechanism, p.Simulated = "logistic-paper", true
	d, err := taskOf(t, p, pool).Contribute(study.Inputs{Records: r})
	if err != nil {
		t.Fatal(err)
	}
	ledger, _ := privacy.Open(privacy.NewMemory(), privacy.Config{})
	if _, err := study.Settle(context.Background(), ledger, study.Hash{1}, d.Requests); !errors.Is(err, privacy.ErrSimulationOnly) {
		t.Errorf("have %v, want ErrSimulationOnly", err)
	}
	r2, err := study.Settle(context.Background(), privacy.Simulation(1), study.Hash{1}, d.Requests)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r2[0].MarshalBinary(); !errors.Is(err, privacy.ErrSimulationOnly) {
		t.Errorf("a literal answer marshals: %v", err)
	}
}

// TestReweighSizes: what leaves a site, and what it asks its ledger, do not
// depend on what the records hold.
func TestReweighSizes(t *testing.T) {
	schema, _, pool, r := wards(t, 400)
	odd := r.Select(firstRows(r.Len()))
	odd.X.Apply(func(i, j int, _ float64) float64 {
		return []float64{math.NaN(), math.Inf(1), -3, 1e300, 0}[(i+j)%5]
	}, odd.X)
	for _, mechanism := range []string{"entropy", "logistic"} {
		p := reweighPlan(schema, pool)
		p.Mechanism, p.Noise = mechanism, study.NoiseCoordinator
		var sizes []int
		for _, records := range []*dataset.Records{r, odd} {
			d, err := taskOf(t, p, pool).Contribute(study.Inputs{Records: records})
			if err != nil {
				t.Fatal(err)
			}
			body, err := d.Body(nil)
			if err != nil {
				t.Fatal(err)
			}
			sum, _ := taskOf(t, p, pool).NewSum()
			if err := sum.Add(body); err != nil {
				t.Errorf("%s: %v", mechanism, err)
			}
			sizes = append(sizes, len(body))
		}
		if sizes[0] != sizes[1] {
			t.Errorf("%s: bodies of %v bytes", mechanism, sizes)
		}
	}
}

// TestReweighDegenerate: no records at all is an error that says so; fewer
// records than features, and weights that collapse, are warnings.
func TestReweighDegenerate(t *testing.T) {
	schema, _, pool, r := wards(t, 400)
	p := reweighPlan(schema, pool)
	p.Simulated = true
	run := func(p study.Plan, rows int) (study.Release, error) {
		parties := make([]study.Inputs, len(p.Roster))
		for i := range parties {
			n := rows / len(p.Roster)
			parties[i].Records = r.Select(firstRows(rows)[i*n : (i+1)*n])
		}
		return simulate.Rehearse(t.Context(), p, pool, parties)
	}
	if _, err := run(p, 0); err == nil || !strings.Contains(err.Error(), "no records") {
		t.Errorf("no records: have %v", err)
	}
	warned := func(name string, p study.Plan, rows int, says string) {
		release, err := run(p, rows)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if all := strings.Join(release.Result.Warnings, "\n"); !strings.Contains(all, says) {
			t.Errorf("%s: the warnings are %q, want one that says %q", name, all, says)
		}
	}
	warned("few records", p, 9, "more noise than signal")
	p.Mechanism, p.Lambda, p.Epsilon = "logistic-paper", 0.001, 0.01
	warned("collapse", p, 90, "collapsed")
	p.Mechanism, p.Lambda, p.Epsilon = "entropy", 0, 0.001
	warned("nothing but noise", p, 90, "equal weights")
}

// TestWeightedPoolStudy: a classify plan on a weighted pool states the totals of
// both studies.
func TestWeightedPoolStudy(t *testing.T) {
	schema, _, pool, r := wards(t, 1200)
	p := reweighPlan(schema, pool)
	p.Epsilon = 0.5
	third := r.Len() / 3
	parts := []*dataset.Records{r.Select(firstRows(third)), r.Select(firstRows(2 * third)[third:]), r.Select(firstRows(3 * third)[2*third:])}
	weights := realRelease(t, p, pool, parts)
	weighted, err := pool.Weighted(bodyOf[reweigh.Weights](t, weights.Result).Weight)
	if err != nil {
		t.Fatal(err)
	}
	source, err := reweigh.SourceOf(weights)
	if err != nil {
		t.Fatal(err)
	}
	// Weights of a pool that was itself drawn from a release name both costs.
	again := p
	again.Weights = &study.WeightSource{Unit: privacy.Record, Epsilon: 0.25, Delta: 1e-7, PerParty: 3}
	again.KindTerms = encoded(reweigh.Terms{PerParty: 400})
	if both, err := reweigh.SourceOf(realRelease(t, again, pool, parts)); err != nil || both.Epsilon != 0.75 || both.Delta != 1e-7 || both.PerParty != 400 || both.Unit != privacy.Record {
		t.Errorf("source %+v, %v; want ε = .75, δ = 1e-7 and 400 records a party", both, err)
	}
	c := testPlan(schema, weighted, dataset.Identity(schema))
	silent := realRelease(t, c, weighted, parts)
	if all := strings.Join(silent.Result.Warnings, "\n"); !strings.Contains(all, "does not say where they come from") || silent.Totals != nil {
		t.Errorf("weights of unknown origin: warnings %q, totals %+v", all, silent.Totals)
	}
	c.Weights = source
	release := realRelease(t, c, weighted, parts)
	totals := release.Totals
	if len(totals) != 2 || *totals[0].Epsilon != 1.5 || totals[0].Delta != 1e-6 || totals[1].Epsilon != nil {
		t.Errorf("totals %+v, want 1.5 for a record and nothing for a party", totals)
	}
	source.PerParty = 4
	release = realRelease(t, c, weighted, parts)
	if totals = release.Totals; totals[1].Epsilon == nil || *totals[1].Epsilon != 1+4*0.5 {
		t.Errorf("totals %+v, want 3 for a party of at most 4 records", totals)
	}
	// A party of very many records: ε is large, and a δ of 0 stays 0.
	p.KindTerms = encoded(reweigh.Terms{PerParty: 10_000})
	if got := study.Totals(p, kinds.WordsOf(p))[1]; got.Epsilon == nil || *got.Epsilon != 5000 || got.Delta != 0 {
		t.Errorf("10,000 records at ε = .5 each: %+v", got)
	}
	p.Delta = 1e-6
	if got := study.Totals(p, kinds.WordsOf(p))[1]; got.Epsilon != nil {
		t.Errorf("δ beyond 1 guarantees nothing, yet %+v", got)
	}
	if _, err := reweigh.Answer(study.Release{}, pool, nil); err == nil {
		t.Error("a release without weights answered")
	}
}

// TestMadePool: a pool is made of a release's margins alone, and its margins are
// the release's. Shares of 4,000 rows have a standard error of at most .008;
// 6.5 of those are .052.
func TestMadePool(t *testing.T) {
	schema, _, pool, r := wards(t, 1600)
	p := reweighPlan(schema, pool)
	p.Epsilon = 50
	p.KindTerms = encoded(reweigh.Terms{Bins: 5})
	release := realRelease(t, p, pool, []*dataset.Records{r.Select(firstRows(600)), r.Select(firstRows(r.Len())[600:]), r.Select(nil)})
	margins, err := reweigh.MarginsOf(release)
	if err != nil {
		t.Fatal(err)
	}
	table, err := auxdata.Make(schema, 4000, margins, rand.New(rand.NewPCG(7, 7)))
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := auxdata.New(schema, p.Map, table)
	if err != nil {
		t.Fatal(err)
	}
	for j, name := range schema.FeatureNames() {
		want := bodyOf[reweigh.Weights](t, release.Result).Means[j]
		if got := mat.Sum(made.Encoded.ColView(j)) / 4000; math.Abs(got-want) > 0.06 {
			t.Errorf("%s: mean %.3f in the made pool, %.3f released", name, got, want)
		}
	}
}

// What a release guarantees for a party rests on reweigh.per_party, so no party
// may add more records than that.
func TestReweighPerPartyIsKept(t *testing.T) {
	schema, _, pool, records := wards(t, 400)
	p := reweighPlan(schema, pool)
	p.KindTerms = encoded(reweigh.Terms{PerParty: 10})
	for _, noise := range []study.Noise{study.NoiseSite, study.NoiseCoordinator} {
		p.Noise = noise
		if r := realRelease(t, p, pool, []*dataset.Records{records, records, records.Select([]int{1, 2, 3})}); r.Weight != 23 {
			t.Errorf("noise %s: %d records of parties of 300, 300 and 3 were added, want 10, 10 and 3", noise, r.Weight)
		}
	}
	// A dishonest site cannot either.
	w := statisticOf(t, p, pool)
	body, err := w.AppendClear(make([]int64, w.Cells()), 11)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := taskOf(t, p, pool).NewSum()
	if err != nil {
		t.Fatal(err)
	}
	if err := sum.Check(body); !errors.Is(err, study.ErrContribution) {
		t.Errorf("11 records where the plan says 10: have %v, want ErrContribution", err)
	}
}
