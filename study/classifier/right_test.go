package classifier

import "testing"

func TestRight(t *testing.T) {
	for _, c := range []struct {
		predicted, y    []int
		right, labelled int
	}{
		{[]int{0, 1, 1, 2}, []int{0, 1, 2, -1}, 2, 3},
		{[]int{1}, []int{-1}, 0, 0},
		{nil, nil, 0, 0},
	} {
		if right, labelled := CountCorrect(c.predicted, c.y); right != c.right ||
			labelled != c.labelled {
			t.Errorf("%v of %v: %d of %d, want %d of %d", c.predicted, c.y, right, labelled,
				c.right, c.labelled)
		}
	}
}
