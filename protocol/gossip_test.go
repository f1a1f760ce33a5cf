package protocol

import (
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
)

// TestGossipStrangers: who has no key announces much, sends it on many connections
// and never ends. It holds next to no memory, and when it goes, others join.
func TestGossipStrangers(t *testing.T) {
	const connections, each = 40, 6 << 20
	key := make([]byte, 32)
	g, err := JoinGossip(GossipConfig{Name: "coordinator", Listen: "127.0.0.1:0", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	held := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	before, part := held(), make([]byte, 64<<10)
	var under sync.WaitGroup
	var open []net.Conn
	for range connections {
		c, err := net.Dial("tcp", g.Addr())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		under.Go(func() {
			const encrypted = 10 // memberlist's number of what is encrypted
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			_, err := c.Write(binary.BigEndian.AppendUint32([]byte{encrypted}, 20<<20-1))
			for sent := 0; err == nil && sent < each; sent += len(part) {
				_, err = c.Write(part)
			}
		})
	}
	under.Wait()
	time.Sleep(100 * time.Millisecond) // what was sent is read
	if n := held() - before; n > 100<<20 {
		t.Errorf("%d connections hold %d MiB", connections, n>>20)
	}
	for _, c := range open {
		c.Close()
	}
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		other, err := JoinGossip(GossipConfig{Name: "site", Listen: "127.0.0.1:0", Key: key, Join: []string{g.Addr()}})
		if err == nil {
			defer other.Close()
			break
		}
		if time.Now().After(until) {
			t.Fatalf("after the strangers went: %v", err)
		}
	}
	for until := time.Now().Add(10 * time.Second); !slices.Contains(g.Alive(), "site"); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("alive: %v", g.Alive())
		}
	}
}

// TestGossipListens: a name would be every address.
func TestGossipListens(t *testing.T) {
	for listen, want := range map[string]string{"127.0.0.1:0": "", "[::1]:7946": "", ":7946": "", "localhost:7946": "is no address", "7946": "no host:port"} {
		err := GossipConfig{Name: "x", Listen: listen, Key: make([]byte, 32)}.Validate()
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", listen, err)
		}
	}
}

// TestGossipGuests: who has the key and makes up nodes is not remembered without
// bound; those that are known stay known.
func TestGossipGuests(t *testing.T) {
	g := &guests{names: map[string]bool{}}
	for i := range mostGuests + 10 {
		if err := g.NotifyAlive(&memberlist.Node{Name: fmt.Sprint("n", i)}); (err != nil) != (i >= mostGuests) {
			t.Fatalf("node %d: %v", i, err)
		}
	}
	if err := g.NotifyAlive(&memberlist.Node{Name: "n1"}); err != nil {
		t.Error(err)
	}
	if err := (&guests{names: map[string]bool{}}).NotifyAlive(&memberlist.Node{Name: strings.Repeat("n", 1000)}); err == nil {
		t.Error("a name of 1000 bytes")
	}
}
