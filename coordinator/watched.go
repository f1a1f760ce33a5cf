package coordinator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"caucus/internal/folder"
	"caucus/internal/webpage"
)

// watched listens on loopback addresses, which may be one, for those who watch this
// coordinator. At Config.Metrics, for machines:
//
//	/metrics   counts and states, for Prometheus; no name of a party or study
//	/livez     200 as long as it answers at all
//	/readyz    200 if it can take contributions and release; else 503 and each cause, a line each
//
// At Config.Page, for people with a link, the page, which names parties and studies (newPage).
func (s *Server) watched() error {
	c := s.config
	serve := func(what, address string, mux *http.ServeMux) (net.Listener, error) {
		l, err := webpage.Listen(address)
		if err != nil {
			return nil, fmt.Errorf("listen for %s: %w", what, err)
		}
		server := webpage.Server(webpage.Loopback(mux), c.Log)
		s.shown[l] = server
		s.closers = append(s.closers, func() error { return errors.Join(server.Close(), ignoreClosed(l.Close())) })
		return l, nil
	}
	s.shown = map[net.Listener]*http.Server{}
	machines := http.NewServeMux()
	people := machines
	if c.Page != c.Metrics {
		people = http.NewServeMux()
	}
	if c.Page != "" {
		page, err := newPage(s)
		if err != nil {
			return err
		}
		s.closers = append(s.closers, page.close)
		people.Handle("/", page.guard.Protect(page.routes()))
	}
	var err error
	if c.Metrics != "" {
		for _, of := range []prometheus.Collector{standing{s}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
			if err := s.counts.registry.Register(of); err != nil {
				return fmt.Errorf("serve metrics: %w", err)
			}
		}
		machines.Handle("GET /metrics", promhttp.HandlerFor(s.counts.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2, Timeout: 2 * lookTime}))
		machines.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
		machines.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
			if err := s.ready(r.Context()); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "ok")
		})
		if s.metricsAt, err = serve("metrics", c.Metrics, machines); err != nil {
			return err
		}
	}
	switch c.Page {
	case "":
	case c.Metrics:
		s.pageAt = s.metricsAt
	default:
		s.pageAt, err = serve("the page", c.Page, people)
	}
	return err
}

// ready is nil where contributions can be taken and studies released, else all that is
// against it, a line each, in words that name no party and no study.
func (s *Server) ready(ctx context.Context) error {
	_, doubt := s.registry.watch.look()
	causes := []error{doubt}
	if s.unwell.Load() {
		causes = append(causes, errors.New("a file of this coordinator is damaged: stop it and restore a backup of the whole folder"))
	}
	if s.scheduler.releaser.behind() {
		causes = append(causes, errors.New("the ledger is behind what was published: see caucus ledger verify and caucus ledger reconcile"))
	}
	if free, err := folder.Free(s.config.Dir); err == nil && free < uint64(s.config.Limits.Body) {
		causes = append(causes, fmt.Errorf("the disk is full: %d bytes are free, and a contribution may have %d: make room", free, s.config.Limits.Body))
	}
	ctx, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	if err := s.store.View(ctx, func(tx Tx) error { _, err := tx.Revision(); return err }); err != nil {
		causes = append(causes, errors.New("the store cannot be read; the log says why"))
	}
	return errors.Join(causes...)
}
