package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"caucus/protocol"
)

// Times of a local network, where a packet takes a millisecond. memberlist probes one replica each
// probeEvery and waits probeTime for a direct answer; one that fails has suspects·probeEvery to
// object. Shorter times call living replicas gone when a machine is busy; longer ones make a
// takeover later than PostgreSQL's 2 s.
const (
	probeEvery  = 500 * time.Millisecond
	probeTime   = 250 * time.Millisecond
	suspects    = 2
	gossipEvery = 200 * time.Millisecond
	// Each replica exchanges all it knows with one other each exchangeEvery, and looks for those
	// that are away after waits that double from joinFirst to joinEvery.
	exchangeEvery = 10 * time.Second
	joinFirst     = 100 * time.Millisecond
	joinEvery     = 5 * time.Second
	// mostScaled times probeEvery is how slowly a replica probes that finds itself slow.
	mostScaled = 4
	// publishTime bounds the wait until others have heard what a replica says of itself.
	publishTime = time.Second
	// GoneMemberRetention is how long a replica that went keeps its place among the members.
	GoneMemberRetention = 24 * time.Hour
	mostGone            = 64 // members that are gone and whom a replica tells of
)

// Config says where a replica listens for others and whom it looks for.
type Config struct {
	// Name is of this process, never used again.
	Name string
	// Places say where it listens and whom it looks for. Port 0 takes a free one. Names of machines
	// are resolved anew for each attempt, for ever.
	Endpoints
	// Server and Client are the two sides of mutual TLS (TLS).
	Server, Client *tls.Config
	// Memory is a file for the members heard of, so that a replica that starts while the others are
	// away knows them. Empty means none.
	Memory string
	// Keys answers replicas that ask for keys of ballots. Nil answers with nothing.
	Keys func() []byte
	Log  *slog.Logger
}

// Cluster is one replica's part in the gossip. Its methods may be called concurrently and wait for
// no other replica, Close apart.
type Cluster struct {
	config Config
	list   *memberlist.Memberlist
	stop   context.CancelFunc
	under  sync.WaitGroup
	said   chan struct{} // own changed since it was published
	once   sync.Once     // for Close

	mu      sync.Mutex // guards the rest
	own     State
	all     map[string]Member
	newest  map[string]int64 // the highest epoch, by database
	changed chan struct{}    // closed at the next change
}

// Open listens, and looks for the other replicas until Close. It waits for none.
func Open(c Config, own State) (*Cluster, error) {
	t, err := listen(c)
	if err != nil {
		return nil, fmt.Errorf("replicas: %w", err)
	}
	r, err := open(c, own, t)
	if err != nil {
		return nil, err
	}
	stop := r.stop
	r.stop = func() { t.quiet(); stop() }
	t.serve(map[byte]func() []byte{forMembers: r.document, forKeys: c.Keys})
	return r, nil
}

// QueryMembers returns the members that the replica at an address knows, itself included.
func QueryMembers(ctx context.Context, client *tls.Config, at string) ([]Member, error) {
	text, err := question(ctx, client, at, forMembers)
	if err != nil {
		return nil, err
	}
	var all []Member
	err = json.Unmarshal(text, &all)
	return all, err
}

// QueryKeys returns what Config.Keys of the replica at an address answers.
func QueryKeys(ctx context.Context, client *tls.Config, at string) ([]byte, error) {
	return question(ctx, client, at, forKeys)
}

func open(c Config, own State, t memberlist.Transport) (*Cluster, error) {
	r := &Cluster{
		config: c, own: own, said: make(chan struct{}, 1),
		all: map[string]Member{}, newest: map[string]int64{}, changed: make(chan struct{}),
	}
	if c.Memory != "" { // before gossip tells anything, because what it tells is newer
		r.recall()
	}
	m := memberlist.DefaultLANConfig()
	m.Name, m.Transport, m.Delegate, m.Events = c.Name, t, r, r
	m.ProbeInterval, m.ProbeTimeout, m.SuspicionMult = probeEvery, probeTime, suspects
	m.GossipInterval, m.PushPullInterval, m.TCPTimeout = gossipEvery, exchangeEvery, dialTime
	m.AwarenessMaxMultiplier, m.EnableCompression = mostScaled, false
	m.DisableTcpPings = true // packets go over TCP already
	m.Logger = log.New(lines{c.Log}, "", 0)
	var err error
	if r.list, err = memberlist.Create(m); err != nil {
		return nil, errors.Join(fmt.Errorf("replicas: %w", err), t.Shutdown())
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.under.Go(func() { r.join(ctx) })
	r.under.Go(func() { r.publish(ctx) })
	if c.Memory != "" {
		r.under.Go(func() { r.remember(ctx) })
	}
	return r, nil
}

// join looks for replicas that are away, again and again: memberlist forgets them.
func (c *Cluster) join(ctx context.Context) {
	for wait := joinFirst; ; wait = min(2*wait, joinEvery) {
		var under sync.WaitGroup // at once, because one that does not answer takes dialTime
		for _, at := range c.away() {
			under.Go(func() { _, _ = c.list.Join([]string{at}) })
		}
		under.Wait()
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// away lists where replicas may be that are not among the living.
func (c *Cluster) away() []string {
	at := map[string]bool{}
	for _, a := range c.config.Join {
		at[a] = true
	}
	all := c.View().Members
	for _, m := range all {
		at[m.GossipAddress] = true
	}
	for _, m := range all {
		if m.Alive {
			delete(at, m.GossipAddress)
		}
	}
	return slices.Sorted(maps.Keys(at))
}

// UpdateState changes what this replica says of itself. The others hear it soon; UpdateState does
// not wait for that.
func (c *Cluster) UpdateState(change func(*State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.own
	if change(&c.own); reflect.DeepEqual(c.own, before) {
		return
	}
	c.hear()
	select {
	case c.said <- struct{}{}:
	default:
	}
}

// publish gossips what Say changed. It is alone in waiting for memberlist, so no takeover does.
func (c *Cluster) publish(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.said:
			_ = c.list.UpdateNode(publishTime) // not heard in time is heard later
		}
	}
}

// recall reads Config.Memory. Whoever lived when it was written is taken to have gone just now. A
// file that is not there or cannot be read is no loss: gossip tells the same.
func (c *Cluster) recall() {
	var all []Member
	text, err := os.ReadFile(c.config.Memory)
	if err != nil || json.Unmarshal(text, &all) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range all {
		if m.Alive {
			m.Since = time.Now()
		}
		if m.Alive, m.IsLeader = false, false; time.Since(m.Since) < GoneMemberRetention {
			c.put(m)
		}
	}
	c.hear()
}

// remember writes Config.Memory when agents should know other addresses, or a new leader came.
func (c *Cluster) remember(ctx context.Context) {
	for before := ""; ; {
		changed, v := c.Changed(), c.View()
		if now := fmt.Sprint(v.NewestKnownEpoch, v.Addresses()); now != before {
			if err := protocol.WriteSecret(c.config.Memory, c.document()); err != nil {
				c.config.Log.Warn("the replicas heard of are not kept", "error", err)
			}
			before = now
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(rememberEvery):
		case <-ctx.Done():
			return
		}
	}
}

// rememberEvery bounds how often Config.Memory is written.
const rememberEvery = time.Second

// hear wakes those who wait for a change. The caller holds mu.
func (c *Cluster) hear() {
	for _, m := range c.all {
		c.newest[m.Database] = max(c.newest[m.Database], m.Epoch)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// View returns what this replica has heard up to now.
func (c *Cluster) View() View {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := View{Own: c.all[c.config.Name], NewestKnownEpoch: max(c.newest[c.own.Database],
		c.own.Epoch)}
	v.Own.Name, v.Own.State = c.config.Name, c.own
	for name, m := range c.all {
		switch {
		case !m.Alive && time.Since(m.Since) > GoneMemberRetention:
			delete(c.all, name)
		case name == v.Own.Name:
			v.Members = append(v.Members, v.Own)
		default:
			v.Members = append(v.Members, m)
		}
	}
	slices.SortFunc(v.Members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), a.Since.Compare(b.Since),
			cmp.Compare(a.Name, b.Name))
	})
	return v
}

// Changed is closed at the next change of View.
func (c *Cluster) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// document is the answer to Ask.
func (c *Cluster) document() []byte {
	text, _ := json.Marshal(c.View().Members)
	return text
}

// Close tells the others, and ends. It waits for them for leaveTime at most. A second call has no
// effect.
func (c *Cluster) Close() error {
	var err error
	c.once.Do(func() {
		c.stop()
		c.under.Wait()
		_ = c.list.Leave(leaveTime)
		err = c.list.Shutdown()
	})
	return err
}

const leaveTime = 200 * time.Millisecond

// memberlist calls the methods below while it holds its locks. So they call nothing of it and wait
// for nobody.

// NotifyJoin hears of a replica that lives, by memberlist's word alone: it grants nothing.
func (c *Cluster) NotifyJoin(n *memberlist.Node) { c.note(n, true) }

// NotifyUpdate hears that a living replica says something new of itself.
func (c *Cluster) NotifyUpdate(n *memberlist.Node) { c.note(n, true) }

// NotifyLeave hears that a replica left or answers no probe. It stays a member for
// GoneMemberRetention, marked as gone since now.
func (c *Cluster) NotifyLeave(n *memberlist.Node) { c.note(n, false) }

// note takes news of a replica. What a replica says of itself in words that this version cannot
// read is ignored; that it went is not.
func (c *Cluster) note(n *memberlist.Node, alive bool) {
	m := Member{Name: n.Name, GossipAddress: n.Address(), Alive: alive, Since: time.Now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	had, known := c.all[n.Name]
	if known && !alive {
		m.State = had.State
	} else if json.Unmarshal(n.Meta, &m.State) != nil {
		return
	}
	if known && had.Alive == alive {
		m.Since = had.Since
	}
	c.put(m)
	c.hear()
}

// put stores a member. Of the processes that were at one place, only the last one keeps its place.
// The caller holds mu.
func (c *Cluster) put(m Member) {
	for name, other := range c.all {
		switch {
		case name == m.Name || other.GossipAddress != m.GossipAddress:
		case !m.Alive && (other.Alive || other.Since.After(m.Since)):
			delete(c.all, m.Name) // it may have been alive
			return
		case !other.Alive:
			delete(c.all, name)
		}
	}
	c.all[m.Name] = m
}

// NodeMeta is what a replica says of itself. Version and Head give way where they do not fit.
func (c *Cluster) NodeMeta(limit int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, _ := json.Marshal(c.own)
	if len(text) > limit {
		short := c.own
		short.Version, short.LedgerHead = "", ""
		text, _ = json.Marshal(short)
	}
	return text[:min(len(text), limit)]
}

// departed is a replica that went, as replicas tell each other: a new one has not seen it go.
type departed struct {
	Name  string        `json:"name"`
	At    string        `json:"at"`
	For   time.Duration `json:"for"`
	State State         `json:"state"`
}

// LocalState tells another replica who went.
func (c *Cluster) LocalState(bool) []byte {
	var all []departed
	for _, m := range c.View().Members {
		if !m.Alive {
			all = append(all, departed{m.Name, m.GossipAddress, time.Since(m.Since), m.State})
		}
	}
	slices.SortFunc(all, func(a, b departed) int { return cmp.Compare(a.For, b.For) })
	text, _ := json.Marshal(all[:min(len(all), mostGone)])
	return text
}

// MergeRemoteState hears from another replica who went.
func (c *Cluster) MergeRemoteState(text []byte, _ bool) {
	var all []departed
	if json.Unmarshal(text, &all) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range all[:min(len(all), mostGone)] {
		_, _, err := net.SplitHostPort(g.At)
		if _, known := c.all[g.Name]; !known && err == nil && g.For >= 0 &&
			g.For < GoneMemberRetention {
			c.put(Member{Name: g.Name, GossipAddress: g.At, Since: time.Now().Add(-g.For),
				State: g.State})
		}
	}
	c.hear()
}

// NotifyMsg ignores messages: replicas send each other nothing but what they say of themselves.
func (c *Cluster) NotifyMsg([]byte) {}

// GetBroadcasts has nothing to send.
func (c *Cluster) GetBroadcasts(int, int) [][]byte { return nil }

// lines passes memberlist's own log on, for those who look for details.
type lines struct{ log *slog.Logger }

func (l lines) Write(text []byte) (int, error) {
	l.log.Debug("memberlist", "says", string(text))
	return len(text), nil
}
