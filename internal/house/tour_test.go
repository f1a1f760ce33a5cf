package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"testing"
)

// TestTourIsTrue: each stop of docs/tour.md, a file and a function of it, is there.
func TestTourIsTrue(t *testing.T) {
	page, err := os.ReadFile("docs/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	stop := regexp.MustCompile(`(?m)^ *((?:\w+/)+\w+\.go) ([\w.]+)`)
	stops := stop.FindAllStringSubmatch(string(page), -1)
	if len(stops) < 40 {
		t.Fatalf("%d stops were read, more are on the page", len(stops))
	}
	for _, s := range stops {
		path, name := s[1], s[2]
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("the tour stops at %s %s: %v", path, name, err)
			continue
		}
		if !declares(file, name) {
			t.Errorf("the tour stops at %s %s, which is not there: mend docs/tour.md", path, name)
		}
	}
}

// declares says whether a file has a function, or a method as Type.Method.
func declares(file *ast.File, name string) bool {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		full := f.Name.Name
		if f.Recv != nil {
			of := f.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			full = of.(*ast.Ident).Name + "." + full
		}
		if full == name {
			return true
		}
	}
	return false
}
