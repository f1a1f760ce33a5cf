package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"caucus/agent/desk"
	"caucus/agent/health"
	"caucus/agent/site"
	"caucus/internal/webpage"
	"caucus/protocol"
	"caucus/study"
)

// New opens the state folder of an enrolled party. It does not dial yet. Close or Run the agent.
func New(c site.Config) (*Agent, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("agent config: %w", err)
	}
	id, party, err := site.Identity(c)
	if err != nil {
		return nil, err
	}
	return newAgent(c, id, party, dial)
}

func newAgent(c site.Config, id protocol.Identity, party study.PartyID,
	dial func(site.Config, protocol.Identity) (link, error)) (*Agent, error) {
	c.Clock = c.Clock.Complete()
	s, err := site.Open(c, party)
	if err != nil {
		return nil, err
	}
	l, err := dial(c, id)
	if err != nil {
		s.Close()
		return nil, err
	}
	if err := c.Policy.Helper.RefuseKeys(l.Keys()); err != nil {
		l.Close()
		s.Close()
		return nil, fmt.Errorf("agent config: %w", err)
	}
	s.Coordinator = l.Keys()
	log := cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	a := &Agent{
		site: s, link: l, dial: dial, id: id, log: log.With("party", string(party)),
		logged: map[string]string{}, recorded: map[string]bool{}, refused: map[study.Hash]string{}, reports: &reports{quiet: c.HideWaits, waits: map[study.Hash]protocol.WaitReason{}}, preparation: &preparation{prepare: func(ctx context.Context, w window) draft { return drafted(ctx, s, w) }, clock: c.Clock}, clock: c.Clock, jitter: jitter, counts: health.NewMetrics(),
	}
	a.Desk = desk.New(s, a.refresh)
	return a, nil
}

// shown serves the page and the metrics of a running agent, until shut is called.
func (a *Agent) shown() (shut func(), err error) {
	var under sync.WaitGroup
	var ends []func()
	shut = func() {
		for _, end := range ends {
			end()
		}
		under.Wait()
	}
	serve := func(what, address string, h http.Handler) error {
		l, err := webpage.Listen(address)
		if err != nil {
			return fmt.Errorf("%s: %w: another program may listen there: give another port in the config", what, err)
		}
		s := webpage.NewServer(h, a.log)
		l = a.silence.serves(s, l)
		under.Go(func() {
			if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) &&
				!errors.Is(err, net.ErrClosed) {
				a.log.Warn("what is shown ended", "what", what, "error", err)
			}
		})
		ends = append(ends, func() { s.Close() })
		return nil
	}
	c := a.site.Config
	if c.MetricsAddress != "" {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics",
			promhttp.HandlerFor(a.counts.Registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2}))
		mux.HandleFunc("GET /readyz", a.counts.ServeReadiness)
		err = serve("metrics", c.MetricsAddress, webpage.Loopback(mux))
	}
	if err == nil && c.PageAddress != "" {
		var p *desk.Page
		if p, err = a.newPage(); err == nil {
			if err = serve("page", c.PageAddress, p.Handler()); err != nil {
				p.Close()
			} else {
				ends = append(ends, p.Close)
			}
		}
	}
	if err != nil {
		shut()
		return nil, err
	}
	return shut, nil
}

// newPage opens the state folder a second time for the page, as another process would.
func (a *Agent) newPage() (*desk.Page, error) {
	own, err := newAgent(a.site.Config, a.id, a.site.Party, a.dial)
	if err != nil {
		return nil, err
	}
	p, err := desk.NewPage(own.Desk, own.Close, a.log)
	if err != nil {
		own.Close()
	}
	return p, err
}
