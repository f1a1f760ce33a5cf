package conformance_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classify"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/kinds"
	"caucus/study/reweigh"
)

// everyPlan returns the plans of the kinds' lists, and of those with noise at the site also the
// plan with noise at the coordinator, if the kind has one. The list also has shards with a learner
// that draws many numbers, and tables of a whole party.
func everyPlan(t testing.TB) (c clinic, all []study.Plan) {
	t.Helper()
	c, all = fuzzPlans(t)
	for _, u := range []privacy.Unit{privacy.Record, privacy.Label} {
		p := c.classify("tally", u, study.NoiseSite, 3)
		conformance.SetLearner(&p, "forest")
		all = append(all, p)
	}
	party := wholeParty(c)
	terms := conformance.TermsIn[evaluate.Terms](party)
	terms.PerParty = 20
	terms.By = []evaluate.Grouping{{Column: "ward"}, {Column: "a", Edges: []float64{5}}}
	party.KindTerms = conformance.EncodeTerms(terms)
	counted := c.reweigh("entropy", reweigh.Terms{Bins: 3})
	tables := c.describe("laplace", study.NoiseSite, describe.Terms{Bins: 3, By: "ward"})
	judged := c.evaluate("laplace", study.NoiseSite, nil)
	all = append(all, party, conformance.WithCondition(counted, "a >= 3"),
		conformance.WithCondition(tables, "a >= 3 or ward == west"),
		conformance.WithCondition(judged, "a >= 3"))
	for _, p := range all {
		central := p
		central.Noise = study.NoiseCoordinator
		if p.Noise.AddedAtSite() && kinds.Check(central) == nil {
			all = append(all, central)
		}
	}
	for _, p := range all {
		if p.Noise.SumsInClear() { // the others of earlier versions are made as today's
			p.Form = study.FormCommitted
			all = append(all, p)
		}
	}
	for _, p := range all {
		if err := kinds.Check(p); err != nil {
			t.Fatal(err)
		}
	}
	return c, all
}

func nameOf(p study.Plan) string {
	return fmt.Sprintf("%s %s, unit %s, noise %s, form %d, %.60s",
		p.Kind, p.Mechanism, p.Unit, p.Noise, p.Form, p.KindTerms)
}

// TestNeighboursOfEveryPlan: no pair of neighbours, in files sorted after the replacement and cut
// or filled to the declared number, moves the private vector of any plan by more than its bound.
func TestNeighboursOfEveryPlan(t *testing.T) {
	const n = 6
	c, all := everyPlan(t)
	tries := testlevel.N(t, 40, 200)
	for i, p := range all {
		columns := kinds.Explain(p).SetColumn
		s := searched{genes: 2*(n+1)*genesOfVisit + 3, alphabet: 60, tail: (n+1)*genesOfVisit + 3}
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		score := func(g []int) float64 {
			rows, by := visitsOf(c, g, n), visitsOf(c, g[(n+1)*genesOfVisit:], n+1)
			for j := range rows {
				rows[j].set = "s" + strconv.Itoa(j%2)
				by[j].set = rows[j].set
			}
			more := g[2*(n+1)*genesOfVisit:]
			other, out := slices.Clone(rows), more[0]%n
			switch p.Unit {
			case privacy.Party:
				other = by[:n]
			case privacy.Label:
				other[out].label = by[n].label
			default:
				other[out] = by[n]
				other[out].patient, other[out].set = "q", rows[out].set
				if !columns {
					other[out].set = "s3"
				}
			}
			f := sortedFile{by: more[1] % 12, key: more[2], declared: []int{0, 4, 8}[more[1]%3]}
			if p.Unit == privacy.Party && p.Mechanism != "tally" {
				f.declared = 0 // the number of a party's records is not public
			}
			first, second := f.ask(t, c, p, rows), f.ask(t, c, p, other)
			if b := second.Sensitive.Bound(); !b.Equal(first.Sensitive.Bound()) {
				t.Fatalf("%s: neighbours have different bounds", nameOf(p))
			}
			l1, l2 := movement(t, first, second)
			if l1 > 1 || l2 > 1 {
				t.Fatalf("%s: moved by %.4f of the L1 bound and %.4f of the L2 bound: %v",
					nameOf(p), l1, l2, g)
			}
			return l1 + l2
		}
		best := 0.
		for round := 0; best == 0 && round < 10; round++ {
			best = climb(s, tries, rng, score)
		}
		if best == 0 {
			t.Errorf("%s: nothing moves the vector: the search searches nothing", nameOf(p))
		}
	}
}

// TestShardsDrawApart: a replaced record moves the ballots of two shards, so at most two votes on
// each row, and a relabelled one moves one ballot. The number of draws of a shard's learner depends
// on its records: if shards shared a generator, the ballots of later shards would move too.
func TestShardsDrawApart(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 400)
	p := conformance.ClassifyPlan(schema, pool, m)
	p.Noise = study.NoiseSite
	conformance.SetShards(&p, 8)
	for _, learner := range []string{"softmax", "forest"} {
		conformance.SetLearner(&p, learner)
		for u, most := range map[privacy.Unit]int64{privacy.Record: 2, privacy.Label: 1} {
			p.Unit = u
			asked, _ := bodies.Of(conformance.TaskOf(t, p, pool))
			rows := conformance.Seq(0, 200)
			first, _ := asked.Local(study.NewInputs(records.Select(rows), []byte("key")))
			moved := int64(0)
			for i := range testlevel.N(t, 12, 60) {
				var next = records.Select(rows)
				if u == privacy.Label {
					next.Y[i] = 1 - next.Y[i]
				} else {
					next = records.Select(append([]int{200 + i%100}, rows[1:]...))
				}
				v, _ := asked.Local(study.NewInputs(next, []byte("key")))
				for k := range v {
					moved = max(moved, v[k]-first[k], first[k]-v[k])
				}
			}
			if moved > most || moved == 0 {
				t.Errorf("%s, unit %s: one unit moved %d votes on a row, the bound counts %d",
					learner, u, moved, most)
			}
		}
	}
}

// viewOf returns all that a party's inputs decide: the exact vector, and what is sent in clear.
func viewOf(t testing.TB, c clinic, p study.Plan, in study.Inputs) string {
	t.Helper()
	task := conformance.TaskOf(t, p, c.pool)
	if of, ok := bodies.Of(task); ok {
		vector, weight := of.Local(in)
		return fmt.Sprint(vector, weight)
	}
	body, published, _ := conformance.SettleBody(t, p, c.pool, in, privacy.Config{})
	made, err := task.Contribute(in)
	must(t, err)
	head := body[:len(body)-bodies.PublishedSize(len(published[0].Values))]
	return fmt.Sprintf("%v %x", openAsk(t, made.Requests[0]), head)
}

// followsKey reports whether a plan's contribution follows from the site's key: by shards, sets,
// the order of sending, or because it takes a part of the records.
func followsKey(p study.Plan) bool {
	switch p.Kind {
	case "classify":
		return classify.TermsOf(p).Shards > 1
	case "evaluate":
		return conformance.TermsIn[evaluate.Terms](p).PerParty == 20
	case "labels", "ratio":
		return true
	}
	return false
}

// TestKeysOfEveryPlan: of two sites with one file, each has its own shards, sets, cut and order of
// sending, and so has each of two studies of one site. The same site makes its contribution to the
// same study again equal, also from a file in another order. Nothing else hangs on the key.
//
// A keyed contribution is equal for all of 6 keys by chance with a probability below 1e-9: three
// shards of 40 records, or the order of 40.
func TestKeysOfEveryPlan(t *testing.T) {
	c, all := everyPlan(t)
	rng := rand.New(rand.NewPCG(31, 32))
	var rows []visit
	for i := range 40 {
		rows = append(rows, visit{
			label: []string{"no", "yes", "maybe", ""}[rng.IntN(4)], a: strconv.Itoa(rng.IntN(11)),
			b:       strconv.FormatFloat(rng.Float64(), 'f', 3, 64),
			ward:    []string{"east", "west", ""}[rng.IntN(3)],
			patient: "p" + strconv.Itoa(i), set: "s" + strconv.Itoa(i%3),
		})
	}
	records, shuffled := c.records(t, rows), c.records(t, rows).Select(rng.Perm(len(rows)))
	for _, p := range all {
		p.Records = 40
		other := p
		other.Name = "another study of the same"
		sites, studies := map[string]bool{}, map[string]bool{}
		for site := range 6 {
			view := viewOf(t, c, p, c.inputs(records, site))
			if again := viewOf(t, c, p, c.inputs(records, site)); again != view {
				t.Errorf("%s: a site's contribution is made again otherwise", nameOf(p))
			}
			// learners read in file order
			inOrder := p.Unit == privacy.Party && p.Kind == "classify"
			if viewOf(t, c, p, c.inputs(shuffled, site)) != view && !inOrder {
				t.Errorf("%s: a contribution hangs on the order of a file", nameOf(p))
			}
			sites[view], studies[view] = true, true
			studies[viewOf(t, c, other, c.inputs(records, site))] = true
		}
		want := 1
		if followsKey(p) {
			want = 6
		}
		if (len(sites) > 1) != followsKey(p) || len(sites) > want {
			t.Errorf("%s: 6 sites with one file differ in %d ways", nameOf(p), len(sites))
		}
		if (len(studies) > len(sites)) != followsKey(p) {
			t.Errorf("%s: two studies of 6 sites differ in %d ways, one in %d", nameOf(p),
				len(studies), len(sites))
		}
	}
}

// liar is a statistic whose party sends this vector, whatever its records.
type liar struct {
	bodies.Statistic
	vector []int64
	weight int64
}

func (l liar) Local(study.Inputs) ([]int64, int64) { return l.vector, l.weight }

// oneVisits returns visits with every extreme of every column, for the range of each cell.
func oneVisits(c clinic) (all []visit) {
	for _, label := range append(c.schema.Classes(), "") {
		for _, a := range []string{"0", "10", "2.5", "3", "5", "8", ""} {
			for _, b := range []string{"0", "1", ".5", ".1", ".9", ""} {
				for _, ward := range []string{"east", "west", ""} {
					all = append(all, visit{label: label, a: a, b: b, ward: ward, set: "s1"})
				}
			}
		}
	}
	return all
}

// TestHostileBodies: a body in clear is refused if any of its numbers lies beyond what the declared
// records can add up to, in either direction, also by so much that a sum would overflow. Tables of
// counts are refused if one has a record more or less than the others, or a negative count that
// another count makes up for.
func TestHostileBodies(t *testing.T) {
	c, all := everyPlan(t)
	honest := []visit{well, well, ill, {label: "maybe", a: "5", b: ".5", ward: "north", set: "s1"}}
	for _, p := range all {
		of, ok := bodies.Of(conformance.TaskOf(t, p, c.pool))
		ballots := []string{"tally", "moment", "output"} // TestHostileBallots
		if !ok || !p.Noise.SumsInClear() || slices.Contains(ballots, p.Mechanism) {
			continue
		}
		vector, weight := of.Local(c.inputs(c.encoded(t, p, honest), 0))
		low, high := slices.Clone(vector), slices.Clone(vector)
		clear(low)
		clear(high)
		values := make([]map[int64]bool, len(vector))
		for _, v := range oneVisits(c) {
			one, _ := of.Local(c.inputs(c.encoded(t, p, []visit{v}), 0))
			for j, x := range one {
				if values[j] == nil {
					values[j] = map[int64]bool{}
				}
				values[j][x], low[j], high[j] = true, min(low[j], x), max(high[j], x)
			}
		}
		checker, err := study.NewChecker(conformance.TaskOf(t, p, c.pool))
		must(t, err)
		takes := func(change func(v []int64)) bool {
			v := slices.Clone(vector)
			change(v)
			lies := of
			lies.Statistic = liar{of.Statistic, v, weight}
			made, err := lies.Contribute(c.inputs(nil, 0))
			must(t, err)
			body, err := made.Body(nil)
			if err != nil {
				return false // there are no bytes for such a vector
			}
			return checker.Check(body) == nil
		}
		if !takes(func([]int64) {}) {
			t.Fatalf("%s: an honest body is refused", nameOf(p))
		}
		if takes(func(v []int64) { // more records than were declared, and than a party may have
			for j := range v {
				v[j] *= 6
			}
		}) && p.Mechanism != "logistic" {
			t.Errorf("%s: six times its records are taken", nameOf(p))
		}
		n := int64(len(honest))
		tables := p.Kind == "describe" || p.Kind == "evaluate"
		for j := range vector {
			span := high[j] - low[j] + 1
			far := []int64{n*low[j] - 4*n*span, n*high[j] + 4*n*span, -1 << 62, 1 << 62}
			switch p.Mechanism {
			case "logistic":
				far = far[2:] // coefficients have no range that records give
			case "means":
				far = []int64{math.MinInt16, math.MaxInt16} // a body has 16 bits for each number
			}
			count := tables && len(values[j]) == 2 && low[j] == 0
			if count {
				far = append(far, -high[j], -1, 1, (n+1)*high[j])
				far = append(far, vector[j]-high[j], vector[j]+high[j])
			}
			for _, x := range far {
				if x != vector[j] && takes(func(v []int64) { v[j] = x }) {
					t.Errorf("%s: cell %d of %d records may be %d, of %d to %d by record",
						nameOf(p), j, n, x, low[j], high[j])
				}
			}
			if !count || vector[j] != 0 {
				continue
			}
			for k := range vector {
				if k != j && takes(func(v []int64) { v[j] -= high[j]; v[k] += high[j] }) {
					t.Errorf("%s: −1 record in cell %d, one more in cell %d", nameOf(p), j, k)
				}
			}
		}
	}
}

// TestHostileBallots: whichever byte of a body of ballots has another value, what is added is one
// vote of each ballot on each row, or the body is refused.
func TestHostileBallots(t *testing.T) {
	c, all := everyPlan(t)
	records := c.records(t, append(alike(9, well), alike(9, ill)...))
	for _, p := range all {
		if p.Mechanism != "tally" || !p.Noise.SumsInClear() {
			continue
		}
		task := conformance.TaskOf(t, p, c.pool)
		made, err := task.Contribute(c.inputs(records, 0))
		must(t, err)
		body, err := made.Body(nil)
		must(t, err)
		classes, ballots := len(c.schema.Classes()), int64(classify.TermsOf(p).Shards)
		refused := 0
		for j := range body {
			for x := range 256 {
				if x > 3 && x < 254 && x%37 > 0 && !testlevel.Long() {
					continue
				}
				b := bytes.Clone(body)
				b[j] = byte(x)
				sum, err := task.NewSum()
				must(t, err)
				if sum.Add(b) != nil {
					refused++
					continue
				}
				if sum.Weight() != ballots {
					t.Fatalf("%s: byte %d is %d: %d ballots", nameOf(p), j, x, sum.Weight())
				}
				asks, err := sum.Requests(1)
				must(t, err)
				votes := openAsk(t, asks[0])
				columns := len(votes) / c.pool.Rows()
				for row := range slices.Chunk(votes, columns) {
					total := int64(0)
					for _, n := range row {
						total += n
						if n < 0 || n > ballots {
							t.Fatalf("%s: byte %d is %d: %d votes", nameOf(p), j, x, n)
						}
					}
					if total > ballots || columns == classes && total != ballots {
						t.Fatalf("%s: byte %d is %d: %d votes on a row", nameOf(p), j, x, total)
					}
				}
			}
		}
		if refused == 0 {
			t.Errorf("%s: nothing is refused", nameOf(p))
		}
	}
}

// TestHostileKept: a kept body is refused if a released label, or a sum that is sent in clear, lies
// beyond what records allow, in either direction.
func TestHostileKept(t *testing.T) {
	c, all := everyPlan(t)
	records := c.records(t, append(alike(3, well), alike(3, ill)...))
	for _, p := range all {
		task := conformance.TaskOf(t, p, c.pool)
		if _, keeps := task.(study.BodyKeeper); !keeps {
			continue
		}
		checker, err := study.NewChecker(task)
		must(t, err)
		in := c.inputs(records, 0)
		body, published, _ := conformance.SettleBody(t, p, c.pool, in, privacy.Config{})
		must(t, checker.Check(body))
		n := len(published[0].Values)
		var numbers []int // where the body has numbers of 8 bytes
		for j := range n {
			numbers = append(numbers, len(body)-8*(n-j))
		}
		if p.Mechanism == "gaussian" { // embeddings in clear
			for at := 4; at < len(body)-bodies.PublishedSize(n); at += 8 { // after the set's size
				numbers = append(numbers, at)
			}
		}
		for _, at := range numbers {
			for _, x := range []int64{-1 << 62, -1_000_000_000_000, 1_000_000_000_000, 1 << 62} {
				b := bytes.Clone(body)
				binary.BigEndian.PutUint64(b[at:], uint64(x))
				if checker.Check(b) == nil {
					t.Errorf("%s: the number at byte %d may be %d", nameOf(p), at, x)
				}
			}
		}
	}
}
