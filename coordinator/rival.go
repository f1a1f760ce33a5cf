package coordinator

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"caucus/coordinator/cluster"
)

// rival says which other leader keeps this one from releasing anything; nil: none.
func rival(c *cluster.Cluster) error {
	if c == nil {
		return nil
	}
	v := c.View()
	r, found := v.RivalLeader()
	switch {
	case !found:
		return nil
	case r.Database == v.Own.Database:
		return fmt.Errorf("the replica at %s leads under epoch %d, this one under %d: it releases nothing, and ends when PostgreSQL says so", r.Address, r.Epoch, v.Own.Epoch)
	}
	return fmt.Errorf("the replica at %s leads over database %s, this one over %s: one of both is a copy, and neither releases anything until one is stopped for good", r.Address, r.Database, v.Own.Database)
}

// replicaMetrics tells Prometheus what a replica has heard of the others.
type replicaMetrics struct{ cluster *cluster.Cluster }

var (
	replicasMetric = prometheus.NewDesc("caucus_replicas", "Replicas of this coordinator that this one hears, or heard within a day.", []string{"state"}, nil)
	leadsMetric    = prometheus.NewDesc("caucus_leads", "1 where this replica leads.", nil, nil)
	epochMetric    = prometheus.NewDesc("caucus_epoch", "The newest epoch that this replica has heard of.", nil, nil)
	rivalMetric    = prometheus.NewDesc("caucus_rival", "1 where this replica leads and hears of another leader, so that it releases nothing.", nil, nil)
)

func (r replicaMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{replicasMetric, leadsMetric, epochMetric, rivalMetric} {
		out <- d
	}
}

func (r replicaMetrics) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	flag := map[bool]float64{true: 1}
	v := r.cluster.View()
	alive := 0
	for _, m := range v.Members {
		if m.Alive {
			alive++
		}
	}
	_, rivals := v.RivalLeader()
	gauge(replicasMetric, float64(alive), "alive")
	gauge(replicasMetric, float64(len(v.Members)-alive), "gone")
	gauge(leadsMetric, flag[v.Own.IsLeader])
	gauge(epochMetric, float64(v.NewestKnownEpoch))
	gauge(rivalMetric, flag[v.Own.IsLeader && rivals])
}
