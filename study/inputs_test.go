package study_test

import (
	"testing"

	"caucus/study"
)

// TestInputsDraw: the random numbers of a shard's learner depend only on the site's key and the
// shard. They differ between shards, and do not depend on earlier draws.
func TestInputsDraw(t *testing.T) {
	seen := map[[2]uint64]bool{}
	for _, key := range []string{"a", "b", "ab"} {
		in := study.NewInputs(nil, []byte(key))
		for shard := range 300 {
			rng, again := in.Rng(shard), in.Rng(shard)
			drawn := [2]uint64{rng.Uint64(), rng.Uint64()}
			if drawn != [2]uint64{again.Uint64(), again.Uint64()} {
				t.Errorf("key %s, shard %d: drawn again otherwise", key, shard)
			}
			if seen[drawn] { // by chance with a probability below 2⁻¹⁰⁸
				t.Errorf("key %s, shard %d: it draws as another does", key, shard)
			}
			seen[drawn] = true
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("inputs are made without a key")
		}
	}()
	study.NewInputs(nil, nil)
}
