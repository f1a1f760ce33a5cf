package agent

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"caucus/agent/policy"
	"caucus/protocol"
	"caucus/study"
)

// TestMetricsTellNothing: at every step of a study, metrics are the same bytes whatever the
// source's file holds, and even if it is unreadable or absent. None is of the process, and none
// names a study.
func TestMetricsTellNothing(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		change func(*rig)
		says   []string
	}{
		"allowed": {func(*rig) {}, []string{
			`caucus_agent_studies{state="released"} 1`, `caucus_agent_studies{state="waiting"} 0`, `caucus_agent_budget_spent_epsilon{period="all",unit="record"} 0.88`, `caucus_agent_budget_epsilon{period="all",unit="record"} 2`,
			`caucus_agent_polls_total{outcome="answered"} 3`, `caucus_agent_ledger_behind 0`, "caucus_agent_answered_timestamp_seconds",
		}},
		"a person has to approve": {func(r *rig) { r.Config.Policy.Approval = policy.ApproveByPerson }, []string{`caucus_agent_studies{state="waiting"} 1`, `caucus_agent_refusals_total{by="policy"} 0`}},
		"the policy refuses":      {func(r *rig) { r.Config.Policy.Kinds = nil }, []string{`caucus_agent_refusals_total{by="policy"} 1`}},
		"the ledger refuses": {func(r *rig) {
			for u, b := range r.Config.Policy.TotalLimit {
				b.Epsilon = 0.5
				r.Config.Policy.TotalLimit[u] = b
			}
		}, []string{`caucus_agent_refusals_total{by="ledger"} 1`}},
	} {
		t.Run(name, func(t *testing.T) {
			want := ""
			for file, spoil := range map[string]func(path string) error{
				"as declared": func(string) error { return nil },
				"garbage":     func(path string) error { return os.WriteFile(path, []byte("\x00\x01,;;\n\"\n"), 0o600) },
				"other rows":  func(path string) error { return os.WriteFile(path, []byte("age,sex,ill\n1,f,yes\n"), 0o600) },
				"gone":        os.Remove,
			} {
				r := newRig(t, nil)
				r.Config.MetricsAddress = "127.0.0.1:0"
				r.Config.Clock.Now = func() time.Time { return at }
				test.change(r)
				if err := spoil(r.Config.Data["ward"].File); err != nil {
					t.Fatal(err)
				}
				a := r.agent(t)
				text := ""
				for step := range 3 {
					if step == 2 && name == "allowed" {
						r.state = study.Released
					}
					a.counts.CountPoll(context.Background(), a.site, a.id,
						a.PollOnce(context.Background()), a.refusedHere)
					text += metricsOf(t, a)
					a.SendCharged(context.Background())
				}
				last := text[strings.LastIndex(text, "# HELP caucus_agent_answered"):]
				for _, says := range test.says {
					if !strings.Contains(last, says) {
						t.Errorf("%s: metrics do not say %q:\n%s", file, says, last)
					}
				}
				for _, bad := range []string{"process_", "go_", "illness", r.hash.String()[:8],
					"ward"} {
					if strings.Contains(text, bad) {
						t.Errorf("%s: metrics say %q", file, bad)
					}
				}
				if problems, err := testutil.GatherAndLint(a.counts.Registry); err != nil ||
					len(problems) > 0 {
					t.Errorf("names of metrics: %v %v", problems, err)
				}
				if want == "" {
					want = text
				}
				if text != want {
					t.Errorf("%s: metrics differ:\n%s\nand\n%s", file, text, want)
				}
			}
		})
	}
}

func metricsOf(t *testing.T, a *Agent) string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(a.counts.Registry, promhttp.HandlerOpts{}).ServeHTTP(w,
		httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("metrics: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// TestUnreadableLedgerIsSeen: an agent whose ledger cannot be read charges nothing, is not ready,
// and tells the coordinator by a word; before, it is ready once it has polled.
func TestUnreadableLedgerIsSeen(t *testing.T) {
	r := newRig(t, nil)
	r.Config.MetricsAddress = "127.0.0.1:0"
	a := r.agent(t)
	ready := func() string {
		w := httptest.NewRecorder()
		a.counts.ServeReadiness(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	if got := ready(); !strings.HasPrefix(got, "503 it has not polled yet") {
		t.Error(got)
	}
	a.counts.CountPoll(t.Context(), a.site, a.id, nil, a.refusedHere)
	if got := ready(); got != "200 ready\n" {
		t.Error(got)
	}
	if err := a.site.Journal.Close(); err != nil { // from here on the journal is closed
		t.Fatal(err)
	}
	err := a.PollOnce(t.Context())
	a.counts.CountPoll(t.Context(), a.site, a.id, err, a.refusedHere)
	if got := ready(); !strings.HasPrefix(got, "503 ") ||
		!strings.Contains(got, "the ledger cannot be read") {
		t.Error(got)
	}
	if got := a.reports.current()[r.hash]; got != protocol.WaitLedger || !got.Valid() {
		t.Errorf("the coordinator is told %q", got)
	}
	if text := metricsOf(t, a); !strings.Contains(text, "caucus_agent_ledger_behind 1") ||
		len(r.bodies) != 0 {
		t.Error(text)
	}
}
