package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"caucus/aggregation"
	"caucus/privacy"
)

// TestGNMaxDivergence: the data-dependent bound is never above the plain one,
// far below it for clear votes, and never below the exact divergence between
// neighbouring counts of two classes.
func TestGNMaxDivergence(t *testing.T) {
	// P[class 0 wins] with a gap of g votes and noise of σ on both counts.
	wins := func(g, sigma float64) float64 { return math.Erfc(-g/(2*sigma)) / 2 }
	for _, c := range []struct{ gap, sigma float64 }{{0, 20}, {30, 20}, {100, 20}, {160, 20},
		{200, 20}, {90, 5}} {
		got := gnmaxDivergence(math.Log(wins(-c.gap, c.sigma)), c.sigma)
		for i, a := range renyiOrders {
			if plain := a / (c.sigma * c.sigma); got[i] > plain*(1+1e-12) || got[i] < 0 {
				t.Errorf("gap %v, order %v: %v, the plain bound is %v", c.gap, a, got[i], plain)
			}
			// A teacher's other vote changes the gap by 2 either way.
			for _, other := range []float64{c.gap - 2, c.gap + 2} {
				sum := math.Inf(-1)
				for _, sign := range []float64{1, -1} {
					p, q := wins(sign*c.gap, c.sigma), wins(sign*other, c.sigma)
					if p > 0 && q > 0 {
						sum = logAdd(sum, a*math.Log(p)+(1-a)*math.Log(q))
					}
				}
				if exact := sum / (a - 1); got[i] < exact*(1-1e-9)-1e-12 {
					t.Errorf("gap %v to %v, order %v: bound %v below the exact %v", c.gap, other, a, got[i], exact)
				}
			}
		}
	}
	clear := gnmaxDivergence(math.Log(wins(-400, 20)), 20)
	if clear[10] > .01*renyiOrders[10]/400 {
		t.Errorf("votes without doubt cost %v, hardly less than the plain bound", clear[10])
	}
}

// TestPATEAnswersAlike: with a large budget and clear votes the answers are the
// plurality's; with none to speak of there are hardly any.
func TestPATEAnswersAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	votes := aggregation.NewTally(300, 3)
	for teacher := range 400 {
		choice := make([]int, 300)
		for i := range choice {
			if choice[i] = i % 3; teacher%10 == 0 {
				choice[i] = (i + 1) % 3
			}
		}
		b, err := aggregation.NewBallot(choice, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := votes.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	labels, n := pateLabels(votes, privacy.Budget{Epsilon: 10, Delta: 1e-6}, rng)
	wrong := 0
	for i, k := range labels {
		if k >= 0 && k != i%3 {
			wrong++
		}
	}
	if n < 150 || wrong > n/50 {
		t.Errorf("%d rows answered, %d wrongly, want more than half of 300 and almost none", n, wrong)
	}
	if _, n := pateLabels(votes, privacy.Budget{Epsilon: .001, Delta: 1e-6}, rng); n > 5 {
		t.Errorf("%d rows answered with almost no budget", n)
	}
}
