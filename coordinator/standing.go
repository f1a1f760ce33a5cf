package coordinator

import (
	"context"
	"fmt"
	"net/http"

	"caucus/coordinator/folder"
	"caucus/internal/database"
	"caucus/internal/webpage"
)

// Lead waits until this process leads, then opens a coordinator's databases for New (Config.Stores). While it waits,
// it answers /livez and /readyz at Config.Metrics; /readyz names the leader.
func Lead(ctx context.Context, c folder.Config) (*folder.Stores, error) {
	if c.Store == "" {
		return folder.LeadStores(ctx, c)
	}
	if leader, err := database.Leader(ctx, c.Store); err == nil && c.Log != nil {
		c.Log.Info("waits until it leads", "last", leader)
	}
	if c.Metrics == "" {
		return folder.LeadStores(ctx, c)
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
	server := webpage.Server(webpage.Loopback(mux), c.Log)
	go server.Serve(listener)
	defer server.Close()
	return folder.LeadStores(ctx, c)
}
