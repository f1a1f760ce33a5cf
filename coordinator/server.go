package coordinator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"caucus/aggregation/shares"
	aggregators "caucus/aggregator"
	"caucus/coordinator/cluster"
	"caucus/coordinator/folder"
	"caucus/coordinator/members"
	"caucus/coordinator/records"
	"caucus/coordinator/watch"
	"caucus/internal/database"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/protocol/server"
	"caucus/study"
)

// Server is a running coordinator: it holds its folder's lock, or PostgreSQL's lease, until Close.
// Most exported methods are calls of members, which the gate has admitted; they may run at the same
// time.
type Server struct {
	unimplemented
	*members.Registrar

	config       folder.Config
	authority    *server.Authority
	signer       *protocol.Signer
	addresses    *addressBook
	cluster      *cluster.Cluster // nil: no other replicas are known
	keys         protocol.Keys    // all keys that this coordinator ever signed with
	store        records.Store
	certificates *members.Certificates
	registry     *registry
	scheduler    *scheduler
	sharing      *sharing
	counts       *watch.Metrics
	gate         *members.CallGate
	presence     *watch.CallTracker
	started      time.Time // when presence began to record callers
	run          []byte    // identifies this process in notices

	lost       <-chan struct{}    // closed when another replica may lead; nil: never
	ballotKeys *records.StudyKeys // nil without replicas
	stopping   <-chan struct{}    // closed when Run is about to return
	uploads    chan struct{}
	listener   net.Listener
	admitted   net.Listener // connections that passed the gate
	grpc       *grpc.Server
	health     *health.Server // nil: off
	unwell     atomic.Bool
	watcher    *watch.Watcher // nil: off
	scrubbed   bool           // deleted rows are overwritten in the files
	closers    []func() error // in the order of opening
	closeOnce  sync.Once
	closeErr   error
}

// unimplemented answers calls that this version does not know.
type unimplemented struct {
	pb.UnimplementedEnrolmentServer
	pb.UnimplementedStudiesServer
	pb.UnimplementedAdministrationServer
	pb.UnimplementedReplicasServer
}

// New opens a coordinator's folder and listens; Run then serves. Call Close if Run is never called.
// If the port is in use, the error is syscall.EADDRINUSE.
func New(c folder.Config) (*Server, error) {
	s := &Server{config: c.WithDefaults(), counts: watch.NewMetrics()}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("start coordinator: %w", err), s.Close())
	}
	return s, nil
}

func (s *Server) open() error {
	c := s.config
	if err := c.Validate(); err != nil {
		return err
	}
	if _, err := os.Stat(c.Path(folder.ConfigFile)); err != nil {
		return fmt.Errorf("%w: make the folder with coordinator init first", err)
	}
	stores := c.Stores
	if stores == nil {
		var err error
		if stores, err = folder.OpenStoresAsLeader(context.Background(), c, nil); err != nil {
			return err
		}
		if err := stores.RequestBallotsAgain(context.Background(), c); err != nil {
			return errors.Join(err, stores.Close())
		}
	}
	if stores.Lease != nil {
		s.lost = stores.Lease.Lost
	}
	s.closers = append(s.closers, stores.Close)
	ring, err := folder.LoadKeyring(c)
	if err != nil {
		return err
	}
	s.authority, s.signer, s.keys = ring.Authority, ring.Signer, ring.Keys
	if err := folder.ForgetOldKeys(c, len(s.keys.Successions())); err != nil {
		return err
	}
	s.cluster = stores.Cluster
	stores.Store.OnError = s.noteDamage
	s.store, s.ballotKeys = stores.Store, stores.Store.Keys
	if err := s.store.Check(context.Background()); err != nil {
		return err
	}
	// the last process may have been killed before it could scrub
	s.scrubbed = s.scrub(context.Background())
	if err := s.assemble(stores.Journal); err != nil {
		return err
	}
	if stores.Lease != nil {
		s.addresses.first = stores.Lease.Since().UnixMilli()
	}
	if err := s.openHelper(stores); err != nil {
		return err
	}
	return s.listen()
}

// scrub overwrites deleted rows in the files, and reports whether that succeeded. The coordinator
// serves even if it fails, for example on a full disk.
func (s *Server) scrub(ctx context.Context) bool {
	err := s.store.Scrub(ctx)
	if err != nil && ctx.Err() == nil {
		s.config.Log.Warn("what deleted rows left behind is not overwritten yet; it will be tried again", "error", err)
	}
	return err == nil
}

// scrubLater repeats scrub until it succeeds or ctx ends, waiting longer each time.
func (s *Server) scrubLater(ctx context.Context, wait, most time.Duration) {
	for !s.scrubbed {
		if !s.config.Clock.Sleep(ctx, wait) {
			return
		}
		wait = min(2*wait, most)
		s.scrubbed = s.scrub(ctx)
	}
}

// assemble makes the parts that work on the store and the ledger. It opens no file and no port.
func (s *Server) assemble(j privacy.Journal) error {
	c, ctx := s.config, context.Background()
	s.certificates = members.NewCertificates(s.store, c.Clock.Now)
	s.addresses = &addressBook{signer: s.signer, cluster: s.cluster, fixed: c.Address}
	s.sharing = &sharing{}
	s.registry = &registry{sharing: s.sharing, store: s.store, certificates: s.certificates,
		watch: &clockWatch{store: s.store, clock: c.Clock, log: c.Log}, point: c.Checkpoint}
	if err := s.registry.open(ctx, c.MaxStop); err != nil {
		return err
	}
	releaser, err := s.openLedger(j)
	if err != nil {
		return err
	}
	s.scheduler = &scheduler{
		registry: s.registry, releaser: releaser, clock: c.Clock, tick: c.CheckInterval, log: c.Log,
		wake: make(chan struct{}, 1), counts: s.counts, onError: s.noteDamage,
	}
	s.presence, s.started, s.run = watch.NewCallTracker(c.Log), c.Clock.Now(), make([]byte, 16)
	rand.Read(s.run)
	s.uploads = make(chan struct{}, c.Limits.Uploads)
	s.gate = members.NewCallGate(s.certificates, c, s.counts.Registry)
	s.Registrar = members.NewRegistrar(c, s.store,
		folder.Keyring{Authority: s.authority, Keys: s.keys}, s.gate, s.address)
	return nil
}

func (s *Server) openLedger(j privacy.Journal) (releaser, error) {
	if _, err := privacy.Verify(context.Background(), j); err != nil {
		return releaser{}, fmt.Errorf("%w: restore a backup of the whole folder", err)
	}
	// The store remembers the ledger's last entry, so an older ledger releases nothing.
	var last int64
	err := s.store.View(context.Background(), func(tx records.Tx) (err error) {
		last, err = tx.LedgerEntry()
		return err
	})
	if err != nil {
		return releaser{}, err
	}
	head, kept, err := folder.OpenLedgerHead(context.Background(), s.config.HeadFile(), j)
	if err != nil {
		return releaser{}, err
	}
	last = max(last, kept)
	if last > head.Current().Sequence {
		s.config.Log.Error("the ledger is behind what was published: it was put back to an older state; nothing is released until caucus ledger reconcile", "entry", head.Current().Sequence, "published", last)
	}
	witness := &witnesses{
		store: s.store, journal: j, head: head, signer: s.signer, keys: s.keys, counts: s.counts, log: s.config.Log, cluster: s.cluster, clock: s.config.Clock, wait: s.config.WitnessWait,
	}
	if err := witness.open(context.Background()); err != nil {
		return releaser{}, err
	}
	if s.cluster != nil {
		head.Announce = func(h privacy.Head) {
			s.cluster.UpdateState(func(own *cluster.State) { own.LedgerHead = h.String() })
		}
		head.Announce(head.Current())
	}
	ledger, err := privacy.Open(j, privacy.Config{Limits: s.config.Budget, LastSequence: last})
	return releaser{lost: last > head.Current().Sequence, ledger: ledger, journal: j, head: head,
		witness: witness, signer: s.signer, software: s.config.Software,
		repairer: repairer{watch: s.registry.watch, journal: j, repair: s.config.RepairWait,
			log: s.config.Log}}, err
}

func (s *Server) listen() error {
	c := s.config
	var err error
	if s.listener, err = net.Listen("tcp", c.Listen); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("%w: another program listens there: stop it, or change listen in %s", err, folder.ConfigFile)
		}
		return err
	}
	s.closers = append(s.closers, func() error { return ignoreClosed(s.listener.Close()) })
	if c.Page != "" || c.Metrics != "" {
		if s.watcher, err = s.listenWatched(); err != nil {
			return err
		}
		s.closers = append(s.closers, s.watcher.Close)
	}
	var options []grpc.ServerOption
	if s.admitted, options, err = s.gate.WrapListener(s.listener, s.authority); err != nil {
		return err
	}
	s.grpc = grpc.NewServer(append(options,
		grpc.ConnectionTimeout(20*time.Second),
		grpc.MaxConcurrentStreams(uint32(4*c.Limits.Calls)),
		// These bound what a caller can send before it is authenticated: message, window, header.
		grpc.MaxRecvMsgSize(protocol.MaxMessage), grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(4*window), grpc.MaxHeaderListSize(16<<10),
		grpc.ReadBufferSize(0), // TLS already keeps a record until it is read
		// Clients check their connections once a minute.
		// Clients of several replicas ask more often; half of their time leaves room for their
		// clocks.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: protocol.PingInterval / 2, PermitWithoutStream: true,
		}),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: c.Limits.MaxPause,
			Time: 2 * time.Minute, Timeout: 20 * time.Second}),
		grpc.WaitForHandlers(true),
	)...)
	services := s.gate.Services(s.grpc)
	pb.RegisterEnrolmentServer(services, s)
	pb.RegisterStudiesServer(services, s)
	pb.RegisterAdministrationServer(services, s)
	if s.ballotKeys != nil {
		pb.RegisterReplicasServer(services, s)
	}
	if c.Health {
		s.health = health.NewServer()
		grpc_health_v1.RegisterHealthServer(services, s.health)
	}
	if c.Reflection {
		reflection.Register(s.grpc)
	}
	s.gate.AllowMethods(s.grpc.GetServiceInfo())
	return nil
}

// window bounds the bytes in flight of one call. A message that is being read widens the window to
// its own size. A caller with round trips of 100 ms uploads 2 MB/s.
const window = 64 << 10

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Addr is the address in use, with the port that the system chose if the configuration says 0.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until ctx ends, and returns nil after an orderly stop. While it stops, it takes no new
// call, lets calls under way end within Config.StopGrace, and interrupts folding and releasing
// where the next start can resume.
func (s *Server) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.stopping = ctx.Done()
	var under sync.WaitGroup
	under.Go(func() { s.scheduler.run(ctx) })
	if s.sharing.helped() {
		under.Go(func() { s.scheduler.confirms(ctx) })
	}
	under.Go(func() { s.scrubLater(ctx, firstWait, lastWait) })
	if s.cluster != nil {
		under.Go(func() { s.follows(ctx) })
	}
	if s.watcher != nil {
		under.Go(func() { _ = s.watcher.Serve() })
	}
	failed := make(chan error, 1)
	under.Go(func() { failed <- s.grpc.Serve(s.admitted) })
	s.config.Log.Info("coordinator runs", "address", s.Addr(), "studies", len(s.registry.all()))
	var err error
	select {
	case <-ctx.Done():
	case <-s.lost:
		err = database.ErrLeaseLost
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
	}
	stop()
	if s.health != nil {
		s.health.Shutdown()
	}
	grace := s.config.StopGrace
	if errors.Is(err, database.ErrLeaseLost) {
		grace = 0
	}
	force := s.config.Clock.AfterFunc(grace, s.grpc.Stop)
	s.grpc.GracefulStop()
	force.Stop()
	if s.watcher != nil {
		s.watcher.Close()
	}
	under.Wait()
	if failed := s.registry.watch.save(context.WithoutCancel(ctx), true); failed != nil {
		s.config.Log.Warn("the time of the stop is not stored", "error", failed)
	}
	s.config.Log.Info("coordinator stopped")
	return errors.Join(err, s.Close())
}

// Close releases what New opened. Run calls it at its end.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		if s.grpc != nil {
			s.grpc.Stop()
		}
		for i := len(s.closers) - 1; i >= 0; i-- {
			s.closeErr = errors.Join(s.closeErr, s.closers[i]())
		}
	})
	return s.closeErr
}

// follows tells the other replicas how many studies' keys this one holds, and the log about a
// rival.
func (s *Server) follows(ctx context.Context) {
	for before := ""; ; {
		changed := s.cluster.Changed()
		all, keys := s.ballotKeys.All()
		s.cluster.UpdateState(func(own *cluster.State) { own.Keys = len(all) })
		now := ""
		if err := rival(s.cluster); err != nil {
			now = err.Error()
		}
		if now != before && now != "" {
			s.config.Log.Error(now)
		}
		before = now
		select {
		case <-changed:
		case <-keys:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) address() string {
	if a, _, _ := s.addresses.current(); a.List != "" {
		return a.List
	}
	return s.Addr()
}

// noteDamage marks the coordinator as unhealthy if an error of the store or the ledger shows a
// damaged database. So monitoring notices the first damaged page. The mark stays until a start on
// sound files.
func (s *Server) noteDamage(err error) {
	if !database.IsDamaged(err) || !s.unwell.CompareAndSwap(false, true) {
		return
	}
	s.config.Log.Error("a file of this coordinator is damaged: stop it and restore a backup of the whole folder", "error", err)
	if s.health != nil {
		s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	}
}

// openHelper opens this coordinator's own aggregator, if a helper is configured. The aggregator
// releases through the coordinator's ledger.
func (s *Server) openHelper(stores *folder.Stores) error {
	c := s.config
	if !c.Helper.Configured() {
		return nil
	}
	signer, err := protocol.LoadSigner(c.Path(folder.HelperSigningKeyFile))
	if err != nil {
		return fmt.Errorf("helper: %w: caucus helper keys makes it", err)
	}
	server, err := aggregators.Open(context.Background(), aggregators.Config{
		Role: shares.Coordinator, Store: stores.SharesStore, Head: c.SharesHead(), Lease: stores.Lease, Journal: stores.Journal, Ledger: s.scheduler.releaser.ledger,
		Signer: signer, OtherKey: c.Helper.Key, Checkpoint: c.Checkpoint,
		Task: func(ctx context.Context, h study.Hash) (study.Task, error) {
			study := s.registry.byHash(h)
			if study == nil {
				return nil, fmt.Errorf("%w: no study %s", protocol.ErrNotFound, h)
			}
			a, err := study.studyChecker(ctx)
			if err != nil {
				return nil, err
			}
			return a.task, nil
		},
	})
	if err != nil {
		return fmt.Errorf("helper: %w", err)
	}
	s.closers = append(s.closers, server.Close)
	if server.IsRestored() {
		c.Log.Error("what this coordinator keeps of shares was put back to an older state: no study with noise by aggregators goes on until caucus helper keys --reconcile")
	}
	helper, err := aggregators.Dial(c.Helper.Address, signer, c.Helper.Key)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, helper.Close)
	*s.sharing = sharing{server, helper, [2]protocol.SignerKey{signer.Key(), c.Helper.Key}}
	return nil
}
