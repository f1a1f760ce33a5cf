package aggregation

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/learners"
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

// BenchmarkFitVotes chooses λ and fits, at the size of a study of adult.
func BenchmarkFitVotes(b *testing.B) {
	for _, c := range []struct{ rows, classes int }{{8140, 2}, {10000, 10}} {
		b.Run(fmt.Sprintf("rows=%d,classes=%d", c.rows, c.classes), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			x := smallPool(c.rows, 41, rng)
			teacher := mat.NewDense(41, learners.Columns(c.classes), nil)
			for i := range teacher.RawMatrix().Data {
				teacher.RawMatrix().Data[i] = 6 * rng.NormFloat64()
			}
			p := learners.Linear{W: teacher, Classes: c.classes}.Probabilities(x)
			shares := p
			if c.classes == 2 {
				shares = mat.DenseCopyOf(p.Slice(0, c.rows, 1, 2))
			}
			mu := learners.Moments(x, shares, nil)
			variance := make([]float64, c.rows)
			for i := range variance {
				variance[i] = 20
			}
			noise := TallyNoise(x, nil, variance, c.classes)
			mu.Add(mu, noise.Draw(learners.Columns(c.classes), rng))
			for b.Loop() {
				FitVotes(x, nil, mu, noise, FitTerms{Classes: c.classes}, rng)
			}
		})
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
