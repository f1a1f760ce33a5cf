package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"caucus/protocol"
	"caucus/protocol/server"
)

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// config is a replica's configuration, with certificates of a coordinator's authority.
func config(a *server.Authority, name string, join ...string) Config {
	c := Config{Name: name, Endpoints: Endpoints{Listen: "127.0.0.1:0", Join: join},
		Log: slog.New(slog.DiscardHandler), Keys: func() []byte {
			return []byte("keys of " + name)
		}}
	var err error
	c.Server, c.Client, err = TLS(a, name, time.Now)
	must(0, err)
	return c
}

func opened(t *testing.T, c Config) (*Cluster, string) {
	r := must(Open(c, State{Address: c.Name + ".example.org:1"}))
	t.Cleanup(func() { r.Close() })
	return r, r.View().Own.GossipAddress
}

func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

func (c *Cluster) living() (names []string) {
	for _, m := range c.View().Members {
		if m.Alive {
			names = append(names, m.Name)
		}
	}
	return names
}

// TestPort: two replicas find each other, answer questions, and part. The port accepts nobody else:
// no stranger, no member or operator, no former authority, no replica of another coordinator, and
// no other protocol. Half-open connections keep no replica out.
func TestPort(t *testing.T) {
	defer goleak.VerifyNone(t)
	authority := must(server.NewAuthority(time.Now()))
	first := must(Open(config(authority, "first"), State{Address: "first.example.org:1"}))
	defer first.Close()
	at := first.View().Own.GossipAddress
	for range 2 * mostGreets { // connections that send nothing
		conn := must(net.Dial("tcp", at))
		defer conn.Close()
	}
	second := must(Open(config(authority, "second", at), State{Address: "second.example.org:1"}))
	soon(t, "both see both", func() bool {
		return len(first.living()) == 2 && len(second.living()) == 2
	})
	second.UpdateState(func(s *State) { s.IsLeader, s.Epoch = true, 3 })
	soon(t, "the first hears what the second says", func() bool {
		l, _ := first.View().Leader()
		return l.Name == "second" && l.Epoch == 3
	})

	ctx := context.Background()
	asks := config(authority, "asks").Client
	all := must(QueryMembers(ctx, asks, at))
	if len(all) != 2 || all[1].Address != "second.example.org:1" || !all[1].IsLeader ||
		all[1].GossipAddress != second.View().Own.GossipAddress {
		t.Errorf("members %+v", all)
	}
	if text := must(QueryKeys(ctx, asks, at)); string(text) != "keys of first" {
		t.Errorf("keys %q", text)
	}

	succeeded := must(authority.NewSuccessor(time.Now()))
	after, afterAt := opened(t, config(succeeded, "after"))
	pair := func(role protocol.Role) *tls.Config {
		id, _, err := authority.IssueFirstOperator("", protocol.Caller{Name: "some", Role: role},
			protocol.SignerKey{}, time.Now())
		must(0, err)
		c := asks.Clone()
		c.ClientSessionCache, c.GetClientCertificate, c.Certificates = nil, nil,
			[]tls.Certificate{must(tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key)))}
		return c
	}
	noWord, unchecked, nobody := pair(protocol.RoleReplica), asks.Clone(), asks.Clone()
	noWord.NextProtos, noWord.VerifyConnection = nil, nil
	other := config(must(server.NewAuthority(time.Now())), "other").Client
	for _, c := range []*tls.Config{unchecked, other} { // only the other side checks
		c.InsecureSkipVerify, c.ClientSessionCache = true, nil
	}
	nobody.GetClientCertificate, nobody.ClientSessionCache = nil, nil
	for who, c := range map[string]struct {
		at     string
		client *tls.Config
	}{
		"a party": {at, pair(protocol.RoleParty)}, "an operator": {at, pair(protocol.RoleOperator)}, "an invitation": {at, pair(protocol.RoleInvitation)},
		"nobody": {at, nobody}, "who speaks for calls": {at, noWord}, "another coordinator's": {at, other}, "a former authority's": {afterAt, unchecked},
	} {
		for _, what := range []byte{forMembers, forKeys} {
			if text, err := question(ctx, c.client, c.at, what); err == nil && len(text) > 0 {
				t.Errorf("%s gets an answer: %s", who, text)
			}
		}
	}
	if text := must(question(ctx, pair(protocol.RoleReplica), at, forKeys)); len(text) == 0 {
		t.Error("a replica gets no answer, so the test proves nothing")
	}
	if _, err := QueryMembers(ctx, asks, afterAt); err == nil {
		t.Error("a former authority's replica believes the one after it")
	}
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", strings.Repeat("\x00", 4096)} {
		conn := must(net.Dial("tcp", at))
		_, _ = conn.Write([]byte(text))
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
	// a message without length, a too long one, an unknown question, one that ends early
	for _, text := range []string{"p\x00\x00", "p\xff\xff", "x", "p\x00\x03ab"} {
		conn := must(tls.Dial("tcp", at, asks))
		_, _ = conn.Write([]byte(text))
		conn.CloseWrite()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, conn); err != nil &&
			strings.Contains(err.Error(), "timeout") {
			t.Errorf("%q keeps a connection", text)
		}
		conn.Close()
	}
	if n := len(first.living()); n != 2 {
		t.Errorf("then the first sees %d", n)
	}
	must(0, second.Close())
	soon(t, "the second went", func() bool { return len(first.living()) == 1 })
	if n := len(first.View().Members); n != 2 {
		t.Errorf("%d members, of which one went", n)
	}
	must(0, after.Close())
	must(0, first.Close())
}

// TestMemory: a replica that starts while the others are away knows their addresses and the newest
// epoch, and that none of them is alive. A file that was cut short does no harm.
func TestMemory(t *testing.T) {
	authority := must(server.NewAuthority(time.Now()))
	first, at := opened(t, config(authority, "first"))
	c := config(authority, "second", at)
	c.Memory = filepath.Join(t.TempDir(), "replicas.json")
	second, _ := opened(t, c)
	first.UpdateState(func(s *State) { s.IsLeader, s.Epoch = true, 5 })
	soon(t, "the second writes what it heard", func() bool {
		text, _ := os.ReadFile(c.Memory)
		return strings.Contains(string(text), `"epoch":5`)
	})
	must(0, second.Close())
	must(0, first.Close())
	c.Name, c.Join = "third", nil
	third, _ := opened(t, c)
	v := third.View()
	if epoch, led := v.NewestEpoch(); epoch != 5 || led || len(third.living()) != 1 {
		t.Errorf("epoch %d, led %t, alive %q", epoch, led, third.living())
	}
	if got := v.Addresses(); got != "first.example.org:1,second.example.org:1,third.example.org:1" {
		t.Errorf("it knows %s", got)
	}
	must(0, third.Close())
	must(0, os.WriteFile(c.Memory, []byte(`[{"name":`), 0o600))
	c.Name = "fourth"
	opened(t, c)
}

// TestShutTwice: the transport may be shut down twice, because memberlist does so too.
func TestShutTwice(t *testing.T) {
	wire := must(listen(config(must(server.NewAuthority(time.Now())), "one")))
	must(0, wire.Shutdown())
	_ = wire.Shutdown()
}

// TestAdvertise: an address that nobody can dial is refused, and the error says why.
func TestAdvertise(t *testing.T) {
	authority := must(server.NewAuthority(time.Now()))
	c := config(authority, "one")
	c.Listen = "0.0.0.0:0"
	if _, err := Open(c, State{}); err == nil || !strings.Contains(err.Error(), "advertise") {
		t.Errorf("an address of no machine: %v", err)
	}
	c.Listen = "127.0.0.1:0"
	c.Advertise = "localhost:7"
	if r, at := opened(t, c); at != "127.0.0.1:7" && at != "[::1]:7" {
		t.Errorf("%s, for %s", at, fmt.Sprint(r.living()))
	}
}

// from is a connection from a given machine.
type from struct {
	net.Conn
	host string
}

func (f from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.host), Port: 1} }

// TestCrowded: when there is a connection too many, the machine with the most connections loses its
// oldest one, whichever connection came first.
func TestCrowded(t *testing.T) {
	const a, b, c = "10.0.0.1", "10.0.0.2", "10.0.0.3"
	for i, test := range []struct {
		hosts []string
		place int
	}{
		{[]string{a}, 0}, {[]string{a, b, b}, 1}, {[]string{b, a, b}, 0}, {[]string{a, b, c, c}, 2},
		{[]string{a, b, b, c, b}, 1}, {[]string{a, a, a}, 0},
	} {
		var all []net.Conn
		for _, host := range test.hosts {
			all = append(all, from{host: host})
		}
		if got := crowded(all); got != test.place {
			t.Errorf("%d: %q loses number %d, not %d", i, test.hosts, got, test.place)
		}
	}
}
