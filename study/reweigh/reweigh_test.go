package reweigh_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/analyst/simulate"
	"caucus/auxdata"
	"caucus/auxdata/support"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/kinds"
	"caucus/study/reweigh"
	"caucus/study/reweigh/weighed"
)

func TestReweighRefusals(t *testing.T) {
	schema, _, pool, _ := conformance.HospitalWithPool(t, 400)
	for name, c := range map[string]struct {
		change func(*study.Plan)
		says   string
	}{
		"unknown mechanism":   {func(p *study.Plan) { p.Mechanism = "magic" }, "entropy"},
		"unproven mechanism":  {func(p *study.Plan) { p.Mechanism = "logistic-paper" }, "only be simulated"},
		"unit party":          {func(p *study.Plan) { p.Unit = privacy.Party }, "per_party"},
		"a ridge too small":   {func(p *study.Plan) { p.Mechanism, p.Lambda = "logistic", 1e-7 }, "give 1e-05 or more"},
		"logistic with delta": {func(p *study.Plan) { p.Mechanism, p.Delta = "logistic", 1e-6 }, "set delta to 0"},
		"keep":                {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(reweigh.Terms{MinEffectiveShare: 1}) }, "keep"},
		"per party":           {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(reweigh.Terms{PerParty: -1}) }, "per_party"},
		"a pair of nothing": {func(p *study.Plan) {
			p.KindTerms = conformance.EncodeTerms(reweigh.Terms{Pairs: [][2]string{{"age", "no"}}})
		}, "feature columns"},
		"one bin": {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(reweigh.Terms{Bins: 1}) }, "bins"},
		"epsilon": {func(p *study.Plan) { p.Epsilon = 0 }, "epsilon"},
	} {
		p := conformance.ReweighPlan(schema, pool)
		c.change(&p)
		if err := kinds.Check(p); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: have %v, want ErrPlan saying %q", name, err, c.says)
		}
	}
	p := conformance.ReweighPlan(schema, pool)
	if err := kinds.Check(p); err != nil {
		t.Errorf("a good plan: %v", err)
	}
	weighted, err := pool.WithWeights(make1s(pool.Rows()))
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

// TestReweighRelease runs every releasable mechanism with noise at either place; one of three
// parties is empty.
func TestReweighRelease(t *testing.T) {
	schema, table, pool, r := conformance.HospitalWithPool(t, 1600)
	parts := []*dataset.Records{r.Select(firstRows(500)), r.Select(nil),
		r.Select(firstRows(r.Len())[500:])}
	for name, change := range map[string]func(*study.Plan){
		"entropy":              func(*study.Plan) {},
		"entropy gaussian":     func(p *study.Plan) { p.Delta = 1e-6 },
		"entropy, coordinator": func(p *study.Plan) { p.Noise = study.NoiseCoordinator },
		"entropy, pairs, bins": func(p *study.Plan) {
			p.KindTerms = conformance.EncodeTerms(reweigh.Terms{Pairs: [][2]string{{"age", "sex"}},
				Bins: 4, PerParty: 2000})
		},
		"logistic":              func(p *study.Plan) { p.Mechanism, p.Lambda = "logistic", 0.1 },
		"logistic, coordinator": func(p *study.Plan) { p.Mechanism, p.Noise = "logistic", study.NoiseCoordinator },
	} {
		t.Run(name, func(t *testing.T) {
			p := conformance.ReweighPlan(schema, pool)
			p.Epsilon = 20
			change(&p)
			release := conformance.RunOnRecords(t, p, pool, parts)
			w := conformance.BodyOf[weighed.Weights](t, release.Result)
			if w.Records != int64(r.Len()) || len(w.Weight) != pool.Rows() {
				t.Fatalf("%d records and %d weights", w.Records, len(w.Weight))
			}
			// The weighted pool's digest is that of its file.
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
			if a, err := weighed.EstimateQuery(release, pool, b); err != nil || !(a.NoiseSD >= 0) ||
				!(a.PoolSamplingSD > 0) || math.Abs(a.Estimate-0.5) > 0.5 {
				t.Errorf("answer %+v, %v", a, err)
			}
			totals := release.Totals
			if *totals[0].Epsilon != p.Epsilon ||
				(totals[1].Epsilon != nil) != (p.KindTerms != nil) {
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

// TestLogisticPaperStaysInside: a real ledger refuses the literal sampler and gives the reason,
// although a simulated plan may name it.
func TestLogisticPaperStaysInside(t *testing.T) {
	schema, _, pool, r := conformance.HospitalWithPool(t, 400)
	p := conformance.ReweighPlan(schema, pool)
	p.Mechanism, p.Simulated = "logistic-paper", true
	d, err := conformance.TaskOf(t, p, pool).Contribute(study.NewInputs(r, []byte("key")))
	if err != nil {
		t.Fatal(err)
	}
	ledger, _ := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
	if _, err := study.ReleaseRequests(context.Background(), ledger, study.Hash{1},
		d.Requests); !errors.Is(err, privacy.ErrSimulationOnly) {
		t.Errorf("have %v, want ErrSimulationOnly", err)
	}
	r2, err := study.ReleaseRequests(context.Background(), privacy.NewSimulation(1), study.Hash{1},
		d.Requests)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r2[0].MarshalBinary(); !errors.Is(err, privacy.ErrSimulationOnly) {
		t.Errorf("a literal answer marshals: %v", err)
	}
}

// TestReweighSizes: the length of a site's body and its requests do not depend on the records'
// values.
func TestReweighSizes(t *testing.T) {
	schema, _, pool, r := conformance.HospitalWithPool(t, 400)
	odd := r.Select(firstRows(r.Len()))
	odd.X.Apply(func(i, j int, _ float64) float64 {
		return []float64{math.NaN(), math.Inf(1), -3, 1e300, 0}[(i+j)%5]
	}, odd.X)
	for _, mechanism := range []string{"entropy", "logistic"} {
		p := conformance.ReweighPlan(schema, pool)
		p.Mechanism, p.Noise = mechanism, study.NoiseCoordinator
		var sizes []int
		for _, records := range []*dataset.Records{r, odd} {
			d, err := conformance.TaskOf(t, p,
				pool).Contribute(study.NewInputs(records, []byte("key")))
			if err != nil {
				t.Fatal(err)
			}
			body, err := d.Body(nil)
			if err != nil {
				t.Fatal(err)
			}
			sum, _ := conformance.TaskOf(t, p, pool).NewSum()
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

// TestReweighDegenerate: a study without records fails with an error that says so; fewer records
// than features, or collapsed weights, give warnings.
func TestReweighDegenerate(t *testing.T) {
	schema, _, pool, r := conformance.HospitalWithPool(t, 400)
	p := conformance.ReweighPlan(schema, pool)
	p.Simulated = true
	run := func(p study.Plan, rows int) (study.Release, error) {
		parties := make([]study.Inputs, len(p.Roster))
		for i := range parties {
			n := rows / len(p.Roster)
			parties[i].Records = r.Select(firstRows(rows)[i*n : (i+1)*n])
		}
		return simulate.RunPlan(t.Context(), p, pool, parties)
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

// TestWeightedPoolStudy: a classify plan on a weighted pool states the totals of both studies.
func TestWeightedPoolStudy(t *testing.T) {
	schema, _, pool, r := conformance.HospitalWithPool(t, 1200)
	p := conformance.ReweighPlan(schema, pool)
	p.Epsilon = 0.5
	third := r.Len() / 3
	parts := []*dataset.Records{r.Select(firstRows(third)), r.Select(firstRows(2 * third)[third:]),
		r.Select(firstRows(3 * third)[2*third:])}
	weights := conformance.RunOnRecords(t, p, pool, parts)
	weighted, err := pool.WithWeights(conformance.BodyOf[weighed.Weights](t, weights.Result).Weight)
	if err != nil {
		t.Fatal(err)
	}
	source, err := weighed.WeightSourceOf(weights)
	if err != nil {
		t.Fatal(err)
	}
	// Weights of a pool that was itself drawn from a release state both costs.
	again := p
	again.Weights = &study.WeightSource{Unit: privacy.Record, Epsilon: 0.25, Delta: 1e-7,
		PerParty: 3}
	again.KindTerms = conformance.EncodeTerms(reweigh.Terms{PerParty: 400})
	if both, err := weighed.WeightSourceOf(conformance.RunOnRecords(t, again, pool,
		parts)); err != nil ||
		both.Epsilon != 0.75 || both.Delta != 1e-7 || both.PerParty != 400 ||
		both.Unit != privacy.Record {
		t.Errorf("source %+v, %v; want ε = .75, δ = 1e-7 and 400 records a party", both, err)
	}
	c := conformance.ClassifyPlan(schema, weighted, dataset.Identity(schema))
	silent := conformance.RunOnRecords(t, c, weighted, parts)
	if all := strings.Join(silent.Result.Warnings, "\n"); !strings.Contains(all,
		"does not say where they come from") || silent.Totals != nil {
		t.Errorf("weights of unknown origin: warnings %q, totals %+v", all, silent.Totals)
	}
	c.Weights = source
	release := conformance.RunOnRecords(t, c, weighted, parts)
	totals := release.Totals
	if len(totals) != 2 || *totals[0].Epsilon != 1.5 || totals[0].Delta != 1e-6 ||
		totals[1].Epsilon != nil {
		t.Errorf("totals %+v, want 1.5 for a record and nothing for a party", totals)
	}
	source.PerParty = 4
	release = conformance.RunOnRecords(t, c, weighted, parts)
	if totals = release.Totals; totals[1].Epsilon == nil || *totals[1].Epsilon != 1+4*0.5 {
		t.Errorf("totals %+v, want 3 for a party of at most 4 records", totals)
	}
	// A party with very many records: ε is large, and δ = 0 stays 0.
	p.KindTerms = conformance.EncodeTerms(reweigh.Terms{PerParty: 10_000})
	if got := study.Totals(p, kinds.Explain(p))[1]; got.Epsilon == nil || *got.Epsilon != 5000 ||
		got.Delta != 0 {
		t.Errorf("10,000 records at ε = .5 each: %+v", got)
	}
	p.Delta = 1e-6
	if got := study.Totals(p, kinds.Explain(p))[1]; got.Epsilon != nil {
		t.Errorf("δ beyond 1 guarantees nothing, yet %+v", got)
	}
	if _, err := weighed.EstimateQuery(study.Release{}, pool, nil); err == nil {
		t.Error("a release without weights answered")
	}
}

// TestMadePool: a pool made from a release's margins has these margins. Shares of 4,000 rows have a
// standard error of at most .008; 6.5 of these are .052.
func TestMadePool(t *testing.T) {
	schema, _, pool, r := conformance.HospitalWithPool(t, 1600)
	p := conformance.ReweighPlan(schema, pool)
	p.Epsilon = 50
	p.KindTerms = conformance.EncodeTerms(reweigh.Terms{Bins: 5})
	release := conformance.RunOnRecords(t, p, pool,
		[]*dataset.Records{r.Select(firstRows(600)), r.Select(firstRows(r.Len())[600:]),
			r.Select(nil)})
	margins, err := weighed.MarginsOf(release)
	if err != nil {
		t.Fatal(err)
	}
	table, err := support.Draw(schema, 4000, margins, rand.New(rand.NewPCG(7, 7)))
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := auxdata.New(schema, p.Map, table)
	if err != nil {
		t.Fatal(err)
	}
	for j, name := range schema.FeatureNames() {
		want := conformance.BodyOf[weighed.Weights](t, release.Result).Means[j]
		if got := mat.Sum(made.Encoded.ColView(j)) / 4000; math.Abs(got-want) > 0.06 {
			t.Errorf("%s: mean %.3f in the made pool, %.3f released", name, got, want)
		}
	}
}

// TestReweighPerPartyIsKept: a party adds at most reweigh.per_party records, because a release's
// guarantee for a party counts on that number.
func TestReweighPerPartyIsKept(t *testing.T) {
	schema, _, pool, records := conformance.HospitalWithPool(t, 400)
	p := conformance.ReweighPlan(schema, pool)
	p.KindTerms = conformance.EncodeTerms(reweigh.Terms{PerParty: 10})
	for _, noise := range []study.Noise{study.NoiseSite, study.NoiseCoordinator} {
		p.Noise = noise
		if r := conformance.RunOnRecords(t, p, pool,
			[]*dataset.Records{records, records, records.Select([]int{1, 2, 3})}); r.Weight != 23 {
			t.Errorf("noise %s: %d records of parties of 300, 300 and 3 were added, want 10, 10 and 3", noise, r.Weight)
		}
	}
	// The weight of a dishonest site is refused.
	w := conformance.StatisticOf(t, p, pool)
	body, err := w.AppendClear(make([]int64, w.Cells()), 11)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := conformance.TaskOf(t, p, pool).NewSum()
	if err != nil {
		t.Fatal(err)
	}
	if err := sum.Check(body); !errors.Is(err, study.ErrContribution) {
		t.Errorf("11 records where the plan says 10: have %v, want ErrContribution", err)
	}
}

// TestPatientsAndRecords: a pool's weights and a study have a common guarantee at one unit, or
// beside unit party. One at unit patient and one at unit record have none: neighbours of the first
// may differ in the number of records, which the second publishes, and a record that one of another
// patient replaces changes two patients.
func TestPatientsAndRecords(t *testing.T) {
	schema, pool, _, _ := conformance.Hospital(t, 400)
	units := []privacy.Unit{privacy.Record, privacy.Patient, privacy.Party}
	for _, u := range units {
		for _, of := range units {
			p := conformance.ReweighPlan(schema, pool)
			p.Form, p.Unit, p.Schema.Patient = study.FormCommitted, u, "nr"
			p.Weights = &study.WeightSource{Unit: of, Epsilon: 1, PerParty: 5}
			refused := u != of && u != privacy.Party && of != privacy.Party
			if err := p.CheckCommon(); (err != nil) != refused ||
				refused && !strings.Contains(err.Error(), "nothing is proven of both") {
				t.Errorf("a study at unit %s with weights at unit %s: %v", u, of, err)
			}
		}
	}
}
