package keyed

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
)

func wards() dataset.Schema {
	return dataset.Schema{
		Label: dataset.Label{Column: "label", Classes: []string{"no", "yes", "maybe"}},
		Features: []dataset.Feature{
			{Column: "a", Kind: dataset.Numeric, Max: 10}, {Column: "b", Kind: dataset.Numeric, Max: 1},
			{Column: "ward", Kind: dataset.Categorical, Levels: []string{"east", "west"}},
		},
		Patient: "patient", Party: "set",
	}
}

func emptyOf(t *testing.T, s dataset.Schema) *dataset.Records {
	table, err := dataset.NewTable([]string{"label", "a", "b", "ward", "patient", "set"},
		[][]string{make([]string, 6)})
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := s.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rowsTo(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// contents lists the records' bytes, labels included, sorted: the multiset.
func contents(r *dataset.Records) []string {
	out := make([]string, r.Len())
	for i := range out {
		out[i] = fmt.Sprintf("%x", appendRecord(nil, r, i))
	}
	slices.Sort(out)
	return out
}

// TestExactly: exactly n records come out. From more, the same n are chosen for every order of the
// file, and come in file order. Fewer all stay, followed by records whose cells are all missing.
func TestExactly(t *testing.T) {
	s := wards()
	key := []byte("site")
	cells := slices.Concat(slices.Repeat([]cell{{x: 1, patient: "p", party: "s"}}, 9),
		slices.Repeat([]cell{{x: 2, y: 1, patient: "q", party: "u"}}, 5))
	all := recordsOf(cells, true)
	slices.Reverse(cells)
	reversed := recordsOf(cells, true)
	blank := emptyOf(t, s)
	byPatient := SelectionRule{Unit: privacy.Record, Shards: 3}
	for name, rule := range map[string]SelectionRule{
		"party": {Unit: privacy.Party, Shards: 1}, "record": {Unit: privacy.Record}, "label": {Unit: privacy.Label}, "shards": byPatient,
	} {
		for n := range 30 {
			got := ExactlyN(rule, s, all, n, key)
			if got.Len() != n || len(got.Patient) != n || len(got.Party) != n {
				t.Fatalf("%s: %d records, %d patients, %d parties, want %d", name, got.Len(), len(got.Patient), len(got.Party), n)
			}
			if r, _ := got.X.Dims(); r != n {
				t.Fatalf("%s: %d rows, want %d", name, r, n)
			}
			if !slices.Equal(contents(got), contents(ExactlyN(rule, s, reversed, n, key))) {
				t.Errorf("%s: another order of the file makes other %d of its records", name, n)
			}
			if n >= all.Len() && name != "shards" &&
				!slices.Equal(contents(got.Select(rowsTo(all.Len()))), contents(all)) {
				t.Errorf("%s: of %d records some are missing among %d", name, all.Len(), n)
			}
			for i := all.Len(); i < n; i++ {
				if !slices.Equal(contents(got.Select([]int{i})), contents(blank)) {
					t.Fatalf("%s: record %d of %d is not empty: label %d, patient %q, set %q, %v", name, i, n, got.Y[i], got.Patient[i], got.Party[i], got.X.RawRowView(i))
				}
			}
		}
		var unlike []cell
		for x := range 14 {
			unlike = append(unlike, cell{x: x})
		}
		chosen := func(rule SelectionRule, key []byte) []string {
			return contents(ExactlyN(rule, s, recordsOf(unlike, true), 7, key))
		}
		other := rule
		other.Study = study.Hash{1}
		if slices.Equal(chosen(rule, key), chosen(rule, []byte("another"))) ||
			slices.Equal(chosen(rule, key), chosen(other, key)) {
			t.Errorf("%s: key or study does not matter to who is chosen", name)
		}
	}
	none := ExactlyN(byPatient, s, &dataset.Records{X: all.Select(nil).X}, 4, key)
	if none.Len() != 4 || none.Patient != nil || none.Party != nil || none.Y[3] != -1 {
		t.Errorf("of no records: %+v", none)
	}
}

// apart counts the entries of a that are missing in b, which is as long.
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

// cell describes a record of a few kinds, so that many records are equal.
type cell struct {
	x, y           int
	patient, party string
}

func recordsOf(cells []cell, named bool) *dataset.Records {
	r := &dataset.Records{X: &mat.Dense{}, Party: []string{}}
	if len(cells) > 0 {
		r.X = mat.NewDense(len(cells), 5, nil) // as the schema encodes
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

// TestNeighboursStayNeighbours checks the lemmas of Records on multisets with many equal records,
// under any key and in any two orders. Cuts of neighbours, to a plan's or a site's number, differ
// in at most one record, replaced by another of its group. All other records keep their numbers. At
// most two shards differ, also at unit label and for a patient.
func TestNeighboursStayNeighbours(t *testing.T) {
	s := wards()
	rules := map[string]SelectionRule{
		"record": {Unit: privacy.Record}, "label": {Unit: privacy.Label},
		"column": {Unit: privacy.Record, SetColumn: true}, "counts": {Unit: privacy.Label, SetColumn: true},
	}
	one := rapid.Custom(func(t *rapid.T) cell {
		return cell{
			rapid.IntRange(0, 2).Draw(t, "x"), rapid.IntRange(-1, 2).Draw(t, "y"),
			rapid.SampledFrom([]string{"", "", "p", "q", "r"}).Draw(t, "patient"), rapid.SampledFrom([]string{"", "s", "u"}).Draw(t, "party"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom(slices.Sorted(maps.Keys(rules))).Draw(t, "unit")
		rule := rules[unit]
		rule.Shards = rapid.IntRange(1, 5).Draw(t, "shards")
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
					if rule.Unit == privacy.Label || rule.SetColumn {
						out = append(out, string(appendShared(nil, rule.Unit, r, i)))
					}
				}
				return out
			}
			if got := apart(groups(a), groups(b)); got > 0 {
				t.Fatalf("%s: %d records of another group", what, got)
			}
		}
		ka, kb := NewRecords(rule, a, key), NewRecords(rule, b, key)
		cutA, cutB := a.Select(ka.Cut(n)), b.Select(kb.Cut(n))
		neighbours("cut", cutA, cutB)
		if rule.Unit == privacy.Label && cutA.Len() > 0 && !mat.Equal(cutA.X, cutB.X) {
			t.Fatal("a label changes the order of features")
		}
		numbers := func(k *Records, r *dataset.Records) []string {
			var out []string
			for i := range r.Len() {
				out = append(out,
					fmt.Sprintf("%x %d", appendRecord(nil, r, i), k.UniformNumber(PurposeSet, i)))
			}
			return out
		}
		if got := apart(numbers(ka, a), numbers(kb, b)); got > 1 {
			t.Fatalf("%d records have another number", got)
		}
		exactA, exactB := ExactlyN(rule, s, a, n, key), ExactlyN(rule, s, b, n, key)
		if !rule.ByPatient(a) {
			neighbours("exactly", exactA, exactB)
		}
		most := 2
		if rule.Unit == privacy.Label {
			most = 1
		}
		if !rule.SetColumn {
			for what, pair := range map[string][2]*dataset.Records{"all": {a, b},
				"exactly": {exactA, exactB}} {
				if got := apartShards(rule, pair[0], pair[1], key); got > most {
					t.Fatalf("%s: %d shards differ", what, got)
				}
			}
		}
		if unit != "record" {
			return
		}
		// A record that is added or removed replaces an empty record, or is replaced by one.
		whole := rule
		whole.Shards = 1
		neighbours("one fewer", ExactlyN(whole, s, a, n, key),
			ExactlyN(whole, s, a.Select(rowsTo(a.Len()-1)), n, key))
	})
}

// TestAPatientMovesTwoShards: if one patient replaces another, with any number of records each, all
// but two shards stay the same, cut or not.
func TestAPatientMovesTwoShards(t *testing.T) {
	s, rule := wards(), SelectionRule{Unit: privacy.Record}
	rapid.Check(t, func(t *rapid.T) {
		rule.Shards = rapid.IntRange(3, 6).Draw(t, "shards")
		key := rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "key")
		others := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) cell {
			return cell{x: rapid.IntRange(0, 1).Draw(t, "x"),
				patient: rapid.SampledFrom([]string{"", "", "p", "q", "r", "s"}).Draw(t, "patient")}
		}), 4, 20).Draw(t, "others")
		file := func(patient string) *dataset.Records {
			records := slices.Clone(others)
			for range rapid.IntRange(0, 8).Draw(t, "records of "+patient) {
				records = append(records, cell{patient: patient})
			}
			return recordsOf(rapid.Permutation(records).Draw(t, "file"), true)
		}
		a, b := file("one"), file("another")
		if got := apartShards(rule, a, b, key); got > 2 {
			t.Fatalf("%d shards differ", got)
		}
		n := rapid.IntRange(4, 28).Draw(t, "n")
		if got := apartShards(rule, ExactlyN(rule, s, a, n, key), ExactlyN(rule, s, b, n, key),
			key); got > 2 {
			t.Fatalf("%d declared: %d shards differ", n, got)
		}
	})
}

// apartShards counts the shards that do not train on the same records in the same order. Records
// without a label are left out: classify.TestUnlabelledTrainNothing.
func apartShards(rule SelectionRule, a, b *dataset.Records, key []byte) int {
	x, y := NewRecords(rule, a, key).Shards(a), NewRecords(rule, b, key).Shards(b)
	trained := func(r *dataset.Records, rows []int) []string {
		var out []string
		for _, i := range rows {
			if r.Y[i] >= 0 {
				out = append(out, fmt.Sprintf("%x", appendRecord(nil, r, i)))
			}
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

// TestOrderOfSending checks Lemma 3. Files in the same order that differ in one label send a
// different label in one place. Over keys, the labels of equal records appear in each arrangement
// equally often, so files sorted by label, in which one label moves two places, can be told apart
// only by chance.
//
// Of 6,000 keys each of six arrangements gets 1,000 with standard deviation 28.9; a deviation of
// 7.5 of these has probability 7e-14, in each of twelve comparisons. The keys are fixed.
func TestOrderOfSending(t *testing.T) {
	s, rule := wards(), SelectionRule{Unit: privacy.Label}
	sent := func(labels []int, key []byte) (out [3]int) {
		var file []cell
		for _, y := range labels {
			file = append(file, cell{y: y})
		}
		r := recordsOf(file, true)
		if len(labels) > 3 {
			r = ExactlyN(rule, s, r, 3, key)
		}
		for at, i := range NewRecords(rule, r, key).SendingOrder(5) {
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
			if want := 6000. / 6; len(law) != 6 ||
				math.Abs(float64(n)-want) > 7.5*math.Sqrt(want*5/6) {
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

// TestUsesHaveKeysOfTheirOwn: a record has a different number for every use, study and site.
func TestUsesHaveKeysOfTheirOwn(t *testing.T) {
	seen := map[uint64]string{}
	r := recordsOf([]cell{{patient: "p"}, {patient: "p"}, {patient: "q"}, {party: "p"}, {x: 1},
		{y: 1}}, true)
	for plan := range byte(2) {
		rule := SelectionRule{Study: study.Hash{plan}, Unit: privacy.Label}
		for _, key := range []string{"a", "b"} {
			k := NewRecords(rule, r, []byte(key))
			for _, use := range []string{forCut, forSlot, forOrder, PurposeSet, PurposeBlankSet,
				PurposeClass,
				forShard, forPatient, forAlike} {
				for i := range r.Len() {
					where := fmt.Sprint(plan, key, use, i)
					if had, ok := seen[k.UniformNumber(use, i)]; ok {
						t.Errorf("%s and %s have one number", had, where)
					}
					seen[k.UniformNumber(use, i)] = where
				}
			}
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
	for name, rule := range map[string]SelectionRule{"record": {Unit: privacy.Record},
		"label": {Unit: privacy.Label}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				start := time.Now()
				k := NewRecords(rule, r, []byte("k"))
				b.ReportMetric(time.Since(start).Seconds(), "s/names")
				k.Cut(n * 9 / 10)
			}
		})
	}
}
