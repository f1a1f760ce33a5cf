package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"caucus/internal/testlevel"
)

// world is a set of replicas on memberlist's mock network. Tests set which packets the network
// loses, and cut connections.
type world struct {
	t        testing.TB
	wires    []wire
	replicas []*Cluster
	loss     atomic.Uint64     // of 1000 packets
	cut      [8][8]atomic.Bool // by sender and receiver
}

// wire is the transport of one replica.
type wire struct {
	*memberlist.MockTransport
	world *world
	own   int
}

var errCut = errors.New("cut")

// lost reports whether a packet to an address is lost. The n-th replica has port n+1.
func (w wire) lost(to string) bool {
	var n int
	if _, port, err := net.SplitHostPort(to); err == nil {
		fmt.Sscan(port, &n)
	}
	if n < 1 || n > len(w.world.cut) {
		return true
	}
	return w.world.cut[w.own][n-1].Load() || rand.Uint64N(1000) < w.world.loss.Load()
}

func (w wire) WriteTo(packet []byte, to string) (time.Time, error) {
	return w.WriteToAddress(packet, memberlist.Address{Addr: to})
}

func (w wire) WriteToAddress(packet []byte, to memberlist.Address) (time.Time, error) {
	if to.Name = ""; !w.lost(to.Addr) {
		// the mock network waits until its packets are read
		go w.MockTransport.WriteToAddress(append([]byte{}, packet...), to)
	}
	return time.Now(), nil
}

func (w wire) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	if to.Name = ""; w.lost(to.Addr) {
		return nil, errCut
	}
	return w.MockTransport.DialAddressTimeout(to, timeout)
}

// add starts a replica that joins by the n-th one.
func (w *world) add(at string, n int) *Cluster {
	i := len(w.replicas)
	name := fmt.Sprint("r", i)
	c := Config{Name: name, Endpoints: Endpoints{Join: []string{fmt.Sprint("127.0.0.1:", n+1)}},
		Log: slog.New(slog.DiscardHandler)}
	own := State{Address: at, Database: "1/1/c"}
	r, err := open(c, own, w.wires[i])
	if err != nil {
		w.t.Fatal(err)
	}
	w.replicas = append(w.replicas, r)
	return r
}

func newWorld(t testing.TB, n int) *world {
	w := &world{t: t}
	var network memberlist.MockNetwork // make all first: the maps have no lock
	for i := range w.cut {
		w.wires = append(w.wires, wire{network.NewTransport(fmt.Sprint("r", i)), w, i})
	}
	for i := range n {
		w.add(fmt.Sprintf("10.0.0.%d:1", i), 0)
	}
	t.Cleanup(func() {
		for _, r := range w.replicas {
			r.stop()
			r.list.Shutdown()
		}
	})
	w.until("all see all", func() bool { return w.whole() })
	return w
}

// whole reports whether each replica sees all others alive.
func (w *world) whole() bool {
	for i := range w.replicas {
		if w.alive(i) != len(w.replicas) {
			return false
		}
	}
	return true
}

func (w *world) alive(i int) (n int) {
	for _, m := range w.replicas[i].View().Members {
		if m.Alive {
			n++
		}
	}
	return n
}

// isolate cuts a replica off from all others, or ends the cut. If one way, the replica still hears
// the others, and they do not hear it.
func (w *world) isolate(i int, cut, oneWay bool) {
	for j := range w.cut {
		w.cut[i][j].Store(cut && i != j)
		w.cut[j][i].Store(cut && i != j && !oneWay)
	}
}

// until waits for a condition, with a generous limit for busy machines. It returns the time that
// passed.
func (w *world) until(what string, is func() bool) time.Duration {
	w.t.Helper()
	start := time.Now()
	for !is() {
		if time.Since(start) > time.Minute {
			w.t.Fatalf("%s: not within a minute", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(start)
}

func (w *world) lead(i int, epoch int64) {
	w.replicas[i].UpdateState(func(s *State) { s.IsLeader, s.Epoch = true, epoch })
	w.until("all hear of the leader", func() bool {
		for _, r := range w.replicas {
			if e, led := r.View().NewestEpoch(); e != epoch || !led {
				return false
			}
		}
		return true
	})
}

func (w *world) led(i int) bool { _, led := w.replicas[i].View().NewestEpoch(); return led }

// TestGoneAndBack: a leader is cut off, in both directions or in one. The others see it as gone,
// and still know its epoch. When the cut ends, the leader is back under its name. A replica that
// joins in between also learns that the leader was gone.
func TestGoneAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.lead(0, 7)
	if l, _ := w.replicas[2].View().Leader(); l.Address != "10.0.0.0:1" {
		t.Errorf("the leader is at %q", l.Address)
	}
	for _, oneWay := range []bool{false, true} {
		w.isolate(0, true, oneWay)
		took := w.until("it is gone", func() bool { return !w.led(1) && !w.led(2) })
		t.Logf("gone after %v (one way: %t)", took.Round(10*time.Millisecond), oneWay)
		if v := w.replicas[1].View(); v.NewestKnownEpoch != 7 ||
			len(v.Members) != len(w.replicas) ||
			!strings.Contains(v.Addresses(), "10.0.0.0:1") {
			t.Errorf("the others forgot it: epoch %d, %d members, %s", v.NewestKnownEpoch,
				len(v.Members),
				v.Addresses())
		}
		if !oneWay {
			late := w.add("10.0.0.9:1", 1)
			w.until("the late one hears who went", func() bool {
				v := late.View()
				return v.NewestKnownEpoch == 7 && len(v.Members) == 4 &&
					strings.Contains(v.Addresses(), "10.0.0.0:1")
			})
		}
		w.isolate(0, false, false)
		w.until("it is back", w.whole)
		w.until("it leads", func() bool { return w.led(1) && w.led(2) })
	}
}

// TestLoss: the network loses packets. A living leader is rarely taken for gone, and a dead one
// always is. When half of all packets are lost, memberlist errs, which is why replicas also ask
// PostgreSQL.
func TestLoss(t *testing.T) {
	t.Parallel()
	losses, watch, cuts := []uint64{300}, 3*time.Second, 1
	if testlevel.Long() {
		losses, watch, cuts = []uint64{0, 100, 300, 500}, 40*time.Second, 5
	}
	for _, loss := range losses {
		w := newWorld(t, 3)
		w.lead(0, 1)
		w.loss.Store(loss)
		falls, before := 0, true
		for start := time.Now(); time.Since(start) < watch; time.Sleep(20 * time.Millisecond) {
			led := w.led(1)
			if before && !led {
				falls++
			}
			before = led
		}
		var took []time.Duration
		for range cuts {
			w.loss.Store(0)
			w.until("all are back", w.whole)
			w.loss.Store(loss)
			w.isolate(0, true, false)
			took = append(took, w.until("the dead one is gone", func() bool {
				return !w.led(1)
			}).Round(10*time.Millisecond))
			w.isolate(0, false, false)
		}
		t.Logf("%d %% lost: a living leader was called gone %d times in %v; a dead one after %v", loss/10, falls, watch, took)
	}
}

// TestForged: garbage has no effect, and a living replica that is reported dead contradicts the
// report. Memberlist trusts its members, and only members can send such messages.
func TestForged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.lead(0, 1)
	mallory := w.wires[7].MockTransport
	for range 3000 {
		garbage := make([]byte, 1+rand.IntN(200))
		for i := range garbage {
			garbage[i] = byte(rand.Uint32())
		}
		garbage[0] = byte(rand.Uint32N(16)) // an existing kind of message
		for i := range w.replicas {
			mallory.WriteToAddress(append([]byte{}, garbage...),
				memberlist.Address{Name: fmt.Sprint("r", i)})
		}
	}
	for n := range 20 {
		// A deadMsg (5) in msgpack, with an incarnation number that does not exist yet.
		dead := append([]byte{5}, fmt.Sprintf("\x83\xabIncarnation\xce\x00\x00\x00%c\xa4Node\xa2r0\xa4From\xa2r2", 100+n)...)
		mallory.WriteToAddress(dead, memberlist.Address{Name: "r1"})
		w.until("it objects", func() bool { return w.led(1) && w.led(2) })
	}
	w.until("all are there", w.whole)
}

// TestOnePlace: a process that starts at the address of an earlier one replaces it. The earlier
// one's epoch stays known.
func TestOnePlace(t *testing.T) {
	r := &Cluster{config: Config{Name: "own"}, all: map[string]Member{}, newest: map[string]int64{},
		changed: make(chan struct{})}
	now := time.Now()
	for _, m := range []Member{
		{Name: "first", GossipAddress: "a", Alive: true, Since: now, State: State{Epoch: 4}},
		// a late message: this process ended before the first one started
		{Name: "second", GossipAddress: "a", Since: now.Add(-time.Hour)},
		{Name: "third", GossipAddress: "b", Since: now.Add(-GoneMemberRetention - time.Second)},
		{Name: "fourth", GossipAddress: "c", Since: now.Add(-time.Hour)},
		{Name: "fifth", GossipAddress: "c", Since: now.Add(-time.Minute)},
	} {
		r.put(m)
	}
	r.hear()
	r.put(Member{Name: "first", GossipAddress: "a", Since: now})
	r.put(Member{Name: "next", GossipAddress: "a", Alive: true, Since: now})
	// replaced before anybody noticed its end, and then gone
	r.put(Member{Name: "late", GossipAddress: "d", Alive: true, Since: now,
		State: State{Address: "d"}})
	r.put(Member{Name: "new", GossipAddress: "d", Alive: true, Since: now,
		State: State{Address: "d"}})
	r.put(Member{Name: "late", GossipAddress: "d", Since: now})
	var names []string
	for _, m := range r.View().Members {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, " "); got != "fifth next new" || r.View().NewestKnownEpoch != 4 {
		t.Errorf("members %s, newest epoch %d", got, r.View().NewestKnownEpoch)
	}
}

// TestUnreadable: a state that this version cannot read leaves the sender's earlier state
// unchanged. The sender can still leave. A sender without an earlier state becomes no member.
func TestUnreadable(t *testing.T) {
	r := &Cluster{config: Config{Name: "own"}, all: map[string]Member{}, newest: map[string]int64{},
		changed: make(chan struct{})}
	n := &memberlist.Node{Name: "other", Addr: net.IPv4(10, 0, 0, 1), Port: 1,
		Meta: []byte(`{"address":"a:1","epoch":3}`)}
	r.NotifyJoin(n)
	n.Meta = []byte("later")
	r.NotifyUpdate(n)
	if m := r.all["other"]; !m.Alive || m.Epoch != 3 {
		t.Errorf("after unreadable words: %+v", m)
	}
	r.NotifyLeave(n)
	if m := r.all["other"]; m.Alive || m.Address != "a:1" || m.Epoch != 3 {
		t.Errorf("after it went: %+v", m)
	}
	n.Name = "stranger"
	r.NotifyJoin(n)
	r.NotifyLeave(n)
	if _, known := r.all["stranger"]; known {
		t.Error("a replica that said nothing readable is a member")
	}
}

// TestFits: what a replica says about itself fits into memberlist's bound, however long the
// version's name is.
func TestFits(t *testing.T) {
	long := State{Address: strings.Repeat("a", 100), Version: strings.Repeat("v", 600),
		Database: strings.Repeat("d",
			110), Epoch: 1 << 62, IsLeader: true, Keys: 1 << 30, Schemas: []int{99, 99,
			99}, LedgerHead: strings.Repeat("h", 90)}
	r := &Cluster{own: long}
	if text := string(r.NodeMeta(memberlist.MetaMaxSize)); len(text) > memberlist.MetaMaxSize ||
		!strings.HasSuffix(text, "}") || !strings.Contains(text, "epoch") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}
