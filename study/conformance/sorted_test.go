package conformance_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/keyed"
	"caucus/study/kinds"
	"caucus/study/ratio"
	"caucus/study/reweigh"
)

// These searches sort files after the replacement: code that assigns records by place would move
// every record between the old and the new place.

// sortedFile says how a plan reads a file of visits: sorted by columns in the order that a gene
// gives, under the site's key, cut or filled to the declared number; 0: no declaration.
type sortedFile struct {
	by, key  int
	declared int
	// anonymous files lack the patient column.
	anonymous bool
}

func (s sortedFile) ask(t testing.TB, c clinic, p study.Plan, rows []visit) study.Request {
	t.Helper()
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b visit) int {
		x := []string{a.label, a.a, a.b, a.ward, a.patient, a.set}
		y := []string{b.label, b.a, b.b, b.ward, b.patient, b.set}
		for i := range x {
			if by := cmp.Compare(x[(i+s.by)%len(x)], y[(i+s.by)%len(x)]); by != 0 {
				return by * (1 - s.by/len(x)%2*2) // descending for every second
			}
		}
		return 0
	})
	r := c.records(t, rows)
	if s.anonymous {
		r.Patient = nil
	}
	in := c.inputs(r, s.key)
	if s.declared > 0 {
		in.Records = keyed.ExactlyN(kinds.SelectionRuleOf(p), p.Schema, r, s.declared,
			in.ShardKey())
	}
	return c.draftOf(t, p, in)
}

func (c clinic) draftOf(t testing.TB, p study.Plan, in study.Inputs) study.Request {
	t.Helper()
	if err := kinds.Check(p); err != nil {
		t.Fatal(err)
	}
	task := conformance.TaskOf(t, p, c.pool)
	d, err := task.Contribute(in)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Requests) > 0 {
		return d.Requests[0]
	}
	body, err := d.Body(nil)
	must(t, err)
	sum, err := task.NewSum()
	must(t, err)
	must(t, sum.Add(body))
	asks, err := sum.Requests(1)
	must(t, err)
	return asks[0]
}

// TestOneRecordOfMany: the first of 400 sorted records is replaced by a record that sorts last. The
// vector moves by at most the bound, for plans that use a part of the records or make sets.
func TestOneRecordOfMany(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 5)
	var rows []visit
	for i := range 400 { // neighbours in the file are as different as possible
		v := []visit{well, ill}[i%2]
		v.a, v.patient = fmt.Sprintf("%05.2f", float64(i)/40), "p"+strconv.Itoa(i)
		rows = append(rows, v)
	}
	last := ill
	last.a = "10.00"
	for name, p := range map[string]study.Plan{
		"entropy, 200 a party":  c.reweigh("entropy", reweigh.Terms{PerParty: 200}),
		"describe, 200 a party": c.describe("gaussian", study.NoiseSite, describe.Terms{Bins: 10, PerParty: 200}),
		"evaluate, 200 a party": c.evaluate("laplace", study.NoiseSite, func(t *evaluate.Terms) { t.PerParty = 200 }),
		"made sets":             c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsMade, "gaussian-zcdp"),
	} {
		for key := range 5 {
			f := sortedFile{by: 1, key: key}
			l1, l2 := movement(t, f.ask(t, c, p, rows), f.ask(t, c, p, replaced(rows, last)))
			if l1 > 1 || l2 > 1 {
				t.Errorf("%s: moved by %.1f of the L1 bound and %.1f of the L2 bound", name, l1, l2)
			}
		}
	}
}

// sortedBounds lists all plans that assign records or use a part of them.
func sortedBounds(t testing.TB, c clinic) []searched {
	const n = 6
	// Genes: the visits, the added visit, then patients and sets, the visit to remove, the order
	// and the key.
	const rest = 2*(n+1) + 3
	search := func(name string, p study.Plan, declared int, anonymous, everyRecord bool) searched {
		return searched{name, (n+1)*genesOfVisit + rest, 60, 0,
			func(g []int) (study.Request, study.Request) {
				more := g[(n+1)*genesOfVisit:]
				rows := visitsOf(c, g, n+1)
				for i := range rows {
					rows[i].patient = []string{"", "p", "q", "p" + strconv.Itoa(i)}[more[i]%4]
					rows[i].set = []string{"s1", "s2", "s3", ""}[more[n+1+i]%4]
				}
				by, rows := rows[n], rows[:n]
				more = more[2*(n+1):]
				out := more[0] % n
				switch {
				case p.Unit == privacy.Label:
					label := by.label
					by = rows[out]
					by.label = label
				case kinds.Explain(p).SetColumn:
					by.set = rows[out].set
				}
				other := slices.Clone(rows)
				other[out] = by
				// all of one patient's records, replaced by the same number of another's
				if everyRecord {
					for i := range rows {
						if i < 3 {
							rows[i].patient = "one"
						}
					}
					other = append(slices.Clone(rows[3:]), by, by)
					other[len(other)-1].patient, other[len(other)-2].patient = "two", "two"
					other = other[:3+more[0]%3]
				}
				f := sortedFile{by: more[1] % 12, key: more[2], declared: declared,
					anonymous: anonymous}
				return f.ask(t, c, p, rows), f.ask(t, c, p, other)
			}}
	}
	entropy := c.reweigh("entropy", reweigh.Terms{})
	part := c.reweigh("entropy", reweigh.Terms{PerParty: 3})
	logistic := c.reweigh("logistic", reweigh.Terms{PerParty: 3})
	cross, labelled := c.classify("cross", privacy.Record, study.NoiseSite, 1), c.classify("cross",
		privacy.Label, study.NoiseSite, 1)
	shards, labelShards := c.classify("tally", privacy.Record, study.NoiseSite,
		3), c.classify("tally", privacy.Label, study.NoiseSite, 3)
	counted := func(features, sets, mechanism string, most, mostSets int) study.Plan {
		return conformance.WithRatioTerms(c.ratio(features, sets, mechanism), func(t *ratio.Terms) {
			t.MaxRecords, t.MaxSets = most, mostSets
		})
	}
	made := counted(ratio.FeaturesNoisyEmbedding, ratio.SetsMade, "gaussian-zcdp", 50, 4)
	column := counted(ratio.FeaturesNoisyEmbedding, ratio.SetsColumn, "gaussian-zcdp", 50, 4)
	counts := counted(ratio.FeaturesClear, ratio.SetsColumn, "laplace", 50, 4)
	return []searched{
		search("entropy, 3 a party", part, 0, false, false),
		search("entropy, 4 declared, 3 a party", part, 4, false, false),
		search("entropy, 4 declared", entropy, 4, false, false),
		search("entropy, 8 declared", entropy, 8, false, false),
		search("logistic, 3 a party", logistic, 0, false, false),
		search("cross, 4 declared", cross, 4, false, false),
		search("cross, a label, 4 declared", labelled, 4, true, false),
		search("tally, 3 shards", shards, 0, false, false),
		search("tally, 3 shards, 4 declared", shards, 4, false, false),
		search("tally, 3 shards, nobody named", shards, 0, true, false),
		search("tally, 3 shards, nobody named, 4 declared", shards, 4, true, false),
		search("tally, 3 shards, a patient", shards, 0, false, true),
		search("tally, 3 shards, a patient, 4 declared", shards, 4, false, true),
		search("tally, 3 shards, a patient, 8 declared", shards, 8, false, true),
		search("tally, 3 shards, a label", labelShards, 0, false, false),
		search("tally, 3 shards, a label, nobody named, 4 declared", labelShards, 4, true, false),
		search("made sets", made, 0, false, false),
		search("made sets, 4 declared", made, 4, false, false),
		search("made sets, 8 declared", made, 8, false, false),
		search("made sets of 3 records", counted(ratio.FeaturesNoisyEmbedding, ratio.SetsMade, "gaussian-zcdp", 3, 4), 0, false, false),
		search("one set of 3 records", counted(ratio.FeaturesNoisyEmbedding, ratio.SetsParty, "gaussian-zcdp", 3, 4), 0, false, false),
		search("a column's sets, a record", column, 0, false, false),
		search("a column's sets, a record, 4 declared", column, 4, false, false),
		search("2 sets of 3 records, a record", counted(ratio.FeaturesNoisyEmbedding, ratio.SetsColumn, "gaussian-zcdp", 3, 2), 0, false, false),
		search("a column's sets, a label", counts, 0, true, false),
		search("a column's sets, a label, 4 declared", counts, 4, true, false),
		search("2 sets of 3 records, a label", counted(ratio.FeaturesClear, ratio.SetsColumn, "laplace", 3, 2), 0, true, false),
		search("2 sets of 3 records, a label, 8 declared", counted(ratio.FeaturesClear, ratio.SetsColumn, "laplace", 3, 2), 8, true, false),
		search("describe, 3 a party", c.describe("gaussian", study.NoiseSite, describe.Terms{Bins: 10, PerParty: 3}), 0, false, false),
		search("describe, 4 declared", c.describe("laplace", study.NoiseSite, describe.DefaultTerms()), 4, false, false),
		search("describe, 8 declared", c.describe("laplace", study.NoiseSite, describe.DefaultTerms()), 8, false, false),
		search("evaluate, 3 a party", c.evaluate("laplace", study.NoiseSite, func(t *evaluate.Terms) { t.PerParty = 3 }), 0, false, false),
		search("evaluate, 4 declared", c.evaluate("laplace", study.NoiseSite, func(t *evaluate.Terms) { t.By = []evaluate.Grouping{{Column: "ward"}} }), 4, false, false),
		search("evaluate, 8 declared", c.evaluate("gaussian", study.NoiseSite, nil), 8, false, false),
	}
}

// TestSortedFiles: for every kind that assigns records or uses a part of them, no pair of
// neighbours, in files sorted after the replacement, moves a private vector by more than its bound.
func TestSortedFiles(t *testing.T) {
	tries := testlevel.N(t, 80, 300)
	for _, classes := range [][]string{{"no", "yes"}, {"no", "yes", "maybe"}} {
		c := newClinic(t, classes, 5)
		for i, s := range sortedBounds(t, c) {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(len(classes))))
			best := climb(s, tries, rng, func(g []int) float64 {
				first, second := s.pair(g)
				if b := second.Sensitive.Bound(); !b.Equal(first.Sensitive.Bound()) {
					t.Fatalf("%s: neighbours have different bounds", s.name)
				}
				l1, l2 := movement(t, first, second)
				if l1 > 1 || l2 > 1 {
					t.Fatalf("%s, %d classes: moved by %.6f of the L1 bound and %.6f of the L2 bound: %v", s.name, len(classes), l1, l2, g)
				}
				return l1 + l2
			})
			t.Logf("%-52s %d classes: L1 + L2 %.3f of the bounds", s.name, len(classes), best)
			if best == 0 {
				t.Errorf("%s: nothing moves the vector: the search searches nothing", s.name)
			}
		}
	}
}
