package aggregator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"caucus/aggregation/shares"
	"caucus/aggregator/uploading"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
)

func (w *world) opened(h study.Hash) Signed {
	w.t.Helper()
	acceptance, err := w.servers[0].OpenStudy(context.Background(), h, link{w})
	if err != nil {
		w.t.Fatal(err)
	}
	return acceptance
}

// TestStudy: two servers check and add shares of parties' contributions. The sum of their shares is
// the sum of the vectors, to the integer; both release it with full noise each. No contribution
// stays.
func TestStudy(t *testing.T) {
	for _, classes := range []int{2, 4} {
		t.Run(fmt.Sprint(classes, " classes"), func(t *testing.T) {
			ctx := t.Context()
			task := taskOf(5, classes)
			w, h := newWorld(t, task), task.Hash()
			acceptance := w.opened(h)
			agreed, err := uploading.CheckAcceptance(task, acceptance,
				uploading.Pins{Signing: w.signers[1].Key(),
					Sealing: protocol.SealingPin(w.sealing.Public())}, w.signers[0].Key())
			if err != nil {
				t.Fatal(err)
			}
			var want []int64
			for i, p := range task.Plan().Roster[:4] { // one party does not take part
				v := votes(task, i, false)
				if want == nil {
					want = make([]int64, len(v))
				}
				for j, x := range v {
					want[j] += x
				}
				data := uploadOf(task, p, v, 1, agreed)
				for range 2 { // the same bytes again are no error
					must(0, w.servers[0].Receive(ctx, h, p, data))
				}
				if err := w.servers[0].Receive(ctx, h, p,
					uploadOf(task, p, v, 1, agreed)); !errors.Is(err, ErrConflict) {
					t.Errorf("another upload of the same votes: %v", err)
				}
				if done := must(w.servers[0].Advance(ctx, h, link{w})); done {
					t.Error("a study that is open is released")
				}
			}
			must(0, w.servers[0].CloseStudy(ctx, h, nil))
			if got := w.sum(h); !slices.Equal(got, want) {
				t.Fatalf("the shares add up to %v, want %v", got, want)
			}
			if done := must(w.servers[0].Advance(ctx, h, link{w})); !done {
				t.Error("a closed study is not released")
			}
			o := must(w.servers[0].Released(ctx, h))
			result, err := results.Of(task).Finish(o.Contributions, o.Published[:])
			if err != nil || o.Contributions.Contributions != 4 || o.Contributions.Weight != 4 ||
				result.Body == nil {
				t.Errorf("the release of %d parties gives %v, %v", o.Contributions.Contributions,
					result, err)
			}
			must(0, w.signers[0].Key().Verify(protocol.SetDocument, o.Set.Document,
				o.Set.Signature))
			must(0, w.signers[1].Key().Verify(protocol.SetDocument, o.Set.Document,
				o.HelperSignature))
			for r := range o.Published {
				if w.charges(shares.Role(r)) != 1 || w.heldBy(shares.Role(r), h).sum != nil {
					t.Errorf("the %v has %d charges, or kept its sum", shares.Role(r),
						w.charges(shares.Role(r)))
				}
				must(0, w.servers[r].view(ctx, h, func(tx *transaction) error {
					all, err := tx.contributions("upload IS NOT NULL OR message IS NOT NULL")
					if len(all) > 0 {
						t.Errorf("the %v kept of %s what it sent or was told", shares.Role(r),
							all[0].party)
					}
					return err
				}))
			}
			again := must(w.servers[0].Released(ctx, h))
			if !again.Shares[0].Equal(o.Shares[0]) || !again.Shares[1].Equal(o.Shares[1]) ||
				!must(w.servers[0].Advance(ctx, h, link{w})) {
				t.Error("asked again the release is another")
			}
			if err := w.servers[0].Receive(ctx, h, "p4",
				uploadOf(task, "p4", votes(task, 4, false), 1, agreed)); !errors.Is(err,
				study.ErrNotOpen) {
				t.Errorf("a contribution after the release: %v", err)
			}
		})
	}
}

// TestRecords: contributions made of records, for kinds with negative sums and different weights,
// add up to the sum of a single coordinator.
func TestRecords(t *testing.T) {
	c := public.DefaultHospitalConfig()
	c.Records = 300
	table, schema := public.Hospitals(c)
	records, _ := must2(schema.EncodeLabelled(table))
	for _, of := range []study.Proposal{
		{Kind: "classify", Mechanism: "cross"},
		{Kind: "describe", KindTerms: json.RawMessage(`{"bins":5}`)},
	} {
		t.Run(of.Kind, func(t *testing.T) {
			ctx := t.Context()
			of.Name, of.Unit, of.Epsilon, of.Noise, of.Minimum, of.Records = "s", privacy.Record, 1,
				study.NoiseAggregators, 3, 100
			of.Roster = []study.PartyID{"a", "b", "c"}
			p := must(planning.Complete(of, schema))
			p.Simulated, p.Map = true, dataset.Identity(schema)
			pool := auxdata.NewSimulated(records.X, p.Map)
			must(0, planning.SetPool(&p, pool))
			must(0, kinds.Check(p))
			task := must(results.NewTask(p, pool))
			b, _ := bodies.Of(task)
			w, h := newWorld(t, task), task.Hash()
			w.opened(h)
			want, total := make([]int64, b.Statistic.Cells()), int64(0)
			for i, party := range of.Roster {
				var rows []int
				for row := 0; row < 40*(i+1); row++ {
					rows = append(rows, (row+100*i)%records.Len())
				}
				in := study.NewInputs(records.Select(rows), []byte("key"))
				vector, weight := b.Local(in)
				for j, x := range vector {
					want[j] += x
				}
				total += weight
				must(0, w.servers[0].Receive(ctx, h, party,
					must(uploading.Contribute(task, party, in, w.under(task)))))
			}
			must(0, w.servers[0].CloseStudy(ctx, h, nil))
			w.point = func(r shares.Role, effect string) {
				if effect == "before ledger" && r == shares.Coordinator {
					if got := w.sum(h); !slices.Equal(got, want) {
						t.Errorf("the shares do not add up to the sum")
					}
				}
			}
			if !must(w.servers[0].Advance(ctx, h, link{w})) {
				t.Fatal("it is not released")
			}
			o := must(w.servers[0].Released(ctx, h))
			if o.Contributions.Weight != total || o.Contributions.Contributions != 3 {
				t.Errorf("released of %d records of %d parties, want %d of 3", o.Contributions.Weight, o.Contributions.Contributions, total)
			}
			must(results.Of(task).Finish(o.Contributions, o.Published[:]))
		})
	}
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return a, b
}

// TestTooFew: a set below the minimum fails the study before any charge, and a helper signs no such
// set, whatever the coordinator says.
func TestTooFew(t *testing.T) {
	ctx := t.Context()
	task := taskOf(3, 2)
	w, h := newWorld(t, task), task.Hash()
	w.opened(h)
	must(0, w.servers[0].Receive(ctx, h, "p0",
		uploadOf(task, "p0", votes(task, 0, false), 1, w.under(task))))
	must(w.servers[0].Advance(ctx, h, link{w}))
	mine := must(w.servers[0].setOf(ctx, h, must(recordOf(w.servers[0], h))))
	if _, err := w.servers[1].Seal(ctx, h,
		must(protocol.SignJSON(w.signers[0], protocol.SetDocument, mine))); !errors.Is(err,
		study.ErrTooFew) {
		t.Errorf("the helper signs a set of one: %v", err)
	}
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	if _, err := w.servers[0].Advance(ctx, h, link{w}); !errors.Is(err, study.ErrTooFew) {
		t.Errorf("released of one: %v", err)
	}
	if _, err := w.servers[0].Advance(ctx, h, link{w}); !errors.Is(err, ErrFailed) {
		t.Errorf("asked again: %v", err)
	}
	for r := range w.servers {
		if w.charges(shares.Role(r)) != 0 {
			t.Errorf("the %v was charged", shares.Role(r))
		}
	}
}

func recordOf(s *Server, h study.Hash) (r record, err error) {
	err = s.view(context.Background(), h, func(t *transaction) error {
		r, err = t.record()
		return err
	})
	return r, err
}
