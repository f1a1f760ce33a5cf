package watch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics holds the coordinator's counters and timings since its start. It names no party or study,
// and for a contribution it counts only the size. So a reader of metrics learns the coordinator's
// state, and about a study no more than its members learn.
type Metrics struct {
	Registry *prometheus.Registry

	Contributions, ContributionBytes, Releases, BadWitnesses prometheus.Counter

	CommitSeconds, FoldSeconds prometheus.Histogram // seconds
}

// NewMetrics registers all counters at 0 in a registry of their own.
func NewMetrics() *Metrics {
	c := &Metrics{Registry: prometheus.NewRegistry()}
	counter := func(name, help string) prometheus.Counter {
		m := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		c.Registry.MustRegister(m)
		return m
	}
	seconds := func(name, help string, buckets []float64) prometheus.Histogram {
		m := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help,
			Buckets: buckets})
		c.Registry.MustRegister(m)
		return m
	}
	c.Contributions = counter("caucus_contributions_total", "Contributions stored.")
	c.ContributionBytes = counter("caucus_contribution_bytes_total",
		"Bytes of contributions stored.")
	c.Releases = counter("caucus_releases_total", "Studies released.")
	c.BadWitnesses = counter("caucus_bad_witnesses_total", "Documents shown that this coordinator did not sign.")
	// A commit waits for the disk, for milliseconds. A fold adds up one study.
	c.CommitSeconds = seconds("caucus_commit_seconds", "Time from a contribution's last byte to its receipt.", prometheus.ExponentialBuckets(.001, 2, 14))
	c.FoldSeconds = seconds("caucus_fold_seconds", "Time to add up and release a sealed study.",
		prometheus.ExponentialBuckets(.01, 4, 10))
	return c
}

// ObserveSeconds observes the seconds between two readings of the monotonic clock (clock.Elapsed).
func ObserveSeconds(h prometheus.Observer, from,
	to time.Duration) {
	h.Observe((to - from).Seconds())
}
