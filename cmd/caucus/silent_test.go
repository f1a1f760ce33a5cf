package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"caucus/analyst/terms"
	"caucus/internal/testlevel"
	"caucus/study/kinds"
)

// silentTerms are the terms that a rehearsal may ignore, with the reason.
var silentTerms = map[string]string{
	"kind":          "the command line names it",
	"closes_in":     "study create makes a deadline of it: a rehearsal has none",
	"auc":           "the forecast of the same study file reads it",
	"roster":        "study create reads it: parties are virtual, as many as parties says",
	"describe pool": "study create needs one in the same study file: counts ask nothing of it",

	"evaluate largest": pureNoise, "labels largest": pureNoise, "regress largest": pureNoise, "reweigh largest": pureNoise, "survival largest": pureNoise,

	"reweigh simulate.folder":       "it is written",
	"classify simulate.real_shares": "a share that is wrong ends the rehearsal, and none is",
}

const pureNoise = "it decides how large δ is, and δ is 0 here"

// TestNoTermIsSilent: each term that a kind's rehearsal offers is refused, or changes the output or
// the release (including its plan). The test uses made-up records and a file of records.
func TestNoTermIsSilent(t *testing.T) {
	dir := pageFolder(t)
	t.Chdir(dir)
	schema, err := os.ReadFile("schema.yaml")
	if err == nil {
		err = os.WriteFile("other.yaml",
			bytes.Replace(schema, []byte("max: 50}"), []byte("max: 60}"), 1), 0o600)
	}
	rows, err2 := os.ReadFile("records.csv")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	wards := strings.Split(strings.TrimSpace(string(rows)), "\n")[:400]
	for i := range wards {
		wards[i] += fmt.Sprintf(",ward-%d", i%4)
	}
	wards[0] = strings.TrimSuffix(wards[0], "-0")
	if err := os.WriteFile("wards.csv", []byte(strings.Join(wards, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	seconds := regexp.MustCompile(`"seconds": [0-9.e+-]+`)
	run := func(kind string, all map[string]string) (code int, said string) {
		out := filepath.Join(t.TempDir(), "release.json")
		args := []string{"simulate", kind, "--json", "--out", out}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			args = append(args, "--set", name+"="+all[name])
		}
		var stdout, stderr bytes.Buffer
		if code = Main(t.Context(), args, &stdout, &stderr); code != 0 {
			return code, stderr.String()
		}
		release, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return 0, seconds.ReplaceAllString(stdout.String(), "") + string(release)
	}
	own := map[string]map[string]string{
		"classify": {"map.project": "3"}, "describe": nil, "evaluate": {"epsilon": "8"}, "labels": {"lambda": "0.01"},
		"ratio": {"records": "60", "ratio.fourier": "40", "simulate.targets": "2", "simulate.target_size": "50"}, "reweigh": {"split": "sex=male", "query": "age > 60", "simulate.repeats": "1"},
		"regress":  {"regress.outcome": "days", "regress.columns": "[age, sex]"},
		"survival": {"survival.time": "days", "survival.until": "40"},
	}
	for _, kind := range kinds.Names() {
		offered, err := terms.Of(kind)
		if err != nil {
			t.Fatal(err)
		}
		for records, base := range map[string]map[string]string{
			"made": {"parties": "3", "simulate.generate": "350"}, "file": {"parties": "3", "train": "wards.csv", "schema": "schema.yaml"},
		} {
			maps.Copy(base, own[kind])
			before := map[string]string{} // output without the term, by the other terms given
			for _, term := range offered {
				if records == "file" && !testlevel.Long() && !term.IsFile() &&
					!strings.HasPrefix(term.Key, "simulate.") {
					continue // the same as with made-up records
				}
				all, value := maps.Clone(base), valueFor(kind, term)
				for _, of := range besides[term.Key] {
					key, value, _ := strings.Cut(of, "=")
					if all[key] = value; value == "" {
						delete(all, key)
					}
				}
				beside := strings.Join(besides[term.Key], " ")
				if before[beside] == "" {
					code, said := run(kind, all)
					if before[beside] = said; code != 0 {
						t.Errorf("%s, %s, %s: %s", kind, records, beside, said)
					}
				}
				delete(all, term.Name())
				all[term.Key] = value
				code, said := run(kind, all)
				switch _, may := silentTerms[term.Key]; {
				case code != 0:
					t.Logf("%s, %s: %s=%s: %s", kind, records, term.Key, value, said)
				case said == before[beside] && !may && silentTerms[kind+" "+term.Key] == "":
					t.Errorf("%s, %s: %s=%s changes nothing, and is not refused", kind, records, term.Key, value)
				}
			}
		}
	}
}

// valueFor returns a valid value of a term that differs from its default.
func valueFor(kind string, t terms.Term) string {
	for _, key := range []string{kind + " " + t.Name(), t.Key, t.Name()} {
		if v, ok := silentValues[key]; ok {
			return v
		}
	}
	switch {
	case t.Type == "true or false":
		return "true"
	case t.Type == "number":
		return "0.3"
	case t.Type == "whole number":
		return "3"
	case t.Type == "time span":
		return "90m"
	case t.Type == "date and time":
		return "2099-01-01T00:00:00Z"
	case strings.HasPrefix(t.Type, "list of list"):
		return "[[.9, .1], [.2, .8]]"
	}
	return "other"
}

// besides are other terms that a term needs on the command line; KEY= leaves one out.
var besides = map[string][]string{
	"simulate.party_column": {"parties="}, "simulate.voters": {"unit=party"}, "simulate.real_shares": {"noise=aggregators"}, "seal.quiet_seconds": {"seal.share=.5"},
	"describe.count": {"where=age > 30"}, "survival.causes": {"survival.event={column: smoker, is: \"yes\"}"}, "survival.time": {"survival.until=50"}, "regress.is": {"regress.outcome="}, "regress.expected": {"regress.outcome="}, "ratio.features": {"ratio.fourier=0"}, "ratio.skew": {"skew=.6", "features=noisy-embedding", "sets=made", "ratio.fourier=20"},
}

// silentValues are values of terms that do not take their type's usual value. Files are from
// pageFolder.
var silentValues = map[string]string{
	"kind": "labels", "where": "age > 30", "map.project": "2", "map.analysis": "pca", "unit": "party", "noise": "aggregators", "records": "40",
	"weights.plan": strings.Repeat("ab", 32), "weights.unit": "record", "minimum": "2", "parties": "5", "largest": "100000000", "readers": "parties",
	"schema": "other.yaml", "pool": "pool.csv", "pool_release": "reweigh/w/release.json",
	"bound": "paper", "learner": "cart", "class_shares": ".6,.4", "by": "smoker", "score": "creatinine", "model": "release.json", "classes": "no", "thresholds": ".2",
	"loss": "hinge", "risk": "ber", "correction": "forward", "sets": "made", "skew": ".7", "expected": ".3,.7", "features": "clear", "estimator": "mixture", "ratio.fourier": "20", "pairs": "[[age, smoker]]",
	"train": "reweigh/w/private.csv", "test": "reweigh/w/test.csv", "generate": "400", "party_column": "ward", "pool_where": "sex=female", "train_rows": "200",
	"voters": "cart,softmax", "dataset": "adult", "split": "sex=female", "query": "bmi > 25", "folder": "made", "simulate.target_size": "40",
	"classify mechanism": "tally", "describe mechanism": "laplace", "evaluate mechanism": "gaussian", "labels mechanism": "em", "ratio mechanism": "gaussian", "reweigh mechanism": "logistic",
	"max_records": "50", "evaluate per_party": "100",
	"regress mechanism": "gaussian", "regress outcome": "creatinine", "regress is": "no", "regress columns": "[age]", "regress expected": ".1", "regress radius": "2.5", "regress per_party": "100",
	"survival mechanism": "gaussian", "survival time": "age", "survival time_unit": "weeks", "survival until": "30", "survival.event": "{column: smoker, is: \"yes\"}", "survival.causes": "[former]", "survival.edges": "[10, 40]", "survival expected": ".1", "survival per_party": "100",
}
