package agent

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus/promhttp"

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
	c := a.state.config
	if c.Metrics != "" {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", promhttp.HandlerFor(a.counts.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2}))
		mux.HandleFunc("GET /readyz", a.counts.ready)
		err = serve("metrics", c.Metrics, webpage.Loopback(mux))
	}
	if err == nil && c.Page != "" {
		var d *desk
		if d, err = a.newDesk(); err == nil {
			if err = serve("page", c.Page, d.handler()); err != nil {
				d.close()
			} else {
				ends = append(ends, d.close)
			}
		}
	}
	if err != nil {
		shut()
		return nil, err
	}
	return shut, nil
}
