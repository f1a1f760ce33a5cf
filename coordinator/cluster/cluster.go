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
	gossipEvery = 100 * time.Millisecond
	// Each replica exchanges all it knows with one other each exchangeEvery, and looks for those
	// that are away after waits that double from joinFirst to joinEvery.
	exchangeEvery = 10 * time.Second
	joinFirst     = 100 * time.Millisecond
	joinEvery     = 5 * time.Second
	// mostScaled times probeEvery is how slowly a replica probes that finds itself slow.
	mostScaled = 4
	// publishTime bounds the wait until others have heard what a replica says of itself.
	publishTime = time.Second
	// KeepGone is how long a replica that went keeps its place among the members.
	KeepGone = 24 * time.Hour
	mostGone = 64 // members that are gone and whom a replica tells of
)

// Config says where a replica listens for others and whom it looks for.
type Config struct {
	// Name is of this process, never used again.
	Name string
	// Places say where it listens and whom it looks for. Port 0 takes a free one. Names of machines
	// are resolved anew for each attempt, for ever.
	Places
	// Server and Client are the two sides of mutual TLS (protocol.ReplicaTLS).
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
	t.serve(map[byte]func() []byte{forMembers: r.document, forKeys: c.Keys})
	return r, nil
}

// Ask returns the members that the replica at an address knows, itself included.
func Ask(ctx context.Context, client *tls.Config, at string) (all []Member, err error) {
	text, err := question(ctx, client, at, forMembers)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, err
}

// AskKeys returns what Config.Keys of the replica at an address answers.
func AskKeys(ctx context.Context, client *tls.Config, at string) ([]byte, error) {
	return question(ctx, client, at, forKeys)
}

func open(c Config, own State, t memberlist.Transport) (*Cluster, error) {
	r := &Cluster{
		config: c, own: own, said: make(chan struct{}, 1),
		all: map[string]Member{}, newest: map[string]int64{}, changed: make(chan struct{}),
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
		r.recall()
		r.under.Go(func() { r.remember(ctx) })
	}
	return r, nil
}

// join looks for replicas that are away, again and again: memberlist forgets them.
func (r *Cluster) join(ctx context.Context) {
	for wait := joinFirst; ; wait = min(2*wait, joinEvery) {
		if away := r.away(); len(away) > 0 {
			_, _ = r.list.Join(away)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// away lists where replicas may be that are not among the living.
func (r *Cluster) away() []string {
	at := map[string]bool{}
	for _, a := range r.config.Join {
		at[a] = true
	}
	all := r.View().Members
	for _, m := range all {
		at[m.At] = true
	}
	for _, m := range all {
		if m.Alive {
			delete(at, m.At)
		}
	}
	return slices.Sorted(maps.Keys(at))
}

// Say changes what this replica says of itself. The others hear it soon; Say does not wait for
// that.
func (r *Cluster) Say(change func(*State)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.own
	if change(&r.own); reflect.DeepEqual(r.own, before) {
		return
	}
	r.hear()
	select {
	case r.said <- struct{}{}:
	default:
	}
}

// publish gossips what Say changed. It is alone in waiting for memberlist, so no takeover does.
func (r *Cluster) publish(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.said:
			_ = r.list.UpdateNode(publishTime) // not heard in time is heard later
		}
	}
}

// recall reads Config.Memory. Whoever lived when it was written is taken to have gone just now. A
// file that is not there or cannot be read is no loss: gossip tells the same.
func (r *Cluster) recall() {
	var all []Member
	text, err := os.ReadFile(r.config.Memory)
	if err != nil || json.Unmarshal(text, &all) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range all {
		if m.Alive {
			m.Since = time.Now()
		}
		if m.Alive, m.Leads = false, false; time.Since(m.Since) < KeepGone {
			r.put(m)
		}
	}
	r.hear()
}

// remember writes Config.Memory when agents should know other addresses, or a new leader came.
func (r *Cluster) remember(ctx context.Context) {
	for before := ""; ; {
		changed, v := r.Changed(), r.View()
		if now := fmt.Sprint(v.Newest, v.Addresses()); now != before {
			if err := protocol.WriteSecret(r.config.Memory, r.document()); err != nil {
				r.config.Log.Warn("the replicas heard of are not kept", "error", err)
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
func (r *Cluster) hear() {
	for _, m := range r.all {
		r.newest[m.Database] = max(r.newest[m.Database], m.Epoch)
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// View returns what this replica has heard up to now.
func (r *Cluster) View() View {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := View{Own: r.all[r.config.Name], Newest: max(r.newest[r.own.Database], r.own.Epoch)}
	v.Own.Name, v.Own.State = r.config.Name, r.own
	for name, m := range r.all {
		switch {
		case !m.Alive && time.Since(m.Since) > KeepGone:
			delete(r.all, name)
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
func (r *Cluster) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// document is the answer to Ask.
func (r *Cluster) document() []byte {
	text, _ := json.Marshal(r.View().Members)
	return text
}

// Close tells the others, and ends. It waits for them for leaveTime at most. A second call has no
// effect.
func (r *Cluster) Close() (err error) {
	r.once.Do(func() {
		r.stop()
		r.under.Wait()
		_ = r.list.Leave(leaveTime)
		err = r.list.Shutdown()
	})
	return err
}

const leaveTime = 200 * time.Millisecond

// memberlist calls the methods below while it holds its locks. So they call nothing of it and wait
// for nobody.

// NotifyJoin hears of a replica that lives, by memberlist's word alone: it grants nothing.
func (r *Cluster) NotifyJoin(n *memberlist.Node) { r.note(n, true) }

// NotifyUpdate hears that a living replica says something new of itself.
func (r *Cluster) NotifyUpdate(n *memberlist.Node) { r.note(n, true) }

// NotifyLeave hears that a replica left or answers no probe. It stays a member for KeepGone, marked
// as gone since now.
func (r *Cluster) NotifyLeave(n *memberlist.Node) { r.note(n, false) }

// note takes news of a replica. What a replica says of itself in words that this version cannot
// read is ignored.
func (r *Cluster) note(n *memberlist.Node, alive bool) {
	m := Member{Name: n.Name, At: n.Address(), Alive: alive, Since: time.Now()}
	if json.Unmarshal(n.Meta, &m.State) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if had, known := r.all[n.Name]; known && had.Alive == alive {
		m.Since = had.Since
	}
	r.put(m)
	r.hear()
}

// put stores a member. Of the processes that were at one place, only the last one keeps its place.
// The caller holds mu.
func (r *Cluster) put(m Member) {
	for name, other := range r.all {
		switch {
		case name == m.Name || other.At != m.At:
		case !m.Alive && (other.Alive || other.Since.After(m.Since)):
			return
		case !other.Alive:
			delete(r.all, name)
		}
	}
	r.all[m.Name] = m
}

// NodeMeta is what a replica says of itself. Version and Head give way where they do not fit.
func (r *Cluster) NodeMeta(limit int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, _ := json.Marshal(r.own)
	if len(text) > limit {
		short := r.own
		short.Version, short.Head = "", ""
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
func (r *Cluster) LocalState(bool) []byte {
	var all []departed
	for _, m := range r.View().Members {
		if !m.Alive {
			all = append(all, departed{m.Name, m.At, time.Since(m.Since), m.State})
		}
	}
	slices.SortFunc(all, func(a, b departed) int { return cmp.Compare(a.For, b.For) })
	text, _ := json.Marshal(all[:min(len(all), mostGone)])
	return text
}

// MergeRemoteState hears from another replica who went.
func (r *Cluster) MergeRemoteState(text []byte, _ bool) {
	var all []departed
	if json.Unmarshal(text, &all) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range all[:min(len(all), mostGone)] {
		_, _, err := net.SplitHostPort(g.At)
		if _, known := r.all[g.Name]; !known && err == nil && g.For >= 0 && g.For < KeepGone {
			r.put(Member{Name: g.Name, At: g.At, Since: time.Now().Add(-g.For), State: g.State})
		}
	}
	r.hear()
}

// NotifyMsg ignores messages: replicas send each other nothing but what they say of themselves.
func (r *Cluster) NotifyMsg([]byte) {}

// GetBroadcasts has nothing to send.
func (r *Cluster) GetBroadcasts(int, int) [][]byte { return nil }

// lines passes memberlist's own log on, for those who look for details.
type lines struct{ log *slog.Logger }

func (l lines) Write(text []byte) (int, error) {
	l.log.Debug("memberlist", "says", string(text))
	return len(text), nil
}
