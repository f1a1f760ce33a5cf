package conformance_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/labels"
	"caucus/study/ratio"
	"caucus/study/reweigh"
)

// Searches in files with more records than the plan uses (max_sets, max_records, per_party,
// shards). TestSortedFiles searches the code; here the same search must find mutants, and a whole
// party is replaced.

func withVector(t testing.TB, a study.Request, v []int64) study.Request {
	t.Helper()
	s, err := privacy.NewSensitive(v, a.Sensitive.Bound())
	if err != nil {
		t.Fatal(err)
	}
	a.Sensitive = s
	return a
}

// TestWholeParty: under a plan that takes k records of a party, replacing a whole, larger party
// moves the vector by at most k times the bound. The search finds a forgotten cut.
func TestWholeParty(t *testing.T) {
	const n, k = 5, 3
	for _, classes := range [][]string{{"no", "yes"}, {"no", "yes", "maybe"}} {
		c := newClinic(t, classes, 5)
		p, uncut := c.reweigh("entropy", reweigh.Terms{PerParty: k}), c.reweigh("entropy",
			reweigh.Terms{})
		for name, of := range map[string]func(*dataset.Records) study.Request{
			"cut": func(r *dataset.Records) study.Request { return c.asksOf(t, p, r)[0] },
			"cut forgotten": func(r *dataset.Records) study.Request {
				return withVector(t, c.asksOf(t, p, r)[0], openAsk(t, c.asksOf(t, uncut, r)[0]))
			},
		} {
			s := searched{name: name, genes: 2 * n * genesOfVisit, alphabet: 60,
				tail: n * genesOfVisit, pair: func(g []int) (study.Request, study.Request) {
					return of(c.records(t, visitsOf(c, g, n))), of(c.records(t,
						visitsOf(c, g[n*genesOfVisit:], n)))
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

// TestBeyondCuts: the search finds mutants beyond a cut, and no bad pair of neighbours in the real
// code. At unit record, files are sorted after the replacement.
func TestBeyondCuts(t *testing.T) {
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
			return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.label, y.label),
				cmp.Compare(x.b, y.b))
		})
		return c.records(t, rows)
	}
	// Mutant: of more than two sets, the last holds the labels of all further ones, counted twice.
	counts := conformance.WithRatioTerms(c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace"),
		func(t *ratio.Terms) {
			t.MaxSets = 2
		})
	twice := func(rows []visit) study.Request {
		r := c.records(t, rows)
		ask := c.asksOf(t, counts, r)[0]
		v := openAsk(t, ask)
		sets := slices.Compact(slices.Sorted(slices.Values(r.Party)))
		for i, y := range r.Y {
			if y >= 0 && slices.Index(sets, r.Party[i]) >= 2 {
				v[2+y]++
			}
		}
		return withVector(t, ask, v)
	}
	// Mutants by place: the first three of a sorted file count; shards by row number.
	part, all := c.reweigh("entropy", reweigh.Terms{PerParty: 3}), c.reweigh("entropy",
		reweigh.Terms{})
	firstThree := func(rows []visit) study.Request {
		r := sorted(rows)
		some := make([]int, 3) // places that a hash of row numbers chose
		copy(some, []int{1, 3, 5})
		return withVector(t, c.asksOf(t, part, r)[0],
			openAsk(t, c.asksOf(t, all, r.Select(some))[0]))
	}
	made := c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsMade, "gaussian-zcdp")
	one := c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsParty, "gaussian-zcdp")
	setsByPlace := func(rows []visit) study.Request {
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
	answers := c.labels("rr")
	terms := conformance.TermsIn[labels.Terms](answers)
	terms.MaxRecords = 3
	answers.KindTerms = conformance.EncodeTerms(terms)
	as := func(p study.Plan, read func([]visit) *dataset.Records) func([]visit) study.Request {
		return func(rows []visit) study.Request { return c.asksOf(t, p, read(rows))[0] }
	}
	inOrder := func(rows []visit) *dataset.Records { return c.records(t, rows) }
	for name, m := range map[string]struct {
		of      func([]visit) study.Request
		label   bool // neighbours differ in one label, else in one record
		mistake bool
	}{
		"labels of sets beyond max_sets":                  {as(counts, inOrder), true, false},
		"C: labels of sets beyond max_sets counted twice": {twice, true, true},
		"labels beyond max_records":                       {as(answers, inOrder), true, false},
		"a cut in a sorted file":                          {as(part, sorted), false, false},
		"a cut by place in a sorted file":                 {firstThree, false, true},
		"made sets in a sorted file":                      {as(made, sorted), false, false},
		"made sets by place in a sorted file":             {setsByPlace, false, true},
	} {
		s := searched{name: name, genes: (n + 1) * genesOfVisit, alphabet: 60, tail: genesOfVisit,
			pair: func(g []int) (study.Request, study.Request) {
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
		if (best > 1) != m.mistake || best < 0.5 {
			t.Errorf("%s: the search moves %.3f of the bound", name, best)
		}
	}
}

// TestClearPartIsShared: beside noisy numbers a party sends sizes of sets and, at unit label,
// features in clear. These bytes are equal for neighbours, also if the file holds more than the
// plan uses: for files in the same order at unit label, in any order at unit record.
func TestClearPartIsShared(t *testing.T) {
	const n = 7
	c := newClinic(t, []string{"no", "yes", "maybe"}, 5)
	few := func(p study.Plan) study.Plan {
		terms := conformance.TermsIn[ratio.Terms](p)
		terms.MaxRecords, terms.MaxSets = 3, 2
		p.KindTerms = conformance.EncodeTerms(terms)
		return p
	}
	answers := c.labels("rr")
	terms := conformance.TermsIn[labels.Terms](answers)
	terms.MaxRecords = 3
	answers.KindTerms = conformance.EncodeTerms(terms)
	for name, p := range map[string]study.Plan{
		"ratio, clear features": few(c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace")), "ratio, embeddings": few(c.ratio(ratio.FeaturesEmbedding, ratio.SetsColumn, "gaussian")),
		"ratio, noisy embeddings": few(c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsColumn, "gaussian-zcdp")), "labels": answers,
	} {
		task := conformance.TaskOf(t, p, c.pool)
		rng := rand.New(rand.NewPCG(5, 6))
		for range 200 {
			genome := make([]int, (n+1)*genesOfVisit)
			for i := range genome {
				genome[i] = rng.IntN(60)
			}
			rows := visitsOf(c, genome, n)
			for i := range rows {
				rows[i].set = []string{"s1", "s2", "s3", ""}[rng.IntN(4)]
				rows[i].patient = []string{"", "p", rows[i].patient}[rng.IntN(3)]
			}
			by := visitOf(c, genome[n*genesOfVisit:])
			by.set, by.patient = rows[0].set, "another"
			if p.Unit == privacy.Label {
				label := by.label
				by = rows[0]
				by.label = label
			}
			other := append([]visit{by}, rows[1:]...)
			if p.Unit != privacy.Label {
				rng.Shuffle(n, func(i, j int) { other[i], other[j] = other[j], other[i] })
			}
			var published []privacy.Published
			var bodies [2]string
			for side, file := range [][]visit{rows, other} {
				d, err := task.Contribute(c.inputs(c.records(t, file), 0))
				if err != nil {
					t.Fatal(err)
				}
				if side == 0 {
					l, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
					if err != nil {
						t.Fatal(err)
					}
					if published, err = study.ReleaseRequests(t.Context(), l, task.Hash(),
						d.Requests); err != nil {
						t.Fatal(err)
					}
				}
				body, err := d.Body(published)
				if err != nil {
					t.Fatal(err)
				}
				bodies[side] = string(body)
			}
			if bodies[0] != bodies[1] {
				t.Fatalf("%s: neighbours send other bytes in clear: %q and %q", name, rows, other)
			}
		}
	}
}
