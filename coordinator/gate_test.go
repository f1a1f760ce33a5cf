package coordinator

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"caucus/coordinator/folder"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/pb"
	"caucus/protocol/server"
)

// stalled starts a party's contribution and sends only its header.
func (w *world) stalled(id protocol.Identity, s protocol.Study,
	body []byte) grpc.ClientStreamingClient[pb.ContributeRequest, pb.Signed] {
	w.t.Helper()
	stream := must(pb.NewStudiesClient(w.raw(id)).Contribute(context.Background()))
	digest := sha256.Sum256(body)
	must(0, stream.Send(&pb.ContributeRequest{Part: &pb.ContributeRequest_Header{Header: &pb.ContributionHeader{
		PlanHash: s.Hash[:], Size: uint64(len(body)), Sha256: digest[:],
	}}}))
	for until := time.Now().Add(5 * time.Second); len(w.server.uploads) ==
		0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			w.t.Fatal("the upload was not begun")
		}
	}
	return stream
}

// free waits until no upload takes a place.
func (w *world) free() {
	w.t.Helper()
	for until :=
		time.Now().Add(5 * time.Second); len(w.server.uploads) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			w.t.Fatal("the place in memory was not given back")
		}
	}
}

// answer is the error with which a stream ends. The sender has sent nothing more.
func answer(stream interface{ RecvMsg(any) error }) error {
	return protocol.FromStatus(stream.RecvMsg(new(pb.Signed)))
}

// TestRevokedStreamDies: when a member is revoked, its open stream ends, even if the member sends
// nothing.
func TestRevokedStreamDies(t *testing.T) {
	w := newWorld(t, nil)
	id := w.identity("p0")
	s := w.small(2)
	stream := w.stalled(id, s, ballotFor(0, 2))
	must(0, w.operator.Revoke(context.Background(), "p0"))
	if err := answer(stream); !errors.Is(err, protocol.ErrDenied) ||
		!strings.Contains(err.Error(), "revoked") {
		t.Errorf("the stream ends with %v", err)
	}
	w.free()
	if n := w.server.calls("party/p0"); n != 0 {
		t.Errorf("%d calls of it are open", n)
	}
}

// TestRevokedConnectionDies: when a member is revoked, its connection is closed and takes no place
// any more.
func TestRevokedConnectionDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conn := must(tls.Dial("tcp", w.server.Addr(),
		&tls.Config{InsecureSkipVerify: true,
			Certificates: []tls.Certificate{pairOf(w.identity("p0"))}, NextProtos: []string{"h2"}}))
	defer conn.Close()
	must(conn.Read(make([]byte, 1))) // the coordinator has answered, so the connection is accepted
	must(0, w.operator.Revoke(context.Background(), "p0"))
	if n := w.server.gate.Traffic().Connections["party/p0"]; n > 0 {
		t.Error("it still has a place")
	}
	must(0, conn.SetReadDeadline(time.Now().Add(12*time.Second)))
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("it is still open")
	}
}

// TestExpiredMidStream: when a certificate expires, its open stream ends, and the next call on the
// same connection is refused.
func TestExpiredMidStream(t *testing.T) {
	w := newWorld(t, nil)
	id := w.identity("p0")
	s := w.small(2)
	_, until, err := id.Validity()
	if err != nil {
		t.Fatal(err)
	}
	studies := pb.NewStudiesClient(w.raw(id))
	if _, err := studies.List(context.Background(), &pb.ListRequest{}); err != nil {
		t.Fatal(err) // this call opens the connection
	}
	w.clock.add(until.Sub(w.clock.Now()) - 300*time.Millisecond)
	// The plan's deadline is over by now. So the stream is a download of the pool that nobody
	// reads, on the same connection.
	stream, err := studies.DownloadPool(context.Background(),
		&pb.DownloadRequest{Study: s.Hash.String()})
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Fatalf("before it expires: %v", err)
	}
	upload, err := studies.Contribute(context.Background()) // sends nothing
	if err != nil {
		t.Fatal(err)
	}
	if err := answer(upload); !errors.Is(err, protocol.ErrExpired) {
		t.Errorf("the stream ends with %v, want ErrExpired", err)
	}
	w.clock.add(time.Second)
	if _, err := studies.List(context.Background(),
		&pb.ListRequest{}); !errors.Is(protocol.FromStatus(err), protocol.ErrExpired) {
		t.Errorf("the next call on the connection: %v, want ErrExpired", err)
	}
}

// TestSlowUploads: an upload that stops, or that is too slow for its size, is ended, and its place
// is free again.
func TestSlowUploads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *folder.Config) {
		c.Limits.MaxPause, c.Limits.MinUploadRate = 200*time.Millisecond, 1000
	})
	id := w.identity("p0")
	pool := poolOf(800)
	for _, p := range names(2) {
		w.enrol(string(p))
	}
	s := w.open(planOf(names(2), pool, w.clock.Now().Add(time.Hour)), pool)
	body := ballotFor(0, 800) // about 100 bytes, which may take 0.3 seconds
	if err := answer(w.stalled(id, s, body)); !errors.Is(err, protocol.ErrBusy) ||
		!strings.Contains(err.Error(), "nothing arrived") {
		t.Errorf("a silent upload ends with %v", err)
	}
	w.free()
	stream := w.stalled(id, s, body)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range body { // steady, but too slow
			chunk := &pb.Chunk{Offset: uint64(i), Data: body[i : i+1]}
			for c := range protocol.Chunks(body[i:i+1], 0) {
				chunk.Crc32C = c.Crc32C
			}
			if stream.Send(&pb.ContributeRequest{Part: &pb.ContributeRequest_Chunk{Chunk: chunk}}) != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	if err := answer(stream); !errors.Is(err, protocol.ErrBusy) ||
		!strings.Contains(err.Error(), "did not arrive within") {
		t.Errorf("a slow upload ends with %v", err)
	}
	<-sent
	w.free()
	if _, err := w.parties["p0"].Contribute(context.Background(), s.Hash, body); err != nil {
		t.Errorf("at full speed: %v", err)
	}
}

// TestPlacesAreShared: one member cannot take all places for uploads.
func TestPlacesAreShared(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) { c.Limits.Uploads, c.Limits.Streams = 3, 2 })
	s := w.small(2)
	operator := must(protocol.LoadIdentity(w.config.Path(folder.OperatorFile)))
	admin := pb.NewAdministrationClient(w.raw(operator))
	for i := range 3 {
		stream := must(admin.UploadPool(ctx))
		digest := sha256.Sum256([]byte{byte(i)})
		must(0, stream.Send(&pb.UploadPoolRequest{Part: &pb.UploadPoolRequest_Header{Header: &pb.PoolHeader{Digest: digest[:], Size: 1}}}))
		if i < 2 {
			for len(w.server.uploads) < i+1 {
				time.Sleep(time.Millisecond)
			}
			continue
		}
		if err := answer(stream); !errors.Is(err, protocol.ErrBusy) ||
			!strings.Contains(err.Error(), "2 uploads") {
			t.Errorf("third upload of one member: %v", err)
		}
	}
	if _, err := w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)); err != nil {
		t.Errorf("another member: %v", err)
	}
}

// TestBytesAreLimited: a member that has moved more than its bytes an hour waits with its next
// transfer. Other members do not wait, nor do calls without a transfer.
func TestBytesAreLimited(t *testing.T) {
	ctx := context.Background()
	pool := poolOf(20_000)
	w := newWorld(t, func(c *folder.Config) { c.Limits.Bytes = 2 * int64(len(pool)) })
	for _, p := range names(2) {
		w.enrol(string(p))
	}
	s := w.open(planOf(names(2), pool, w.clock.Now().Add(time.Hour)), pool)
	p0, p1 := w.parties["p0"], w.parties["p1"]
	for range 2 {
		if _, err := p0.Pool(ctx, s, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p0.Pool(ctx, s, ""); !errors.Is(err, protocol.ErrBusy) ||
		!protocol.IsRetryable(err) {
		t.Errorf("third fetch: %v, want ErrBusy", err)
	}
	if _, err := p0.Studies(ctx); err != nil {
		t.Errorf("list: %v", err)
	}
	if _, err := p1.Pool(ctx, s, ""); err != nil {
		t.Errorf("another member: %v", err)
	}
	w.clock.add(time.Hour)
	if _, err := p0.Pool(ctx, s, ""); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

// TestOnlyTLS13: neither side accepts an older TLS, and the coordinator accepts only certificates
// of its authority.
func TestOnlyTLS13(t *testing.T) {
	w := newWorld(t, nil)
	id := w.identity("p0")
	pair := must(tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key)))
	dial := func(c *tls.Config) error {
		c.InsecureSkipVerify, c.NextProtos = true, []string{"h2"}
		conn, err := tls.Dial("tcp", w.server.Addr(), c)
		if err != nil {
			return err
		}
		defer conn.Close()
		must(0, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
		_, err = conn.Read(make([]byte, 1)) // in TLS 1.3 this is where a client is refused
		return err
	}
	if err := dial(&tls.Config{Certificates: []tls.Certificate{pair}}); err != nil {
		t.Errorf("TLS 1.3: %v", err)
	}
	if err := dial(&tls.Config{Certificates: []tls.Certificate{pair},
		MaxVersion: tls.VersionTLS12}); err == nil ||
		!strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.2: %v", err)
	}
	if err := dial(&tls.Config{}); err == nil ||
		!strings.Contains(err.Error(), "certificate required") {
		t.Errorf("no certificate: %v", err)
	}
	// Conversely, a server that only speaks TLS 1.2.
	old := must(server.TLS(w.server.authority, time.Now, func(protocol.Caller) error {
		return nil
	}))
	old.MinVersion, old.MaxVersion, old.NextProtos = tls.VersionTLS12, tls.VersionTLS12,
		[]string{"h2"}
	listener := must(tls.Listen("tcp", "127.0.0.1:0", old))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	c := must(admin.Dial(id, protocol.DialOptions{Coordinator: listener.Addr().String(),
		Timeout: 2 * time.Second}))
	if _, err := c.Studies(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "protocol version") {
		t.Errorf("a coordinator that speaks TLS 1.2: %v", err)
	}
	c.Close()
	listener.Close()
	<-done
}
