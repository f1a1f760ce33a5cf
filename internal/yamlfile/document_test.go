package yamlfile

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// level decodes text, also as a map's key.
type level int

func (l *level) UnmarshalText(text []byte) error {
	if string(text) != "low" && string(text) != "high" {
		return errors.New("a level is low or high")
	}
	*l = level(len(text))
	return nil
}

// either decodes itself, from a name or from keys.
type either struct {
	Name  string
	Parts struct{ First, Second int }
}

func (e *either) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		e.Name = n.Value
		return nil
	}
	return DecodeNode(n, &e.Parts)
}

type inner struct {
	Budget float64 `yaml:"budget"`
	Size   uint16  `yaml:"size_of_all"`
}

type common struct {
	Purpose string `yaml:"purpose"`
}

// config has a field of every form that this module's readers use.
type config struct {
	common  `yaml:",inline"`
	Inner   inner            `yaml:"inner"`
	Pointer *inner           `yaml:"pointer"`
	Wait    time.Duration    `yaml:"wait"`
	Until   time.Time        `yaml:"until"`
	On      bool             `yaml:"on"`
	Count   int              `yaml:"count"`
	Share   *float64         `yaml:"share"`
	Names   []string         `yaml:"names"`
	List    []inner          `yaml:"list"`
	Levels  map[level]inner  `yaml:"levels"`
	Notes   map[string]level `yaml:"notes"`
	Either  either           `yaml:"either"`
	Plain   string
	Ends    struct {
		Low  float64 `yaml:"low" with:"high"`
		High float64 `yaml:"high" with:"low"`
	} `yaml:"ends"`
	Hidden int `yaml:"-"`
	_      int // like an unexported field, no key
}

func decodeText(text string, v any) error {
	d, err := Parse("agent.yaml", []byte(text))
	if err != nil {
		return err
	}
	return d.Decode(v)
}

func TestDecode(t *testing.T) {
	share := .5
	for text, want := range map[string]config{
		"wait: 30d":                         {Wait: 30 * 24 * time.Hour},
		"wait: -2d":                         {Wait: -48 * time.Hour},
		"wait: 1h30m":                       {Wait: 90 * time.Minute},
		"wait: '24h'":                       {Wait: 24 * time.Hour},
		"wait: 0s":                          {},
		"wait:":                             {},
		"until: 2026-01-31T17:00:00Z":       {Until: time.Date(2026, 1, 31, 17, 0, 0, 0, time.UTC)},
		"purpose: no":                       {common: common{Purpose: "no"}},
		"plain: 12":                         {Plain: "12"},
		"count: 1e3":                        {Count: 1000},
		"share: 0.5":                        {Share: &share},
		"names: [a, yes, 3]":                {Names: []string{"a", "yes", "3"}},
		"levels: {low: {budget: 1}}":        {Levels: map[level]inner{3: {Budget: 1}}},
		"notes: {a.b: high}":                {Notes: map[string]level{"a.b": 4}},
		"pointer: {size_of_all: 2}":         {Pointer: &inner{Size: 2}},
		"either: one":                       {Either: either{Name: "one"}},
		"inner: &i {budget: 2}\nlist: [*i]": {Inner: inner{Budget: 2}, List: []inner{{Budget: 2}}},
		"inner: &i {budget: 2}\npointer:\n  <<: *i\n  size_of_all: 1": {Inner: inner{Budget: 2}, Pointer: &inner{2, 1}},
	} {
		var c config
		if err := decodeText(text, &c); err != nil {
			t.Errorf("%q: %v", text, err)
		} else if !reflect.DeepEqual(c, want) {
			t.Errorf("%q: %+v, want %+v", text, c, want)
		}
	}
	c := config{Count: 3, Inner: inner{Budget: 1, Size: 2}}
	if err := decodeText("inner: {budget: 5}", &c); err != nil || c.Count != 3 ||
		c.Inner != (inner{5, 2}) {
		t.Errorf("over what was there: %+v, %v", c, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "agent.yaml: it is empty",
		"# nothing\n":                     "agent.yaml: it is empty",
		"null":                            "agent.yaml: it is empty",
		"count: 1\n---\ncount: 2":         "line 2: there is more than one YAML document",
		"count: 1\n---\na: [":             "it is not YAML",
		"- a":                             "agent.yaml line 1: found a list, want the keys purpose, inner,",
		"count":                           `agent.yaml line 1: found "count", want the keys`,
		"on: true\ncuont: 1":              `agent.yaml line 2: unknown key "cuont": do you mean "count"?`,
		"COUNT: 1":                        `do you mean "count"?`,
		"inner: {sizeofall: 1}":           `line 1: inner: unknown key "sizeofall": do you mean "size_of_all"?`,
		"inner: {size-of-all: 1}":         `do you mean "size_of_all"?`,
		"inner:\n  budjet: 1":             `agent.yaml line 2: inner: unknown key "budjet": do you mean "budget"?`,
		"pointer:\n  purpose: x":          `line 2: pointer: unknown key "purpose": the keys here are budget, size_of_all`,
		"size_of_all: 1":                  `unknown key "size_of_all": it belongs under inner`,
		"hidden: 1":                       `unknown key "hidden"`,
		"common: {purpose: x}":            `unknown key "common"`,
		"list:\n- budget: 1\n- bugdet:":   `line 3: list: entry 2: unknown key "bugdet": do you mean "budget"?`,
		"levels: {low: {x: 1}}":           `levels: low: unknown key "x"`,
		"levels: {lower: {budget: 1}}":    "levels: a level is low or high",
		"notes: {a: lowest}":              "notes: a: a level is low or high",
		"notes: [low]":                    "notes: found a list, want names with values",
		"count: 1\ncount: 2":              `line 2: key "count" is there twice, before on line 1: keep one`,
		"notes: {a: low, a: low}":         `notes: key "a" is there twice`,
		"count: 1.5":                      `line 1: count: found "1.5", want a whole number`,
		"count: 1e300":                    "want a whole number",
		"count: .inf":                     "want a whole number",
		"count: many":                     "want a whole number",
		"count: [1]":                      "found a list, want a whole number",
		"inner: {size_of_all: -1}":        "want a whole number that is not below 0",
		"inner: {size_of_all: 70000}":     "want a whole number that is not below 0",
		"share: half":                     `share: found "half", want a number`,
		"on: perhaps":                     `on: found "perhaps", want true or false`,
		"names: a":                        `names: found "a", want a list such as [one, two]`,
		"names: [a, null]":                `line 1: names: entry 2: null stands for nothing: remove it, or write "null"`,
		"names:\n- a\n-\n- b":             "line 3: names: entry 2: it is empty: remove it",
		"list: [{budget: 1}, ~]":          "list: entry 2: ~ stands for nothing",
		"notes: {NULL: low}":              `line 1: notes: NULL stands for nothing: remove it, or write "NULL" if`,
		"notes: {a: null}":                "notes: null stands for nothing",
		"ends: {low: 1}":                  "line 1: ends: low without high: write both, 0 too",
		"ends: {high: 1, low: null}":      "ends: high without low",
		"names: [[a]]":                    "names: entry 1: found a list, want a text",
		"plain: {a: b}":                   "plain: found keys with values, want a text",
		"wait: 15":                        "wait: 15 has no unit: write for example 15s, 24h or 30d",
		"wait: 1.5":                       "wait: 1.5 has no unit",
		"wait: soon":                      `wait: found "soon", want a length of time such as 15s, 24h or 30d`,
		"wait: 3 days":                    "want a length of time",
		"wait: 1d12h":                     "want a length of time",
		"wait: 200000d":                   "want a length of time",
		"wait: 99999999999999999999d":     "want a length of time",
		"wait: {h: 1}":                    "found keys with values, want a length of time",
		"until: tomorrow":                 `until: found "tomorrow", want a time such as`,
		"either: {first: 1, secnod: 2}":   `agent.yaml line 1: either: unknown key "secnod": do you mean "second"?`,
		"either:\n  second: x":            "agent.yaml line 2: either: second: found \"x\", want a whole number",
		"inner: {<<: 3}":                  `inner: found "3" behind <<`,
		"pointer: {<<: {bugdet: 1}}":      `do you mean "budget"?`,
		"{[a]: 1}":                        "found a list where a key should be",
		"a:\n\tb: 1":                      "line 2: it is not YAML: found character that cannot start any token: indent with spaces",
		"count: 1\nplain: a: b":           "line 2: it is not YAML: mapping values are not allowed in this context: look at",
		"names: [a":                       "it is not YAML: did not find expected",
		strings.Repeat("x", 1000) + ": 1": `xxx…": the keys here are`,
	} {
		err := decodeText(text, new(config))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n error %v\n want  %s", text, err, want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "agent.yaml") {
			t.Errorf("%q: %v does not begin with the file", text, err)
		}
	}
	if err := decodeText("count: 1", config{}); err == nil {
		t.Error("a value that is no pointer is read into")
	}
}

// TestAliases: aliases of aliases cost no more than the text in which they are written.
func TestAliases(t *testing.T) {
	var text strings.Builder
	text.WriteString("a0: &a0 [x]\n")
	for i := 1; i < 60; i++ {
		last := "*a" + strconv.Itoa(i-1)
		text.WriteString("a" + strconv.Itoa(i) + ": &a" + strconv.Itoa(i) + " [" + last + ", " +
			last + ", " + last + "]\n")
	}
	began := time.Now()
	if err := decodeText(text.String(), new(map[string][]any)); err == nil {
		t.Error("3^59 values are read")
	}
	if err := decodeText(text.String(), new(config)); err == nil {
		t.Error("unknown keys are read")
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it takes %v", took)
	}
}

// TestTake: a taken value is decoded and removed.
func TestTake(t *testing.T) {
	type part struct {
		Tilt bool `yaml:"tilt"`
	}
	for text, want := range map[string]struct {
		found bool
		says  string
	}{
		"part: {tilt: true}\nwait: 1d": {found: true},
		"part:\nwait: 1d":              {},
		"wait: 1d":                     {},
		"wait: 1d\npart: {til: true}":  {found: true, says: `line 2: part: unknown key "til": do you mean "tilt"?`},
	} {
		d, err := Parse("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var p part
		found, err := d.TakeKey("part", &p)
		if err == nil {
			var c config
			err = d.Decode(&c)
		}
		if found != want.found || (err == nil) != (want.says == "") || err != nil &&
			err.Error() != want.says {
			t.Errorf("%q: found %v, error %v, want %+v", text, found, err, want)
		}
		if err == nil && p.Tilt != want.found {
			t.Errorf("%q: tilt is %v", text, p.Tilt)
		}
	}
}

func TestLocate(t *testing.T) {
	d, err := Parse("agent.yaml", []byte("state: x\nlimits:\n  body: 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("limits: body: 0: give 1")
	for _, test := range []struct {
		err  error
		want string
	}{
		{cause, "agent.yaml line 3: limits: body: 0: give 1"},
		{errors.New("limits: bytes: 0: give 1"), "agent.yaml line 2: limits: bytes: 0: give 1"},
		{errors.New("poll: give one"), "agent.yaml: poll: give one"},
		{errors.New(""), "agent.yaml: "},
	} {
		if got := d.AddPosition(test.err); got.Error() != test.want || !errors.Is(got, test.err) {
			t.Errorf("%v, want %s", got, test.want)
		}
	}
	if d.AddPosition(nil) != nil {
		t.Error("no error becomes one")
	}
	if d.Find("limits", "body").Value != "0" || d.Find("limits", "bytes") != nil ||
		d.Find("state", "x") != nil {
		t.Error("Find finds other keys than there are")
	}
	d.Remove("limits")
	d.Remove("poll")
	if d.Find("limits") != nil || d.Find("state") == nil {
		t.Error("Remove took away something else")
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.yaml")
	if _, err := Read(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Read(dir); err == nil {
		t.Error("a folder is read")
	}
	for text, want := range map[string]string{"count: x": path + " line 1: count",
		strings.Repeat("#", maxBytes+1): "longer than"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Read(path)
		if err == nil {
			err = d.Decode(new(config))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzDecode: nothing panics; documents that the parser refuses are refused; others decode to the
// parser's result.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		"inner: &i {budget: 1}\npointer: {<<: *i}\nlist: [*i]", "levels: {low: {budget: 1}}\nnotes: {x: high}",
		"purpose: a\ncount: 1\nwait: 3s\nuntil: 2026-01-01\neither: {first: 1}", "on: yes\nnames: [a, 2]\nshare: .5", "? [a]\n: b", "<<: [{count: 1}]",
		"plain: !!binary aGk=\nhidden: 1", "- 1", "count: 1\ncount: 2",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, want config
		err := decodeText(text, &got)
		known := yaml.NewDecoder(strings.NewReader(text))
		known.KnownFields(true)
		refused := known.Decode(&want)
		switch {
		case err == nil && refused != nil && !strings.Contains(refused.Error(), "time.Duration"):
			t.Fatalf("%q is read; the parser: %v", text, refused)
		case err == nil && refused == nil && !reflect.DeepEqual(got, want) &&
			!strings.Contains(text, "nan") && !strings.Contains(text, "NaN") &&
			!strings.Contains(text, "NAN"):
			t.Fatalf("%q is read as %+v; the parser: %+v", text, got, want)
		}
	})
}
