package agent

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"caucus/agent/desk"
	"caucus/internal/webpage"
)

// shown serves the page and the metrics of an agent that runs, each where the config
// says so, until shut is called.
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
		s := webpage.Server(h, a.log)
		a.silence.serves(s)
		under.Go(func() {
			if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				a.log.Warn("what is shown ended", "what", what, "error", err)
			}
		})
		ends = append(ends, func() { s.Close() })
		return nil
	}
	c := a.site.Config
	if c.Metrics != "" {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", promhttp.HandlerFor(a.counts.Registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2}))
		mux.HandleFunc("GET /readyz", a.counts.Ready)
		err = serve("metrics", c.Metrics, webpage.Loopback(mux))
	}
	if err == nil && c.Page != "" {
		var p *desk.Page
		if p, err = a.newPage(); err == nil {
			if err = serve("page", c.Page, p.Handler()); err != nil {
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

// newPage opens the state folder once more, as another process would, for the page.
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
