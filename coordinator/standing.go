package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"caucus/coordinator/cluster"
	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/database"
	"caucus/internal/webpage"
	"caucus/study"
)

// A replica that starts waits for acquaintance until it hears of another one. A replica is heard
// within .2 s. One that does not know yet whether it may lead asks again after identityAgain.
const (
	acquaintance  = time.Second
	identityAgain = 2 * time.Second
)

// WaitToLead waits until this process leads, then opens a coordinator's databases for New
// (Config.Stores). While it waits, it holds the keys of ballots that the leader sends, and watches
// the leader (observe). If it leads and lacks keys, it asks the other replicas for theirs, and then
// parties for their ballots. Without Config.Replicas it looks for no others.
func WaitToLead(ctx context.Context, c folder.Config) (*folder.Stores, error) {
	if c.Replicas.Listen == "" {
		if c.Store != "" && strings.Contains(c.Address, ",") {
			return nil, errAlone
		}
		stores, err := folder.OpenStoresAsLeader(ctx, c, nil)
		if err != nil {
			return nil, err
		}
		if err := stores.RequestBallotsAgain(ctx, c); err != nil {
			return nil, errors.Join(err, stores.Close())
		}
		return stores, nil
	}
	f := newFollower(c)
	if err := f.meet(); err != nil {
		return nil, err
	}
	stores, err := f.lead(ctx)
	if err != nil {
		err = errors.Join(err, f.cluster.Close())
	}
	return stores, err
}

// errAlone says what became of a list of all replicas in each one's configuration.
var errAlone = errors.New("address: it names several replicas: name this one alone, and say under " +
	"replicas: where it finds the others (docs/operator.md, From one machine to three)")

func (f *follower) lead(ctx context.Context) (*folder.Stores, error) {
	close, err := f.answer()
	if err != nil {
		return nil, err
	}
	defer close()
	defer f.observe(ctx)()
	f.await(ctx, acquaintance, func(v cluster.View) bool { return len(v.Members) > 1 })
	f.config.Log.Info("waits until it leads")
	for told := ""; ; {
		follow := f.follow(ctx)
		stores, err := folder.OpenStoresAsLeader(ctx, f.config, f.may)
		follow()
		older := errors.Is(err, errOlder)
		switch {
		case (older || errors.Is(err, errUnseen)) && ctx.Err() == nil:
			if why := err.Error(); why != told {
				f.config.Log.Warn("this replica does not lead yet, and tries again", "why", why)
				told = why
			}
			follow = f.follow(ctx)
			if older {
				f.await(ctx, restless, func(v cluster.View) bool {
					_, older := v.OlderProgram()
					return !older
				})
			} else {
				f.config.Clock.Sleep(ctx, identityAgain)
			}
			follow()
			continue
		case err != nil:
			return nil, err
		}
		stores.Store.Keys = f.keys
		if err := f.askHolders(ctx, stores.Store); err != nil {
			return nil, errors.Join(err, stores.Close())
		}
		if err := stores.RequestBallotsAgain(ctx, f.config); err != nil {
			return nil, errors.Join(err, stores.Close())
		}
		f.announce(stores)
		return stores, nil
	}
}

// meet begins to look for the other replicas.
func (f *follower) meet() error {
	c := f.config
	ring, err := folder.LoadKeyring(c)
	if err != nil {
		return err
	}
	server, client, err := cluster.TLS(ring.Authority, f.caller.Name, c.Clock.Now)
	if err != nil {
		return err
	}
	f.client = client
	f.cluster, err = cluster.Open(cluster.Config{
		Name: f.caller.Name, Endpoints: c.Replicas, Server: server, Client: client,
		Memory: c.Path(folder.ReplicasFile), Log: c.Log,
		Keys: func() []byte {
			all, _ := f.keys.All()
			text, _ := json.Marshal(all)
			return text
		},
	}, cluster.State{Address: c.OwnAddress(), Version: c.Software,
		Schemas: folder.MigrationCounts()})
	return err
}

// await waits until this replica has heard something, at most a time.
func (f *follower) await(ctx context.Context, most time.Duration, heard func(cluster.View) bool) {
	over, stop := f.config.Clock.After(most)
	defer stop()
	for {
		changed := f.cluster.Changed()
		if heard(f.cluster.View()) {
			return
		}
		select {
		case <-changed:
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// errOlder says why a replica that could lead leaves that to others.
var errOlder = errors.New("an older replica is there, whose program could not read the store after this one has changed it")

// errUnseen says why a replica that could lead does not know whether it may.
var errUnseen = errors.New("PostgreSQL does not say which database it is, so older replicas over the same one could be there")

// may returns an error if this replica, which holds the lease, must not lead.
func (f *follower) may(*database.Lease) error {
	o := database.NewObserver(f.config.Store)
	defer o.Close()
	if err := f.identify(context.Background(), o, mostSilence); err != nil {
		return fmt.Errorf("%w: %w", errUnseen, err)
	}
	older, found := f.cluster.View().OlderProgram()
	if !found {
		return nil
	}
	// Where the store is as this program knows it already, the older one cannot lead.
	if current, err := o.HasCurrentSchemas(context.Background(),
		folder.Databases()...); err != nil {
		return fmt.Errorf("%w: %w", errUnseen, err)
	} else if !current {
		version := cmp.Or(older.Version, "unknown")
		return fmt.Errorf("%w: %s, version %s", errOlder, older.Address, version)
	}
	return nil
}

// askHolders asks other replicas for the keys of ballots that this one lacks.
func (f *follower) askHolders(ctx context.Context, store *records.SQL) error {
	lacks, err := store.UndecryptableStudies(ctx)
	if err != nil || len(lacks) == 0 {
		return err
	}
	for _, m := range f.cluster.View().KeyHolders() {
		text, err := cluster.QueryKeys(ctx, f.client, m.GossipAddress)
		var all map[study.Hash][]byte
		if err != nil || json.Unmarshal(text, &all) != nil {
			log := f.config.Log
			log.Warn("a replica does not give its keys of ballots", "replica", m.Address, "error",
				err)
			continue
		}
		f.keys.Adopt(lacks, all)
		if lacks, err = store.UndecryptableStudies(ctx); err != nil || len(lacks) == 0 {
			f.config.Log.Info("another replica gave the keys of ballots", "replica", m.Address)
			return err
		}
	}
	return nil
}

// announce says that this replica leads, until it does not.
func (f *follower) announce(s *folder.Stores) {
	s.Cluster = f.cluster
	f.cluster.UpdateState(func(own *cluster.State) {
		own.IsLeader, own.Epoch = true,
			s.Lease.Epoch()
	})
	go func() {
		<-s.Lease.Lost
		f.cluster.UpdateState(func(own *cluster.State) { own.IsLeader = false })
	}()
}

// answer answers /livez, /metrics and /readyz at Config.MetricsAddress, if that is set, until close
// is called. /readyz names the leader that this replica hears of.
func (f *follower) answer() (func() error, error) {
	c := f.config
	if c.Metrics == "" {
		return func() error { return nil }, nil
	}
	listener, err := webpage.Listen(c.Metrics)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "stands by: "+f.whoLeads(), http.StatusServiceUnavailable)
	})
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "caucus_standing_by", Help: "1 where this replica waits to lead and has the leader's keys of ballots, 0 where no leader sends them."}, func() float64 {
		if at := f.heard.Load(); at == 0 || c.Clock.Elapsed()-time.Duration(at) > patience {
			return 0
		}
		return 1
	}))
	metrics.MustRegister(replicaMetrics{f.cluster})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	server := webpage.NewServer(webpage.Loopback(mux), c.Log)
	go server.Serve(listener)
	return server.Close, nil
}

func (f *follower) whoLeads() string {
	v := f.cluster.View()
	if leader, known := v.Leader(); known {
		return fmt.Sprintf("%s leads, under epoch %d", leader.Address, leader.Epoch)
	}
	if older, found := v.OlderProgram(); found {
		return fmt.Sprintf("nobody leads; %s is older and would be first", older.Address)
	}
	return "nobody is heard who leads"
}
