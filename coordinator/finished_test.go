package coordinator

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"caucus/internal/testlevel"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
	"caucus/study/life"
)

// TestFinishedStudiesLeaveMemory: for a study that is over, memory keeps only what lists show,
// however large the plan is. This holds after somebody asked for the study, and after a restart.
func TestFinishedStudiesLeaveMemory(t *testing.T) {
	// A plan in memory takes several times its bytes; buffers come and go.
	const planBytes, kept = 100_000, 200_000
	studies := testlevel.N(t, 10, 16)
	if raced {
		t.Skip("the race detector takes memory of its own")
	}
	ctx := context.Background()
	w := newWorld(t, nil)
	pool := poolOf(100)
	for _, p := range names(2) {
		w.enrol(string(p))
	}
	large := func(i int) life.Study {
		p := planOf(names(2), pool, w.clock.Now().Add(time.Hour))
		p.Name = fmt.Sprint("large", i)
		p.Schema.Label.Aliases = map[string]string{}
		for k := range planBytes / 20 {
			p.Schema.Label.Aliases[fmt.Sprintf("alias-%d-%06d", i, k)] = p.Schema.Label.Classes[0]
		}
		return life.Study{Plan: p, Hash: w.open(p, pool).Hash}
	}
	finish := func(i int) {
		s := large(i)
		must(w.operator.CancelStudy(ctx, s.Plan.Name, "enough"))
	}
	finish(0) // now connections and statements exist
	before := heap()
	for i := range studies {
		finish(1 + i)
	}
	look := func(when string) {
		t.Helper()
		grown := heap() - before
		for end := time.Now().Add(10 * time.Second); grown > int64(studies*kept) &&
			time.Now().Before(end); {
			time.Sleep(20 * time.Millisecond) // buffers of answers are still in use
			grown = heap() - before
		}
		t.Logf("%s: %d bytes a study", when, grown/int64(studies))
		if grown > int64(studies*kept) {
			t.Errorf("%s: %d bytes of each of %d studies, whose plans have %d, stay in memory", when, grown/int64(studies), studies, planBytes)
		}
		for _, c := range w.server.registry.all() {
			c.mu.Lock()
			if c.machine != nil || c.row.Plan != nil || c.roster != nil || c.kept != nil {
				t.Errorf("%s: of %s more stays than its summary", when, c.name)
			}
			c.mu.Unlock()
		}
	}
	look("finished")
	must(w.parties["p0"].Studies(ctx))
	for i := range studies {
		if s := must(w.operator.Study(ctx, fmt.Sprint("large", i))); len(s.PlanBytes) < planBytes ||
			s.State != study.Failed {
			t.Errorf("study %d is %s with a plan of %d bytes", i, s.State, len(s.PlanBytes))
		}
	}
	look("asked for")
	w.stop()
	w.start()
	must(w.parties["p0"].Studies(ctx))
	look("after a restart")
}

// TestFinishedStudiesAreListed: a study that is over is shown in the same way before and after a
// restart, from memory and when just read from the store.
func TestFinishedStudiesAreListed(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	s := w.small(3)
	for i := range 2 {
		must(w.parties[fmt.Sprint("p", i)].Contribute(ctx, s.Hash, ballotFor(i, 3)))
	}
	w.clock.add(2 * time.Hour)
	w.wait("trial", study.Released)
	w.enrol("stranger")
	check := func(when string) {
		t.Helper()
		c := w.server.registry.byHash(s.Hash)
		for name, client := range map[string]*admin.Client{"p0": w.parties["p0"],
			"p2": w.parties["p2"], "stranger": w.parties["stranger"], "operator": w.operator} {
			caller := protocol.Caller{Name: name, Role: protocol.RoleParty}
			if name == "operator" {
				caller.Role = protocol.RoleOperator
			}
			var want []protocol.Summary
			c.mu.Lock()
			must(0, c.load(ctx))
			if visible(c, c.machine, caller) {
				m := c.machine
				want = []protocol.Summary{{Hash: s.Hash, Name: "trial", Kind: "classify",
					State: m.State, Deadline: m.Plan.Deadline, Roster: 3, Contributed: 2,
					Minimum: 2, CallerContributed: name == "p0"}}
			}
			c.settle()
			c.mu.Unlock()
			if (len(want) == 0) != (name == "stranger") {
				t.Errorf("%s: %s sees %d studies", when, name, len(want))
			}
			if got := must(client.Studies(ctx)).Studies; len(got) != len(want) || len(got) > 0 &&
				!reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s is told %+v, want %+v", when, name, got, want)
			}
		}
		if r := must(w.parties["p0"].Release(ctx, "trial")); len(r.Document) == 0 {
			t.Errorf("%s: the release is empty", when)
		}
	}
	check("released")
	w.stop()
	w.start()
	check("after a restart")
}

// TestFinishedStudiesShareRosters: if many studies have the same 10,000 parties, each takes a few
// kilobytes once it is over, and still knows exactly the names of its roster.
func TestFinishedStudiesShareRosters(t *testing.T) {
	const studies, parties, kept = 50, 10_000, 4_000
	if raced {
		t.Skip("the race detector takes memory of its own")
	}
	pool := poolOf(10)
	var all []*finished
	finish := func() {
		p := planOf(names(parties), pool, time.Now())
		received := map[study.PartyID]study.BodyDigest{}
		for _, name := range p.Roster[:parties-3] {
			received[name] = study.BodyDigest{}
		}
		m := life.Restore(p, study.Hash{}, life.Snapshot{State: study.Released, Received: received})
		all = append(all, new(runningStudy).finish(m))
	}
	finish()
	before := heap()
	for range studies {
		finish()
	}
	if grown := heap() - before; grown > studies*kept {
		t.Errorf("each takes %d bytes", grown/studies)
	}
	for _, f := range all[:1] {
		for i, name := range names(parties + 3) {
			s := f.of(protocol.Caller{Name: string(name), Role: protocol.RoleParty})
			if (s != nil) != (i < parties) || s != nil && s.Mine != (i < parties-3) {
				t.Fatalf("%s is told %v", name, s)
			}
		}
	}
}

// TestAmong: a name is found among lines only if it is a whole line.
func TestAmong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.Map(rapid.StringMatching("[a-c._-]{1,3}"), func(s string) study.PartyID {
			return study.PartyID(s)
		})
		all, one := rapid.SliceOf(name).Draw(t, "all"), name.Draw(t, "one")
		if got, want := among(lines(all), string(one)), slices.Contains(all, one); got != want {
			t.Errorf("%t, want %t", got, want)
		}
	})
}
