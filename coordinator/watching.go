package coordinator

import (
	"context"

	"caucus/coordinator/watch"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
)

type watching struct{ server *Server }

func (s *Server) listenWatched() (*watch.Watcher, error) {
	r := s.scheduler.releaser
	if s.cluster != nil {
		if err := s.counts.Registry.Register(replicaMetrics{s.cluster}); err != nil {
			return nil, err
		}
	}
	return watch.Listen(watch.WatchedParts{
		Coordinator: watching{s}, Config: &s.config, Store: s.store, Journal: r.journal, Ledger: r.ledger, Calls: s.presence, Metrics: s.counts,
		Address: s.address(), Started: s.started, AuthorityEnds: s.authority.Expires(),
	})
}

func (w watching) Health() watch.Health {
	s := w.server
	is := watch.Health{LedgerBehind: s.scheduler.releaser.behind(), StoreDamaged: s.unwell.Load(),
		Uploads: len(s.uploads), HasHelper: s.sharing.helped()}
	is.Now, is.ClockDoubt = s.registry.watch.now()
	if s.cluster != nil {
		is.Replicas = s.cluster.View().Members
	}
	is.HelperSilentSince, is.RivalLeader = s.sharing.silent(), rival(s.cluster)
	return is
}

func (w watching) Studies(ctx context.Context) (all []*pb.Summary, err error) {
	for _, c := range w.server.registry.all() {
		summary, err := c.summaryFor(ctx, protocol.Caller{Role: protocol.RoleOperator})
		if err != nil {
			return nil, err
		}
		all = append(all, summary)
	}
	return all, nil
}

func (w watching) Awaited(h study.Hash, contributed, others []study.PartyID) []study.PartyID {
	return w.server.scheduler.releaser.witness.awaited(h, contributed, others)
}
