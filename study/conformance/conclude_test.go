package conformance_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/life"
)

// lastBits bounds how far another processor's numbers differ: a mapped feature is a sum of a few
// hundred products, each below 1.
const lastBits = 1e-14

// elsewhere returns the pool as another processor might compute it from the same bytes: each number
// differs by at most by.
func elsewhere(pool *auxdata.Pool, by float64) *auxdata.Pool {
	other := *pool
	rng := rand.New(rand.NewPCG(1, 2))
	off := func(x *mat.Dense) *mat.Dense {
		y := mat.DenseCopyOf(x)
		y.Apply(func(_, _ int, v float64) float64 { return v + by*(2*rng.Float64()-1) }, x)
		return y
	}
	other.Encoded, other.X = off(pool.Encoded), off(pool.X)
	return &other
}

// TestSummedIsATerm: a ledger that answered for a set of contributions refuses to answer for
// another set of the same study, by any mechanism, or for another matrix. It draws nothing and
// charges nothing more.
func TestSummedIsATerm(t *testing.T) {
	ctx := context.Background()
	schema, pool, m, records := conformance.Hospital(t, 400)
	_, _, wardPool, wardRecords := conformance.HospitalWithPool(t, 400)
	weigh := conformance.ReweighPlan(schema, wardPool)
	weigh.Noise = study.NoiseCoordinator
	of := func(change func(*study.Plan)) study.Plan {
		p := conformance.ClassifyPlan(schema, pool, m)
		change(&p)
		return p
	}
	for name, p := range map[string]study.Plan{
		"tally":  of(func(*study.Plan) {}),
		"moment": of(func(p *study.Plan) { p.Mechanism, p.Delta = "moment", 0 }),
		"output": of(func(p *study.Plan) { p.Mechanism, p.Delta = "output", 0 }),
		"means":  of(func(p *study.Plan) { p.Mechanism = "means" }),
		"cross":  of(func(p *study.Plan) { p.Mechanism, p.Unit = "cross", privacy.Record }),
		"weigh":  weigh,
	} {
		with, from := pool, records
		if p.Kind == "reweigh" {
			with, from = wardPool, wardRecords
		}
		s, sum := conformance.RunUntilSummed(t, p, with, from)
		p := s.Plan
		j := privacy.NewMemoryJournal()
		l, err := privacy.Open(j, privacy.Config{})
		if err != nil {
			t.Fatal(err)
		}
		first, err := life.Conclude(ctx, s, conformance.TaskOf(t, p, with), sum, l)
		if err != nil {
			t.Fatal(err)
		}
		refused := func(what string, change func(map[study.PartyID]study.BodyDigest)) {
			other := life.Restore(s.Plan, s.Hash,
				life.Snapshot{State: study.Summed, Received: maps.Clone(s.Received)})
			change(other.Received)
			if _, err := life.Conclude(ctx, other, conformance.TaskOf(t, p, with), sum,
				l); !errors.Is(err, privacy.ErrConflict) {
				t.Errorf("%s: %s: %v, want ErrConflict", name, what, err)
			}
		}
		refused("a party less", func(r map[study.PartyID]study.BodyDigest) { delete(r, "a") })
		refused("a party more", func(r map[study.PartyID]study.BodyDigest) {
			r["c"] = study.BodyDigest{1}
		})
		refused("another party", func(r map[study.PartyID]study.BodyDigest) {
			r["c"] = r["a"]
			delete(r, "a")
		})
		refused("other bytes", func(r map[study.PartyID]study.BodyDigest) {
			d := r["a"]
			d[0]++
			r["a"] = d
		})
		refused("bytes exchanged", func(r map[study.PartyID]study.BodyDigest) {
			r["a"], r["b"] = r["b"], r["a"]
		})
		if p.Mechanism == "moment" { // a coordinator that restarts on another processor
			other := elsewhere(with, 1e-3) // numbers are rounded: last bits seldom change them
			there, err := conformance.TaskOf(t, p, other).NewSum()
			if err != nil {
				t.Fatal(err)
			}
			b, err := sum.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if err := there.UnmarshalBinary(b); err != nil {
				t.Fatal(err)
			}
			if _, err := life.Conclude(ctx, s, conformance.TaskOf(t, p, other),
				study.Contributions{Sum: there}, l); !errors.Is(err, privacy.ErrConflict) {
				t.Errorf("another matrix: %v, want ErrConflict", err)
			}
			here, err := study.TermsDigest(conformance.TaskOf(t, p, with))
			if err != nil {
				t.Fatal(err)
			}
			if they, err := study.TermsDigest(conformance.TaskOf(t, p, other)); err != nil ||
				they == here {
				t.Errorf("another matrix has the same terms: %v", err)
			}
		}
		again, err := life.Conclude(ctx, s, conformance.TaskOf(t, p, with), sum, l)
		if err != nil || !reflect.DeepEqual(again.Published, first.Published) {
			t.Errorf("%s: asked again it differs: %v", name, err)
		}
		totals, err := privacy.Verify(ctx, j)
		if err != nil || totals[p.Unit].Charges != 1 {
			t.Errorf("%s: %d charges, want 1 (%v)", name, totals[p.Unit].Charges, err)
		}
		if first.Costs[0].Output != map[string]string{"weigh": "entropy"}[name] &&
			first.Costs[0].Output != name {
			t.Errorf("%s: the output is called %q: a name is a constant", name, first.Costs[0].Output)
		}
	}
}
