package labels_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/keyed"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/labels"
	"caucus/study/labels/learned"
)

func TestLabelsRefusals(t *testing.T) {
	schema, pool, m, _ := conformance.Hospital(t, 400)
	for name, c := range map[string]struct {
		change func(*study.Plan)
		says   string
	}{
		"epsilon 0":           {func(p *study.Plan) { p.Epsilon = 0 }, "epsilon"},
		"epsilon negative":    {func(p *study.Plan) { p.Epsilon = -1 }, "epsilon"},
		"epsilon no number":   {func(p *study.Plan) { p.Epsilon = math.NaN() }, "epsilon"},
		"epsilon infinite":    {func(p *study.Plan) { p.Epsilon = math.Inf(1) }, "epsilon"},
		"epsilon meaningless": {func(p *study.Plan) { p.Epsilon = 65 }, "epsilon"},
		"epsilon tiny":        {func(p *study.Plan) { p.Epsilon = 1e-20 }, "too small to tell 2 classes apart"},
		"unit record":         {func(p *study.Plan) { p.Unit = privacy.Record }, "cannot hide a record"},
		"unit party":          {func(p *study.Plan) { p.Unit = privacy.Party }, "cannot hide a party"},
		"noise coordinator":   {func(p *study.Plan) { p.Noise = study.NoiseCoordinator }, "use noise site"},
		"unknown mechanism":   {func(p *study.Plan) { p.Mechanism = "cross" }, "rr em"},
		"no terms":            {func(p *study.Plan) { p.KindTerms = nil }, "which loss"},
		"unknown loss": {func(p *study.Plan) {
			t := conformance.TermsIn[labels.Terms](*p)
			t.Loss = "zero-one"
			p.KindTerms = conformance.EncodeTerms(t)
		}, "barrier-hinge"},
		"unknown risk": {func(p *study.Plan) {
			t := conformance.TermsIn[labels.Terms](*p)
			t.Risk = "f1"
			p.KindTerms = conformance.EncodeTerms(t)
		}, "auc"},
		"unknown correction": {func(p *study.Plan) {
			t := conformance.TermsIn[labels.Terms](*p)
			t.Correction = "up"
			p.KindTerms = conformance.EncodeTerms(t)
		}, "forward"},
		"forward hinge": {func(p *study.Plan) {
			t := conformance.TermsIn[labels.Terms](*p)
			t.Loss, t.Correction = "hinge", "forward"
			p.KindTerms = conformance.EncodeTerms(t)
		}, "logistic, squared or savage"},
		"forward for auc": {func(p *study.Plan) {
			t := conformance.TermsIn[labels.Terms](*p)
			t.Risk, t.Correction = "auc", "forward"
			p.KindTerms = conformance.EncodeTerms(t)
		}, "for risk accuracy"},
		"no records": {func(p *study.Plan) {
			t := conformance.TermsIn[labels.Terms](*p)
			t.MaxRecords = 0
			p.KindTerms = conformance.EncodeTerms(t)
		}, "max_records"},
		"one class": {func(p *study.Plan) { p.Schema.Label.Classes = []string{"only"} }, "schema"},
	} {
		p := conformance.LabelsPlan(schema, pool, m)
		c.change(&p)
		if err := kinds.Check(p); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: have %v, want ErrPlan saying %q", name, err, c.says)
		}
	}
	p := conformance.LabelsPlan(schema, pool, m)
	canonical, _ := p.Canonical()
	back, err := kinds.ParsePlan(canonical)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := back.Canonical(); !bytes.Equal(again, canonical) {
		t.Error("a plan read back has other bytes")
	}
}

// realBody makes a contribution through a ledger whose limit is one study.
func realBody(t *testing.T, p study.Plan, pool *auxdata.Pool, in study.Inputs) ([]byte,
	*privacy.Ledger) {
	t.Helper()
	body, _, ledger := conformance.SettleBody(t, p, pool, in,
		privacy.Config{Limits: map[privacy.Unit]privacy.Budget{privacy.Label: {Epsilon: p.Epsilon}}})
	return body, ledger
}

// TestLabelsKept: bodies are the same in every order of arrival and survive their encoding. Labels
// not released on the plan's terms are refused and change nothing. Nothing is added up.
func TestLabelsKept(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 600)
	p := conformance.LabelsPlan(schema, pool, m)
	parts := append(conformance.Deal(records, 3), records.Select(nil), records.Select(nil))
	var bodies [][]byte
	for i, r := range parts {
		body, _ := realBody(t, p, pool, study.NewInputs(r, []byte{byte(i)}))
		bodies = append(bodies, body)
	}
	fresh := func() *study.Accumulator {
		s, err := study.NewAccumulator(conformance.TaskOf(t, p, pool))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s, err := conformance.TaskOf(t, p, pool).NewSum(); s != nil ||
		!errors.Is(err, study.ErrNoSum) {
		t.Errorf("a sum %v, %v", s, err)
	}
	straight := fresh()
	for _, b := range bodies {
		if most := conformance.TaskOf(t, p, pool).MaxBody(); len(b) > most {
			t.Errorf("a body of %d bytes is above MaxBody %d", len(b), most)
		}
		if err := straight.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := straight.Contributions().MarshalBinary()
	other := fresh()
	for _, i := range []int{4, 1, 3, 0, 2} {
		other.Add(bodies[i])
	}
	if got, _ := other.Contributions().MarshalBinary(); !bytes.Equal(got, want) {
		t.Error("the order of arrival changed the bodies")
	}
	if read, n, err := study.ParseBodies(want); err != nil || n != 5 {
		t.Errorf("%d bodies read back, %v", n, err)
	} else if got, _ := read.MarshalBinary(); !bytes.Equal(got, want) {
		t.Error("bodies changed on their way through bytes")
	}

	another := p
	another.Epsilon = 0.5
	cheaper, _ := realBody(t, another, pool, study.NewInputs(parts[0], []byte("key")))
	simulated := p
	simulated.Simulated = true
	virtual := conformance.Contributions(t, simulated, pool, parts[:1])[0]
	swapped := bytes.Clone(bodies[0])
	swapped[len(swapped)-1] = 6 // zigzag of class 3
	for name, bad := range map[string][]byte{
		"empty": {}, "truncated": bodies[0][:len(bodies[0])-1], "too long": append(bytes.Clone(bodies[0]), 0),
		"of another plan": cheaper, "simulated": virtual, "an unknown class": swapped,
		"too many records": binary.AppendUvarint(nil, 20_001), "long number": {0x80, 0x00}, "no records and more": {0, 1},
		"features only": bodies[0][:2+2*pool.Dim()*parts[0].Len()],
	} {
		if err := straight.Add(bad); !errors.Is(err, study.ErrContribution) {
			t.Errorf("%s: have %v, want ErrContribution", name, err)
		}
	}
	if got, _ := straight.Contributions().MarshalBinary(); !bytes.Equal(got, want) {
		t.Error("a refused contribution changed the bodies")
	}
	result, err := conformance.TaskOf(t, p, pool).Finish(straight.Contributions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := conformance.BodyOf[learned.Result](t, result); r.Records != records.Len() ||
		len(r.Classifier.Weights) != pool.Dim() {
		t.Errorf("%d records, %d weights", r.Records, len(r.Classifier.Weights))
	}
	for _, of := range []study.Contributions{fresh().Contributions(), {Contributions: 5}} {
		if _, err := conformance.TaskOf(t, p, pool).Finish(of, nil); err == nil {
			t.Error("a result of nothing")
		}
	}
}

// TestLabelsSpend: a study spends ε for each label, or half of it under em, and the ledger charges
// what the plan declares.
func TestLabelsSpend(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 400)
	for mechanism, want := range map[string]float64{"rr": 1, "em": 0.5} {
		p := conformance.LabelsPlan(schema, pool, m)
		p.Mechanism = mechanism
		_, ledger := realBody(t, p, pool, study.NewInputs(records, []byte("key")))
		totals, err := ledger.Totals(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got := totals[privacy.Label].Epsilon(0); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s spent %g of a label, want %g", mechanism, got, want)
		}
		if !math.IsInf(totals[privacy.Record].Epsilon(1e-6), 1) {
			t.Error("it claims to hide records")
		}
		charges, err := conformance.TaskOf(t, p, pool).Charges(0)
		if err != nil || len(charges) != 1 {
			t.Fatal(charges, err)
		}
		if declared, _ := charges[0].Cost.Pure.Float64(); math.Abs(declared-want) > 1e-12 {
			t.Errorf("%s declares %g", mechanism, declared)
		}
	}
}

// TestLabelsDependOnNothingElse: for all labels, including none or a single class, a party sends
// the same features in the same order, and the same number of labels of the schema.
func TestLabelsDependOnNothingElse(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 400)
	p := conformance.LabelsPlan(schema, pool, m)
	base := records.Select(conformance.Seq(0, 50))
	var first []byte
	for name, label := range map[string]func(i int) int{
		"true": func(i int) int { return base.Y[i] }, "one class": func(int) int { return 1 },
		"none": func(int) int { return -1 }, "beyond": func(int) int { return 99 }, "sorted": func(i int) int { return i / 25 },
	} {
		r := base.Select(conformance.Seq(0, 50))
		for i := range r.Y {
			r.Y[i] = label(i)
		}
		body, _ := realBody(t, p, pool, study.NewInputs(r, []byte("key")))
		features := body[:1+2*50*pool.Dim()]
		if first == nil {
			first = features
		} else if !bytes.Equal(features, first) {
			t.Errorf("%s: other features or another order", name)
		}
		if err := conformance.TaskOf(t, p, pool).(study.BodyKeeper).Check(body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLabelsOrder: records leave in a permutation that the key decides, cut to the plan's number,
// whatever the order of the file.
func TestLabelsOrder(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 400)
	p := conformance.LabelsPlan(schema, pool, m)
	order := func(r *dataset.Records, key string, most int) []int {
		return keyed.NewRecords(kinds.SelectionRuleOf(p), r, []byte(key)).SendingOrder(most)
	}
	whole := order(records, "a", 1<<20)
	if got := slices.Sorted(slices.Values(whole)); !slices.Equal(got,
		conformance.Seq(0, records.Len())) {
		t.Error("not every record once")
	}
	if slices.IsSorted(whole) {
		t.Error("records leave in the order of the file")
	}
	if !slices.Equal(whole, order(records, "a", 1<<20)) ||
		!slices.Equal(whole[:7], order(records, "a", 7)) {
		t.Error("another order the second time")
	}
	if slices.Equal(whole, order(records, "b", 1<<20)) {
		t.Error("the key does not matter")
	}
	places := conformance.Seq(0, records.Len())
	slices.Reverse(places)
	reversed := records.Select(places)
	if !mat.Equal(records.Select(whole).X, reversed.Select(order(reversed, "a", 1<<20)).X) {
		t.Error("the order of the file shows in the order of sending")
	}
}

// TestProposeLabels: a short proposal becomes a plan that Check accepts.
func TestProposeLabels(t *testing.T) {
	c := public.DefaultHospitalConfig()
	c.Records = 400
	table, schema := public.Hospitals(c)
	made, err := planning.ProposePlan(study.Proposal{Name: "labels", Kind: "labels",
		Roster: []study.PartyID{"a",
			"b"}, Records: 3000, Map: dataset.Components{Project: 10},
		KindTerms: conformance.EncodeTerms(labels.Terms{Loss: "ramp"})}, schema, table)
	if err != nil {
		t.Fatal(err)
	}
	p := made.Plan
	if p.Unit != privacy.Label || p.Mechanism != "rr" || p.Noise != study.NoiseSite ||
		p.Delta != 0 || conformance.TermsIn[labels.Terms](p).Correction != "none" ||
		conformance.TermsIn[labels.Terms](p).MaxRecords != 20_000 {
		t.Errorf("plan %+v", p)
	}
}
