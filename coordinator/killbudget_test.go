package coordinator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"caucus/aggregator/helper"
	"caucus/coordinator/folder"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// budgetOf is a configuration's line with a budget that is exactly a study's cost for a server, or
// a billionth less.
func budgetOf(task study.Task, enough bool) string {
	after := privacy.NewTotals()
	for _, c := range must(task.Charges(0)) {
		after = after.Plus(c.CalibratedCost)
	}
	epsilon := after[privacy.Party].Epsilon(1e-6)
	if !enough {
		epsilon *= 1 - 1e-9
	}
	return fmt.Sprintf("budget: {party: {epsilon: %v, delta: 1e-6}}", epsilon)
}

// ledgerOf verifies a stopped server's ledger and returns its number of charges.
func ledgerOf(dir string) int64 {
	j := must(journal.OpenSQLite(filepath.Join(dir, folder.LedgerFile)))
	n := must(privacy.Verify(context.Background(), j))[privacy.Party].Charges
	must(0, j.Close())
	return n
}

// TestKillBudget: both servers may have a study's contributions while one server's budget is a
// billionth of the study's cost too small, as after an operator lowered it. If the coordinator's is
// too small, the study fails and nobody is charged. If the helper's is too small, the study waits
// until its operator cancels it, and only the coordinator is charged, once. On the way, either
// server is killed by SIGKILL at each of its effects. In the end, the study's place is free and the
// helper has no share of it. With a budget of the same size again, another study of the same cost
// is released, so nothing is promised or charged for the first one. A short run tries a few
// effects.
func TestKillBudget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newSharedWorld(t, 2, func(p *study.Plan) { p.Deadline = time.Now().Add(time.Hour) })
	s := w.opened()
	all := w.uploads(s)
	w.stopHelper() // so that no contribution is checked yet
	w.contributed(s, all)
	next := w.plan
	next.Name = "next"
	next = withTerms(next, w.pool)
	must(w.operator.CreateStudy(ctx, must(next.Canonical()), nil))
	operator := must(protocol.LoadIdentity(filepath.Join(w.config.Dir, folder.OperatorFile)))
	w.stop()
	enough, few := budgetOf(w.task, true), budgetOf(w.task, false)

	carry := func(
		t *testing.T, few, at, killCoordinator, killHelper string,
	) (effects, helpers []string) {
		killed := fmt.Sprintf("killed at %q, the helper at %q", killCoordinator, killHelper)
		dir, second := w.copied(t)
		config := filepath.Join(dir, folder.ConfigFile)
		if at == "helper" {
			config = filepath.Join(second, helper.ConfigFile)
		}
		settle(t, config, "budget: none", few)
		ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
		defer stop()
		h := keepHelper(t, second, killHelper)
		c := startChild(t, dir, killCoordinator)
		// attempt makes a call until it succeeds, and starts a killed coordinator again.
		attempt := func(call func(*admin.Client) error) {
			for {
				client := must(admin.Dial(operator, protocol.DialOptions{
					Coordinator: c.address, Timeout: 5 * time.Second,
				}))
				err := call(client)
				client.Close()
				switch {
				case err == nil:
					return
				case !protocol.IsRetryable(err) || ctx.Err() != nil:
					t.Fatalf("%s: %v", killed, err)
				case c.dead():
					effects = append(effects, c.end()...)
					c = startChild(t, dir, "")
				}
			}
		}
		// until waits until a study has a given state.
		until := func(name string, is func(protocol.Study) bool) {
			var now protocol.Study
			for ; !is(now); time.Sleep(10 * time.Millisecond) {
				attempt(func(o *admin.Client) (err error) {
					_, err = o.WaiveAwaited(ctx, "trial") // the parties make no calls in this test
					if err == nil || errors.Is(err, protocol.ErrInvalid) {
						now, err = o.Study(ctx, name)
					}
					return err
				})
			}
		}
		failed := func(s protocol.Study) bool { return s.State == study.Failed }
		if at == "helper" {
			until("trial", func(s protocol.Study) bool {
				return strings.Contains(s.Reason, "budget")
			})
			attempt(func(o *admin.Client) error {
				_, err := o.CancelStudy(ctx, "trial", "")
				if errors.Is(err, study.ErrNotOpen) { // the kill came after the cancellation
					return nil
				}
				return err
			})
		}
		until("trial", failed)
		places := func() int {
			return len(must(helper.Studies(ctx, must(helper.LoadConfig(second)))))
		}
		for ; places() > 0; time.Sleep(20 * time.Millisecond) {
			attempt(func(o *admin.Client) error { _, err := o.Study(ctx, "trial"); return err })
		}
		must(0, c.cmd.Process.Signal(syscall.SIGTERM))
		effects = append(effects, c.end()...)
		helpers, _ = h.end()
		want := map[string][2]int64{"helper": {1, 0}}[at]
		if got := [2]int64{ledgerOf(dir), ledgerOf(second)}; got != want {
			t.Errorf("%s: the two servers have %v charges, want %v", killed, got, want)
		}

		// The budget allows one study. The next one opens, so nothing is promised for the first.
		settle(t, config, few, "budget: none")
		settle(t, filepath.Join(second, helper.ConfigFile), "budget: none", enough)
		h = keepHelper(t, second, "")
		defer h.end()
		c = startChild(t, dir, "")
		attempt(func(o *admin.Client) error { _, err := o.Open(ctx, "next"); return err })
		if n := places(); n != 1 {
			t.Errorf("%s: %d studies take a place", killed, n)
		}
		must(0, c.cmd.Process.Signal(syscall.SIGTERM))
		c.end()
		return effects, helpers
	}
	for _, at := range []string{"coordinator", "helper"} {
		t.Run("of the "+at, func(t *testing.T) {
			t.Parallel()
			effects, helpers := carry(t, few, at, "", "")
			drawn := map[string]string{"coordinator": "after set stored#1",
				"helper": "after ledger#1"}[at]
			for _, e := range []string{drawn, "after failure stored#1", "after told stored#1"} {
				if !slices.Contains(effects, e) {
					t.Errorf("effect %q is not among %q", e, effects)
				}
			}
			for _, e := range []string{
				"after preparation stored#1", "after set stored#1", "after end stored#1",
			} {
				if !slices.Contains(helpers, e) {
					t.Errorf("the helper's effect %q is not among %q", e, helpers)
				}
			}
			for _, e := range testlevel.Of(t, effects, some(2)) {
				carry(t, few, at, e, "")
			}
			for _, e := range testlevel.Of(t, helpers, some(1)) {
				carry(t, few, at, "", e)
			}
		})
	}
}
