package cluster

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// The first byte of a connection says what it is for.
const (
	forPackets = 'p' // memberlist's packets, each after its length in two bytes
	forStream  = 's' // one exchange of memberlist
	forMembers = 'm' // the answer is JSON of []Member
	forKeys    = 'k' // the answer is what Config.Keys says
)

// Bounds of a connection among replicas.
const (
	dialTime   = 2 * time.Second
	greetTime  = 3 * time.Second // for the handshake and the first byte
	askTime    = 3 * time.Second // for a question and its answer
	writeTime  = time.Second     // for a packet; a slower connection is made anew
	idleTime   = time.Minute     // after the last packet a connection closes
	mostQueued = 64              // packets that wait for a connection
	mostGreets = 64              // connections without a first byte; for one more, see crowded
	mostPacket = 8 << 10         // memberlist makes packets of at most 1,400 bytes
	mostAnswer = 16 << 20
)

// transport carries memberlist's packets and streams over mutual TLS, so only holders of the
// authority's key are heard. A packet waits for nobody: while the connection to its address is
// slow, it is dropped, as a network drops a datagram.
type transport struct {
	listener  net.Listener
	advertise string
	client    *tls.Config
	packets   chan *memberlist.Packet
	streams   chan net.Conn
	over      chan struct{}
	// streaming ends when no stream is dialled any more, before packets end.
	streaming context.Context
	quiet     context.CancelFunc
	under     sync.WaitGroup
	once      sync.Once // for Shutdown

	mu      sync.Mutex // guards the rest
	answers map[byte]func() []byte
	senders map[string]chan []byte // packets to each address
	greets  []net.Conn             // whose first byte has not come, oldest first
	open    map[net.Conn]bool      // all that were accepted
}

func listen(c Config) (*transport, error) {
	raw, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	if c.Advertise == "" {
		c.Advertise = raw.Addr().String()
	}
	t := &transport{
		listener: tls.NewListener(raw, c.Server), advertise: c.Advertise, client: c.Client,
		packets: make(chan *memberlist.Packet, mostQueued), streams: make(chan net.Conn),
		over: make(chan struct{}), senders: map[string]chan []byte{}, open: map[net.Conn]bool{},
	}
	t.streaming, t.quiet = context.WithCancel(context.Background())
	t.under.Go(t.accept)
	return t, nil
}

// serve answers questions from now on, by their first byte.
func (t *transport) serve(answers map[byte]func() []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers = answers
}

// FinalAdvertiseAddr is where others dial this replica.
func (t *transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	host, port, err := net.SplitHostPort(t.advertise)
	if err != nil {
		return nil, 0, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, 0, err
	}
	all, err := net.LookupIP(host)
	if err != nil {
		return nil, 0, err
	}
	if all[0].IsUnspecified() {
		return nil, 0, fmt.Errorf("advertise: %q: give what other replicas can dial", t.advertise)
	}
	return all[0], number, nil
}

func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.packets }
func (t *transport) StreamCh() <-chan net.Conn           { return t.streams }

// WriteTo hands a packet to the sender of its address.
func (t *transport) WriteTo(packet []byte, address string) (time.Time, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting, there := t.senders[address]
	if !there {
		select {
		case <-t.over:
			return time.Now(), net.ErrClosed
		default:
		}
		waiting = make(chan []byte, mostQueued)
		t.senders[address] = waiting
		t.under.Go(func() { t.send(address, waiting) })
	}
	select {
	case waiting <- packet:
	default:
	}
	return time.Now(), nil
}

// send writes packets to an address until none came for idleTime.
func (t *transport) send(address string, waiting chan []byte) {
	var conn net.Conn
	hangUp := func() {
		if conn != nil {
			conn.Close()
			conn = nil
		}
	}
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.senders, address)
		hangUp()
	}()
	for {
		select {
		case <-t.over:
			return
		case <-time.After(idleTime):
			return
		case packet := <-waiting:
			if conn == nil { // still nil then: it is away
				conn, _ = t.dial(context.Background(), address, writeTime, forPackets)
			}
			if conn == nil || write(conn, packet) != nil {
				hangUp()
				for len(waiting) > 0 { // they are old
					<-waiting
				}
			}
		}
	}
}

func write(conn net.Conn, packet []byte) error {
	_ = conn.SetWriteDeadline(time.Now().Add(writeTime))
	head := binary.BigEndian.AppendUint16(nil, uint16(len(packet)))
	_, err := conn.Write(append(head, packet...))
	return err
}

func (t *transport) DialTimeout(address string, timeout time.Duration) (net.Conn, error) {
	return t.dial(t.streaming, address, timeout, forStream)
}

func (t *transport) dial(
	ctx context.Context, address string, timeout time.Duration, what byte,
) (net.Conn, error) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	return dial(ctx, t.client, address, what)
}

func dial(ctx context.Context, client *tls.Config, address string, what byte) (net.Conn, error) {
	conn, err := (&tls.Dialer{Config: client}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	until, _ := ctx.Deadline()
	_ = conn.SetDeadline(until)
	if _, err := conn.Write([]byte{what}); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, conn.SetDeadline(time.Time{})
}

// question asks the replica at an address, and returns its answer.
func question(ctx context.Context, client *tls.Config, at string, what byte) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	conn, err := dial(ctx, client, at, what)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	return io.ReadAll(io.LimitReader(conn, mostAnswer))
}

func (t *transport) accept() {
	for {
		conn, err := t.listener.Accept()
		if err != nil {
			select {
			case <-t.over:
				return
			case <-time.After(100 * time.Millisecond):
				continue
			}
		}
		t.mu.Lock()
		select {
		case <-t.over:
			raw(conn).Close()
		default:
		}
		t.open[conn] = true
		if t.greets = append(t.greets, conn); len(t.greets) > mostGreets {
			i := crowded(t.greets)
			raw(t.greets[i]).Close()
			t.greets = slices.Delete(t.greets, i, i+1)
		}
		t.mu.Unlock()
		t.under.Go(func() { t.receive(conn) })
	}
}

// crowded returns the place of the oldest connection from the machine that has the most. So whoever
// opens connections and says nothing keeps out only its own machine.
func crowded(all []net.Conn) (place int) {
	of, most := map[string]int{}, 0
	for i, conn := range slices.Backward(all) {
		from, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		if of[from]++; of[from] >= most {
			most, place = of[from], i
		}
	}
	return place
}

// raw is the connection under TLS. To close it waits for nobody.
func raw(conn net.Conn) net.Conn { return conn.(*tls.Conn).NetConn() }

func (t *transport) receive(conn net.Conn) {
	kept := false
	defer func() {
		t.mu.Lock()
		delete(t.open, conn)
		t.mu.Unlock()
		if !kept {
			raw(conn).Close()
		}
	}()
	_ = conn.SetDeadline(time.Now().Add(greetTime))
	what := make([]byte, 1)
	_, err := io.ReadFull(conn, what)
	t.mu.Lock()
	if i := slices.Index(t.greets, conn); i >= 0 {
		t.greets = slices.Delete(t.greets, i, i+1)
	}
	answer := t.answers[what[0]]
	t.mu.Unlock()
	switch {
	case err != nil:
	case what[0] == forPackets:
		t.hear(conn)
	case what[0] == forStream:
		_ = conn.SetDeadline(time.Time{})
		select {
		case t.streams <- conn: // memberlist closes it
			kept = true
		case <-t.over:
		}
	case answer != nil:
		_, _ = conn.Write(answer())
		conn.Close()
	}
}

// hear passes packets on until none came for a while.
func (t *transport) hear(conn net.Conn) {
	for head := make([]byte, 2); ; {
		_ = conn.SetDeadline(time.Now().Add(2 * idleTime))
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		packet := make([]byte, binary.BigEndian.Uint16(head))
		if len(packet) == 0 || len(packet) > mostPacket {
			return
		}
		if _, err := io.ReadFull(conn, packet); err != nil {
			return
		}
		select {
		case t.packets <- &memberlist.Packet{
			Buf: packet, From: conn.RemoteAddr(), Timestamp: time.Now(),
		}:
		case <-t.over:
			return
		}
	}
}

// Shutdown ends all connections, and waits until that is done. A second call, such as
// memberlist's own, has no effect.
func (t *transport) Shutdown() error {
	err := t.listener.Close()
	t.quiet()
	t.mu.Lock()
	t.once.Do(func() { close(t.over) })
	for conn := range t.open {
		raw(conn).Close()
	}
	t.mu.Unlock()
	t.under.Wait()
	return err
}
