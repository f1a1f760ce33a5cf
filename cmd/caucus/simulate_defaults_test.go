package main

import (
	"encoding/json"
	"io"
	"path/filepath"
	"reflect"
	"testing"

	"caucus/cmd/internal/console"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/learners"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
)

// TestSimulateDefaults: without flags, simulate runs the same plan as a study file that names only
// its kind, except for virtual parties and pools. If a flag's default stands for an empty field,
// both mean the same.
func TestSimulateDefaults(t *testing.T) {
	_, schema := public.Hospitals(public.DefaultHospitalConfig())
	// Sizes depend on the simulation; an open width or open edges follow from the pool.
	sizes := map[string]bool{"max_records": true, "set_size": true, "gamma": true,
		"per_party": true, "parts": true, "edges": true}
	for kind, flags := range map[string][]string{
		"classify": nil, "ratio": {"--parties", "4", "--records", "60", "--set", "targets=2"}, "labels": nil, "describe": nil,
		"reweigh": {"--set", "split=sex=male", "--set", "query=age > 60", "--repeats", "1"},
	} {
		t.Run(kind, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "release")
			root := newRoot(&console.Console{Out: io.Discard, Err: io.Discard})
			root.SetArgs(append([]string{"simulate", kind, "--set", "generate=600", "--out", file},
				flags...))
			if err := root.Execute(); err != nil {
				t.Fatal(err)
			}
			release, err := readRelease(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := release.DecodedPlan()
			if err != nil {
				t.Fatal(err)
			}
			want, err := planning.Complete(study.Proposal{Kind: kind, Roster: got.Roster,
				Minimum: got.Minimum}, schema)
			if err != nil {
				t.Fatal(err)
			}
			if kind == kinds.Default {
				terms := classify.TermsOf(got)
				if terms.Bound == "tight" {
					terms.Bound = ""
				}
				if terms.Learner == learners.DefaultLearner {
					terms.Learner = ""
				}
				if err := got.SetTerms(terms); err != nil {
					t.Fatal(err)
				}
			}
			for name, pair := range map[string][2]any{
				"unit": {got.Unit, want.Unit}, "epsilon": {got.Epsilon, want.Epsilon}, "delta": {got.Delta, want.Delta},
				"mechanism": {got.Mechanism, want.Mechanism}, "noise": {got.Noise, want.Noise}, "lambda": {got.Lambda, want.Lambda},
				"terms":             {termsBut(t, got, sizes), termsBut(t, want, sizes)},
				"all features stay": {got.Map.Kind == dataset.IdentityMap, kind != kinds.Default},
			} {
				if !reflect.DeepEqual(pair[0], pair[1]) {
					t.Errorf("%s: simulate has %v, a study file %v", name, pair[0], pair[1])
				}
			}
		})
	}
}

// termsBut returns a plan's non-empty terms, without the named ones.
func termsBut(t *testing.T, p study.Plan, left map[string]bool) map[string]any {
	terms := map[string]any{}
	if p.KindTerms == nil {
		return terms
	}
	if err := json.Unmarshal(p.KindTerms, &terms); err != nil {
		t.Fatal(err)
	}
	for name, v := range terms {
		if left[name] || v == nil || reflect.ValueOf(v).IsZero() {
			delete(terms, name)
		}
	}
	return terms
}
