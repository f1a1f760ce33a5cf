package yamlfile

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

type key struct {
	name string
	of   reflect.Type
	with string // the tag "with": the key that must stand beside this one; or empty
}

// keysOf lists the keys of a struct and its inline structs, with the names of go.yaml.in/yaml/v3.
func keysOf(t reflect.Type) []key {
	var keys []key
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		with := f.Tag.Get("with")
		switch {
		case f.PkgPath != "" && !f.Anonymous, name == "-":
		case strings.Contains(options, "inline"):
			keys = append(keys, keysOf(f.Type)...)
		case name == "":
			keys = append(keys, key{strings.ToLower(f.Name), f.Type, with})
		default:
			keys = append(keys, key{name, f.Type, with})
		}
	}
	return keys
}

// suggest explains an unknown key: a key of nearly the same spelling, the same key elsewhere, or
// all known keys.
func (c *check) suggest(unknown string, known []key) string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.name
	}
	if nearest := Nearest(unknown, names, (1+len(unknown))/3); nearest != "" {
		return fmt.Sprintf("do you mean %q?", nearest)
	}
	if path := elsewhere(unknown, c.root, nil); path != nil {
		return fmt.Sprintf("it belongs under %s", strings.Join(path, ": "))
	}
	if len(names) == 0 {
		return "there are no keys here"
	}
	return "the keys here are " + strings.Join(names, ", ")
}

// elsewhere finds the path to a key of this name below a struct; nil if nowhere or at the top.
func elsewhere(name string, t reflect.Type, path []string) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || len(path) > 4 {
		return nil
	}
	for _, k := range keysOf(t) {
		if k.name == name && len(path) > 0 {
			return path
		}
		if found := elsewhere(name, k.of, within(path, k.name)); found != nil {
			return found
		}
	}
	return nil
}

func (c *check) wrong(n *yaml.Node, t reflect.Type, path []string) error {
	if tag := n.ShortTag(); t == durationType && (tag == "!!int" || tag == "!!float") {
		return c.fail(n, path, fmt.Errorf("%s has no unit: write for example 15s, 24h or 30d", n.Value))
	}
	return c.fail(n, path, fmt.Errorf("found %s, want %s", found(n), wanted(t)))
}

// null refuses an entry of a list or of names with values that the parser would leave out, or read
// as an empty text.
func null(n *yaml.Node) error {
	if n.Value == "" {
		return errors.New("it is empty: remove it")
	}
	return fmt.Errorf("%s stands for nothing: remove it, or write %q if that is a text", n.Value,
		n.Value)
}

func found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys with values"
	case yaml.SequenceNode:
		return "a list"
	}
	return quote(n.Value)
}

func quote(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}

func wanted(t reflect.Type) string {
	switch t {
	case durationType:
		return "a length of time such as 15s, 24h or 30d"
	case timeType:
		return "a time such as 2026-01-31T17:00:00Z"
	}
	switch kind := t.Kind(); {
	case kind == reflect.Bool:
		return "true or false"
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		return "a whole number that is not below 0"
	case integer(t):
		return "a whole number"
	case kind == reflect.Float32 || kind == reflect.Float64:
		return "a number"
	case kind == reflect.Slice || kind == reflect.Array &&
		!reflect.PointerTo(t).Implements(readsTextType):
		return "a list such as [one, two]"
	case kind == reflect.Map:
		return "names with values"
	case kind == reflect.Struct && !reflect.PointerTo(t).Implements(readsTextType):
		var names []string
		for _, k := range keysOf(t) {
			names = append(names, k.name)
		}
		return "the keys " + strings.Join(names, ", ")
	}
	return "a text"
}
