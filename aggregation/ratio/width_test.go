package ratio

import (
	"errors"
	"math/rand/v2"
	"testing"

	"caucus/aggregation/embedding"
)

// Neither a very wide kernel nor a very narrow one separates classes that differ only in scale.
func TestSelectWidth(t *testing.T) {
	w := newWorld(2, 2, 0, 1)
	set := func(p float64) Set {
		s := w.set(150, p, 1-p)
		for i := range int(p * 150) {
			for j := range 2 {
				s.Rows.Set(i, j, 0.2*s.Rows.At(i, j))
			}
		}
		return s
	}
	var sets []Set
	for _, p := range []float64{0, .2, .4, .6, .8, 1} {
		sets = append(sets, set(p))
	}
	for _, f := range []*embedding.Fourier{nil, {Dim: 2, Features: 200, Seed: 1}} {
		rng := rand.New(rand.NewPCG(1, 1))
		gamma, path, err := SelectWidth(sets, WidthOptions{SquaredDistance: 1, Fourier: f}, rng)
		if err != nil {
			t.Fatal(err)
		}
		if len(path) != 11 || gamma < 0.1 || gamma > 16 {
			t.Errorf("gamma %g of %+v", gamma, path)
		}
	}
}

func TestSelectWidthRefuses(t *testing.T) {
	w := newWorld(2, 2, 1, 1)
	rng := rand.New(rand.NewPCG(1, 1))
	sets := []Set{w.set(20, .2, .8), w.set(20, .8, .2)}
	var refusal *Refusal
	if _, _, err := SelectWidth(sets, WidthOptions{SquaredDistance: 1}, rng); !errors.As(err,
		&refusal) ||
		refusal.Reason != TooFewSets {
		t.Errorf("two sets: %v", err)
	}
	if _, _, err := SelectWidth(sets, WidthOptions{}, rng); err == nil {
		t.Error("no scale: no error")
	}
	sets[0].Rows = nil
	if _, _, err := SelectWidth(sets, WidthOptions{SquaredDistance: 1}, rng); err == nil {
		t.Error("no rows: no error")
	}
}
