package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"

	"caucus/agent/site"
)

// ear is a coordinator's end of connections that notes the arrival of bytes, below TLS, and keeps asking
// whether the agent is there (PING), as none of our programs does.
type ear struct {
	mu    sync.Mutex // guards the fields below
	heard []sound
	open  int // connections
}

type sound struct {
	at    time.Time
	bytes int // 0: the connection's end
}

func (e *ear) note(n int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n > 0 || err != nil {
		e.heard = append(e.heard, sound{time.Now(), n})
	}
	if err != nil {
		e.open--
	}
}

func (e *ear) connections() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}

func (e *ear) between(from, until time.Time) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.heard {
		if s.at.After(from) && s.at.Before(until) {
			n++
		}
	}
	return n
}

type earListener struct {
	net.Listener
	*ear
}

func (l earListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.open++
	l.mu.Unlock()
	l.note(1, nil) // a new connection is heard
	return &earConn{Conn: c, ear: l.ear}, nil
}

type earConn struct {
	net.Conn
	*ear
	over bool
}

func (c *earConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.over {
		c.over = err != nil
		c.note(n, err)
	}
	return n, err
}

// pinging are credentials of a server that writes PING between the frames of HTTP/2.
type pinging struct {
	credentials.TransportCredentials
}

func (p pinging) Clone() credentials.TransportCredentials { return p }

func (p pinging) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, info, err := p.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	f := &framed{Conn: c}
	go func() {
		for f.ping() == nil {
			time.Sleep(time.Millisecond)
		}
	}()
	return f, info, nil
}

// framed tracks its position in the frames that it writes.
type framed struct {
	net.Conn
	mu     sync.Mutex
	header []byte
	left   int  // of the frame
	begun  bool // the first frame was written
}

func (f *framed) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for rest := b; len(rest) > 0; {
		if f.left > 0 {
			n := min(f.left, len(rest))
			f.left, rest = f.left-n, rest[n:]
			continue
		}
		n := min(9-len(f.header), len(rest))
		f.header, rest = append(f.header, rest[:n]...), rest[n:]
		if len(f.header) == 9 {
			f.left, f.header, f.begun = int(f.header[0])<<16|int(f.header[1])<<8|int(f.header[2]), nil, true
		}
	}
	return f.Conn.Write(b)
}

func (f *framed) ping() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun || f.left > 0 || len(f.header) > 0 {
		return nil
	}
	_, err := f.Conn.Write([]byte{0, 0, 8, 6, 0, 0, 0, 0, 0, 'a', 'r', 'e', ' ', 'y', 'o', 'u', '?'})
	return err
}

// TestNothingIsHeard: over real connections, with a coordinator that asks a thousand times a second
// whether the agent is there, no byte and no end of a connection arrives from the opening of the file to
// the moment of the upload.
func TestNothingIsHeard(t *testing.T) {
	r := newRig(t, votes("softmax"))
	var e ear
	a, w := connectOver(t, r, func(l net.Listener) net.Listener { return earListener{l, &e} }, func(c credentials.TransportCredentials) credentials.TransportCredentials { return pinging{c} })
	var opened time.Time
	prepare := a.preparation.prepare
	a.preparation.prepare = func(ctx context.Context, w window) draft {
		// The goodbyes are sent; on a busy machine they take a moment to be heard.
		for until := time.Now().Add(500 * time.Millisecond); e.connections() > 0 && time.Now().Before(until); time.Sleep(time.Millisecond) {
		}
		opened = time.Now()
		return prepare(ctx, w)
	}
	begun := time.Now()
	if err := a.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); e.between(begun, time.Now()) < 60; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("nothing asks: the test hears nothing")
		}
	}
	a.Finish(t.Context())
	var fixed site.Due
	b, err := a.site.Studies.Of(r.hash).Read(site.FileDue)
	if err := errors.Join(err, json.Unmarshal(b, &fixed)); err != nil {
		t.Fatal(err)
	}
	if opened.IsZero() || fixed.Leaves.Sub(opened) < 500*time.Millisecond {
		t.Fatalf("the file was opened at %v, the moment was %v", opened, fixed.Leaves)
	}
	if n := e.between(opened, fixed.Leaves); n > 0 {
		t.Errorf("%d sounds between the opening of the file and the moment", n)
	}
	if e.between(fixed.Leaves, time.Now()) == 0 {
		t.Error("nothing came at the moment")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.Contains(strings.Join(w.said, "\n"), "Studies/Contribute ") {
		t.Error("no upload came")
	}
}

// TestNobodyElseSpeaks: while an agent is silent its servers answer nobody until the moment; commands do
// not call, and say why.
func TestNobodyElseSpeaks(t *testing.T) {
	r := newRig(t, nil)
	r.config.Metrics, r.config.Page = "127.0.0.1:0", ""
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.config.Metrics = port.Addr().String()
	port.Close()
	a := r.agent(t)
	shut, err := a.shown()
	if err != nil {
		t.Fatal(err)
	}
	defer shut()
	get := func(wait time.Duration) error {
		client := &http.Client{Timeout: wait, Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Get("http://" + r.config.Metrics + "/metrics")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}
	if err := get(time.Minute); err != nil {
		t.Fatal(err)
	}
	other, err := r.open() // like a command
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	calls := 0
	other.link = slowLink{r.coordinatorDouble, func() { calls++ }}
	speak, err := a.fallSilent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := get(200 * time.Millisecond); err == nil {
		t.Error("metrics are answered while the agent is silent")
	}
	if _, offline, err := other.Studies(t.Context()); !errors.Is(offline, site.ErrSilent) || err != nil || calls > 0 {
		t.Errorf("a command called the coordinator %d times: %v, %v", calls, offline, err)
	}
	held := make(chan error)
	go func() { held <- get(time.Minute) }()
	select {
	case err := <-held:
		t.Errorf("answered before the moment: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	speak()
	if err := <-held; err != nil {
		t.Errorf("after the moment: %v", err)
	}
	if _, offline, err := other.Studies(t.Context()); err != nil || offline != nil || calls != 1 {
		t.Errorf("after the moment: %d calls, %v, %v", calls, offline, err)
	}
}

// TestSilenceWaits: an agent fixes no window while a command is calling the coordinator, which could
// hear that process instead.
func TestSilenceWaits(t *testing.T) {
	a := newRig(t, nil).agent(t)
	hungUp, err := site.Speak(a.site.Config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.fallSilent(ctx); err == nil {
		t.Error("silent while a command speaks")
	}
	hungUp()
	speak, err := a.fallSilent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	speak()
}
