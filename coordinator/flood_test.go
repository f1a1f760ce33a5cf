package coordinator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/pb"
)

// unfinished is the body of a call that announces a message and sends all of it except the last
// byte. It then waits until the test ends.
type unfinished struct {
	left int // bytes still to send
	head []byte
	said *atomic.Int64
	end  <-chan struct{}
}

func newUnfinished(size int, said *atomic.Int64, end <-chan struct{}) *unfinished {
	head := make([]byte, 5)
	binary.BigEndian.PutUint32(head[1:], uint32(size))
	return &unfinished{left: size - 1, head: head, said: said, end: end}
}

func (u *unfinished) Read(b []byte) (int, error) {
	if len(u.head) > 0 {
		n := copy(b, u.head)
		u.head = u.head[n:]
		return n, nil
	}
	if u.left == 0 {
		<-u.end
		return 0, io.ErrUnexpectedEOF
	}
	n := min(len(b), u.left)
	clear(b[:n])
	u.left -= n
	if u.said != nil {
		u.said.Add(int64(n))
	}
	return n, nil
}

// flood opens connections under a certificate and begins calls on each, whose
// messages of 4 MiB lack their last byte. It returns the heap once the
// coordinator takes no more of them.
func (w *world) flood(certificate tls.Certificate, method string, connections, calls int) int64 {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	end := make(chan struct{})
	var (
		under sync.WaitGroup
		said  atomic.Int64
	)
	for range connections {
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13,
		}}
		for range calls {
			under.Go(func() {
				r := must(http.NewRequestWithContext(ctx, http.MethodPost,
					"https://"+w.server.Addr()+method, newUnfinished(4<<20, &said, end)))
				r.Header.Set("Content-Type", "application/grpc")
				r.Header.Set("Te", "trailers")
				if reply, err := transport.RoundTrip(r); err == nil {
					io.Copy(io.Discard, reply.Body)
					reply.Body.Close()
				}
			})
		}
		defer transport.CloseIdleConnections()
	}
	defer under.Wait()
	defer cancel()
	defer close(end)
	for last, still := int64(-1), 0; still < 5; time.Sleep(50 * time.Millisecond) {
		now := said.Load()
		if now != last {
			last, still = now, 0
		}
		still++
	}
	return heap()
}

// heap is the memory in use after two collections. The second one frees what a sync.Pool keeps,
// such as gRPC's buffers.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestStrangersHoldNoMemory: four connections with 32 calls each, whose messages never end, take a
// few megabytes. It does not matter who makes them: a revoked member, an invitation that nobody
// redeemed, or a member in good standing. Others are served meanwhile.
func TestStrangersHoldNoMemory(t *testing.T) {
	const most = 24 << 20 // 4 connections × 32 calls × 4 MiB would be 512 MiB
	ctx := context.Background()
	w := newWorld(t, nil)
	good := w.enrol("good")
	before := heap()
	revoked := w.identity("revoked")
	must(0, w.operator.Revoke(ctx, "revoked"))
	invitation := invite(t, w, admin.InviteOptions{Name: "invited"})
	key := keyOf(invitation)
	floods := []struct {
		who         string
		certificate tls.Certificate
		method      string
	}{
		{"revoked", pairOf(revoked), pb.Studies_List_FullMethodName},
		{"invitation", key, pb.Enrolment_Enrol_FullMethodName},
		{"invitation, elsewhere", key, pb.Administration_Invite_FullMethodName},
		{"member", pairOf(w.identity("member")), pb.Studies_List_FullMethodName},
		{"member, stream", pairOf(w.identity("member")), pb.Studies_Contribute_FullMethodName},
	}
	if raced {
		floods = floods[len(floods)-1:]
	}
	for _, c := range floods {
		t.Run(c.who, func(t *testing.T) {
			done := make(chan error, 1)
			go func() {
				time.Sleep(100 * time.Millisecond) // while the calls are open
				_, err := good.Studies(ctx)
				done <- err
			}()
			grown := w.flood(c.certificate, c.method, 4, 32) - before
			t.Logf("the heap grew by %.1f MiB", float64(grown)/(1<<20))
			if grown > most {
				t.Errorf("the heap grew by %d MiB, want at most %d", grown>>20, most>>20)
			}
			if err := <-done; err != nil {
				t.Errorf("another member meanwhile: %v", err)
			}
		})
	}
	if _, err := protocol.Enrol(ctx, invitation, must(protocol.NewEnrolment()),
		protocol.DialOptions{Now: w.clock.Now}); err != nil && !errors.Is(err, protocol.ErrBusy) {
		t.Errorf("the invitation afterwards: %v", err)
	}
}

func pairOf(id protocol.Identity) tls.Certificate {
	return must(tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key)))
}

func keyOf(v protocol.Invitation) tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{v.Certificate},
		PrivateKey: must(x509.ParsePKCS8PrivateKey(v.Key))}
}
