package weighed_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"caucus/analyst/simulate"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/study"
	"caucus/study/kinds/planning"
	"caucus/study/reweigh/weighed"
)

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// TestWeigh: a release weights the pool of its study only, and a plan names a release only for a
// pool that has the release's weights.
func TestWeigh(t *testing.T) {
	table, schema := public.Hospitals(public.HospitalConfig{Sites: 2, Records: 300, Seed: 1,
		SizeSkew: 1})
	schema = schema.WithoutFormat()
	rows := make([]int, 100)
	for i := range rows {
		rows[i] = i
	}
	plain := table.Select(rows)
	proposed := must(planning.ProposePlan(study.Proposal{Name: "x", Kind: "reweigh", Epsilon: 8,
		Records: 100, Minimum: 2, Roster: []study.PartyID{"a", "b"}}, schema, plain))
	records, _, err := schema.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	p := proposed.Plan
	// as a simulated plan names its pool
	p.Pool = auxdata.NewSimulated(proposed.Pool.Encoded, p.Map).Digest
	pool := auxdata.NewSimulated(proposed.Pool.Encoded, p.Map)
	r := must(simulate.RunPlan(context.Background(), p, pool,
		[]study.Inputs{study.NewInputs(records, []byte("a")),
			study.NewInputs(records, []byte("b"))}))

	w, err := weighed.AttachWeights(r, plain)
	if err != nil {
		t.Fatal(err)
	}
	if w.Pool.Digest != p.Pool || w.Weighted.Digest != w.ReleasedWeights.WeightedPool ||
		!slices.Equal(w.Weighted.Weight, w.ReleasedWeights.Weight) {
		t.Errorf("weighed %+v", w)
	}
	var file bytes.Buffer
	if err := auxdata.WriteWeighted(&file, plain, w.ReleasedWeights.Weight); err != nil {
		t.Fatal(err)
	}
	weighted := must(dataset.ReadCSV(&file, dataset.Format{}))
	file.Reset()
	others := slices.Clone(w.ReleasedWeights.Weight)
	others[0], others[1] = 1.5*others[0]+1, others[1]+1
	if err := auxdata.WriteWeighted(&file, plain, others); err != nil {
		t.Fatal(err)
	}
	elsewhere := must(dataset.ReadCSV(&file, dataset.Format{}))
	turned := plain.Select(append([]int{1, 0}, rows[2:]...))
	changed := r
	said := w.ReleasedWeights
	said.Weight = others
	changed.Result = must(study.NewResult(said, nil))
	otherKind := r
	otherKind.Kind = "classify"

	for name, c := range map[string]struct {
		r     study.Release
		table *dataset.Table
		want  string
	}{
		"another order":       {r, turned, "its rows in the same order"},
		"weights of its own":  {r, weighted, "weights of its own"},
		"a changed release":   {changed, plain, "it was changed"},
		"of another kind":     {otherKind, plain, "holds no weights"},
		"of another kind too": {otherKind, weighted, "holds no weights"},
	} {
		if _, err := weighed.AttachWeights(c.r, c.table); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want …%s…", name, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		table *dataset.Table
		want  error
	}{
		"weighed":             {weighted, nil},
		"weighed otherwise":   {elsewhere, weighed.ErrOtherWeights},
		"meant to be weighed": {plain, weighed.ErrOtherWeights},
		"drawn from it":       {turned, nil},
	} {
		source, err := weighed.PoolSourceOf(r, c.table)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || err == nil &&
			source.Plan != r.PlanHash {
			t.Errorf("%s: %+v, %v, want %v", name, source, err, c.want)
		}
	}
}
