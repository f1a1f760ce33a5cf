package coordinator

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
)

// counts is what the coordinator counts and times, since it started. No name of a
// party or study, nothing of a contribution but its size: whoever reads metrics
// learns how the coordinator is, and of a study only what its members are told.
type counts struct {
	registry *prometheus.Registry

	contributions, contributionBytes, releases, badWitnesses prometheus.Counter

	handshakes prometheus.Counter // refused: the certificate does not hold
	closed     prometheus.Counter // connections without a place, or whose handshake failed

	calls   *prometheus.CounterVec // by method and code
	refused *prometheus.CounterVec // calls, by reason

	commits, folds prometheus.Histogram // seconds
}

func newCounts() *counts {
	c := &counts{registry: prometheus.NewRegistry()}
	counter := func(name, help string) prometheus.Counter {
		m := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		c.registry.MustRegister(m)
		return m
	}
	by := func(name, help string, labels ...string) *prometheus.CounterVec {
		m := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		c.registry.MustRegister(m)
		return m
	}
	seconds := func(name, help string, buckets []float64) prometheus.Histogram {
		m := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
		c.registry.MustRegister(m)
		return m
	}
	c.contributions = counter("caucus_contributions_total", "Contributions stored.")
	c.contributionBytes = counter("caucus_contribution_bytes_total", "Bytes of contributions stored.")
	c.releases = counter("caucus_releases_total", "Studies released.")
	c.badWitnesses = counter("caucus_bad_witnesses_total", "Documents shown that this coordinator did not sign.")
	c.handshakes = counter("caucus_handshakes_refused_total", "Connections refused because their certificate does not hold.")
	c.closed = counter("caucus_connections_closed_total", "Connections closed before or at their handshake.")
	c.calls = by("caucus_calls_total", "Calls by method and outcome.", "method", "code")
	c.refused = by("caucus_refusals_total", "Calls refused, by reason.", "reason")
	// A commit waits for the disk: milliseconds. A fold is one study's.
	c.commits = seconds("caucus_commit_seconds", "Time from a contribution's last byte to its receipt.", prometheus.ExponentialBuckets(.001, 2, 14))
	c.folds = seconds("caucus_fold_seconds", "Time to add up and release a sealed study.", prometheus.ExponentialBuckets(.01, 4, 10))
	return c
}

func (c *counts) call(method string, code codes.Code) {
	c.calls.WithLabelValues(method, code.String()).Inc()
}

// since adds the time from a start to a histogram.
func since(h prometheus.Observer, from, to time.Duration) { h.Observe((to - from).Seconds()) }
