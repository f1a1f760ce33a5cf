package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestInputsAreMadeInOnePlace: study.NewInputs alone makes a party's inputs, in sites, simulations
// and tests. A test that fills in the fields by hand may call a task as no site does: two mistakes
// lived because tests left out the key or the generator that every site has.
func TestInputsAreMadeInOnePlace(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."), d.Name() == "testdata":
			return fs.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		files++
		for _, at := range inputsByHand(t, path, nil) {
			t.Errorf("%s: study.Inputs made by hand: call study.NewInputs", at)
		}
		return nil
	})
	if err != nil || files < 900 {
		t.Fatalf("read %d files: %v", files, err)
	}
	const made = `package p

func f(in study.Inputs) {
	_ = study.Inputs{Records: r}
	_ = []study.Inputs{{Records: r}, {}}
	_ = map[string]*study.Inputs{"a": {}}
	_ = new(study.Inputs)
	var in study.Inputs
}
`
	if all := inputsByHand(t, "p.go", made); len(all) != 6 {
		t.Errorf("of six ways to make them by hand, those at %v are found", all)
	}
}

// inputsByHand returns the places in a file where study.Inputs are made without NewInputs.
func inputsByHand(t *testing.T, path string, source any) (places []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	add := func(n ast.Node) { places = append(places, set.Position(n.Pos()).String()) }
	inputs := func(e ast.Expr) bool {
		if star, ok := e.(*ast.StarExpr); ok {
			e = star.X
		}
		switch x := e.(type) {
		case *ast.SelectorExpr:
			of, ok := x.X.(*ast.Ident)
			return ok && of.Name == "study" && x.Sel.Name == "Inputs"
		case *ast.Ident:
			return x.Name == "Inputs" && file.Name.Name == "study"
		}
		return false
	}
	element := func(e ast.Expr) ast.Expr {
		switch x := e.(type) {
		case *ast.ArrayType:
			return x.Elt
		case *ast.MapType:
			return x.Value
		}
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncDecl:
			return file.Name.Name != "study" || x.Name.Name != "NewInputs"
		case *ast.ValueSpec:
			if inputs(x.Type) && x.Values == nil {
				add(x)
			}
		case *ast.CallExpr:
			if f, ok := x.Fun.(*ast.Ident); ok && f.Name == "new" && inputs(x.Args[0]) {
				add(x)
			}
		case *ast.CompositeLit:
			if inputs(x.Type) {
				add(x)
			}
			for _, e := range x.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					e = pair.Value
				}
				if c, ok := e.(*ast.CompositeLit); ok && c.Type == nil && inputs(element(x.Type)) {
					add(c)
				}
			}
		}
		return true
	})
	return places
}
