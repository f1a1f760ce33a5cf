package aggregation

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func drawVotes(t *rapid.T, rows, classes int) []int {
	return rapid.SliceOfN(rapid.IntRange(0, classes-1), rows, rows).Draw(t, "votes")
}

func TestBallotRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 20).Draw(t, "classes")
		rows := rapid.IntRange(0, 40).Draw(t, "rows")
		votes := drawVotes(t, rows, classes)
		b, err := NewBallot(votes, classes)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := b.MarshalBinary()
		if len(data) != BallotBytes(rows, classes) {
			t.Fatalf("have %d bytes, want %d", len(data), BallotBytes(rows, classes))
		}
		back, err := ParseBallot(data, rows, classes)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range votes {
			if int(back.votes[i]) != v {
				t.Fatalf("row %d: have vote %d, want %d", i, back.votes[i], v)
			}
		}
	})
}

func TestBallotRefusals(t *testing.T) {
	b, _ := NewBallot([]int{0, 2, 1}, 3)
	good, _ := b.MarshalBinary()
	padded := bytes.Clone(good)
	padded[0] |= 0x80
	for name, c := range map[string]struct {
		data []byte
		rows int
	}{
		"truncated":          {good[:0], 3},
		"too long":           {append(bytes.Clone(good), 0), 3},
		"another pool":       {good, 7},
		"vote out of range":  {[]byte{0x3f}, 3},
		"padding is not nil": {padded, 3},
	} {
		if _, err := ParseBallot(c.data, c.rows, 3); !errors.Is(err, ErrBallot) {
			t.Errorf("%s: have %v, want ErrBallot", name, err)
		}
	}
	if _, err := NewBallot([]int{3}, 3); !errors.Is(err, ErrBallot) {
		t.Errorf("vote 3 of 3 classes: have %v, want ErrBallot", err)
	}
	if _, err := NewBallot(nil, 1); !errors.Is(err, ErrBallot) {
		t.Errorf("one class: have %v, want ErrBallot", err)
	}
}

// TestTallyOrderAndShards: order of arrival and sharding change no bit.
func TestTallyOrderAndShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 5).Draw(t, "classes")
		rows := rapid.IntRange(1, 12).Draw(t, "rows")
		ballots := make([]Ballot, rapid.IntRange(1, 12).Draw(t, "ballots"))
		naive := make([]int64, rows*classes)
		for b := range ballots {
			votes := drawVotes(t, rows, classes)
			for i, v := range votes {
				naive[i*classes+v]++
			}
			ballots[b], _ = NewBallot(votes, classes)
		}
		straight := NewTally(rows, classes)
		shards := []*Tally{NewTally(rows, classes), NewTally(rows, classes),
			NewTally(rows, classes)}
		for _, b := range ballots {
			if err := straight.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		order := rapid.Permutation(ballots).Draw(t, "order")
		for _, b := range order {
			if err := shards[rapid.IntRange(0, 2).Draw(t, "shard")].Add(b); err != nil {
				t.Fatal(err)
			}
		}
		merged := NewTally(rows, classes)
		for _, s := range rapid.Permutation(shards).Draw(t, "merge") {
			if err := merged.Merge(s); err != nil {
				t.Fatal(err)
			}
		}
		want, _ := straight.MarshalBinary()
		got, _ := merged.MarshalBinary()
		if !bytes.Equal(want, got) {
			t.Fatalf("sharded tally differs")
		}
		back, err := ParseTally(got, rows, classes, int64(len(ballots)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			for k := range classes {
				if back.Count(i, k) != naive[i*classes+k] {
					t.Fatalf("row %d class %d: have %d, want %d", i, k, back.Count(i, k),
						naive[i*classes+k])
				}
			}
		}
		of := TallyOf(back.Vector(), rows, classes, back.Ballots())
		if again, _ := of.MarshalBinary(); !bytes.Equal(again, got) {
			t.Fatalf("TallyOf(Vector) differs")
		}
	})
}

func TestTallyRefusals(t *testing.T) {
	a := NewTally(2, 3)
	b, _ := NewBallot([]int{1, 2, 0}, 3)
	if err := a.Add(b); !errors.Is(err, ErrTally) {
		t.Errorf("ballot of another pool: have %v, want ErrTally", err)
	}
	if err := a.Merge(NewTally(2, 2)); !errors.Is(err, ErrTally) {
		t.Errorf("merge of other classes: have %v, want ErrTally", err)
	}
	b, _ = NewBallot([]int{1, 2}, 3)
	a.Add(b)
	good, _ := a.MarshalBinary()
	for name, data := range map[string][]byte{
		"empty":                 {},
		"truncated":             good[:len(good)-1],
		"too long":              append(bytes.Clone(good), 0),
		"more votes than cast":  {1, 1, 1, 0, 0}, // row 0 has two votes from one ballot
		"more ballots than max": {9, 0, 0, 0, 0},
	} {
		if _, err := ParseTally(data, 2, 3, 5); !errors.Is(err, ErrTally) {
			t.Errorf("%s: have %v, want ErrTally", name, err)
		}
	}
}

func FuzzParseBallot(f *testing.F) {
	f.Add([]byte{1, 2, 3}, 5, 3)
	f.Add([]byte{}, 0, 2)
	f.Fuzz(func(t *testing.T, data []byte, rows, classes int) {
		if rows > 1<<16 {
			return
		}
		b, err := ParseBallot(data, rows, classes)
		if err != nil {
			return
		}
		if back, _ := b.MarshalBinary(); !bytes.Equal(back, data) {
			t.Errorf("accepted %x, which encodes as %x", data, back)
		}
	})
}

func FuzzParseTally(f *testing.F) {
	f.Add([]byte{3, 1, 1, 2, 0}, 2, 3)
	f.Fuzz(func(t *testing.T, data []byte, rows, classes int) {
		if rows < 0 || rows > 1<<10 || classes < 2 || classes > 8 {
			return
		}
		x, err := ParseTally(data, rows, classes, 1<<20)
		if err != nil {
			return
		}
		for i := range rows {
			var sum int64
			for k := range classes {
				if x.Count(i, k) < 0 {
					t.Fatalf("negative count")
				}
				sum += x.Count(i, k)
			}
			if sum != x.Ballots() {
				t.Fatalf("row %d sums to %d of %d", i, sum, x.Ballots())
			}
		}
	})
}
