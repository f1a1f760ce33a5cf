package aggregator

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"caucus/aggregation/shares"
)

// TestTogetherWithAllOthers checks the table of trust. One server keeps all that it sees, with the
// other server's release and every other party's contribution: one party's vector is still hidden
// by the other server's full noise. For a reader both noises hide it. Both servers together learn
// the vector.
func TestTogetherWithAllOthers(t *testing.T) {
	ctx := t.Context()
	const rows, parties = 4000, 3
	task := wide(rows, parties)
	w, h := newWorld(t, task), task.Hash()
	w.opened(h)
	var others []int64
	var target []int64
	for i, p := range task.Plan().Roster {
		v := make([]int64, rows)
		for j := range v {
			v[j] = int64(drawn(i*rows + j).IntN(2))
		}
		if i == 0 {
			target = v
		} else {
			others = slices.Concat(others, v)
		}
		must(0, w.servers[0].Receive(ctx, h, p, uploadOf(task, p, v, 1, w.under(task))))
	}
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	var held [2][][2]uint64
	w.point = func(_ shares.Role, effect string) {
		if effect != "before ledger" || held[0] != nil {
			return
		}
		for r := range held {
			share := must(shares.VectorForm{Cells: rows}.ParseShare(w.heldBy(shares.Role(r),
				h).sum))
			held[r] = must(share.Residues())
		}
	}
	if !must(w.servers[0].Advance(ctx, h, link{w})) {
		t.Fatal("it is not released")
	}
	o := must(w.servers[0].Released(ctx, h))
	released := [2][][2]uint64{}
	for r, p := range o.Published {
		released[r] = append(released[r], p.Residues...)
	}
	// The mean of n squares of noise over σ² is 1 with standard error √(2/n), for nearly normal
	// noise: 7 standard errors are exceeded with probability 3e-12.
	tolerance := 7 * math.Sqrt(2./rows)
	for name, c := range map[string]struct {
		sees [2][][2]uint64
		want float64 // remaining noise, in variances of one server's noise
	}{
		"coordinator and all other parties": {[2][][2]uint64{held[0], released[1]}, 1},
		"helper and all other parties":      {[2][][2]uint64{released[0], held[1]}, 1},
		"readers and all other parties":     {released, 2},
		"coordinator and helper":            {held, 0},
	} {
		left := must(shares.Combine(c.sees[0], c.sees[1]))
		ratio := 0.
		for j, v := range left {
			for at := j; at < len(others); at += rows {
				v -= others[at]
			}
			ratio += float64(v-target[j]) * float64(v-target[j]) / o.Published[0].Variance(j) / rows
		}
		if math.Abs(ratio-c.want) > tolerance*c.want {
			t.Errorf("%s: noise of %.3f variances is left on the vector, want %g", name, ratio, c.want)
		}
	}
	// One share alone is unrelated to the sum: its residues are spread over the field.
	for r := range held {
		low := 0
		for _, x := range held[r] {
			if x[0] < 1<<63 {
				low++
			}
		}
		// Half of the residues are below p/2 if uniform; 7 standard deviations, each √rows/2.
		if math.Abs(float64(low)-rows/2) > 7*math.Sqrt(rows)/2 {
			t.Errorf("of the %v's share %d of %d residues are in the lower half", shares.Role(r), low, rows)
		}
	}
}

// TestTwoDraws: the servers draw independent noise: knowing one says nothing about the other.
func TestTwoDraws(t *testing.T) {
	ctx := t.Context()
	task := wide(2000, 2)
	w, h := newWorld(t, task), task.Hash()
	w.opened(h)
	for _, p := range task.Plan().Roster {
		must(0, w.servers[0].Receive(ctx, h, p,
			uploadOf(task, p, make([]int64, 2000), 1, w.under(task))))
	}
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	var held [2][][2]uint64
	w.point = func(_ shares.Role, effect string) {
		if effect == "before ledger" && held[0] == nil {
			for r := range held {
				held[r] = must(must(shares.VectorForm{Cells: 2000}.ParseShare(
					w.heldBy(shares.Role(r),
						h).sum)).Residues())
			}
		}
	}
	must(w.servers[0].Advance(ctx, h, link{w}))
	o := must(w.servers[0].Released(ctx, h))
	noise := [2][]int64{}
	for r, p := range o.Published {
		var out [2][][2]uint64
		out[1-r] = held[1-r]
		out[r] = append(out[r], p.Residues...)
		noise[r] = must(shares.Combine(out[0], out[1])) // the sum is 0
	}
	// The mean product of independent noises over the variance has standard error 1/√n: 7 of these.
	product := 0.
	for j := range noise[0] {
		product += float64(noise[0][j]) * float64(noise[1][j]) / o.Published[0].Variance(j) / 2000
	}
	if math.Abs(product) > 7/math.Sqrt(2000) {
		t.Errorf("the two noises hang together: their mean product is %.3f variances", product)
	}
	if fmt.Sprint(noise[0]) == fmt.Sprint(noise[1]) {
		t.Error("both servers drew the same noise")
	}
}
