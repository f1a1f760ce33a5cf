package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/internal/testlevel"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// Environment variables for random schedules of real processes.
const (
	processSeed = "CAUCUS_SCHEDULES_SEED" // seed of the first schedule
	clockFile   = "CAUCUS_TEST_CLOCK"     // file with the error of a process's clock
)

// underFaults prepares this process for faults of a schedule: a file says how wrong its clock is,
// and writing to a file that may not grow is an error instead of a signal.
func underFaults() {
	growthIsAnError()
	if path := os.Getenv(clockFile); path != "" {
		now = func() time.Time {
			text, _ := os.ReadFile(path)
			wrong, _ := time.ParseDuration(strings.TrimSpace(string(text)))
			return time.Now().Add(wrong)
		}
	}
}

// daemon is a supervised process, which is restarted whenever it ends.
type daemon struct {
	name string // the folder's name
	args []string
	dir  string
	log  lines

	mu     sync.Mutex // held while the process must not run
	proc   *os.Process
	exited chan struct{}
}

func (d *daemon) clock() string { return filepath.Join(d.dir, filepath.Base(d.name)+".clock") }

// run restarts the process until the context ends.
func (d *daemon) run(ctx context.Context) {
	for {
		d.mu.Lock()
		if ctx.Err() != nil {
			d.mu.Unlock()
			return
		}
		cmd := exec.Command(os.Args[0], d.args...)
		cmd.Args[0], cmd.Dir, cmd.Stderr = "caucus", d.dir, &d.log
		cmd.Env = append(os.Environ(), clockFile+"="+d.clock(), "CAUCUS_TEST_KILL_AT=")
		began := time.Now()
		err := cmd.Start()
		exited := make(chan struct{})
		if d.exited = exited; err == nil {
			d.proc = cmd.Process
		}
		d.mu.Unlock()
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
		if time.Since(began) < time.Second {
			time.Sleep(300 * time.Millisecond) // the process may refuse to start for a long time
		}
	}
}

// down kills the process, and calls do before it is restarted.
func (d *daemon) down(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.proc != nil {
		_ = d.proc.Kill()
		<-d.exited
	}
	do()
}

// room limits the size of files that the process may write, like a full disk.
func (d *daemon) room(most uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.proc == nil {
		return
	}
	limitFiles(d.proc.Pid, most)
}

// federated is the subject of a schedule: a coordinator, its agents, and a wire between them that
// can be cut.
type federated struct {
	t           *testing.T
	dir         string
	coordinator *daemon
	agents      []*daemon
	wire        *cable
	operator    *admin.Client
	restored    map[string]bool
	reopen      []string        // failed studies to reopen
	reopened    map[string]bool // studies that were reopened
	counts      map[string]int
	backups     []copied
	diary       bytes.Buffer // events with their times
}

type copied struct {
	of   *daemon
	path string
}

var wards = []string{"hospital-a", "hospital-b", "hospital-c"}

const scheduledAgent = `
state: state-%s
poll: 100ms
max_backoff: 200ms
least_window: 500ms
data: {ward: {file: %s.csv, schema: schema.yaml}}
policy:
  kinds: [classify]
  mechanisms: [tally, cross]
  noise: [coordinator, site]
  study: {record: {epsilon: 1, delta: 1e-6}}
  total: {record: {epsilon: 5, delta: 1e-5}}
  approval: policy
`

// basis makes a folder with a coordinator, three enrolled agents and two draft studies: tally with
// the coordinator's noise, and cross with the sites' noise.
func basis(t *testing.T, dir, dialled, listens string) {
	t.Helper()
	if _, err := hospitals(dir); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	must := patiently(ctx, t, dir)
	must("coordinator", "init", "--dir", "coordinator", "--address", dialled, "--listen", listens)
	c := &daemon{name: "coordinator", args: []string{"coordinator", "run", "--dir", "coordinator"},
		dir: dir}
	running, end := context.WithCancel(ctx)
	var under sync.WaitGroup
	under.Go(func() { c.run(running) })
	t.Cleanup(func() { end(); c.down(func() {}) })
	for _, name := range wards {
		write(t, filepath.Join(dir, name+".yaml"), fmt.Sprintf(scheduledAgent, name, name))
		write(t, filepath.Join(dir, name+".invitation"), string(must("party", "invite", name)))
		must("agent", "enrol", "--config", name+".yaml", "--invitation", name+".invitation")
		must("agent", "source", "declare", "ward", "--yes", "--config", name+".yaml")
	}
	plan := []string{"study", "create", "--schema", "schema.yaml", "--pool", "pool.csv", "--set",
		"project=4", "--records", "70", "--force", "--closes-in", "240h", "--minimum", "2"}
	must(append(slices.Clone(plan), "--name", "tally", "--noise", "coordinator", "--mechanism",
		"tally")...)
	must(append(slices.Clone(plan), "--name", "cross", "--noise", "site", "--mechanism",
		"cross")...)
	end()
	c.down(func() {})
	under.Wait()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func copyFolder(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.Walk(to, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if info.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
}

// events are the faults of processes, and at the end of the list backups and restores.
var events = []struct {
	name string
	do   func(*federated, *rand.Rand)
}{
	{"kill of the coordinator", func(f *federated, _ *rand.Rand) { f.coordinator.down(func() {}) }},
	{"kill of an agent", func(f *federated, r *rand.Rand) { f.agents[r.IntN(len(f.agents))].down(func() {}) }},
	{"kill of everybody", func(f *federated, _ *rand.Rand) {
		for _, d := range f.all() {
			d.down(func() {})
		}
	}},
	{"cut of all connections", func(f *federated, r *rand.Rand) { f.wire.cut(time.Duration(r.IntN(500)) * time.Millisecond) }},
	{"full disk", func(f *federated, r *rand.Rand) {
		d := f.any(r)
		d.room(uint64(r.IntN(64)) << 10)
		time.Sleep(time.Duration(r.IntN(800)) * time.Millisecond)
		d.room(^uint64(0))
	}},
	{"wrong clock", func(f *federated, r *rand.Rand) {
		d := f.any(r)
		write(f.t, d.clock(), []string{"26h", "-26h", "61m", "-61m", "9000h"}[r.IntN(5)])
		time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
		write(f.t, d.clock(), "0s")
	}},
	{"extension of a study", func(f *federated, r *rand.Rand) {
		f.ask(r, func(ctx context.Context, name string) error {
			_, err := f.operator.AmendStudy(ctx, name,
				admin.AmendOptions{
					Deadline: time.Now().Add(time.Duration(240+r.IntN(100)) * time.Hour)})
			return err
		})
	}},
	{"closing of a study", func(f *federated, r *rand.Rand) {
		f.ask(r, func(ctx context.Context, name string) error {
			_, err := f.operator.CloseStudy(ctx, name)
			return err
		})
	}},
	{"failure of a study, taken up again", func(f *federated, r *rand.Rand) {
		name := pick(r, "tally", "cross")
		ctx, stop := f.context()
		defer stop()
		if _, err := f.operator.CancelStudy(ctx, name, "a schedule"); err != nil {
			return
		}
		f.reopen = append(f.reopen, name)
		f.takeUp()
	}},
	{"backup of a folder", func(f *federated, r *rand.Rand) { f.backup(f.any(r)) }},
	{"restore of a folder", func(f *federated, r *rand.Rand) { f.restore(r) }},
}

// ask sends an operator's request about one of the studies.
func (f *federated) ask(r *rand.Rand, do func(context.Context, string) error) {
	ctx, stop := f.context()
	defer stop()
	_ = do(ctx, pick(r, "tally", "cross"))
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// takeUp reopens failed studies where possible.
func (f *federated) takeUp() {
	f.reopen = slices.DeleteFunc(f.reopen, func(name string) bool {
		ctx, stop := f.context()
		defer stop()
		s, err := f.operator.AmendStudy(ctx, name,
			admin.AmendOptions{Deadline: time.Now().Add(240 * time.Hour)})
		if err == nil {
			f.reopened[name] = true
		}
		return err == nil && s.State != study.Failed || errors.Is(err, study.ErrNotOpen)
	})
}

func (f *federated) all() []*daemon {
	return append([]*daemon{f.coordinator}, f.agents...)
}
func (f *federated) any(r *rand.Rand) *daemon { return f.all()[r.IntN(len(f.agents)+1)] }
func (f *federated) folder(d *daemon) string  { return filepath.Join(f.dir, d.name) }
func (f *federated) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 5*time.Second)
}

func (f *federated) backup(d *daemon) {
	d.down(func() {
		path := filepath.Join(f.dir, fmt.Sprint("backup-", len(f.backups)))
		if err := copyFolder(f.folder(d), path); err != nil {
			f.t.Error(err)
		}
		f.backups = append(f.backups, copied{d, path})
	})
}

// restore puts a folder back to an older state. The coordinator's head file is beside the folder,
// so it stays.
func (f *federated) restore(r *rand.Rand) {
	b := f.backups[r.IntN(len(f.backups))]
	b.of.down(func() {
		if err := errors.Join(os.RemoveAll(f.folder(b.of)),
			copyFolder(b.path, f.folder(b.of))); err != nil {
			f.t.Error(err)
		}
		f.restored[b.of.name] = true
	})
}

// TestProcessSchedules plays random schedules. The processes are a coordinator and three agents,
// run by the real command line. They are killed, run out of disk, get wrong clocks, are cut off,
// and are put back to older states.
func TestProcessSchedules(t *testing.T) {
	t.Parallel()
	schedules := testlevel.N(t, 1, 40)
	first, _ := strconv.Atoi(os.Getenv(processSeed))
	listens, err := testlevel.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	wire, err := newCable("127.0.0.1:" + listens)
	if err != nil {
		t.Fatal(err)
	}
	defer wire.end()
	base := t.TempDir()
	basis(t, base, wire.address(), "127.0.0.1:"+listens)
	totals := map[string]int{}
	for seed := first; seed < first+schedules; seed++ {
		began := time.Now()
		f := &federated{t: t, dir: filepath.Join(t.TempDir(), "run"), wire: wire,
			restored: map[string]bool{}, reopened: map[string]bool{}, counts: totals}
		if err := copyFolder(base, f.dir); err != nil {
			t.Fatal(err)
		}
		f.coordinator = &daemon{name: "coordinator",
			args: []string{"coordinator", "run", "--dir", "coordinator"}, dir: f.dir}
		for _, name := range wards {
			f.agents = append(f.agents,
				&daemon{name: "state-" + name,
					args: []string{"agent", "run", "--config", name + ".yaml"}, dir: f.dir})
		}
		f.play(rand.New(rand.NewPCG(uint64(seed), 1)), seed%2 == 1)
		t.Logf("schedule %d: %v, restored %v", seed, time.Since(began).Round(100*time.Millisecond),
			f.restored)
		if t.Failed() {
			for _, d := range f.all() {
				t.Logf("%s\n%s", d.name, d.log.String())
			}
			t.Logf("%s", f.diary.String())
			t.Fatalf("play it again with %s=%d: the same faults, at about the same moments", processSeed, seed)
		}
	}
	var figures []string
	for what, n := range totals {
		figures = append(figures, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(figures)
	t.Logf("%d schedules: %s", schedules, strings.Join(figures, "; "))
}

// play runs one schedule, and checks its results against the rules.
func (f *federated) play(r *rand.Rand, restores bool) {
	ctx, stop := context.WithCancel(context.Background())
	var under sync.WaitGroup
	end := sync.OnceFunc(func() {
		stop()
		for _, d := range f.all() {
			d.down(func() {})
		}
		under.Wait()
	})
	defer end()
	for _, d := range f.all() {
		write(f.t, d.clock(), "0s")
		under.Go(func() { d.run(ctx) })
	}
	profile, err := protocol.LoadIdentity(filepath.Join(f.dir, "coordinator", folder.OperatorFile))
	if err != nil {
		f.t.Fatal(err)
	}
	if f.operator, err = admin.Dial(profile,
		protocol.DialOptions{Coordinator: f.wire.to, Timeout: 3 * time.Second}); err != nil {
		f.t.Fatal(err)
	}
	defer f.operator.Close()
	opens := map[string]time.Duration{"tally": time.Duration(r.IntN(3000)) * time.Millisecond,
		"cross": time.Duration(r.IntN(3000)) * time.Millisecond}
	began, length := time.Now(), 12*time.Second
	for time.Since(began) < length {
		for name, at := range opens {
			if time.Since(began) >= at && f.open(name) {
				delete(opens, name)
			}
		}
		time.Sleep(time.Duration(50+r.IntN(700)) * time.Millisecond)
		e := events[r.IntN(len(events))]
		if restores && r.IntN(3) == 0 { // backups and restores come in pairs
			e = events[len(events)-2+r.IntN(2)]
		}
		if !restores && strings.HasPrefix(e.name, "restore") || len(f.backups) == 0 &&
			strings.HasPrefix(e.name, "restore") {
			continue
		}
		f.counts[e.name]++
		fmt.Fprintf(&f.diary, "%s: %s\n", time.Now().Format("15:04:05.000"), e.name)
		e.do(f, r)
	}
	for _, d := range f.all() {
		d.room(^uint64(0))
	}
	f.settle(2 * time.Minute)
	end()
	f.rules()
}

// open opens a study, and reports whether it is open or has ended.
func (f *federated) open(name string) bool {
	ctx, stop := f.context()
	defer stop()
	_, err := f.operator.Open(ctx, name)
	return err == nil || errors.Is(err, study.ErrNotOpen)
}

// settle waits until both studies have ended and every agent knows. Its operator vouches for the
// clock and waives parties that do not call. A restored coordinator may stop for good, or may never
// hear from an agent again; then a study ends only at its deadline.
func (f *federated) settle(most time.Duration) {
	if f.restored["coordinator"] {
		most = 30 * time.Second
	}
	for until := time.Now().Add(most); ; time.Sleep(500 * time.Millisecond) {
		over := 0
		for _, name := range []string{"tally", "cross"} {
			ctx, stop := f.context()
			f.open(name)
			f.takeUp()
			_, _ = f.operator.Clock(ctx, true)
			if s, err := f.operator.Study(ctx, name); err == nil && protocol.IsFinal(s.State) {
				over++
			}
			stop()
		}
		known := 0
		for _, d := range f.agents {
			for _, file := range []string{"release.json", "closed"} {
				found, _ := filepath.Glob(filepath.Join(f.folder(d), "studies", "*", file))
				known += len(found)
			}
		}
		switch {
		case over == 2 && known >= 2*len(f.agents):
			return
		case time.Now().Before(until):
		case f.restored["coordinator"]:
			f.counts["studies left to their deadline, their coordinator put back"] += 2 - over
			return
		default:
			f.t.Errorf("after %v: %d studies are over, agents know of %d", most, over, known)
			return
		}
	}
}
