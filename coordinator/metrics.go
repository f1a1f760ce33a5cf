package coordinator

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
)

// counts is what the coordinator counts, since it started. Counts only: no
// name of a party or study, nothing of a contribution but its size.
type counts struct {
	contributions, contributionBytes, releases, badWitnesses atomic.Int64

	handshakes atomic.Int64 // refused: the certificate does not hold
	closed     atomic.Int64 // connections without a place, or whose handshake failed

	mu    sync.Mutex          // guards calls
	calls map[[2]string]int64 // by method and code
}

func newCounts() *counts { return &counts{calls: map[[2]string]int64{}} }

func (c *counts) call(method string, code codes.Code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[[2]string{method, code.String()}]++
}

// write writes Prometheus' text format, version 0.0.4. It is a page of text; a
// library for it would be the largest dependency of this room.
func (c *counts) write(w io.Writer) {
	for _, m := range []struct {
		name, help string
		value      int64
	}{
		{"caucus_contributions_total", "Contributions stored.", c.contributions.Load()},
		{"caucus_contribution_bytes_total", "Bytes of contributions stored.", c.contributionBytes.Load()},
		{"caucus_releases_total", "Studies released.", c.releases.Load()},
		{"caucus_bad_witnesses_total", "Documents shown that this coordinator did not sign.", c.badWitnesses.Load()},
		{"caucus_handshakes_refused_total", "Connections refused because their certificate does not hold.", c.handshakes.Load()},
		{"caucus_connections_closed_total", "Connections closed before or at their handshake.", c.closed.Load()},
	} {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s counter\n%s %d\n", m.name, m.help, m.name, m.name, m.value)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprint(w, "# HELP caucus_calls_total Calls by method and outcome.\n# TYPE caucus_calls_total counter\n")
	keys := slices.SortedFunc(maps.Keys(c.calls), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		fmt.Fprintf(w, "caucus_calls_total{method=%q,code=%q} %d\n", k[0], k[1], c.calls[k])
	}
}

// serve answers at /metrics on a loopback address until it is closed.
func (c *counts) serve(address string) (*http.Server, net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, fmt.Errorf("listen for metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		c.write(w)
	})
	return &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, l, nil
}
