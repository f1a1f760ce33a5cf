package main

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	columns = 100 // the widest line
	tab     = 4
	literal = 50 // a string from this width on need not be broken
)

// rules are what is counted, in the order in which it is printed.
var rules = []string{
	"lines over 100 columns",
	"exported names without a docstring",
	"receivers of another letter",
	"results named without a defer",
	"chains on err == nil",
}

func main() {
	verbose := flag.Bool("v", false, "print each place")
	flag.Parse()
	counts := make([]int, len(rules))
	names := bufio.NewScanner(os.Stdin)
	for names.Scan() {
		source, err := os.ReadFile(names.Text())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		found, err := look(names.Text(), source)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for _, f := range found {
			counts[f.rule]++
			if *verbose {
				fmt.Printf("%s:%d: %s\n", names.Text(), f.line, rules[f.rule])
			}
		}
	}
	for i, n := range counts {
		fmt.Println(n, rules[i])
	}
}

// finding is one place that leaves a rule: an index into rules, and a line counted from 1.
type finding struct{ rule, line int }

// look returns a file's findings.
func look(name string, source []byte) ([]finding, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var found []finding
	add := func(rule int, at token.Pos) {
		found = append(found, finding{rule, files.Position(at).Line})
	}
	apart := map[int]bool{} // lines of tables and of long literals
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			for line, text := range strings.Split(n.Value, "\n") {
				if utf8.RuneCountInString(text) >= literal || line > 0 {
					apart[files.Position(n.Pos()).Line+line] = true
				}
			}
		case *ast.CompositeLit:
			first, last := files.Position(n.Lbrace).Line, files.Position(n.Rbrace).Line
			for _, e := range n.Elts {
				line := files.Position(e.Pos()).Line
				if first < line && line < last && line == files.Position(e.End()).Line {
					apart[line] = true
				}
			}
		case *ast.IfStmt:
			if after(n) && isErrNil(n.Cond) {
				add(4, n.Pos())
			}
		}
		return true
	})
	for i, line := range strings.Split(string(source), "\n") {
		if !apart[i+1] && width(line) > columns {
			found = append(found, finding{0, i + 1})
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			exported := d.Name.IsExported()
			if d.Recv != nil && len(d.Recv.List) > 0 {
				of := typeName(d.Recv.List[0].Type)
				exported = exported && ast.IsExported(of)
				if names := d.Recv.List[0].Names; len(names) > 0 && !lettersOf(names[0].Name, of) {
					add(2, d.Pos())
				}
			}
			if exported && d.Doc == nil {
				add(1, d.Pos())
			}
			if named(d.Type.Results) && !defers(d.Body) {
				add(3, d.Pos())
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if name, doc := specified(s); ast.IsExported(name) && d.Doc == nil && doc == nil {
					add(1, s.Pos())
				}
			}
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int { return a.line - b.line })
	return found, nil
}

func width(line string) int {
	return utf8.RuneCountInString(line) + (tab-1)*strings.Count(line, "\t")
}

// specified returns the first name that a type, constant or variable is declared by, and its text.
func specified(s ast.Spec) (string, *ast.CommentGroup) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return s.Name.Name, cmpDoc(s.Doc, s.Comment)
	case *ast.ValueSpec:
		return s.Names[0].Name, cmpDoc(s.Doc, s.Comment)
	}
	return "", nil
}

func cmpDoc(above, beside *ast.CommentGroup) *ast.CommentGroup {
	if above != nil {
		return above
	}
	return beside
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// lettersOf says whether a receiver begins with its type's letter.
func lettersOf(receiver, of string) bool {
	return receiver == "_" || of != "" && strings.EqualFold(receiver[:1], of[:1])
}

func named(results *ast.FieldList) bool {
	return results != nil && slices.ContainsFunc(results.List, func(f *ast.Field) bool {
		return slices.ContainsFunc(f.Names, func(n *ast.Ident) bool { return n.Name != "_" })
	})
}

// defers says whether a function has a defer of its own, outside functions that it makes.
func defers(body *ast.BlockStmt) bool {
	found := body == nil
	if found {
		return true
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.DeferStmt:
			found = true
		}
		return !found
	})
	return found
}

// isErrNil says whether a condition begins with err == nil.
func isErrNil(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		return false
	}
	if b.Op == token.LAND {
		return isErrNil(b.X)
	}
	x, isX := b.X.(*ast.Ident)
	y, isY := b.Y.(*ast.Ident)
	return b.Op == token.EQL && isX && isY && x.Name == "err" && y.Name == "nil"
}

// after says whether a statement goes on where all went well: its body assigns err again.
func after(n *ast.IfStmt) bool {
	again := false
	ast.Inspect(n.Body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			again = again || slices.ContainsFunc(a.Lhs, func(e ast.Expr) bool {
				i, ok := e.(*ast.Ident)
				return ok && i.Name == "err"
			})
		}
		return !again
	})
	return again
}
