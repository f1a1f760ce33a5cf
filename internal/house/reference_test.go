package house

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"caucus/agent/site"
	"caucus/aggregator/helper"
	"caucus/analyst/terms"
	"caucus/coordinator/folder"
	"caucus/study/kinds"
)

var updateReference = flag.Bool("update-reference", false, "write docs/reference.md anew")

const referencePage = "docs/reference.md"

// TestReference: docs/reference.md has every key of every file that people write, with the comment
// from the code, and no other keys.
func TestReference(t *testing.T) {
	r := reference{source: map[string]map[string]*ast.TypeSpec{}}
	r.line("# Every key of every file")
	r.line("")
	r.line("Made from the comments of the code: `go test ./internal/house -run TestReference -update-reference`. A key that is in none of these tables is refused, with its line and the nearest known key. Times are written `15s`, `2h`, `30d`; a key that is left out has its default.")
	r.file("agent.yaml", "What a site says: where its data are, and what it allows.", "agent/site", "Config", site.DefaultConfig())
	r.file("coordinator.yaml", "What the operator of a coordinator says.", "coordinator/folder",
		"Config", folder.DefaultConfig(""))
	r.file("helper.yaml", "What the operator of a helper says.", "aggregator/helper", "Config",
		helper.DefaultConfig())
	r.study()
	r.file("schema.yaml", "What columns mean. `delimiter`, `columns` and `comment` belong in a site's own copy only.", "dataset", "Schema", nil)
	r.file("mapping.yaml", "From a site's own columns to the schema's, in a file of its own or under `mapping` of a source.", "dataset/mapping", "Mapping", nil)
	r.file("operator.yaml and an agent's identity", "Made by `coordinator init` and `agent enrol`; nobody writes them by hand.", "protocol", "Identity", nil)
	if r.err != nil {
		t.Fatal(r.err)
	}
	page := strings.Join(r.lines, "\n") + "\n"
	if *updateReference {
		if err := os.WriteFile(referencePage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != page {
		t.Errorf("%s is not what the code says: go test ./internal/house -run TestReference -update-reference", referencePage)
	}
	if len(r.lines) < 120 {
		t.Errorf("%d lines: the test finds next to no keys", len(r.lines))
	}
}

// reference writes tables of the keys of Go types.
type reference struct {
	source map[string]map[string]*ast.TypeSpec // by room, by name
	lines  []string
	err    error
}

func (r *reference) line(s string) { r.lines = append(r.lines, s) }

// file writes the section of a configuration file: a table of its keys, then one for each key that
// has keys of its own.
func (r *reference) file(name, says, room, typeName string, defaults any) {
	r.line("")
	r.line("## " + name)
	r.line("")
	r.line(says)
	r.table("", room, typeName, defaults)
}

// study writes the terms of studies, from the table that makes keys and flags.
func (r *reference) study() {
	r.line("")
	r.line("## study.yaml")
	r.line("")
	r.line("What `caucus study create`, `simulate` and `forecast` are given. On a command line `--set TERM=VALUE` says any of them: the whole name, or its last part where one term alone ends so. A key with a point stands below what is before the point: `map.project` is `map: {project: …}`.")
	shared := map[string]bool{}
	table := func(title, says string, terms []terms.Term) {
		r.line("")
		r.line("### " + title)
		r.line("")
		if says != "" {
			r.line(says)
			r.line("")
		}
		r.line("| key | is | |")
		r.line("|---|---|---|")
		for _, t := range terms {
			if t.Help == "" {
				r.err = errors.Join(r.err,
					fmt.Errorf("%s: nothing says what it is: write a help tag", t.Key))
				continue
			}
			help := sentence(t.Help)
			if t.Default != "" {
				help += " Default: `" + t.Default + "`."
			}
			r.line("| `" + t.Key + "` | " + t.Type + " | " + strings.ReplaceAll(help, "|", "\\|") + " |")
		}
	}
	fresh := func(all []terms.Term, below string) (out []terms.Term) {
		for _, t := range all {
			// A rehearsal's defaults differ by kind: what differs is listed again.
			if id := t.Key + t.Default; strings.HasPrefix(t.Key, below) && !shared[id] {
				shared[id] = true
				out = append(out, t)
			}
		}
		return out
	}
	all := map[string][]terms.Term{}
	for _, name := range kinds.Names() {
		of, err := terms.Of(name)
		if err != nil {
			r.err = errors.Join(r.err, err)
		}
		all[name] = of
	}
	var common []terms.Term
	for _, t := range all[kinds.Default] {
		if !strings.HasPrefix(t.Key, kinds.Default+".") && !strings.HasPrefix(t.Key, "simulate.") {
			common = append(common, t)
		}
	}
	table("every kind", "", common)
	for _, name := range kinds.Names() {
		if own := fresh(all[name], name+"."); len(own) > 0 {
			table(name, "", own)
		}
	}
	for _, name := range slices.Concat([]string{kinds.Default}, kinds.Names()) {
		if own := fresh(all[name], "simulate."); len(own) > 0 {
			says := "What these simulations have beside the above, or with another default."
			if name == kinds.Default {
				says = "What a simulation alone has: `caucus simulate`. It stands in no plan."
			}
			var lacks []string
			for _, t := range all["evaluate"] { // which offers what all kinds share, and no more
				if strings.HasPrefix(t.Key, "simulate.") &&
					!slices.ContainsFunc(all[name], func(own terms.Term) bool {
						return own.Key == t.Key
					}) {
					lacks = append(lacks, "`"+t.Name()+"`")
				}
			}
			if lacks != nil {
				says += " Of the above they have no " + strings.Join(lacks, ", ") + "."
			}
			table("simulate: "+name, says, own)
		}
	}
}

// row is one line of a table: keys that share a comment.
type row struct{ keys, kinds, says []string }

// table writes the keys below a path. Embedded types with the tag inline add their keys to the same
// table. A value with keys of its own gets a table after this one.
func (r *reference) table(path, room, typeName string, defaults any) {
	type nested struct{ path, room, typeName string }
	var rows []row
	var below []nested
	var add func(room, typeName string)
	add = func(room, typeName string) {
		fields := r.fields(room, typeName)
		asKeys := keysOf(fields)
		before := "" // the comment that the next field may share
		for _, f := range fields {
			tag := ""
			if f.Tag != nil {
				tag = reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("yaml")
			}
			key, options, _ := strings.Cut(tag, ",")
			if strings.Contains(options, "inline") {
				in, name := r.named(room, f.Type)
				add(in, name)
				continue
			}
			if key == "-" || !f.Names[0].IsExported() {
				continue
			}
			if key == "" { // yaml's own rule
				key = strings.ToLower(f.Names[0].Name)
			}
			at := strings.TrimPrefix(path+": "+key, ": ")
			says := text(f.Doc)
			shares := says == "" && len(rows) > 0 && regexp.MustCompile(`\b`+f.Names[0].Name+`\b`).MatchString(before)
			if says != "" {
				before = says
			}
			if c := text(f.Comment); c != "" {
				says = strings.TrimSpace(says + " " + sentence(c))
			}
			says = asKeys.Replace(" " + says + " ")
			says = strings.TrimSpace(says)
			kind := r.word(room, f.Type)
			if in, name := r.named(room, f.Type); name != "" && len(r.fields(in, name)) > 0 &&
				r.written(in, name) {
				below = append(below, nested{at, in, name})
			}
			if d := defaultOf(defaults, f.Names[0].Name); d != "" {
				says = strings.TrimSpace(says + " Default: `" + d + "`.")
			}
			if shares {
				last := &rows[len(rows)-1]
				last.keys, last.kinds = append(last.keys, key), append(last.kinds, kind)
				if says != "" {
					last.says = append(last.says, "`"+key+"`: "+says)
				}
				continue
			}
			if says == "" {
				r.err = errors.Join(r.err,
					fmt.Errorf("%s.%s: nothing says what %q is: write a comment", room, typeName,
						at))
			}
			rows = append(rows, row{[]string{key}, []string{kind}, []string{says}})
		}
	}
	add(room, typeName)
	if path != "" {
		r.line("")
		r.line("### " + path)
	}
	r.line("")
	r.line("| key | is | |")
	r.line("|---|---|---|")
	for _, w := range rows {
		slices.Sort(w.kinds)
		r.line("| `" + strings.Join(w.keys, "`, `") + "` | " + strings.Join(slices.Compact(w.kinds), ", ") + " | " + strings.ReplaceAll(strings.Join(w.says, " "), "|", "\\|") + " |")
	}
	for _, n := range below {
		r.table(n.path, n.room, n.typeName, nil)
	}
}

// keysOf turns the names of fields, as comments have them, into keys.
func keysOf(fields []*ast.Field) *strings.Replacer {
	var pairs []string
	for _, f := range fields {
		if f.Tag == nil || len(f.Names) == 0 {
			continue
		}
		key, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		for _, end := range []string{" ", ",", ".", ";", ":"} {
			pairs = append(pairs, " "+f.Names[0].Name+end, " `"+key+"`"+end)
		}
	}
	return strings.NewReplacer(pairs...)
}

// defaultOf is what a config starts with, "" where that is nothing.
func defaultOf(config any, field string) string {
	v := reflect.ValueOf(config)
	if !v.IsValid() {
		return ""
	}
	f := v.FieldByName(field)
	if !f.IsValid() || f.IsZero() {
		return ""
	}
	switch x := f.Interface().(type) {
	case time.Duration:
		if days := x / (24 * time.Hour); days > 0 && x%(24*time.Hour) == 0 {
			return fmt.Sprintf("%dd", days)
		}
		s := x.String()
		for _, zero := range []string{"0s", "0m"} {
			if short, ok := strings.CutSuffix(s, zero); ok && short != "" &&
				unicode.IsLetter(rune(short[len(short)-1])) {
				s = short
			}
		}
		return s
	case string, bool, int, int64, float64:
		return fmt.Sprint(x)
	}
	return ""
}

// text is a comment in one line.
func text(c *ast.CommentGroup) string {
	if c == nil {
		return ""
	}
	return strings.Join(strings.Fields(c.Text()), " ")
}

// sentence writes a remark as one.
func sentence(s string) string {
	first := []rune(s)
	if first[0] != 'ε' && first[0] != 'δ' { // their capitals are other letters to a reader
		first[0] = unicode.ToUpper(first[0])
	}
	return strings.TrimSuffix(string(first), ".") + "."
}

// fields are those of a struct type, none of another one.
func (r *reference) fields(room, name string) []*ast.Field {
	spec := r.types(room)[name]
	if spec == nil {
		return nil
	}
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	return s.Fields.List
}

// written reports whether a struct is written as keys and values, and not as one text.
func (r *reference) written(room, name string) bool {
	for _, f := range r.fields(room, name) {
		if f.Tag != nil && strings.Contains(f.Tag.Value, "yaml:") {
			return true
		}
		// ε and δ: yaml's own names
		if len(f.Names) > 0 && f.Names[0].IsExported() && room == "privacy" {
			return true
		}
	}
	return false
}

// named is the room and name of the type behind pointers, lists and maps, or "" for a foreign type.
func (r *reference) named(room string, e ast.Expr) (in, name string) {
	switch x := e.(type) {
	case *ast.StarExpr:
		return r.named(room, x.X)
	case *ast.ArrayType:
		return r.named(room, x.Elt)
	case *ast.MapType:
		return r.named(room, x.Value)
	case *ast.Ident:
		if r.types(room)[x.Name] != nil {
			return room, x.Name
		}
	case *ast.SelectorExpr:
		other := x.X.(*ast.Ident).Name
		for _, candidate := range []string{other, "agent/" + other, "coordinator/" + other,
			"aggregator/" + other, "dataset/" + other, "study/" + other, "internal/" + other} {
			if r.types(candidate)[x.Sel.Name] != nil {
				return candidate, x.Sel.Name
			}
		}
	}
	return "", ""
}

// word says in words what a value is.
func (r *reference) word(room string, e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return r.word(room, x.X)
	case *ast.ArrayType:
		if of, ok := x.Elt.(*ast.Ident); ok && of.Name == "byte" { // a hash or a key
			return "text"
		}
		return "list of " + r.word(room, x.Elt)
	case *ast.MapType:
		return r.word(room, x.Value) + " by " + r.word(room, x.Key)
	case *ast.Ident:
		switch x.Name {
		case "string":
			return "text"
		case "bool":
			return "true or false"
		case "int", "int64", "uint64", "uint":
			return "whole number"
		case "float64":
			return "number"
		}
	case *ast.SelectorExpr:
		switch {
		case x.Sel.Name == "Duration":
			return "time span"
		case x.Sel.Name == "Time":
			return "date and time"
		}
	}
	in, name := r.named(room, e)
	if name == "" {
		return "text"
	}
	if r.written(in, name) {
		return "keys of its own, below"
	}
	spec := r.types(in)[name]
	if _, ok := spec.Type.(*ast.StructType); ok {
		return "text"
	}
	if in == "privacy" && name == "Unit" {
		return "unit"
	}
	return r.word(in, spec.Type)
}

// types are those that a room declares.
func (r *reference) types(room string) map[string]*ast.TypeSpec {
	if known, ok := r.source[room]; ok {
		return known
	}
	found := map[string]*ast.TypeSpec{}
	r.source[room] = found
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(room), "*.go"))
	if err != nil {
		r.err = err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			r.err = err
			return found
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, s := range g.Specs {
					spec := s.(*ast.TypeSpec)
					found[spec.Name.Name] = spec
				}
			}
		}
	}
	return found
}
