package coordinator

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"caucus/coordinator/cluster"
	"caucus/coordinator/folder"
	"caucus/coordinator/members"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/protocol/server"
	"caucus/study"
)

// The leader sends its keys at each change, and at least every keysEvery. A replica that gets none
// for keysSilence looks for another leader, after keysAgain.
const (
	keysEvery   = time.Second
	keysSilence = 3 * time.Second
	keysAgain   = 200 * time.Millisecond
)

// StudyKeys sends the keys of ballots to a replica that stands by, until one of both ends. Only the
// holder of the authority's key, which lies in each replica's folder, can make a certificate that
// may call it.
func (s *Server) StudyKeys(_ *pb.StudyKeysRequest,
	stream grpc.ServerStreamingServer[pb.StudyKeysPart]) error {
	ctx := stream.Context()
	s.config.Log.Info("a replica stands by and gets the keys of ballots", "replica", members.CallerOf(ctx).Name)
	for {
		all, changed := s.ballotKeys.All()
		part := &pb.StudyKeysPart{}
		for h, key := range all {
			part.Keys = append(part.Keys, &pb.StudyKey{PlanHash: h[:], Key: key})
		}
		if err := stream.Send(part); err != nil {
			return err
		}
		again, stop := s.config.Clock.After(keysEvery)
		select {
		case <-changed:
		case <-again:
		case <-s.stopping:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		stop()
	}
}

// follower is a replica that stands by. It holds the keys of ballots that the leader sends.
type follower struct {
	config   folder.Config
	caller   protocol.Caller
	identity protocol.Identity // made when needed
	keys     *records.StudyKeys
	cluster  *cluster.Cluster
	client   *tls.Config  // for the cluster
	heard    atomic.Int64 // when the leader sent keys, by the clock's Elapsed; 0: never
}

func newFollower(c folder.Config) *follower {
	return &follower{config: c.WithDefaults(),
		caller: protocol.Caller{Name: "replica-" + rand.Text(),
			Role: protocol.RoleReplica}, keys: records.NewStudyKeys()}
}

// follow asks the leader for keys until the function that it returns is called. After that, no
// other keys arrive.
func (f *follower) follow(ctx context.Context) func() {
	ctx, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.run(ctx)
	}()
	return func() { end(); <-done }
}

// patience is the time without a leader's keys after which the log says so.
const patience = 15 * time.Second

func (f *follower) run(ctx context.Context) {
	clock, log := f.config.Clock, f.config.Log
	for last, told := clock.Elapsed(), false; ; {
		err := f.ask(ctx, func(all map[study.Hash][]byte) {
			if before, _ := f.keys.All(); len(before) != len(all) {
				log.Debug("the leader sent its keys of ballots", "studies", len(all))
			}
			f.keys.Replace(all)
			f.cluster.UpdateState(func(own *cluster.State) { own.Keys = len(all) })
			last, told = clock.Elapsed(), false
			f.heard.Store(int64(last))
		})
		if errors.Is(err, protocol.ErrDenied) || errors.Is(err, protocol.ErrExpired) {
			f.identity = protocol.Identity{} // the keys beside it may have been changed
		}
		if !told && clock.Elapsed()-last > patience && ctx.Err() == nil {
			told = true
			log.Warn("no leader sends the keys of ballots to this replica; if it led, it would ask "+
				"the other replicas for them, and then parties for their ballots again", "error", err)
		}
		if !clock.Sleep(ctx, keysAgain) {
			return
		}
	}
}

// errUnled says why a replica asks nobody for keys.
var errUnled = errors.New("nobody is heard who leads")

func (f *follower) ask(ctx context.Context, take func(map[study.Hash][]byte)) error {
	leader, known := f.cluster.View().Leader()
	if !known {
		return errUnled
	}
	if f.identity.Certificate == "" {
		ring, err := folder.LoadKeyring(f.config)
		if err != nil {
			return err
		}
		now := f.config.Clock.Now()
		f.identity, _, err = ring.Authority.IssueFirstOperator("", f.caller, ring.Signer.Key(),
			now)
		if err != nil {
			return err
		}
	}
	client, err := protocol.Dial(f.identity,
		protocol.DialOptions{Now: f.config.Clock.Now, Coordinator: leader.Address})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	silent := f.config.Clock.AfterFunc(keysSilence, stop)
	defer silent.Stop()
	return server.StudyKeys(ctx, client, func(all map[study.Hash][]byte) {
		silent.Reset(keysSilence)
		take(all)
	})
}
