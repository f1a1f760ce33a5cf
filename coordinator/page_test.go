package coordinator

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/webpage"
	"caucus/privacy"
)

// visitor is a browser that opened a world's page with a link.
type visitor struct {
	t    *testing.T
	http *http.Client
	base string
}

// visit opens a world's page.
func (w *world) visit(t *testing.T) *visitor {
	t.Helper()
	v := &visitor{t: t, http: &http.Client{Jar: must(cookiejar.New(nil)),
		Timeout: 20 * time.Second}}
	t.Cleanup(v.http.CloseIdleConnections)
	reply := must(v.http.Get(must(webpage.NewLink(w.config.Dir, w.server.watcher.PageAt().String(),
		w.clock.Now()))))
	defer reply.Body.Close()
	if v.base = reply.Request.URL.String(); reply.StatusCode != http.StatusOK {
		t.Fatalf("the page: %d %s", reply.StatusCode, must(io.ReadAll(reply.Body)))
	}
	return v
}

func (v *visitor) get(path string) (code int, text string, took time.Duration) {
	v.t.Helper()
	began := time.Now()
	reply := must(v.http.Get(v.base + path))
	defer reply.Body.Close()
	return reply.StatusCode, string(must(io.ReadAll(reply.Body))), time.Since(began)
}

// TestPageWaitsForNothing: pages load while a transaction of the store, one of the ledger, and a
// study's lock are held, as during folding and drawing. A page that is loading holds none of them.
func TestPageWaitsForNothing(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) { c.Page = "127.0.0.1:0" })
	roster, pool := names(3), poolOf(40)
	for _, p := range roster {
		w.enrol(string(p))
	}
	s := w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 40)))
	v := w.visit(t)
	hold, held, done := make(chan struct{}), make(chan struct{}, 3), make(chan struct{}, 3)
	go func() {
		must(0, w.server.store.Update(ctx, func(records.Tx) error {
			held <- struct{}{}
			<-hold
			return nil
		}))
		done <- struct{}{}
	}()
	go func() {
		must(0, w.server.scheduler.releaser.journal.Update(ctx, func(privacy.Tx) error {
			held <- struct{}{}
			<-hold
			return nil
		}))
		done <- struct{}{}
	}()
	go func() {
		c := w.server.registry.byHash(s.Hash)
		c.advancing.Lock()
		c.mu.Lock()
		held <- struct{}{}
		<-hold
		c.mu.Unlock()
		c.advancing.Unlock()
		done <- struct{}{}
	}()
	for range 3 {
		<-held
	}
	w.clock.add(4 * time.Second) // the page's copy of the ledger is old now
	for _, path := range []string{"", "study/" + s.Hash.String(), ""} {
		code, text, took := v.get(path)
		if code != http.StatusOK || !strings.Contains(text, "1 of 3 have contributed") {
			t.Errorf("%q: %d %s", path, code, text)
		}
		if took > 5*time.Second { // a page that waits would take as long as they are held
			t.Errorf("%q took %v", path, took)
		}
	}
	if _, text, _ := v.get(""); !strings.Contains(text, "The ledger is being read.") &&
		!strings.Contains(text, "A release is being made") {
		t.Errorf("it does not say that the ledger is busy: %s", text)
	}
	close(hold)
	for range 3 {
		<-done
	}
}
