package yamlfile

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// check compares a document with a type. It accepts the documents that go.yaml.in/yaml/v3 accepts,
// except some that it refuses, with an explanation.
type check struct {
	doc  *Document
	root reflect.Type
	// seen holds the checked nodes, so that aliases of aliases cost no more than the nodes.
	seen map[visit]bool
	keys map[reflect.Type][]key // of the structs met so far
}

type visit struct {
	node *yaml.Node
	as   reflect.Type
}

func (d *Document) decode(n *yaml.Node, v any, path ...string) error {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer {
		return fmt.Errorf("decode YAML into %T: give a pointer", v)
	}
	c := check{doc: d, root: t.Elem(), seen: map[visit]bool{}, keys: map[reflect.Type][]key{}}
	if err := c.value(n, t.Elem(), path); err != nil {
		return err
	}
	// catches errors that only the parser finds, such as too many aliases
	if err := n.Decode(v); err != nil {
		return d.syntax(err)
	}
	return nil
}

func (c *check) fail(n *yaml.Node, path []string, err error) error {
	if len(path) > 0 {
		err = fmt.Errorf("%s: %w", strings.Join(path, ": "), err)
	}
	return c.doc.at(n.Line, err)
}

func within(path []string, key string) []string { return append(path[:len(path):len(path)], key) }

var (
	durationType  = reflect.TypeFor[time.Duration]()
	timeType      = reflect.TypeFor[time.Time]()
	readsItself   = reflect.TypeFor[yaml.Unmarshaler]()
	readsTextType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (c *check) value(n *yaml.Node, t reflect.Type, path []string) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if isNull(n) || c.seen[visit{n, t}] {
		return nil
	}
	c.seen[visit{n, t}] = true
	switch {
	case reflect.PointerTo(t).Implements(readsItself):
		return c.self(n, t, path)
	case reflect.PointerTo(t).Implements(readsTextType), t == durationType:
		return c.scalar(n, t, path)
	}
	switch t.Kind() {
	case reflect.Interface:
		return nil
	case reflect.Struct:
		return c.fields(n, t, path)
	case reflect.Map:
		return c.entries(n, t, path)
	case reflect.Slice, reflect.Array:
		return c.items(n, t, path)
	}
	return c.scalar(n, t, path)
}

// self decodes a node into a type that has its own UnmarshalYAML.
func (c *check) self(n *yaml.Node, t reflect.Type, path []string) error {
	err := n.Decode(reflect.New(t).Interface())
	var mismatch *yaml.TypeError
	var inner *located
	switch {
	// an error of DecodeNode, which does not know the file
	case errors.As(err, &inner) && inner.line > 0:
		return c.fail(&yaml.Node{Line: inner.line}, path, inner.err)
	case errors.As(err, &mismatch):
		return c.fail(n, path, fmt.Errorf("found %s, which does not fit: %s", found(n),
			strings.Join(mismatch.Errors, "; ")))
	case err != nil:
		return c.fail(n, path, err)
	}
	return nil
}

func (c *check) items(n *yaml.Node, t reflect.Type, path []string) error {
	if n.Kind != yaml.SequenceNode {
		return c.wrong(n, t, path)
	}
	for i, item := range n.Content {
		if isNull(item) {
			return c.fail(item, within(path, "entry "+strconv.Itoa(i+1)), null(item))
		}
		if err := c.value(item, t.Elem(), within(path, "entry "+strconv.Itoa(i+1))); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) entries(n *yaml.Node, t reflect.Type, path []string) error {
	if n.Kind != yaml.MappingNode {
		return c.wrong(n, t, path)
	}
	return c.pairs(n, path, func(key, value *yaml.Node) error {
		// the parser would leave the entry out, or read an empty text
		for _, n := range []*yaml.Node{key, value} {
			if isNull(n) && n.Value != "" {
				return c.fail(n, path, null(n))
			}
		}
		if err := c.value(key, t.Key(), path); err != nil {
			return err
		}
		return c.value(value, t.Elem(), within(path, key.Value))
	})
}

func (c *check) fields(n *yaml.Node, t reflect.Type, path []string) error {
	if n.Kind != yaml.MappingNode {
		return c.wrong(n, t, path)
	}
	known, met := c.keys[t]
	if !met {
		known = keysOf(t)
		c.keys[t] = known
	}
	var given map[string]*yaml.Node // the keys that need another beside them
	err := c.pairs(n, path, func(key, value *yaml.Node) error {
		for _, k := range known {
			if k.name == key.Value {
				if k.with != "" && !isNull(value) {
					if given == nil {
						given = map[string]*yaml.Node{}
					}
					given[k.name] = key
				}
				return c.value(value, k.of, within(path, key.Value))
			}
		}
		return c.fail(key, path,
			fmt.Errorf("unknown key %s: %s", quote(key.Value), c.suggest(key.Value, known)))
	})
	for _, k := range known {
		if err == nil && given[k.name] != nil && given[k.with] == nil {
			return c.fail(given[k.name], path, fmt.Errorf("%s without %s: write both, 0 too",
				k.name, k.with))
		}
	}
	return err
}

// pairs calls each for every key and value of a mapping, and of those merged into it (<<). Keys are
// unique texts.
func (c *check) pairs(n *yaml.Node, path []string, each func(key, value *yaml.Node) error) error {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return c.fail(n.Content[i], path, fmt.Errorf("found %s where a key should be: put quotes around it if it is text", found(key)))
		}
		if line, twice := first[key.Value]; twice {
			return c.fail(n.Content[i], path, fmt.Errorf("key %s is there twice, before on line %d: keep one", quote(key.Value), line))
		}
		first[key.Value] = n.Content[i].Line
		err := each
		if key.ShortTag() == "!!merge" {
			err = func(_, value *yaml.Node) error { return c.merged(value, path, each) }
		}
		if err := err(key, value); err != nil {
			return err
		}
	}
	return nil
}

// merged walks the mapping, or the list of mappings, after "<<".
func (c *check) merged(n *yaml.Node, path []string, each func(key, value *yaml.Node) error) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if c.seen[visit{node: n}] {
		return nil
	}
	c.seen[visit{node: n}] = true
	switch n.Kind {
	case yaml.MappingNode:
		return c.pairs(n, path, each)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if err := c.merged(item, path, each); err != nil {
				return err
			}
		}
		return nil
	}
	return c.fail(n, path, fmt.Errorf("found %s behind <<, want keys with values", found(n)))
}

var days = regexp.MustCompile(`^[+-]?[0-9]+d$`)

// scalar checks a single value. It converts a duration in days to hours, because the parser knows
// no days.
func (c *check) scalar(n *yaml.Node, t reflect.Type, path []string) error {
	if n.Kind != yaml.ScalarNode {
		return c.wrong(n, t, path)
	}
	if t == durationType && days.MatchString(n.Value) {
		whole, err := strconv.ParseInt(strings.TrimSuffix(n.Value, "d"), 10, 64)
		if most := int64(math.MaxInt64 / (24 * time.Hour)); err != nil || whole > most ||
			whole < -most {
			return c.wrong(n, t, path)
		}
		n.Value = strconv.FormatInt(24*whole, 10) + "h"
	}
	if integer(t) && n.ShortTag() == "!!float" {
		var v float64
		if n.Decode(&v) != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return c.wrong(n, t, path)
		}
	}
	err := n.Decode(reflect.New(t).Interface())
	var mismatch *yaml.TypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch), t == timeType:
		return c.wrong(n, t, path)
	}
	return c.fail(n, path, err) // a type that decodes text says what it expects
}

func integer(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 }
