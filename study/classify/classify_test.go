package classify_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/fitting"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classify"
	"caucus/study/conformance"
	"caucus/study/kinds"
)

func TestCheckRefusals(t *testing.T) {
	schema, pool, m, _ := conformance.Hospital(t, 400)
	for name, c := range map[string]struct {
		change func(*study.Plan)
		says   string
	}{
		"no name":                {func(p *study.Plan) { p.Name = "" }, "give the study a name"},
		"epsilon 0":              {func(p *study.Plan) { p.Epsilon = 0 }, "epsilon"},
		"epsilon negative":       {func(p *study.Plan) { p.Epsilon = -1 }, "epsilon"},
		"epsilon NaN":            {func(p *study.Plan) { p.Epsilon = math.NaN() }, "epsilon"},
		"epsilon infinite":       {func(p *study.Plan) { p.Epsilon = math.Inf(1) }, "epsilon"},
		"delta 1":                {func(p *study.Plan) { p.Delta = 1 }, "delta"},
		"delta negative":         {func(p *study.Plan) { p.Delta = -1e-9 }, "delta"},
		"tally without delta":    {func(p *study.Plan) { p.Delta = 0 }, "or use moment"},
		"unknown mechanism":      {func(p *study.Plan) { p.Mechanism = "magic" }, "moment"},
		"unproven mechanism":     {func(p *study.Plan) { p.Mechanism = "output-paper" }, "only be simulated"},
		"no noise at all":        {func(p *study.Plan) { p.Mechanism = "none" }, "only be simulated"},
		"cross at party level":   {func(p *study.Plan) { p.Mechanism = "cross" }, "cannot hide a party"},
		"means at record level":  {func(p *study.Plan) { p.Mechanism, p.Unit = "means", privacy.Record }, "cross hides a record"},
		"too many shards":        {func(p *study.Plan) { p.Unit = privacy.Record; conformance.SetShards(p, 1<<55) }, "at most"},
		"a map of other columns": {func(p *study.Plan) { p.Map = dataset.Map{Kind: dataset.IdentityMap, Inputs: 3, Scale: 1} }, "map"},
		"epsilon too large":      {func(p *study.Plan) { p.Epsilon = 1e6 }, "at most 64"},
		"shards at party level":  {func(p *study.Plan) { conformance.SetShards(p, 5) }, "shards buy nothing"},
		"shards of cross":        {func(p *study.Plan) { p.Mechanism, p.Unit = "cross", privacy.Record; conformance.SetShards(p, 5) }, "shards 1"},
		"output at the site":     {func(p *study.Plan) { p.Mechanism, p.Noise = "output", study.NoiseSite }, "only the coordinator"},
		"unknown noise":          {func(p *study.Plan) { p.Noise = "everywhere" }, "site"},
		"minimum above roster":   {func(p *study.Plan) { p.Minimum = 4 }, "roster"},
		"minimum 0":              {func(p *study.Plan) { p.Minimum = 0 }, "at least one"},
		"party listed twice":     {func(p *study.Plan) { p.Roster = []study.PartyID{"a", "b", "a"} }, "twice"},
		"unknown learner":        {func(p *study.Plan) { conformance.SetLearner(p, "oracle") }, "oracle"},
		"own classifier, record": {func(p *study.Plan) { p.Unit = privacy.Record; conformance.SetLearner(p, "any") }, "hides whole parties only"},
		"own classifier, label":  {func(p *study.Plan) { p.Unit = privacy.Label; conformance.SetLearner(p, "any") }, "hides whole parties only"},
		"own classifier, shards": {func(p *study.Plan) {
			p.Unit = privacy.Record
			conformance.SetLearner(p, "any")
			conformance.SetShards(p, 4)
		}, "hides whole parties only"},
		"own classifier of means": {func(p *study.Plan) { p.Mechanism = "means"; conformance.SetLearner(p, "any") }, "trains no classifier"},
		"unknown bound":           {func(p *study.Plan) { conformance.ClassifyTerms(p, func(t *classify.Terms) { t.Bound = "loose" }) }, "tight or paper"},
		"a ridge too small":       {func(p *study.Plan) { p.Mechanism, p.Noise, p.Lambda = "output", study.NoiseCoordinator, 1e-6 }, "give 1e-05 or more"},
		"negative lambda":         {func(p *study.Plan) { p.Lambda = -1 }, "lambda"},
		"unknown kind":            {func(p *study.Plan) { p.Kind = "guess" }, "classify"},
		"broken schema":           {func(p *study.Plan) { p.Schema.Label.Classes = []string{"only"} }, "schema"},
	} {
		p := conformance.ClassifyPlan(schema, pool, m)
		c.change(&p)
		err := kinds.Check(p)
		if !errors.Is(err, study.ErrPlan) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: have %v, want ErrPlan saying %q", name, err, c.says)
		}
	}
	if err := kinds.Check(conformance.ClassifyPlan(schema, pool, m)); err != nil {
		t.Errorf("a good plan: %v", err)
	}
}

func TestPlanBytes(t *testing.T) {
	schema, pool, m, _ := conformance.Hospital(t, 400)
	p := conformance.ClassifyPlan(schema, pool, m)
	canonical, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	back, err := kinds.ParsePlan(canonical)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := back.Canonical()
	if !bytes.Equal(again, canonical) {
		t.Error("a plan read back has other bytes")
	}
	if _, err := kinds.ParsePlan(bytes.Replace(canonical, []byte(`"kind"`), []byte(`"kin"`), 1)); !errors.Is(err, study.ErrPlan) {
		t.Errorf("an unknown field: have %v, want ErrPlan", err)
	}
	if _, err := kinds.ParsePlan(append(canonical, canonical...)); !errors.Is(err, study.ErrPlan) {
		t.Errorf("two plans: have %v, want ErrPlan", err)
	}
}

// TestSums, for every mechanism and place of noise: the order of arrival and the merging of partial
// sums change no bit of the sum, and a sum survives its encoding.
func TestSums(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 600)
	for _, c := range []struct {
		mechanism string
		noise     study.Noise
		unit      privacy.Unit
		shards    int
	}{
		{"tally", study.NoiseCoordinator, privacy.Party, 1},
		{"tally", study.NoiseSite, privacy.Party, 1},
		{"tally", study.NoiseCoordinator, privacy.Record, 4},
		{"tally", study.NoiseSite, privacy.Record, 4},
		{"moment", study.NoiseCoordinator, privacy.Party, 1},
		{"moment", study.NoiseSite, privacy.Record, 3},
		{"cross", study.NoiseSite, privacy.Record, 1},
		{"cross", study.NoiseCoordinator, privacy.Record, 1},
		{"means", study.NoiseCoordinator, privacy.Party, 1},
		{"means", study.NoiseSite, privacy.Party, 1},
		{"output", study.NoiseCoordinator, privacy.Party, 1},
	} {
		t.Run(c.mechanism+"-"+string(c.noise)+"-"+strconv.Itoa(c.shards), func(t *testing.T) {
			p := conformance.ClassifyPlan(schema, pool, m)
			p.Mechanism, p.Noise, p.Unit, p.Simulated = c.mechanism, c.noise, c.unit, true
			conformance.SetShards(&p, c.shards)
			if err := kinds.Check(p); err != nil {
				t.Fatal(err)
			}
			bodies := conformance.Contributions(t, p, pool, conformance.Deal(records, 5))
			task := conformance.TaskOf(t, p, pool)
			fresh := func() study.Sum {
				s, err := task.NewSum()
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			straight := fresh()
			for _, b := range bodies {
				if len(b) > task.MaxBody() {
					t.Errorf("a body of %d bytes is above MaxBody %d", len(b), task.MaxBody())
				}
				if err := straight.Add(b); err != nil {
					t.Fatal(err)
				}
			}
			want, _ := straight.MarshalBinary()
			left, right := fresh(), fresh()
			for _, i := range []int{4, 1} {
				left.Add(bodies[i])
			}
			for _, i := range []int{3, 0, 2} {
				right.Add(bodies[i])
			}
			encoded, _ := right.MarshalBinary()
			right = fresh()
			if err := right.UnmarshalBinary(encoded); err != nil {
				t.Fatal(err)
			}
			if err := left.Merge(right); err != nil {
				t.Fatal(err)
			}
			if got, _ := left.MarshalBinary(); !bytes.Equal(got, want) {
				t.Error("order or sharding changed the sum")
			}
			for name, bad := range map[string][]byte{
				"empty": {}, "truncated": bodies[0][:len(bodies[0])-1], "too long": append(bytes.Clone(bodies[0]), 0),
			} {
				if err := straight.Add(bad); !errors.Is(err, study.ErrContribution) {
					t.Errorf("%s: have %v, want ErrContribution", name, err)
				}
			}
			if got, _ := straight.MarshalBinary(); !bytes.Equal(got, want) {
				t.Error("a refused contribution changed the sum")
			}
		})
	}
}

// TestHostileSums: no accepted body makes the sum overflow, so the bound of the release holds
// whatever a party sends.
func TestHostileSums(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 600)
	p := conformance.ClassifyPlan(schema, pool, m)
	p.Mechanism, p.Unit = "cross", privacy.Record
	sum, err := conformance.TaskOf(t, p, pool).NewSum()
	if err != nil {
		t.Fatal(err)
	}
	if err := sum.Add(conformance.Contributions(t, p, pool,
		conformance.Deal(records, 1))[0]); err != nil {
		t.Fatal(err)
	}
	q := conformance.StatisticOf(t, p, pool)
	for _, n := range []int64{1, 1 << 38, 1 << 40, math.MaxInt64} {
		for _, v := range []int64{math.MinInt64, math.MaxInt64, -1 << 61, n << 20, -n << 20} {
			vector := make([]int64, q.Cells())
			for j := range vector {
				vector[j] = v
			}
			body, _ := q.AppendClear(vector, n)
			if sum.Check(body) != nil {
				continue
			}
			for range len(p.Roster) { // the most that can contribute
				if v < 0 && -v > 1<<60/int64(len(p.Roster)) || v > 1<<60/int64(len(p.Roster)) {
					t.Fatalf("a cell of %d of %d records is accepted: %d of them wrap", v, n, len(p.Roster))
				}
			}
		}
	}
	for name, data := range map[string][]byte{"nothing": nil,
		"negative weight": bodies.AppendVector([]byte{1}, make([]int64, q.Cells()))} {
		before, _ := sum.MarshalBinary()
		if err := sum.UnmarshalBinary(data); err == nil {
			t.Errorf("%s: read as a sum", name)
		}
		if after, _ := sum.MarshalBinary(); !bytes.Equal(before, after) {
			t.Errorf("%s: a failed read changed the sum", name)
		}
	}
}

func TestOtherPool(t *testing.T) {
	schema, pool, m, _ := conformance.Hospital(t, 600)
	p := conformance.ClassifyPlan(schema, pool, m)
	_, other, _, _ := conformance.Hospital(t, 400)
	if _, err := kinds.NewTask(p, other); !errors.Is(err, study.ErrContribution) {
		t.Errorf("a task on another pool: have %v, want ErrContribution", err)
	}
}

// TestDataIndependence: a party contributes whatever its records are, and all ballots have bodies
// of the same size.
func TestDataIndependence(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 600)
	one := make([]int, 0, records.Len())
	for i, y := range records.Y {
		if y == 0 {
			one = append(one, i)
		}
	}
	nan := records.Select([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	nan.X = mat.DenseCopyOf(nan.X)
	for i := range 12 {
		nan.X.Set(i, 0, math.NaN())
	}
	unlabelled := records.Select([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	for i := range unlabelled.Y {
		unlabelled.Y[i] = -1
	}
	parts := []*dataset.Records{
		records.Select(nil), records.Select([]int{3}), records.Select([]int{0, 1, 2, 3, 4}),
		records.Select(one), nan, unlabelled, records,
	}
	for _, c := range []struct {
		mechanism string
		unit      privacy.Unit
	}{{"tally", privacy.Party}, {"moment", privacy.Party}, {"output", privacy.Party},
		{"means", privacy.Party}, {"cross", privacy.Record}} {
		for _, learner := range []string{"softmax", "svm", "cart", "forest", "naive-bayes", "knn"} {
			p := conformance.ClassifyPlan(schema, pool, m)
			p.Mechanism, p.Unit, p.Simulated = c.mechanism, c.unit, true
			conformance.SetLearner(&p, learner)
			bodies := conformance.Contributions(t, p, pool, parts)
			sum, err := conformance.TaskOf(t, p, pool).NewSum()
			if err != nil {
				t.Fatal(err)
			}
			for i, b := range bodies {
				if err := sum.Add(b); err != nil {
					t.Errorf("%s, %s, party %d: %v", c.mechanism, learner, i, err)
				}
				if c.mechanism != "cross" && len(b) != len(bodies[0]) {
					t.Errorf("%s, %s, party %d: %d bytes, party 0 has %d", c.mechanism, learner, i,
						len(b), len(bodies[0]))
				}
			}
		}
	}
}

// TestTallyBound: replacing one record moves the released vector by no more than the declared
// bound. With shards, a replacement by another patient may move two shards.
func TestTallyBound(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 300)
	rng := rand.New(rand.NewPCG(5, 5))
	for _, shards := range []int{1, 4} {
		p := conformance.ClassifyPlan(schema, pool, m)
		p.Unit = privacy.Record
		conformance.SetShards(&p, shards)
		q := conformance.StatisticOf(t, p, pool)
		terms, err := q.Terms(int64(shards))
		if err != nil {
			t.Fatal(err)
		}
		largest := 0.0
		base := records.Select(conformance.Seq(0, 60))
		run := func(r *dataset.Records) []int64 {
			// The learner's generator is fixed: it is not part of the data.
			v, _ := q.Local(study.NewInputs(r, []byte("key")))
			return v
		}
		before := run(base)
		for range 25 {
			rows := conformance.Seq(0, 60)
			rows[rng.IntN(60)] = 60 + rng.IntN(records.Len()-60)
			after := run(records.Select(rows))
			moved := 0.0
			for i := range after {
				d := float64(after[i] - before[i])
				moved += d * d * float64(terms.Bound.Weight[i])
			}
			if moved > float64(terms.Bound.L2sq) {
				t.Fatalf("%d shards: moved by %.0f, bound %d", shards, moved, terms.Bound.L2sq)
			}
			largest = math.Max(largest, moved/float64(terms.Bound.L2sq))
		}
		t.Logf("%d shards: largest movement / bound %.3f", shards, largest)
	}
}

// TestSettleOnce: settling a plan twice gives the same answers and one charge. A plan that differs
// in anything has other ids.
func TestSettleOnce(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 400)
	p := conformance.ClassifyPlan(schema, pool, m)
	q := conformance.StatisticOf(t, p, pool)
	v, w := q.Local(study.NewInputs(records, []byte("key")))
	asks, err := bodies.Requests(q, v, w)
	if err != nil {
		t.Fatal(err)
	}
	l, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	first, err := study.ReleaseRequests(ctx, l, study.HashOf([]byte("plan")), asks)
	if err != nil {
		t.Fatal(err)
	}
	second, err := study.ReleaseRequests(ctx, l, study.HashOf([]byte("plan")), asks)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range first[0].Values {
		if second[0].Values[i] != x {
			t.Fatal("a second settlement drew again")
		}
	}
	if _, err := study.ReleaseRequests(ctx, l, study.HashOf([]byte("other plan")),
		asks); err != nil {
		t.Fatal(err)
	}
	totals, _ := l.Totals(ctx)
	if got := totals[privacy.Party].Charges; got != 2 {
		t.Errorf("have %d charges, want 2", got)
	}
}

// TestSimulatedNeverPasses: a real plan's sum refuses simulated publications, and a simulated
// plan's sum refuses real ones.
func TestSimulatedNeverPasses(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 400)
	p := conformance.ClassifyPlan(schema, pool, m)
	p.Mechanism, p.Unit, p.Noise, p.Simulated = "cross", privacy.Record, study.NoiseSite, true
	simulated := conformance.Contributions(t, p, pool, conformance.Deal(records, 1))[0]
	p.Simulated = false
	real, err := conformance.TaskOf(t, p, pool).NewSum()
	if err != nil {
		t.Fatal(err)
	}
	if err := real.Check(simulated); !errors.Is(err, study.ErrContribution) {
		t.Errorf("a simulated contribution in a real study: have %v, want ErrContribution", err)
	}
	body, _, _ := conformance.SettleBody(t, p, pool, study.NewInputs(records, []byte("key")),
		privacy.Config{})
	if err := real.Check(body); err != nil {
		t.Errorf("a genuine contribution: %v", err)
	}
	other := p
	other.Name = "another study"
	sum, _ := conformance.TaskOf(t, other, pool).NewSum()
	if err := sum.Check(body); !errors.Is(err, study.ErrContribution) {
		t.Errorf("a contribution to another plan: have %v, want ErrContribution", err)
	}
	p.Simulated = true
	sum, _ = conformance.TaskOf(t, p, pool).NewSum()
	if err := sum.Check(body); !errors.Is(err, study.ErrContribution) {
		t.Errorf("a genuine contribution in a simulation: have %v, want ErrContribution", err)
	}
}

func TestDriftAndTilt(t *testing.T) {
	// The pool differs in its first feature's mean: the release finds the drift and tilts the pool.
	rng := rand.New(rand.NewPCG(7, 7))
	x := mat.NewDense(3000, 3, nil)
	mean := []float64{0.25, 0, 0}
	for i := range 3000 {
		for j := range 3 {
			x.Set(i, j, rng.NormFloat64()*0.2)
		}
	}
	if d := fitting.MeasureDrift(x, nil, mean, 0.001, 5000); !d.Significant() {
		t.Errorf("drift of one standard deviation is not found: %+v", d)
	}
	if d := fitting.MeasureDrift(x, nil, []float64{0.004, -0.004, 0}, 0.001,
		5000); d.Significant() {
		t.Errorf("no drift, but found: %+v", d)
	}
	w := fitting.FitWeights(x, nil, mean, fitting.IsotropicNoise(3, 0.001), 0, 0.1, rng)
	got := 0.0
	for i, v := range w.Weight {
		got += v * x.At(i, 0) / 3000
	}
	if math.Abs(got-0.25) > 0.02 {
		t.Errorf("the tilted mean is %.3f, want .25", got)
	}
	if w.EffectiveRows < 300 {
		t.Errorf("effective rows %.0f, want at least 300", w.EffectiveRows)
	}
	// The tilted pool matches the records: no drift is left, and hardly anything to tilt.
	if d := fitting.MeasureDrift(x, w.Weight, mean, 0.001, 5000); d.Significant() {
		t.Errorf("no drift of the weighted pool, but found: %+v", d)
	}
	again := fitting.FitWeights(x, w.Weight, mean, fitting.IsotropicNoise(3, 0.001), 0, 0.1, rng)
	if again.EffectiveRows < 0.9*w.EffectiveRows {
		t.Errorf("tilted once it counts as %.0f rows, twice as %.0f", w.EffectiveRows, again.EffectiveRows)
	}
}

// TestMomentBoundDoesNotWrap: if the squared movement overflows int64, the L2 bound proves nothing,
// and the noise is Laplace under the L1 bound. The pool's heavy row makes the square of two ballots
// a little more than 2⁶⁴.
func TestMomentBoundDoesNotWrap(t *testing.T) {
	schema, _, _, _ := conformance.Hospital(t, 400)
	schema.Label.Classes = []string{"a", "b", "c"}
	const rows = 21_000
	x, weight := mat.NewDense(rows, 2, nil), make([]float64, rows)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range rows {
		x.SetRow(i, []float64{rng.Float64() / 2, math.Sqrt2 / 2})
		weight[i] = 1
	}
	for _, heavy := range []float64{1, 5e5, 692616.525, 1e6, 1e9} {
		weight[0] = heavy
		p := study.Plan{Kind: "classify", Schema: schema, Unit: privacy.Record, Epsilon: 1,
			Mechanism: "moment", Noise: study.NoiseSite,
			KindTerms: conformance.EncodeTerms(classify.Terms{Shards: 3})}
		terms, err := conformance.StatisticOf(t, p, &auxdata.Pool{X: x, Weight: weight}).Terms(0)
		if err != nil {
			t.Fatal(err)
		}
		l2 := 2 * float64(aggregation.NewMomentDesign(x, weight, len(schema.Classes())).L2)
		if have := float64(terms.Bound.L2sq); have != 0 && math.Abs(have/(l2*l2)-1) > 1e-9 ||
			have == 0 && l2 < 1<<31 {
			t.Errorf("weight %g: the bound is %g, two ballots move by %g²", heavy, have, l2)
		}
		if _, laplace := terms.Mechanism.(privacy.DiscreteLaplace); laplace !=
			(terms.Bound.L2sq == 0) {
			t.Errorf("weight %g: noise is %s under %+v", heavy, terms.Mechanism.Name(), terms.Bound)
		}
	}
}
