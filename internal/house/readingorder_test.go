package house

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// orderedFrom is the size, in lines, from which a room is read in an order that its doc.go
// gives.
const orderedFrom = 2200

// inCircles says, for each large room (package), how many of its files use each other in circles,
// and so have no reading order. A number may only fall.
var inCircles = map[string]int{
	"aggregation/ratio":  3,
	"cmd/caucus":         20,
	"coordinator":        6,
	"coordinator/folder": 2,
	"dataset":            3,
	"learners":           9,
	"protocol":           6,
	"study":              3,
	"analyst/simulate":   3,
}

// unordered rooms have too many files for a list: their circles are counted alone.
var unordered = []string{"cmd/caucus"}

// TestReadingOrder: in the order of a room's doc.go, no file uses a declaration of a later file,
// except within a circle of files, and no file is left out.
func TestReadingOrder(t *testing.T) {
	exports := exported(t)
	seen := 0
	for _, r := range exports.rooms {
		if r.lines(t) < orderedFrom {
			continue
		}
		seen++
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range r.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(r.name, name), nil,
				parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		uses, err := usesOf(fset, files, exports.importer(fset))
		if err != nil {
			t.Fatal(err)
		}
		circle := circles(uses)
		switch was := inCircles[r.name]; {
		case len(circle) > was:
			t.Errorf("%s: %d files use each other in circles, there were %d: move what was added below what it uses. They are %v", r.name, len(circle), was, sorted(circle))
		case len(circle) < was:
			t.Errorf("%s: %d files are in circles, there were %d: write the new number", r.name, len(circle), was)
		}
		if slices.Contains(unordered, r.name) {
			continue
		}
		order := readingOrder(t, r.name)
		all := slices.DeleteFunc(slices.Concat(r.GoFiles, r.IgnoredGoFiles),
			func(name string) bool {
				return name == "doc.go" || strings.HasSuffix(name, "_test.go")
			})
		for _, name := range all {
			if n := slices.Index(order, name); n < 0 || slices.Contains(order[n+1:], name) {
				t.Errorf("%s: %s is not in the order of doc.go, or twice: list it once", r.name, name)
			}
		}
		if len(order) != len(all) {
			t.Errorf("%s: doc.go lists %d files, there are %d", r.name, len(order), len(all))
		}
		for _, f := range forward(order, uses, circle) {
			t.Errorf("%s: %s, which is read later: move one of them", r.name, f)
		}
	}
	if seen < 10 {
		t.Errorf("only %d rooms were read", seen)
	}
}

// readingOrder is the order in a room's doc.go: the names of files in its list, in sequence.
func readingOrder(t *testing.T, room string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(room, "doc.go"), nil,
		parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(file.Doc.Text(), "# In which order to read it")
	names := regexp.MustCompile(`\b[a-z_]+\.go\b`).FindAllString(list, -1)
	return slices.DeleteFunc(names, func(name string) bool {
		return strings.HasSuffix(name, "_test.go")
	})
}

// use is a file's use of what another declares.
type use struct{ in, of string }

// usesOf are the uses of one file of a room in another, each with a name that is used: of
// types, functions, methods, fields, constants and variables.
func usesOf(fset *token.FileSet, files []*ast.File, from types.Importer) (map[use]string, error) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := (&types.Config{Importer: from}).Check("room", fset, files, info)
	if err != nil {
		return nil, err
	}
	all := map[use]string{}
	fileOf := func(p token.Pos) string { return filepath.Base(fset.Position(p).Filename) }
	for id, object := range info.Uses {
		u := use{fileOf(id.Pos()), fileOf(object.Pos())}
		if object.Pkg() != pkg || u.in == u.of {
			continue
		}
		if was := all[u]; was == "" || object.Name() < was {
			all[u] = object.Name()
		}
	}
	return all, nil
}

// forward are the uses of what a later file declares, as "file uses name of file". Two files
// of one circle may use each other.
func forward(order []string, uses map[use]string, circle map[string]string) (all []string) {
	for u, name := range uses {
		if slices.Index(order, u.of) > slices.Index(order, u.in) &&
			(circle[u.in] == "" || circle[u.in] != circle[u.of]) {
			all = append(all, u.in+" uses "+name+" of "+u.of)
		}
	}
	slices.Sort(all)
	return all
}

// circles are the sets of files that use each other, directly or through others. Each file maps to
// the first name of its circle.
func circles(uses map[use]string) map[string]string {
	reaches := map[use]bool{}
	var files []string
	for u := range uses {
		reaches[u] = true
		files = append(files, u.in, u.of)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	for _, over := range files {
		for _, in := range files {
			for _, of := range files {
				if reaches[use{in, over}] && reaches[use{over, of}] {
					reaches[use{in, of}] = true
				}
			}
		}
	}
	all := map[string]string{}
	for _, file := range files {
		for _, first := range files {
			if reaches[use{file, first}] && reaches[use{first, file}] {
				all[file] = first
				break
			}
		}
	}
	return all
}

func sorted(circle map[string]string) []string {
	var names []string
	for name := range circle {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// room is a package of the product as go list has it.
type room struct {
	ImportPath, Export, name string
	GoFiles, IgnoredGoFiles  []string
}

// lines counts those of a room's production files that are not generated.
func (r room) lines(t *testing.T) (n int) {
	for _, name := range r.GoFiles {
		if text, err := os.ReadFile(filepath.Join(r.name, name)); err != nil {
			t.Fatal(err)
		} else if !strings.HasSuffix(name, ".pb.go") {
			n += bytes.Count(text, []byte("\n"))
		}
	}
	return n
}

// packages are the product's rooms, and where the compiled types of all that they import lie.
type packages struct {
	rooms []room
	at    map[string]string
}

func exported(t *testing.T) packages {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps",
		"-json=ImportPath,Export,GoFiles,IgnoredGoFiles", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := packages{at: map[string]string{}}
	for d := json.NewDecoder(bytes.NewReader(list)); ; {
		var r room
		if err := d.Decode(&r); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all.at[r.ImportPath] = r.Export
		if below, ours := strings.CutPrefix(r.ImportPath, "caucus/"); ours {
			r.name = below
			all.rooms = append(all.rooms, r)
		}
	}
}

func (p packages) importer(fset *token.FileSet) types.Importer {
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(p.at[path])
	})
}

// TestReadingOrderFinds: each kind of forward reference is one, and a circle is one over a
// third file too.
func TestReadingOrderFinds(t *testing.T) {
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range map[string]string{
		"one.go":   "var first T; func use() { first.m() }; func (T) ok() {}",
		"two.go":   "type T struct{ x int }; func (T) m() {}; const c = 1",
		"three.go": "func three() int { return four(T{x: c}) }",
		"four.go":  "func four(T) int { return five() }",
		"five.go":  "func five() int { return three() + six }",
		"six.go":   "var six int",
	} {
		file, err := parser.ParseFile(fset, name, "package room; "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	uses, err := usesOf(fset, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	circle := circles(uses)
	if have := sorted(circle); !slices.Equal(have, []string{"five.go", "four.go", "three.go"}) {
		t.Errorf("in circles are %v", have)
	}
	got := forward([]string{"one.go", "three.go", "two.go", "four.go", "five.go", "six.go"}, uses,
		circle)
	want := []string{"five.go uses six of six.go", "one.go uses T of two.go",
		"three.go uses T of two.go"}
	if !slices.Equal(got, want) {
		t.Errorf("have %q, want %q", got, want)
	}
}
