package agent

import (
	"caucus/agent/site"
	"caucus/internal/webpage"
	"caucus/protocol"
	"strings"
	"testing"
)

// TestShownOnlyWhereSaid: an agent listens only where its config says, on loopback; if the port is
// taken it ends with an error that says so.
func TestShownOnlyWhereSaid(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	shut, err := a.shown()
	if err != nil {
		t.Fatal(err)
	}
	shut()
	taken, err := webpage.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, set := range []func(*site.Config){func(c *site.Config) {
		c.PageAddress = taken.Addr().String()
	}, func(c *site.Config) { c.MetricsAddress = taken.Addr().String() }} {
		c := r.Config
		set(&c)
		b, err := newAgent(c, protocol.Identity{}, "site",
			func(site.Config, protocol.Identity) (link, error) {
				return r.coordinatorDouble, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Run(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "give another port") {
			t.Errorf("a port that is taken: %v", err)
		}
	}
	for text, says := range map[string]string{
		"page: 0.0.0.0:1\n": "not a loopback", "metrics: example.org:1\n": "not a loopback", "page: here\n": "no host:port",
		"page: 127.0.0.1:9\nmetrics: 127.0.0.1:9\n": "a port of its own",
	} {
		if _, err := site.ParseConfig([]byte("state: s\n" + text)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
