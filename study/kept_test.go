package study_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"caucus/study"
	"caucus/study/life"
)

// walked lists the bodies up to the end or the first error.
func walked(all study.Bodies) (out []string, err error) {
	for b, err := range all {
		if err != nil {
			return out, err
		}
		out = append(out, string(b))
	}
	return out, nil
}

// TestBodies: bodies come in the order of their digests, duplicates twice, on every walk. Their
// bytes are the same for every order of arrival and can be read back; truncated, padded, reordered
// or differently encoded bytes are refused.
func TestBodies(t *testing.T) {
	given := [][]byte{[]byte("b"), {}, []byte("a"), []byte("b"), bytes.Repeat([]byte("long"), 100)}
	all := study.BodiesOf(given)
	first, _ := walked(all)
	if again, _ := walked(all); len(again) != len(given) || len(first) != len(given) {
		t.Fatalf("%q, then %q", first, again)
	}
	for i := range len(first) - 1 {
		a, b := sha256.Sum256([]byte(first[i])), sha256.Sum256([]byte(first[i+1]))
		if bytes.Compare(a[:], b[:]) > 0 {
			t.Errorf("%q is before %q", first[i], first[i+1])
		}
	}
	want, err := all.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	other, _ := study.BodiesOf([][]byte{given[4], given[3], given[2], given[0],
		given[1]}).MarshalBinary()
	if !bytes.Equal(other, want) {
		t.Error("the order of arrival changes the bytes")
	}
	read, n, err := study.ParseBodies(want)
	if err != nil || n != len(given) {
		t.Fatalf("%d, %v", n, err)
	}
	if back, _ := read.MarshalBinary(); !bytes.Equal(back, want) {
		t.Error("bodies change on their way through bytes")
	}
	for n := range want {
		if _, _, err := study.ParseBodies(want[:n]); err == nil {
			t.Fatalf("bodies cut to %d bytes are read", n)
		}
	}
	unsorted := binary.AppendUvarint(nil, uint64(len(first)))
	for i := range first {
		b := first[len(first)-1-i]
		unsorted = append(binary.AppendUvarint(unsorted, uint64(len(b))), b...)
	}
	for name, bad := range map[string][]byte{
		"more": append(bytes.Clone(want), 0), "another order": unsorted, "a longer number": append([]byte{0x85, 0}, want[1:]...),
		"a size beyond": {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "a count beyond": {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
	} {
		if _, _, err := study.ParseBodies(bad); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

// TestHeld: exactly the received bodies pass, each in its place.
func TestHeld(t *testing.T) {
	received := map[study.PartyID]study.BodyDigest{}
	for p, b := range map[study.PartyID]string{"a": "1", "b": "2", "c": "2"} {
		received[p] = sha256.Sum256([]byte(b))
	}
	s := life.Restore(study.Plan{}, study.Hash{},
		life.Snapshot{State: study.Sealed, Received: received})
	of := func(all ...string) study.Bodies {
		var b [][]byte
		for _, text := range all {
			b = append(b, []byte(text))
		}
		return study.BodiesOf(b)
	}
	if got, err := walked(s.ReceivedBodies(of("2", "1", "2"))); err != nil || len(got) != 3 {
		t.Errorf("%q, %v", got, err)
	}
	right, _ := walked(of("1", "2", "2"))
	backwards := func(yield func([]byte, error) bool) {
		for i := range right {
			if !yield([]byte(right[len(right)-1-i]), nil) {
				return
			}
		}
	}
	for name, bad := range map[string]study.Bodies{
		"one less": of("1", "2"), "one more": of("1", "2", "2", "3"), "one twice": of("1", "1", "2"), "another": of("1", "2", "3"), "none": of(), "another order": backwards,
	} {
		if _, err := walked(s.ReceivedBodies(bad)); !errors.Is(err, study.ErrBodiesChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	full := errors.New("the disk cannot be read")
	if _, err := walked(s.ReceivedBodies(func(yield func([]byte, error) bool) {
		yield(nil, full)
	})); !errors.Is(err, full) {
		t.Errorf("an error of the store: %v", err)
	}
	for b := range s.ReceivedBodies(of("1", "2", "2")) { // a walk may stop early
		_ = b
		break
	}
	if got := s.ContributorsByBody(); len(got) != 3 ||
		received[got[0]] != sha256.Sum256([]byte(right[0])) ||
		received[got[2]] != sha256.Sum256([]byte(right[2])) {
		t.Errorf("in the order of bodies: %v", got)
	}
}
