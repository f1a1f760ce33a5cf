package helper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"

	"golang.org/x/net/netutil"

	"caucus/aggregation/shares"
	"caucus/aggregator"
	"caucus/internal/database"
	"caucus/internal/folder"
	"caucus/internal/webpage"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
)

// Server is a running helper: it holds its folder's lock, ledger, store and listeners until Close.
type Server struct {
	config   Config
	server   *aggregator.Server
	ledger   *journal.Journal
	pins     Pins
	listener net.Listener
	watch    net.Listener
	watched  *http.Server
	closers  []func() error
	once     sync.Once
	closed   error
}

// New opens a helper's folder and listens. Run then serves; call Close if Run is never called.
func New(c Config) (*Server, error) {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	s := &Server{config: c}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("start helper: %w", err), s.Close())
	}
	return s, nil
}

func (s *Server) open() error {
	c := s.config
	if err := errors.Join(c.Validate(), c.checkHead()); err != nil {
		return err
	}
	if !c.HasCoordinatorKey() {
		return fmt.Errorf("coordinator: %s names none: its operator gives the key, which caucus helper keys prints", ConfigFile)
	}
	unlock, err := folder.LockForDaemon(c.Dir, "another helper")
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { unlock(); return nil })
	if err := database.Upgrade(context.Background(), journal.SQLite(c.path(LedgerFile)),
		aggregator.SQLite(c.path(storeFile))); err != nil {
		return err
	}
	if err := s.openFiles(); err != nil {
		return err
	}
	if s.server.IsRestored() {
		c.Log.Error("this helper's files were put back to an older state: it says nothing of any study until caucus ledger reconcile")
	}
	if s.listener, err = c.listen(); err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { return ignoreClosed(s.listener.Close()) })
	if c.Metrics != "" {
		if s.watch, err = webpage.Listen(c.Metrics); err != nil {
			return fmt.Errorf("listen for metrics: %w", err)
		}
		s.watched = webpage.NewServer(webpage.Loopback(s.pages()), c.Log)
		s.closers = append(s.closers, func() error {
			return errors.Join(s.watched.Close(), ignoreClosed(s.watch.Close()))
		})
	}
	return nil
}

// mostConnections bounds those at a time; the coordinator has one. Strangers hold the others until
// their handshake fails.
const mostConnections = 64

func (c Config) listen() (net.Listener, error) {
	l, err := net.Listen("tcp", c.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w: another program listens there: stop it, or change listen in %s", err, ConfigFile)
	}
	if err != nil {
		return nil, err
	}
	return netutil.LimitListener(l, mostConnections), nil
}

func (s *Server) openFiles() error {
	c := s.config
	signer, err := protocol.LoadSigner(c.path(signerFile))
	if err != nil {
		return err
	}
	sealing, err := server.LoadSealingKey(c.path(sealingFile))
	if err != nil {
		return err
	}
	s.pins = pinsOf(signer, sealing)
	// An empty ledger would have forgotten all spending.
	if err := database.Check(c.path(LedgerFile)); err != nil {
		return err
	}
	if s.ledger, err = journal.OpenSQLite(c.path(LedgerFile)); err != nil {
		return err
	}
	s.closers = append(s.closers, s.ledger.Close)
	if _, err := privacy.Verify(context.Background(), s.ledger); err != nil {
		return fmt.Errorf("%w: restore a backup of the whole folder", err)
	}
	on := &planStore{dir: c.path(shelfFolder), policy: c.Policy, maxPool: c.MaxPoolBytes,
		maxPlans: c.MaxPlans, maxStored: c.MaxStored}
	s.server, err = aggregator.Open(context.Background(), aggregator.Config{
		Role: shares.Helper, Store: c.path(storeFile), Head: c.headFile(), Journal: s.ledger, Limits: c.Budget,
		Signer: signer, OtherKey: c.Coordinator, Sealing: sealing, Task: on.task, Plans: on, Checkpoint: c.Checkpoint,
		CheckPolicy: s.serves, CheckBudget: s.affords, MaxOpen: c.MaxOpenStudies, MaxShares: c.MaxStoreBytes,
	})
	if err == nil {
		s.closers = append(s.closers, s.server.Close)
	}
	return err
}

// serves refuses a study that the policy excludes or whose cost the ledger could not pay beside
// those of accepted studies, so that parties do not spend on it. The ledger decides again at the
// release.
func (s *Server) serves(t study.Task) error {
	if err := s.config.Policy.Check(t.Plan()); err != nil {
		return err
	}
	return s.affords(t)
}

// affords returns why the budget has too little left for a study beside those that were promised.
func (s *Server) affords(t study.Task) error {
	ledger, err := privacy.Open(s.ledger, privacy.Config{Limits: s.config.Budget})
	if err != nil {
		return err
	}
	after, err := ledger.Totals(context.Background())
	if err != nil {
		return err
	}
	charges, err := t.Charges(0)
	if err != nil {
		return err
	}
	promised, err := s.server.PromisedCosts(context.Background())
	if err != nil {
		return err
	}
	for _, c := range charges {
		promised = append(promised, c.CalibratedCost)
	}
	for _, c := range promised {
		after = after.Plus(c)
	}
	for u, most := range s.config.Budget {
		if !(after[u].Epsilon(most.Delta) <= most.Epsilon) {
			return fmt.Errorf("budget: this helper's ledger has too little left at unit %s for it beside the studies that it accepted (epsilon %g, delta %g in all; caucus helper studies lists them)", u, most.Epsilon, most.Delta)
		}
	}
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Addr is the address in use, with the port that the system chose if the configuration says 0.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Pins are the helper's current keys, for its operator to give to others by hand.
func (s *Server) Pins() Pins { return s.pins }

// Run serves the coordinator until ctx ends, and then completes the calls under way. The process
// may be killed at any time: every answer to the coordinator was on disk before, and the next start
// resumes there.
func (s *Server) Run(ctx context.Context) error {
	var under sync.WaitGroup
	if s.watched != nil {
		under.Go(func() { _ = s.watched.Serve(s.watch) })
	}
	s.config.Log.Info("helper runs", "address", s.Addr(), "behind", s.server.IsRestored())
	err := s.server.Serve(ctx, s.listener, s.config.Log)
	if s.watched != nil {
		s.watched.Close()
	}
	under.Wait()
	s.config.Log.Info("helper stopped")
	return errors.Join(err, s.Close())
}

// Close releases what New opened. Run calls it at its end.
func (s *Server) Close() error {
	s.once.Do(func() {
		for i := len(s.closers) - 1; i >= 0; i-- {
			s.closed = errors.Join(s.closed, s.closers[i]())
		}
	})
	return s.closed
}
