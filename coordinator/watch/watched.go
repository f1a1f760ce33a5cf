package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"caucus/coordinator/cluster"
	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/webpage"
	"caucus/privacy"
	"caucus/protocol/pb"
	"caucus/study"
)

// Coordinator is the watched server. Its methods wait neither for a fold nor for a draw of noise.
type Coordinator interface {
	Health() Health
	// Studies lists all studies as an operator sees them, without names of parties.
	Studies(context.Context) ([]*pb.Summary, error)
	// Awaited lists the contributors that must call once more before a study can be released.
	Awaited(h study.Hash, contributors, others []study.PartyID) []study.PartyID
}

// Health is the coordinator's state at one moment, for page, metrics and readiness. It names no
// party and no study.
type Health struct {
	Now          time.Time
	ClockDoubt   error // why the clock is not trusted; nil: it is
	LedgerBehind bool  // the ledger lacks entries that were published
	StoreDamaged bool  // a damaged file was found
	Uploads      int   // contributions and pools in memory
	// HasHelper: a helper is configured. HelperSilentSince is since when the helper has not
	// answered; zero: it answers.
	HasHelper bool
	// RivalLeader says which other leader keeps this one from releasing; nil: none.
	RivalLeader error
	// Replicas are those of this coordinator, as this one hears of them; none: it looks for none.
	Replicas          []cluster.Member
	HelperSilentSince time.Time
}

// WatchedParts is a coordinator with the parts that the page and the metrics read directly.
type WatchedParts struct {
	Coordinator
	Config        *folder.Config
	Store         records.Store
	Journal       privacy.Journal // the coordinator's ledger
	Ledger        *privacy.Ledger
	Calls         *CallTracker
	Metrics       *Metrics
	Address       string    // address that parties dial
	Started       time.Time // when presence began to record callers
	AuthorityEnds time.Time // the end of the authority's certificate
}

// Watcher serves the page and the metrics to whoever looks after this machine.
type Watcher struct {
	servers           map[net.Listener]*http.Server
	metricsAt, pageAt net.Listener // may be the same; nil: off
	page              *page        // nil: off
}

// Listen listens on loopback addresses for those who watch this coordinator. The two addresses may
// be the same. At Config.MetricsAddress, for machines:
//
//	/metrics   counts and states, for Prometheus; no name of a party or study
//	/livez     200 as long as it answers at all
//	/readyz    200 if it can take contributions and release; else 503 with each cause on a line
//
// At Config.PageAddress, for people with a link, the page, which names parties and studies
// (newPage).
func Listen(s WatchedParts) (w *Watcher, err error) {
	w = &Watcher{servers: map[net.Listener]*http.Server{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	machines := http.NewServeMux()
	people := machines
	if s.Config.Page != s.Config.Metrics {
		people = http.NewServeMux()
	}
	if s.Config.Page != "" {
		if w.page, err = newPage(&s); err != nil {
			return w, err
		}
		people.Handle("/", w.page.guard.Protect(w.page.routes()))
	}
	if s.Config.Metrics != "" {
		if err := s.answerMachines(machines); err != nil {
			return w, err
		}
		if w.metricsAt, err = w.listen("metrics", s.Config.Metrics, machines,
			s.Config.Log); err != nil {
			return w, err
		}
	}
	switch s.Config.Page {
	case "":
	case s.Config.Metrics:
		w.pageAt = w.metricsAt
	default:
		w.pageAt, err = w.listen("the page", s.Config.Page, people, s.Config.Log)
	}
	return w, err
}

func (w *Watcher) listen(what, address string, mux *http.ServeMux, log *slog.Logger) (net.Listener,
	error) {
	l, err := webpage.Listen(address)
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", what, err)
	}
	w.servers[l] = webpage.NewServer(webpage.Loopback(mux), log)
	return l, nil
}

func (wp *WatchedParts) answerMachines(mux *http.ServeMux) error {
	for _, c := range []prometheus.Collector{collector{wp}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := wp.Metrics.Registry.Register(c); err != nil {
			return fmt.Errorf("serve metrics: %w", err)
		}
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(wp.Metrics.Registry,
		promhttp.HandlerOpts{MaxRequestsInFlight: 2, Timeout: 2 * lookTime}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := wp.ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return nil
}

// MetricsAt and PageAt return the addresses, nil if off.
func (w *Watcher) MetricsAt() net.Addr { return addr(w.metricsAt) }

// PageAt is the page's address, with the port that the system chose; nil if it is off.
func (w *Watcher) PageAt() net.Addr { return addr(w.pageAt) }

func addr(l net.Listener) net.Addr {
	if l == nil {
		return nil
	}
	return l.Addr()
}

// Serve returns when every listener has ended, with the first error; after Close that is
// http.ErrServerClosed.
func (w *Watcher) Serve() error {
	var under errgroup.Group
	for l, server := range w.servers {
		under.Go(func() error { return server.Serve(l) })
	}
	return under.Wait()
}

// Close stops serving and the ledger's reader. A second call has no effect.
func (w *Watcher) Close() (err error) {
	for l, server := range w.servers {
		err = errors.Join(err, server.Close())
		if closed := l.Close(); !errors.Is(closed, net.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}
	if w.page != nil {
		w.page.close()
	}
	return err
}

// ready returns nil if the coordinator can take contributions and release studies. Otherwise its
// error has one cause on each line, without names of parties or studies.
func (wp *WatchedParts) ready(ctx context.Context) error {
	health := wp.Health()
	causes := []error{health.ClockDoubt, health.RivalLeader}
	if health.StoreDamaged {
		causes = append(causes, errors.New("a file of this coordinator is damaged: stop it and restore a backup of the whole folder"))
	}
	if health.LedgerBehind {
		causes = append(causes, errors.New("the ledger is behind what was published: see caucus ledger verify and caucus ledger reconcile"))
	}
	if free, err := wp.Config.FreeBytes(); err == nil && free < uint64(wp.Config.Limits.Body) {
		causes = append(causes, fmt.Errorf("the disk is nearly full: %d bytes are free, and a contribution may have %d: make room", free, wp.Config.Limits.Body))
	}
	if !health.HelperSilentSince.IsZero() {
		causes = append(causes, fmt.Errorf("the helper has not answered since %s: call its operator", health.HelperSilentSince.UTC().Format(time.RFC3339)))
	}
	ctx, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	if err := wp.Store.View(ctx, func(tx records.Tx) error {
		_, err := tx.Revision()
		return err
	}); err != nil {
		causes = append(causes, errors.New("the store cannot be read; the log says why"))
	}
	return errors.Join(causes...)
}
