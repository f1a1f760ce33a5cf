package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"math/rand/v2"
	"testing"

	"caucus/analyst/simulate"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classify"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
	"caucus/study/labels"
	"caucus/study/life"
	studyratio "caucus/study/ratio"
	"caucus/study/verify/evidence"
)

// Hospital makes generated patients: a schema, a public pool, its map, and private records.
func Hospital(t testing.TB, records int) (dataset.Schema, *auxdata.Pool, dataset.Map,
	*dataset.Records) {
	t.Helper()
	c := public.DefaultHospitalConfig()
	c.Records = records
	table, schema := public.Hospitals(c)
	all, _, err := schema.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	rows := rand.New(rand.NewPCG(1, 1)).Perm(all.Len())
	poolRows := all.Select(rows[:len(rows)/4])
	m, err := dataset.FitPCA(poolRows.X, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	return schema, auxdata.NewSimulated(poolRows.X, m), m, all.Select(rows[len(rows)/4:])
}

// ClassifyPlan is a valid plan of three parties: tally at unit party, ε = 1, with noise at the
// coordinator. Change what a test is about.
func ClassifyPlan(schema dataset.Schema, pool *auxdata.Pool, m dataset.Map) study.Plan {
	return study.Plan{
		Name: "test", Kind: "classify", Schema: schema, Map: m, Pool: pool.Digest,
		Roster: []study.PartyID{"a", "b", "c"}, Records: 200, Unit: privacy.Party, Epsilon: 1, Delta: 1e-6,
		Mechanism: "tally", Noise: study.NoiseCoordinator, KindTerms: EncodeTerms(classify.Terms{Shards: 1}), Minimum: 2, Seed: 1,
	}
}

// Contributions makes each party's body of a simulated plan.
func Contributions(t testing.TB, p study.Plan, pool *auxdata.Pool,
	parts []*dataset.Records) [][]byte {
	t.Helper()
	canonical, _ := p.Canonical()
	task := TaskOf(t, p, pool)
	var out [][]byte
	for i, r := range parts {
		d, err := task.Contribute(study.NewInputs(r, []byte{byte(i)}))
		if err != nil {
			t.Fatal(err)
		}
		published, err := study.ReleaseRequests(context.Background(),
			privacy.NewSimulation(uint64(i)),
			study.HashOf(canonical), d.Requests)
		if err != nil {
			t.Fatal(err)
		}
		body, err := d.Body(published)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, body)
	}
	return out
}

// Deal splits records evenly.
func Deal(records *dataset.Records, parties int) []*dataset.Records {
	out := make([]*dataset.Records, parties)
	for i := range out {
		var rows []int
		for j := i; j < records.Len(); j += parties {
			rows = append(rows, j)
		}
		out[i] = records.Select(rows)
	}
	return out
}

// Seq lists the integers from, from+1, …, to−1.
func Seq(from, to int) []int {
	var out []int
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// TaskOf makes the plan's task, and ends the test if the plan is refused.
func TaskOf(t testing.TB, p study.Plan, pool *auxdata.Pool) study.Finisher {
	t.Helper()
	task, err := results.NewTask(p, pool)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// HashOf is the hash that ledgers and contributions of this plan contain. It ends the test if the
// plan cannot be encoded.
func HashOf(t interface{ Fatal(...any) }, p study.Plan) study.Hash {
	canonical, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return study.HashOf(canonical)
}

// EncodeTerms writes terms as a plan has them. It panics where a plan could not hold them.
func EncodeTerms(terms any) json.RawMessage {
	b, err := study.EncodeTerms(terms)
	if err != nil {
		panic(err)
	}
	return b
}

// ClassifyTerms changes a plan's terms in place, and encodes them anew.
func ClassifyTerms(p *study.Plan, change func(*classify.Terms)) {
	t := classify.TermsOf(*p)
	change(&t)
	p.KindTerms = EncodeTerms(t)
}

// SetShards makes each party train n classifiers, on disjoint shards; the plan's budget stays.
func SetShards(p *study.Plan, n int) { ClassifyTerms(p, func(t *classify.Terms) { t.Shards = n }) }

// SetLearner names what parties train, also a name that Check refuses.
func SetLearner(p *study.Plan, name string) {
	ClassifyTerms(p, func(t *classify.Terms) { t.Learner = name })
}

// StatisticOf returns the vector's description, and ends the test for kinds whose contributions are
// not added up.
func StatisticOf(t testing.TB, p study.Plan, pool *auxdata.Pool) bodies.Statistic {
	t.Helper()
	asked, ok := bodies.Of(TaskOf(t, p, pool))
	if !ok {
		t.Fatal("the task asks no statistic")
	}
	return asked.Statistic
}

// SettleBody returns the body that a party makes through a real ledger, the publications in it, and
// the ledger.
func SettleBody(t testing.TB, p study.Plan, pool *auxdata.Pool, in study.Inputs,
	c privacy.Config) ([]byte, []privacy.Published, *privacy.Ledger) {
	t.Helper()
	task := TaskOf(t, p, pool)
	d, err := task.Contribute(in)
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	l, err := privacy.Open(privacy.NewMemoryJournal(), c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := study.ReleaseRequests(context.Background(), l, study.HashOf(canonical), d.Requests)
	if err != nil {
		t.Fatal(err)
	}
	body, err := d.Body(r)
	if err != nil {
		t.Fatal(err)
	}
	return body, r, l
}

// RunRelease runs a real plan through real ledgers, and returns the release after writing and
// reading it. All parties of the roster except the last contribute.
func RunRelease(t testing.TB, p study.Plan, pool *auxdata.Pool,
	records *dataset.Records) study.Release {
	t.Helper()
	s, sum := RunUntilSummed(t, p, pool, records)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	central, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
	must(err)
	must(central.Spend(context.Background(), "an earlier study",
		privacy.PureCost(privacy.Record, 0, big.NewRat(1, 2))))
	r, err := life.Conclude(context.Background(), s, TaskOf(t, s.Plan, pool), sum, central)
	must(err)
	p = s.Plan
	r.Plan, err = p.Canonical()
	must(err)
	r.Software = "test"
	return Reread(t, r)
}

// RunUntilSummed runs a real plan up to state study.RunUntilSummed, and returns the study and the
// contributions. All parties of the roster except the last contribute, each through a ledger.
func RunUntilSummed(t testing.TB, p study.Plan, pool *auxdata.Pool,
	records *dataset.Records) (*life.Study,
	study.Contributions) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	terms, err := study.TermsDigest(TaskOf(t, p, pool))
	must(err)
	p.TermsDigest = terms
	canonical, err := p.Canonical()
	must(err)
	p, err = kinds.ParsePlan(canonical)
	must(err)
	task := TaskOf(t, p, pool)
	s := life.New(p, study.HashOf(canonical))
	s.Step(life.StudyOpened{})
	all, err := study.NewAccumulator(task)
	must(err)
	for i, part := range Deal(records, len(p.Roster)-1) {
		d, err := task.Contribute(study.NewInputs(part, []byte{byte(i)}))
		must(err)
		own, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
		must(err)
		r, err := study.ReleaseRequests(ctx, own, s.Hash, d.Requests)
		must(err)
		body, err := d.Body(r)
		must(err)
		must(simulate.ReceiveContribution(s, all, p.Roster[i], body))
	}
	s.Step(life.DeadlinePassed{})
	s.Step(life.SumDone{Contributions: len(s.Received)})
	return s, all.Contributions()
}

// Reread writes a release to JSON and reads it back.
func Reread(t testing.TB, r study.Release) study.Release {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again study.Release
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if same, err := json.Marshal(again); err != nil || string(same) != string(text) {
		t.Errorf("a release comes back otherwise: %v", err)
	}
	return again
}

// FalseClaims lists the claims that verification found false, as "about: says".
func FalseClaims(all []evidence.Finding) (out []string) {
	for _, f := range all {
		if f.Verdict == evidence.Fails {
			out = append(out, f.Subject+": "+f.Text)
		}
	}
	return out
}

// HospitalWithPool makes generated patients as Hospital does, with the pool also as a table.
func HospitalWithPool(t testing.TB, records int) (dataset.Schema, *dataset.Table, *auxdata.Pool,
	*dataset.Records) {
	t.Helper()
	c := public.DefaultHospitalConfig()
	c.Records = records
	table, schema := public.Hospitals(c)
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

// WithCondition returns the plan with a condition on records; the pool stays as it is.
func WithCondition(p study.Plan, where string) study.Plan {
	p.Where = where
	return p
}

// ProposalData makes 200 admissions of made-up hospitals, the same at each call.
func ProposalData(t *testing.T) (dataset.Schema, *dataset.Table) {
	t.Helper()
	c := public.DefaultHospitalConfig()
	c.Records = 200
	table, schema := public.Hospitals(c)
	return schema, table
}

// DescribePlan is a valid plan of three sites: gaussian at unit record, ε = 1, δ = 10⁻⁶, with noise
// at the sites.
func DescribePlan(schema dataset.Schema, pool *auxdata.Pool) study.Plan {
	return study.Plan{
		Name: "test", Kind: "describe", Schema: schema, Map: dataset.Identity(schema), Pool: pool.Digest,
		Roster: []study.PartyID{"a", "b", "c"}, Records: 200, Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Mechanism: "gaussian",
		Noise: study.NoiseSite, Minimum: 2, Seed: 1, KindTerms: EncodeTerms(describe.DefaultTerms()),
	}
}

// EvaluatePlan makes a plan of kind evaluate for AgeModel.
func EvaluatePlan(t testing.TB, schema dataset.Schema, pool *auxdata.Pool,
	change func(*evaluate.Terms)) study.Plan {
	t.Helper()
	terms := evaluate.Terms{Model: AgeModel(t, schema), Classes: schema.Classes()[1:2],
		Thresholds: []float64{.3}}
	if change != nil {
		change(&terms)
	}
	p := study.Plan{
		Name: "test", Kind: "evaluate", Schema: schema, Map: dataset.Identity(schema), Pool: pool.Digest,
		Roster: []study.PartyID{"a", "b", "c"}, Records: 200, Unit: privacy.Record, Epsilon: 1, Mechanism: "laplace",
		Noise: study.NoiseSite, Minimum: 2, Seed: 1, KindTerms: EncodeTerms(terms),
	}
	if err := planning.SetPool(&p, pool); err != nil {
		t.Fatal(err)
	}
	return p
}

// AgeModel is a linear model of the wards' patients.
func AgeModel(t testing.TB, s dataset.Schema) *evaluate.Model {
	t.Helper()
	m, err := judged.Coefficients{Intercept: -3,
		Coefficients: map[string]float64{"age": .05, "sex=male": .2}}.Model(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// LabelsPlan is a valid plan of three parties: randomised response at unit label, pure ε = 1.
func LabelsPlan(schema dataset.Schema, pool *auxdata.Pool, m dataset.Map) study.Plan {
	terms := labels.DefaultTerms()
	p := ClassifyPlan(schema, pool, m)
	p.Kind, p.Unit, p.Mechanism, p.Noise, p.KindTerms = "labels", privacy.Label, "rr",
		study.NoiseSite, EncodeTerms(terms)
	p.Delta = 0
	return p
}

// RatioPlan is a valid plan of six parties with sets of about 100 records, and 40 Fourier features.
// It panics if the pool gives no width.
func RatioPlan(schema dataset.Schema, pool *auxdata.Pool, m dataset.Map,
	features string) study.Plan {
	t := studyratio.DefaultTerms()
	t.Features, t.Fourier, t.SetSize = features, 40, 100
	p := study.Plan{
		Name: "test", Kind: "ratio", Schema: schema, Map: m, Pool: pool.Digest,
		Roster: []study.PartyID{"a", "b", "c", "d", "e", "f"}, Records: 200, Unit: privacy.Label, Epsilon: 1, Delta: 1e-6,
		Mechanism: "laplace", Noise: study.NoiseSite, Minimum: 2, Seed: 1,
	}
	if features == studyratio.FeaturesNoisyEmbedding {
		p.Unit, p.Mechanism = privacy.Record, "gaussian-zcdp"
	}
	if err := t.ChooseWidth(pool); err != nil {
		panic(err)
	}
	p.KindTerms = EncodeTerms(t)
	return p
}

// WithRatioTerms returns the plan with changed terms. It panics if the plan has none of this kind.
func WithRatioTerms(p study.Plan, change func(*studyratio.Terms)) study.Plan {
	t := TermsIn[studyratio.Terms](p)
	change(&t)
	p.KindTerms = EncodeTerms(t)
	return p
}

// ReweighPlan is a valid plan of three sites: entropy at unit record, pure ε = 1, with noise at the
// sites.
func ReweighPlan(schema dataset.Schema, pool *auxdata.Pool) study.Plan {
	return study.Plan{
		Name: "test", Kind: "reweigh", Schema: schema, Map: dataset.Identity(schema), Pool: pool.Digest,
		Roster: []study.PartyID{"a", "b", "c"}, Records: 200, Unit: privacy.Record, Epsilon: 1, Mechanism: "entropy",
		Noise: study.NoiseSite, Minimum: 2, Seed: 1,
	}
}

// RunOnRecords runs a plan through real ledgers. parts are the parties' records.
func RunOnRecords(t *testing.T, p study.Plan, pool *auxdata.Pool,
	parts []*dataset.Records) study.Release {
	t.Helper()
	ctx := context.Background()
	canonical, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = kinds.ParsePlan(canonical); err != nil {
		t.Fatal(err)
	}
	task := TaskOf(t, p, pool)
	s := life.New(p, study.HashOf(canonical))
	s.Step(life.StudyOpened{})
	sums := make([]study.Sum, 2)
	for i := range sums {
		if sums[i], err = task.NewSum(); err != nil {
			t.Fatal(err)
		}
	}
	for i, part := range parts {
		ledger, err := privacy.Open(privacy.NewMemoryJournal(),
			privacy.Config{Limits: map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: p.Epsilon, Delta: p.Delta}}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := task.Contribute(study.NewInputs(part, []byte("key")))
		if err != nil {
			t.Fatal(err)
		}
		r, err := study.ReleaseRequests(ctx, ledger, s.Hash, d.Requests)
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
		if err := simulate.ReceiveContribution(s, sums[i%2], p.Roster[i], body); err != nil {
			t.Fatal(err)
		}
		// A body in clear is refused under a plan with noise at the site.
		if p.Noise.AddedAtSite() {
			clear := p
			clear.Noise = study.NoiseCoordinator
			plain, err := TaskOf(t, clear, pool).Contribute(study.NewInputs(part, []byte("key")))
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
	s.Step(life.SumDone{Contributions: len(parts)})
	ledger, _ := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
	release, err := life.Conclude(ctx, s, TaskOf(t, p, pool), study.Contributions{Sum: sums[1]},
		ledger)
	if err != nil {
		t.Fatal(err)
	}
	release.Plan = canonical
	if _, err := json.Marshal(release); err != nil {
		t.Fatalf("a release cannot be written: %v", err)
	}
	return release
}

// FirstRows lists 0..n−1, as a test names all records of a party.
func FirstRows(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// BodyOf reads a result's body strictly, and ends the test if that fails.
func BodyOf[B any](t testing.TB, r study.Result) (body B) {
	t.Helper()
	if err := r.DecodeBody(&body); err != nil {
		t.Fatal(err)
	}
	return body
}

// TermsIn reads a plan's terms strictly, and panics if they are of another kind.
func TermsIn[T any](p study.Plan) (terms T) {
	if err := p.DecodeTerms(&terms); err != nil {
		panic(err)
	}
	return terms
}
