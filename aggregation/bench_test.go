package aggregation

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func benchBallot(rows, classes int, rng *rand.Rand) Ballot {
	votes := make([]int, rows)
	for i := range votes {
		votes[i] = rng.IntN(classes)
	}
	b, err := NewBallot(votes, classes)
	if err != nil {
		panic(err)
	}
	return b
}

// BenchmarkTally: time and memory per party on a 2,000-row pool. The bytes per operation must not
// grow with the number of ballots.
func BenchmarkTally(b *testing.B) {
	for _, classes := range []int{2, 10} {
		b.Run(fmt.Sprintf("classes=%d", classes), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			body, _ := benchBallot(2000, classes, rng).MarshalBinary()
			t := NewTally(2000, classes)
			b.ReportMetric(float64(len(body)), "body-bytes")
			b.ReportAllocs()
			for b.Loop() {
				x, err := ParseBallot(body, 2000, classes)
				if err != nil {
					b.Fatal(err)
				}
				if err := t.Add(x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBallotEncode(b *testing.B) {
	x := benchBallot(2000, 2, rand.New(rand.NewPCG(1, 1)))
	buffer := make([]byte, 0, BallotBytes(2000, 2))
	b.ReportAllocs()
	for b.Loop() {
		x.AppendBinary(buffer)
	}
}

// TestTallyMemory: adding a ballot allocates nothing, however many came before.
func TestTallyMemory(t *testing.T) {
	ballot := benchBallot(2000, 3, rand.New(rand.NewPCG(1, 1)))
	tally := NewTally(2000, 3)
	if n := testing.AllocsPerRun(1000, func() { tally.Add(ballot) }); n != 0 {
		t.Errorf("adding a ballot allocates %v times", n)
	}
}
