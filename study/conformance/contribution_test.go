package conformance_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/conformance"
)

// BenchmarkContribution: a contribution of 10,000 records in 785 mapped columns (784 pixels and the
// intercept) with a pool as large. It times making the task, contributing, and both with all other
// steps of an agent, from the terms to the body. Noise is at the site if the mechanism allows.
func BenchmarkContribution(b *testing.B) {
	const rows, columns = 10_000, 784
	rng := rand.New(rand.NewPCG(1, 2))
	schema := dataset.Schema{Label: dataset.Label{Column: "label", Classes: []string{"no", "yes"}}}
	for j := range columns {
		schema.Features = append(schema.Features,
			dataset.Feature{Column: fmt.Sprint("f", j), Kind: dataset.Numeric, Max: 1})
	}
	random := func() *mat.Dense {
		x := mat.NewDense(rows, columns, nil)
		for i := range x.RawMatrix().Data {
			x.RawMatrix().Data[i] = rng.Float64()
		}
		return x
	}
	records := &dataset.Records{X: random(), Y: make([]int, rows)}
	for i := range records.Y {
		records.Y[i] = rng.IntN(2)
	}
	identity := dataset.Identity(schema)
	pool := auxdata.NewSimulated(random(), identity)
	for _, mechanism := range []string{"tally", "moment", "cross"} {
		p := study.Plan{
			Name: "large", Kind: "classify", Schema: schema, Map: identity, Pool: pool.Digest, Roster: []study.PartyID{"a"},
			Records: rows, Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Mechanism: mechanism, Noise: study.NoiseSite,
			KindTerms: conformance.EncodeTerms(classify.Terms{Shards: 1}), Minimum: 1,
		}
		if mechanism == "moment" {
			p.Delta = 0
		}
		var err error
		if p.TermsDigest, err = study.TermsDigest(conformance.TaskOf(b, p, pool)); err != nil {
			b.Fatal(err)
		}
		in := study.NewInputs(records, []byte{1})
		b.Run(mechanism+"/task", func(b *testing.B) {
			for b.Loop() {
				conformance.TaskOf(b, p, pool)
			}
		})
		b.Run(mechanism+"/contribute", func(b *testing.B) {
			task := conformance.TaskOf(b, p, pool)
			for b.Loop() {
				if _, err := task.Contribute(in); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(mechanism+"/agent", func(b *testing.B) {
			for b.Loop() {
				asAgent(b, p, pool, in)
			}
		})
	}
}

// asAgent makes a contribution's body in an agent's steps: agent.charge, agent.prepareNext.
func asAgent(b *testing.B, p study.Plan, pool *auxdata.Pool, in study.Inputs) []byte {
	ctx := context.Background()
	ledger, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
	must(b, err)
	task := conformance.TaskOf(b, p, pool)
	must(b, study.CheckTerms(task))
	reserved, err := task.Reservations(in.Records.Len())
	must(b, err)
	charges, err := task.Charges(0)
	must(b, err)
	_, err = task.Work(in.Records.Len())
	must(b, err)
	must(b, study.Reserve(ctx, ledger, task.Hash(), reserved, charges))
	made, err := task.Contribute(in)
	must(b, err)
	released, err := study.ReleaseRequests(ctx, ledger, task.Hash(), made.Requests)
	must(b, err)
	body, err := made.Body(released)
	must(b, err)
	if len(body) > task.MaxBody() {
		b.Fatalf("%d bytes, at most %d", len(body), task.MaxBody())
	}
	return body
}

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
