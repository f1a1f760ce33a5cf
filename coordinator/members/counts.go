package members

import (
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
)

// callCounts counts the gate's calls since the start. It names no party and no study.
type callCounts struct {
	handshakes prometheus.Counter // refused: the certificate is not valid
	closed     prometheus.Counter // connections without a place, or with a failed handshake

	calls   *prometheus.CounterVec
	refused *prometheus.CounterVec
}

func newCallCounts(r prometheus.Registerer) *callCounts {
	c := &callCounts{
		handshakes: prometheus.NewCounter(prometheus.CounterOpts{Name: "caucus_handshakes_refused_total", Help: "Connections refused because their certificate does not hold."}),
		closed:     prometheus.NewCounter(prometheus.CounterOpts{Name: "caucus_connections_closed_total", Help: "Connections closed before or at their handshake."}),
		calls:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "caucus_calls_total", Help: "Calls by method and outcome."}, []string{"method", "code"}),
		refused:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "caucus_refusals_total", Help: "Calls refused, by reason."}, []string{"reason"}),
	}
	r.MustRegister(c.handshakes, c.closed, c.calls, c.refused)
	return c
}

func (c *callCounts) call(method string, code codes.Code) {
	c.calls.WithLabelValues(method, code.String()).Inc()
}
