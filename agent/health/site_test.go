package health_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"caucus/agent/health"
	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/internal/testsite"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
)

func newSite(t *testing.T) *testsite.Site {
	t.Helper()
	return testsite.New(t.TempDir(), testsite.SchemaYAML, nil)
}

// about returns a checkup's result about one thing.
func about(t *testing.T, all []health.Result, about string) health.Result {
	t.Helper()
	for _, found := range all {
		if found.Subject == about {
			return found
		}
	}
	t.Fatalf("nothing is said about %s in %+v", about, all)
	return health.Result{}
}

// charge makes a charge in a site's ledger.
func charge(t *testing.T, s *site.Site, id string, epsilon *big.Rat) {
	t.Helper()
	cost := privacy.PureCost(privacy.Record, 0, epsilon)
	if err := s.Ledger.Spend(t.Context(), id, cost); err != nil {
		t.Fatal(err)
	}
}

// TestCheckLedger: a check says how much budget is left. A spent ledger gives a warning, and a
// damaged one a problem.
func TestCheckLedger(t *testing.T) {
	r := newSite(t)
	s := r.Open(t)
	id, _ := testsite.Certified(t, protocol.RoleParty, time.Now())
	wants := func(when string, status health.Status, says string) {
		t.Helper()
		if got := about(t, health.CheckLocal(t.Context(), s, id), "ledger"); got.Status != status ||
			!strings.Contains(got.Text, says) {
			t.Errorf("%s: %+v, want %s and %q", when, got, status, says)
		}
	}
	wants("fresh", health.OK, "ε = 2 of 2 left at unit record")
	charge(t, s, "a study", big.NewRat(1, 2))
	wants("after a study", health.OK, "ε = 1.5 of 2 left at unit record")
	s.Config.Policy.TotalLimit[privacy.Record] = privacy.Budget{Epsilon: 0.5, Delta: 1e-5}
	wants("spent", health.Warning, "nothing is left of ε = 0.5 at unit record")
	s.Config.Policy.TotalLimit = nil
	wants("without a limit", health.OK, "the policy limits no total")
	s.Config.Policy.YearLimit =
		map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1, Delta: 1e-5}}
	wants("with a limit for a year", health.OK, fmt.Sprintf("left for %d at unit record",
		time.Now().UTC().Year()))
	s.Journal.Close() // from here on the journal is closed
	wants("unreadable", health.Problem, "see caucus ledger verify")
}

// TestCheckWhole: a complete check has a result for each thing that an agent needs. It calls the
// coordinator once and reads the sources. Without an identity it says to enrol. If others may write
// in the folder, it says what to do.
func TestCheckWhole(t *testing.T) {
	r := newSite(t)
	check := func(err error) health.Checkup {
		return health.Check(t.Context(), r.Config, "agent.yaml", err)
	}
	if got := check(errors.New("line 3")); got.Worst != health.Problem || got.Problems() != 1 ||
		len(got.Checks) != 1 || got.Checks[0].Text != "line 3" {
		t.Errorf("a config that is none: %+v", got)
	}
	got := check(nil)
	if said := about(t, got.Checks, "certificate"); !strings.Contains(said.Text, "agent enrol") {
		t.Errorf("not enrolled: %+v", said)
	}
	about(t, got.Checks, "source ward")
	r.Enrol(t, time.Now())
	r.Config.Courier = true
	got = check(nil)
	for _, thing := range []string{"config", "certificate", "policy", "ledger", "disk",
		"contributions", "coordinator", "source ward", "mapping ward"} {
		if said := about(t, got.Checks, thing); said.Status == health.Problem {
			t.Errorf("%+v", said)
		}
	}
	if got.Problems() != 0 {
		t.Errorf("%d problems: %+v", got.Problems(), got)
	}
	r.Config.Courier = false
	if said := about(t, check(nil).Checks, "coordinator"); said.Status != health.Problem ||
		!strings.Contains(said.Text, "127.0.0.1:1: the coordinator cannot be reached") {
		t.Errorf("a coordinator that nobody runs: %+v", said)
	}
	if err := os.WriteFile(filepath.Join(r.Config.State, "shard.key"), []byte("short"),
		0o600); err != nil {
		t.Fatal(err)
	}
	r.Config.Courier = true
	if said := about(t, check(nil).Checks, "ledger"); said.Status != health.Problem ||
		!strings.Contains(said.Text, "restore it from a backup") {
		t.Errorf("a damaged folder: %+v", said)
	}
	var out strings.Builder
	if err := got.WriteText(&out); err != nil || !strings.Contains(out.String(), "config") {
		t.Errorf("in words %q, %v", out.String(), err)
	}
}

// TestCheckHelper: a policy that pins the coordinator's own key as the helper's is a problem.
func TestCheckHelper(t *testing.T) {
	r := newSite(t)
	s := r.Open(t)
	id, coordinator := testsite.Certified(t, protocol.RoleParty, time.Now())
	_, signer := testsite.Certified(t, protocol.RoleParty, time.Now())
	sealing, err := server.NewSealingKey()
	if err != nil {
		t.Fatal(err)
	}
	h := policy.Helper{Name: "Data Trust", Signing: signer.Key(),
		Sealing: protocol.SealingPin(sealing.Public())}
	s.Config.Policy.Helper = h
	if f := about(t, health.CheckLocal(t.Context(), s, id), "helper"); f.Status != health.OK ||
		!strings.Contains(f.Text, "Data Trust, whose keys have the code "+
			protocol.KeyCode(h.Signing[:], h.Sealing[:])) {
		t.Errorf("check: %+v", f)
	}
	s.Config.Policy.Helper.Signing = coordinator.Key()
	if f := about(t, health.CheckLocal(t.Context(), s, id), "helper"); f.Status != health.Problem ||
		!strings.Contains(f.Text, "this is the coordinator's own key") {
		t.Errorf("check: %+v", f)
	}
}

// TestCheckScorer: a missing program is a problem; a program that no study will use gives a
// warning.
func TestCheckScorer(t *testing.T) {
	r := newSite(t)
	s := r.Open(t)
	id, _ := testsite.Certified(t, protocol.RoleParty, time.Now())
	s.Config.Scorer.Command = []string{"not-a-program-at-all"}
	if f := about(t, health.CheckLocal(t.Context(), s, id), "scorer"); f.Status != health.Problem {
		t.Errorf("check says %+v", f)
	}
	s.Config.Scorer.Command = []string{os.Args[0]}
	if f := about(t, health.CheckLocal(t.Context(), s, id), "scorer"); f.Status != health.Warning ||
		!strings.Contains(f.Text, "no study will use it") {
		t.Errorf("check says %+v", f)
	}
	s.Config.Policy.Learners = []string{"any"}
	if f := about(t, health.CheckLocal(t.Context(), s, id), "scorer"); f.Status == health.Problem {
		t.Errorf("check says %+v", f)
	}
}

// TestConstants: the site is told how many contributions contained a constant, and why.
func TestConstants(t *testing.T) {
	r := newSite(t)
	s := r.Open(t)
	if got := health.CheckReplacedContributions(s); got.Status != health.OK ||
		!strings.HasPrefix(got.Text, "0 sent") {
		t.Errorf("before any: %+v", got)
	}
	for i, files := range [][]string{{}, {site.FileMissedWindow},
		{site.FileReadFailure, site.FileMissedWindow},
		{site.FileVoteFailure}} {
		d := s.Studies.Folder(study.Hash{byte(i)})
		for _, file := range append(files, site.FileUpload) {
			if err := d.Write(file, []byte("x\n")); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := health.CheckReplacedContributions(s)
	for _, want := range []string{"4 sent; ", "2 not ready in time", "1 with empty records",
		"1 without the votes or scores"} {
		if got.Status != health.Warning || !strings.Contains(got.Text, want) {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}

// metricsOf returns a registry's metrics as they are served.
func metricsOf(t *testing.T, c *health.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(c.Registry, promhttp.HandlerOpts{}).ServeHTTP(w,
		httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("metrics: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// TestMetrics: after a poll, the metrics show the progress of studies, the spent budget, and
// whether the ledger lacks contributions. Each study counts once, by its progress. No metric
// describes the process or names a study or a source.
func TestMetrics(t *testing.T) {
	r := newSite(t)
	r.Config.MetricsAddress = "127.0.0.1:0"
	s := r.Open(t)
	id, _ := testsite.Certified(t, protocol.RoleParty, time.Now())
	steps := []struct {
		state string
		files []string
	}{
		{"waiting", nil},
		{"charged", []string{site.FileRecords}},
		{"prepared", []string{site.FileRecords, site.FileUpload}},
		{"refused", []string{site.FileRefused}},
		{"refused", []string{site.FileDeclined}},
		{"received", []string{site.FileRecords, site.FileUpload, site.FileReceipt}},
		{"closed", []string{site.FileUpload, site.FileClosed}},
		{"released", []string{site.FileUpload, site.FileReceipt, site.FileRelease}},
		{"refused", nil}, // by the policy, as the agent remembers
	}
	want := map[string]int{}
	for i, step := range steps {
		want[step.state]++
		for _, file := range append(step.files, site.FilePlan) {
			if err := s.Studies.Folder(study.Hash{byte(i)}).Write(file, []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
	}
	last := study.Hash{byte(len(steps) - 1)}
	refused := func(h study.Hash) bool { return h == last }
	c := health.NewMetrics()
	if text := metricsOf(t, c); strings.Contains(text, "caucus_agent_studies") ||
		!strings.Contains(text, `caucus_agent_polls_total{outcome="failed"} 0`) {
		t.Errorf("before a poll:\n%s", text)
	}
	charge(t, s, "a study", big.NewRat(1, 2))
	c.CountPoll(t.Context(), s, id, nil, refused)
	c.CountRefusal([]any{"study", "x", "by", site.DeciderPolicy})
	text := metricsOf(t, c)
	for state, n := range want {
		if line := fmt.Sprintf("caucus_agent_studies{state=%q} %d\n", state,
			n); !strings.Contains(text,
			line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	for _, says := range []string{`caucus_agent_budget_spent_epsilon{period="all",unit="record"} 0.5`,
		`caucus_agent_budget_epsilon{period="all",unit="record"} 2`,
		`caucus_agent_polls_total{outcome="answered"} 1`, "caucus_agent_ledger_behind 0",
		`caucus_agent_refusals_total{by="policy"} 1`, `caucus_agent_refusals_total{by="ledger"} 0`,
		"caucus_agent_answered_timestamp_seconds", "caucus_agent_certificate_expiry_seconds"} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	for _, bad := range []string{"process_", "go_", "illness", "ward", last.String()[:8]} {
		if strings.Contains(text, bad) {
			t.Errorf("metrics say %q", bad)
		}
	}
	if problems, err := testutil.GatherAndLint(c.Registry); err != nil || len(problems) > 0 {
		t.Errorf("names of metrics: %v %v", problems, err)
	}
	if err := s.Studies.Folder(last).Write("ledger.seq", []byte("7\n")); err != nil {
		t.Fatal(err)
	}
	c.CountPoll(t.Context(), s, id, nil, refused)
	if text := metricsOf(t, c); !strings.Contains(text, "caucus_agent_ledger_behind 1") {
		t.Errorf("a ledger that lacks contributions:\n%s", text)
	}
}

// TestReady: an agent is ready after its first poll. It is not ready while polls fail, after its
// certificate has expired, or while its ledger cannot be read. If no metrics are served, nothing is
// checked.
func TestReady(t *testing.T) {
	r := newSite(t)
	r.Config.MetricsAddress = "127.0.0.1:0"
	s := r.Open(t)
	id, _ := testsite.Certified(t, protocol.RoleParty, time.Now())
	old, _ := testsite.Certified(t, protocol.RoleParty, time.Now().AddDate(-10, 0, 0))
	c := health.NewMetrics()
	wants := func(when, says string) {
		t.Helper()
		w := httptest.NewRecorder()
		c.ServeReadiness(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if got := fmt.Sprint(w.Code, " ", w.Body); !strings.Contains(got, says) {
			t.Errorf("%s: %q, want %q", when, got, says)
		}
	}
	none := func(study.Hash) bool { return false }
	wants("at the start", "503 it has not polled yet")
	s.Config.MetricsAddress = ""
	c.CountPoll(context.Background(), s, id, nil, none)
	wants("without metrics", "503 it has not polled yet")
	s.Config.MetricsAddress = "127.0.0.1:0"
	c.CountPoll(t.Context(), s, id, nil, none)
	wants("after a poll", "200 ready")
	c.CountPoll(t.Context(), s, id, errors.New("down"), none)
	wants("after a poll that failed", "503 the coordinator did not answer the last poll")
	if text := metricsOf(t, c); !strings.Contains(text,
		"caucus_agent_answered_timestamp_seconds ") {
		t.Errorf("it is forgotten when the coordinator answered last:\n%s", text)
	}
	c.CountPoll(t.Context(), s, old, nil, none)
	wants("with an old certificate", "503 this agent's certificate has ended")
	s.Journal.Close() // from here on the journal is closed
	c.CountPoll(t.Context(), s, id, nil, none)
	wants("with an unreadable ledger", "503 the ledger cannot be read")
}
