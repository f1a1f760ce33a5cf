package privacy

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readingOrder is the order that doc.go gives: the names of files in its list, as
// they come.
func readingOrder(t *testing.T, fset *token.FileSet) []string {
	t.Helper()
	doc := must(parser.ParseFile(fset, "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)).Doc.Text()
	_, list, found := strings.Cut(doc, "# In which order to read it")
	if !found {
		t.Fatal("doc.go has no section on the order")
	}
	return regexp.MustCompile(`\b[a-z]+\.go\b`).FindAllString(list, -1)
}

// forward are the uses in files of what a later one declares, as
// "file uses name of file": types, functions, methods, fields, constants and
// variables.
func forward(t *testing.T, fset *token.FileSet, order []string, files []*ast.File) (all []string, uses int) {
	t.Helper()
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg := must((&types.Config{Importer: importer.Default()}).Check("privacy", fset, files, info))
	fileOf := func(p token.Pos) string { return filepath.Base(fset.Position(p).Filename) }
	for id, object := range info.Uses {
		if object.Pkg() != pkg {
			continue
		}
		uses++
		in, of := fileOf(id.Pos()), fileOf(object.Pos())
		if slices.Index(order, of) > slices.Index(order, in) {
			all = append(all, in+" uses "+object.Name()+" of "+of)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), uses
}

// TestReadingOrder: whoever reads the files in the order of doc.go meets nothing
// before it is declared, and leaves no file out. There are no exceptions.
func TestReadingOrder(t *testing.T) {
	fset := token.NewFileSet()
	order := readingOrder(t, fset)
	var files []*ast.File
	for _, name := range must(filepath.Glob("*.go")) {
		if name == "doc.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if n := slices.Index(order, name); n < 0 || slices.Contains(order[n+1:], name) {
			t.Errorf("%s is not in the order of doc.go, or twice: list it once", name)
		}
		files = append(files, must(parser.ParseFile(fset, name, nil, 0)))
	}
	if len(files) != len(order) {
		t.Errorf("doc.go lists %d files, there are %d", len(order), len(files))
	}
	found, uses := forward(t, fset, order, files)
	for _, f := range found {
		t.Errorf("%s, which is read later: move one of them", f)
	}
	if uses < 2000 {
		t.Errorf("only %d uses of the room's own names were seen", uses)
	}
}

// TestReadingOrderFinds: each kind of forward reference is one.
func TestReadingOrderFinds(t *testing.T) {
	fset := token.NewFileSet()
	files := []*ast.File{
		must(parser.ParseFile(fset, "one.go", "package privacy\nvar first T\nfunc use() { f(); first.m(); _ = first.x + c; first.ok() }\nfunc (T) ok() {}", 0)),
		must(parser.ParseFile(fset, "two.go", "package privacy\ntype T struct{ x int }\nfunc (T) m() { use() }\nfunc f() {}\nconst c = 1", 0)),
	}
	got, _ := forward(t, fset, []string{"one.go", "two.go"}, files)
	want := []string{"one.go uses T of two.go", "one.go uses c of two.go", "one.go uses f of two.go", "one.go uses m of two.go", "one.go uses x of two.go"}
	if !slices.Equal(got, want) {
		t.Errorf("have %q, want %q", got, want)
	}
}
