package terms

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"caucus/dataset"
	"caucus/internal/yamlfile"
	"caucus/study"
	"caucus/study/kinds"
)

// Study is the content of a study file. Values from the command line replace values of the file.
type Study struct {
	study.Proposal `yaml:",inline"`
	// Parties is the number of parties in a simulation or forecast, 0 if it was not given.
	Parties int `yaml:"parties" help:"number of parties, for simulate and forecast; default: the roster's, else 1 to 100 by kind (simulate)"`
	// Schema, Pool, PoolRelease and Model are file names.
	Schema      string        `yaml:"schema" file:"yes" help:"YAML schema of the columns (draft one with: caucus dataset schema)"`
	Pool        string        `yaml:"pool" file:"yes" help:"file of the public pool: CSV (also packed), Excel, Parquet"`
	PoolRelease string        `yaml:"pool_release" file:"yes" help:"the reweigh release that gave the pool its weights, or from which the pool was made: the plan then states the cost of both together"`
	ClosesIn    time.Duration `yaml:"closes_in" default:"7d" help:"deadline, counted from now, if the study file names none"`
	// RosterTags are in place of a list of names: the roster is all parties with these tags at
	// creation.
	RosterTags map[string]string `yaml:"-"`
	// Model is the model file of an evaluate study.
	Model string `yaml:"-"`
	// Simulate holds the rehearsal terms of the study's kind.
	Simulate Simulation `yaml:"-"`
	// InputFiles lists the input files that the terms name.
	InputFiles []string `yaml:"-"`
	// OverrideNotes has a sentence for each term of the file that the command line changed.
	OverrideNotes []string `yaml:"-"`

	given map[string]bool
}

// HasTerm reports whether the file or the command line sets a term. key is a whole Term.Key.
func (s Study) HasTerm(key string) bool { return s.given[key] }

// Setting is a term's value from a command line.
type Setting struct {
	Name, Value string
	// AsTyped is the setting as the user typed it, for errors: --set tilt=yes, --epsilon 1.
	AsTyped string
}

// SettingError is an error in a setting on the command line.
type SettingError struct{ error }

// Unwrap returns the refusal itself, without the setting as typed.
func (s SettingError) Unwrap() error { return s.error }

func settingError(s Setting, err error) error {
	return SettingError{fmt.Errorf("%s: %w", s.AsTyped, err)}
}

// ErrZeroEpsilon refuses an epsilon of 0, because a 0 in Proposal means the default.
var ErrZeroEpsilon = errors.New("0 would release nothing at all: typical values are 0.1 to 3; leave it out for 1")

// nameForm is the form of a study's name, which people type and which becomes part of file names.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// Read makes a study from a file's document (nil if there is none) and from settings, which replace
// values of the document. File names in the document are relative to dir. If kind is not "", the
// document must have this kind or none.
func Read(file *yamlfile.Document, dir, kind string, settings ...Setting) (Study, error) {
	if file == nil {
		file = yamlfile.New()
	}
	var rest []Setting
	for _, of := range settings {
		if of.Name != "kind" {
			rest = append(rest, of)
		} else if kind != "" && kind != of.Value {
			return Study{}, settingError(of,
				fmt.Errorf("the command line says kind %s already", kind))
		} else {
			kind = of.Value
		}
	}
	settings = rest
	kind, err := kindOf(file, kind)
	if err != nil {
		return Study{}, err
	}
	table, err := Of(kind)
	if err != nil {
		return Study{}, file.AddPosition(err)
	}
	s := Study{Simulate: simulated[kind](), given: map[string]bool{}}
	for _, section := range [][]string{nil, {kind}, {simulation}, {"map"}, {"seal"}, {"weights"}} {
		if slices.Contains(file.Keys(section...), "<<") {
			return s, file.AddPosition(fmt.Errorf("<<: a study file reads no merge keys: write the terms out"))
		}
	}
	for _, t := range table {
		at := strings.Split(t.Key, ".")
		n := file.Find(at...)
		s.given[t.Key] = n != nil
		if t.file && n != nil && n.Kind == yaml.ScalarNode && n.Value != "" &&
			!filepath.IsAbs(n.Value) {
			file.Put(text(filepath.Join(dir, n.Value)), at...)
		}
	}
	if err := misplaced(file, kind, table); err != nil {
		return s, err
	}
	if err := s.set(file, kind, settings); err != nil {
		return s, err
	}
	for _, t := range table {
		if n := file.Find(strings.Split(t.Key, ".")...); t.file && !t.out && n != nil &&
			n.Value != "" {
			s.InputFiles = append(s.InputFiles, n.Value)
		}
	}
	return s, s.decode(file, kind)
}

// kindOf returns the document's kind, else the given kind, else the default.
func kindOf(file *yamlfile.Document, kind string) (string, error) {
	n := file.Find("kind")
	switch {
	case n == nil && kind == "":
		return kinds.Default, nil
	case n == nil:
		file.Put(text(kind), "kind")
		return kind, nil
	case kind != "" && kind != n.Value:
		return "", SettingError{fmt.Errorf("the study file is of kind %s, the command line says %s", n.Value, kind)}
	}
	return n.Value, nil
}

// misplaced refuses a key that belongs to another level of the document, or to another kind.
func misplaced(file *yamlfile.Document, kind string, table []Term) error {
	for _, section := range []string{simulation, kind} {
		for _, key := range file.Keys(section) {
			at := section + "." + key
			switch {
			case slices.ContainsFunc(table, func(t Term) bool {
				return t.Key == at || strings.HasPrefix(t.Key, at+".")
			}):
			case slices.ContainsFunc(table, func(t Term) bool { return t.Key == key }):
				return file.AddPosition(fmt.Errorf("%s: %s: it stands at the top of the file, beside %[1]s", section, key))
			case len(kindsWith(at)) > 0:
				return file.AddPosition(fmt.Errorf("%s: %s: it is a term of %s studies; this one is of kind %s", section, key, strings.Join(kindsWith(at), ", "), kind))
			}
		}
	}
	for _, key := range file.Keys() {
		if slices.ContainsFunc(table, func(t Term) bool {
			return t.Key == key || strings.HasPrefix(t.Key, key+".")
		}) {
			continue
		}
		if _, err := kinds.FindKind(key); err == nil {
			return file.AddPosition(fmt.Errorf("%s: these are terms of a %[1]s study; this one is of kind %s", key, kind))
		}
		for _, t := range table {
			if t.Name() == key {
				above, _, _ := strings.Cut(t.Key, ".")
				return file.AddPosition(fmt.Errorf("%s: it stands below %s: {%[1]s: …}", key,
					above))
			}
		}
	}
	return nil
}

func (s *Study) set(file *yamlfile.Document, kind string, settings []Setting) error {
	said := map[string]Setting{}
	for _, of := range settings {
		t, err := Find(kind, of.Name)
		if err != nil {
			return settingError(of, err)
		}
		if before, twice := said[t.Key]; twice {
			return settingError(of,
				fmt.Errorf("%s says %s already: leave one out", before.AsTyped, t.Key))
		}
		said[t.Key] = of
		n, err := t.value(of.Value)
		if err != nil {
			return settingError(of, err)
		}
		if v, err := strconv.ParseFloat(n.Value, 64); t.Key == "epsilon" && err == nil && v == 0 {
			return settingError(of, ErrZeroEpsilon)
		}
		at := strings.Split(t.Key, ".")
		if was := file.Find(at...); was != nil && !alike(was, n) {
			s.OverrideNotes = append(s.OverrideNotes,
				fmt.Sprintf("%s replaces %s of the study file", of.AsTyped, t.Key))
		}
		file.Put(n, at...)
		s.given[t.Key] = true
	}
	return nil
}

// value parses a command line's text as YAML, except for terms that are texts. A list may also be
// a,b.
func (t Term) value(written string) (*yaml.Node, error) {
	n := text(written)
	switch kind := t.of.Kind(); {
	case kind == reflect.Float64:
		v, err := strconv.ParseFloat(strings.TrimSpace(written), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%q is no number, such as 0.5", written)
		}
		if err := n.Encode(v); err != nil {
			return nil, err
		}
	case kind != reflect.String && (t.Type != "text" || kind == reflect.Slice):
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(written), &document); err != nil ||
			len(document.Content) == 0 {
			return nil, fmt.Errorf("%q is not %s", written, article(t.Type))
		}
		n = document.Content[0]
	}
	if t.Key == rosterKey && n.Kind == yaml.MappingNode {
		_, err := tagsOf(n)
		return n, yamlfile.StripPosition(err)
	}
	if t.of.Kind() == reflect.Slice && n.Kind == yaml.ScalarNode {
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		parts := []string{n.Value}
		if t.of.Elem().Kind() != reflect.Struct {
			parts = strings.Split(n.Value, ",")
		}
		for _, part := range parts {
			item := &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(part)}
			if t.of.Elem().Kind() == reflect.String {
				item = text(item.Value)
			}
			list.Content = append(list.Content, item)
		}
		n = list
	}
	if err := yamlfile.DecodeNode(n, reflect.New(t.of).Interface()); err != nil {
		// do not show the YAML library's wording
		if err = yamlfile.StripPosition(err); strings.Contains(err.Error(), "not YAML") {
			err = fmt.Errorf("%q is not %s", written, article(t.Type))
		}
		return nil, err
	}
	return n, nil
}

func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle,
		Value: value}
}

// alike reports whether two values have the same text, apart from spaces, quotes, dashes and
// brackets.
func alike(a, b *yaml.Node) bool {
	x, err := yaml.Marshal(a)
	y, no := yaml.Marshal(b)
	plain := strings.NewReplacer(" ", "", "\n", "", `"`, "", "'", "", "[", "", "]", "", "-", "").Replace
	return err == nil && no == nil && plain(string(x)) == plain(string(y))
}

func article(words string) string {
	if strings.HasPrefix(words, "true") || strings.HasPrefix(words, "text") {
		return words
	}
	return "a " + words
}

func nearest(name string, table []Term) string {
	var names []string
	for _, t := range table {
		names = append(names, t.Key, t.Name())
	}
	return yamlfile.Nearest(name, names, 1+len(name)/3)
}

// decode reads the document into the study. Terms of other kinds are errors.
func (s *Study) decode(file *yamlfile.Document, kind string) error {
	k, err := kinds.FindKind(kind)
	if err != nil {
		return file.AddPosition(err)
	}
	terms := k.Terms()
	found, err := file.TakeKey(kind, terms)
	if err != nil {
		return err
	}
	if found {
		if s.KindTerms, err = study.EncodeTerms(terms); err != nil {
			return file.AddPosition(err)
		}
		if of, ok := terms.(interface{ File() string }); ok {
			s.Model = of.File()
		}
	}
	if _, err := file.TakeKey(simulation, s.Simulate); err != nil {
		return err
	}
	if err := s.takeTags(file); err != nil {
		return err
	}
	s.Map.Project = dataset.AutoComponents
	if err := file.Decode(s); err != nil {
		return err
	}
	switch s.Kind = kind; {
	case s.given["name"] && !nameForm.MatchString(s.Name):
		return study.PlanError("name", "%q: give 1 to 63 lower-case letters, digits and dashes, a letter or digit first", s.Name)
	case s.Epsilon == 0 && s.given["epsilon"]:
		return file.AddPosition(fmt.Errorf("epsilon: %w", ErrZeroEpsilon))
	case s.AUC != 0 && kind != kinds.Default:
		return study.PlanError("auc", "it is for the forecast of a %s study, and this is one of kind %s: leave it out", kinds.Default, kind)
	case s.Parties < 0:
		return study.PlanError("parties", "%d: give at least 1", s.Parties)
	case s.Largest < 0:
		return study.PlanError("largest", "%d: give how many records the largest party declared", s.Largest)
	}
	return nil
}

// rosterKey holds the parties' names, or {tags: …} that select parties.
const rosterKey = "roster"

// takeTags moves the tags of a roster from the document to RosterTags.
func (s *Study) takeTags(file *yamlfile.Document) (err error) {
	n := file.Find(rosterKey)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	if s.RosterTags, err = tagsOf(n); err != nil {
		return file.AddPosition(fmt.Errorf("roster: %w", err))
	}
	file.Remove(rosterKey)
	return nil
}

func tagsOf(n *yaml.Node) (map[string]string, error) {
	var by struct {
		Tags map[string]string `yaml:"tags"`
	}
	err := yamlfile.DecodeNode(n, &by)
	if err == nil && len(by.Tags) == 0 {
		err = errors.New("name parties, as in [st-mary, st-john], or give tags that they have, as in {tags: {region: north}}")
	}
	return by.Tags, err
}
