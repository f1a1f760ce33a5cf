package shares

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// BenchmarkShares measures time and bytes of a party, and of each server for both steps:
//
//	go test ./aggregation/shares -run '^$' -bench . -cpu 1
func BenchmarkShares(b *testing.B) {
	for _, c := range []struct {
		name string
		form VectorForm
	}{
		{"N=1000/K=2", BallotForm(1000, 2, 1)},
		{"N=2000/K=2", BallotForm(2000, 2, 1)},
		{"N=10000/K=2", BallotForm(10000, 2, 1)},
		{"N=1000/K=10", BallotForm(1000, 10, 1)},
		{"N=2000/K=10", BallotForm(2000, 10, 1)},
		{"N=10000/K=10", BallotForm(10000, 10, 1)},
		{"N=2000/K=2/shards=10", BallotForm(2000, 2, 10)},
		{"signed=410", IntegerForm(410, 1<<32)},
	} {
		f := c.form
		v := drawn(f, rand.New(rand.NewPCG(1, 1)))
		parts := must(f.Split(testContext, v, seeded(1)))
		b.Run(c.name+"/party", func(b *testing.B) {
			random := seeded(2)
			for b.Loop() {
				must(f.Split(testContext, v, random))
			}
		})
		for r := Coordinator; r <= Helper; r++ {
			b.Run(fmt.Sprintf("%s/%v", c.name, r), func(b *testing.B) {
				other := must(f.Prepare(testKey, testContext, 1-r, parts[1-r])).Message()
				sum := f.NewSum()
				for b.Loop() {
					p := must(f.Prepare(testKey, testContext, r, parts[r]))
					if err := sum.Add(must(p.Finish(other))); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(1/b.Elapsed().Seconds()*float64(b.N), "contributions/s")
				b.ReportMetric(float64(f.PartSize(r)), "part-bytes")
				b.ReportMetric(float64(messageSize(f)), "message-bytes")
			})
		}
	}
}

// TestMemory: a server's memory for a study does not grow with the number of added contributions.
func TestMemory(t *testing.T) {
	f := BallotForm(500, 2, 1)
	parts := must(f.Split(testContext, make([]int64, f.Cells), seeded(1)))
	other := must(f.Prepare(testKey, testContext, Helper, parts[1])).Message()
	sum := f.NewSum()
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	add := func(parties int) {
		for range parties {
			if err := sum.Add(must(must(f.Prepare(testKey, testContext, Coordinator,
				parts[0])).Finish(other))); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(10)
	before := held()
	add(1000)
	// Kept shares would take 8 MB.
	if after := held(); after > before+1<<20 {
		t.Errorf("after 1000 contributions %d bytes more are held", after-before)
	}
	runtime.KeepAlive(sum)
}
