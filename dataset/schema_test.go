package dataset

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const clinic = `
name: clinic
label: {column: outcome, classes: ["no", "yes"], aliases: {"1": "yes"}, other: "no"}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: cost, kind: numeric, min: 0, max: 999, log: true, missing: true}
  - {column: ward, kind: categorical, levels: [1, 2, north]}
  - {columns: [x1..x3, y], kind: numeric, min: -1, max: 1}
missing: "?"
party: site
patient: key
`

func parse(t testing.TB, text string) Schema {
	t.Helper()
	s, err := ParseSchema(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseSchema(t *testing.T) {
	s := parse(t, clinic)
	want := []string{"age", "cost", "cost?", "ward=1", "ward=2", "ward=north", "ward=other", "x1",
		"x2", "x3", "y"}
	if got := s.FeatureNames(); !slices.Equal(got, want) {
		t.Errorf("features %q, want %q", got, want)
	}
	if s.Dim() != len(want) {
		t.Errorf("Dim = %d, want %d", s.Dim(), len(want))
	}
	if got := s.Classes(); !slices.Equal(got, []string{"no", "yes"}) {
		t.Errorf("classes %q", got)
	}
	// A plan carries a schema as JSON or YAML. Both must read back the same.
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if back := parse(t, string(text)); !reflect.DeepEqual(back, s) {
		t.Errorf("through YAML: %+v\nwant %+v", back, s)
	}
	text, err = json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Schema
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("through JSON: %v\n%+v\nwant %+v", err, back, s)
	}
}

func TestSchemaFormat(t *testing.T) {
	s := parse(t, `
label: {column: y, classes: [a, b]}
features: [{columns: [p8..p11], kind: numeric, min: 0, max: 1}]
columns: [p8..p11, y]
delimiter: "\t"
comment: "#"
`)
	want := Format{Delimiter: '\t', Comment: "#", Columns: []string{"p8", "p9", "p10", "p11", "y"}}
	if got := s.Format(); !reflect.DeepEqual(got, want) {
		t.Errorf("format %+v, want %+v", got, want)
	}
}

func TestSchemaWithout(t *testing.T) {
	s := parse(t, clinic).WithoutColumns("age", "x2", "nothing")
	want := []string{"cost", "cost?", "ward=1", "ward=2", "ward=north", "ward=other", "x1", "x3",
		"y"}
	if got := s.FeatureNames(); !slices.Equal(got, want) {
		t.Errorf("features %q, want %q", got, want)
	}
	if got := s.WithoutColumns("x1", "x3", "y").FeatureNames(); !slices.Equal(got, want[:6]) {
		t.Errorf("features %q, want %q", got, want[:6])
	}
}

func TestParseSchemaErrors(t *testing.T) {
	label, feature := "label: {column: y, classes: [a, b]}\n", "features: [{column: x, kind: numeric, min: 0, max: 1}]\n"
	one := func(f string) string { return label + "features: [" + f + "]\n" }
	for text, want := range map[string]string{
		"":                                    "it is empty",
		"a: [":                                "parse schema",
		label + feature + "lable: 1":          `line 3: unknown key "lable": do you mean "label"?`,
		label + feature + "---\n" + label:     "more than one YAML document",
		feature:                               "label: column is empty",
		"label: {column: y}\n" + feature:      "classes lists 0: list two at least",
		"label: {column: y, classes: [a]}":    "classes lists 1: ",
		"label: {column: y, classes: [a, a]}": `class "a" occurs twice`,
		`label: {column: y, classes: [a, "=HYPERLINK(1)"]}`:    "formula",
		`label: {column: y, classes: [a, "@SUM(1)"]}`:          "formula",
		`label: {column: y, classes: [a, "+cmd"]}`:             "formula",
		`label: {column: y, classes: [a, "-2+3"]}`:             "formula",
		`label: {column: y, classes: [a, "\t=1"]}`:             "formula",
		"label: {column: y, classes: [a, '']}":                 "a class is empty",
		"label: {column: y, classes: [a, b], other: c}":        `other: "c" is not among classes (a, b)`,
		"label: {column: y, classes: [a, b], aliases: {u: c}}": `"u" stands for "c", which is not among classes`,
		"label: {column: y, classes: [a, b], aliases: {a: b}}": `"a" is itself a class`,
		label: "features: there are none",
		one("{column: y, kind: numeric, min: 0, max: 1}"):                  `column "y" is already the label`,
		one("{columns: [x, x], kind: numeric, min: 0, max: 1}"):            `column "x" is already a feature`,
		one("{column: x, kind: number, min: 0, max: 1}"):                   `kind "number" is unknown; use numeric or categorical`,
		one("{column: x, kind: numeric, min: 2, max: 1}"):                  "min 2 is not below max 1",
		one("{column: x, kind: numeric}"):                                  "min 0 is not below max 0",
		one("{column: x, kind: numeric, min: 0, max: .inf}"):               "min and max must be finite",
		one("{column: x, kind: numeric, min: 0, max: 1, log: perhaps}"):    "parse schema",
		one("{column: x, kind: numeric, min: -1, max: 0, log: true}"):      "min must be above -1",
		one("{column: x, kind: numeric, min: 0, max: 1, levels: [a]}"):     "a numeric feature has no levels",
		one("{column: x, kind: numeric, max: 1}"):                          "max without min: write both",
		one("{column: x, kind: numeric, min: 1}"):                          "min without max: write both",
		one("{column: x, kind: numeric, min: null, max: 1}"):               "line 2: features: entry 1: max without",
		one("{column: x, kind: categorical, levels: [a, null]}"):           `entry 2: null stands for nothing`,
		"label: {column: y, classes: [a, b, ~]}":                           `entry 3: ~ stands for nothing`,
		one("{column: x, kind: categorical}"):                              "levels is empty",
		one("{column: x, kind: categorical, levels: [a, a]}"):              `level "a" occurs twice`,
		one("{column: x, kind: categorical, levels: [a], min: 0, max: 1}"): "belong to kind: numeric",
		one("{kind: numeric, min: 0, max: 1}"):                             "set either column (one name) or columns",
		one("{column: x, columns: [z], kind: numeric, min: 0, max: 1}"):    "set either column (one name) or columns",
		one("{columns: [x, ''], kind: numeric, min: 0, max: 1}"):           "columns has an empty name",
		one("{columns: [p0..p99999999], kind: numeric, min: 0, max: 1}"):   "stands for more than",
		label + feature + "delimiter: ab":                                  `delimiter "ab" must be a single character`,
		label + feature + "comment: ',b'": "must begin with a character " +
			"that is neither",
		label + feature + "columns: [x, x]":  `"x" occurs twice`,
		label + feature + "columns: [x, '']": "a name is empty",
		label + feature + "columns: [y]":     `feature "x" is not among columns (y)`,
		label + feature + "columns: [x]":     `the label "y" is not among columns (x)`,
		label + feature + "party: x":         `column "x" is already the party column`,
		label + feature + "patient: y":       `column "y" is both the label and the patient column`,
	} {
		if _, err := ParseSchema(strings.NewReader(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror %v, want %q", text, err, want)
		}
	}
}

// FuzzParseSchema: a parsed schema can be written and read again, and its encoding is consistent.
func FuzzParseSchema(f *testing.F) {
	f.Add([]byte(clinic))
	f.Add([]byte("label: {column: y, classes: [a, b]}\nfeatures: [{columns: [p0..p9], kind: numeric, min: 0, max: 1}]\ncolumns: [y, p0..p9]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<13 {
			return
		}
		s, err := ParseSchema(bytes.NewReader(text))
		if err != nil {
			return
		}
		if s.Dim() != len(s.FeatureNames()) {
			t.Fatalf("Dim = %d for %d names", s.Dim(), len(s.FeatureNames()))
		}
		written, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseSchema(bytes.NewReader(written))
		if err != nil {
			t.Fatalf("written schema: %v\n%s", err, written)
		}
		if !slices.Equal(back.FeatureNames(), s.FeatureNames()) {
			t.Fatal("features changed on the way through YAML")
		}
	})
}

// TestComposedLetters: a level is found whether its accents are signs of their own (NFD) or not
// (NFC), in the schema and in the file. Levels that differ only in this stay two.
func TestComposedLetters(t *testing.T) {
	const composed, apart = "männlich", "ma\u0308nnlich"
	for _, c := range []struct {
		levels []string
		text   string
		want   int
	}{
		{[]string{"F", composed}, apart, 1}, {[]string{"F", apart}, composed, 1},
		{[]string{"F", apart}, apart, 1}, {[]string{composed, apart}, apart, 1},
		{[]string{composed, apart}, composed, 0}, {[]string{apart, composed}, composed, 1},
	} {
		if got, ok := newLevels(c.levels).find(c.text); !ok || got != c.want {
			t.Errorf("%+q among %+q is level %d, %v, want %d", c.text, c.levels, got, ok, c.want)
		}
	}
}

// TestWithinSaysValues: the error about a difference between a plan and a source gives both values.
func TestWithinSaysValues(t *testing.T) {
	own := Schema{Label: Label{Column: "died", Classes: []string{"no", "yes"}}, Features: []Feature{
		{Columns: []string{"age", "height"}, Kind: Numeric, Max: 120},
		{Column: "sex", Kind: Categorical, Levels: []string{"F", "M"}},
	}}
	plan := Schema{Label: Label{Column: "died", Classes: []string{"0", "1"}}, Features: []Feature{
		{Column: "age", Kind: Numeric, Max: 105, FlagMissing: true},
		{Column: "sex", Kind: Categorical, Levels: []string{"f", "m"}},
	}}
	want := []string{
		`label "died": classes is [0 1] in the study, here [no yes]`,
		`column "age": max is 105 in the study, here 120; missing is true in the study, here false`,
		`column "sex": levels is [f m] in the study, here [F M]`,
	}
	if got := plan.Differences(own); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
