package kinds_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/keyed"
	"caucus/study/kinds"
	"caucus/study/ratio"
	"caucus/study/reweigh"
)

// contents are the records written out, with their labels, sorted: the multiset.
func contents(r *dataset.Records) []string {
	out := make([]string, r.Len())
	for i := range out {
		out[i] = fmt.Sprintf("%x", keyed.AppendRecord(nil, r, i))
	}
	slices.Sort(out)
	return out
}

// TestExactly: n records come out, whatever went in; of more a part, in the
// order of the file, that no order of the file changes; fewer whole and then
// records whose cells are all missing.
func TestExactly(t *testing.T) {
	c := newClinic(t, []string{"no", "yes", "maybe"}, 5)
	key := []byte("site")
	rows := slices.Concat(alike(9, well), alike(5, ill))
	all := c.records(t, rows)
	slices.Reverse(rows)
	reversed := c.records(t, rows)
	blank := c.records(t, []visit{{}})
	byPatient := c.classify("tally", privacy.Record, study.NoiseSite, 3)
	for name, p := range map[string]study.Plan{
		"party": c.classify("tally", privacy.Party, study.NoiseCoordinator, 1), "record": c.reweigh("entropy", reweigh.Terms{}),
		"label": c.labels("rr"), "shards": byPatient,
	} {
		for n := range 30 {
			got := keyed.Exactly(kinds.RuleOf(p), p.Schema, all, n, key)
			if got.Len() != n || len(got.Patient) != n || len(got.Party) != n {
				t.Fatalf("%s: %d records, %d patients, %d parties, want %d", name, got.Len(), len(got.Patient), len(got.Party), n)
			}
			if r, _ := got.X.Dims(); r != n {
				t.Fatalf("%s: %d rows, want %d", name, r, n)
			}
			if !slices.Equal(contents(got), contents(keyed.Exactly(kinds.RuleOf(p), p.Schema, reversed, n, key))) {
				t.Errorf("%s: another order of the file makes other %d of its records", name, n)
			}
			if n >= all.Len() && name != "shards" && !slices.Equal(contents(got.Select(places(all.Len()))), contents(all)) {
				t.Errorf("%s: of %d records some are missing among %d", name, all.Len(), n)
			}
			for i := all.Len(); i < n; i++ {
				if !slices.Equal(contents(got.Select([]int{i})), contents(blank)) {
					t.Fatalf("%s: record %d of %d is not empty: label %d, patient %q, set %q, %v", name, i, n, got.Y[i], got.Patient[i], got.Party[i], got.X.RawRowView(i))
				}
			}
		}
		other := p
		other.Name = "another study"
		if half := all.Len() / 2; slices.Equal(contents(keyed.Exactly(kinds.RuleOf(p), p.Schema, all, half, key)), contents(keyed.Exactly(kinds.RuleOf(p), p.Schema, all, half, []byte("another")))) &&
			slices.Equal(contents(keyed.Exactly(kinds.RuleOf(p), p.Schema, all, half, key)), contents(keyed.Exactly(kinds.RuleOf(other), other.Schema, all, half, key))) {
			t.Errorf("%s: neither key nor study matters to who is chosen", name)
		}
	}
	none := keyed.Exactly(kinds.RuleOf(byPatient), byPatient.Schema, &dataset.Records{X: all.Select(nil).X}, 4, key)
	if none.Len() != 4 || none.Patient != nil || none.Party != nil || none.Y[3] != -1 {
		t.Errorf("of no records: %+v", none)
	}
}

// apart is how many entries of a are not in b, which has as many.
func apart[T comparable](a, b []T) int {
	left := map[T]int{}
	for _, v := range b {
		left[v]++
	}
	n := 0
	for _, v := range a {
		if left[v]--; left[v] < 0 {
			n++
		}
	}
	return n
}

// cell is a record of few kinds, so that there are many copies.
type cell struct {
	x, y           int
	patient, party string
}

func recordsOf(cells []cell, named bool) *dataset.Records {
	r := &dataset.Records{X: &mat.Dense{}, Party: []string{}}
	if len(cells) > 0 {
		r.X = mat.NewDense(len(cells), 5, nil) // as the clinic's schema encodes
	}
	for i, c := range cells {
		r.X.Set(i, 0, float64(c.x)/2)
		r.Y = append(r.Y, c.y)
		r.Party = append(r.Party, c.party)
		r.Patient = append(r.Patient, c.patient)
	}
	if !named {
		r.Patient = nil
	} else if r.Patient == nil {
		r.Patient = []string{}
	}
	return r
}

// TestNeighboursStayNeighbours is the lemmas of keyed, over multisets with many
// copies, under any key and in any two orders: what is cut of neighbours, to a
// plan's number or a site's, is one replaced record apart at most, which is
// of the same group; a record has the same number as before but for the one;
// shards differ in two at most, at unit label and for a patient too.
func TestNeighboursStayNeighbours(t *testing.T) {
	c := newClinic(t, []string{"no", "yes", "maybe"}, 5)
	plans := map[string]study.Plan{
		"record": c.classify("tally", privacy.Record, study.NoiseSite, 4), "label": c.classify("tally", privacy.Label, study.NoiseSite, 4),
		"column": c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsColumn, "gaussian-zcdp"), "counts": c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace"),
	}
	one := rapid.Custom(func(t *rapid.T) cell {
		return cell{
			rapid.IntRange(0, 2).Draw(t, "x"), rapid.IntRange(-1, 2).Draw(t, "y"),
			rapid.SampledFrom([]string{"", "", "p", "q", "r"}).Draw(t, "patient"), rapid.SampledFrom([]string{"", "s", "u"}).Draw(t, "party"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom(slices.Sorted(maps.Keys(plans))).Draw(t, "unit")
		p := plans[unit]
		p.Shards = rapid.IntRange(1, 5).Draw(t, "shards")
		named := rapid.Bool().Draw(t, "named")
		key := rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "key")
		first := rapid.SliceOfN(one, 1, 14).Draw(t, "records")
		by := one.Draw(t, "by")
		switch unit {
		case "label", "counts":
			y := by.y
			by = first[0]
			by.y = y
		case "column":
			by.party = first[0].party
		}
		second := rapid.Permutation(append(slices.Clone(first[1:]), by)).Draw(t, "second")
		first = rapid.Permutation(first).Draw(t, "first")
		a, b := recordsOf(first, named), recordsOf(second, named)
		n := rapid.IntRange(0, 16).Draw(t, "n")
		neighbours := func(what string, a, b *dataset.Records) {
			if got := apart(contents(a), contents(b)); a.Len() != b.Len() || got > 1 {
				t.Fatalf("%s: %d of %d and %d records are exchanged", what, got, a.Len(), b.Len())
			}
			groups := func(r *dataset.Records) []string {
				var out []string
				for i := range r.Len() {
					if p.Unit == privacy.Label || kinds.WordsOf(p).SetColumn {
						out = append(out, string(keyed.AppendShared(nil, p.Unit, r, i)))
					}
				}
				return out
			}
			if got := apart(groups(a), groups(b)); got > 0 {
				t.Fatalf("%s: %d records of another group", what, got)
			}
		}
		ka, kb := keyed.Of(kinds.RuleOf(p), a, key), keyed.Of(kinds.RuleOf(p), b, key)
		cutA, cutB := a.Select(ka.Cut(n)), b.Select(kb.Cut(n))
		neighbours("cut", cutA, cutB)
		if p.Unit == privacy.Label && cutA.Len() > 0 && !mat.Equal(cutA.X, cutB.X) {
			t.Fatal("a label changes the order of features")
		}
		numbers := func(k *keyed.Records, r *dataset.Records) []string {
			var out []string
			for i := range r.Len() {
				out = append(out, fmt.Sprintf("%x %d", keyed.AppendRecord(nil, r, i), k.Number(keyed.ForSet, i)))
			}
			return out
		}
		if got := apart(numbers(ka, a), numbers(kb, b)); got > 1 {
			t.Fatalf("%d records have another number", got)
		}
		exactA, exactB := keyed.Exactly(kinds.RuleOf(p), p.Schema, a, n, key), keyed.Exactly(kinds.RuleOf(p), p.Schema, b, n, key)
		if !kinds.RuleOf(p).ByPatient(a) {
			neighbours("exactly", exactA, exactB)
		}
		most := 2
		if p.Unit == privacy.Label {
			most = 1
		}
		if p.Kind == "classify" {
			for what, pair := range map[string][2]*dataset.Records{"all": {a, b}, "exactly": {exactA, exactB}} {
				if got := apartShards(p, pair[0], pair[1], key); got > most {
					t.Fatalf("%s: %d shards differ", what, got)
				}
			}
		}
		if unit != "record" {
			return
		}
		// A record that comes or goes is a replacement, of an empty one, too.
		whole := p
		whole.Shards = 1
		neighbours("one fewer", keyed.Exactly(kinds.RuleOf(whole), whole.Schema, a, n, key), keyed.Exactly(kinds.RuleOf(whole), whole.Schema, a.Select(places(a.Len()-1)), n, key))
	})
}

// TestAPatientMovesTwoShards: where one patient is replaced by another, with any
// number of records each, the others' shards stay as they were, cut or not.
func TestAPatientMovesTwoShards(t *testing.T) {
	p := newClinic(t, []string{"no", "yes", "maybe"}, 5).classify("tally", privacy.Record, study.NoiseSite, 1)
	rapid.Check(t, func(t *rapid.T) {
		p.Shards = rapid.IntRange(3, 6).Draw(t, "shards")
		key := rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "key")
		others := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) cell {
			return cell{x: rapid.IntRange(0, 1).Draw(t, "x"), patient: rapid.SampledFrom([]string{"", "", "p", "q", "r", "s"}).Draw(t, "patient")}
		}), 4, 20).Draw(t, "others")
		file := func(patient string) *dataset.Records {
			records := slices.Clone(others)
			for range rapid.IntRange(0, 8).Draw(t, "records of "+patient) {
				records = append(records, cell{patient: patient})
			}
			return recordsOf(rapid.Permutation(records).Draw(t, "file"), true)
		}
		a, b := file("one"), file("another")
		if got := apartShards(p, a, b, key); got > 2 {
			t.Fatalf("%d shards differ", got)
		}
		n := rapid.IntRange(4, 28).Draw(t, "n")
		if got := apartShards(p, keyed.Exactly(kinds.RuleOf(p), p.Schema, a, n, key), keyed.Exactly(kinds.RuleOf(p), p.Schema, b, n, key), key); got > 2 {
			t.Fatalf("%d declared: %d shards differ", n, got)
		}
	})
}

// apartShards is how many shards do not train on the same records in the same
// order. It counts those without a label as well: a shard that had more of them
// would take longer, and could be late.
func apartShards(p study.Plan, a, b *dataset.Records, key []byte) int {
	x, y := classify.ShardsOf(p, study.Inputs{Records: a, ShardKey: key, Study: kinds.RuleOf(p).Study}), classify.ShardsOf(p, study.Inputs{Records: b, ShardKey: key, Study: kinds.RuleOf(p).Study})
	trained := func(r *dataset.Records, rows []int) []string {
		var out []string
		for _, i := range rows {
			out = append(out, fmt.Sprintf("%x", keyed.AppendRecord(nil, r, i)))
		}
		return out
	}
	n := 0
	for s := range x {
		if !slices.Equal(trained(a, x[s]), trained(b, y[s])) {
			n++
		}
	}
	return n
}

// TestOrderOfSending is Lemma 3. Files in one order that differ in one label
// send it in one place. Over keys, the labels of records that are alike are
// arranged in each way equally often, so that files sorted by label, in which
// one label moves two places, are told apart by chance alone.
//
// Of 6,000 keys each of six arrangements has 1,000 with standard deviation 28.9;
// 7.5 of them are exceeded with probability 7e-14, twelve times. The keys are
// fixed.
func TestOrderOfSending(t *testing.T) {
	c := newClinic(t, []string{"no", "yes", "maybe"}, 5)
	p := c.labels("rr")
	sent := func(labels []int, key []byte) (out [3]int) {
		var file []cell
		for _, y := range labels {
			file = append(file, cell{y: y})
		}
		r := recordsOf(file, true)
		if len(labels) > 3 {
			r = keyed.Exactly(kinds.RuleOf(p), p.Schema, r, 3, key)
		}
		for at, i := range keyed.Of(kinds.RuleOf(p), r, key).Sending(5) {
			out[at] = r.Y[i]
		}
		return out
	}
	first, second := map[[3]int]int{}, map[[3]int]int{}
	cut, other := map[[3]int]int{}, map[[3]int]int{}
	for key := range uint32(6000) {
		k := binary.BigEndian.AppendUint32(nil, key)
		a, b := sent([]int{0, 1, 2}, k), sent([]int{0, 1, -1}, k)
		if apartPlaces(a, b) != 1 {
			t.Fatalf("one label sends %v instead of %v", b, a)
		}
		first[a]++
		second[sent([]int{2, 0, 1}, k)]++
		cut[sent([]int{0, 0, 1, 1}, k)]++
		other[sent([]int{1, 0, 1, 0}, k)]++
	}
	even := func(law map[[3]int]int) {
		for a, n := range law {
			if want := 6000. / 6; len(law) != 6 || math.Abs(float64(n)-want) > 7.5*math.Sqrt(want*5/6) {
				t.Errorf("of %d arrangements %v is sent %d times of 6000", len(law), a, n)
			}
		}
	}
	even(first)
	even(second)
	even(cut)
	even(other)
}

func apartPlaces(a, b [3]int) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// TestUsesHaveKeysOfTheirOwn: of one record no two uses, studies or sites have a
// number in common.
func TestUsesHaveKeysOfTheirOwn(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 5)
	seen := map[uint64]string{}
	r := recordsOf([]cell{{patient: "p"}, {patient: "p"}, {patient: "q"}, {party: "p"}, {x: 1}, {y: 1}}, true)
	for _, epsilon := range []float64{1, 2} {
		p := c.labels("rr")
		p.Epsilon = epsilon
		for _, key := range []string{"a", "b"} {
			k := keyed.Of(kinds.RuleOf(p), r, []byte(key))
			for _, use := range []string{keyed.ForCut, keyed.ForSlot, keyed.ForOrder, keyed.ForSet, keyed.ForBlank, keyed.ForClass, keyed.ForShard, keyed.ForPatient, keyed.ForAlike} {
				for i := range r.Len() {
					where := fmt.Sprint(epsilon, key, use, i)
					if had, ok := seen[k.Number(use, i)]; ok {
						t.Errorf("%s and %s have one number", had, where)
					}
					seen[k.Number(use, i)] = where
				}
			}
		}
	}
}

// TestMissingSets: records that name no set change neither how many sets there
// are nor how many records.
func TestMissingSets(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 5)
	p := c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace")
	for _, file := range [][]cell{
		{{party: "s"}, {party: "s"}, {party: "u"}, {party: "u"}}, {{party: "s"}, {}, {party: "u"}, {party: "u"}},
		{{party: "s"}, {}, {party: "u"}, {}},
	} {
		sets, _ := ratio.DealSets(p, study.Inputs{Records: recordsOf(file, true), ShardKey: []byte("k")})
		if len(sets) != 2 || len(sets[0])+len(sets[1]) != 4 {
			t.Errorf("%v: sets %v", file, sets)
		}
	}
	for _, file := range [][]cell{{{}, {}}, nil} {
		if sets, _ := ratio.DealSets(p, study.Inputs{Records: recordsOf(file, true)}); len(sets) != 1 || len(sets[0]) != len(file) {
			t.Errorf("%v: sets %v", file, sets)
		}
	}
}

// BenchmarkExactly cuts a file of a million records of a hundred columns.
func BenchmarkExactly(b *testing.B) {
	const n, d = 1_000_000, 100
	data := make([]float64, n*d)
	for i := range data {
		data[i] = float64(i)
	}
	r := &dataset.Records{X: mat.NewDense(n, d, data), Y: make([]int, n)}
	c := newClinic(b, []string{"no", "yes"}, 5)
	for name, p := range map[string]study.Plan{"record": c.reweigh("entropy", reweigh.Terms{}), "label": c.labels("rr")} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				start := time.Now()
				k := keyed.Of(kinds.RuleOf(p), r, []byte("k"))
				b.ReportMetric(time.Since(start).Seconds(), "s/names")
				k.Cut(n * 9 / 10)
			}
		})
	}
}

// TestEmptyRecords: what fills a file up adds nothing to votes and label × feature
// sums, the same to other sums whatever else is in the file, and a class of some
// kind where one is needed.
func TestEmptyRecords(t *testing.T) {
	c := newClinic(t, []string{"no", "yes", "maybe"}, 5)
	files := [][]visit{slices.Concat(alike(9, well), alike(5, ill)), alike(14, ill)}
	adds := func(p study.Plan, rows []visit) []int64 {
		r := c.records(t, rows)
		fewer := c.draftOf(t, p, c.inputs(r, 0))
		more := c.draftOf(t, p, c.inputs(keyed.Exactly(kinds.RuleOf(p), p.Schema, r, 20, []byte{0}), 0))
		of := openAsk(t, more)
		for j, v := range openAsk(t, fewer) {
			of[j] -= v
		}
		return of
	}
	for name, p := range map[string]study.Plan{
		"cross": c.classify("cross", privacy.Record, study.NoiseSite, 1), "votes": c.classify("tally", privacy.Label, study.NoiseSite, 1),
		"moment": c.classify("moment", privacy.Party, study.NoiseSite, 1), "means": c.classify("means", privacy.Party, study.NoiseSite, 1),
	} {
		for _, rows := range files {
			if of := adds(p, rows); slices.ContainsFunc(of, func(v int64) bool { return v != 0 }) {
				t.Errorf("%s: empty records add %v", name, of)
			}
		}
	}
	for name, s := range map[string]struct {
		plan  study.Plan
		block int // numbers of a set, its counts first
	}{
		"entropy":   {c.reweigh("entropy", reweigh.Terms{Bins: 3}), 0},
		"counts":    {c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace"), 3},
		"embedding": {c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsParty, "gaussian-zcdp"), 3 + 4},
		"made sets": {c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsMade, "gaussian-zcdp"), 3 + 4},
	} {
		first := adds(s.plan, files[0])
		second := adds(s.plan, files[1])
		if !slices.Equal(first, second) || len(first) == 0 || slices.Max(first) == 0 {
			t.Errorf("%s: empty records add %v to one file and %v to another", name, first, second)
		}
		counted := int64(0)
		for at := 0; s.block > 0 && at < len(first); at += s.block {
			counted += first[at] + first[at+1] + first[at+2]
		}
		if s.block > 0 && counted != 6 {
			t.Errorf("%s: 6 empty records count as %d", name, counted)
		}
	}
	p := c.labels("rr")
	if got := openAsk(t, c.draftOf(t, p, c.inputs(keyed.Exactly(kinds.RuleOf(p), p.Schema, c.records(t, files[0]), 20, []byte{0}), 0))); apart(got, make([]int64, 20)) != 11 {
		t.Errorf("labels: %v", got) // 9 of class 0, 5 of class 1, 6 of none
	}
}
