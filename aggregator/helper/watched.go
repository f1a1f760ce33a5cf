package helper

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"caucus/internal/folder"
	"caucus/privacy"
)

var (
	studiesMetric       = prometheus.NewDesc("caucus_helper_studies", "Studies that this helper agreed to, by how far they are here.", []string{"state"}, nil)
	contributionsMetric = prometheus.NewDesc("caucus_helper_contributions", "Contributions that were checked here, by verdict.", []string{"verdict"}, nil)
	behindMetric        = prometheus.NewDesc("caucus_helper_behind", "1 where the files were put back to an older state, so that nothing is said of any study.", nil, nil)
	freeMetric          = prometheus.NewDesc("caucus_helper_disk_free_bytes",
		"Room on the volume of the helper's folder.", nil, nil)
	spentMetric = prometheus.NewDesc("caucus_helper_budget_spent_epsilon", "What this helper's ledger has spent at a unit, at the limit's delta.", []string{"unit"}, nil)
	limitMetric = prometheus.NewDesc("caucus_helper_budget_epsilon",
		"What it may spend at a unit.", []string{"unit"}, nil)
)

const lookTime = 5 * time.Second

func (s *Server) pages() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{s}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry,
		promhttp.HandlerOpts{MaxRequestsInFlight: 2, Timeout: 2 * lookTime}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := s.ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

func (s *Server) ready(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	_, err := s.server.Counts(ctx)
	causes := []error{err}
	if s.server.IsRestored() {
		causes = append(causes, errors.New("the files were put back to an older state: caucus ledger reconcile"))
	}
	if free, err := folder.Free(s.config.Dir); err == nil && free < uint64(s.config.MaxPoolBytes) {
		causes = append(causes, fmt.Errorf("the disk is nearly full: %d bytes are free, and a pool may have %d: make room", free, s.config.MaxPoolBytes))
	}
	return errors.Join(causes...)
}

type collector struct{ server *Server }

func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{studiesMetric, contributionsMetric, behindMetric,
		freeMetric, spentMetric, limitMetric} {
		out <- d
	}
}

func (c collector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	ctx, stop := context.WithTimeout(context.Background(), lookTime)
	defer stop()
	behind := 0.
	if c.server.server.IsRestored() {
		behind = 1
	}
	gauge(behindMetric, behind)
	if free, err := folder.Free(c.server.config.Dir); err == nil {
		gauge(freeMetric, float64(free))
	}
	if n, err := c.server.server.Counts(ctx); err == nil {
		for state, of := range map[string]int{"accepted": n.Accepted, "open": n.Open,
			"sealed": n.Sealed, "released": n.Released, "failed": n.Failed} {
			gauge(studiesMetric, float64(of), state)
		}
		gauge(contributionsMetric, float64(n.ContributionsAccepted), "accepted")
		gauge(contributionsMetric, float64(n.ContributionsRefused), "refused")
	}
	ledger, err := privacy.Open(c.server.ledger, privacy.Config{Limits: c.server.config.Budget})
	if err != nil {
		return
	}
	spent, err := ledger.Totals(ctx)
	if err != nil {
		return
	}
	for _, u := range privacy.Units() {
		if most, limited := c.server.config.Budget[u]; limited {
			gauge(spentMetric, spent[u].Epsilon(most.Delta), u.String())
			gauge(limitMetric, most.Epsilon, u.String())
		}
	}
}
