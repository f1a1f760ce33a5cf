package aggregator

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/shares"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/kinds/results"
)

// BenchmarkReceived times a coordinator's storing of uploads, one at a time and in batches.
//
//	go test ./aggregator -run '^$' -bench Received -cpu 1
func BenchmarkReceived(b *testing.B) {
	for _, together := range []int{1, batch} {
		b.Run(fmt.Sprintf("N=2000/K=2/%d", together), func(b *testing.B) {
			ctx := context.Background()
			task := wide(2000, b.N)
			w, h := newWorld(b, task), task.Hash()
			w.opened(h)
			data := uploadOf(task, task.Plan().Roster[0], votes(task, 0, false), 1, w.under(task))
			b.ResetTimer()
			for parties := range slices.Chunk(task.Plan().Roster, together) {
				var all []Upload
				for _, p := range parties {
					all = append(all, Upload{p, data}) // not opened yet
				}
				must(0, w.servers[0].ReceiveAll(ctx, h, all))
			}
		})
	}
}

// BenchmarkChecked times both servers in one process, from stored uploads to sums: opening boxes,
// both preparations, both proofs, and all writing. One server's part is half.
//
//	go test ./aggregator -run '^$' -bench Checked -cpu 1
func BenchmarkChecked(b *testing.B) {
	for _, rows := range []int{2000} {
		b.Run(fmt.Sprintf("N=%d/K=2", rows), func(b *testing.B) {
			ctx := context.Background()
			task := wide(rows, b.N)
			w, h := newWorld(b, task), task.Hash()
			w.opened(h)
			for i, p := range task.Plan().Roster {
				must(0, w.servers[0].Receive(ctx, h, p,
					uploadOf(task, p, votes(task, i%rows, false), 1, w.under(task))))
			}
			b.ResetTimer()
			must(w.servers[0].Advance(ctx, h, w.servers[1]))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ballots/s")
			if n := w.heldBy(shares.Helper, h).contributions; n != int64(b.N) {
				b.Fatalf("%d of %d were accepted", n, b.N)
			}
		})
	}
}

func wide(rows, parties int) study.Task {
	p := taskOf(2, 2).Plan()
	p.Roster = nil
	for i := range max(parties, 2) {
		p.Roster = append(p.Roster, study.PartyID(fmt.Sprintf("p%07d", i)))
	}
	p.Roster = p.Roster[:max(parties, 1)]
	p.Minimum, p.Map = 1, dataset.Identity(p.Schema)
	x := mat.NewDense(rows, p.Schema.Dim(), nil)
	for i := range rows {
		x.Set(i, 0, float64(i)/float64(rows))
	}
	pool := auxdata.NewSimulated(x, p.Map)
	p.Pool = pool.Digest
	return must(results.NewTask(p, pool))
}
