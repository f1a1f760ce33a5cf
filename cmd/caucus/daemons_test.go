package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"caucus/agent"
	"caucus/agent/desk"
	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/analyst/terms"
	"caucus/coordinator"
	"caucus/coordinator/folder"
	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
)

// network is a coordinator and everything needed to start agents, in this process, with mutual TLS
// over loopback.
type network struct {
	t        *testing.T
	dir      string
	ctx      context.Context
	operator *admin.Client
	log      *lines
}

// lines is a log for many goroutines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// background runs a daemon until the test ends.
func (n *network) background(run func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	n.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			n.t.Error(err)
		}
	})
}

func newNetwork(t *testing.T, change func(*folder.Config)) *network {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	if _, err := hospitals(dir); err != nil {
		t.Fatal(err)
	}
	n := &network{t: t, dir: dir, log: &lines{}}
	port, err := testlevel.FreePort()
	n.check(err)
	at := filepath.Join(dir, "coordinator")
	n.check(folder.Init(folder.InitOptions{Dir: at, Address: "127.0.0.1:" + port,
		Listen: "127.0.0.1:" + port}))
	config, err := folder.LoadConfig(filepath.Join(at, folder.ConfigFile))
	n.check(err)
	config.Log, config.WitnessWait = slog.New(slog.NewTextHandler(n.log, nil)), 100*time.Millisecond
	if change != nil {
		change(&config)
	}
	server, err := coordinator.New(config)
	n.check(err)
	n.background(server.Run)
	profile, err := protocol.LoadIdentity(filepath.Join(at, folder.OperatorFile))
	n.check(err)
	n.operator, err = admin.Dial(profile, protocol.DialOptions{})
	n.check(err)
	t.Cleanup(func() { n.operator.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	n.ctx = ctx
	return n
}

func (n *network) check(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// enrol returns the configuration of a hospital's enrolled agent.
func (n *network) enrol(name string) site.Config {
	n.t.Helper()
	c := site.DefaultConfig()
	c.State, c.Poll, c.MaxBackoff, c.MinWindow = filepath.Join(n.dir,
		"state-"+name), 50*time.Millisecond, 100*time.Millisecond, 500*time.Millisecond
	c.Data = map[string]source.Source{"ward": {File: filepath.Join(n.dir, name+".csv"),
		Schema: filepath.Join(n.dir, "schema.yaml")}}
	limit := map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 3, Delta: 1e-5}}
	c.Policy = policy.Policy{
		Kinds: []string{"classify"}, Mechanisms: []string{"cross"}, Noise: []study.Noise{study.NoiseSite},
		StudyLimit: limit, TotalLimit: limit, MinimumParties: 2, Approval: policy.ApproveByPolicy,
	}
	c.Log = slog.New(slog.NewTextHandler(n.log, nil))
	invitation, _, err := n.operator.Invite(n.ctx,
		admin.InviteOptions{Name: name, Role: protocol.RoleParty})
	n.check(err)
	_, err = agent.Enrol(n.ctx, c, invitation)
	n.check(err)
	n.declare(c)
	return c
}

// declare declares the sources of a stopped agent.
func (n *network) declare(c site.Config) {
	n.t.Helper()
	a, err := agent.New(c)
	n.check(err)
	for name := range c.Data {
		_, err := a.DeclareSource(context.Background(), name, desk.Approver{},
			source.DeclareOptions{})
		n.check(err)
	}
	n.check(a.Close())
}

// open creates and opens a study for these parties.
func (n *network) open(name string, minimum int, parties ...study.PartyID) study.Hash {
	n.t.Helper()
	s := terms.Study{Schema: filepath.Join(n.dir, "schema.yaml"),
		Pool: filepath.Join(n.dir, "pool.csv")}
	s.Proposal = study.Proposal{
		Name: name, Map: dataset.Components{Project: 4}, Roster: parties, Minimum: minimum, Deadline: time.Now().Add(time.Hour), Records: 70,
	}
	made, err := propose(quiet(), s)
	n.check(err)
	n.start(made)
	return made.Hash
}

// start uploads a study's pool, and creates and opens the study.
func (n *network) start(made planning.PreparedPlan) {
	n.t.Helper()
	n.check(n.operator.UploadPool(n.ctx, made.Plan.Pool, made.PoolBytes))
	_, err := n.operator.CreateStudy(n.ctx, made.Canonical, nil)
	n.check(err)
	_, err = n.operator.Open(n.ctx, made.Hash.String())
	n.check(err)
}

func (n *network) wait(h study.Hash) study.Release {
	n.t.Helper()
	for {
		r, err := n.operator.Release(n.ctx, h.String())
		if err == nil {
			return r.Release
		}
		if n.ctx.Err() != nil {
			n.t.Fatalf("no release: %v\n%s", err, n.log)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (n *network) run(c site.Config) {
	n.t.Helper()
	a, err := agent.New(c)
	n.check(err)
	n.background(a.Run)
}

// TestClockOff: an agent whose clock is two years ahead says so, waits, and takes part when the
// clock is right.
func TestClockOff(t *testing.T) {
	n := newNetwork(t, nil)
	a, b := n.enrol("hospital-a"), n.enrol("hospital-b")
	var mu sync.Mutex
	ahead := 2 * 365 * 24 * time.Hour
	b.Clock.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(ahead)
	}
	h := n.open("ward", 2, "hospital-a", "hospital-b")
	n.run(a)
	n.run(b)
	for !strings.Contains(n.log.String(), "set the clock") {
		if n.ctx.Err() != nil {
			t.Fatalf("it does not say what is wrong:\n%s", n.log)
		}
		time.Sleep(100 * time.Millisecond)
	}
	mu.Lock()
	ahead = 0
	mu.Unlock()
	if r := n.wait(h); r.Parties != 2 {
		t.Errorf("%d parties", r.Parties)
	}
}

// TestRevoked: a revoked agent sends nothing more; the study goes on without it.
func TestRevoked(t *testing.T) {
	n := newNetwork(t, nil)
	a, b, c := n.enrol("hospital-a"), n.enrol("hospital-b"), n.enrol("hospital-c")
	n.open("ward", 2, "hospital-a", "hospital-b", "hospital-c")
	n.check(n.operator.Revoke(n.ctx, "hospital-c"))
	n.run(a)
	n.run(b)
	revoked, err := agent.New(c)
	n.check(err)
	if err := revoked.PollOnce(n.ctx); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("a revoked agent's round: %v, want ErrDenied", err)
	}
	n.check(revoked.Close())
	if _, err := os.Stat(filepath.Join(c.State, "studies")); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Join(c.State, "studies"))
	if err != nil || len(entries) != 0 {
		t.Errorf("it learned of a study: %v %v", entries, err)
	}
}

// TestTwoStudies: agents go from one study to the next, and no record gets into a log.
func TestTwoStudies(t *testing.T) {
	n := newNetwork(t, nil)
	a, b := n.enrol("hospital-a"), n.enrol("hospital-b")
	first := n.open("first", 2, "hospital-a", "hospital-b")
	n.run(a)
	n.run(b)
	if r := n.wait(first); len(r.Contributed) != 2 {
		t.Errorf("contributed: %v", r.Contributed)
	}
	second := n.open("second", 2, "hospital-a", "hospital-b")
	if r := n.wait(second); len(r.Contributed) != 2 {
		t.Errorf("contributed: %v", r.Contributed)
	}
	if strings.Contains(n.log.String(), planted) {
		t.Error("a record was logged")
	}
}

// TestEnrolAgain: a revoked party that is invited again keeps its folder and ledger. One party
// cannot use another's folder.
func TestEnrolAgain(t *testing.T) {
	n := newNetwork(t, nil)
	a := n.enrol("hospital-a")
	n.check(n.operator.Revoke(n.ctx, "hospital-a"))
	n.enrol("hospital-a")
	again, err := agent.New(a)
	n.check(err)
	n.check(again.PollOnce(n.ctx))
	n.check(again.Close())
	invitation, _, err := n.operator.Invite(n.ctx,
		admin.InviteOptions{Name: "hospital-b", Role: protocol.RoleParty})
	n.check(err)
	if _, err := agent.Enrol(n.ctx, a, invitation); err == nil ||
		!strings.Contains(err.Error(), "belongs to party hospital-a") {
		t.Errorf("enrolling another party over a folder: %v", err)
	}
}

// TestMeansByDaemons: a study of means at unit party, with agents and a coordinator. A party's
// charge covers the cost that the release states.
func TestMeansByDaemons(t *testing.T) {
	n := newNetwork(t, nil)
	limit := map[privacy.Unit]privacy.Budget{privacy.Party: {Epsilon: 3, Delta: 1e-5}}
	roster := []study.PartyID{"hospital-a", "hospital-b", "hospital-c"}
	var agents []site.Config
	for _, name := range roster {
		c := n.enrol(string(name))
		c.Policy.Mechanisms, c.Policy.Noise = []string{"means"},
			[]study.Noise{study.NoiseCoordinator}
		c.Policy.StudyLimit, c.Policy.TotalLimit = limit, limit
		agents = append(agents, c)
	}
	s := terms.Study{Schema: filepath.Join(n.dir, "schema.yaml"),
		Pool: filepath.Join(n.dir, "pool.csv")}
	s.Proposal = study.Proposal{
		Name: "fleet", Map: dataset.Components{Project: 4}, Roster: roster, Minimum: 3, Deadline: time.Now().Add(time.Hour),
		Unit: privacy.Party, Mechanism: "means", Epsilon: 2, Records: 70,
	}
	made, err := propose(quiet(), s)
	n.check(err)
	n.start(made)
	for _, c := range agents {
		n.run(c)
	}
	r := n.wait(made.Hash)
	if r.Parties != 3 || r.Simulated || len(r.Costs) != 1 || r.Costs[0].Output != "means" ||
		r.Costs[0].Bound.Unit != privacy.Party || r.Costs[0].Epsilon != 2 {
		t.Errorf("released %+v", r)
	}
	if _, ok := classifier.Of(r.Result); !ok {
		t.Errorf("no classifier in %+v", r.Result)
	}
	task, err := kinds.NewTask(made.Plan, made.Pool)
	n.check(err)
	charges, err := task.Charges(0)
	n.check(err)
	if rho, _ := charges[0].Cost.Rho.Float64(); rho <= 0 || rho < r.Costs[0].Rho {
		t.Errorf("declared ρ = %g, released at %g", rho, r.Costs[0].Rho)
	}
}
