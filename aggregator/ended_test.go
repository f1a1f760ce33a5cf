package aggregator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"caucus/aggregation/shares"
	"caucus/protocol"
	"caucus/study"
)

func (w *world) gathered(task study.Task) (uploads [][]byte) {
	w.t.Helper()
	ctx, h := context.Background(), task.Hash()
	w.opened(h)
	for i, p := range task.Plan().Roster {
		uploads = append(uploads, uploadOf(task, p, votes(task, i, false), 1, w.under(task)))
		must(0, w.servers[0].Receive(ctx, h, p, uploads[i]))
	}
	must(w.servers[0].Advance(ctx, h, link{w}))
	return uploads
}

// TestEnd: a helper whose coordinator ended a study deletes its share of the sum, and then refuses
// every call in that study, under the same acceptance or another. Studies that it released or never
// accepted stay as they are.
func TestEnd(t *testing.T) {
	ctx := t.Context()
	task, released, unknown := taskOf(3, 2), taskOf(4, 2), taskOf(5, 2)
	w := newWorld(t, task, released, unknown)
	h, helper := task.Hash(), w.servers[1]
	w.gathered(task)
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	own := must(recordOf(w.servers[0], h)).Own
	set := must(protocol.SignJSON(w.signers[0], protocol.SetDocument,
		must(w.servers[0].setOf(ctx, h, must(recordOf(w.servers[0], h))))))
	must(helper.Seal(ctx, h, set)) // refused afterwards too
	for range 2 {
		must(0, helper.End(ctx, h))
	}
	if w.heldBy(1, h).sum != nil || must(helper.underWay(ctx, h)) {
		t.Error("the helper keeps its share of the sum, or the plan's place")
	}
	other := rewritten(w.signers[0], protocol.AcceptanceDocument, own, func(m map[string]any) {
		m["commitment"] = strings.Repeat("00", 31) + "01"
	})
	for name, err := range map[string]error{
		"accept":      second(helper.Accept(ctx, h, own)),
		"accept anew": second(helper.Accept(ctx, h, other)),
		"prepare":     second(helper.Prepare(ctx, h, nil)),
		"seal":        second(helper.Seal(ctx, h, set)),
		"share":       second(helper.Share(ctx, h)),
	} {
		if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), endedThere) {
			t.Errorf("%s: %v", name, err)
		}
	}

	w.gathered(released)
	must(0, w.servers[0].CloseStudy(ctx, released.Hash(), nil))
	must(w.servers[0].Advance(ctx, released.Hash(), link{w}))
	share := must(helper.Share(ctx, released.Hash()))
	must(0, helper.End(ctx, released.Hash()))
	if again, err := helper.Share(ctx, released.Hash()); err != nil || !again.Equal(share) {
		t.Errorf("what was released is another share, or %v", err)
	}
	must(0, helper.End(ctx, unknown.Hash()))
	if _, err := recordOf(helper, unknown.Hash()); !errors.Is(err, errNone) {
		t.Errorf("of a study that it never agreed to it keeps a record: %v", err)
	}
	w.opened(unknown.Hash())
	if err := w.servers[0].End(ctx, h); err == nil {
		t.Error("a coordinator is told by a coordinator")
	}
	helper.behind = true
	if err := helper.End(ctx, unknown.Hash()); !errors.Is(err, ErrBehind) {
		t.Errorf("a helper that was put back: %v", err)
	}
	helper.behind = false
}

// TestEndAfterCharge: a helper killed between its ledger and its store is already charged. If the
// study then ends, it stays charged, once, and nothing leaves.
func TestEndAfterCharge(t *testing.T) {
	ctx := t.Context()
	task := taskOf(3, 2)
	w, h := newWorld(t, task), task.Hash()
	w.gathered(task)
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	w.point = func(r shares.Role, effect string) {
		if r == shares.Helper && effect == "after ledger" {
			panic(killed{r})
		}
	}
	if err := w.run(func(c *Server) error {
		_, err := c.Advance(ctx, h, link{w})
		return err
	}); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	w.point = nil
	must(0, w.start(shares.Helper))
	must(0, w.servers[1].End(ctx, h))
	if _, err := w.servers[1].Share(ctx, h); !errors.Is(err, ErrFailed) {
		t.Errorf("its share: %v", err)
	}
	if n := w.charges(shares.Helper); n != 1 {
		t.Errorf("it was charged %d times", n)
	}
}

// TestTell: the coordinator repeats its report of a failed study until the helper answers. It
// reports no other studies, and a restored coordinator reports nothing.
func TestTell(t *testing.T) {
	ctx := t.Context()
	task, goesOn := taskOf(3, 2), taskOf(4, 2)
	w, h := newWorld(t, task, goesOn), task.Hash()
	w.gathered(task)
	w.gathered(goesOn)
	untold := func() string { return fmt.Sprint(must(w.servers[0].UnreportedFailures(ctx))) }
	if err := w.servers[0].ReportFailure(ctx, goesOn.Hash(), link{w}); !errors.Is(err,
		ErrStepOrder) ||
		must(recordOf(w.servers[1], goesOn.Hash())).Failed != "" {
		t.Errorf("of a study that goes on: %v", err)
	}
	must(0, w.servers[0].Cancel(ctx, h, "no need"))
	w.stop(shares.Helper)
	if err := w.servers[0].ReportFailure(ctx, h, link{w}); !errors.Is(err, errCut) {
		t.Errorf("a helper that does not run: %v", err)
	}
	w.stop(shares.Coordinator)
	must(0, w.start(shares.Coordinator))
	must(0, w.start(shares.Helper))
	if have := untold(); have != fmt.Sprint([]study.Hash{h}) {
		t.Errorf("untold are %s", have)
	}
	w.servers[0].behind = true
	if _, err := w.servers[0].UnreportedFailures(ctx); !errors.Is(err, ErrBehind) {
		t.Errorf("a coordinator that was put back: %v", err)
	}
	if err := w.servers[0].ReportFailure(ctx, h, link{w}); !errors.Is(err, ErrBehind) {
		t.Errorf("a coordinator that was put back: %v", err)
	}
	w.servers[0].behind = false
	must(0, w.servers[0].ReportFailure(ctx, h, link{w}))
	if have := untold(); have != "[]" {
		t.Errorf("after it was told untold are %s", have)
	}
	if r := must(recordOf(w.servers[1], h)); r.Failed != endedThere {
		t.Errorf("the helper has it as %q", r.Failed)
	}
	must(w.servers[0].Progress(ctx, h))
	if r := must(recordOf(w.servers[0], h)); r.Failed != "no need" {
		t.Errorf("the coordinator has it as %q", r.Failed)
	}
}

// TestUntoldIndex: the search for unreported failures reads no study that is over and reported.
func TestUntoldIndex(t *testing.T) {
	w := newWorld(t)
	must(0, w.servers[0].view(t.Context(), study.Hash{}, func(tx *transaction) error {
		var id, parent, unused int
		var detail string
		must(0, tx.tx.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN "+untoldQuery).Scan(&id,
			&parent, &unused, &detail))
		if !strings.Contains(detail, "studies_untold") {
			t.Errorf("it is found by: %s", detail)
		}
		return nil
	}))
}

// TestKillEnded: if either server is killed at any effect while a study ends without a release, the
// helper still learns of the failure, deletes its share, and is charged nothing.
func TestKillEnded(t *testing.T) {
	task := taskOf(3, 2)
	h := task.Hash()
	type effect struct {
		role shares.Role
		name string
	}
	play := func(t *testing.T, kill effect) (seen []effect) {
		ctx := t.Context()
		w := newWorld(t, task)
		w.gathered(task)
		died := false
		w.point = func(r shares.Role, name string) {
			at := effect{r, name}
			if seen = append(seen, at); at == kill && !died {
				died = true
				panic(killed{r})
			}
		}
		for tries := 0; ; tries++ {
			must(0, w.start(shares.Coordinator))
			must(0, w.start(shares.Helper))
			err := w.run(func(c *Server) error {
				if err := c.Cancel(ctx, h, "no need"); err != nil && !errors.Is(err, ErrFailed) {
					return err
				}
				for _, h := range must(c.UnreportedFailures(ctx)) {
					if err := c.ReportFailure(ctx, h, link{w}); err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil {
				break
			}
			if !errors.Is(err, errCut) || tries > 2 {
				t.Fatal(err)
			}
		}
		for r := range w.servers {
			if at := must(w.servers[r].Progress(ctx, h)); at.Failed == "" ||
				w.heldBy(roles[r], h).sum != nil || w.charges(roles[r]) != 0 {
				t.Errorf("the %v has it as %q, with %d charges, or keeps its share", roles[r], at.Failed, w.charges(roles[r]))
			}
		}
		if left := must(w.servers[0].UnreportedFailures(ctx)); len(left) > 0 {
			t.Errorf("the coordinator tells the helper on and on")
		}
		return seen
	}
	all := play(t, effect{})
	if len(all) != 9 { // before, after and remembered: failure, end, told
		t.Errorf("the effects are %v", all)
	}
	for _, at := range all {
		t.Run(strings.ReplaceAll(fmt.Sprintf("%v %s", at.role, at.name), " ", "_"),
			func(t *testing.T) {
				play(t, at)
			})
	}
}
