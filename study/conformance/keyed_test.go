package conformance_test

import (
	"slices"
	"testing"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/keyed"
	"caucus/study/kinds"
	"caucus/study/ratio"
	"caucus/study/reweigh"
)

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

// TestMissingSets: records without a set change neither the number of sets nor of records.
func TestMissingSets(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 5)
	p := c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace")
	for _, file := range [][]visit{
		{{set: "s"}, {set: "s"}, {set: "u"}, {set: "u"}}, {{set: "s"}, {}, {set: "u"}, {set: "u"}},
		{{set: "s"}, {}, {set: "u"}, {}},
	} {
		sets, _ := ratio.DealSets(p, study.NewInputs(c.records(t, file), []byte("k")))
		if len(sets) != 2 || len(sets[0])+len(sets[1]) != 4 {
			t.Errorf("%v: sets %v", file, sets)
		}
	}
	for _, file := range [][]visit{{{}, {}}, nil} {
		if sets, _ := ratio.DealSets(p,
			study.NewInputs(c.records(t, file), []byte("key"))); len(sets) != 1 ||
			len(sets[0]) != len(file) {
			t.Errorf("%v: sets %v", file, sets)
		}
	}
}

// TestEmptyRecords: empty records add nothing to votes and label × feature sums, add the same to
// other sums whatever else the file holds, and get a class where one is needed.
func TestEmptyRecords(t *testing.T) {
	c := newClinic(t, []string{"no", "yes", "maybe"}, 5)
	files := [][]visit{slices.Concat(alike(9, well), alike(5, ill)), alike(14, ill)}
	adds := func(p study.Plan, rows []visit) []int64 {
		r := c.records(t, rows)
		fewer := c.draftOf(t, p, c.inputs(r, 0))
		more := c.draftOf(t, p, c.inputs(keyed.ExactlyN(kinds.SelectionRuleOf(p), p.Schema, r, 20,
			[]byte{0}),
			0))
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
	if got := openAsk(t, c.draftOf(t, p,
		c.inputs(keyed.ExactlyN(kinds.SelectionRuleOf(p), p.Schema, c.records(t, files[0]), 20,
			[]byte{0}),
			0))); apart(got, make([]int64, 20)) != 11 {
		t.Errorf("labels: %v", got) // 9 of class 0, 5 of class 1, 6 without a label
	}
}
