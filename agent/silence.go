package agent

import (
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// silence holds back all that the agent's servers would send while the agent learns from
// records (window).
//
// Proof note. Claim: from begin to end, no server of this process sends a byte or ends a
// connection. Handlers cannot hold this, because net/http answers some requests before any
// handler, and closes connections by its own timers. So connections hold it (quietConn).
//   - Idle connections end before the silence begins.
//   - Read, Write and Close wait for its end. Reads and Writes under way are interrupted.
//     Otherwise a Write would go on as soon as its reader takes more, and a Read would make room
//     for more, which the system tells the sender.
//   - A deadline that ends in a silence would close its connection at the silence's end, also that
//     of an honest caller. So a silence lengthens deadlines by its own length or, if they were set
//     in it, by the rest of it.
//
// What the system answers by itself is outside (window). TestServersAreSilent, TestStopwatch
// and TestSilenceInterrupts would catch a violation.
type silence struct {
	servers []*http.Server // all are added before the first silence
	// held is locked during a silence. Each call of a connection that could be heard read-locks it.
	held sync.RWMutex

	mu     sync.Mutex // guards the fields below, and the deadlines of connections
	silent bool
	conns  map[*quietConn]bool
}

func (s *silence) begin() (end func()) {
	s.keepAlives(false)
	from := time.Now()
	s.mu.Lock()
	s.silent = true
	for c := range s.conns {
		c.interrupt()
	}
	s.mu.Unlock()
	s.held.Lock()
	return func() {
		s.mu.Lock()
		s.silent = false
		for c := range s.conns {
			c.resume(from, time.Now())
		}
		s.mu.Unlock()
		s.keepAlives(true)
		s.held.Unlock()
	}
}

// keepAlives closes idle connections, or lets connections stay open between requests again.
func (s *silence) keepAlives(on bool) {
	for _, server := range s.servers {
		server.SetKeepAlivesEnabled(on)
	}
}

// serves makes the connections silent that a server will accept from l.
func (s *silence) serves(server *http.Server, l net.Listener) net.Listener {
	s.servers = append(s.servers, server)
	return quietListener{l, s}
}

type quietListener struct {
	net.Listener
	silence *silence
}

func (q quietListener) Accept() (net.Conn, error) {
	c, err := q.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return q.silence.connection(c), nil
}

func (s *silence) connection(c net.Conn) *quietConn {
	q := &quietConn{Conn: c, silence: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		s.conns = map[*quietConn]bool{}
	}
	s.conns[q] = true
	if s.silent {
		q.interrupt()
	}
	return q
}

// quietConn is a connection that reads, writes and closes nothing during a silence.
type quietConn struct {
	net.Conn
	silence     *silence
	read, write deadline
}

// deadline is a deadline of a connection, zero for none, and when it was set.
type deadline struct{ at, set time.Time }

func (q *quietConn) Read(b []byte) (int, error)  { return q.transfer(q.Conn.Read, b, &q.read) }
func (q *quietConn) Write(b []byte) (int, error) { return q.transfer(q.Conn.Write, b, &q.write) }

// transfer reads or writes outside silences. After a silence that interrupted it, it goes on.
func (q *quietConn) transfer(
	call func([]byte) (int, error), b []byte, d *deadline,
) (done int, err error) {
	for {
		q.silence.held.RLock()
		n, err := call(b[done:])
		q.silence.held.RUnlock()
		done += n
		if !errors.Is(err, os.ErrDeadlineExceeded) || q.over(d) {
			return done, err
		}
	}
}

func (q *quietConn) over(d *deadline) bool {
	q.silence.mu.Lock()
	defer q.silence.mu.Unlock()
	return !d.at.IsZero() && !time.Now().Before(d.at)
}

func (q *quietConn) Close() error {
	q.silence.held.RLock()
	defer q.silence.held.RUnlock()
	q.silence.mu.Lock()
	delete(q.silence.conns, q)
	q.silence.mu.Unlock()
	return q.Conn.Close()
}

func (q *quietConn) SetReadDeadline(t time.Time) error {
	return q.limit(&q.read, t, q.Conn.SetReadDeadline)
}

func (q *quietConn) SetWriteDeadline(t time.Time) error {
	return q.limit(&q.write, t, q.Conn.SetWriteDeadline)
}

// limit sets a deadline, which applies from the end of a silence.
func (q *quietConn) limit(d *deadline, t time.Time, apply func(time.Time) error) error {
	q.silence.mu.Lock()
	defer q.silence.mu.Unlock()
	*d = deadline{t, time.Now()}
	if q.silence.silent {
		return nil
	}
	return apply(t)
}

// interrupt ends calls under way. The caller holds the silence's mu.
func (q *quietConn) interrupt() { _ = q.Conn.SetDeadline(time.Unix(1, 0)) }

// resume applies the deadlines after a silence. It lengthens those that were not over when the
// silence began, or when they were set in it, by the part of the silence that came after. The
// caller holds the silence's mu.
func (q *quietConn) resume(from, to time.Time) {
	for _, d := range []*deadline{&q.read, &q.write} {
		begun := from
		if d.set.After(from) {
			begun = d.set
		}
		if d.at.After(begun) {
			*d = deadline{d.at.Add(to.Sub(begun)), to}
		}
	}
	_, _ = q.Conn.SetReadDeadline(q.read.at), q.Conn.SetWriteDeadline(q.write.at)
}
