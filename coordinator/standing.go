package coordinator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"caucus/coordinator/folder"
	"caucus/internal/database"
	"caucus/internal/webpage"
)

// yields is how long a replica that lacks keys leaves the lead to others.
const yields = 2 * time.Second

// Lead waits until this process leads, then opens a coordinator's databases for New (Config.Stores). While it waits,
// it holds the keys of ballots that the leader sends. If it leads and lacks keys, it once leaves the lead to replicas
// that may have them: after PostgreSQL was away, any replica may be the first.
func Lead(ctx context.Context, c folder.Config) (*folder.Stores, error) {
	if c.Store == "" {
		return folder.LeadStores(ctx, c)
	}
	f := newFollower(c)
	close, err := f.answer()
	if err != nil {
		return nil, err
	}
	defer close()
	if leader, err := database.Leader(ctx, c.Store); err == nil {
		f.config.Log.Info("waits until it leads", "last", leader)
	}
	for yielded := false; ; yielded = true {
		lead := f.follow(ctx)
		stores, err := folder.LeadStores(ctx, c)
		keys := lead()
		if err != nil {
			return nil, err
		}
		stores.Store.Keys = keys
		lacks, err := stores.Store.Unreadable(ctx)
		if err == nil && (yielded || !lacks) {
			err = stores.AskAgain(ctx, c)
			if err == nil {
				return stores, nil
			}
		}
		if err = errors.Join(err, stores.Close()); err != nil {
			return nil, err
		}
		f.config.Log.Info("this replica lacks keys of ballots, and leaves the lead to others once")
		if !f.config.Clock.Sleep(ctx, yields) {
			return nil, ctx.Err()
		}
	}
}

// answer answers /livez, /metrics and /readyz at Config.Metrics, if that is set, until close is called. /readyz names
// the leader.
func (f *follower) answer() (close func() error, err error) {
	c := f.config
	if c.Metrics == "" {
		return func() error { return nil }, nil
	}
	listener, err := webpage.Listen(c.Metrics)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		leader, err := database.Leader(r.Context(), c.Store)
		if err != nil {
			leader = "nobody that PostgreSQL could name"
		}
		http.Error(w, "stands by: "+leader+" leads", http.StatusServiceUnavailable)
	})
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "caucus_standing_by", Help: "1 where this replica waits to lead and has the leader's keys of ballots, 0 where no leader sends them."}, func() float64 {
		if at := f.heard.Load(); at == 0 || c.Clock.Elapsed()-time.Duration(at) > patience {
			return 0
		}
		return 1
	}))
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	server := webpage.Server(webpage.Loopback(mux), c.Log)
	go server.Serve(listener)
	return server.Close, nil
}
