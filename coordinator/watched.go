package coordinator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// watched listens on a loopback address for those who watch this coordinator:
//
//	/metrics   counts and states, for Prometheus
//	/livez     200 as long as it answers at all
//	/readyz    200 if it can take contributions and release; else 503 and why
func (s *Server) watched(address string) (*http.Server, net.Listener, error) {
	l, err := net.Listen("tcp", address)
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
	return &http.Server{Handler: loopback(mux), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}, l, nil
}

// loopback answers only those who asked for this machine by its own name, so that no
// page of another site that a browser here has open can read what is served.
func loopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "ask for 127.0.0.1 or localhost: this page is for this machine", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ready is nil where contributions can be taken and studies released, else why not,
// in words that name no party and no study.
func (s *Server) ready(ctx context.Context) error {
	if s.unwell.Load() {
		return errors.New("a file of this coordinator is damaged: stop it and restore a backup of the whole folder")
	}
	if s.scheduler.releaser.behind() {
		return errors.New("the ledger is behind what was published: see caucus ledger verify and caucus ledger reconcile")
	}
	if _, doubt := s.registry.watch.look(); doubt != nil {
		return doubt
	}
	ctx, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	if err := s.store.View(ctx, func(tx Tx) error { _, err := tx.Revision(); return err }); err != nil {
		return errors.New("the store cannot be read; the log says why")
	}
	return nil
}
