package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is one parsed, not yet decoded YAML document. It is not empty.
type Document struct {
	name string // the file's name, for errors; may be empty
	root *yaml.Node
}

const (
	maxBytes = 1 << 20
	// maxText bounds every text; a schema has at most 4 MiB. The parser takes at most some
	// 500 times as much memory, and stops at a depth of 10,000.
	maxText = 4 << 20
	// maxKeys bounds the keys of a mapping, and the root of the sum of squares of all, because the
	// parser compares each key with each: 4 s.
	maxKeys = 20_000
)

// Read parses a file of at most 1 MiB. Errors name the file.
func Read(path string) (*Document, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("%s has %d bytes, longer than any such file, which has at most %d: give the right one", path, info.Size(), maxBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse parses a file's text. Errors begin with name, if that is not empty.
func Parse(name string, text []byte) (*Document, error) {
	d := &Document{name: name}
	if len(text) > maxText {
		return nil, d.at(0, fmt.Errorf("it has %d bytes, longer than any such file, which has at most %d: give the right one", len(text), maxText))
	}
	var document, second yaml.Node
	in := yaml.NewDecoder(bytes.NewReader(text))
	err := in.Decode(&document)
	switch {
	case errors.Is(err, io.EOF):
		return nil, d.at(0, errors.New("it is empty"))
	case err != nil:
		return nil, d.syntax(err)
	}
	d.root = document.Content[0]
	if isNull(d.root) {
		return nil, d.at(0, errors.New("it is empty"))
	}
	left := maxKeys * maxKeys
	if err := d.countKeys(d.root, &left); err != nil {
		return nil, err
	}
	if err := in.Decode(&second); err == nil {
		return nil, d.at(second.Line, errors.New("there is more than one YAML document: keep the first"))
	} else if !errors.Is(err, io.EOF) {
		return nil, d.syntax(err)
	}
	return d, nil
}

// DecodeAll decodes a reader's whole text into the value that v points to. Absent keys leave the
// value unchanged. A text above 4 MiB is an error.
func DecodeAll(r io.Reader, v any) error {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return err
	}
	d, err := Parse("", text)
	if err != nil {
		return err
	}
	return d.Decode(v)
}

// Encode writes a value as YAML, indented by two spaces.
func Encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// countKeys takes the squares of the numbers of keys below a node from left, and fails below 0.
func (d *Document) countKeys(n *yaml.Node, left *int) error {
	if n.Kind == yaml.MappingNode {
		keys := len(n.Content) / 2
		if *left -= keys * keys; *left < 0 {
			return d.at(n.Line, fmt.Errorf("%d keys in one place: with those before they are too many, at most %d are read", keys, maxKeys))
		}
	}
	for _, below := range n.Content {
		if err := d.countKeys(below, left); err != nil {
			return err
		}
	}
	return nil
}

// Decode reads the document into the value that v points to; absent keys leave it unchanged. After
// an error the value may be partly overwritten.
func (d *Document) Decode(v any) error { return d.decode(d.root, v) }

// DecodeNode is [Document.Decode] for a part of a document, for types that decode themselves.
func DecodeNode(n *yaml.Node, v any) error { return (&Document{root: n}).decode(n, v) }

// Find returns the value at a path of keys, nil if there is none.
func (d *Document) Find(keys ...string) *yaml.Node {
	n := d.root
	for _, key := range keys {
		if _, n = child(n, key); n == nil {
			return nil
		}
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if isNull(n) {
		return nil
	}
	return n
}

// Remove removes a top-level key with its value; nothing if the key is absent.
func (d *Document) Remove(key string) {
	for i := 0; d.root.Kind == yaml.MappingNode && i+1 < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value == key {
			d.root.Content = append(d.root.Content[:i:i], d.root.Content[i+2:]...)
			return
		}
	}
}

// TakeKey decodes a top-level key's value into what v points to, and removes the key. It reports
// whether it was there.
func (d *Document) TakeKey(name string, v any) (found bool, err error) {
	n := d.Find(name)
	if n == nil {
		d.Remove(name)
		return false, nil
	}
	err = d.decode(n, v, name)
	d.Remove(name)
	return true, err
}

// RefuseRemoved refuses a top-level key that no longer has an effect.
func (d *Document) RefuseRemoved(key string) error {
	if name, _ := child(d.root, key); name == nil {
		return nil
	}
	return d.AddPosition(fmt.Errorf("%s: it was removed, and nothing takes its place: delete the line", key))
}

// RequireLimits requires spending limits, or "none" (which it removes), under a top-level key,
// because a forgotten budget must not mean no limit.
func (d *Document) RequireLimits(key string) error {
	switch limits := d.Find(key); {
	case limits == nil:
		return d.AddPosition(fmt.Errorf("%s: not given: say what all releases may cost together, or %[1]s: none", key))
	case limits.Kind == yaml.ScalarNode && limits.Value == "none":
		d.Remove(key)
	case limits.Kind == yaml.ScalarNode:
		return d.AddPosition(fmt.Errorf("%s: %q: give limits for units, such as {record: {epsilon: 3, delta: 1e-5}}, or none", key, limits.Value))
	case len(limits.Content) == 0:
		return d.AddPosition(fmt.Errorf("%s: it is empty: give limits for units, or none", key))
	}
	return nil
}

// AddPosition adds file and line to an error that begins with its keys: "limits: body: 0: give 1 or
// more". Nil stays nil.
func (d *Document) AddPosition(err error) error {
	if err == nil {
		return nil
	}
	n, line := d.root, 0
	for _, key := range strings.Split(err.Error(), ": ") {
		name, value := child(n, key)
		if value == nil {
			break
		}
		n, line = value, name.Line
	}
	return d.at(line, err)
}

func child(n *yaml.Node, key string) (name, value *yaml.Node) {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// located is an error with its place. Line 0 means no particular line.
type located struct {
	name string
	line int
	err  error
}

func (l *located) Unwrap() error { return l.err }

func (l *located) Error() string {
	switch {
	case l.line > 0 && l.name != "":
		return fmt.Sprintf("%s line %d: %v", l.name, l.line, l.err)
	case l.line > 0:
		return fmt.Sprintf("line %d: %v", l.line, l.err)
	case l.name != "":
		return fmt.Sprintf("%s: %v", l.name, l.err)
	}
	return l.err.Error()
}

func (d *Document) at(line int, err error) error { return &located{d.name, line, err} }

var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

var hints = []struct{ error, hint string }{
	{"cannot start any token", "indent with spaces, never with tabs, and put quotes around text that begins with @, ` or %"},
	{"mapping values are not allowed", `look at the indentation here and a line above, and put quotes around text that holds ": "`},
	{"did not find expected", "look at the indentation, quotes and brackets here and a line above"},
	{"could not find expected ':'", "a key without a colon, or text that goes on at the wrong indentation"},
}

// syntax gives a YAML parser's error the form of all other errors.
func (d *Document) syntax(err error) error {
	found := yamlError.FindStringSubmatch(err.Error())
	if found == nil {
		return d.at(0, fmt.Errorf("it is not YAML: %w", err))
	}
	line, _ := strconv.Atoi(found[1]) // 0 if it names none
	problem := "it is not YAML: " + found[2]
	for _, h := range hints {
		if strings.Contains(problem, h.error) {
			problem += ": " + h.hint
			break
		}
	}
	return d.at(line, errors.New(problem))
}

// New returns a document without keys.
func New() *Document { return &Document{root: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}} }

// Keys returns the top-level keys, or the keys below a path, in order; none if there is no mapping.
func (d *Document) Keys(below ...string) (keys []string) {
	n := d.Find(below...)
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
	}
	return keys
}

// Put sets a value at a path of keys, making missing mappings.
func (d *Document) Put(value *yaml.Node, keys ...string) {
	n := d.root
	for i, key := range keys {
		_, next := child(n, key)
		if next != nil && next.Kind == yaml.AliasNode { // another key may share the alias's target
			*next = *next.Alias
			next.Anchor, next.Content = "", slices.Clone(next.Content)
		}
		switch {
		// replace the node and do not change it, because an alias may share it
		case i == len(keys)-1 && next != nil:
			for at := 0; at+1 < len(n.Content); at += 2 {
				if n.Content[at].Value == key {
					n.Content[at+1] = value
				}
			}
		case i == len(keys)-1:
			n.Content = append(n.Content,
				&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
		case next == nil || next.Kind != yaml.MappingNode:
			made := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			if next != nil {
				*next = *made
				made = next
			} else {
				n.Content = append(n.Content,
					&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, made)
			}
			n = made
		default:
			n = next
		}
	}
}

// StripPosition returns a document's error without file and line.
func StripPosition(err error) error {
	var in *located
	if errors.As(err, &in) {
		return in.err
	}
	return err
}
