package terms

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"caucus/analyst/simulate"
	"caucus/internal/yamlfile"
	"caucus/study/kinds"
)

// TestEveryTermIsSaid: each key of each kind has a help text and occurs once. Keys with the same
// last part are at different places.
func TestEveryTermIsSaid(t *testing.T) {
	for _, kind := range kinds.Names() {
		all, err := Of(kind)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, term := range all {
			if term.Help == "" || term.Type == "" {
				t.Errorf("%s: %s has no words: give its field a help tag", kind, term.Key)
			}
			if seen[term.Key] {
				t.Errorf("%s: %s is there twice", kind, term.Key)
			}
			seen[term.Key] = true
			if found, err := Find(kind, term.Key); err != nil || found.Key != term.Key {
				t.Errorf("%s: %s is not found: %v", kind, term.Key, err)
			}
		}
		if len(all) < 40 {
			t.Errorf("%s has %d terms: the tags are not read", kind, len(all))
		}
	}
}

func parse(t *testing.T, text, kind string, settings ...string) (Study, error) {
	t.Helper()
	var file *yamlfile.Document
	if text != "" {
		var err error
		if file, err = yamlfile.Parse("study.yaml", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	var all []Setting
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		all = append(all, Setting{Name: name, Value: value, AsTyped: "--set " + s})
	}
	return Read(file, "in", kind, all...)
}

// TestRead: a study is the same whether its terms are in a file or on a command line.
func TestRead(t *testing.T) {
	const text = `
name: readmission
kind: ratio
schema: s.yaml
pool: /abs/pool.csv
roster: [a, b]
map: {project: 5}
ratio: {estimator: mixture, expected: [.4, .6]}
simulate: {targets: 3, set_shares: [[.9, .1], [.1, .9]], train: t.csv}
`
	file, err := parse(t, text, "")
	if err != nil {
		t.Fatal(err)
	}
	said, err := parse(t, "", "ratio", "name=readmission", "schema=in/s.yaml", "pool=/abs/pool.csv",
		"roster=a,b", "project=5",
		"estimator=mixture", "expected=.4,.6", "targets=3", "set_shares=[[.9, .1], [.1, .9]]",
		"train=in/t.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Study{file, said} {
		own := s.Simulate.(*simulate.RatioTerms)
		if s.Name != "readmission" || s.Kind != "ratio" ||
			s.Schema != filepath.Join("in", "s.yaml") || s.Pool != "/abs/pool.csv" ||
			s.Map.Project != 5 ||
			!slices.Equal(s.Roster, file.Roster) || string(s.KindTerms) != string(file.KindTerms) ||
			own.Targets != 3 || own.TargetSize != 500 ||
			len(own.SetShares) != 2 || own.Train != filepath.Join("in", "t.csv") ||
			!s.HasTerm("ratio.estimator") || s.HasTerm("epsilon") {
			t.Errorf("%+v, %+v", s, own)
		}
	}
}

// TestSettingsWin: a value on the command line replaces the file's value, and Replaced says so if
// the two differ.
func TestSettingsWin(t *testing.T) {
	s, err := parse(t, "epsilon: 1\nrecords: 200\n", "", "epsilon=2", "records=200")
	if err != nil || s.Epsilon != 2 || !slices.Equal(s.OverrideNotes, []string{"--set epsilon=2 replaces epsilon of the study file"}) {
		t.Errorf("%v %q %v", s.Epsilon, s.OverrideNotes, err)
	}
}

// TestValuesAsWritten: a text stays as written, even if it looks like a number or a list.
func TestValuesAsWritten(t *testing.T) {
	s, err := parse(t, "", "describe", `where=income == ">50K" and note == "a: b #c"`, "by=yes", "purpose=1", "readers=a, b")
	if err != nil || s.Where != `income == ">50K" and note == "a: b #c"` || s.Purpose != "1" || !slices.Equal(s.Readers, []string{"a", "b"}) || !strings.Contains(string(s.KindTerms), `"yes"`) {
		t.Errorf("%+v %s %v", s, s.KindTerms, err)
	}
}

// TestSlips: each error says what is wrong and what to do. Errors on the command line are
// SettingErrors.
func TestSlips(t *testing.T) {
	for _, c := range []struct {
		text, kind string
		settings   []string
		want       string
	}{
		{kind: "", settings: []string{"epsilom=1"}, want: "--set epsilom=1: there is no term epsilom: do you mean epsilon?"},
		{kind: "classify", settings: []string{"estimator=mixture"}, want: "estimator is a term of ratio studies; this one is of kind classify"},
		{kind: "ratio", settings: []string{"ratio.shards=1"}, want: "there is no term ratio.shards"},
		{kind: "labels", settings: []string{"fourier=many"}, want: "--set fourier=many: "},
		{kind: "", settings: []string{"epsilon=much"}, want: "--set epsilon=much: "},
		{kind: "", settings: []string{"epsilon=1", "epsilon=2"}, want: "--set epsilon=2: --set epsilon=1 says epsilon already: leave one out"},
		{kind: "", settings: []string{"epsilon=0"}, want: "--set epsilon=0: 0 would release nothing"},
		{kind: "", settings: []string{"unit=town"}, want: "--set unit=town: "},
		{kind: "", settings: []string{"closes_in=3"}, want: "3 has no unit"},
		{kind: "", settings: []string{"whiten="}, want: `"" is no number`},
		{kind: "sums", want: `"sums" is not a kind of study this version knows`},
		{text: "kind: ratio\n", kind: "labels", want: "the study file is of kind ratio, the command line says labels"},
		{text: "kind: labels\nratio: {fourier: 3}\n", want: "study.yaml line 2: ratio: these are terms of a ratio study; this one is of kind labels"},
		{text: "kind: ratio\nestimator: mixture\n", want: "study.yaml line 2: estimator: it stands below ratio: {estimator: …}"},
		{text: "project: 3\n", want: "study.yaml line 1: project: it stands below map: {project: …}"},
		{text: "targets: 3\nkind: ratio\n", want: "targets: it stands below simulate: {targets: …}"},
		{text: "epsilom: 1\n", want: `unknown key "epsilom": do you mean "epsilon"?`},
		{text: "simulate: {target: 3}\nkind: ratio\n", want: `simulate: unknown key "target": do you mean "targets"?`},
		{text: "roster: {tags: {}}\n", want: "roster: name parties"},
		{text: "epsilon: 0\n", want: "epsilon: 0 would release nothing"},
		{text: "kind: labels\n", settings: []string{"kind=ratio"}, want: "the study file is of kind labels, the command line says ratio"},
		{kind: "labels", settings: []string{"kind=ratio"}, want: "--set kind=ratio: the command line says kind labels already"},
		{text: "kind: describe\nsimulate: {pool_rows: 3}\n", want: "study.yaml line 2: simulate: pool_rows: it is a term of classify, evaluate, labels, ratio studies; this one is of kind describe"},
		{kind: "ratio", settings: []string{"width=nan"}, want: `--set width=nan: "nan" is no number`},
		{settings: []string{"map.project="}, want: `--set map.project=: "" is no number of components`},
		{settings: []string{"roster={tag: {a: b}}"}, want: `--set roster={tag: {a: b}}: unknown key "tag"`},
		{text: "simulate: {parties: 3}\n", want: "study.yaml line 1: simulate: parties: it stands at the top of the file, beside simulate"},
		{text: "map: 5\n", want: "study.yaml line 1: map: "},
	} {
		_, err := parse(t, c.text, c.kind, c.settings...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %s %q: %v, want %q", c.text, c.kind, c.settings, err, c.want)
		}
		var wrong SettingError
		if at := c.settings != nil && !strings.HasPrefix(c.want, "epsilon"); at &&
			!errors.As(err, &wrong) {
			t.Errorf("%q: %v is not said to be of the command line", c.settings, err)
		}
	}
}

// TestExampleFile: the deploy folder's example has known keys.
func TestExampleFile(t *testing.T) {
	path := filepath.Join("..", "..", "deploy", "examples", "study.yaml")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	file, err := yamlfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file, filepath.Dir(path), ""); err != nil {
		t.Error(err)
	}
}
