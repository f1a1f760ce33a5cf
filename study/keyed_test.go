package study

import (
	"fmt"
	"slices"
	"testing"

	"caucus/dataset"
	"caucus/privacy"
)

// contents are the records written out, with their labels, sorted: the multiset.
func contents(r *dataset.Records) []string {
	out := make([]string, r.Len())
	for i := range out {
		out[i] = fmt.Sprintf("%x", appendRecord(nil, r, i))
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
	byPatient := c.classify("tally", privacy.Record, NoiseSite, 3)
	for name, p := range map[string]Plan{
		"party": c.classify("tally", privacy.Party, NoiseCoordinator, 1), "record": c.reweigh("entropy", ReweighTerms{}),
		"label": c.labels("rr"), "shards": byPatient,
	} {
		for n := range 30 {
			got := Exactly(p, all, n, key)
			if got.Len() != n || len(got.Patient) != n || len(got.Party) != n {
				t.Fatalf("%s: %d records, %d patients, %d parties, want %d", name, got.Len(), len(got.Patient), len(got.Party), n)
			}
			if r, _ := got.X.Dims(); r != n {
				t.Fatalf("%s: %d rows, want %d", name, r, n)
			}
			if !slices.Equal(contents(got), contents(Exactly(p, reversed, n, key))) {
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
		if half := all.Len() / 2; slices.Equal(contents(Exactly(p, all, half, key)), contents(Exactly(p, all, half, []byte("another")))) &&
			slices.Equal(contents(Exactly(p, all, half, key)), contents(Exactly(other, all, half, key))) {
			t.Errorf("%s: neither key nor study matters to who is chosen", name)
		}
	}
	none := Exactly(byPatient, &dataset.Records{X: all.Select(nil).X}, 4, key)
	if none.Len() != 4 || none.Patient != nil || none.Party != nil || none.Y[3] != -1 {
		t.Errorf("of no records: %+v", none)
	}
}
