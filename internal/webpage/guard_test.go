package webpage

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/internal/clock"
)

// door is a guarded page, its log, and a clock that tests move.
type door struct {
	t     *testing.T
	dir   string
	ahead time.Duration
	log   bytes.Buffer
	serve http.Handler
	posts int
}

const doorAt = "127.0.0.1:9443"

func newDoor(t *testing.T) *door {
	d := &door{t: t, dir: t.TempDir()}
	d.begin()
	return d
}

// begin starts the daemon, also again.
func (d *door) begin() {
	g := &Guard{
		Dir: d.dir, Command: "make a link", SessionLifetime: time.Hour, Log: slog.New(slog.NewTextHandler(&d.log, nil)),
		Clock: clock.Clock{Now: func() time.Time { return time.Unix(1e9, 0).Add(d.ahead) }, Elapsed: func() time.Duration { return d.ahead }},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "the page ", LinkBase(r))
	})
	mux.HandleFunc("POST /act", func(w http.ResponseWriter, r *http.Request) {
		d.posts++
		fmt.Fprint(w, "done")
	})
	d.serve = g.Protect(mux)
}

// ask sends one request as a browser with our page would; change modifies it.
func (d *door) ask(method, target string, cookies []*http.Cookie,
	change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, "http://"+doorAt+target, nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == "POST" {
		r.Header.Set("Origin", "http://"+doorAt)
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	d.serve.ServeHTTP(w, r)
	return w.Result()
}

// enter opens a link and returns the session's path and cookies.
func (d *door) enter(link string) (string, []*http.Cookie, int) {
	d.t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		d.t.Fatal(err)
	}
	reply := d.ask("GET", u.RequestURI(), nil, func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "none")
	})
	return strings.TrimSuffix(reply.Header.Get("Location"), "/"), reply.Cookies(), reply.StatusCode
}

func (d *door) link() string {
	d.t.Helper()
	link, err := NewLink(d.dir, doorAt, time.Unix(1e9, 0).Add(d.ahead))
	if err != nil {
		d.t.Fatal(err)
	}
	return link
}

// TestLinksWaitForAPerson: what a browser fetches in advance, and what another page asks for, does
// not use up a link. Its person still opens it.
func TestLinksWaitForAPerson(t *testing.T) {
	d := newDoor(t)
	u, err := url.Parse(d.link())
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range [][2]string{
		{"Sec-Purpose", "prefetch"}, {"Sec-Purpose", "prefetch;prerender"}, {"Purpose", "prefetch"},
		{"X-Moz", "prefetch"}, {"X-Purpose", "preview"}, {"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Dest", "image"}, {"Sec-Fetch-Dest", "iframe"},
	} {
		reply := d.ask("GET", u.RequestURI(), nil, func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "none")
			r.Header.Set(header[0], header[1])
		})
		if reply.StatusCode != http.StatusForbidden || len(reply.Cookies()) > 0 {
			t.Errorf("%s opens the page: %d", header, reply.StatusCode)
		}
	}
	reply := d.ask("GET", u.RequestURI(), nil, func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "none")
		r.Header.Set("Sec-Fetch-Dest", "document")
	})
	if reply.StatusCode != http.StatusSeeOther {
		t.Errorf("its person cannot open it after that: %d", reply.StatusCode)
	}
}

// TestLinksOfAnotherRun: a link opens the page only while the daemon runs in which it was made.
// After a restart it opens nothing, so a program that listened at the address in between gains
// nothing from it. Without a running daemon no link is made. A link names the address at which the
// daemon listens.
func TestLinksOfAnotherRun(t *testing.T) {
	d := newDoor(t)
	link := d.link()
	d.begin()
	if _, cookies, code := d.enter(link); code != http.StatusForbidden || len(cookies) > 0 {
		t.Errorf("a link of the run before opens: %d", code)
	}
	if _, _, code := d.enter(d.link()); code != http.StatusSeeOther {
		t.Errorf("a link of this run does not open: %d", code)
	}
	if _, err := NewLink(t.TempDir(), doorAt, time.Now()); err == nil ||
		!strings.Contains(err.Error(), "start the daemon first") {
		t.Errorf("a link without a run: %v", err)
	}
	if link, err := NewLink(d.dir, "localhost:9443", time.Now()); err != nil ||
		!strings.HasPrefix(link, "http://127.0.0.1:9443/") {
		t.Errorf("a link to localhost: %s, %v", link, err)
	}
}

// TestLinksOpenOnce: a link opens one session. A used, expired, replaced or guessed link opens
// none, and does not use up the valid link.
func TestLinksOpenOnce(t *testing.T) {
	d := newDoor(t)
	replaced := d.link()
	link := d.link()
	if info, err := os.Stat(filepath.Join(d.dir, linkFile)); err != nil ||
		info.Mode().Perm() != 0o600 {
		t.Errorf("the link's file: %v %v", info, err)
	}
	text, err := os.ReadFile(filepath.Join(d.dir, linkFile))
	if _, token, _ := strings.Cut(link, "="); err != nil || strings.Contains(string(text), token) {
		t.Errorf("the file holds the link itself: %s %v", text, err)
	}
	for _, bad := range []string{replaced, "http://" + doorAt + "/open?link=",
		"http://" + doorAt + "/open?link=guess", "http://" + doorAt + "/open"} {
		if _, cookies, code := d.enter(bad); code != http.StatusForbidden || len(cookies) > 0 {
			t.Errorf("%s opens: %d", bad, code)
		}
	}
	path, cookies, code := d.enter(link)
	if code != http.StatusSeeOther || len(cookies) != 1 || !cookies[0].HttpOnly ||
		cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != path+"/" ||
		strings.Contains(path, "link") {
		t.Fatalf("a link opens %d %s %+v", code, path, cookies)
	}
	reply := d.ask("GET", path+"/", cookies, nil)
	if body, _ := io.ReadAll(reply.Body); string(body) != "the page "+path {
		t.Errorf("the page: %s", body)
	}
	if _, _, code := d.enter(link); code != http.StatusForbidden {
		t.Error("a link opens twice")
	}
	late := d.link()
	d.ahead += LinkValid
	if _, _, code := d.enter(late); code != http.StatusForbidden {
		t.Error("a link opens after its time")
	}
	// A link that expires too late, made with a wrong clock, is refused too.
	ahead := d.link()
	d.ahead -= time.Hour
	if _, _, code := d.enter(ahead); code != http.StatusForbidden {
		t.Error("a link of a clock that ran ahead opens")
	}
	if log := d.log.String(); strings.Contains(log, "link=") || strings.Contains(log, path) ||
		strings.Contains(log, cookies[0].Value) {
		t.Errorf("the log tells of links or sessions: %s", log)
	}
}

// TestGuardRefuses: a foreign host name, another page's form or frame, half a session and an ended
// session get nothing and change nothing.
func TestGuardRefuses(t *testing.T) {
	d := newDoor(t)
	path, cookies, _ := d.enter(d.link())
	other, others, _ := d.enter(d.link())
	if code := d.ask("POST", path+"/act", cookies, nil).StatusCode; code != http.StatusOK ||
		d.posts != 1 {
		t.Fatalf("the page's own form: %d", code)
	}
	set := func(key, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(key, value) }
	}
	drop := func(key string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Del(key) }
	}
	host := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Host = name; r.Header.Set("Origin", "http://"+name) }
	}
	for name, bad := range map[string]struct {
		method, path string
		cookies      []*http.Cookie
		change       func(*http.Request)
	}{
		"a name that was pointed here":             {"POST", path + "/act", cookies, host("attacker.example:9443")},
		"the same, reading":                        {"GET", path + "/", cookies, host("attacker.example:9443")},
		"a name that looks like an address":        {"GET", path + "/", cookies, host("127.0.0.1.attacker.example")},
		"another site's form":                      {"POST", path + "/act", cookies, set("Origin", "https://attacker.example")},
		"another port's form":                      {"POST", path + "/act", cookies, set("Origin", "http://127.0.0.1:6666")},
		"a form of nobody":                         {"POST", path + "/act", cookies, set("Origin", "null")},
		"a form without an origin":                 {"POST", path + "/act", cookies, drop("Origin")},
		"another method without an origin":         {"PUT", path + "/act", cookies, drop("Origin")},
		"another port's form, as a browser has it": {"POST", path + "/act", cookies, set("Sec-Fetch-Site", "same-site")},
		"another site's picture":                   {"GET", path + "/", cookies, set("Sec-Fetch-Site", "cross-site")},
		"another origin that reads":                {"GET", path + "/", cookies, set("Origin", "http://127.0.0.1:6666")},
		"a path without its cookie":                {"GET", path + "/", nil, nil},
		"a cookie without its path":                {"GET", "/", cookies, nil},
		"another session's cookie":                 {"GET", path + "/", others, nil},
		"another session's path":                   {"GET", other + "/", cookies, nil},
		"a part of the path":                       {"GET", path[:len(path)-1] + "/", cookies, nil},
		"the sessions' folder":                     {"GET", "/at/", cookies, nil},
	} {
		reply := d.ask(bad.method, bad.path, bad.cookies, bad.change)
		body, _ := io.ReadAll(reply.Body)
		if reply.StatusCode != http.StatusForbidden || bytes.Contains(body, []byte("the page ")) ||
			len(reply.Cookies()) > 0 {
			t.Errorf("%s: %d %s", name, reply.StatusCode, body)
		}
	}
	if d.posts != 1 {
		t.Errorf("%d acts", d.posts)
	}
	if code := d.ask("POST", other+"/leave", others, nil).StatusCode; code != http.StatusOK {
		t.Errorf("leave: %d", code)
	}
	if code := d.ask("GET", other+"/", others, nil).StatusCode; code != http.StatusForbidden {
		t.Error("a session that was left is open")
	}
	d.ahead += time.Hour
	if code := d.ask("GET", path+"/", cookies, nil).StatusCode; code != http.StatusForbidden {
		t.Error("a session outlasts its time")
	}
	first, kept, _ := d.enter(d.link())
	for range mostSessions {
		d.enter(d.link())
	}
	if code := d.ask("GET", first+"/", kept, nil).StatusCode; code != http.StatusForbidden {
		t.Error("sessions are kept without bound")
	}
}

// TestPagesAreClosedIn: pages and refusals run no script, allow no frame, are not cached, and tell
// no other site their address.
func TestPagesAreClosedIn(t *testing.T) {
	d := newDoor(t)
	path, cookies, _ := d.enter(d.link())
	for _, reply := range []*http.Response{d.ask("GET", path+"/", cookies, nil),
		d.ask("GET", "/", nil, nil), d.ask("GET", "/open?link=no", nil, nil)} {
		csp := reply.Header.Get("Content-Security-Policy")
		for _, says := range []string{"default-src 'none'", "form-action 'self'", "base-uri 'none'",
			"frame-ancestors 'none'", "style-src 'sha256-"} {
			if !strings.Contains(csp, says) {
				t.Errorf("%q lacks %s", csp, says)
			}
		}
		if strings.Contains(csp, "script") || strings.Contains(csp, "unsafe") {
			t.Errorf("%q allows too much", csp)
		}
		for key, want := range map[string]string{"Cache-Control": "no-store",
			"Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
			"X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := reply.Header.Get(key); got != want {
				t.Errorf("%s: %q", key, got)
			}
		}
	}
	if strings.ContainsAny(Style, "\t\r") || strings.Contains(Style, "url(") {
		t.Error("the style holds what writers of pages drop, and would not be the one that is allowed")
	}
}

// TestSilentConnections: clients that connect and send nothing, or send slowly, hold a bounded
// number of connections for a bounded time.
func TestSilentConnections(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	s.ReadHeaderTimeout = 200 * time.Millisecond
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	defer func() { s.Close(); <-done }()
	var silent []net.Conn
	for range mostConnections + 8 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		silent = append(silent, c)
	}
	fmt.Fprint(silent[0], "GET / HTTP/1.1\r\nHost: local")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		Timeout: time.Minute}
	reply, err := client.Get("http://" + l.Addr().String() + "/")
	if err != nil || reply.StatusCode != http.StatusNotFound {
		t.Fatalf("nobody is served any more: %v %v", reply, err)
	}
	reply.Body.Close()
	if full := NewServer(nil, slog.New(slog.DiscardHandler)); full.ReadHeaderTimeout == 0 ||
		full.ReadTimeout == 0 || full.WriteTimeout == 0 || full.IdleTimeout == 0 ||
		full.MaxHeaderBytes > 16<<10 {
		t.Error("a connection may be held without bound")
	}
}

// TestAddresses: pages without TLS are only served on this machine.
func TestAddresses(t *testing.T) {
	for address, good := range map[string]bool{"127.0.0.1:1": true, "localhost:1": true,
		"[::1]:1": true, "127.9.9.9:1": true, ":1": false, "0.0.0.0:1": false, "10.0.0.1:1": false,
		"example.org:1": false, "127.0.0.1": false, "": false} {
		if err := CheckAddress(address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
	if l, err := Listen("0.0.0.0:0"); err == nil {
		l.Close()
		t.Error("it listens to the world")
	}
}
