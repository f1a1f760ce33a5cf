package study

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"caucus/dataset"
	"caucus/privacy"
)

// Searches beyond the cuts of a plan (max_sets, max_records, per_party, shards):
// files that hold more than the plan uses. TestSortedFiles searches the code; here
// the same search must find mistakes, and a whole party is replaced.

// withVector is an ask for another vector on the same terms.
func withVector(t testing.TB, a Ask, v []int64) Ask {
	t.Helper()
	s, err := privacy.NewSensitive(v, a.Sensitive.Bound())
	if err != nil {
		t.Fatal(err)
	}
	a.Sensitive = s
	return a
}

// TestWholeParty: where a plan says how many records a party adds, a party of
// more than those, all replaced, moves the vector by that many times the bound at
// most; a cut that is forgotten is found.
func TestWholeParty(t *testing.T) {
	const n, k = 5, 3
	for _, classes := range [][]string{{"no", "yes"}, {"no", "yes", "maybe"}} {
		c := newClinic(t, classes, 5)
		p, uncut := c.reweigh("entropy", ReweighTerms{PerParty: k}), c.reweigh("entropy", ReweighTerms{})
		for name, of := range map[string]func(*dataset.Records) Ask{
			"cut": func(r *dataset.Records) Ask { return c.asksOf(t, p, r)[0] },
			"cut forgotten": func(r *dataset.Records) Ask {
				return withVector(t, c.asksOf(t, p, r)[0], openAsk(t, c.asksOf(t, uncut, r)[0]))
			},
		} {
			s := searched{name: name, genes: 2 * n * genesOfVisit, alphabet: 60, tail: n * genesOfVisit, pair: func(g []int) (Ask, Ask) {
				return of(c.records(t, visitsOf(c, g, n))), of(c.records(t, visitsOf(c, g[n*genesOfVisit:], n)))
			}}
			best := climb(s, 60, rand.New(rand.NewPCG(1, 2)), func(g []int) float64 {
				a, b := s.pair(g)
				l1, l2 := movement(t, a, b)
				return max(l1, l2) / k
			})
			t.Logf("%s, %d classes: a party of %d records moves %.3f of %d times the bound", name, len(classes), n, best, k)
			if (best > 1) != (name == "cut forgotten") || best < 0.5 {
				t.Errorf("%s, %d classes: a party of %d records moves %.3f of %d times the bound", name, len(classes), n, best, k)
			}
		}
	}
}

// TestCutMutants: mistakes beyond a cut are found by the search. Its files are
// sorted after the replacement.
func TestCutMutants(t *testing.T) {
	const n = 6
	c := newClinic(t, []string{"no", "yes"}, 5)
	visits := func(g []int) []visit {
		rows := visitsOf(c, g, n)
		for i := range rows {
			rows[i].set = "s" + strconv.Itoa(g[i*genesOfVisit]%5)
		}
		return rows
	}
	sorted := func(rows []visit) *dataset.Records {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(x, y visit) int {
			return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.label, y.label), cmp.Compare(x.b, y.b))
		})
		return c.records(t, rows)
	}
	// Of two sets, the last holds the labels of all further ones: C counts those
	// twice.
	counts := c.ratio(FeaturesClear, SetsColumn, "laplace")
	counts.Ratio.MaxSets = 2
	twice := func(rows []visit) Ask {
		r := c.records(t, rows)
		ask := c.asksOf(t, counts, r)[0]
		v := openAsk(t, ask)
		sets := slices.Compact(slices.Sorted(slices.Values(r.Party)))
		for i, y := range r.Y {
			if y >= 0 && slices.Index(sets, r.Party[i]) >= counts.Ratio.MaxSets {
				v[2+y]++
			}
		}
		return withVector(t, ask, v)
	}
	// By place: the first three of a sorted file are used; shards by row number.
	part, all := c.reweigh("entropy", ReweighTerms{PerParty: 3}), c.reweigh("entropy", ReweighTerms{})
	firstThree := func(rows []visit) Ask {
		r := sorted(rows)
		some := make([]int, 3) // the places that a hash of row numbers chose
		copy(some, []int{1, 3, 5})
		return withVector(t, c.asksOf(t, part, r)[0], openAsk(t, c.asksOf(t, all, r.Select(some))[0]))
	}
	made := c.ratio(FeaturesNoisyEmbedding, SetsMade, "gaussian-zcdp")
	one := c.ratio(FeaturesNoisyEmbedding, SetsParty, "gaussian-zcdp")
	setsByPlace := func(rows []visit) Ask {
		r := sorted(rows)
		var v []int64
		for s := range 2 {
			var some []int
			for i := s; i < r.Len(); i += 2 {
				some = append(some, i)
			}
			v = append(v, openAsk(t, c.asksOf(t, one, r.Select(some))[0])...)
		}
		return withVector(t, c.asksOf(t, made, r)[0], v)
	}
	for name, m := range map[string]struct {
		of    func([]visit) Ask
		label bool // neighbours differ in one label, else in one record
	}{
		"C: labels of sets beyond max_sets counted twice": {twice, true},
		"a cut by place in a sorted file":                 {firstThree, false},
		"made sets by place in a sorted file":             {setsByPlace, false},
	} {
		s := searched{name: name, genes: (n + 1) * genesOfVisit, alphabet: 60, tail: genesOfVisit, pair: func(g []int) (Ask, Ask) {
			rows := visits(g)
			by := visitOf(c, g[n*genesOfVisit:])
			by.set = rows[0].set
			if m.label {
				label := by.label
				by = rows[0]
				by.label = label
			}
			return m.of(rows), m.of(replaced(rows, by))
		}}
		best := climb(s, 150, rand.New(rand.NewPCG(3, 4)), func(g []int) float64 {
			a, b := s.pair(g)
			l1, l2 := movement(t, a, b)
			return max(l1, l2)
		})
		t.Logf("%s: moves %.3f of the bound", name, best)
		if best <= 1 {
			t.Errorf("%s is not found: the search moves %.3f of the bound", name, best)
		}
	}
}
