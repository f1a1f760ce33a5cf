package coordinator

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// counts is what the coordinator counts and times, since it started. No name of a
// party or study, nothing of a contribution but its size: whoever reads metrics
// learns how the coordinator is, and of a study only what its members are told.
type counts struct {
	registry *prometheus.Registry

	contributions, contributionBytes, releases, badWitnesses prometheus.Counter

	commits, folds prometheus.Histogram // seconds
}

func newCounts() *counts {
	c := &counts{registry: prometheus.NewRegistry()}
	counter := func(name, help string) prometheus.Counter {
		m := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
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
	// A commit waits for the disk: milliseconds. A fold is one study's.
	c.commits = seconds("caucus_commit_seconds", "Time from a contribution's last byte to its receipt.", prometheus.ExponentialBuckets(.001, 2, 14))
	c.folds = seconds("caucus_fold_seconds", "Time to add up and release a sealed study.", prometheus.ExponentialBuckets(.01, 4, 10))
	return c
}

// since adds the time from a start to a histogram.
func since(h prometheus.Observer, from, to time.Duration) { h.Observe((to - from).Seconds()) }
