package coordinator

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"caucus/protocol"
	"caucus/protocol/admin"
)

// The environment that makes the test binary fetch a pool: a folder with
// identity.yaml, for the pool; where to dial; which study.
const (
	fetchFolder  = "CAUCUS_FETCH_FOLDER"
	fetchAddress = "CAUCUS_FETCH_ADDRESS"
	fetchStudy   = "CAUCUS_FETCH_STUDY"
)

func runFetch() {
	ctx, folder := context.Background(), os.Getenv(fetchFolder)
	c := must(admin.Dial(must(protocol.LoadIdentity(filepath.Join(folder, "identity.yaml"))),
		protocol.DialOptions{Coordinator: os.Getenv(fetchAddress)}))
	must(c.Pool(ctx, must(c.Study(ctx, os.Getenv(fetchStudy))), folder))
}

// stalling passes connections on to an address. After a number of bytes of answers, nothing passes.
func stalling(t *testing.T, to string, most int64) (address string) {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			there := must(net.Dial("tcp", to))
			go func() {
				_, _ = io.Copy(there, here) // until the dialling process has ended
				there.Close()
				here.Close()
			}()
			go func() { _, _ = io.CopyN(here, there, most) }()
		}
	}()
	return l.Addr().String()
}

// TestPoolResumesAfterKill: a process is killed by SIGKILL while it downloads a pool. Its part of
// the pool stays, and the next process downloads only the rest.
func TestPoolResumesAfterKill(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	id := w.identity("p0")
	for _, p := range names(2) {
		w.enrol(string(p))
	}
	pool := poolOf(200_000) // 6 chunks
	s := w.open(planOf(names(2), pool, w.clock.Now().Add(time.Hour)), pool)
	folder := t.TempDir()
	must(0, id.Save(filepath.Join(folder, "identity.yaml")))
	part := filepath.Join(folder, "pool-"+s.Plan.Pool.String()+".csv.part")

	cmd := exec.Command(must(os.Executable()))
	cmd.Env = append(os.Environ(), fetchFolder+"="+folder, fetchStudy+"="+s.Hash.String(),
		fetchAddress+"="+stalling(t, w.server.Addr(), int64(len(pool)/2)))
	must(0, cmd.Start())
	size := func() int64 {
		if info, err := os.Stat(part); err == nil {
			return info.Size()
		}
		return 0
	}
	for until := time.Now().Add(20 * time.Second); size() < int64(len(pool)/4) &&
		time.Now().Before(until); {
		time.Sleep(5 * time.Millisecond)
	}
	must(0, cmd.Process.Kill())
	_ = cmd.Wait()
	had := size()
	if had < int64(len(pool)/4) || had >= int64(len(pool)) {
		t.Fatalf("the killed process left %d of %d bytes", had, len(pool))
	}

	left := func() float64 { return w.server.gate.Traffic().BytesLeft["party/p0"] }
	// The server may still be sending to the killed process. Wait until the meter, which otherwise
	// only rises, no longer falls.
	before := left()
	for now := before; ; before = now {
		time.Sleep(300 * time.Millisecond)
		if now = left(); now >= before {
			before = now
			break
		}
	}
	got, err := w.dialFor(id).Pool(ctx, s, folder)
	if err != nil || !bytes.Equal(got, pool) {
		t.Fatalf("after the kill: %d bytes, %v", len(got), err)
	}
	if moved := int64(before - left()); moved > int64(len(pool))-had+4096 {
		t.Errorf("%d bytes were moved again; %d of %d were there", moved, had, len(pool))
	}
}

// dialFor is a client that is closed at the end of the test.
func (w *world) dialFor(id protocol.Identity) *admin.Client {
	c := w.dial(id)
	w.t.Cleanup(func() { c.Close() })
	return c
}
