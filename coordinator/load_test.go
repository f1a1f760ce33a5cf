package coordinator

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/testlevel"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// loadFolder and loadListen in the environment make the test binary the
// coordinator of BenchmarkLoad: its folder, and where it listens.
const (
	loadFolder = "CAUCUS_COORDINATOR_LOAD"
	loadListen = "CAUCUS_COORDINATOR_LOAD_LISTEN"
)

// runLoad runs a coordinator like "caucus coordinator run", except that all calls may come at once
// and the start waits for nobody.
func runLoad() {
	config := must(folder.LoadConfig(filepath.Join(os.Getenv(loadFolder), folder.ConfigFile)))
	config.Listen, config.WitnessWait = os.Getenv(loadListen), 0
	config.Limits.Rate, config.Limits.Burst = 1e6, 1e6
	config.Limits.AllConnections, config.Limits.AllCalls = 20_000, 20_000
	s := must(New(config))
	fmt.Println(s.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	must(0, s.Run(ctx))
}

// process reads what the system knows about a process.
type process struct{ pid int }

// cpu is the processor time of the process, in user and kernel mode, in ticks of 10 ms.
func (p process) cpu() time.Duration {
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid)))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	return time.Duration(must(strconv.Atoi(fields[11]))+must(strconv.Atoi(fields[12]))) * 10 * time.Millisecond
}

// memory is the process's memory in bytes: the peak (VmHWM) or the present amount (VmRSS).
func (p process) memory(what string) float64 {
	for line := range bytes.Lines(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid)))) {
		if kb, ok := strings.CutPrefix(string(line), what+":"); ok {
			return float64(must(strconv.Atoi(strings.Fields(kb)[0]))) * 1024
		}
	}
	return 0
}

// apart stops the world's coordinator and runs it as a separate process until the benchmark ends.
func (w *world) apart() process {
	w.stop()
	server := exec.Command(must(os.Executable()))
	server.Env = append(os.Environ(), loadFolder+"="+w.config.Dir, loadListen+"="+w.config.Listen)
	server.Stderr = os.Stderr
	out := bufio.NewScanner(must(server.StdoutPipe()))
	must(0, server.Start())
	w.t.Cleanup(func() {
		must(0, server.Process.Signal(syscall.SIGTERM))
		must(0, server.Wait())
	})
	if !out.Scan() {
		w.t.Fatal("the coordinator ended")
	}
	return process{server.Process.Pid}
}

// BenchmarkLoad is a study of 500 parties, each with its own connection, which all send a ballot of
// 2,000 rows at once to one coordinator on SQLite, a process of its own on the same machine. One
// iteration is one study, from the first ballot to the last receipt.
//
//	go test ./coordinator -run '^$' -bench Load$ -benchtime 5x
func BenchmarkLoad(b *testing.B) { load(b) }

func load(b *testing.B) {
	const parties, rows = 500, 2000
	ctx := context.Background()
	w := newWorld(b, func(c *folder.Config) { c.Log = nil })
	roster := names(parties)
	for _, p := range roster {
		w.enrol(string(p))
	}
	self := w.apart()
	w.call() // all connect, as agents do
	pool := poolOf(rows)
	rng := rand.New(rand.NewPCG(1, 2))
	bodies := make([][]byte, parties)
	for i := range bodies {
		bodies[i] = ballotFor(rng.IntN(rows), rows)
	}
	var (
		mu      sync.Mutex
		latency []time.Duration
		sending time.Duration
		spent   time.Duration
		studies int
	)
	for b.Loop() {
		b.StopTimer()
		p := planOf(roster, pool, w.clock.Now().Add(time.Hour))
		p.Name = fmt.Sprint("load-", studies)
		s := w.open(p, pool)
		studies++
		b.StartTimer()
		start, before := time.Now(), self.cpu()
		var wg sync.WaitGroup
		for i, party := range roster {
			wg.Go(func() {
				began := time.Now()
				if _, err := w.parties[string(party)].Contribute(ctx, s.Hash,
					bodies[i]); err != nil {
					b.Error(err)
				}
				mu.Lock()
				latency = append(latency, time.Since(began))
				mu.Unlock()
			})
		}
		wg.Wait()
		sending += time.Since(start)
		spent += self.cpu() - before
		b.StopTimer()
		w.wait(p.Name, study.Released)
		b.StartTimer()
	}
	slices.Sort(latency)
	ballots := float64(len(latency))
	b.ReportMetric(ballots/sending.Seconds(), "ballots/s")
	b.ReportMetric(float64(spent.Microseconds())/ballots, "server-µs/ballot")
	b.ReportMetric(float64(latency[len(latency)*99/100].Milliseconds()), "p99-ms")
	b.ReportMetric(self.memory("VmHWM")/1e6, "server-peak-MB")
}

// BenchmarkFleet connects 10,000 agents, each with its own certificate, to a coordinator that is a
// process of its own, in a study that names all of them. It measures the coordinator's memory while
// they are connected and after they left, and its processor time for the first poll, for a later
// one that dials again, for one on an open connection, and for the study's plan.
//
//	GOGC=50 go test ./coordinator -run '^$' -bench Fleet -benchtime 1x -timeout 30m
func BenchmarkFleet(b *testing.B) {
	n := testlevel.N(b, 1000, 10_000)
	ctx := context.Background()
	w := newWorld(b, func(c *folder.Config) { c.Log = nil })
	ids, roster := make([]protocol.Identity, n), names(n)
	must(0, w.server.store.Update(ctx, func(tx records.Tx) error {
		now := w.clock.Now()
		for i, p := range roster {
			id, leaf, err := w.server.authority.IssueFirstOperator(w.config.Listen,
				protocol.Caller{Name: string(p),
					Role: protocol.RoleParty}, w.server.signer.Key(), now)
			ids[i] = must(id, err)
			must(0, folder.EnsureMember(tx, string(p), protocol.RoleParty, now))
			must(0, tx.AddCertificate(records.Certificate{Serial: leaf.SerialNumber.Text(16),
				Name: string(p), Expires: leaf.NotAfter}))
		}
		return nil
	}))
	server, pool := w.apart(), poolOf(100)
	s := w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	// each makes all agents do something, 16 at once.
	each := func(what string, do func(i int)) {
		var next atomic.Int64
		var wg sync.WaitGroup
		before := server.cpu()
		for range 16 {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					do(i)
				}
			})
		}
		wg.Wait()
		b.ReportMetric(float64((server.cpu()-before).Microseconds())/float64(n), "server-µs/"+what)
	}
	memory := func(when string) { b.ReportMetric(server.memory("VmRSS")/1e6, "MB-"+when) }
	for b.Loop() {
		memory("before")
		clients := make([]*admin.Client, n)
		each("first-poll", func(i int) {
			clients[i] = w.dial(ids[i])
			must(clients[i].Studies(ctx))
			must(0, clients[i].HangUp())
		})
		each("dialled-poll", func(i int) { must(clients[i].Studies(ctx)) })
		each("poll", func(i int) { must(clients[i].Studies(ctx)) })
		memory("connected")
		each("plan", func(i int) { must(clients[i].Study(ctx, s.Hash.String())) })
		memory("shown")
		for _, c := range clients {
			c.Close()
		}
		time.Sleep(150 * time.Second) // after two minutes the runtime collects and returns memory
		memory("left")
	}
}
