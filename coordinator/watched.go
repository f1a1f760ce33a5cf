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

	"caucus/coordinator/records"
	"caucus/internal/webpage"
)

// watched listens on a loopback address for those who watch this coordinator:
//
//	/metrics   counts and states, for Prometheus; no name of a party or study
//	/livez     200 as long as it answers at all
//	/readyz    200 if it can take contributions and release; else 503 and each cause, a line each
//	/          the page, which names parties and studies: with a link (newPage)
func (s *Server) watched(address string) (*http.Server, net.Listener, error) {
	l, err := webpage.Listen(address)
	if err != nil {
		return nil, nil, fmt.Errorf("listen for metrics: %w", err)
	}
	for _, c := range []prometheus.Collector{standing{s}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := s.counts.registry.Register(c); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("serve metrics: %w", err), l.Close())
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.counts.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2, Timeout: 2 * lookTime}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := s.ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	page, err := newPage(s)
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	s.closers = append(s.closers, page.close)
	mux.Handle("/", page.guard.Protect(page.routes()))
	return webpage.Server(webpage.Loopback(mux), s.config.Log), l, nil
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
	if free, err := s.config.Free(); err == nil && free < uint64(s.config.Limits.Body) {
		causes = append(causes, fmt.Errorf("the disk is full: %d bytes are free, and a contribution may have %d: make room", free, s.config.Limits.Body))
	}
	ctx, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	if err := s.store.View(ctx, func(tx records.Tx) error { _, err := tx.Revision(); return err }); err != nil {
		causes = append(causes, errors.New("the store cannot be read; the log says why"))
	}
	return errors.Join(causes...)
}
