package kinds_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/kinds"
)

// TestRemovalHolds: taking a unit's part away moves the integers by no more than is
// proved of it, and some part moves them by nearly all of it, so that the figure is not
// smaller by mistake nor larger for nothing. Every record and party of a small world is
// tried, and random ones.
func TestRemovalHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	anyVisit := func(classes []string) visit {
		return visit{classes[rng.IntN(len(classes))], strconv.Itoa([]int{0, 5, 10}[rng.IntN(3)]), strconv.Itoa(rng.IntN(2)), []string{"east", "west", "north"}[rng.IntN(3)], "", ""}
	}
	for _, classes := range [][]string{{"no", "yes"}, {"no", "some", "yes"}} {
		c := newClinic(t, classes, 6)
		for _, of := range []struct {
			mechanism string
			unit      privacy.Unit
			delta     float64
			least     float64 // of the bound's L2, that some part moves
		}{
			{"cross", privacy.Record, 0.01, 0.98}, {"cross", privacy.Record, 0, 0.98},
			{"tally", privacy.Party, 0.01, 0}, {"means", privacy.Party, 0.01, 0.98}, {"means", privacy.Party, 0, 0.98},
		} {
			p := c.classify(of.mechanism, of.unit, study.NoiseCoordinator, 1)
			p.Delta = of.delta
			if of.mechanism == "cross" {
				p.Noise = study.NoiseSite
			}
			q := statisticOf(t, p, c.pool)
			terms, err := q.Terms(8)
			if err != nil {
				t.Fatal(err)
			}
			b, ok := classify.Kind{}.Removal(p, terms.Bound)
			if !ok {
				t.Fatalf("%s: not proved", of.mechanism)
			}
			most := 0.0
			for range 400 {
				rows := []visit{anyVisit(classes), anyVisit(classes), anyVisit(classes)}
				with, _ := q.Local(c.inputs(c.records(t, rows), 0))
				without := make([]int64, len(with)) // of a party
				if of.unit == privacy.Record {
					without, _ = q.Local(c.inputs(c.records(t, append(rows[1:], visit{"", "", "", "", "", ""})), 0))
				}
				l1, l2sq := distance(with, without, terms.Bound)
				if l2sq > float64(b.L2sq) || b.L1 > 0 && l1 > float64(b.L1) {
					t.Fatalf("%s, %d classes: %v moves L1 %g, L2² %g; proved are %d and %d", of.mechanism, len(classes), rows, l1, l2sq, b.L1, b.L2sq)
				}
				most = math.Max(most, math.Sqrt(l2sq/float64(b.L2sq)))
			}
			if most < of.least {
				t.Errorf("%s: nothing moves more than %.3f of the bound", of.mechanism, most)
			}
		}
	}
}

// TestUnderRemoval: the ε of each mechanism's proof; nothing where there is none.
func TestUnderRemoval(t *testing.T) {
	two, three := newClinic(t, []string{"no", "yes"}, 6), newClinic(t, []string{"no", "some", "yes"}, 6)
	at := func(rho float64) float64 { return privacy.EpsilonOf(rho, 1e-6*63/64) }
	rho := privacy.RhoOf(privacy.Budget{Epsilon: 1, Delta: 1e-6})
	for name, of := range map[string]struct {
		clinic    clinic
		mechanism string
		unit      privacy.Unit
		shards    int
		delta     float64
		want      float64 // 0: not proved
	}{
		"cross":                  {two, "cross", privacy.Record, 1, 1e-6, at(rho / 2)},
		"cross, three classes":   {three, "cross", privacy.Record, 1, 1e-6, at(rho / 2)},
		"cross, pure":            {two, "cross", privacy.Record, 1, 0, math.Sqrt(.5)},
		"cross, labels":          {two, "cross", privacy.Label, 1, 1e-6, 0},
		"tally, two classes":     {two, "tally", privacy.Party, 1, 1e-6, 1},
		"tally, three classes":   {three, "tally", privacy.Party, 1, 1e-6, at(rho / 2)},
		"tally, shards":          {two, "tally", privacy.Record, 2, 1e-6, 0},
		"means":                  {two, "means", privacy.Party, 1, 1e-6, at(rho / 4)},
		"means, pure":            {two, "means", privacy.Party, 1, 0, .5},
		"moment mixes the rows":  {two, "moment", privacy.Party, 1, 0, 0},
		"output is no statistic": {two, "output", privacy.Party, 1, 0, 0},
	} {
		noise := study.NoiseCoordinator
		if of.mechanism == "cross" {
			noise = study.NoiseSite
		}
		p := of.clinic.classify(of.mechanism, of.unit, noise, of.shards)
		p.Delta = of.delta
		costs, err := study.CostsOf(taskOf(t, p, of.clinic.pool), 8)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, ok := kinds.UnderRemoval(p, costs)
		if ok != (of.want > 0) || ok && math.Abs(got-of.want) > 1e-3*of.want {
			t.Errorf("%s: ε = %.6f, %v; want %.6f", name, got, ok, of.want)
		}
	}
}

// TestUnderRemovalOfLies: a release states its own costs; of those that are not of noise
// for the plan's ε no figure is made, whatever they are.
func TestUnderRemovalOfLies(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 6)
	for name, of := range map[string]struct {
		delta float64
		lie   func(*study.ReleaseCost)
	}{
		"below none":    {1e-6, func(c *study.ReleaseCost) { c.Cost.Rho = big.NewRat(-7, 2) }},
		"next to none":  {1e-6, func(c *study.ReleaseCost) { c.Cost.Rho = big.NewRat(1, 1<<60) }},
		"no number":     {1e-6, func(c *study.ReleaseCost) { c.Cost.Rho = new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 4000)) }},
		"none":          {1e-6, func(c *study.ReleaseCost) { c.Cost.Rho = nil }},
		"no bound":      {1e-6, func(c *study.ReleaseCost) { c.Bound.L2sq = -1 }},
		"another noise": {1e-6, func(c *study.ReleaseCost) { c.Mechanism = privacy.DiscreteLaplace{}.Name() }},
		"another scale": {0, func(c *study.ReleaseCost) { c.Parameters["scale"] = "1000000000000000" }},
	} {
		p := c.classify("cross", privacy.Record, study.NoiseSite, 1)
		p.Delta = of.delta
		costs, err := study.CostsOf(taskOf(t, p, c.pool), 8)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := kinds.UnderRemoval(p, costs); !ok {
			t.Fatalf("%s: nothing is told of true costs", name)
		}
		of.lie(&costs[0])
		if got, ok := kinds.UnderRemoval(p, costs); ok {
			t.Errorf("%s: ε = %v", name, got)
		}
	}
}
