package aggregator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"caucus/aggregation/shares"
	"caucus/aggregator/uploading"
	"caucus/internal/testlevel"
	"caucus/study"
	"caucus/study/kinds/results"
)

// life carries a study from opening to release although processes die: it repeats each step until
// the step succeeds.
func (w *world) life(h study.Hash, uploads func(int, study.PartyID) []byte) {
	w.t.Helper()
	ctx := context.Background()
	try := func(what string, step func(c *Server) error) {
		w.t.Helper()
		for range 20 {
			must(0, w.start(shares.Coordinator))
			must(0, w.start(shares.Helper))
			err := w.run(step)
			if err == nil {
				return
			}
			if !errors.Is(err, errCut) {
				w.t.Fatalf("%s: %v", what, err)
			}
		}
		w.t.Fatalf("%s: it is never done", what)
	}
	try("open", func(c *Server) error { _, err := c.OpenStudy(ctx, h, link{w}); return err })
	for i, p := range w.tasks[h].Plan().Roster {
		upload := uploads(i, p)
		if upload == nil {
			continue
		}
		try("contribute", func(c *Server) error { return c.Receive(ctx, h, p, upload) })
		if i%2 == 1 { // two are checked together, then the rest
			try("check", func(c *Server) error { _, err := c.Advance(ctx, h, link{w}); return err })
		}
	}
	try("close", func(c *Server) error { return c.CloseStudy(ctx, h, nil) })
	try("release", func(c *Server) error {
		done, err := c.Advance(ctx, h, link{w})
		if err == nil && !done {
			err = errors.New("a closed study is not released")
		}
		return err
	})
	must(0, w.start(shares.Coordinator))
	must(0, w.start(shares.Helper))
}

// sumsAt checks, whenever a server is about to ask its ledger, that both shares add up to the
// parties' sum.
func (w *world) sumsAt(role shares.Role, effect string, h study.Hash, want []int64) {
	if effect != "before ledger" || w.servers[1-role] == nil {
		return
	}
	if w.heldBy(0, h).sum == nil || w.heldBy(1, h).sum == nil {
		return // a server that released has deleted its share
	}
	if got := w.sum(h); !slices.Equal(got, want) {
		w.t.Errorf("the %v is about to release a sum of %v, want %v", role, got, want)
	}
}

// TestKill: if either server is killed once, at any effect, the study ends with one release of
// each, of the sum of every contribution, counted once; and no server ever gives two different
// answers.
func TestKill(t *testing.T) {
	task := taskOf(4, 2)
	h := task.Hash()
	sum := func(parties int) []int64 {
		out := make([]int64, task.Pool().Rows())
		for i := range parties {
			out[i]++
		}
		return out
	}
	type effect struct {
		role shares.Role
		name string
	}
	play := func(t *testing.T, kill effect, nth int) (seen map[effect]int) {
		w := newWorld(t, task)
		uploads := func(i int, p study.PartyID) []byte {
			if i < 3 {
				return uploadOf(task, p, votes(task, i, false), 1, w.under(task))
			}
			// Both servers refuse a cheating party, and the others count.
			cheat := votes(task, 3, false)
			cheat[0] = 1
			upload := uploadOf(task, p, cheat, 1, w.under(task))
			upload[9+100] ^= 1
			return upload
		}
		seen = map[effect]int{}
		w.point = func(r shares.Role, name string) {
			w.sumsAt(r, name, h, sum(3))
			at := effect{r, name}
			if seen[at]++; at == kill && seen[at] == nth {
				panic(killed{r})
			}
		}
		w.life(h, uploads)
		o := must(w.servers[0].Released(t.Context(), h))
		if o.Contributions.Contributions != 3 {
			t.Errorf("%d contributions are in the release, want 3", o.Contributions.Contributions)
		}
		must(results.Of(task).Finish(o.Contributions, o.Published[:]))
		for r := range w.servers {
			if n := w.charges(shares.Role(r)); n != 1 {
				t.Errorf("the ledger of the %v has %d entries", shares.Role(r), n)
			}
		}
		return seen
	}
	all := play(t, effect{}, 0)
	if len(all) < 25 {
		t.Errorf("only %d effects: %v", len(all), all)
	}
	most := testlevel.N(t, 1, 1000) // moments per effect
	for at, times := range all {
		for n := 1; n <= min(times, most); n++ {
			t.Run(strings.ReplaceAll(fmt.Sprintf("%v %s %d", at.role, at.name, n), " ", "_"),
				func(t *testing.T) {
					play(t, at, n)
				})
		}
	}
}

// TestSchedules: random orders of the actions of parties, operator and processes, with kills and
// restores of either server's store, ledger, or both, break no rule: no server gives two different
// answers; a server restored to a state before one of its answers says nothing; a released sum
// counts every contribution that both accepted, once.
func TestSchedules(t *testing.T) {
	schedules := testlevel.N(t, 25, 400)
	task := taskOf(3, 2)
	ends := map[string]int{}
	for seed := range schedules {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { ends[schedule(t, task, uint64(seed))]++ })
	}
	if ends["released"] == 0 || ends["behind"] == 0 || ends["open"] == 0 {
		t.Errorf("the schedules ended so: %v; some rule was never tried", ends)
	}
	t.Logf("ended: %v", ends)
}

// schedule plays one random schedule and returns how it ended.
func schedule(t *testing.T, task study.Task, seed uint64) string {
	ctx, rng, h := t.Context(), rand.New(rand.NewPCG(seed, 3)), task.Hash()
	w := newWorld(t, task)
	var log []string
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(log, "\n"))
		}
	}()
	var backups [2]map[string][]byte
	var stale [2]bool // the files lack something that left
	kill, nth := "", 0
	marks := func(r shares.Role) mark { return must(readMark(w.head(int(r)))) }
	w.point = func(r shares.Role, effect string) {
		if fmt.Sprint(r, " ", effect) == kill {
			if nth--; nth == 0 {
				kill = ""
				panic(killed{r})
			}
		}
	}
	var under uploading.Agreement
	uploads := map[study.PartyID][]byte{}
	effects := []string{"before acceptance stored", "after acceptance stored",
		"remembered acceptance stored", "before key stored", "after key stored",
		"before preparation stored", "after preparation stored", "after upload stored",
		"after message stored", "before verdict stored", "after verdict stored", "after set stored",
		"after helper's set stored", "before ledger", "after ledger", "before share stored",
		"after share stored", "after failure stored", "before end stored", "after end stored",
		"after told stored"}
	for range 30 + rng.IntN(30) {
		var err error
		what := ""
		switch rng.IntN(13) {
		case 0, 1:
			what = "open"
			err = w.run(func(c *Server) error {
				accepted, err := c.OpenStudy(ctx, h, link{w})
				if err == nil {
					under = uploading.Agreement{Sealing: w.sealing.Public(),
						Acceptance: accepted.Digest()}
				}
				return err
			})
		case 2, 3, 4:
			i := rng.IntN(3)
			p := task.Plan().Roster[i]
			// a party makes one upload, and sends it again and again
			if uploads[p] == nil && under.Sealing != nil {
				uploads[p] = uploadOf(task, p, votes(task, i, false), 1, under)
			}
			what = "contribute " + string(p)
			err = w.run(func(c *Server) error { return c.Receive(ctx, h, p, uploads[p]) })
		case 5, 6, 7:
			what = "advance"
			err = w.run(func(c *Server) error { _, err := c.Advance(ctx, h, link{w}); return err })
		case 8:
			if what = "close"; rng.IntN(3) > 0 {
				continue
			}
			err = w.run(func(c *Server) error { return c.CloseStudy(ctx, h, nil) })
		case 9:
			kill, nth = fmt.Sprint(shares.Role(rng.IntN(2)), " ",
				effects[rng.IntN(len(effects))]), 1+rng.IntN(2)
			what = "kill at " + kill
		case 10:
			r := shares.Role(rng.IntN(2))
			if what = fmt.Sprint("restart ", r); w.servers[r] == nil {
				must(0, w.start(r))
			}
		case 11:
			r := shares.Role(rng.IntN(2))
			if backups[r] == nil || rng.IntN(3) == 0 {
				if !stale[r] {
					backups[r] = w.copyOf(r)
				}
				continue
			}
			names := [][]string{{"shares.db"}, {"ledger.db"},
				{"shares.db", "ledger.db"}}[rng.IntN(3)]
			what = fmt.Sprint("restore ", r, names)
			w.back(r, backups[r], names...)
			must(0, w.start(r))
			if stale[r] = w.servers[r].behind; stale[r] != behindOf(t, w, r, marks(r)) {
				t.Errorf("the %v is behind: %v, its files say otherwise", r, stale[r])
			}
		case 12:
			switch rng.IntN(20) {
			case 0:
				what = "cancel"
				err = w.run(func(c *Server) error { return c.Cancel(ctx, h, "no need") })
			case 1: // a lying coordinator says this about any study
				what = "end"
				err = link{w}.End(ctx, h)
			default:
				what = "tell"
				err = w.run(func(c *Server) error {
					all, err := c.UnreportedFailures(ctx)
					for _, h := range all {
						err = errors.Join(err, c.ReportFailure(ctx, h, link{w}))
					}
					return err
				})
			}
		}
		log = append(log, fmt.Sprintf("%s: %v", what, err))
		if t.Failed() {
			return "failed"
		}
	}
	kill = ""
	for r := range w.servers {
		must(0, w.start(shares.Role(r)))
	}
	err := w.run(func(c *Server) error { _, err := c.Advance(ctx, h, link{w}); return err })
	switch {
	case stale[0] || stale[1]:
		if _, err := w.servers[0].Released(ctx, h); stale[0] && !errors.Is(err, ErrBehind) {
			t.Errorf("a coordinator that was put back: %v", err)
		}
		if _, err := w.servers[1].Share(ctx, h); stale[1] && !errors.Is(err, ErrBehind) {
			t.Errorf("a helper that was put back: %v", err)
		}
		return "behind"
	case err != nil && !errors.Is(err, ErrStepOrder) && !errors.Is(err, study.ErrTooFew) &&
		!errors.Is(err, ErrFailed):
		t.Errorf("both servers run, and the study does not go on: %v", err)
	}
	o, err := w.servers[0].Released(ctx, h)
	if err != nil {
		return "open"
	}
	must(results.Of(task).Finish(o.Contributions, o.Published[:]))
	for r := range w.servers {
		if n := w.charges(shares.Role(r)); n != 1 {
			t.Errorf("the ledger of the %v has %d entries", shares.Role(r), n)
		}
	}
	return "released"
}

// behindOf says whether a server's files are behind its head file.
func behindOf(t *testing.T, w *world, r shares.Role, m mark) bool {
	var steps int64
	must(0, w.servers[r].view(t.Context(), study.Hash{}, func(tx *transaction) (err error) {
		steps, err = tx.steps()
		return err
	}))
	return steps < m.steps || w.charges(r) < m.entry
}
