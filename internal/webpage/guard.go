package webpage

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"caucus/internal/clock"
)

// Guard opens a daemon's page to those who have its link.
type Guard struct {
	// Dir is the daemon's folder, where NewLink makes links.
	Dir string
	// Command is the command with which a person makes a link.
	Command string
	// SessionLifetime is the lifetime of a session.
	SessionLifetime time.Duration
	Clock           clock.Clock
	// Log records when somebody opens or leaves the page, without an address.
	Log *slog.Logger

	run []byte // see runFile

	mu       sync.Mutex // guards sessions, and the use of a link
	sessions []session  // oldest first
}

type session struct {
	path, key string
	ends      time.Duration // in elapsed time
}

// mostSessions bounds the open sessions. A further session ends the oldest.
const mostSessions = 8

const (
	sessionPath = "/at/"
	cookieName  = "caucus"
)

type baseKey struct{}

// LinkBase returns the path with which a served page's links start.
func LinkBase(r *http.Request) string {
	base, _ := r.Context().Value(baseKey{}).(string)
	return base
}

// Protect serves pages below a session's path to those who opened a link. Everybody else gets a
// hint about links. The pages see paths without the session's prefix. POSTs are accepted from the
// page's own forms only. Call it once, when the daemon that holds the folder starts.
func (g *Guard) Protect(pages http.Handler) http.Handler {
	g.Clock = g.Clock.Complete()
	g.run = []byte(secret())
	if err := writeOwn(g.Dir, runFile, string(g.run)); err != nil {
		g.Log.Error("no link will open the page", "error", err)
	}
	return Loopback(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		// Not no-referrer, because a browser would then send its own forms without an Origin.
		head.Set("Referrer-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		if r.URL.Path == openPath && r.Method == http.MethodGet {
			if !byPerson(r) {
				WriteMessage(w, http.StatusForbidden, "This link opens by itself", "A program or "+
					"another page asked for it. It is still good: paste it into the address line.")
				return
			}
			g.open(w, r)
			return
		}
		if err := sameOrigin(r); err != nil {
			WriteMessage(w, http.StatusForbidden, "This came from elsewhere", err.Error())
			return
		}
		at, ok := g.session(r)
		if !ok {
			WriteMessage(w, http.StatusForbidden, "This page opens with a link", "Make one on this machine, as the account that the daemon runs as: "+g.Command+". It works once, for ten minutes. A session ends after "+words(g.SessionLifetime)+", or when the daemon stops.")
			return
		}
		if r.URL.Path == at+"/leave" && r.Method == http.MethodPost {
			g.leave(w, at)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), baseKey{}, at))
		http.StripPrefix(at, pages).ServeHTTP(w, r)
	}))
}

// sameOrigin refuses requests that another page made a browser send. Browsers send Sec-Fetch-Site,
// and the Origin of a form. A program that sends neither may read, because it knows the session's
// path, which another page cannot.
func sameOrigin(r *http.Request) error {
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
	default:
		return fmt.Errorf("another page (%s) asked for this: open it by itself, in the address line", site)
	}
	origin := r.Header.Get("Origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead && origin != "http://"+r.Host ||
		origin != "" && origin != "http://"+r.Host {
		return errors.New("a form of another page sent this, or none did")
	}
	return nil
}

// byPerson reports whether a request is a person's, who typed or pasted an address. A browser says
// of itself when it fetches in advance, when another page asks, and when the answer is no page.
func byPerson(r *http.Request) bool {
	for _, purpose := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		if r.Header.Get(purpose) != "" {
			return false
		}
	}
	from, to := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Dest")
	return (from == "" || from == "none") && (to == "" || to == "document")
}

func (g *Guard) open(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	err := useLink(g.Dir, g.run, r.URL.Query().Get("link"), g.Clock.Now())
	var s session
	if err == nil {
		s = session{path: sessionPath + secret(), key: secret(),
			ends: g.Clock.Elapsed() + g.SessionLifetime}
		g.sessions = append(g.sessions, s)
		g.sessions = g.sessions[max(0, len(g.sessions)-mostSessions):]
	}
	g.mu.Unlock()
	if err != nil {
		WriteMessage(w, http.StatusForbidden, "This link does not open the page",
			err.Error()+" ("+g.Command+").")
		return
	}
	g.Log.Info("the page was opened with a link")
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.key, Path: s.path + "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, s.path+"/", http.StatusSeeOther)
}

func (g *Guard) session(r *http.Request) (path string, ok bool) {
	name, _, below := strings.Cut(strings.TrimPrefix(r.URL.Path, sessionPath), "/")
	cookie, err := r.Cookie(cookieName)
	if err != nil || !below || !strings.HasPrefix(r.URL.Path, sessionPath) {
		return "", false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.Clock.Elapsed()
	for _, s := range g.sessions {
		same := subtle.ConstantTimeCompare([]byte(s.path),
			[]byte(sessionPath+name)) & subtle.ConstantTimeCompare([]byte(s.key),
			[]byte(cookie.Value))
		if same == 1 && now < s.ends {
			return s.path, true
		}
	}
	return "", false
}

func (g *Guard) leave(w http.ResponseWriter, path string) {
	g.mu.Lock()
	for i, s := range g.sessions {
		if s.path == path {
			g.sessions = append(g.sessions[:i:i], g.sessions[i+1:]...)
			break
		}
	}
	g.mu.Unlock()
	g.Log.Info("the page was left")
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: path + "/", MaxAge: -1, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	WriteMessage(w, http.StatusOK, "You have left the page",
		"It opens again with a new link: "+g.Command+".")
}

// WriteMessage answers with a title and a sentence.
func WriteMessage(w http.ResponseWriter, code int, title, says string) {
	t, err := Templates("")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	if err == nil {
		// the reader may have gone away, so the error does not matter
		_ = t.ExecuteTemplate(w, "words", struct{ Title, Says string }{title, says})
	}
}

func words(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

// CheckAddress accepts only host:port on this machine, and Unix sockets.
func CheckAddress(address string) error {
	if path, is := SocketPath(address); is {
		return checkSocket(path)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is no host:port, such as 127.0.0.1:9443", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%q is not a loopback address: there is no TLS; give 127.0.0.1:PORT, and carry the port to another machine with ssh -L", address)
	}
	return nil
}

// Loopback answers only requests that name a loopback host, so that a page of another site in a
// browser here cannot read the answers (DNS rebinding).
func Loopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" &&
			(ip == nil || !ip.IsLoopback()) {
			http.Error(w, "ask for 127.0.0.1 or localhost: this page is for this machine", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

const mostConnections = 64

// Listen listens on an address that CheckAddress accepts.
func Listen(address string) (net.Listener, error) {
	if err := CheckAddress(address); err != nil {
		return nil, err
	}
	l, err := listen(address)
	if err != nil {
		return nil, err
	}
	return netutil.LimitListener(l, mostConnections), nil
}

func listen(address string) (net.Listener, error) {
	if path, is := SocketPath(address); is {
		return listenSocket(path)
	}
	return net.Listen("tcp", bound(address))
}

// NewServer returns a server whose timeouts end slow requests, because pages are small. Its errors
// go to log.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
