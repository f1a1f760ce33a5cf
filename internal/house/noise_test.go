package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"caucus/study"
)

// noiseQuestions are the places of a file that ask which setting of study.Noise they have by a
// comparison, a case or a table of their own, in place of a method of the setting.
func noiseQuestions(file *ast.File) (at []token.Pos) {
	setting := func(e ast.Expr) bool {
		if s, ok := e.(*ast.SelectorExpr); ok {
			of, ok := s.X.(*ast.Ident)
			return ok && of.Name == "study" && regexp.MustCompile(`^Noise[A-Z]`).MatchString(s.Sel.Name)
		}
		text, ok := e.(*ast.BasicLit)
		if !ok || text.Kind != token.STRING {
			return false
		}
		value, err := strconv.Unquote(text.Value)
		return err == nil && slices.Contains(study.Noises(), study.Noise(value))
	}
	noise := func(e ast.Expr) bool { // is called so
		s, ok := e.(*ast.SelectorExpr)
		name, isName := e.(*ast.Ident)
		return ok && s.Sel.Name == "Noise" || isName && name.Name == "noise"
	}
	named := func(e ast.Expr) bool { _, ok := e.(*ast.SelectorExpr); return ok && setting(e) }
	ast.Inspect(file, func(n ast.Node) bool {
		found := false
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				found = named(n.X) || named(n.Y) || noise(n.X) && setting(n.Y) || noise(n.Y) &&
					setting(n.X)
			}
		case *ast.SwitchStmt:
			found = n.Tag != nil && noise(n.Tag)
		case *ast.CaseClause:
			found = slices.ContainsFunc(n.List, named)
		case *ast.KeyValueExpr:
			found = named(n.Key)
		}
		if found {
			at = append(at, n.Pos())
		}
		return true
	})
	return at
}

// TestNoiseIsClosed: only package study knows the list of noise settings. All other code calls a
// setting's methods, so that a new setting is defined in one place.
func TestNoiseIsClosed(t *testing.T) {
	files := token.NewFileSet()
	comparison := regexp.MustCompile(`\b(eq|ne) [^}]*\.Noise\b`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		switch {
		case d.IsDir() || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "study":
		case strings.HasSuffix(path, ".go"):
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			for _, at := range noiseQuestions(file) {
				t.Errorf("%s asks which setting of noise it has: use a method of study.Noise, or its words (study.Trust)", files.Position(at))
			}
		case strings.HasSuffix(path, ".html"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if at := comparison.Find(text); at != nil {
				t.Errorf("%s: %q asks which setting of noise it has: use a method of study.Noise, or its words (study.Trust)", path, at)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		`_ = p.Noise == study.NoiseSite`:                           1,
		`_ = study.NoiseShuffled != n`:                             1,
		`_ = "site" == p.Noise`:                                    1,
		`_ = noise != "aggregators"`:                               1,
		`switch p.Noise {}`:                                        1,
		`switch n { case study.NoiseCoordinator: }`:                1,
		`_ = map[study.Noise]string{study.NoiseSite: "each site"}`: 1,
		`_ = p.Noise.AddedAtSite() && r.Noise == p.Noise`:          0,
		`_ = study.Proposal{Noise: study.NoiseSite}`:               0,
		`_ = name == "coordinator" || h.Noise == 0`:                0,
		`_ = trust.NoiseWord != ""`:                                0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+text+"\n}",
			0)
		if err != nil {
			t.Fatal(err)
		}
		if have := len(noiseQuestions(file)); have != want {
			t.Errorf("%s: %d questions, want %d", text, have, want)
		}
	}
}
