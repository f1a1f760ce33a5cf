package conformance_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"caucus/aggregation"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/ratio"
	"caucus/study/reweigh"
)

// An adversarial search. A genome of small integers encodes two neighbouring data sets; hill
// climbing with restarts looks for the pair that moves the private vector most, in L1 and in
// weighted L2.

// searched is a bound and the neighbours to search.
type searched struct {
	name     string
	genes    int
	alphabet int
	tail     int // genes at the end that encode the replacement
	pair     func(genome []int) (first, second study.Request)
}

// movement returns how far a pair moves the vector, as a share of the bound; 0 for a norm without a
// bound. If more cells change than the bound allows, another block changes, or a sum that must stay
// changes, both shares exceed 1.
func movement(t testing.TB, first, second study.Request) (l1, l2 float64) {
	b := first.Sensitive.Bound()
	x, y := openAsk(t, first), openAsk(t, second)
	m1, m2 := distance(x, y, b)
	if b.L1 > 0 {
		l1 = m1 / float64(b.L1)
	}
	if b.L2sq > 0 {
		l2 = math.Sqrt(m2 / float64(b.L2sq))
	}
	cells, blocks, kept := 0, map[int]int64{}, true
	block := b.Block
	if block == 0 {
		block = len(x)
	}
	for j := range x {
		if x[j] != y[j] {
			cells++
			blocks[j/block] += y[j] - x[j]
		}
	}
	for _, sum := range blocks {
		kept = kept && sum == 0
	}
	if b.Cells > 0 && cells > b.Cells || b.KeepsSum && (!kept || len(blocks) > 1) {
		return math.Inf(1), math.Inf(1)
	}
	return l1, l2
}

// climb maximises a score over genomes. It starts at one extreme replaced by the other, and
// restarts at random when stuck.
func climb(s searched, tries int, rng *rand.Rand, score func(genome []int) float64) float64 {
	best, current, stuck := 0., -1., 0
	var at []int
	for try := range tries {
		next := append([]int(nil), at...)
		if try == 0 {
			next = make([]int, s.genes)
			for i := range s.tail {
				next[s.genes-1-i] = 1
			}
		} else if at == nil {
			for range s.genes {
				next = append(next, rng.IntN(s.alphabet))
			}
		} else {
			for range 1 + rng.IntN(3) {
				next[rng.IntN(s.genes)] = rng.IntN(s.alphabet)
			}
		}
		if v := score(next); v >= current {
			if v > current {
				stuck = 0
			}
			at, current = next, v
		}
		best = math.Max(best, current)
		if stuck++; stuck > 40+2*s.genes {
			at, current, stuck = nil, -1, 0
		}
	}
	return best
}

func visitOf(c clinic, g []int) visit {
	classes := append(c.schema.Classes(), "?")
	return visit{
		label: classes[g[0]%len(classes)], a: []string{"0", "10", "5", "-3", "NaN", ""}[g[1]%6], b: []string{"0", "1", "0.5", "1e9", "?"}[g[2]%5],
		ward: []string{"east", "west", "north", ""}[g[3]%4], set: "s1",
	}
}

const genesOfVisit = 4

func visitsOf(c clinic, g []int, n int) []visit {
	var out []visit
	for i := range n {
		v := visitOf(c, g[i*genesOfVisit:])
		v.patient = "p" + strconv.Itoa(i)
		out = append(out, v)
	}
	return out
}

// bounds lists all plans that may be released.
func bounds(t testing.TB, c clinic) []searched {
	const n = 4
	// replaces one record, by the same or another patient's
	records := func(name string, p study.Plan, another bool) searched {
		return searched{name, (n + 1) * genesOfVisit, 60, genesOfVisit,
			func(g []int) (study.Request, study.Request) {
				rows := visitsOf(c, g, n)
				by := visitOf(c, g[n*genesOfVisit:])
				if another {
					by.patient = "q" + strconv.Itoa(g[0]%16)
				}
				return c.asksOf(t, p, c.encoded(t, p, rows))[0], c.asksOf(t, p,
					c.encoded(t, p, replaced(rows, by)))[0]
			}}
	}
	label := func(name string, p study.Plan) searched {
		return searched{name, (n + 1) * genesOfVisit, 60, genesOfVisit,
			func(g []int) (study.Request, study.Request) {
				rows := visitsOf(c, g, n)
				by := rows[0]
				by.label = visitOf(c, g[n*genesOfVisit:]).label
				for i := range rows {
					rows[i].set = "s" + strconv.Itoa(i%2)
				}
				by.set = rows[0].set
				return c.asksOf(t, p, c.encoded(t, p, rows))[0], c.asksOf(t, p,
					c.encoded(t, p, replaced(rows, by)))[0]
			}}
	}
	// A party may send any ballot: one of three is replaced.
	ballots := func(name string, p study.Plan) searched {
		pool, classes := c.pool.Rows(), len(c.schema.Classes())
		return searched{name, 4 * pool, classes, pool,
			func(g []int) (study.Request, study.Request) {
				var asks [2]study.Request
				for side := range 2 {
					sum, err := conformance.TaskOf(t, p, c.pool).NewSum()
					if err != nil {
						t.Fatal(err)
					}
					for _, from := range []int{0, 1, 2 + side} {
						b, err := aggregation.NewBallot(g[from*pool:(from+1)*pool], classes)
						if err != nil {
							t.Fatal(err)
						}
						body, _ := b.MarshalBinary()
						if err := sum.Add(body); err != nil {
							t.Fatal(err)
						}
					}
					a, err := sum.Requests(3)
					if err != nil {
						t.Fatal(err)
					}
					asks[side] = a[0]
				}
				return asks[0], asks[1]
			}}
	}
	// party replaces all n records of one party.
	party := func(name string, p study.Plan) searched {
		return searched{name, 2 * n * genesOfVisit, 60, n * genesOfVisit,
			func(g []int) (study.Request, study.Request) {
				return c.asksOf(t, p, c.records(t, visitsOf(c, g, n)))[0], c.asksOf(t, p,
					c.records(t, visitsOf(c, g[n*genesOfVisit:], n)))[0]
			}}
	}
	paper := c.classify("output", privacy.Party, study.NoiseCoordinator, 1)
	conformance.ClassifyTerms(&paper, func(t *classify.Terms) { t.Bound = "paper" })
	return []searched{
		ballots("classify tally, a party's ballot", c.classify("tally", privacy.Party, study.NoiseCoordinator, 1)),
		ballots("classify moment, a party's ballot", c.classify("moment", privacy.Party, study.NoiseCoordinator, 1)),
		ballots("classify output (tight), a party's ballot", c.classify("output", privacy.Party, study.NoiseCoordinator, 1)),
		ballots("classify output (paper), a party's ballot", paper),
		party("classify means, a party's records", c.classify("means", privacy.Party, study.NoiseCoordinator, 1)),
		records("classify tally, 3 shards, a record", c.classify("tally", privacy.Record, study.NoiseSite, 3), false),
		records("classify tally, 3 shards, another patient", c.classify("tally", privacy.Record, study.NoiseSite, 3), true),
		records("classify moment, 3 shards, another patient", c.classify("moment", privacy.Record, study.NoiseSite, 3), true),
		records("classify cross, a record", c.classify("cross", privacy.Record, study.NoiseSite, 1), false),
		label("classify cross, a label", c.classify("cross", privacy.Label, study.NoiseSite, 1)),
		label("ratio counts, a label", c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace")),
		records("ratio noisy embedding, a record", c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsParty, "gaussian-zcdp"), false),
		records("ratio made sets, a record", c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsMade, "gaussian-zcdp"), false),
		records("reweigh entropy, a record", c.reweigh("entropy", reweigh.Terms{}), false),
		records("reweigh entropy with bins and pairs, a record", c.reweigh("entropy", reweigh.Terms{Bins: 3, Pairs: [][2]string{{"a", "ward"}}}), false),
		records("reweigh logistic, a record", c.reweigh("logistic", reweigh.Terms{}), false),
		records("reweigh entropy about some, a record", conformance.WithCondition(c.reweigh("entropy", reweigh.Terms{}), "a > 3"), false),
		records("ratio noisy embedding about some, a record", conformance.WithCondition(c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsParty, "gaussian-zcdp"), "a > 3 or label == yes"), false),
		label("ratio counts about some, a label", conformance.WithCondition(c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace"), "a > 3")),
		records("describe about some, a record", conformance.WithCondition(c.describe("laplace", study.NoiseSite, describe.Terms{Bins: 2, By: "ward"}), "a > 3 or label == yes"), true),
		records("evaluate about some, a record", conformance.WithCondition(c.evaluate("laplace", study.NoiseSite, nil), "a > 3 or label == yes"), false),
		label("labels rr, a label", c.labels("rr")),
		records("evaluate, a record", c.evaluate("laplace", study.NoiseSite, nil), false),
		records("evaluate by two groupings at the coordinator, a record", c.evaluate("gaussian", study.NoiseCoordinator, func(t *evaluate.Terms) {
			t.By = []evaluate.Grouping{{Column: "ward"}, {Column: "a", Edges: []float64{3, 6}}}
		}), true),
		party("evaluate, a party's records", wholeParty(c)),
		records("describe, a record", c.describe("gaussian", study.NoiseSite, describe.DefaultTerms()), false),
		records("describe at the coordinator, a record", c.describe("laplace", study.NoiseCoordinator, describe.Terms{Bins: 2}), true),
	}
}

// TestTightness: in every kind of study, with two and three classes, the search finds no pair of
// neighbours that moves a private vector by more than its bound. The log shows how close it comes.
func TestTightness(t *testing.T) {
	tries := testlevel.N(t, 60, 300)
	for _, classes := range [][]string{{"no", "yes"}, {"no", "yes", "maybe"}} {
		c := clinicOf(t, classes, 5, len(classes) == 3) // numbers may be missing with three classes
		for i, s := range bounds(t, c) {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(len(classes))))
			var best [2]float64
			for norm := range best {
				best[norm] = climb(s, tries, rng, func(g []int) float64 {
					first, second := s.pair(g)
					if b := second.Sensitive.Bound(); !b.Equal(first.Sensitive.Bound()) {
						t.Fatalf("%s: neighbours have different bounds", s.name)
					}
					l1, l2 := movement(t, first, second)
					if l1 > 1 || l2 > 1 {
						t.Fatalf("%s, %d classes: moved by %.6f of the L1 bound and %.6f of the L2 bound: %v", s.name, len(classes), l1, l2, g)
					}
					return [2]float64{l1, l2}[norm]
				})
			}
			t.Logf("%-46s %d classes: L1 %.3f, L2 %.3f of the bound", s.name, len(classes), best[0],
				best[1])
			if best[0] == 0 && best[1] == 0 {
				t.Errorf("%s: nothing moves the vector: the search searches nothing", s.name)
			}
		}
	}
}
