package demo

import "testing"

// TestUneven: all records are dealt, parties have equal size, and the share rises as documented.
func TestUneven(t *testing.T) {
	with, without := make([]int, 240), make([]int, 760)
	for i := range with {
		with[i] = 1
	}
	dealt := uneven(with, without, 10)
	all, share := 0, func(mine []int) (s float64) {
		for _, y := range mine {
			s += float64(y) / float64(len(mine))
		}
		return s
	}
	for i, mine := range dealt {
		if all += len(mine); len(mine) != 100 || i > 0 && share(mine) <= share(dealt[i-1]) {
			t.Errorf("party %d has %d records, a share of %.2f", i, len(mine), share(mine))
		}
	}
	if first, last := share(dealt[0]), share(dealt[9]); all != 1000 || first < .03 || first > .06 ||
		last < .42 || last > .45 {
		t.Errorf("%d records, shares from %.2f to %.2f", all, first, last)
	}
}
