package coordinator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"caucus/study"
)

// BenchmarkLoad is a study of 500 parties, each on a connection of its own,
// that all send a ballot of 2,000 rows at once to one coordinator on SQLite.
// One iteration is one study, from the first ballot to its release.
//
//	go test ./coordinator -run '^$' -bench Load -benchtime 3x
func BenchmarkLoad(b *testing.B) {
	const parties, rows = 500, 2000
	ctx := context.Background()
	w := newWorld(b, func(c *Config) { c.Log = nil })
	roster := names(parties)
	for _, p := range roster {
		if _, err := w.enrol(string(p)).Studies(ctx); err != nil { // connects, as polling does
			b.Fatal(err)
		}
	}
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
		studies int
		peak    atomic.Uint64
	)
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	for b.Loop() {
		b.StopTimer()
		p := planOf(roster, pool, w.clock.Now().Add(time.Hour))
		p.Name = fmt.Sprint("load-", studies)
		s := w.open(p, pool)
		studies++
		b.StartTimer()
		start := time.Now()
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
		w.wait(p.Name, study.Released)
	}
	close(stop)
	watch.Wait()
	slices.Sort(latency)
	b.ReportMetric(float64(len(latency))/sending.Seconds(), "ballots/s")
	b.ReportMetric(float64(latency[len(latency)*99/100].Milliseconds()), "p99-ms")
	b.ReportMetric(float64(peak.Load())/1e6, "peak-MB") // of clients and coordinator together
}
