package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"

	"caucus/agent/site"
)

// ear is a coordinator's end of connections that notes the arrival of bytes, below TLS, and keeps
// asking whether the agent is there (PING), as none of our programs does.
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

func (e earListener) Accept() (net.Conn, error) {
	c, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.open++
	e.mu.Unlock()
	e.note(1, nil) // a new connection is heard
	return &earConn{Conn: c, ear: e.ear}, nil
}

type earConn struct {
	net.Conn
	*ear
	over bool
}

func (e *earConn) Read(b []byte) (int, error) {
	n, err := e.Conn.Read(b)
	if !e.over {
		e.over = err != nil
		e.note(n, err)
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
			f.left, f.header, f.begun = int(f.header[0])<<16|int(f.header[1])<<8|int(f.header[2]),
				nil, true
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
	_, err := f.Conn.Write([]byte{0, 0, 8, 6, 0, 0, 0, 0, 0, 'a', 'r', 'e', ' ', 'y', 'o', 'u',
		'?'})
	return err
}

// TestNothingIsHeard: over real connections, with a coordinator that asks a thousand times a second
// whether the agent is there, no byte and no end of a connection arrives from the opening of the
// file to the moment of the upload.
func TestNothingIsHeard(t *testing.T) {
	r := newRig(t, votes("softmax"))
	var e ear
	a, w := connectOver(t, r, func(l net.Listener) net.Listener {
		return earListener{l, &e}
	}, func(c credentials.TransportCredentials) credentials.TransportCredentials {
		return pinging{c}
	})
	var opened time.Time
	prepare := a.preparation.prepare
	a.preparation.prepare = func(ctx context.Context, w window) draft {
		// The goodbyes are sent; on a busy machine they take a moment to be heard.
		for until := time.Now().Add(500 * time.Millisecond); e.connections() > 0 &&
			time.Now().Before(until); time.Sleep(time.Millisecond) {
		}
		opened = time.Now()
		return prepare(ctx, w)
	}
	begun := time.Now()
	if err := a.PollOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); e.between(begun,
		time.Now()) < 60; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("nothing asks: the test hears nothing")
		}
	}
	a.SendCharged(t.Context())
	var fixed site.Schedule
	b, err := a.site.Studies.Folder(r.hash).Read(site.FileSchedule)
	if err := errors.Join(err, json.Unmarshal(b, &fixed)); err != nil {
		t.Fatal(err)
	}
	if opened.IsZero() || fixed.UploadAt.Sub(opened) < 500*time.Millisecond {
		t.Fatalf("the file was opened at %v, the moment was %v", opened, fixed.UploadAt)
	}
	if n := e.between(opened, fixed.UploadAt); n > 0 {
		t.Errorf("%d sounds between the opening of the file and the moment", n)
	}
	if e.between(fixed.UploadAt, time.Now()) == 0 {
		t.Error("nothing came at the moment")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.Contains(strings.Join(w.said, "\n"), "Studies/Contribute ") {
		t.Error("no upload came")
	}
}

// TestNobodyElseSpeaks: while an agent is silent its servers answer nobody until the moment;
// commands do not call, and say why.
func TestNobodyElseSpeaks(t *testing.T) {
	r := newRig(t, nil)
	a := r.shown(t)
	get := func(wait time.Duration) error {
		client := &http.Client{Timeout: wait, Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Get("http://" + r.Config.MetricsAddress + "/metrics")
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
	if _, offline, err := other.Studies(t.Context()); !errors.Is(offline, site.ErrCallsLocked) ||
		err != nil || calls > 0 {
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

// TestSilenceWaits: an agent fixes no window while a command is calling the coordinator, which
// could hear that process instead.
func TestSilenceWaits(t *testing.T) {
	a := newRig(t, nil).agent(t)
	hungUp, err := site.LockCalls(a.site.Config)
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

// shown is an agent of the rig that serves its metrics and no page.
func (r *rig) shown(t *testing.T) *Agent {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.Config.MetricsAddress, r.Config.PageAddress = port.Addr().String(), ""
	port.Close()
	a := r.agent(t)
	shut, err := a.shown()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shut)
	return a
}

// TestServersAreSilent: during a silence nothing comes of the agent's servers, neither a byte nor a
// connection's end, whatever is sent to them and whatever net/http would answer by itself. Callers
// wait for longer than the time in which net/http wants a header. After the silence they get what
// they would have got, and honest ones their answer. A kept-alive connection ends before.
func TestServersAreSilent(t *testing.T) {
	r := newRig(t, nil)
	a := r.shown(t)
	dial := func(request string) net.Conn {
		c, err := net.Dial("tcp", r.Config.MetricsAddress)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		return c
	}
	const honest = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
	long := strings.Repeat("x", 30_000)
	idle := dial(honest)
	if answer, err := http.ReadResponse(bufio.NewReader(idle), nil); err != nil {
		t.Fatal(err)
	} else if _, err = io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}
	early := map[string]net.Conn{"half a header, before": dial(honest[:25]),
		"nothing, before": dial("")}
	for until :=
		time.Now().Add(time.Minute); a.silence.connections() < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the server does not accept connections")
		}
	}
	speak, err := a.fallSilent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	speak = sync.OnceFunc(speak)
	defer speak()
	idle.SetReadDeadline(time.Now().Add(time.Second))
	if n, err := idle.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		t.Errorf("an idle connection got %d bytes and %v when the silence began, want its end", n, err)
	}
	_, err = io.WriteString(early["half a header, before"], honest[25:])
	if err != nil {
		t.Error(err)
	}
	// what the first line holds after the silence, where one comes soon
	answers := map[string]string{
		"honest": "200", "options": "200", "malformed": "400", "two hosts": "400", "long header": "431",
		"long address of a web page": "431", "an expectation": "417", "HTTP/2": "403",
		"half a header, before": "200",
	}
	conns := early
	for what, request := range map[string]string{
		"honest":                     honest,
		"options":                    "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"malformed":                  "nonsense\r\n\r\n",
		"two hosts":                  "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
		"long header":                "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + long + "\r\n\r\n",
		"long address of a web page": "GET /?" + long + " HTTP/1.1\r\nHost: localhost\r\nOrigin: https://elsewhere.example\r\n\r\n",
		"an expectation":             "GET /metrics HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\n\r\n",
		"HTTP/2":                     "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"half a header":              honest[:25],
		"nothing":                    "",
	} {
		conns[what] = dial(request)
	}
	const patience = 6 * time.Second // net/http waits 5 s for a header
	silent := time.Now().Add(patience)
	var callers, quiet sync.WaitGroup
	for what, c := range conns {
		quiet.Add(1)
		callers.Go(func() {
			c.SetReadDeadline(silent)
			first := make([]byte, 1)
			n, err := c.Read(first)
			quiet.Done()
			if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %d bytes and %v came in the silence", what, n, err)
			}
			if answers[what] == "" {
				return
			}
			c.SetReadDeadline(time.Now().Add(time.Minute))
			line, err := bufio.NewReader(c).ReadString('\n')
			if !strings.Contains(line, answers[what]) {
				t.Errorf("%s: %q and %v came after the silence, want %q", what, line, err,
					answers[what])
			}
		})
	}
	quiet.Wait()
	speak()
	callers.Wait()
}

func (s *silence) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// stopwatchOf is the environment variable that makes the test binary a stopwatch: for a second it
// asks the server at that address again and again, and prints how many answers it heard.
const stopwatchOf = "AGENT_TEST_STOPWATCH"

func stopwatch(address string) {
	heard := 0
	for until := time.Now().Add(time.Second); time.Now().Before(until); {
		c, err := net.Dial("tcp", address)
		if err != nil {
			continue
		}
		io.WriteString(c, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			heard++
		}
		c.Close()
	}
	fmt.Print(heard)
}

// TestStopwatch: whether an agent with one processor is idle or at work, a program that keeps
// asking its servers hears nothing. Before connections were held back it heard 13,000 to 21,000
// answers of an idle agent and about 120 of one at work.
func TestStopwatch(t *testing.T) {
	r := newRig(t, nil)
	a := r.shown(t)
	speak, err := a.fallSilent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer speak()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, work := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		if work {
			working.Go(func() {
				for x := 1.0; ctx.Err() == nil; {
					for range 1_000_000 {
						x = x*1.0000001 + 1e-9
					}
				}
			})
		}
		watch := exec.Command(os.Args[0])
		watch.Env = append(os.Environ(), stopwatchOf+"="+r.Config.MetricsAddress)
		heard, err := watch.CombinedOutput()
		stop()
		working.Wait()
		if err != nil || string(heard) != "0" {
			t.Errorf("at work %v: %s answers were heard (%v), want 0", work, heard, err)
		}
	}
}

// TestSilenceInterrupts: a Read and a Write that had begun before a silence do not go on in it, a
// Close waits, and deadlines do not count its time.
func TestSilenceInterrupts(t *testing.T) {
	var s silence
	near, far := net.Pipe()
	c := s.connection(near)
	const text = "half of this is written before"
	limit := time.Now().Add(time.Minute)
	if err := errors.Join(c.SetReadDeadline(limit), c.SetWriteDeadline(limit)); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	calls.Go(func() {
		if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("Write = %d, %v, want all %d bytes", n, err, len(text))
		}
	})
	got := make([]byte, len(text))
	if _, err := io.ReadFull(far, got[:15]); err != nil { // now the call is under way
		t.Fatal(err)
	}
	calls.Go(func() {
		asked := make([]byte, 3)
		if _, err := io.ReadFull(c, asked); err != nil || string(asked) != "ask" {
			t.Errorf("Read = %q, %v, want ask", asked, err)
		}
	})
	end := s.begin()
	for what, call := range map[string]func([]byte) (int,
		error){"a Write": far.Read, "a Read": far.Write} {
		far.SetDeadline(time.Now().Add(200 * time.Millisecond))
		if n, err := call([]byte("ask")); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s goes on in the silence: %d bytes, %v", what, n, err)
		}
	}
	end()
	if more := c.read.at.Sub(limit); more < 400*time.Millisecond || !c.read.at.Equal(c.write.at) {
		t.Errorf("the deadlines are %v and %v later, want as long as the silence was", more, c.write.at.Sub(limit))
	}
	end = s.begin() // a deadline that is set at the end of a silence is hardly longer
	time.Sleep(200 * time.Millisecond)
	late := time.Now().Add(time.Minute)
	if err := c.SetReadDeadline(late); err != nil {
		t.Fatal(err)
	}
	end()
	if more := c.read.at.Sub(late); more < 0 || more > 150*time.Millisecond {
		t.Errorf("a deadline set at the end of a silence is %v later", more)
	}
	far.SetDeadline(limit)
	if _, err := far.Write([]byte("ask")); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(far, got[15:]); err != nil || string(got) != text {
		t.Errorf("read %q, %v, want %q", got, err, text)
	}
	calls.Wait()
	c.SetReadDeadline(time.Now())
	if _, err := c.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read after its deadline = %v", err)
	}
	end = s.begin()
	calls.Go(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	far.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := far.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a Close in the silence: %v", err)
	}
	end()
	calls.Wait()
	if n := s.connections(); n > 0 {
		t.Errorf("%d closed connections are remembered", n)
	}
}
