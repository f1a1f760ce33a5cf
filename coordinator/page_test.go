package coordinator

import (
	"context"
	"encoding/hex"
	"fmt"
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
	"caucus/study"
)

// visitor is somebody who opened a world's page with a link.
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

// TestPageWaitsForNothing: while a transaction of the store, one of the ledger and the
// lock of a study are held, as in a fold and a draw, pages load; and a page that is
// loading holds none of them.
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
	w.clock.add(4 * time.Second) // what was read of the ledger is old
	for _, path := range []string{"", "study/" + s.Hash.String(), ""} {
		code, text, took := v.get(path)
		if code != http.StatusOK || !strings.Contains(text, "1 of 3 have contributed") {
			t.Errorf("%q: %d %s", path, code, text)
		}
		if took > 5*time.Second { // it would wait for as long as they are held
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

// TestPageApart: the page and what machines read are each where the configuration says, and
// only there.
func TestPageApart(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	for name, set := range map[string]func(*folder.Config){
		"page":    func(c *folder.Config) { c.Page = "127.0.0.1:0" },
		"metrics": func(c *folder.Config) { c.Metrics = "127.0.0.1:0" },
		"both":    func(c *folder.Config) { c.Page, c.Metrics = "127.0.0.1:0", "localhost:0" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set)
			if (w.server.watcher.PageAt() != nil) != (name != "metrics") ||
				(w.server.watcher.MetricsAt() != nil) != (name != "page") {
				t.Fatalf("page at %v, metrics at %v", w.server.watcher.PageAt(),
					w.server.watcher.MetricsAt())
			}
			if name != "metrics" {
				v := w.visit(t)
				if code, text, _ := v.get(""); code != http.StatusOK {
					t.Errorf("the page: %d %s", code, text)
				}
				for _, path := range []string{"metrics", "livez", "readyz"} {
					if code, text, _ := v.get(path); code != http.StatusNotFound {
						t.Errorf("%s where the page is: %d %s", path, code, text)
					}
				}
			}
			if name != "page" {
				for path, want := range map[string]int{"metrics": http.StatusOK,
					"livez": http.StatusOK, "": http.StatusNotFound,
					"open?link=x": http.StatusNotFound} {
					reply := must(http.Get("http://" + w.server.watcher.MetricsAt().String() + "/" +
						path))
					reply.Body.Close()
					if reply.StatusCode != want {
						t.Errorf("/%s where machines read: %d, want %d", path, reply.StatusCode,
							want)
					}
				}
			}
		})
	}
}

// TestPageShowsNoMore: the page shows what study show, party list and a reader of the
// release see: nothing of a contribution but that it is there, and no release whose
// plan names its readers. It has no form but the one that leaves.
func TestPageShowsNoMore(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) {
		c.Page, c.Metrics = "127.0.0.1:0", "127.0.0.1:0" // one address
		c.Report = func(to io.Writer, r study.Release) error {
			_, err := fmt.Fprintf(to, "the report of %d parties", r.Parties)
			return err
		}
		c.Budget = map[privacy.Unit]privacy.Budget{privacy.Party: {Epsilon: 20, Delta: 1e-5}}
	})
	roster, pool := names(3), poolOf(40)
	for _, p := range roster {
		w.enrol(string(p))
	}
	var bodies [][]byte
	hashes := map[string]study.Hash{}
	for i, name := range []string{"for-all", "for-one"} {
		plan := planOf(roster, pool, w.clock.Now().Add(time.Hour))
		plan.Name, plan.Purpose = name, "<script>alert(1)</script>"
		if i == 1 {
			plan.Readers = []string{"p1"}
		}
		s := w.open(withTerms(plan, pool), pool)
		hashes[name] = s.Hash
		for k, p := range roster {
			bodies = append(bodies, ballotFor(k, 40))
			must(w.parties[string(p)].Contribute(ctx, s.Hash, ballotFor(k, 40)))
		}
		w.wait(name, study.Released)
	}
	v := w.visit(t)
	all := ""
	for _, path := range []string{"", "study/" + hashes["for-all"].String(),
		"study/" + hashes["for-one"].String()} {
		code, text, _ := v.get(path)
		if code != http.StatusOK {
			t.Errorf("%q: %d", path, code)
		}
		if strings.Contains(text, "<script") || strings.Count(text, "<form") != 1 ||
			!strings.Contains(text, "/leave\"") {
			t.Errorf("%q runs or does something: %s", path, text)
		}
		all += text
	}
	for _, says := range []string{"for-all", "for-one", "&lt;script&gt;", "p0",
		"names who reads it: p1. It is not shown here", "ε = ", "2 charges"} {
		if !strings.Contains(all, says) {
			t.Errorf("the page does not say %q: %s", says, all)
		}
	}
	for _, b := range bodies {
		if strings.Contains(all, hex.EncodeToString(b)) {
			t.Error("a contribution is on the page")
		}
	}
	must(0, w.server.store.View(ctx, func(tx records.Tx) error {
		for _, h := range hashes {
			for _, digest := range must(tx.Received(h)) {
				if strings.Contains(all, digest.String()[:8]) {
					t.Error("the digest of a contribution is on the page")
				}
			}
		}
		return nil
	}))
	if code, text, _ := v.get("study/" + hashes["for-all"].String() +
		"/report"); code != http.StatusOK || text != "the report of 3 parties" {
		t.Errorf("the report: %d %s", code, text)
	}
	for _, path := range []string{"study/" + hashes["for-one"].String() + "/report",
		"study/" + strings.Repeat("0", 64), "study/for-all", "study/../../metrics", "other"} {
		if code, text, _ := v.get(path); code == http.StatusOK {
			t.Errorf("%s: %s", path, text)
		}
	}
	// Metrics, life and readiness stay as they were: without a link, without names.
	metrics := must(http.Get("http://" + w.server.watcher.PageAt().String() + "/metrics"))
	defer metrics.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	if text := string(must(io.ReadAll(metrics.Body))); metrics.StatusCode != http.StatusOK ||
		strings.Contains(text, "for-all") {
		t.Errorf("metrics: %d", metrics.StatusCode)
	}
}
