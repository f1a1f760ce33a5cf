package coordinator

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"caucus/coordinator/folder"
	"caucus/study"
)

// TestWatched: metrics describe the coordinator's health while a study runs, and name neither
// parties nor studies. A damaged file, a restored ledger and a clock that jumped end readiness. The
// process still counts as alive.
func TestWatched(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) { c.Metrics = "127.0.0.1:0" })
	defer http.DefaultClient.CloseIdleConnections()
	get := func(path, host string) (int, string) {
		t.Helper()
		request := must(http.NewRequest("GET", "http://"+w.server.watcher.MetricsAt().String()+path,
			nil))
		request.Host = host
		reply := must(http.DefaultClient.Do(request))
		defer reply.Body.Close()
		return reply.StatusCode, string(must(io.ReadAll(reply.Body)))
	}
	roster, pool := names(3), poolOf(40)
	for _, p := range roster {
		w.enrol(string(p))
	}
	s := w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 40)))
	_, err := w.parties["p1"].Contribute(ctx, s.Hash, []byte("no ballot"))
	if err == nil {
		t.Fatal("a body that is none is taken")
	}
	code, metrics := get("/metrics", "localhost")
	for _, want := range []string{
		`caucus_studies{state="open"} 1`, `caucus_studies{state="failed"} 0`, "caucus_contributions_awaited 2",
		`caucus_members{role="party",status="enrolled"} 3`, `caucus_members{role="party",status="invited"} 0`,
		`caucus_refusals_total{reason="CONTRIBUTION"} 1`, "caucus_next_deadline_seconds 3", "caucus_ledger_behind 0", "caucus_clock_doubted 0",
		"caucus_commit_seconds_count 1", "caucus_disk_free_bytes ", "go_goroutines ", "process_resident_memory_bytes ", `caucus_certificate_expiry_seconds{whose="member"}`, "caucus_standing_unknown 0",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("%d: metrics do not say %q:\n%s", code, want, metrics)
		}
	}
	for _, name := range []string{"trial", "p0", "p1", "p2", s.Hash.String()[:8]} {
		if strings.Contains(metrics, fmt.Sprintf("%q", name)) {
			t.Errorf("metrics name %s", name)
		}
	}
	if problems := must(testutil.GatherAndLint(w.server.counts.Registry)); len(problems) > 0 {
		t.Errorf("the names of metrics: %v", problems)
	}
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200} {
		if code, says := get(path, "127.0.0.1:1"); code != want {
			t.Errorf("%s: %d %s", path, code, says)
		}
	}
	// A foreign page whose name resolves to this machine gets nothing.
	if code, _ := get("/metrics", "attacker.example"); code != http.StatusForbidden {
		t.Errorf("metrics under another name: %d", code)
	}

	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 40)))
	must(w.parties["p2"].Contribute(ctx, s.Hash, ballotFor(2, 40)))
	w.wait("trial", study.Released)

	// A disk counts as full if a contribution might not fit.
	troubles := map[string]func() (undo func()){
		"disk is nearly full": func() func() {
			body := &w.server.config.Limits.Body
			was := *body
			*body = math.MaxInt
			return func() { *body = was }
		},
		"damaged": func() func() { w.server.unwell.Store(true); return func() { w.server.unwell.Store(false) } },
		"ledger":  func() func() { r := &w.server.scheduler.releaser; r.lost = true; return func() { r.lost = false } },
		"clock": func() func() {
			watch := w.server.registry.watch
			watch.mu.Lock()
			at := watch.at
			watch.at = at.Add(-24 * time.Hour)
			watch.mu.Unlock()
			return func() { watch.vouch() }
		},
	}
	for what, trouble := range troubles {
		undo := trouble()
		code, says := get("/readyz", "localhost")
		if code != http.StatusServiceUnavailable || !strings.Contains(says, what) {
			t.Errorf("%s: %d %s", what, code, says)
		}
		if code, _ := get("/livez", "localhost"); code != 200 {
			t.Errorf("%s: not alive", what)
		}
		undo()
		if code, says := get("/readyz", "localhost"); code != 200 {
			t.Errorf("%s is over: %d %s", what, code, says)
		}
	}
	// No cause hides another.
	for _, trouble := range troubles {
		defer trouble()()
	}
	_, says := get("/readyz", "localhost")
	for what := range troubles {
		if !strings.Contains(says, what) || strings.Count(says, "\n") != len(troubles) {
			t.Errorf("with all of them, %s: %s", what, says)
		}
	}
}
