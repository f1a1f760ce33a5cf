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
	"syscall"
	"testing"
	"time"

	"caucus/study"
)

// loadFolder and loadListen in the environment make the test binary the
// coordinator of BenchmarkLoad: its folder, and where it listens.
const (
	loadFolder = "CAUCUS_COORDINATOR_LOAD"
	loadListen = "CAUCUS_COORDINATOR_LOAD_LISTEN"
)

// runLoad runs a coordinator as caucus coordinator run does, but that all calls
// come at once, and nobody is waited for after the start.
func runLoad() {
	config := must(LoadConfig(filepath.Join(os.Getenv(loadFolder), ConfigFile)))
	config.Listen, config.WitnessWait = os.Getenv(loadListen), 0
	config.Limits.Rate, config.Limits.Burst = 1e6, 1e6
	s := must(New(config))
	fmt.Println(s.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	must(0, s.Run(ctx))
}

// process is what the system knows of one.
type process struct{ pid int }

// cpu is how long it has run, in both modes, counted in ticks of 10 ms.
func (p process) cpu() time.Duration {
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid)))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	return time.Duration(must(strconv.Atoi(fields[11]))+must(strconv.Atoi(fields[12]))) * 10 * time.Millisecond
}

// peak is the most memory it had, in bytes.
func (p process) peak() float64 {
	for line := range bytes.Lines(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid)))) {
		if kb, ok := strings.CutPrefix(string(line), "VmHWM:"); ok {
			return float64(must(strconv.Atoi(strings.Fields(kb)[0]))) * 1024
		}
	}
	return 0
}

// BenchmarkLoad is a study of 500 parties, each on a connection of its own,
// that all send a ballot of 2,000 rows at once to one coordinator on SQLite, a
// process of its own beside them on the same machine. One iteration is one
// study, from the first ballot to the last receipt.
//
//	go test ./coordinator -run '^$' -bench Load -benchtime 5x
func BenchmarkLoad(b *testing.B) {
	const parties, rows = 500, 2000
	ctx := context.Background()
	w := newWorld(b, func(c *Config) { c.Log = nil })
	roster := names(parties)
	for _, p := range roster {
		w.enrol(string(p))
	}
	w.stop()
	server := exec.Command(must(os.Executable()))
	server.Env = append(os.Environ(), loadFolder+"="+w.config.Dir, loadListen+"="+w.config.Listen)
	server.Stderr = os.Stderr
	out := bufio.NewScanner(must(server.StdoutPipe()))
	must(0, server.Start())
	defer func() {
		must(0, server.Process.Signal(syscall.SIGTERM))
		must(0, server.Wait())
	}()
	if !out.Scan() {
		b.Fatal("the coordinator ended")
	}
	w.call() // all connect, as polling does
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
	self := process{server.Process.Pid}
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
				if _, err := w.parties[string(party)].Contribute(ctx, s.Hash, bodies[i]); err != nil {
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
	b.ReportMetric(self.peak()/1e6, "server-peak-MB")
}
