package caucus

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreatModel: every test that the threat model names exists, and every
// claim, a row of a table whose last column is for tests, names one.
func TestThreatModel(t *testing.T) {
	const document = "docs/threat-model.md"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]map[string]bool{} // room, test
	named, claims, claiming := 0, 0, false
	reference := regexp.MustCompile("`([a-z/]+)/((?:Test|Fuzz)[A-Za-z0-9_]*)`")
	for i, line := range strings.Split(string(text), "\n") {
		all := reference.FindAllStringSubmatch(line, -1)
		for _, m := range all {
			if there[m[1]] == nil {
				there[m[1]] = testsIn(t, m[1])
			}
			if !there[m[1]][m[2]] {
				t.Errorf("%s:%d names %s, which room %s does not have", document, i+1, m[2], m[1])
			}
			named++
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			claiming = false
		case strings.HasSuffix(line, "| tests |"):
			claiming = true
		case claiming && !strings.HasPrefix(line, "|---"):
			claims++
			if len(all) == 0 {
				t.Errorf("%s:%d claims something that no test shows", document, i+1)
			}
		}
	}
	if claims < 20 || named < 60 {
		t.Errorf("%d claims with %d tests were found: the document has another form than this test reads", claims, named)
	}
}

// testsIn are the names of a room's tests.
func testsIn(t *testing.T, room string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(room), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
