package conformance_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classify"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/keyed"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
	"caucus/study/ratio"
	"caucus/study/reweigh"
	"caucus/study/reweigh/weighed"
)

func TestWhereRefusals(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 6)
	for name, s := range map[string]struct {
		plan study.Plan
		says string
	}{
		"no condition":       {conformance.WithCondition(c.classify("cross", privacy.Record, study.NoiseSite, 1), "a"), "write for example"},
		"no column":          {conformance.WithCondition(c.classify("cross", privacy.Record, study.NoiseSite, 1), "height > 3"), "no feature and not the label"},
		"the patient":        {conformance.WithCondition(c.classify("cross", privacy.Record, study.NoiseSite, 1), "patient == p1"), "no feature and not the label"},
		"the set":            {conformance.WithCondition(c.classify("cross", privacy.Record, study.NoiseSite, 1), "set == s1"), "no feature and not the label"},
		"beyond the bounds":  {conformance.WithCondition(c.classify("cross", privacy.Record, study.NoiseSite, 1), "a > 11"), "beyond the bounds"},
		"the label, hidden":  {conformance.WithCondition(c.labels("rr"), "a > 3 and label == yes"), "which unit label hides"},
		"a set of one":       {conformance.WithCondition(c.ratio(ratio.FeaturesEmbedding, ratio.SetsParty, "laplace"), "a > 3"), "a set of a single record"},
		"a label of a set":   {conformance.WithCondition(c.ratio(ratio.FeaturesClear, ratio.SetsParty, "laplace"), "label == yes"), "which unit label hides"},
		"an unknown number":  {conformance.WithCondition(c.reweigh("logistic", reweigh.Terms{}), "a > 3"), "use entropy"},
		"trained by a label": {conformance.WithCondition(c.classify("tally", privacy.Record, study.NoiseSite, 1), "a > 3 or label == yes"), "would train on records chosen by their labels"},
		"in shards":          {conformance.WithCondition(c.classify("moment", privacy.Record, study.NoiseCoordinator, 4), "label != yes"), "would train on records chosen by their labels"},
		"more than one line": {conformance.WithCondition(c.classify("cross", privacy.Record, study.NoiseSite, 1), "a > 3\nand b < 1"), "control character"},
	} {
		if err := kinds.Check(s.plan); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), s.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, s.says)
		}
	}
	for name, p := range map[string]study.Plan{
		"sums by a label": conformance.WithCondition(c.classify("cross", privacy.Record, study.NoiseSite, 1), "a > 3 or label == yes"), "a feature": conformance.WithCondition(c.classify("tally", privacy.Record, study.NoiseSite, 1), "a > 3"),
		"a whole party": conformance.WithCondition(c.classify("tally", privacy.Party, study.NoiseCoordinator, 1), "label == yes"),
	} {
		if err := kinds.Check(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A plan without a condition is encoded without the field; a condition changes the hash.
	plain, _ := c.plan.Canonical()
	if strings.Contains(string(plain), "where") {
		t.Error("a plan about all records names a condition")
	}
	other, _ := conformance.WithCondition(c.plan, "a > 3").Canonical()
	if study.HashOf(plain) == study.HashOf(other) {
		t.Error("the condition is not in the plan's hash")
	}
}

// TestWhereMovesNoFurther: for every kind that accepts a condition, replacing a record, inside or
// outside the condition, moves the released integers by at most the bound, and sizes stay equal: a
// record outside is empty.
func TestWhereMovesNoFurther(t *testing.T) {
	c := newClinic(t, []string{"no", "yes", "maybe"}, 6)
	const where = "a >= 5 and not ward == east or label == maybe"
	const features = "a >= 5 and not ward == east"
	visits := []visit{well, ill, {label: "maybe", a: "1", b: ".5", ward: "east"},
		{label: "yes", a: "5", b: "", ward: "north"}, {a: "9", ward: "west"}, {},
		{label: "no", a: "4.999", b: "1", ward: "west"}}
	for name, p := range map[string]study.Plan{
		"classify tally, shards": conformance.WithCondition(c.classify("tally", privacy.Record, study.NoiseSite, 4), features),
		"classify cross":         conformance.WithCondition(c.classify("cross", privacy.Record, study.NoiseSite, 1), where),
		"classify moment":        conformance.WithCondition(c.classify("moment", privacy.Record, study.NoiseSite, 4), features),
		"describe":               conformance.WithCondition(c.describe("gaussian", study.NoiseSite, describe.DefaultTerms()), where),
		"describe, by ward":      conformance.WithCondition(c.describe("laplace", study.NoiseSite, describe.Terms{Bins: 3, By: "ward"}), where),
		"count":                  conformance.WithCondition(c.describe("laplace", study.NoiseSite, describe.Terms{Count: true}), where),
		"count, central":         conformance.WithCondition(c.describe("laplace", study.NoiseCoordinator, describe.Terms{Count: true}), where),
		"labels":                 conformance.WithCondition(c.labels("rr"), features),
		"evaluate":               conformance.WithCondition(c.evaluate("laplace", study.NoiseSite, nil), where),
		"evaluate, by ward": conformance.WithCondition(c.evaluate("gaussian",
			study.NoiseCoordinator,
			func(t *evaluate.Terms) {
				t.By = []evaluate.Grouping{{Column: "ward"}, {Column: "a", Edges: []float64{5}}}
			}), where),
	} {
		if err := kinds.Check(p); err != nil {
			t.Fatal(name, err)
		}
		rest := alike(20, ill)
		var first []int64
		size := -1
		for _, v := range visits {
			if p.Unit == privacy.Label { // neighbours share everything but the label
				v = visit{label: v.label, a: "7", b: "1", ward: "east", set: ill.set}
			}
			rows := replaced(rest, v)
			records, _, err := p.Encode(p.Schema, c.table(t, rows))
			if err != nil {
				t.Fatal(err)
			}
			if records.Len() != len(rows) {
				t.Fatalf("%s: %d records of %d rows", name, records.Len(), len(rows))
			}
			ask := c.asksOf(t, p, records)[0]
			vector := openAsk(t, ask)
			if size >= 0 && len(vector) != size {
				t.Fatalf("%s: %d numbers, of other records %d", name, len(vector), size)
			}
			size = len(vector)
			if first == nil {
				first = vector
				continue
			}
			b := ask.Sensitive.Bound()
			switch l1, l2sq := distance(first, vector, b); {
			case p.Unit == privacy.Label:
				if l1 != 0 { // the record is outside by its features, so its label is gone
					t.Errorf("%s: the label of a record outside moves what is released", name)
				}
			case b.L1 > 0 && l1 > float64(b.L1), b.L2sq > 0 && l2sq > float64(b.L2sq):
				t.Errorf("%s: %+v moves L1 by %v and L2² by %v, the bound is %d and %d", name, v, l1, l2sq, b.L1, b.L2sq)
			}
		}
	}
}

// TestWhereSorted: with a condition, a cut chooses the same records for every file order. An empty
// record and a record outside the condition have different names.
func TestWhereSorted(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 6)
	p := conformance.WithCondition(c.describe("laplace", study.NoiseSite,
		describe.Terms{Count: true}),
		"not a > 5")
	rows := []visit{{patient: "p"}, {a: "9", label: "yes", patient: "p"}}
	for key := range byte(20) {
		var outside []bool
		for range 2 {
			records, _, err := p.Encode(p.Schema, c.table(t, rows))
			if err != nil {
				t.Fatal(err)
			}
			one := keyed.ExactlyN(kinds.SelectionRuleOf(p), p.Schema, records, 1, []byte{key})
			outside = append(outside, one.IsExcluded(0))
			slices.Reverse(rows)
		}
		if outside[0] != outside[1] {
			t.Fatalf("key %d: of the same two records another is chosen when the file is in another order", key)
		}
	}
	// A record that fills up the declared number is outside every condition.
	records, _, err := p.Encode(p.Schema, c.table(t, rows))
	if err != nil {
		t.Fatal(err)
	}
	all := keyed.ExactlyN(kinds.SelectionRuleOf(p), p.Schema, records, 5, []byte{1})
	if got := openAsk(t, c.asksOf(t, p, all)[0]); all.Len() != 5 || got[0] != 1 {
		t.Errorf("%d records, %d of which match: want 5 and 1", all.Len(), got[0])
	}
	if _, remarks, err := p.Encode(p.Schema, c.table(t, []visit{{a: "x"}})); err != nil ||
		len(remarks) == 0 {
		t.Errorf("what is odd in a record is not said: %v, %v", remarks, err)
	}
	var none *dataset.Records
	if none, _, err = p.Encode(p.Schema, c.table(t, nil)); err != nil ||
		none.FailsCondition == nil {
		t.Errorf("no records: %+v, %v", none, err)
	}
}

// TestWhereFits: with a condition, a classifier equals that of a study that has only the records
// inside, for every mechanism that learns nothing from an empty record.
func TestWhereFits(t *testing.T) {
	schema, _, pool, _ := conformance.HospitalWithPool(t, 600)
	many := public.DefaultHospitalConfig()
	// noise is a twentieth of the weights; if all records counted, the weights would be off by half
	many.Records = 30000
	table, _ := public.Hospitals(many)
	condition := "age >= 65"
	c, err := dataset.ParseCondition(condition)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := c.Rows(table)
	if err != nil {
		t.Fatal(err)
	}
	var rows []int
	for i, in := range inside {
		if in {
			rows = append(rows, i)
		}
	}
	p := study.Plan{
		Name: "test", Kind: "classify", Schema: schema, Map: dataset.Identity(schema), Pool: pool.Digest, Roster: []study.PartyID{"a", "b"}, Records: 100,
		Unit: privacy.Record, Epsilon: 60, Delta: 1e-6, Mechanism: "cross", Noise: study.NoiseSite, KindTerms: conformance.EncodeTerms(classify.Terms{Shards: 1}), Minimum: 2, Seed: 1, Lambda: 1,
	}
	weights := func(p study.Plan, table *dataset.Table) [][]float64 {
		records, _, err := p.Encode(p.Schema, table)
		if err != nil {
			t.Fatal(err)
		}
		var parties []study.Inputs
		for i, part := range conformance.Deal(records, 2) {
			parties = append(parties, study.NewInputs(part, []byte{byte(i)}))
		}
		release, err := simulate.RunPlan(t.Context(), p, pool, parties)
		if err != nil {
			t.Fatal(err)
		}
		of, ok := classifier.Of(release.Result)
		if !ok {
			t.Fatal("no classifier")
		}
		return of.Weights
	}
	some, alone := weights(conformance.WithCondition(p, condition), table),
		weights(p, table.Select(rows))
	var off, size float64
	for j := range some {
		for k := range some[j] {
			off += (some[j][k] - alone[j][k]) * (some[j][k] - alone[j][k])
			size += alone[j][k] * alone[j][k]
		}
	}
	if off = math.Sqrt(off / size); off > 0.12 || len(rows) < 100 || len(rows) > table.Rows()*3/4 {
		t.Errorf("of %d records that a study of %d is about the weights are off by %.3f of their length", len(rows), table.Rows(), off)
	}
}

// TestWhereIsWork: Work includes the time of a condition with hundreds of comparisons on each
// record. On a file with few values the condition takes hardly any time; without that allowance a
// file with many values would make the party late, which reveals what it holds.
func TestWhereIsWork(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 6)
	const records, comparisons = 1000, 500
	of := func(where string) float64 {
		made, err := results.NewTask(conformance.WithCondition(c.describe("laplace",
			study.NoiseSite,
			describe.DefaultTerms()), where), c.pool)
		if err != nil {
			t.Fatal(err)
		}
		w, err := made.Work(records)
		if err != nil {
			t.Fatal(err)
		}
		return w.OtherSteps
	}
	long := "a > 1" + strings.Repeat(" or a>1", comparisons-1)
	if more := of(long) - of("a > 1"); more != (comparisons-1)*records*study.CellSteps {
		t.Errorf("%d more comparisons of %d records are %.0f steps", comparisons-1, records, more)
	}
}

// TestWhereHidesHowMany: with features hidden, a body reveals the number of records inside the
// condition only through noisy numbers, in every form of sets.
func TestWhereHidesHowMany(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 6)
	for name, p := range map[string]study.Plan{
		"reweigh":          conformance.WithCondition(c.reweigh("entropy", reweigh.Terms{}), "a > 3"),
		"ratio":            conformance.WithCondition(c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsParty, "gaussian-zcdp"), "a > 3"),
		"ratio, by column": conformance.WithCondition(c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsColumn, "gaussian-zcdp"), "a > 3"),
		"ratio, made sets": conformance.WithCondition(c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsMade, "gaussian-zcdp"), "a > 3"),
		"count":            conformance.WithCondition(c.describe("laplace", study.NoiseSite, describe.Terms{Count: true}), "a > 3"),
	} {
		task := conformance.TaskOf(t, p, c.pool)
		var bodies [2][]byte
		for side, v := range []visit{well, ill} { // all outside, all inside
			rows := alike(20, v)
			for i := range rows { // the column of sets is known
				rows[i].set = "s1"
			}
			records, _, err := p.Encode(p.Schema, c.table(t, rows))
			if err != nil {
				t.Fatal(err)
			}
			made, err := task.Contribute(c.inputs(records, 0))
			if err != nil {
				t.Fatal(err)
			}
			request := made.Requests[0] // as if zeros were released
			zeros := privacy.Published{Mechanism: request.Mechanism.Name(),
				Parameters: privacy.ParametersOf(request.Mechanism),
				Bound:      request.Sensitive.Bound(), Values: make([]int64,
					len(openAsk(t, request))), Simulated: true}
			if bodies[side], err = made.Body([]privacy.Published{zeros}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(bodies[0], bodies[1]) {
			t.Errorf("%s: how many records a study is about shows beside what was released", name)
		}
	}
}

// TestWhereWeighs: a study about some records weighs the pool like those records alone and says
// about how many there are; if noise hides them, the weights stay as they are.
func TestWhereWeighs(t *testing.T) {
	schema, table, pool, _ := conformance.HospitalWithPool(t, 4000)
	many := public.DefaultHospitalConfig()
	many.Records = 12000
	private, _ := public.Hospitals(many)
	b := make([]float64, pool.Rows())
	for i := range b {
		v, _ := table.Cell(i, "age")
		years, _ := strconv.ParseFloat(v, 64)
		b[i] = years
	}
	p := conformance.ReweighPlan(schema, pool)
	for name, s := range map[string]struct {
		where   string
		epsilon float64
		change  func(*study.Plan)
		known   bool
	}{
		"some":           {"age >= 65", 3, nil, true},
		"by coordinator": {"not age >= 40", 3, func(p *study.Plan) { p.Noise = study.NoiseCoordinator }, true},
		"bins":           {"age >= 65 and sex == male", 6, func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(reweigh.Terms{Bins: 4}) }, true},
		"next to none":   {"age >= 99", .05, nil, false},
	} {
		p := conformance.WithCondition(p, s.where)
		p.Epsilon = s.epsilon
		if s.change != nil {
			s.change(&p)
		}
		records, _, err := p.Encode(p.Schema, private)
		if err != nil {
			t.Fatal(name, err)
		}
		inside, age := 0.0, 0.0
		for i := range records.Len() {
			if !records.IsExcluded(i) {
				v, _ := private.Cell(i, "age")
				years, _ := strconv.ParseFloat(v, 64)
				inside, age = inside+1, age+years
			}
		}
		release := conformance.RunOnRecords(t, p, pool, conformance.Deal(records, 3))
		w := conformance.BodyOf[weighed.Weights](t, release.Result)
		if w.Records != int64(records.Len()) || w.MeetingCondition == nil ||
			math.Abs(*w.MeetingCondition-inside) > 60*w.NoiseSD*float64(w.Records) {
			t.Fatalf("%s: %d records, about %v of them, want %d and about %.0f", name, w.Records, *w.MeetingCondition, records.Len(), inside)
		}
		a, err := weighed.EstimateQuery(release, pool, b)
		if err != nil {
			t.Fatal(name, err)
		}
		if (w.Means != nil) != s.known || s.known != (a.Low != nil) {
			t.Errorf("%s: %d means, answer %+v", name, len(w.Means), a)
		}
		if s.known && math.Abs(a.Estimate-age/inside) > 4 {
			t.Errorf("%s: mean age %.1f, of these records it is %.1f", name, a.Estimate, age/inside)
		}
		if !s.known && (w.EffectiveRows < float64(pool.Rows())-1e-6 ||
			len(release.Result.Warnings) == 0) {
			t.Errorf("%s: %.0f effective rows of %d, warnings %q", name, w.EffectiveRows,
				pool.Rows(), release.Result.Warnings)
		}
	}
}
