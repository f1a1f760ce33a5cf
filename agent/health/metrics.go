package health

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"caucus/agent/site"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Metrics holds the metrics and the readiness of an agent, for monitoring of its machine.
//
// Proof note. Claim: the metrics and the readiness are a function of plans, policy, ledger,
// declarations, persons, clocks and the coordinator's answers, and of no record.
//   - A study's progress is read only from files of its study folder that people or the coordinator
//     make, or that are made at moments fixed before the records are read. The files about an odd
//     source or missing votes (FileReadFailure, FileSourceRemarks, FileVoteFailure) are not read.
//     The number of late contributions is published. It is assumed (window) to follow from the
//     machine alone, and all statements about time rest on that assumption.
//   - Metrics reads at the end of a poll, never in a window. A scrape gets the values of that
//     moment, and touches neither state nor ledger.
//   - There are no metrics of the process, because its time and memory depend on learning from the
//     records (agent/window.go says why nobody may see them).
//
// TestMetricsTellNothing would catch a violation.
type Metrics struct {
	Registry *prometheus.Registry
	polls    *prometheus.CounterVec // by outcome
	Refusals *prometheus.CounterVec // by who refused
	last     atomic.Pointer[sighting]
}

type sighting struct {
	answered time.Time // time of the coordinator's last answer
	studies  map[string]int
	ends     time.Time // end of the certificate
	faults   []string  // why the agent is not ready, in words that do not depend on the records
	behind   bool
	late     int
	budgets  []budgetSeen
	clock    func() time.Time
}

type budgetSeen struct {
	unit, period string
	spent, most  float64
}

var (
	studiesMetric = prometheus.NewDesc("caucus_agent_studies", "Studies that this site knows, by how far they are here.", []string{"state"}, nil)
	spentMetric   = prometheus.NewDesc("caucus_agent_budget_spent_epsilon", "What this site's ledger has spent at a unit, in all or this year, at the limit's delta.", []string{"unit", "period"}, nil)
	limitMetric   = prometheus.NewDesc("caucus_agent_budget_epsilon", "What it may spend at a unit, in all or in a year.", []string{"unit", "period"}, nil)
	lateMetric    = prometheus.NewDesc("caucus_agent_late_contributions", "Contributions that were not ready in time, so that all or a part of each was a constant.", nil, nil)
	behindMetric  = prometheus.NewDesc("caucus_agent_ledger_behind", "1 where the ledger cannot be read or is behind what was contributed, so that nothing is charged.", nil, nil)
	expiryMetric  = prometheus.NewDesc("caucus_agent_certificate_expiry_seconds",
		"Time until this agent's certificate is over.", nil, nil)
	answerMetric = prometheus.NewDesc("caucus_agent_answered_timestamp_seconds", "When the coordinator answered last; not there where it has not since the start.", nil, nil)
)

// NewMetrics starts all counters at 0, each with all its labels, so that an alert sees the first
// rise. Its registry has no metrics of the process (see Metrics).
func NewMetrics() *Metrics {
	c := &Metrics{
		Registry: prometheus.NewRegistry(),
		polls:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "caucus_agent_polls_total", Help: "Polls of the coordinator, by outcome."}, []string{"outcome"}),
		Refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "caucus_agent_refusals_total", Help: "Studies refused here since the start, by who refused."}, []string{"by"}),
	}
	for _, outcome := range []string{"answered", "failed"} {
		c.polls.WithLabelValues(outcome)
	}
	for _, by := range []string{site.DeciderPolicy, site.DeciderLedger, site.DeciderPerson} {
		c.Refusals.WithLabelValues(by)
	}
	c.Registry.MustRegister(c.polls, c.Refusals, c)
	return c
}

// CountRefusal counts a refusal. args are those of its audit line, names and values in turn; "by"
// is who refused.
func (m *Metrics) CountRefusal(args []any) {
	for i := 0; i+1 < len(args); i += 2 {
		if by, ok := args[i+1].(string); ok && args[i] == "by" {
			m.Refusals.WithLabelValues(by).Inc()
		}
	}
}

// Describe implements prometheus.Collector: it names all metrics that Collect may send, also those
// without a value yet.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{studiesMetric, spentMetric, limitMetric, lateMetric,
		behindMetric, expiryMetric, answerMetric} {
		out <- d
	}
}

// Collect implements prometheus.Collector from the sighting of the last poll. It sends nothing
// before the first, and reads neither files nor ledger.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	s := m.last.Load()
	if s == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for state, n := range s.studies {
		gauge(studiesMetric, float64(n), state)
	}
	for _, b := range s.budgets {
		gauge(spentMetric, b.spent, b.unit, b.period)
		gauge(limitMetric, b.most, b.unit, b.period)
	}
	behind := 0.
	if s.behind {
		behind = 1
	}
	gauge(behindMetric, behind)
	gauge(lateMetric, float64(s.late))
	if !s.ends.IsZero() {
		gauge(expiryMetric, s.ends.Sub(s.clock()).Seconds())
	}
	if !s.answered.IsZero() {
		gauge(answerMetric, float64(s.answered.Unix()))
	}
}

// CountPoll counts a poll. If metrics are served, it also reads the state for them.
func (m *Metrics) CountPoll(ctx context.Context, s *site.Site, id protocol.Identity, failed error,
	refused func(study.Hash) bool) {
	outcome := "answered"
	if failed != nil {
		outcome = "failed"
	}
	m.polls.WithLabelValues(outcome).Inc()
	if s.Config.MetricsAddress == "" {
		return
	}
	seen := &sighting{studies: studiesByProgress(s, refused), clock: s.Config.Now}
	if before := m.last.Load(); before != nil {
		seen.answered = before.answered
	}
	if failed == nil {
		seen.answered = s.Config.Now()
	}
	if failed != nil {
		seen.faults = append(seen.faults, "the coordinator did not answer the last poll")
	}
	if _, ends, err := id.Validity(); err == nil {
		if seen.ends = ends; s.Config.Now().After(ends) {
			seen.faults = append(seen.faults, "this agent's certificate has ended")
		}
	}
	if made, err := constantsOf(s); err == nil {
		seen.late = made.late
	}
	last, _, err := s.Studies.LastLedgerEntry()
	head, unread := privacy.JournalHead(ctx, s.Journal)
	limits, unspent := s.Spending(ctx)
	if seen.behind = errors.Join(err, unread, unspent) != nil || head.Sequence < last; seen.behind {
		seen.faults = append(seen.faults, "the ledger cannot be read, or is behind what was contributed: see caucus ledger verify")
	}
	if unspent == nil {
		for _, limit := range limits {
			period := "all"
			if limit.Year != "" {
				period = "year"
			}
			for _, u := range privacy.Units() {
				if most, ok := limit.Most[u]; ok {
					seen.budgets = append(seen.budgets,
						budgetSeen{u.String(), period, limit.Spent[u].Epsilon(most.Delta),
							most.Epsilon})
				}
			}
		}
	}
	m.last.Store(seen)
}

// ServeReadiness answers 200 if this agent could take part at its last poll, else 503 and the
// reasons, one on each line.
func (m *Metrics) ServeReadiness(w http.ResponseWriter, _ *http.Request) {
	faults := []string{"it has not polled yet"}
	if s := m.last.Load(); s != nil {
		faults = s.faults
	}
	if len(faults) > 0 {
		http.Error(w, strings.Join(faults, "\n"), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

func studiesByProgress(s *site.Site, refused func(study.Hash) bool) map[string]int {
	out := map[string]int{}
	steps := []struct {
		state string
		is    func(d site.StudyFolder, h study.Hash) bool
	}{
		{"released", func(d site.StudyFolder, _ study.Hash) bool { return d.Has(site.FileRelease) }},
		{"closed", func(d site.StudyFolder, _ study.Hash) bool { return d.Has(site.FileClosed) }},
		{"received", func(d site.StudyFolder, _ study.Hash) bool { return d.Has(site.FileReceipt) }},
		{"refused", func(d site.StudyFolder, h study.Hash) bool {
			return d.Has(site.FileRefused) || d.Has(site.FileDeclined) || refused(h)
		}},
		{"prepared", func(d site.StudyFolder, _ study.Hash) bool { return d.Has(site.FileUpload) }},
		{"charged", func(d site.StudyFolder, _ study.Hash) bool { return d.Has(site.FileRecords) }},
		{"waiting", func(site.StudyFolder, study.Hash) bool { return true }},
	}
	for _, step := range steps {
		out[step.state] = 0 // 0, so that an alert finds the series
	}
	all, err := s.Studies.All()
	if err != nil {
		return out
	}
	for _, h := range all {
		for _, step := range steps {
			if step.is(s.Studies.Folder(h), h) {
				out[step.state]++
				break
			}
		}
	}
	return out
}
